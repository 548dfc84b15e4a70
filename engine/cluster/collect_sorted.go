package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// collectSorted passes the pages in the order of a run on one machine: each page is followed by the pages
// of the tasks that it announced. It stops at a failed task.
func (c *collection) collectSorted(ctx context.Context) error {
	watched, stop := c.watched(ctx)
	defer stop()
	for i, task := range c.engine.Distribution().RootTasks() {
		if c.trees[i].complete() { // completed by an earlier collection
			continue
		}
		err := c.walk(watched, task, c.trees[i].Path)
		switch {
		case errors.Is(err, errEnd):
			return c.incomplete(ctx, c.reason())
		case errors.Is(err, errFailed):
			return nil
		case err != nil:
			return c.errorOf(ctx, watched, err)
		}
	}
	return nil
}

// errFailed stops a sorted collection at a failed task.
var errFailed = errors.New("a task has failed")

// A sortedWalk visits the stored steps of the tasks of a tree in the order of a run on one machine. The
// current task is at the top of its stack.
type sortedWalk struct {
	c     *collection
	stack []visit
}

// A visit is a task on the stack.
type visit struct {
	key      store.Key
	sequence uint64           // sequence of its last page
	page     int              // number of that page
	todo     []partition.Task // tasks announced by this page and not visited yet
	state    store.State      // state after this page
}

// walk visits a task and all tasks below it. path is the stack of an earlier collection; it is
// empty if there was no such collection.
func (c *collection) walk(ctx context.Context, root partition.Task, path []pathStep) error {
	w := &sortedWalk{c: c}
	w.push(root)
	if err := w.resume(ctx, path); err != nil {
		return err
	}
	for len(w.stack) > 0 {
		switch top := w.top(); {
		case len(top.todo) > 0:
			task := top.todo[0]
			top.todo = top.todo[1:]
			w.push(task)
		case top.state == store.Done:
			w.stack = w.stack[:len(w.stack)-1]
		default:
			entry, err := w.next(ctx, top)
			if err == nil && !entry.Follows(top.sequence, top.page) {
				entry.Release()
				err = store.ErrReplaced
			}
			if err == nil {
				err = w.enter(top, entry, func(e *record.Envelope) error { return w.pass(ctx, entry, e) })
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *sortedWalk) push(task partition.Task) {
	w.stack = append(w.stack, visit{key: w.c.run.record.Key(task)})
}

func (w *sortedWalk) top() *visit { return &w.stack[len(w.stack)-1] }

// path returns the stack in the form of a checkpoint.
func (w *sortedWalk) path() []pathStep {
	return lists.Map(w.stack, func(v visit) pathStep { return pathStep{Job: v.key.Job, Task: v.key.Task, Sequence: v.sequence} })
}

// resume descends to the task at which an earlier collection stopped.
func (w *sortedWalk) resume(ctx context.Context, path []pathStep) error {
	for i, s := range path {
		if i > 0 {
			found := w.top().todo
			index := slices.IndexFunc(found, func(t partition.Task) bool { return t.ID == s.Task })
			if index < 0 {
				return runtime.UnusableCheckpoint("", fmt.Errorf("there is no task %s", s.Task))
			}
			w.top().todo = found[index+1:]
			w.push(found[index])
		}
		if err := w.returnTo(ctx, w.top(), s.Sequence); err != nil {
			return err
		}
	}
	return nil
}

// returnTo moves a task to the last page that an earlier collection has passed on.
func (w *sortedWalk) returnTo(ctx context.Context, v *visit, sequence uint64) error {
	entry, err := w.c.store.Next(ctx, v.key, sequence-1)
	if err != nil {
		return err
	}
	if entry == nil || entry.Sequence != sequence {
		entry.Release()
		return store.ErrReplaced
	}
	return w.enter(v, entry, func(*record.Envelope) error { return nil })
}

// enter moves a task to a page, passes the page on, and adds the tasks that it announced.
func (w *sortedWalk) enter(v *visit, entry *store.Entry, pass func(*record.Envelope) error) error {
	defer entry.Release()
	e, err := record.ReadEnvelope(entry)
	if err != nil {
		return err
	}
	v.sequence, v.page, v.todo, v.state = entry.Sequence, entry.Page, e.Children, entry.State
	return pass(e)
}

// pass passes on a page whose checkpoint holds the stack.
func (w *sortedWalk) pass(ctx context.Context, entry *store.Entry, e *record.Envelope) error {
	path := w.path()
	for _, t := range w.c.treesOf(entry.Task) {
		t.Path = path
	}
	err := w.c.add(ctx, entry, e)
	if err == nil {
		w.c.reportProgress()
	}
	return err
}

// next waits for the next page of a task and returns it. The error is errFailed if the task has
// failed and is not retried, and errEnd if the collection does not wait.
func (w *sortedWalk) next(ctx context.Context, v *visit) (*store.Entry, error) {
	for pause := (store.Backoff{First: shortestWait, Longest: longestWait}); ; {
		waits, failed := !w.c.options.NoWait && !w.c.cancelled(), false
		last := store.StoredHead{Key: v.key, Sequence: v.sequence}
		if v.state == store.Failed {
			retried, err := w.c.isRetried(ctx, last)
			if err != nil {
				return nil, err
			}
			failed = !retried
		}
		entry, err := w.c.store.Next(ctx, v.key, v.sequence)
		switch {
		case entry != nil || err != nil:
			return entry, err
		case failed:
			w.c.gap = &last
			return nil, errFailed
		case !waits:
			return nil, errEnd
		}
		if err := pause.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// Bounds of the time between checks for a page that is not stored yet.
const (
	shortestWait = 10 * time.Millisecond
	longestWait  = time.Second
)
