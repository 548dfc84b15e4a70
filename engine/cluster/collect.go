package cluster

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/runtime"
)

// CollectOptions are the options of [Run.Collect].
type CollectOptions struct {
	// Sorted passes the pages in the order of a run on one machine. By default they arrive in the
	// order in which they were stored. Within a partition both orders are the same.
	Sorted bool

	// NoWait ends the collection after the pages stored so far. By default Collect waits until the
	// run is complete.
	NoWait bool

	// Release deletes pages from the server after the sink has returned. By then the sink must have
	// stored the pages and their checkpoints durably. The last page of each partition remains,
	// because it holds the position, and so do pages whose items have partitions of their own.
	// Afterwards no other collection can read the run. Release cannot be combined with Sorted.
	Release bool

	// Skipped receives the pages of skipped partitions on which these failed: see
	// [engine.WithSkippedPages]. It may be nil.
	Skipped func(*engine.Page)

	// Progress is called from time to time with the progress of the run. It may be nil.
	Progress func(Progress)
}

// Progress describes how far a run is during its collection, based on the pages read so far.
type Progress struct {
	Tasks   int // number of known tasks; more may be found
	Ended   int // number of tasks that have ended, including failed ones
	Failed  int // number of failed tasks; at the end of the collection it includes tasks whose pages were not read
	Waiting int // number of stored pages that a Sorted collection could not pass on, because an earlier page is missing
}

// Collect passes the stored pages of a run to a sink, like [engine.Engine.Run]: the pages of a
// partition in order, and each page once. The checkpoint of a page is the position in the run;
// [engine.WithResume] continues after it, even in another process. The engine must come from
// [Run.Engine].
//
// Collect returns the results of the jobs when the run is complete. If partitions have failed, the
// error joins their errors; their pages before the failure are collected, and [Run.Retry]
// continues them. If the run is not complete, because it was cancelled or because of
// [CollectOptions.NoWait], the error says so and is of class transient.
func (r *Run) Collect(ctx context.Context, e *engine.Engine, sink engine.SinkFunc, o CollectOptions) (*engine.Result, error) {
	c, err := r.newCollection(ctx, e, runtime.Sink(sink), o)
	if err != nil {
		return engine.NewResult(nil), err
	}
	return c.collect(ctx)
}

// collect passes the pages that are left until the run is complete.
func (c *collection) collect(ctx context.Context) (*engine.Result, error) {
	ctx, end, err := c.startRelease(ctx)
	if err != nil {
		return engine.NewResult(nil), err
	}
	for err == nil && !c.done() {
		if c.options.Sorted {
			err = c.collectSorted(ctx)
		} else {
			err = c.collectStored(ctx)
		}
		if err == nil {
			err = c.addFailures(ctx)
		}
		if errors.Is(err, errGoesOn) {
			err = c.waitForRetries(ctx)
		}
	}
	return c.result(c.run.unknown(end(err)))
}

// CheckCollect returns the error with which [Run.Collect] would refuse to start: the checkpoint
// cannot be used, pages of the run have been released, or the user may not release pages.
func (r *Run) CheckCollect(ctx context.Context, e *engine.Engine, o CollectOptions) error {
	c, err := r.newCollection(ctx, e, nil, o)
	if err != nil {
		return err
	}
	return r.unknown(c.checkStart(ctx))
}

// newCollection returns a collection of the run that begins after the checkpoints of an earlier one.
func (r *Run) newCollection(ctx context.Context, e *engine.Engine, sink runtime.Sink, o CollectOptions) (*collection, error) {
	if err := r.deleting(); err != nil {
		return nil, err
	}
	info, err := r.cluster.store.Info(ctx, r.ID())
	if err != nil {
		return nil, r.unknown(err)
	}
	c := &collection{
		run: r, store: r.cluster.store, engine: e, sink: sink, options: o, created: info.Created,
		checks: retryChecks{pauses: store.Backoff{First: shortestCheck, Longest: longestCheck}},
	}
	if err := c.resume(ctx); err != nil {
		return nil, r.unknown(err)
	}
	return c, nil
}

// Released reports whether a collection has released pages of the run. Then only that collection
// can be continued, and no other can start.
func (r *Run) Released() bool { return r.record.Releases != "" }

// A collection collects the pages of a run.
type collection struct {
	run     *Run
	store   *store.Store
	engine  *engine.Engine
	sink    runtime.Sink
	options CollectOptions

	created   time.Time  // creation time of the run's stream
	continued store.Mark // the page with the highest sequence that an earlier collection has received

	roots []string
	trees []*rootProgress // one tree for each root
	whole bool            // one task runs all jobs

	noneFailed bool // whether addFailures, which follows when all tasks have ended, has found no failed one

	read atomic.Uint64 // sequence of the last page read; 0 before the first page, and in a sorted collection

	cancelPoint cancelPoint
	arrivals    arrivals
	checks      retryChecks

	gap     *store.StoredHead // failure at which a sorted collection stopped; nil if it has not met a failure
	failed  int               // number of tasks found to have failed after all others had ended
	waiting int               // number of stored pages after a missing page, when a sorted collection has ended

	releaser *releaser // nil if the collection releases nothing
	releases string    // ID of a collection that has released pages; it is part of its checkpoints
}

// A cancelPoint ends the collection of a cancelled run.
type cancelPoint struct {
	mu   sync.Mutex             // held while checking whether the run is still cancelled
	last atomic.Pointer[uint64] // sequence of the last page to collect; nil while the run goes on
}

// arrivals counts the pages that a collection has received.
type arrivals struct {
	count  atomic.Int64
	latest atomic.Pointer[store.Mark] // the page with the highest sequence; nil before the first one
}

// retryChecks pauses between the checks of failed partitions that are queued again.
type retryChecks struct {
	pauses   store.Backoff
	arrivals int64 // number of pages received before the last check
}

// waitForRetries waits before the next check of a run whose failed partitions are retried.
func (c *collection) waitForRetries(ctx context.Context) error {
	if c.options.NoWait || c.cancelled() {
		return c.incomplete(ctx, c.reason())
	}
	if now := c.arrivals.count.Load(); now != c.checks.arrivals {
		c.checks.arrivals = now
		c.checks.pauses.Reset()
	}
	return c.checks.pauses.Wait(ctx)
}

// Bounds of the time between two checks of failed partitions that are queued again. Each check
// reads the last pages of all partitions.
const (
	shortestCheck = 200 * time.Millisecond
	longestCheck  = 10 * time.Second
)

// errGoesOn means that a failed partition is running again.
var errGoesOn = errors.New("the run goes on")

// done reports whether nothing is left to collect: all tasks have ended, and no task has failed.
func (c *collection) done() bool {
	return c.noneFailed || !slices.ContainsFunc(c.trees, func(t *rootProgress) bool { return !t.complete() })
}

// allEnded reports whether all tasks have ended.
func (c *collection) allEnded() bool {
	return !slices.ContainsFunc(c.trees, func(t *rootProgress) bool { return !t.allEnded() })
}
