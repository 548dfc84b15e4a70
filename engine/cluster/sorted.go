package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
)

// sorted passes the pages in the order of a run on one machine: after each page of a task
// come the tasks that it has found. It ends at a task that has failed.
func (c *collection) sorted(ctx context.Context) error {
	watched, stop := c.watched(ctx)
	defer stop()
	w := &walk{collection: c}
	for i, task := range c.engine.RootTasks() {
		t := c.trees[i]
		if t.complete() { // in an earlier collection
			continue
		}
		w.path = nil
		err := w.task(watched, c.run.key(task), t.Path)
		switch {
		case errors.Is(err, errEnd):
			return c.incomplete(ctx, c.reason())
		case errors.Is(err, errFailed):
			return nil
		case err != nil:
			return c.why(ctx, watched, err)
		}
	}
	return nil
}

// errFailed ends a sorted collection at a task that has failed.
var errFailed = errors.New("a task has failed")

// A walk goes through the tasks of a tree in their order.
type walk struct {
	*collection
	path []step // of the tasks that the walk is in
}

// task passes the pages of a task, and of those that they have found. from is the rest of the
// way to the last page of an earlier collection; empty: the task is new.
func (w *walk) task(ctx context.Context, key store.Key, from []step) error {
	w.path = append(w.path, step{Job: key.Job, Task: key.Task})
	depth := len(w.path)
	if len(from) > 0 {
		ended, err := w.again(ctx, key, from)
		if err != nil || ended {
			return err
		}
	}
	for {
		entry, err := w.next(ctx, key, w.path[depth-1].Sequence)
		if err != nil {
			return err
		}
		e, err := decodeEnvelope(entry)
		if err != nil {
			entry.Release()
			return damaged(entry, err.Error())
		}
		w.path[depth-1].Sequence = entry.Sequence
		w.setPath()
		err = w.add(ctx, entry, e)
		entry.Release()
		if err != nil {
			return err
		}
		w.tell()
		if entry.State == store.Failed {
			if err := w.tryAgain(ctx, key, entry.Sequence); err != nil {
				return err
			}
			continue
		}
		if err := w.children(ctx, e.Children, nil); err != nil {
			return err
		}
		if entry.Ends() {
			w.path = w.path[:depth-1]
			return nil
		}
	}
}

// setPath sets the position of the trees that the walk is in.
func (w *walk) setPath() {
	path := slices.Clone(w.path)
	for _, t := range w.treesOf(path[0].Task) {
		t.Path = path
	}
}

// again goes on with the tasks that the last page of an earlier collection has found. It
// reports whether the page was the last of its task.
func (w *walk) again(ctx context.Context, key store.Key, from []step) (ended bool, err error) {
	depth := len(w.path)
	w.path[depth-1].Sequence = from[0].Sequence
	entry, err := w.run.cluster.store.Next(ctx, key, from[0].Sequence-1)
	if err != nil {
		return false, err
	}
	if entry == nil || entry.Sequence != from[0].Sequence {
		return false, unusable(fmt.Errorf("page %d of task %s is not on the server", from[0].Sequence, key.Task))
	}
	defer entry.Release()
	e, err := decodeEnvelope(entry)
	if err != nil {
		return false, damaged(entry, err.Error())
	}
	if entry.State == store.Failed {
		return false, w.tryAgain(ctx, key, entry.Sequence)
	}
	if err := w.children(ctx, e.Children, from[1:]); err != nil {
		return false, err
	}
	w.path = w.path[:depth]
	if entry.Ends() {
		w.path = w.path[:depth-1]
		return true, nil
	}
	return false, nil
}

// tryAgain waits while a task that has failed is in the queue. The error is errFailed if it
// does not go on.
func (w *walk) tryAgain(ctx context.Context, key store.Key, failed uint64) error {
	for {
		queued, err := w.run.queued(ctx, key)
		if err != nil {
			return err
		}
		entry, err := w.run.cluster.store.Next(ctx, key, failed)
		switch {
		case err != nil:
			return err
		case entry != nil:
			entry.Release()
			return nil
		case !queued:
			w.gap = &key
			return errFailed
		}
		if err := w.await(ctx); err != nil {
			return err
		}
	}
}

// children passes the pages of tasks. from says in which of them an earlier collection was.
func (w *walk) children(ctx context.Context, tasks []engine.Task, from []step) error {
	if len(from) > 0 {
		i := slices.IndexFunc(tasks, func(t engine.Task) bool { return t.ID == from[0].Task })
		if i < 0 {
			return unusable(fmt.Errorf("there is no task %s", from[0].Task))
		}
		tasks = tasks[i:]
	}
	for _, task := range tasks {
		if err := w.task(ctx, w.run.key(task), from); err != nil {
			return err
		}
		from = nil
	}
	return nil
}

// How often a page is looked for that is not stored yet.
const (
	firstLook = 10 * time.Millisecond
	lastLook  = time.Second
)

// next returns the next page of a task, and waits for it. The error is errEnd if the
// collection does not wait.
func (w *walk) next(ctx context.Context, key store.Key, after uint64) (*store.Entry, error) {
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		waits := !w.options.NoWait && !w.cancelled()
		entry, err := w.run.cluster.store.Next(ctx, key, after)
		if entry != nil || err != nil {
			return entry, err
		}
		if !waits {
			return nil, errEnd
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}
