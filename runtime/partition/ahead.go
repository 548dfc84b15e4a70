package partition

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A backlog holds the pages of a task that runs ahead of its turn, or of a partition that is
// not known to be valid yet. It keeps small ones in memory and the others in a temporary file.
type backlog struct {
	mu      sync.Mutex
	changed sync.Cond
	entries []entry
	bytes   int // of the items in memory
	file    spool.File
	limit   int64 // bytes of items, at which the task waits for its turn; 0: none
	turn    bool  // the task passes on its pages itself
	over    bool  // the task has ended
	err     error
}

// An entry is a page, or the end of a partition.
type entry struct {
	delivery // without a page: an end

	kept      stack
	items     [2]int64        // where they are in the file; both 0: they are in memory
	marks     []document.Mark // of the lists of items
	partition runtime.Partition
	result    EndedResult
}

// The limits of a backlog.
const (
	backlogMemory = 1 << 20   // bytes of items in memory
	backlogBytes  = 256 << 20 // bytes of items in all; a task that is that far ahead waits for its turn
)

func newBacklog(limit int64) *backlog {
	b := &backlog{limit: limit, file: spool.File{Holds: "pages that wait for their turn"}}
	b.changed.L = &b.mu
	return b
}

// keep keeps a page. It reports false if the turn of the task has come.
func (b *backlog) keep(ctx context.Context, d delivery) (bool, error) {
	if b.waitForRoom(ctx) {
		return false, nil
	}
	if ctx.Err() != nil {
		return false, cancelled(ctx, d.page.Job, d.page.Page)
	}
	s, err := d.stack()
	if err != nil {
		return false, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.turn { // it has come in the meantime
		return false, nil
	}
	return true, b.add(d, s)
}

// waitForRoom waits while the task is too far ahead. It reports whether its turn has come.
func (b *backlog) waitForRoom(ctx context.Context) bool {
	stop := context.AfterFunc(ctx, b.wake)
	defer stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.turn && ctx.Err() == nil && b.limit > 0 && int64(b.bytes)+b.file.Size() > b.limit {
		b.changed.Wait()
	}
	return b.turn
}

// wake wakes those who wait for a change. It takes the lock, so that none of them is
// between its last look and its wait.
func (b *backlog) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed.Broadcast()
}

// add keeps a page and where the tasks are after it. The items are copied.
func (b *backlog) add(d delivery, at stack) error {
	page := *d.page
	*runtime.DeliveryOf(&page) = runtime.Delivery{}
	if d.silent { // nobody reads them any more
		page.Items, page.Lists = document.Items{}, nil
	}
	items := page.Items
	d.page, d.stack = &page, nil
	e := entry{delivery: d, kept: at, marks: page.Marks()}
	if n := len(items.Bytes()); b.bytes+n <= backlogMemory {
		page.Items, page.Lists = document.Lists(bytes.Clone(items.Bytes()), nil, e.marks)
		b.bytes += n
	} else {
		page.Items, page.Lists = document.Items{}, nil
		start := b.file.Size()
		if _, err := items.WriteTo(&b.file); err != nil {
			return err
		}
		e.items = [2]int64{start, b.file.Size()}
	}
	b.entries = append(b.entries, e)
	b.changed.Broadcast()
	return nil
}

// keepEnd keeps the end of a partition. It reports false if the turn of the task has come.
func (b *backlog) keepEnd(p runtime.Partition, result EndedResult) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.turn {
		b.entries = append(b.entries, entry{partition: p, result: result})
		b.changed.Broadcast()
	}
	return !b.turn
}

// end says that the task has ended.
func (b *backlog) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over, b.err = true, err
	b.changed.Broadcast()
}

// drain passes on what is kept and, once nothing is left, lets the task pass on the rest by
// itself. It returns the error of the task when that has ended.
func (b *backlog) drain(ctx context.Context, to *frame) error {
	for e, ok := b.first(); ok; e, ok = b.first() {
		if e.page == nil {
			to.ended(e.partition, e.result)
			continue
		}
		if err := b.pass(e, func(d delivery) error { return to.fromChild(ctx, d) }); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.over {
		b.changed.Wait()
	}
	return b.err
}

// first removes the first entry and returns it. If there is none, the turn of the task begins.
func (b *backlog) first() (entry, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed.Broadcast()
	if len(b.entries) == 0 {
		b.turn = true
		return entry{}, false
	}
	e := b.entries[0]
	b.entries[0] = entry{} // its items are not needed any more
	b.entries = b.entries[1:]
	if e.page != nil {
		b.bytes -= len(e.page.Items.Bytes())
	}
	return e, true
}

// pass passes on a page, with its items.
func (b *backlog) pass(e entry, to func(delivery) error) error {
	buffer := &spool.Buffer{}
	defer buffer.Release()
	if start, end := e.items[0], e.items[1]; end > start {
		buffer.Reset(end - start)
		if err := b.file.CopyTo(buffer, start, end); err != nil {
			return err
		}
		block, window, err := buffer.Body()
		if err != nil {
			return err
		}
		e.page.Items, e.page.Lists = document.Lists(block, window, e.marks)
	}
	e.stack = func() (stack, error) { return e.kept, nil }
	return to(e.delivery)
}

// discard closes the file.
func (b *backlog) discard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.file.Close()
}

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
		for child := f.waiting(ctx); child != nil; child = f.waiting(ctx) {
			if !f.takeSlot(ctx, child) {
				continue
			}
			all.Go(func() {
				child.backlog.end(f.push(f, child).run(ctx))
				f.free(child)
			})
		}
	})
	return ctx, func() {
		cancel()
		all.Wait()
		for _, child := range f.ahead { // after an error, or when a limit has left them out
			child.backlog.discard()
		}
		f.ahead = nil
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
func (f *frame) takeSlot(ctx context.Context, child *task) bool {
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if child.begun {
		<-f.slots
		return false
	}
	child.begun, child.slot, child.backlog = true, true, newBacklog(backlogBytes)
	f.ahead = append(f.ahead, child)
	return true
}

// begin begins a task whose turn has come. It reports whether it does not run ahead.
func (f *frame) begin(child *task) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	ahead := child.begun
	child.begun = true
	return !ahead
}

// free gives the slot of a task back.
func (f *frame) free(child *task) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if child.slot {
		child.slot = false
		<-f.slots
	}
}

// cancelled is the error of a task whose run was interrupted.
func cancelled(ctx context.Context, job string, page int) error {
	return &failure.Error{Class: failure.Cancelled, Job: job, Page: page, Op: "partition", Message: "interrupted",
		Err: errors.Join(ctx.Err(), context.Cause(ctx))}
}
