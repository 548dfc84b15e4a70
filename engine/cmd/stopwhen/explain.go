package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/annotate"
	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/engine/report"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// An explainCommand is stopwhen explain.
type explainCommand struct {
	loader
	reporting
	diff, annotate, full bool
	simulate             string // spec for package stress
	kept                 string
}

func newExplain(a *app) *cobra.Command {
	c := &explainCommand{loader: loader{app: a}}
	cmd := &cobra.Command{
		Use:   "explain CONFIG [CONFIG]",
		Short: "Print the compiled rules of every job without making requests",
		Long: `Print what a configuration compiles to: the first two requests, in which braces
stand for values that only a response can tell, the limits on the number of
requests, how the next request is built, where the items go, what fails the run,
and every rule that can stop paging, with its id, its expression and its origin.
What several jobs have in common is printed once, at the end. --full repeats it
for every job, with every guard, audit rule and message.

--diff compares two configurations: what the second one does differently, in its
jobs, requests, rules, limits and credentials, whatever its text looks like. The
exit status is 0 whether they differ or not; --format json has the key "same".

--annotate prints the configuration itself as YAML, with comments that say what
its parts do: which rules they have become, what ends the list, and which
defaults are in force. What it prints compiles to the same rules.

--simulate runs every job against a model of its API, in memory: SPEC is the
sizes of the pages, such as 10,10,3, or the name of a behaviour of stopwhen
stress, or two names joined by +. It prints the request of each page and which
rules became true, with their values.`,
		Example: `  stopwhen explain users.json
  stopwhen explain users.json --format json | jq '.jobs[].stops[].id'
  stopwhen explain users.json --format mermaid > users.mmd
  stopwhen explain --diff users.json users-new.yaml
  stopwhen explain --annotate users.json > users.yaml
  stopwhen explain --simulate 10,10,3 users.json
  stopwhen explain --simulate cappedPages users.json
  stopwhen explain --fixture offset/short-page-stops`,
		Args: c.explainArgs,
		RunE: c.Run,
	}
	c.addConfigFlags(cmd)
	c.formatFlag(cmd, formatText, formatJSON, formatMermaid)
	cmd.Flags().BoolVar(&c.diff, "diff", false, "print what the second of two configurations does differently")
	cmd.Flags().BoolVar(&c.annotate, "annotate", false, "print the configuration as YAML, with comments that say what it does")
	cmd.Flags().StringVar(&c.simulate, "simulate", "", "`SPEC` of a run without an API: the sizes of its pages, or a behaviour")
	cmd.Flags().BoolVar(&c.full, "full", false, "print every rule of every job, with all that it reads and its message")
	cmd.Flags().StringVar(&c.kept, "kept", "", "`FILE` with the values that the previous run kept, for the first request")
	return cmd
}

// explainArgs accepts one configuration, or two with --diff.
func (c *explainCommand) explainArgs(cmd *cobra.Command, args []string) error {
	if c.diff {
		return c.twoConfigs(args)
	}
	if len(args) > 1 {
		return &usageError{fmt.Sprintf("want one configuration, got %d arguments; --diff compares two", len(args))}
	}
	return c.oneConfig(cmd, args)
}

// Run prints the rules of a configuration or, as the flags say, its text with comments, its
// simulation, or the difference between two configurations.
func (c *explainCommand) Run(cmd *cobra.Command, args []string) error {
	if err := c.checkExplainFlags(cmd); err != nil {
		return err
	}
	c.placeholders = true
	if c.diff {
		return c.printDiff(args)
	}
	l, err := c.load(args)
	if err != nil {
		return err
	}
	defer l.Close()
	switch {
	case c.annotate:
		return c.printAnnotated(l)
	case cmd.Flags().Changed("simulate"):
		return c.printSimulations(l)
	}
	return c.explain(l, c.kept, c.reporting, explain.TextOptions{Full: c.full})
}

// checkExplainFlags refuses values and combinations of flags that have no meaning.
func (c *explainCommand) checkExplainFlags(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	mermaid := c.format == formatMermaid
	err := refuse([]misuse{
		{given("simulate") && (c.diff || c.annotate), "--simulate cannot be used together with --diff or --annotate"},
		{given("simulate") && mermaid, "--simulate is printed as text or json: a diagram shows no pages"},
		{given("simulate") && given("kept"), "--kept has no effect with --simulate, which begins without kept values"},
		{c.diff && c.annotate, "--annotate and --diff cannot be used together"},
		{c.diff && given("full"), "--full has no effect with --diff, which prints everything that differs"},
		{c.diff && mermaid, "--diff is printed as text or json: a diagram cannot show two configurations"},
		{c.annotate && given("format"), "--format has no effect with --annotate, which prints YAML"},
		{c.annotate && given("full"), "--full has no effect with --annotate, which says all about every job"},
	})
	if err != nil || !given("simulate") {
		return err
	}
	if _, err := stress.ParseSpec(c.simulate); err != nil {
		return &usageError{fmt.Sprintf("--simulate: %v", err)}
	}
	return nil
}

// explain prints the rules, given the file of kept values, in the format of a report. The options are for
// text.
func (s *loader) explain(l *loaded, kept string, r reporting, o explain.TextOptions) error {
	if err := l.readKept(kept); err != nil {
		return err
	}
	x := l.With(engine.WithKept(l.kept)).Explain()
	if r.format == formatJSON {
		return s.writeJSON(x)
	}
	printable.Strings(x)
	if r.format == formatMermaid {
		return s.writeText(x.Mermaid())
	}
	o.Width = s.columns()
	return s.writeText(x.Text(o))
}

// printAnnotated prints the configuration with comments.
func (c *explainCommand) printAnnotated(l *loaded) error {
	if err := l.readKept(c.kept); err != nil {
		return err
	}
	text, _, err := annotate.YAML(annotate.Config{
		Name: l.name, Text: l.text, Explanation: l.With(engine.WithKept(l.kept)).Explain(), Redact: l.Redactor().Text, Width: c.columns(),
	})
	if errors.Is(err, yaml.ErrTooLarge) {
		return &usageError{fmt.Sprintf("--annotate: %v; select some of the jobs with --job", err)}
	}
	if err != nil {
		return &usageError{fmt.Sprintf("--annotate: %v", err)}
	}
	if err := c.build(&loaded{name: "annotated.yaml", text: text, server: l.server}); err != nil {
		return &usageError{fmt.Sprintf("--annotate leaves out values of secrets, and cannot do so here; "+
			"write them as {\"env\": \"NAME\"} first: %v", err)}
	}
	return c.writeText(string(text))
}

// printSimulations prints a run of every job against the model of its API.
func (c *explainCommand) printSimulations(l *loaded) error {
	ctx, stop := c.catchSignals()
	defer stop()
	var simulations []*stress.Simulation
	for _, job := range l.Jobs() {
		simulation, err := l.Simulate(ctx, job, c.simulate)
		if err := cmp.Or(interrupted(ctx), err); err != nil {
			return err
		}
		simulations = append(simulations, simulation)
	}
	return c.writeReport(c.out, func(w io.Writer) error {
		if c.format == formatJSON {
			return writeJSONTo(w, simulations)
		}
		texts := make([]string, len(simulations))
		for i, simulation := range simulations {
			printable.Strings(simulation)
			texts[i] = report.SimulationText(simulation, report.TextOptions{Width: c.columns(), All: c.full, Colour: hasColour(c.stdout)})
		}
		_, err := io.WriteString(w, strings.Join(texts, "\n"))
		return err
	})
}
