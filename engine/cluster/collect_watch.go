package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// watched returns a context that ends when the run is deleted or when another collection releases
// its pages. If pages are read in the order in which they were stored, the context also ends when
// the run is cancelled and all pages have been read, or when the watch fails. Stop ends the watch
// and waits for its goroutines.
func (c *collection) watched(ctx context.Context) (watched context.Context, stop func()) {
	watched, cancel := context.WithCancelCause(ctx)
	var watchers sync.WaitGroup
	watchers.Go(func() { cancel(c.watch(watched, cancel, &watchers)) })
	watchers.Go(func() { c.logWhyIdle(watched, cancel) })
	return watched, func() {
		cancel(nil)
		watchers.Wait()
	}
}

// errCancelled ends the context of [collection.watched] if the run is cancelled.
var errCancelled = errors.New("the run is cancelled")

// errorOf returns the error of a collection, given the error of a call with the context of
// [collection.watched]. The reason why that context ended takes precedence.
func (c *collection) errorOf(ctx, watched context.Context, err error) error {
	cause := context.Cause(watched)
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case errors.Is(cause, store.ErrDeleted), errors.Is(err, store.ErrDeleted):
		return c.incomplete(ctx, isDeleted)
	case cause == nil:
		return err
	case errors.Is(cause, errCancelled):
		return c.incomplete(ctx, isCancelled)
	}
	return cause
}

// watch follows the record of the run, and stops the collection if necessary. Its goroutines belong
// to watchers. It returns an error when the context ends or when it cannot follow the record.
func (c *collection) watch(ctx context.Context, stop context.CancelCauseFunc, watchers *sync.WaitGroup) error {
	return c.store.WatchRuns(ctx, func(stored store.Record) {
		var r record.Run
		switch {
		case stored.Name != c.run.ID():
		case stored.Value == nil:
			stop(store.ErrDeleted)
		case value.Unmarshal(stored.Value, &r) != nil: // the record is from a later version
		case r.Submission != c.run.record.Submission:
			// Another run has its name.
			stop(store.ErrDeleted)
		case r.Phase == Cancelled:
			watchers.Go(func() { c.run.cluster.timing.afterGrace(ctx, func() { c.closeAfterCancel(ctx, stop) }) })
		default:
			c.reopen()
			if err := c.checkReleased(&r); err != nil {
				stop(err)
			}
		}
	})
}

// closeAfterCancel limits the collection to the pages stored so far if the run is still cancelled.
// Meanwhile, [collection.reopen] waits.
func (c *collection) closeAfterCancel(ctx context.Context, stop context.CancelCauseFunc) {
	c.cancelPoint.mu.Lock()
	defer c.cancelPoint.mu.Unlock()
	stored, err := c.store.Run(ctx, c.run.ID())
	if err == nil && isActive(stored) {
		return
	}
	var last uint64
	if err == nil {
		last, err = c.lastStored(ctx)
	}
	if err != nil {
		stop(err)
		return
	}
	c.cancelPoint.last.Store(&last)
	if !c.options.Sorted && c.read.Load() >= last {
		stop(errCancelled)
	}
}

// reopen removes the cancel point after the run was submitted again.
func (c *collection) reopen() {
	c.cancelPoint.mu.Lock()
	defer c.cancelPoint.mu.Unlock()
	c.cancelPoint.last.Store(nil)
}

// cancelled reports whether the collection ends with the stored pages because its run is
// cancelled.
func (c *collection) cancelled() bool { return c.cancelPoint.last.Load() != nil }

// isFinal reports whether a page is the last one to collect from a cancelled run.
func (c *collection) isFinal(sequence uint64) bool {
	last := c.cancelPoint.last.Load()
	return last != nil && sequence >= *last
}

// logWhyIdle logs why no pages arrive, as far as the server knows. It logs each reason once until
// pages arrive again. If the server has lost pages that were collected, it stops the collection.
func (c *collection) logWhyIdle(ctx context.Context, stop context.CancelCauseFunc) {
	seen, logged := c.arrivals.count.Load(), ""
	tick := time.NewTicker(c.run.cluster.timing.idle)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if now := c.arrivals.count.Load(); now != seen {
			seen, logged = now, ""
			continue
		}
		if err := c.store.Check(ctx, c.run.ID(), c.latest()); errors.Is(err, store.ErrReplaced) {
			stop(err)
			return
		}
		why := c.run.idle(ctx, c.releaser != nil)
		if text := why.String(); text != logged && ctx.Err() == nil {
			if text != "" {
				c.run.cluster.log.Warn(fmt.Sprintf("run %s: no page arrives", c.run.ID()), "event", "collect_idle", "run", c.run.ID(), "hint", why)
			}
			logged = text
		}
	}
}

// idle returns why the tasks of the run do not go on, with a remedy, or nothing if no reason is known. releases
// says whether the collection releases pages.
func (r *Run) idle(ctx context.Context, releases bool) remedy.Remedy {
	workers, err := r.cluster.store.Workers(ctx)
	if err != nil {
		return remedy.Remedy{} // the collection reports the same error
	}
	if len(workers) == 0 {
		return remedy.New("no worker is running; start one with %s", r.WorkerHint())
	}
	info, err := r.cluster.store.Info(ctx, r.ID())
	if err == nil && info.IsFull() {
		return whyFull(info, releases)
	}
	load, err := r.cluster.store.Queued(ctx, r.record.Queue())
	if err == nil && load.Waiting+load.Running == 0 {
		return remedy.New("no task is queued, so the queue was lost; submit the run again, with its id")
	}
	for _, worker := range workers {
		var w record.Worker
		if value.Unmarshal(worker.Value, &w) == nil && w.Problems[r.ID()] != "" {
			return remedy.New("worker %s says: %s", worker.Name, w.Problems[r.ID()])
		}
	}
	return remedy.Remedy{}
}

// whyFull returns why the run has used up its space on the server, and a remedy.
func whyFull(info store.Info, releases bool) remedy.Remedy {
	const full = "workers wait, since its pages take %s of the %s that they may take on the server"
	bytes, limit := wording.Size(int(info.Bytes)), wording.Size(int(info.MaxBytes))
	if !releases {
		return remedy.New(full+"; submit it again with a larger %s, or collect it with %s", bytes, limit, remedy.MaxBytes, remedy.Release)
	}
	return remedy.New(full+", and those that are left cannot be released (the last page of each partition, "+
		"and pages for whose items there are partitions); submit it again with a larger %s", bytes, limit, remedy.MaxBytes)
}
