package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
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
	loader
	reporting
	options stress.Options
	all     bool
	failOn  []string
	like    string
	fixes   []string
	apply   bool
}

func newStress(a *app) *cobra.Command {
	c := &stressCommand{loader: loader{app: a}}
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
has one of the verdicts, or if a job has no model, which leaves everything open.`,
		Example: `  stopwhen stress users.json
  stopwhen stress users.json --fail-on silent
  stopwhen stress users.json --depth 2 --format html --out stress.html
  stopwhen stress users.json --format json | jq '.jobs[].rows[].verdict'
  stopwhen stress --apply users.json --fix cappedPages`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := c.oneConfig(cmd, args); err != nil {
				return err
			}
			return c.checkFixes(cmd, args)
		},
		RunE: c.Run,
	}
	c.addConfigFlags(cmd)
	c.formatFlag(cmd, formatText, formatJSON, formatHTML)
	f := cmd.Flags()
	f.StringVarP(&c.out, "out", "o", "-", "`FILE` to write to; - is standard output")
	f.IntVar(&c.options.Seed, "seed", 0, "`NUMBER` that varies where behaviours happen; the same number gives the same report")
	f.IntVar(&c.options.Depth, "depth", 1, "`NUMBER` of behaviours at the same time: 1 or 2")
	f.BoolVar(&c.all, "all", false, "also print the rows that are complete, and what was left out; JSON and HTML always have them")
	f.StringVar(&c.like, "like", "", "recording or HAR `FILE` whose responses the model resembles")
	f.Var(listFlag{&c.failOn, true}, "fail-on", "`VERDICTS` that end with status 9: "+strings.Join(failOnVerdicts(), ", "))
	f.Var(listFlag{&c.fixes, true}, "fix", "`NAMES` of behaviours whose fixes to show as a difference of the file, instead of the report")
	f.BoolVar(&c.apply, "apply", false, "make the changes of --fix in the file; comments stay")
	checked(cmd, "fail-on", func() error {
		for _, name := range c.failOn { // in any case, as reports write them
			if !slices.Contains(failOnVerdicts(), strings.ToLower(name)) {
				return oneOf(failOnVerdicts(), name)
			}
		}
		return nil
	})
	complete(cmd, "fail-on", failOnVerdicts)
	checked(cmd, "seed", func() error { return atLeast(0, c.options.Seed, "a number of 0 or more") })
	checked(cmd, "depth", func() error {
		if c.options.Depth != 1 && c.options.Depth != 2 {
			return fmt.Errorf("want 1 or 2, got %d", c.options.Depth)
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

// Run plays the jobs of a configuration against their models.
func (c *stressCommand) Run(_ *cobra.Command, args []string) error {
	if err := checkReportFile(c.out, append(slices.Clone(args), c.like, c.setFile, c.envFile, c.fixture)...); err != nil {
		return err
	}
	inputs := []streamUse{argument(args), {"--set-file", c.setFile}, {"--like", c.like}}
	if err := onlyOnce("standard input", inputs...); err != nil {
		return err
	}
	c.placeholders = true
	l, err := c.load(args)
	if err != nil {
		return err
	}
	defer l.Close()
	ctx, stop := c.catchSignals()
	defer stop()
	if c.like != "" {
		tape, err := c.readRecording(c.like)
		if err != nil {
			return err
		}
		c.options.Recording = recording.Samples(ctx, l.Engine, tape)
		c.options.Recording.Name = c.like
		if err := checkRecorded(c.options.Recording); err != nil {
			return err
		}
	}
	r, err := l.Stress(ctx, c.options)
	if err := cmp.Or(interrupted(ctx), err); err != nil {
		return err
	}
	if c.fixes != nil {
		return c.fix(ctx, l, r)
	}
	if err := c.writeReport(c.out, func(w io.Writer) error { return c.writeStress(w, l.name, r) }); err != nil {
		return err
	}
	return c.refuseVerdicts(r)
}

// checkRecorded returns an error if a recording has no page of any job.
func checkRecorded(r stress.Recorded) error {
	if len(r.Pages) > 0 {
		return nil
	}
	text := []string{fmt.Sprintf("--like %s: the recording has no page of a job; record one with stopwhen record", r.Name)}
	for _, job := range slices.Sorted(maps.Keys(r.Missing)) {
		text = append(text, fmt.Sprintf("job %s: %s", job, r.Missing[job]))
	}
	return &usageError{strings.Join(text, "; ")}
}

// checkReportFile checks that the file of --out is not a file that is read.
func checkReportFile(out string, read ...string) error {
	if toStdout(out) {
		return nil
	}
	for _, path := range read {
		if sameExisting(path, out) {
			return &usageError{fmt.Sprintf("--out %s would overwrite %s, which is read", out, path)}
		}
	}
	return nil
}

// sameExisting reports whether two paths name the same file.
func sameExisting(a, b string) bool {
	first, _ := os.Stat(a)
	second, _ := os.Stat(b)
	return os.SameFile(first, second)
}

// writeStress writes a report in the format of --format.
func (c *stressCommand) writeStress(w io.Writer, name string, r *stress.Report) error {
	if c.format == formatJSON {
		return writeJSONTo(w, r)
	}
	printable.Strings(r)
	if c.format == formatHTML {
		return report.StressHTML(w, printable.Text(name), r)
	}
	o := report.TextOptions{All: c.all}
	if toStdout(c.out) {
		o.Width, o.Colour = c.columns(), hasColour(c.stdout)
	}
	return report.StressText(w, r, o)
}

// refuseVerdicts returns an error if a row has a verdict of --fail-on, or if a job has no model.
func (c *stressCommand) refuseVerdicts(r *stress.Report) error {
	if len(c.failOn) == 0 {
		return nil
	}
	var verdicts, jobs []string
	for _, v := range stress.Verdicts() {
		name := strings.ToLower(string(v))
		if !slices.ContainsFunc(c.failOn, func(given string) bool { return strings.EqualFold(given, name) }) {
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
		verdicts = c.failOn
	}
	return failedOn(verdicts, jobs)
}
