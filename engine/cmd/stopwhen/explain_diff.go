package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/printable"
)

// twoConfigs accepts the two configurations of explain --diff.
func (c *explainCommand) twoConfigs(args []string) error {
	return refuse([]misuse{
		{c.fixture != "", "--diff compares two configurations, and --fixture names one: give two files"},
		{len(args) != 2, fmt.Sprintf("--diff: want two configurations, got %d: stopwhen explain --diff OLD NEW", len(args))},
	})
}

// printDiff prints the differences between two configurations.
func (c *explainCommand) printDiff(args []string) error {
	err := onlyOnce("standard input", streamUse{"the first configuration", args[0]}, streamUse{"the second one", args[1]},
		streamUse{"--set-file", c.setFile}, streamUse{"--kept", c.kept})
	if err != nil {
		return err
	}
	sides, err := c.loadSides(args)
	if err != nil {
		return err
	}
	var x [2]*explain.Explanation
	for i, side := range sides {
		x[i] = side.Explain()
		x[i].Jobs = slices.DeleteFunc(x[i].Jobs, func(job explain.JobExplanation) bool {
			return len(c.jobs) > 0 && !slices.Contains(c.jobs, job.Job)
		})
	}
	d := explain.Diff(x[0], x[1])
	ctx, stop := c.catchSignals()
	defer stop()
	d.Simulated, err = simulatedDifference(ctx, sides[0].Engine, sides[1].Engine, d, c.jobs)
	if err := cmp.Or(interrupted(ctx), err); err != nil {
		return err
	}
	if c.format == formatJSON {
		return c.writeJSON(d)
	}
	printable.Strings(d)
	return c.writeText(d.Text(explain.TextOptions{Width: c.columns()}))
}

// loadSides compiles both configurations. An input or a job that is given needs to be in one
// of them only.
func (c *explainCommand) loadSides(args []string) (sides [2]*loaded, err error) {
	inputs, err := c.inputs()
	if err != nil {
		return sides, err
	}
	var names, jobs []string
	for i, path := range args {
		sides[i] = &loaded{}
		if err := errors.Join(sides[i].readKept(c.kept), c.readConfig(sides[i], path)); err != nil {
			return sides, err
		}
		if err := c.build(sides[i]); err != nil {
			return sides, err
		}
		names, jobs = append(names, sides[i].Info().Inputs...), append(jobs, sides[i].Jobs()...)
		object := map[string]any{}
		for _, name := range sides[i].Info().Inputs {
			if v, given := inputs[name]; given {
				object[name] = v
			}
		}
		sides[i].Engine = sides[i].With(engine.WithInputs(object), engine.WithKept(sides[i].kept))
		if err := c.checkGiven(sides[i].Engine, object); err != nil {
			return sides, err
		}
	}
	for name := range inputs {
		if err := inNeither("an input", name, names); err != nil {
			return sides, err
		}
	}
	for _, id := range c.jobs {
		if err := inNeither("a job", id, jobs); err != nil {
			return sides, err
		}
	}
	return sides, nil
}

// inNeither returns the error for a name that neither configuration has, or nil if one of them has
// it.
func inNeither(noun, name string, known []string) error {
	if slices.Contains(known, name) {
		return nil
	}
	hint := "they have none"
	if len(known) > 0 {
		slices.Sort(known)
		hint = cmp.Or(diag.DidYouMean(name, known), "they have "+strings.Join(slices.Compact(known), ", "))
	}
	return &usageError{fmt.Sprintf("neither configuration has %s %q; %s", noun, name, hint)}
}

// simulatedDifference returns a line for each change of verdicts in a job under stress, or nil
// if the verdicts are the same. The difference of the rules says which jobs correspond to each
// other. If there are ids of jobs, only these jobs are compared.
func simulatedDifference(ctx context.Context, a, b *engine.Engine, d *explain.Difference, jobs []string) ([]string, error) {
	if d.Same {
		return nil, nil
	}
	options := stress.Options{WithoutFixes: true}
	first, err := a.Stress(ctx, options)
	if err != nil {
		return nil, err
	}
	second, err := b.Stress(ctx, options)
	if err != nil {
		return nil, err
	}
	former := map[string]string{} // IDs in the first configuration, by ID in the second
	for _, x := range d.Jobs {
		if x.Was != "" {
			former[x.Job] = x.Was
		}
	}
	var lines []string
	for i := range second.Jobs {
		after := &second.Jobs[i]
		id := after.Job
		if len(jobs) > 0 && !slices.Contains(jobs, id) {
			continue
		}
		if was, renamed := former[id]; renamed {
			id = was
		}
		index := slices.IndexFunc(first.Jobs, func(j stress.JobReport) bool { return j.Job == id })
		if index >= 0 {
			lines = append(lines, verdictChanges(&first.Jobs[index], after)...)
		}
	}
	return lines, nil
}

// verdictChanges compares the verdicts of a job before and after a change. The worst new verdict
// comes first.
func verdictChanges(before, after *stress.JobReport) []string {
	switch {
	case before.Unknown != "" && after.Unknown != "":
		return nil
	case before.Unknown != "":
		return []string{fmt.Sprintf("job %s: only the second configuration has a model", after.Job)}
	case after.Unknown != "":
		return []string{fmt.Sprintf("job %s: only the first configuration has a model", after.Job)}
	}
	first, second := verdictsOf(before), verdictsOf(after)
	names := map[[2]stress.Verdict][]string{} // names of behaviours, by their former and new verdicts
	for _, b := range slices.Concat(stress.Behaviours(), stress.PartitionBehaviours()) {
		verdicts := [2]stress.Verdict{first[b.Name], second[b.Name]}
		names[verdicts] = append(names[verdicts], b.Name)
	}
	var lines []string
	all := append(stress.Verdicts(), "")
	for _, now := range all {
		for _, was := range all {
			if found := names[[2]stress.Verdict{was, now}]; found != nil && was != now {
				lines = append(lines, fmt.Sprintf("job %s: %s: %s", after.Job, change(was, now), strings.Join(found, ", ")))
			}
		}
	}
	return lines
}

func verdictsOf(job *stress.JobReport) map[string]stress.Verdict {
	verdicts := map[string]stress.Verdict{}
	for _, row := range job.Rows {
		verdicts[row.Behaviour] = row.Verdict
	}
	return verdicts
}

// change describes how a verdict changes. The verdict "" means that the behaviour cannot happen.
func change(before, now stress.Verdict) string {
	switch {
	case before == "":
		return fmt.Sprintf("%s, and could not happen before", now)
	case now == "":
		return fmt.Sprintf("cannot happen any more, and was %s", before)
	}
	return fmt.Sprintf("%s instead of %s", now, before)
}
