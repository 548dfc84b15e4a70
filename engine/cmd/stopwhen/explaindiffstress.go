package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile/explain"
	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/stress"
)

// simulatedDifference says how the verdicts of two configurations under stress differ, one
// line for each change of verdicts in a job; nil: they are the same. Jobs are compared with
// those that the difference of the rules has found to be theirs. Only the jobs of some ids are
// compared; none means all.
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
	former := map[string]string{} // ids in the first configuration, by those in the second one
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
		at := slices.IndexFunc(first.Jobs, func(j stress.JobReport) bool { return j.Job == id })
		if at >= 0 {
			lines = append(lines, verdictChanges(&first.Jobs[at], after)...)
		}
	}
	return lines, nil
}

// verdictChanges compares the verdicts of a job before and after a change, the worst of those
// that it has now first.
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
	names := map[[2]stress.Verdict][]string{} // of behaviours, by the former verdict and the new one
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

// change describes how a verdict changes; "" is a behaviour that cannot happen.
func change(was, now stress.Verdict) string {
	switch {
	case was == "":
		return fmt.Sprintf("%s, and could not happen before", now)
	case now == "":
		return fmt.Sprintf("cannot happen any more, and was %s", was)
	}
	return fmt.Sprintf("%s instead of %s", now, was)
}
