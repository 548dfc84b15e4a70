package partition

import (
	"context"
	"errors"
	"sync"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// maxAhead is how many tasks, for each slot, are kept ready after the one whose turn it is.
const maxAhead = 4

// beginAhead lets tasks run before their turn until stop is called, each when there is a slot
// for it. The pages that they pass on wait in their backlogs.
func (f *frame) beginAhead(parent context.Context) (ctx context.Context, stop func()) {
	if f.slots == nil {
		return parent, func() {}
	}
	changed := sync.NewCond(&f.mu)
	f.changed = changed
	ctx, cancel := context.WithCancel(parent)
	context.AfterFunc(ctx, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		changed.Broadcast()
	})
	var all sync.WaitGroup
	all.Go(func() {
		for one := f.waiting(ctx); one != nil; one = f.waiting(ctx) {
			if !f.takeSlot(ctx, one) {
				continue
			}
			all.Go(func() {
				one.backlog.end(f.push(f, one).run(ctx))
				f.free(one)
			})
		}
	})
	return ctx, func() {
		cancel()
		all.Wait()
	}
}

// waiting returns the first task that does not run yet, apart from the one whose turn it is.
// It waits until there is one, and returns nil if there will be none.
func (f *frame) waiting(ctx context.Context) *task {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ; ctx.Err() == nil; f.changed.Wait() {
		for i := range maxAhead * cap(f.slots) {
			if len(f.todo) == i && !f.pull() {
				break
			}
			if i > 0 && !f.todo[i].begun {
				return f.todo[i]
			}
		}
		if len(f.todo) == 0 {
			return nil
		}
	}
	return nil
}

// takeSlot waits for a slot, and begins a task with it, unless the turn of the task has come
// meanwhile.
func (f *frame) takeSlot(ctx context.Context, one *task) bool {
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if one.begun {
		<-f.slots
		return false
	}
	one.begun, one.slot, one.backlog = true, true, newBacklog(backlogBytes)
	return true
}

// begin begins a task whose turn has come. It reports whether it does not run ahead.
func (f *frame) begin(one *task) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	ahead := one.begun
	one.begun = true
	return !ahead
}

// free gives the slot of a task back.
func (f *frame) free(one *task) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one.slot {
		one.slot = false
		<-f.slots
	}
}

// cancelled is the error of a task whose run was interrupted.
func cancelled(ctx context.Context, job string, page int) error {
	return &failure.Error{Class: failure.Cancelled, Job: job, Page: page, Op: "partition", Message: "interrupted",
		Err: errors.Join(ctx.Err(), context.Cause(ctx))}
}
