package runtime

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A backlog holds the pages of a partition whose turn has not come, or which is not known
// to be valid yet. It keeps small ones in memory and the others in a temporary file.
type backlog struct {
	mu      sync.Mutex
	changed sync.Cond
	entries []entry
	bytes   int // of the items in memory
	file    *os.File
	size    int64 // of the file
	limit   int64 // bytes of items, at which the partition waits for its turn; 0: none
	turn    bool  // the partition delivers its pages itself
	to      receiver[memberState]
	over    bool // the partition has ended
	err     error
}

// An entry is a page, or the end of a partition.
type entry struct {
	page      *Page // nil: an end
	saved     *memberState
	offset    int64 // of the items in the file; -1: they are in memory
	length    int64
	marks     []document.Mark // of the lists of items
	partition Partition
	result    Result
}

// The limits of a backlog.
const (
	backlogMemory = 1 << 20   // bytes of items in memory
	backlogBytes  = 256 << 20 // bytes of items in all; a partition that is that far ahead waits for its turn
)

func newBacklog(limit int64) *backlog {
	b := &backlog{limit: limit}
	b.changed.L = &b.mu
	return b
}

// page keeps a page, or delivers it if it is the turn of the partition.
func (b *backlog) page(ctx context.Context, page *Page, save func() (*memberState, error)) error {
	if to := b.waitForRoom(ctx); to != nil {
		return to.page(ctx, page, save)
	}
	if ctx.Err() != nil {
		return cancelled(ctx, page.Job, page.Page)
	}
	saved, err := save()
	if err != nil {
		return err
	}
	kept, err := b.keep(page, saved)
	if kept || err != nil {
		return err
	}
	return b.to.page(ctx, page, save) // its turn has come in the meantime
}

// cancelled is the error of a partition whose run has been interrupted.
func cancelled(ctx context.Context, job string, page int) error {
	return &failure.Error{Class: failure.Cancelled, Job: job, Page: page, Op: "partition", Message: "interrupted",
		Err: errors.Join(ctx.Err(), context.Cause(ctx))}
}

// keep keeps a page. It reports false if the turn of the partition has come.
func (b *backlog) keep(page *Page, saved *memberState) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.turn {
		return false, nil
	}
	return true, b.add(page, saved)
}

// waitForRoom waits while the partition is too far ahead. It returns the receiver of its
// pages, if its turn has come.
func (b *backlog) waitForRoom(ctx context.Context) receiver[memberState] {
	stop := context.AfterFunc(ctx, b.wake)
	defer stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.turn && ctx.Err() == nil && b.limit > 0 && int64(b.bytes)+b.size > b.limit {
		b.changed.Wait()
	}
	if b.turn {
		return b.to
	}
	return nil
}

// wake wakes those who wait for a change. It takes the lock, so that none of them is
// between its last look and its wait.
func (b *backlog) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed.Broadcast()
}

// add keeps a page. Its items are copied.
func (b *backlog) add(page *Page, saved *memberState) error {
	kept := *page
	kept.checkpoint, kept.after = nil, nil
	if kept.silent { // nobody reads them any more
		kept.Items, kept.Lists = document.Items{}, nil
	}
	e := entry{page: &kept, saved: saved, offset: -1, marks: marksOf(kept.Lists)}
	if n := len(kept.Items.Bytes()); b.bytes+n <= backlogMemory {
		kept.Items, kept.Lists = document.Lists(bytes.Clone(kept.Items.Bytes()), nil, e.marks)
		b.bytes += n
	} else {
		kept.Items, kept.Lists = document.Items{}, nil
		if err := b.write(&e, page.Items); err != nil {
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

// ended keeps the end of a partition.
func (b *backlog) ended(p Partition, result Result) {
	b.mu.Lock()
	if b.turn {
		b.mu.Unlock()
		b.to.ended(p, result)
		return
	}
	b.entries = append(b.entries, entry{partition: p, result: result})
	b.changed.Broadcast()
	b.mu.Unlock()
}

// end says that the partition has ended.
func (b *backlog) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over, b.err = true, err
	b.changed.Broadcast()
}

// drain delivers what is kept and, once nothing is left, lets the partition deliver by
// itself. It returns the error of the partition when that has ended.
func (b *backlog) drain(ctx context.Context, to receiver[memberState]) error {
	defer b.discard()
	for {
		e, ok := b.take(to)
		if !ok {
			break
		}
		if err := b.deliver(ctx, e, to); err != nil {
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

// take returns the first entry. If there is none, the turn of the partition begins.
func (b *backlog) take(to receiver[memberState]) (entry, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.entries) == 0 {
		b.turn, b.to = true, to
		b.changed.Broadcast()
		return entry{}, false
	}
	e := b.entries[0]
	b.entries[0] = entry{} // its items are not needed any more
	b.entries = b.entries[1:]
	if e.page != nil {
		b.bytes -= len(e.page.Items.Bytes())
	}
	b.changed.Broadcast()
	return e, true
}

// deliver delivers an entry.
func (b *backlog) deliver(ctx context.Context, e entry, to receiver[memberState]) error {
	if e.page == nil {
		to.ended(e.partition, e.result)
		return nil
	}
	buffer := &spool.Buffer{}
	defer buffer.Release()
	if e.offset >= 0 {
		if err := b.read(e, buffer); err != nil {
			return err
		}
	}
	return to.page(ctx, e.page, func() (*memberState, error) { return e.saved, nil })
}

// marksOf returns where the lists of a page end in its items.
func marksOf(lists []document.List) []document.Mark {
	marks := make([]document.Mark, len(lists))
	end, count := 0, 0
	for i, list := range lists {
		end, count = end+len(list.Items.Bytes()), count+list.Items.Len()
		marks[i] = document.Mark{DataType: list.DataType, End: end, Count: count}
	}
	return marks
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
