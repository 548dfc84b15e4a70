package partition

import (
	"context"
	"errors"
	"sync"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// maxAhead is the number of tasks per slot that are kept ready after the task whose turn it is.
const maxAhead = 4

// beginAhead lets tasks run ahead of their turn, each in a slot, until stop is called. Their pages
// wait in their backlogs.
func (f *frame) beginAhead(parent context.Context) (ctx context.Context, stop func()) {
	if f.tree.slots == nil {
		return parent, func() {}
	}
	ctx, cancel := context.WithCancel(parent)
	context.AfterFunc(ctx, func() { wake(&f.changed) })
	var running sync.WaitGroup
	running.Go(func() {
		for child := f.nextAhead(ctx); child != nil; child = f.nextAhead(ctx) {
			if !f.takeSlot(ctx, child) {
				continue
			}
			running.Go(func() {
				err := failure.Exited()
				defer func() {
					child.backlog.end(failure.Recovered(child.job.ID(), recover(), err))
					f.releaseSlot(child)
				}()
				err = f.tree.newFrame(f, child).run(ctx)
			})
		}
	})
	return ctx, func() {
		cancel()
		running.Wait()
		for _, child := range f.ahead { // tasks left by an error or by the limit on partitions
			child.backlog.discard()
		}
		f.ahead = nil
	}
}

// nextAhead waits for a task that has not begun, other than the task whose turn it is, and returns
// the first. It returns nil if there will be no such task.
func (f *frame) nextAhead(ctx context.Context) *node {
	f.mu.Lock()
	defer f.mu.Unlock()
	for ; ctx.Err() == nil; f.changed.Wait() {
		for i := range maxAhead * f.tree.slots.count() {
			if len(f.progress.todo) == i && !f.pullWindow() {
				break
			}
			if i > 0 && !f.progress.todo[i].begun {
				return f.progress.todo[i]
			}
		}
		if len(f.progress.todo) == 0 {
			return nil
		}
	}
	return nil
}

// takeSlot waits for a slot and begins a task in it. It reports false if the turn of the task has
// come in the meantime.
func (f *frame) takeSlot(ctx context.Context, child *node) bool {
	if !f.tree.slots.tryTake(ctx) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if child.begun {
		f.tree.slots.release()
		return false
	}
	child.begun, child.slot, child.backlog = true, true, newBacklog(backlogBytes)
	f.ahead = append(f.ahead, child)
	return true
}

// beginInTurn marks a task whose turn has come as begun. It reports false if the task already runs
// ahead.
func (f *frame) beginInTurn(child *node) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	ahead := child.begun
	child.begun = true
	return !ahead
}

// releaseSlot releases the slot of a task.
func (f *frame) releaseSlot(child *node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if child.slot {
		child.slot = false
		f.tree.slots.release()
	}
}

// cancelled returns the error of a task whose run was interrupted.
func cancelled(ctx context.Context, job string, page int) error {
	return &failure.Error{Class: failure.Cancelled, Job: job, Page: page, Op: "partition", Message: "interrupted",
		Err: errors.Join(ctx.Err(), context.Cause(ctx))}
}
