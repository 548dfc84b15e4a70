package stress

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// A Combination holds the changes of several fixes, and their effects on the jobs.
type Combination struct {
	Changes []Change
	Effects []Effect // one for each job that has a model
}

// An Effect names the behaviours that have a better and a worse verdict in a job after changes.
type Effect struct {
	Job             string
	Improves, Costs []string
}

// Combine returns the changes of the fixes of rows, which are given by their behaviours, in all jobs.
// The changes were tried together: in no job a behaviour becomes SILENT. The error says that there is
// no such fix, that the changes cannot be made together, or that the context has ended.
func (r *Report) Combine(ctx context.Context, names ...string) (*Combination, error) {
	c := &Combination{}
	for _, name := range names {
		fixed := false
		for _, j := range r.Jobs {
			for _, row := range j.Rows {
				if row.Behaviour != name || row.Fix == nil {
					continue
				}
				for _, change := range row.Fix.Changes {
					fixed = true
					if !slices.ContainsFunc(c.Changes, func(had Change) bool { return reflect.DeepEqual(had, change) }) {
						c.Changes = append(c.Changes, change)
					}
				}
			}
		}
		if !fixed {
			return nil, r.noFix(name)
		}
	}
	for _, j := range r.Jobs {
		if j.fixer == nil {
			continue
		}
		fixed := j.fixer.try(ctx, c.Changes)
		var improves, costs, silenced []string
		if fixed != nil {
			improves, costs, silenced = j.fixer.compare(ctx, fixed, nil)
		}
		switch {
		case ctx.Err() != nil:
			clear(j.fixer.known) // some of its runs were interrupted
			return nil, ctx.Err()
		case fixed == nil:
			return nil, fmt.Errorf("job %s no longer obtains its list with the fixes %s together: make them one at a time",
				j.Job, strings.Join(names, ", "))
		case silenced != nil:
			slices.Sort(silenced)
			return nil, fmt.Errorf("with %s, job %s would lose items silently where it does not now: %s",
				strings.Join(names, ", "), j.Job, strings.Join(silenced, ", "))
		}
		c.Effects = append(c.Effects, Effect{j.Job, improves, costs})
	}
	return c, nil
}

// noFix says that a row has no fix that changes the configuration, and names the rows that have one.
func (r *Report) noFix(name string) error {
	var names []string
	for _, j := range r.Jobs {
		for _, row := range j.Rows {
			if row.Fix != nil && row.Fix.Changes != nil {
				names = lists.AppendNew(names, row.Behaviour)
			}
		}
	}
	if names == nil {
		return fmt.Errorf("no row has a fix that changes the configuration, and %q has none either", name)
	}
	suggestion := diag.DidYouMean(name, names)
	if suggestion != "" {
		suggestion += " "
	}
	return fmt.Errorf("%q has no fix that changes the configuration; %sthose that have one are %s", name, suggestion,
		strings.Join(names, ", "))
}
