package cluster

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// addFailures adds the results of the failed tasks once all tasks have ended. The error is
// errGoesOn if a failed task is running again.
func (c *collection) addFailures(ctx context.Context) error {
	c.failed = 0
	if !slices.ContainsFunc(c.trees, func(t *rootProgress) bool { return t.Failed > 0 }) {
		c.noneFailed = true
		return nil
	}
	f, err := c.failures(ctx)
	if err != nil {
		return err
	}
	if c.failed = f.count; f.count == 0 || f.goesOn && !c.options.Sorted {
		return errGoesOn
	}
	for _, t := range c.trees {
		t.tally = f.tallies[t.root]
	}
	if more := f.count - maxErrors; more > 0 {
		f.first = append(f.first, c.moreFailures(more))
	}
	err = c.countWaiting(ctx)
	c.reportProgress()
	return errors.Join(append(f.first, err)...)
}

// failures holds the failed tasks of a run.
type failures struct {
	tallies map[string]*partition.Tally // tallies of the trees, including their failures
	count   int
	first   []error // errors of the first maxErrors failed tasks
	goesOn  bool    // whether a task has not ended or is retried
	err     error   // error of the tallies
}

// failures returns the failed tasks. The failed task at the gap of a sorted collection comes
// first. If that task is retried, goesOn is set.
func (c *collection) failures(ctx context.Context) (f failures, err error) {
	var gap *partition.Ending
	if c.gap != nil {
		if gap, err = c.failure(ctx, *c.gap); err != nil || gap == nil {
			return failures{goesOn: true}, err
		}
	}
	reset := func() {
		f = failures{tallies: c.engine.Distribution().Tallies()}
		for _, t := range c.trees {
			saved, err := t.tally.Save()
			f.err = cmp.Or(f.err, err, f.tallies[t.root].Restore(saved))
		}
		if gap != nil {
			f.add(c.treesOf(c.gap.Task), gap)
		}
	}
	err = c.store.Heads(ctx, c.run.ID(), reset, func(h store.StoredHead) error {
		f.goesOn = f.goesOn || !h.Ends()
		if h.State != store.Failed || c.gap != nil && h.Key == c.gap.Key {
			return nil
		}
		ending, err := c.failure(ctx, h)
		switch {
		case err != nil:
			return err
		case ending == nil:
			f.goesOn = true
		default:
			f.add(c.treesOf(h.Task), ending)
		}
		return nil
	})
	return f, cmp.Or(err, f.err)
}

// add adds the ending of a failed task to its trees.
func (f *failures) add(trees []*rootProgress, ending *partition.Ending) {
	for _, t := range trees {
		f.tallies[t.root].Add(&partition.Step{Ending: ending})
	}
	if f.count++; f.count <= maxErrors {
		f.first = append(f.first, ending.Failure())
	}
}

// moreFailures returns the error that counts the failed partitions that are not listed.
func (c *collection) moreFailures(n int) error {
	return (&engine.Error{Class: failure.Transient, Op: "collect", Message: wording.Counted(n, "more partition") + " failed"}).
		WithRemedy("%s lists all", remedy.Partitions.Of(c.run.ID()))
}

// failure returns how a failed task ended, or nil if it is retried.
func (c *collection) failure(ctx context.Context, h store.StoredHead) (*partition.Ending, error) {
	retried, err := c.isRetried(ctx, h)
	if err != nil || retried {
		return nil, err
	}
	entry, err := c.store.Last(ctx, h.Key)
	if err != nil || entry == nil || entry.Sequence != h.Sequence {
		return nil, err
	}
	e, err := record.ReadEnvelope(entry)
	if err == nil && e.Ending == nil {
		err = entry.Damaged("it does not say how the task failed")
	}
	if err != nil {
		return nil, err
	}
	return e.Ending, nil
}

// isRetried reports whether a failed task is queued again.
func (c *collection) isRetried(ctx context.Context, failed store.StoredHead) (bool, error) {
	return c.store.IsRetried(ctx, c.run.record.Origin, failed)
}

// maxErrors is the number of failed partitions listed in the error of a collection.
const maxErrors = 10
