package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/report"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules/printable"
)

// A stressCommand is stopwhen stress.
type stressCommand struct {
	*app
	source
	reporting
	options stress.Options
	all     bool
	failOn  []string
	like    string
}

func newStress(p *app) *cobra.Command {
	a := &stressCommand{app: p, source: source{app: p}, reporting: reporting{app: p}}
	cmd := &cobra.Command{
		Use:   "stress CONFIG",
		Short: "Find what an API may do that loses items, without making requests",
		Long: `Play every job against a model of its API, which is derived from the compiled
rules, and let the model do what APIs do: cap the page size, repeat the last
page, lose a token, delete an item between two pages. Everything happens in
memory. Each behaviour has a verdict:

  complete   every item was obtained once
  reported   the list is incomplete or the run failed, and the run said so
  SILENT     the list is incomplete or has duplicates, and the run said nothing
  endless    only a guard ended the run

The exit status is 0 whatever the verdicts are. With --fail-on it is 9 if a row
has one of the verdicts, or if a job has no model: nothing is known of it then.`,
		Example: `  stopwhen stress users.json
  stopwhen stress users.json --fail-on silent
  stopwhen stress users.json --depth 2 --format html --out stress.html
  stopwhen stress users.json --format json | jq '.jobs[].rows[].verdict'`,
		Args: a.oneConfig,
		RunE: a.Run,
	}
	a.configFlags(cmd)
	a.formatFlag(cmd, formatText, formatJSON, formatHTML)
	f := cmd.Flags()
	f.StringVarP(&a.out, "out", "o", "-", "`FILE` to write to; - is standard output")
	f.IntVar(&a.options.Seed, "seed", 0, "`NUMBER` that varies where behaviours happen; the same number gives the same report")
	f.IntVar(&a.options.Depth, "depth", 1, "`NUMBER` of behaviours at the same time: 1 or 2")
	f.BoolVar(&a.all, "all", false, "also print the rows that are complete, and what was left out; JSON and HTML always have them")
	f.StringVar(&a.like, "like", "", "recording or HAR `FILE` whose responses the model resembles")
	f.StringSliceVar(&a.failOn, "fail-on", nil, "`VERDICTS` that end with status 9: "+strings.Join(failOnVerdicts(), ", "))
	checked(cmd, "fail-on", func() error {
		for _, name := range a.failOn { // in any case, as reports write them
			if !slices.Contains(failOnVerdicts(), strings.ToLower(name)) {
				return oneOf(failOnVerdicts(), name)
			}
		}
		return nil
	})
	complete(cmd, "fail-on", failOnVerdicts)
	checked(cmd, "seed", func() error { return atLeast(0, a.options.Seed, "a number of 0 or more") })
	checked(cmd, "depth", func() error {
		if a.options.Depth != 1 && a.options.Depth != 2 {
			return fmt.Errorf("want 1 or 2, got %d", a.options.Depth)
		}
		return nil
	})
	complete(cmd, "depth", func() []string { return []string{"1", "2"} })
	return cmd
}

// failOnVerdicts are the values of --fail-on.
func failOnVerdicts() []string {
	var names []string
	for _, v := range stress.Verdicts() {
		if v != stress.Complete {
			names = append(names, strings.ToLower(string(v)))
		}
	}
	return names
}

// Run puts the jobs of a configuration under stress.
func (a *stressCommand) Run(_ *cobra.Command, args []string) error {
	if err := a.checkReportFile(append(slices.Clone(args), a.like)); err != nil {
		return err
	}
	inputs := []streamUse{argument(args), {"--set-file", a.setFile}, {"--like", a.like}}
	if err := onlyOnce("standard input", inputs...); err != nil {
		return err
	}
	a.placeholders = true
	l, err := a.load(args)
	if err != nil {
		return err
	}
	defer l.Close()
	ctx, stop := a.catchSignals()
	defer stop()
	if a.like != "" {
		tape, err := a.readRecording(a.like)
		if err != nil {
			return err
		}
		a.options.Like = recording.Samples(ctx, l.Engine, tape)
	}
	r, err := l.Stress(ctx, a.options)
	if err := cmp.Or(interrupted(ctx), err); err != nil {
		return err
	}
	if err := a.writeReport(func(w io.Writer) error { return a.writeStress(w, l.name, r) }); err != nil {
		return err
	}
	return a.judge(r)
}

// checkReportFile checks that the file of --out is not a file that is read.
func (a *stressCommand) checkReportFile(read []string) error {
	if toStdout(a.out) {
		return nil
	}
	for _, path := range append(read, a.setFile, a.fixture) {
		if sameExisting(path, a.out) {
			return &usageError{fmt.Sprintf("--out %s would overwrite %s, which is read", a.out, path)}
		}
	}
	return nil
}

// sameExisting reports whether two paths name the same file.
func sameExisting(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// writeStress writes a report in the format of --format.
func (a *stressCommand) writeStress(w io.Writer, name string, r *stress.Report) error {
	if a.format == formatJSON {
		return writeJSONTo(w, r)
	}
	printable.Strings(r)
	if a.format == formatHTML {
		return report.StressHTML(w, printable.Text(name), r)
	}
	o := stress.TextOptions{All: a.all}
	if toStdout(a.out) {
		o.Width, o.Colour = a.columns(), hasColour(a.stdout)
	}
	_, err := io.WriteString(w, r.Text(o))
	return err
}

// judge returns an error if a row has a verdict of --fail-on, or if nothing is known of a job.
func (a *stressCommand) judge(r *stress.Report) error {
	if len(a.failOn) == 0 {
		return nil
	}
	var verdicts, jobs []string
	for _, v := range stress.Verdicts() {
		name := strings.ToLower(string(v))
		if !slices.ContainsFunc(a.failOn, func(given string) bool { return strings.EqualFold(given, name) }) {
			continue
		}
		if n := r.Count(v); n > 0 {
			verdicts = append(verdicts, name)
			jobs = append(jobs, fmt.Sprintf("%d %s", n, v))
		}
	}
	for _, job := range r.Unknown() {
		jobs = append(jobs, job+" was not put under stress")
	}
	if jobs == nil {
		return nil
	}
	if verdicts == nil {
		verdicts = a.failOn
	}
	return failedOn(verdicts, jobs)
}
