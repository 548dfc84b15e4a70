package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/configtest"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A testCommand is stopwhen test.
type testCommand struct {
	*app
	source
	reporting
	failUncovered bool
}

func newTest(p *app) *cobra.Command {
	c := &testCommand{app: p, source: source{app: p}, reporting: reporting{app: p}}
	cmd := &cobra.Command{
		Use:   "test CONFIG",
		Short: "Run the tests in a configuration without making requests",
		Long: `Run the tests under the key tests of a configuration, and list the rules that
were not both true and false. Each test contains its own pages. No
network is used, waiting takes no time, and environment variables that are not
passed with --env have placeholder values.

The exit status is 0 if all tests pass, 10 if a test fails, and 2 if the
configuration has errors or no tests.`,
		Example: `  stopwhen test users.json
  stopwhen test users.json --fail-uncovered
  stopwhen test users.yaml --format json | jq '.coverage[]'`,
		Args: c.oneConfig,
		RunE: c.Run,
	}
	c.configFlags(cmd)
	c.formatFlag(cmd, formatText, formatJSON)
	f := cmd.Flags()
	f.BoolVar(&c.failUncovered, "fail-uncovered", false, "fail if the tests do not cover every rule")
	f.BoolVarP(&c.quiet, "quiet", "q", false, "print only failures")
	return cmd
}

// Run runs the tests in a configuration.
func (c *testCommand) Run(_ *cobra.Command, args []string) error {
	c.placeholders = true
	l, err := c.load(args)
	if err != nil {
		return err
	}
	defer l.Close()
	if len(l.Info().Tests) == 0 {
		return &exampleError{&usageError{l.name + " has no tests; add some next to api and config, for example"}, l.SampleTest()}
	}
	ctx, stop := c.catchSignals()
	defer stop()
	report := l.Test(ctx)
	if err := interrupted(ctx); err != nil {
		return err
	}
	if err := c.writeTests(l, report); err != nil {
		return err
	}
	return c.judgeTests(report)
}

func (c *testCommand) writeTests(l *loaded, report *configtest.Report) error {
	if c.format == formatJSON {
		return c.writeJSON(report)
	}
	printable.Strings(report)
	b := &strings.Builder{}
	for _, t := range report.Tests {
		if !t.OK || !c.quiet {
			writeTest(b, t, len(l.Jobs()) > 1)
		}
	}
	if !c.quiet || c.failUncovered {
		writeCoverage(b, report, c.quiet)
	}
	if !c.quiet {
		fmt.Fprintf(b, "\n%s\n", testSummary(report))
	}
	return c.writeText(b.String())
}

// writeTest writes one line about a test and, if it failed, the differences.
func writeTest(b *strings.Builder, t configtest.Result, withJob bool) {
	name := t.Name
	if withJob {
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

// writeDifference writes a difference on one line or, if it is long, on two.
func writeDifference(b *strings.Builder, d configtest.Difference) {
	const indent, width = "        ", 100
	switch {
	case d.Of == "":
		fmt.Fprintf(b, "%s%s\n", indent, d.Message)
		return
	case len(d.Of)+len(d.Want)+len(d.Got) < width-len(indent)-len(": want , got "):
		fmt.Fprintf(b, "%s%s: want %s, got %s\n", indent, d.Of, d.Want, d.Got)
	default:
		fmt.Fprintf(b, "%s%s: want %s\n%s%*s got  %s\n", indent, d.Of, d.Want, indent, len(d.Of)+1, "", d.Got)
	}
	if d.Message != "" {
		fmt.Fprintf(b, "%s%*s %s\n", indent, len(d.Of)+1, "", d.Message)
	}
}

// writeCoverage lists, for each job, the rules that the tests do not cover.
func writeCoverage(b *strings.Builder, report *configtest.Report, onlyGaps bool) {
	var untested []string
	for _, c := range report.Coverage {
		switch {
		case c.Tests == 0:
			untested = append(untested, c.Job)
		case !onlyGaps || len(c.Gaps()) > 0:
			writeJobCoverage(b, c, onlyGaps)
		}
	}
	if len(untested) > 0 {
		fmt.Fprintf(b, "\njobs without tests: %s\n", strings.Join(untested, ", "))
	}
}

func writeJobCoverage(b *strings.Builder, c configtest.JobCoverage, onlyGaps bool) {
	fmt.Fprintf(b, "\njob %s: %s\n", c.Job, coverageText(c.Both()))
	width := 0
	for _, r := range c.Gaps() {
		width = max(width, len(r.Rule))
	}
	for _, r := range c.Gaps() {
		fmt.Fprintf(b, "    %-15s  %-*s  %s  [%s]\n", r.Gap, width, r.Rule, value.Clip(r.Source, 60), r.Origin)
	}
	if guards := unmetGuards(c); len(guards) > 0 && !onlyGaps {
		fmt.Fprintf(b, "    guards never met: %s\n", strings.Join(guards, ", "))
	}
}

// unmetGuards lists the guards that no test meets. They are not gaps, since few
// tests need to meet them.
func unmetGuards(c configtest.JobCoverage) []string {
	var ids []string
	for _, r := range c.Rules {
		if r.Guard && r.Met == 0 {
			ids = append(ids, r.Rule)
		}
	}
	return ids
}

func coverageText(both, all int) string {
	switch {
	case all == 0:
		return "there are no conditions to cover"
	case all == 1 && both == 1:
		return "the only rule was both true and false"
	case all == 1:
		return "the only rule was not both true and false"
	}
	return fmt.Sprintf("%d of %d rules were both true and false", both, all)
}

// testTotals are the sums over the jobs of a report.
type testTotals struct {
	both, conditions int // rules that were both true and false, of all conditions
	gaps             int
	untested         int // jobs
}

func totalsOf(report *configtest.Report) testTotals {
	var t testTotals
	for _, c := range report.Coverage {
		if c.Tests == 0 {
			t.untested++
			continue
		}
		both, conditions := c.Both()
		t.both, t.conditions, t.gaps = t.both+both, t.conditions+conditions, t.gaps+len(c.Gaps())
	}
	return t
}

// testSummary returns the last line of the output.
func testSummary(report *configtest.Report) string {
	text := value.Counted(len(report.Tests), "test")
	if n := report.Failed(); n > 0 {
		text += fmt.Sprintf(", %d failed", n)
	} else {
		text += ", none failed"
	}
	t := totalsOf(report)
	if t.conditions > 0 {
		text += "; " + coverageText(t.both, t.conditions)
	}
	if t.untested > 0 {
		text += fmt.Sprintf("; %s without tests", value.Counted(t.untested, "job"))
	}
	return text
}

// judgeTests returns an error if tests failed or, with --fail-uncovered, do not
// cover every rule.
func (c *testCommand) judgeTests(report *configtest.Report) error {
	var parts []string
	if n := report.Failed(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s failed", n, value.Counted(len(report.Tests), "test")))
	}
	t := totalsOf(report)
	if c.failUncovered && t.gaps > 0 {
		parts = append(parts, fmt.Sprintf("the tests do not cover %s (--fail-uncovered)", value.Counted(t.gaps, "rule")))
	}
	if c.failUncovered && t.untested > 0 {
		parts = append(parts, fmt.Sprintf("%s without tests (--fail-uncovered)", value.Counted(t.untested, "job")))
	}
	if parts == nil {
		return nil
	}
	return &verdictError{exitTest, strings.Join(parts, "; ")}
}
