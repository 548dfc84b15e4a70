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
)

// Collecting says how [Run.Collect] reads a run.
type Collecting struct {
	// Sorted passes the pages in the order of a run on one machine. By default they come in
	// the order in which they were stored, which is that order within each partition.
	Sorted bool

	// NoWait ends with what is stored now. By default Collect waits until the run is complete.
	NoWait bool

	// Release deletes pages from the server when the sink has returned, which must then have
	// stored them, and their checkpoint, for good. What remains are the last page of each
	// partition, which has its position, and the pages for whose items there are partitions.
	// No other collection can read the run then. It cannot be used with Sorted.
	Release bool

	// Skipped receives the pages on which partitions failed that were skipped: see
	// [engine.WithSkippedPages]. It may be nil.
	Skipped func(*engine.Page)

	// Progress is called now and then with what is known of the run. It may be nil.
	Progress func(Progress)
}

// Progress says how far a run is that is being collected, in the pages that have been read.
type Progress struct {
	Tasks   int // that are known; more may be found
	Ended   int // of these, failed ones included
	Failed  int // at the end of the collection, those are included whose pages were not read
	Waiting int // pages that are stored, but not passed on when the collection ends: with Sorted, they come after others
}

// Collect passes the stored pages of a run to a sink, like [engine.Engine.Run]: the pages of
// a partition in their order, and each once. The checkpoint of a page is the position in the
// run; [engine.WithResume] continues after it, in another process too. The engine is one of
// [Run.Engine].
//
// Collect returns when the run is complete, with the results of its jobs. If partitions have
// failed, the error joins theirs; their pages before the failure are collected, and
// [Run.Retry] continues them. If the run is not complete, because it is cancelled or, with
// [Collecting.NoWait], goes on, the error says so, and is of class transient.
func (r *Run) Collect(ctx context.Context, e *engine.Engine, sink engine.SinkFunc, o Collecting) (*engine.Result, error) {
	c := &collection{run: r, engine: e, sink: sink, options: o, looks: store.Backoff{First: shortestLook, Longest: longestLook}}
	if err := c.prepare(ctx); err != nil {
		return engine.NewResult(nil), err
	}
	ctx, end, err := c.startRelease(ctx)
	if err != nil {
		return engine.NewResult(nil), err
	}
	for err == nil && !c.done() {
		if o.Sorted {
			err = c.sorted(ctx)
		} else {
			err = c.stored(ctx)
		}
		if err == nil {
			err = c.addFailures(ctx)
		}
		if errors.Is(err, errGoesOn) {
			err = c.await(ctx)
		}
	}
	return c.result(r.unknown(end(err)))
}

// CheckCollect returns the error with which [Run.Collect] would refuse to begin: the checkpoint
// cannot be used, pages of the run have been released, or they may not be released.
func (r *Run) CheckCollect(ctx context.Context, e *engine.Engine, o Collecting) error {
	c := &collection{run: r, engine: e, options: o}
	if err := c.prepare(ctx); err != nil {
		return err
	}
	return r.unknown(c.checkStart(ctx))
}

// prepare finds the pages of the run, and takes up the checkpoints of an earlier collection.
func (c *collection) prepare(ctx context.Context) error {
	if err := c.run.deleting(); err != nil {
		return err
	}
	info, err := c.run.cluster.store.Info(ctx, c.run.ID())
	if err != nil {
		return c.run.unknown(err)
	}
	c.created = info.Created
	return c.resume()
}

// Released reports whether a collection has released pages of the run, so that only that
// collection can be continued, and no other one can begin.
func (r *Run) Released() bool { return r.record.Releases != "" }

// A collection is a run that is being collected.
type collection struct {
	run     *Run
	engine  *engine.Engine
	sink    engine.SinkFunc
	options Collecting

	created time.Time // the stream of the run

	roots []string
	trees []*tree // of roots
	whole bool    // one task runs all jobs
	ended bool

	read atomic.Uint64 // sequence of the last page that was read; 0 before the first; not of a sorted collection

	closing sync.Mutex             // while it is found out whether the run is still cancelled
	final   atomic.Pointer[uint64] // the last page to collect of a cancelled run; nil: the run goes on

	gap     *store.Heading // the failure at which a sorted collection ended; nil: it has not met one
	failed  int            // tasks that were found to have failed when the others had ended
	waiting int            // pages that are stored, and come after one that is not: of a sorted collection that has ended

	releaser *releaser    // nil: nothing is released
	releases string       // the id of a collection that has released pages; it is part of its checkpoints
	received atomic.Int64 // pages
	seen     int64        // of these, at the last look
	looks    store.Backoff
}

// await waits before the next look at a run in which partitions are tried again.
func (c *collection) await(ctx context.Context) error {
	if c.options.NoWait || c.cancelled() {
		return c.incomplete(ctx, c.reason())
	}
	if now := c.received.Load(); now != c.seen {
		c.seen = now
		c.looks.Reset()
	}
	return c.looks.Wait(ctx)
}

// The time between two looks at failed partitions that are queued again. Each look reads the
// last pages of all partitions.
const (
	shortestLook = 200 * time.Millisecond
	longestLook  = 10 * time.Second
)

// errGoesOn says that a partition which had failed goes on.
var errGoesOn = errors.New("the run goes on")

// done reports whether all tasks have ended, and none of them has failed.
func (c *collection) done() bool {
	return c.ended || !slices.ContainsFunc(c.trees, func(t *tree) bool { return !t.complete() })
}

// allEnded reports whether all tasks have ended.
func (c *collection) allEnded() bool {
	return !slices.ContainsFunc(c.trees, func(t *tree) bool { return t.Ended < t.Tasks })
}

// complete reports whether all tasks of a tree have ended, and none of them has failed.
func (t *tree) complete() bool { return t.Ended == t.Tasks && t.Failed == 0 }
