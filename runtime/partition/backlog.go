package partition

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
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
	file    *os.File
	size    int64 // of the file
	limit   int64 // bytes of items, at which the task waits for its turn; 0: none
	turn    bool  // the task passes on its pages itself
	over    bool  // the task has ended
	err     error
}

// An entry is a page, or the end of a partition.
type entry struct {
	delivery // without a page: an end

	kept      stack
	offset    int64 // of the items in the file; -1: they are in memory
	length    int64
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
	b := &backlog{limit: limit}
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
	for !b.turn && ctx.Err() == nil && b.limit > 0 && int64(b.bytes)+b.size > b.limit {
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
	runtime.SetPosition(&page, nil, nil)
	if d.silent { // nobody reads them any more
		page.Items, page.Lists = document.Items{}, nil
	}
	items := page.Items
	d.page, d.stack = &page, nil
	e := entry{delivery: d, kept: at, offset: -1, marks: page.Marks()}
	if n := len(items.Bytes()); b.bytes+n <= backlogMemory {
		page.Items, page.Lists = document.Lists(bytes.Clone(items.Bytes()), nil, e.marks)
		b.bytes += n
	} else {
		page.Items, page.Lists = document.Items{}, nil
		if err := b.write(&e, items); err != nil {
			return err
		}
	}
	b.entries = append(b.entries, e)
	b.changed.Broadcast()
	return nil
}

func (b *backlog) write(e *entry, items document.Items) error {
	if b.file == nil {
		file, err := os.CreateTemp("", "stopwhen-pages-*")
		if err != nil {
			return backlogError(err)
		}
		_ = os.Remove(file.Name()) // the open file outlives its name, whatever happens to the process
		b.file = file
	}
	n, err := items.WriteTo(io.NewOffsetWriter(b.file, b.size))
	e.offset, e.length = b.size, n
	if b.size += n; err != nil {
		return backlogError(err)
	}
	return nil
}

func backlogError(err error) error {
	return &failure.Error{Class: failure.IO, Op: "partition", Err: err,
		Message: "pages that wait for their turn cannot be written to a temporary file: " + err.Error(),
		Hint:    "free space in " + os.TempDir() + ", or set TMPDIR to another directory"}
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
	defer b.discard()
	for e, ok := b.take(); ok; e, ok = b.take() {
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

// take returns the first entry. If there is none, the turn of the task begins.
func (b *backlog) take() (entry, bool) {
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
	if e.offset >= 0 {
		if err := b.read(e, buffer); err != nil {
			return err
		}
	}
	e.stack = func() (stack, error) { return e.kept, nil }
	return to(e.delivery)
}

// read reads the items of an entry from the file.
func (b *backlog) read(e entry, into *spool.Buffer) error {
	from := io.NewSectionReader(b.file, e.offset, e.length)
	into.Reset(e.length)
	for {
		_, err := into.ReadPiece(from)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return backlogError(err)
		}
	}
	block, window, err := into.Body()
	if err == nil {
		e.page.Items, e.page.Lists = document.Lists(block, window, e.marks)
	}
	return err
}

// discard closes the file.
func (b *backlog) discard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.file != nil {
		_ = b.file.Close() // it is deleted, so nothing can be lost
		b.file = nil
	}
}
