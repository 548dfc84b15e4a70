package main

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/configtest"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A testCommand is stopwhen test.
type testCommand struct {
	loader
	reporting
	failUncovered bool
}

func newTest(a *app) *cobra.Command {
	c := &testCommand{loader: loader{app: a}}
	cmd := &cobra.Command{
		Use:   "test CONFIG",
		Short: "Run the tests in a configuration without making requests",
		Long: `Run the tests under the key tests of a configuration, and list the rules that
were never true, or never false. Each test contains its own pages. No network is
used, waiting takes no time, and environment variables that are not passed with
--env have placeholder values.

The exit status is 0 if all tests pass, 10 if a test fails, and 2 if the
configuration has errors or no tests.`,
		Example: `  stopwhen test users.json
  stopwhen test users.json --fail-uncovered
  stopwhen test users.yaml --format json | jq '.coverage[]'`,
		Args: c.oneConfig,
		RunE: c.Run,
	}
	c.addConfigFlags(cmd)
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

// testReport is the data of the template.
type testReport struct {
	*configtest.Report
	testTotals
	ManyJobs, Quiet, FailUncovered bool
}

// testText is the template of a report.
//
//go:embed test.txt
var testText string

func (c *testCommand) writeTests(l *loaded, report *configtest.Report) error {
	if c.format == formatJSON {
		return c.writeJSON(report)
	}
	printable.Strings(report)
	return c.writeTemplate(testText, template.FuncMap{
		"coverage": coverageText, "guards": unmetGuards,
		"covered": func(c configtest.JobCoverage) string { return coverageText(c.Both()) },
		"width": func(gaps []configtest.RuleCoverage) (width int) {
			for _, r := range gaps {
				width = max(width, len(r.Rule))
			}
			return width
		},
	}, testReport{report, totalsOf(report), len(l.Jobs()) > 1, c.quiet, c.failUncovered})
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

func coverageText(both, total int) string {
	switch {
	case total == 0:
		return "there are no conditions to cover"
	case total == 1 && both == 1:
		return "the only rule was true on one page and false on another"
	case total == 1:
		return "the only rule was never true, or never false"
	}
	return fmt.Sprintf("%d of %d rules were true on one page and false on another", both, total)
}

// testTotals are the sums over the jobs of a report.
type testTotals struct {
	Covered, Conditions, gaps int      // rules that were true on one page and false on another, of all conditions
	Untested                  []string // jobs
}

func totalsOf(report *configtest.Report) testTotals {
	var t testTotals
	for _, c := range report.Coverage {
		if c.Tests == 0 {
			t.Untested = append(t.Untested, c.Job)
			continue
		}
		both, conditions := c.Both()
		t.Covered, t.Conditions, t.gaps = t.Covered+both, t.Conditions+conditions, t.gaps+len(c.Gaps())
	}
	return t
}

// judgeTests returns an error if tests failed or, with --fail-uncovered, do not
// cover every rule.
func (c *testCommand) judgeTests(report *configtest.Report) error {
	var parts []string
	if n := report.Failed(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s failed", n, wording.Counted(len(report.Tests), "test")))
	}
	t := totalsOf(report)
	if c.failUncovered && t.gaps > 0 {
		parts = append(parts, fmt.Sprintf("the tests do not cover %s (--fail-uncovered)", wording.Counted(t.gaps, "rule")))
	}
	if n := len(t.Untested); c.failUncovered && n > 0 {
		parts = append(parts, wording.Counted(n, "job")+" without tests (--fail-uncovered)")
	}
	if parts == nil {
		return nil
	}
	return &verdictError{exitTest, strings.Join(parts, "; ")}
}
