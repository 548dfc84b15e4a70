package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/value"
)

func (a *app) testCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test CONFIG",
		Short: "Run the tests that a configuration has, and make no request",
		Long: `Run the tests under the key tests of a configuration, and list the rules that
they do not show to be both true and false. The pages of a test are in it: there
is no network, waiting takes no time, and environment variables that are not
passed on have a stand-in.

Exit status 0 says that all tests passed, 10 that one failed, 2 that the
configuration has faults or no tests.`,
		Example: `  stopwhen test users.json
  stopwhen test users.json --fail-uncovered
  stopwhen test users.yaml --format json | jq '.coverage[].rules[] | select(.gap)'`,
		Args: a.oneConfig,
		RunE: func(_ *cobra.Command, args []string) error { return a.testConfig(args) },
	}
	a.configFlags(cmd)
	f := cmd.Flags()
	a.formatFlag(cmd, "text", "json")
	f.BoolVar(&a.flags.failUncovered, "fail-uncovered", false, "rules that the tests do not show fail as well")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "print failures alone")
	return cmd
}

func (a *app) testConfig(args []string) error {
	if err := a.checkFormat("text", "json"); err != nil {
		return err
	}
	a.standIns = true
	l, err := a.load(args)
	if err != nil {
		return err
	}
	defer l.Close()
	if len(l.Tests()) == 0 {
		return &usageError{fmt.Sprintf("%s: there are no tests in it; for instance, beside api and config,\n\n%s", l.name, l.SampleTest())}
	}
	ctx, stop := catchSignals()
	defer stop()
	report := l.Test(ctx)
	if err := signalled(ctx, context.Cause(ctx)); err != nil {
		return err
	}
	if err := a.writeTests(l, report); err != nil {
		return err
	}
	return a.judgeTests(report)
}

func (a *app) writeTests(l *loaded, report *engine.TestReport) error {
	if a.flags.format == "json" {
		return a.writeJSON(report)
	}
	b := &strings.Builder{}
	for _, t := range report.Tests {
		if !t.OK || !a.flags.quiet {
			writeTest(b, t, len(l.Jobs()) > 1)
		}
	}
	if !a.flags.quiet || a.flags.failUncovered {
		writeCoverage(b, report, a.flags.quiet)
	}
	if !a.flags.quiet {
		fmt.Fprintf(b, "\n%s\n", testSummary(report))
	}
	_, err := io.WriteString(a.stdout, b.String())
	return outputError(err)
}

// writeTest writes a line about a test and, if it failed, what differs.
func writeTest(b *strings.Builder, t engine.TestResult, several bool) {
	name := t.Name
	if several {
		name = t.Job + ": " + name
	}
	if t.OK {
		fmt.Fprintf(b, "ok      %s\n", name)
		return
	}
	if t.Place != "" {
		name += " (" + t.Place + ")"
	}
	fmt.Fprintf(b, "FAILED  %s\n", name)
	for _, d := range t.Differences {
		writeDifference(b, d)
	}
	for _, line := range t.Because {
		fmt.Fprintf(b, "        %s\n", line)
	}
}

func writeDifference(b *strings.Builder, d engine.Difference) {
	const indent, line = "        ", 100
	switch {
	case d.Of == "":
		fmt.Fprintf(b, "%s%s\n", indent, d.Message)
		return
	case len(d.Of)+len(d.Want)+len(d.Got) < line-len(indent)-len(": want , got "):
		fmt.Fprintf(b, "%s%s: want %s, got %s\n", indent, d.Of, d.Want, d.Got)
	default:
		fmt.Fprintf(b, "%s%s: want %s\n%s%*s got  %s\n", indent, d.Of, d.Want, indent, len(d.Of)+1, "", d.Got)
	}
	if d.Message != "" {
		fmt.Fprintf(b, "%s%*s %s\n", indent, len(d.Of)+1, "", d.Message)
	}
}

// writeCoverage lists, job by job, what the tests do not show of the rules.
func writeCoverage(b *strings.Builder, report *engine.TestReport, gapsAlone bool) {
	var untested []string
	for _, c := range report.Coverage {
		if c.Tests == 0 {
			untested = append(untested, c.Job)
			continue
		}
		gaps := c.Gaps()
		both, all := c.Both()
		if gapsAlone && len(gaps) == 0 {
			continue
		}
		fmt.Fprintf(b, "\njob %s: %s\n", c.Job, covered(both, all))
		width := 0
		for _, r := range gaps {
			width = max(width, len(r.Rule))
		}
		for _, r := range gaps {
			fmt.Fprintf(b, "    %-15s  %-*s  %s  [%s]\n", r.Gap, width, r.Rule, value.Clip(r.Source, 60), r.Origin)
		}
		if guards := unmet(c); len(guards) > 0 && !gapsAlone {
			fmt.Fprintf(b, "    guards never met: %s\n", strings.Join(guards, ", "))
		}
	}
	if len(untested) > 0 {
		fmt.Fprintf(b, "\njobs without tests: %s\n", strings.Join(untested, ", "))
	}
}

// unmet are the guards that no test meets: few tests do, and need to.
func unmet(c engine.JobCoverage) []string {
	var ids []string
	for _, r := range c.Rules {
		if r.Guard && r.Met == 0 {
			ids = append(ids, r.Rule)
		}
	}
	return ids
}

func covered(both, all int) string {
	switch {
	case all == 0:
		return "no rule that is true or false"
	case all == 1 && both == 1:
		return "its 1 rule was both true and false"
	case all == 1:
		return "its 1 rule was not both true and false"
	}
	return fmt.Sprintf("%d of %d rules were both true and false", both, all)
}

// testSummary is the last line.
func testSummary(report *engine.TestReport) string {
	text := value.Counted(len(report.Tests), "test")
	if n := report.Failed(); n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	} else {
		text += ", none failed"
	}
	both, all, untested := 0, 0, 0
	for _, c := range report.Coverage {
		if c.Tests == 0 {
			untested++
			continue
		}
		b, n := c.Both()
		both, all = both+b, all+n
	}
	if all > 0 {
		text += fmt.Sprintf("; %d of %s were both true and false", both, value.Counted(all, "rule"))
	}
	if untested > 0 {
		text += fmt.Sprintf("; %s without tests", value.Counted(untested, "job"))
	}
	return text
}

// judgeTests is the error of a command whose tests failed.
func (a *app) judgeTests(report *engine.TestReport) error {
	var parts []string
	if n := report.Failed(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s failed", n, value.Counted(len(report.Tests), "test")))
	}
	gaps, untested := 0, 0
	for _, c := range report.Coverage {
		if c.Tests == 0 {
			untested++
			continue
		}
		gaps += len(c.Gaps())
	}
	if a.flags.failUncovered && gaps > 0 {
		parts = append(parts, fmt.Sprintf("the tests do not show all of %s (--fail-uncovered)", value.Counted(gaps, "rule")))
	}
	if a.flags.failUncovered && untested > 0 {
		parts = append(parts, fmt.Sprintf("%s without tests (--fail-uncovered)", value.Counted(untested, "job")))
	}
	if parts == nil {
		return nil
	}
	return &testFailed{strings.Join(parts, "; ")}
}

func pronoun(n int) string {
	if n == 1 {
		return "it"
	}
	return "them"
}
