package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
)

// watched returns a context that ends when the run is deleted, or when its pages are
// released by another collection, and, if they are read in the order in which they were
// stored, when the run is cancelled and all of them have been read. Stop ends what watches
// the run, and waits for it.
func (c *collection) watched(ctx context.Context) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	var all sync.WaitGroup
	all.Go(func() { c.watch(watched, cancel) })
	all.Go(func() { c.tellWhyIdle(watched) })
	return watched, func() {
		cancel(nil)
		all.Wait()
	}
}

// The reasons why the context of [collection.watched] ends.
var (
	errCancelled = errors.New("the run is cancelled")
	errDeleted   = errors.New("the run is deleted")
)

// why returns the error of a collection, given that of a call with the context of
// [collection.watched]: the reason why that context has ended explains more.
func (c *collection) why(ctx, watched context.Context, err error) error {
	cause := context.Cause(watched)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case errors.Is(cause, errDeleted), errors.Is(err, store.ErrDeleted):
		return c.incomplete(ctx, isDeleted)
	case cause == nil:
		return err
	case errors.Is(cause, errCancelled):
		return c.incomplete(ctx, isCancelled)
	}
	return cause
}

// watch follows the record of the run.
func (c *collection) watch(ctx context.Context, stop context.CancelCauseFunc) {
	_ = c.run.cluster.store.WatchRuns(ctx, func(stored store.Record) {
		var r record.Run
		switch {
		case stored.Name != c.run.ID():
		case stored.Value == nil:
			stop(errDeleted)
		case record.Decode(stored.Value, &r) != nil: // it is that of a later version
		case r.Submission != c.run.record.Submission:
			stop(errDeleted) // and another run has its name
		case r.Phase == Cancelled:
			c.afterGrace(func() { c.closeAfterCancel(ctx, stop) })
		default:
			c.reopen()
			if err := c.checkReleased(&r); err != nil {
				stop(err)
			}
		}
	})
}

// cancelledGrace is how long pages may arrive that workers store while a run is cancelled.
const cancelledGrace = 2 * time.Second

// afterGrace calls end when the time for the last pages of a cancelled run is over.
func (c *collection) afterGrace(end func()) {
	if wait := c.run.cluster.options.grace; wait != nil {
		wait(end)
		return
	}
	time.AfterFunc(cancelledGrace, end)
}

// closeAfterCancel ends the collection after the pages that are stored, if the run is still
// cancelled. No change of the run is taken up meanwhile.
func (c *collection) closeAfterCancel(ctx context.Context, stop context.CancelCauseFunc) {
	c.closing.Lock()
	defer c.closing.Unlock()
	stored, err := c.run.cluster.store.Run(ctx, c.run.ID())
	if err != nil || goesOn(stored) {
		return
	}
	last, err := c.limit(ctx)
	if err != nil {
		return
	}
	c.final.Store(&last)
	if !c.options.Sorted && c.read.Load() >= last {
		stop(errCancelled)
	}
}

// reopen removes the limit after the run was submitted again.
func (c *collection) reopen() {
	c.closing.Lock()
	defer c.closing.Unlock()
	c.final.Store(nil)
}

// cancelled reports whether the collection ends with what is stored, since its run is
// cancelled.
func (c *collection) cancelled() bool { return c.final.Load() != nil }

// isFinal reports whether a page is the last to collect, since the run is cancelled.
func (c *collection) isFinal(sequence uint64) bool {
	last := c.final.Load()
	return last != nil && sequence >= *last
}
