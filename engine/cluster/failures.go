package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// addFailures adds the results of the tasks that have failed, when all tasks have ended. The
// error is errGoesOn if one of them goes on.
func (c *collection) addFailures(ctx context.Context) error {
	c.failed = 0
	if !slices.ContainsFunc(c.trees, func(t *tree) bool { return t.Failed > 0 }) {
		c.ended = true
		return nil
	}
	before := c.tallies()
	failures, goesOn, err := c.failures(ctx, before)
	if err != nil {
		return err
	}
	failed := errors.Join(failures...)
	if failed == nil || goesOn && !c.options.Sorted {
		return cmp.Or(c.restore(before), errGoesOn)
	}
	err = c.countWaiting(ctx)
	c.tell()
	return errors.Join(failed, err)
}

// tallies returns the tallies as they are.
func (c *collection) tallies() []json.RawMessage {
	all := make([]json.RawMessage, len(c.trees))
	for i, t := range c.trees {
		all[i], _ = t.tally.Save() // it is saved with every page
	}
	return all
}

// restore takes up tallies as they were.
func (c *collection) restore(tallies []json.RawMessage) error {
	fresh := c.engine.Distributed().Tallies()
	for i, t := range c.trees {
		t.tally = fresh[t.root]
		if err := t.tally.Restore(tallies[i]); err != nil {
			return err
		}
	}
	return nil
}

// failures adds the results of all tasks that have failed to the tallies, which are as before.
// It returns their errors, that of the gap of a sorted collection first, and whether a task
// has not ended.
func (c *collection) failures(ctx context.Context, before []json.RawMessage) (errs []error, goesOn bool, err error) {
	first, err := c.gapFailure(ctx)
	if err != nil || c.gap != nil && first == nil {
		return nil, true, err
	}
	n := 0
	add := func(task string, ending *partition.Ending) {
		for _, t := range c.treesOf(task) {
			t.tally.Add(&partition.Step{Ending: ending})
		}
		if n++; n <= maxErrors {
			errs = append(errs, ending.FailureOf())
		}
	}
	var unrestored error
	again := func() {
		errs, goesOn, n, unrestored = nil, false, 0, c.restore(before)
		if first != nil {
			add(c.gap.Task, first)
		}
	}
	again()
	err = c.run.cluster.store.Heads(ctx, c.run.ID(), again, func(h store.Heading) error {
		goesOn = goesOn || !h.Ends()
		if h.State != store.Failed || c.gap != nil && h.Key == *c.gap {
			return nil
		}
		ending, err := c.failure(ctx, h.Key)
		if err != nil {
			return err
		}
		if ending == nil {
			goesOn = true
			return nil
		}
		add(h.Task, ending)
		return nil
	})
	c.failed = n
	if more := n - maxErrors; more > 0 {
		errs = append(errs, c.moreFailures(more))
	}
	return errs, goesOn, cmp.Or(err, unrestored)
}

// gapFailure returns how the task ended at which a sorted collection ended, or nil if it is
// tried again or there is none.
func (c *collection) gapFailure(ctx context.Context) (*partition.Ending, error) {
	if c.gap == nil {
		return nil, nil
	}
	return c.failure(ctx, *c.gap)
}

// moreFailures returns the error for the partitions that are not listed.
func (c *collection) moreFailures(n int) error {
	return &engine.Error{Class: failure.Transient, Op: "collect",
		Message: value.Counted(n, "more partition") + " failed",
		Hint:    c.run.command("status --partitions") + " lists all"}
}

// failure returns how a task that has failed ended, or nil if it is tried again.
func (c *collection) failure(ctx context.Context, key store.Key) (*partition.Ending, error) {
	queued, err := c.run.queued(ctx, key)
	if err != nil {
		return nil, err
	}
	entry, err := c.run.cluster.store.Last(ctx, key)
	if err != nil || entry == nil || queued || entry.State != store.Failed {
		return nil, err
	}
	e, err := record.ReadEnvelope(entry)
	switch {
	case err != nil:
		return nil, damaged(entry, err.Error())
	case e.Ending == nil:
		return nil, damaged(entry, "it does not say how the task failed")
	}
	return e.Ending, nil
}

// queued reports whether a task is in the queue.
func (r *Run) queued(ctx context.Context, key store.Key) (bool, error) {
	return r.cluster.store.IsQueued(ctx, r.record.Origin, key)
}

// maxErrors is how many failures of partitions the error of a collection has.
const maxErrors = 10
