package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nuid"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// startRelease prepares the release of pages if it was requested. The returned context ends if
// pages cannot be released. The returned function must be called at the end of the collection with
// its error; it returns the error of the release.
func (c *collection) startRelease(ctx context.Context) (context.Context, func(error) error, error) {
	if err := c.checkStart(ctx); err != nil {
		return ctx, nil, err
	}
	if !c.options.Release {
		return ctx, func(err error) error { return c.requireAll(ctx, err) }, nil
	}
	if c.releases == "" {
		c.releases = nuid.Next()
	}
	c.releaser = &releaser{c: c, pages: map[store.Key]uint64{}}
	if err := c.releaser.addEarlier(ctx); err != nil {
		return ctx, nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	ended, failed := make(chan struct{}), error(nil)
	var running sync.WaitGroup
	running.Go(func() {
		if failed = c.releaser.run(ctx, ended); failed != nil {
			stop(failed)
		}
	})
	return ctx, func(err error) error {
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		close(ended)
		running.Wait()
		stop(nil)
		return cmp.Or(err, failed)
	}, nil
}

// checkStart checks that the collection may start: all pages to be collected must exist, and the
// user must be allowed to release them if requested.
func (c *collection) checkStart(ctx context.Context) error {
	switch {
	case c.options.Release && c.options.Sorted:
		return (&engine.Error{Class: failure.Config, Op: "collect", Message: "a sorted collection cannot release pages"}).
			WithRemedy("collect without %s to release them", remedy.Sorted)
	case c.options.Release && c.whole && len(c.trees) > 1:
		return &engine.Error{Class: failure.Config, Op: "collect",
			Message: "pages cannot be released: with limits.partitions, one task runs several jobs, whose positions differ",
			Hint:    "submit each job as a run of its own"}
	}
	if err := c.checkReleased(&c.run.record); err != nil || !c.options.Release {
		return err
	}
	return c.requirePermission(ctx)
}

// requirePermission returns an error if the user of the connection may not release pages.
func (c *collection) requirePermission(ctx context.Context) error {
	err := c.store.CheckRelease(ctx, c.run.ID(), c.run.record.Submission)
	if err == nil {
		run := *c.run // a copy, because the collection reads the run
		err = run.update(ctx, func(*record.Run) {})
	}
	if failed, ok := errors.AsType[*engine.Error](err); ok && failed.Class == failure.Config {
		return (&engine.Error{Class: failure.Config, Op: "collect", Err: err, Message: "pages cannot be released: " + failed.Message}).
			WithRemedy("give the NATS user the permission, or collect without %s", remedy.Release)
	}
	return err
}

// checkReleased returns an error if pages of the run have been released, unless this collection continues
// the collection that has released them.
func (c *collection) checkReleased(r *record.Run) error {
	if r.Releases == "" || r.Releases == c.releases {
		return nil
	}
	return &engine.Error{Class: failure.State, Op: "collect",
		Message: fmt.Sprintf("pages of run %s are no longer on the server: an earlier collection has released those that it wrote", c.run.ID()),
		Hint: "continue that collection, with its state and its output and without starting over; " +
			"to obtain everything again, submit the configuration as a new run"}
}

// requireAll returns an error if another collection has released pages that this collection may have
// missed. A collection that releases pages itself has missed no page.
func (c *collection) requireAll(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	stored, err := c.store.Run(ctx, c.run.ID())
	if err != nil || stored == nil { // the run was deleted after its last page was read
		return err
	}
	current, err := c.run.cluster.readRecord(*stored)
	if err != nil {
		return err
	}
	return c.checkReleased(&current.record)
}

// A releaser deletes pages from the server that the sink has stored. The methods of a nil releaser
// do nothing.
type releaser struct {
	c *collection

	mu    sync.Mutex
	pages map[store.Key]uint64 // highest sequence that may be deleted, by task
}

// releaseEvery is the time between two deletions.
const releaseEvery = 250 * time.Millisecond

// add marks a page stored by the sink for deletion. Pages of tasks that have announced other tasks
// remain, because they are needed to announce these again.
func (r *releaser) add(entry *store.Entry) {
	if r == nil || entry.Children > 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pages[entry.Key] = entry.Sequence
}

// addEarlier marks pages that an earlier process has stored but perhaps not released.
func (r *releaser) addEarlier(ctx context.Context) error {
	if !slices.ContainsFunc(r.c.trees, func(t *rootProgress) bool { return t.resumed > 0 }) {
		return nil
	}
	return r.c.store.Heads(ctx, r.c.run.ID(), nil, func(h store.StoredHead) error {
		for _, t := range r.c.treesOf(h.Task) {
			if h.Page > 1 && h.Children == 0 && t.resumed > 0 {
				r.pages[h.Key] = t.resumed
			}
		}
		return nil
	})
}

// run deletes marked pages until the collection has ended and all of them are deleted.
func (r *releaser) run(ctx context.Context, ended <-chan struct{}) error {
	tick := time.NewTicker(releaseEvery)
	defer tick.Stop()
	claimed := false
	for more := true; more; {
		select {
		case <-ctx.Done():
			return nil
		case <-ended:
			more = false
		case <-tick.C:
		}
		r.mu.Lock()
		pages := r.pages
		r.pages = map[store.Key]uint64{}
		r.mu.Unlock()
		if len(pages) == 0 {
			continue
		}
		if !claimed {
			if err := r.claim(ctx); err != nil {
				return err
			}
			claimed = true
		}
		for key, through := range pages {
			if err := r.c.store.Release(ctx, key, through); err != nil {
				return err
			}
		}
	}
	return nil
}

// claim gives this collection the sole right to read the run.
func (r *releaser) claim(ctx context.Context) error {
	var taken error
	run := *r.c.run // a copy, because the collection reads the run
	err := run.update(ctx, func(rec *record.Run) {
		if taken = r.c.checkReleased(rec); taken == nil {
			rec.Releases = r.c.releases
		}
	})
	if taken != nil {
		return taken
	}
	return err
}
