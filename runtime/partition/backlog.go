package partition

import (
	"bytes"
	"context"
	"sync"

	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A backlog holds the pages of a task that runs ahead of its turn, or of a partition whose window
// may still be split. It keeps small pages in memory and the others in a temporary file.
type backlog struct {
	mu      sync.Mutex // guards the fields below
	changed sync.Cond
	entries []backlogEntry
	bytes   int // size of the items in memory
	file    spool.File
	limit   int64 // size of the items at which the task waits for its turn; 0 means no limit
	turn    bool  // the turn of the task has come, so it passes on its pages itself
	over    bool  // the task has ended
	err     error
}

// A backlogEntry is a page, or the end of a partition.
type backlogEntry struct {
	outgoingPage // its page is nil for the end of a partition

	kept      stack
	items     storedItems
	original  *storedItems // the items of outgoingPage.sent
	partition runtime.Partition
	result    EndedResult
}

// storedItems are the items of a page in a backlog.
type storedItems struct {
	all   document.Items // empty if the items are in the file
	lists []document.TypedItems
	ends  []document.ListEnd // ends of the lists within the items
	at    [2]int64           // start and end of the items in the file; both are 0 for items in memory
}

// The limits of a backlog.
const (
	backlogMemory = 1 << 20   // size of the items in memory
	backlogBytes  = 256 << 20 // size of all items; a task waits for its turn when it is that far ahead
)

func newBacklog(limit int64) *backlog {
	b := &backlog{limit: limit, file: spool.File{Holds: "pages that wait for their turn"}}
	b.changed.L = &b.mu
	return b
}

// keep adds a page to the backlog. It reports false, and adds nothing, if the turn of the task has
// come.
func (b *backlog) keep(ctx context.Context, d outgoingPage) (bool, error) {
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
	if b.turn { // the turn has come in the meantime
		return false, nil
	}
	return true, b.store(d, s)
}

// waitForRoom waits while the task is too far ahead. It reports whether its turn has come.
func (b *backlog) waitForRoom(ctx context.Context) bool {
	stop := context.AfterFunc(ctx, func() { wake(&b.changed) })
	defer stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.turn && ctx.Err() == nil && b.limit > 0 && int64(b.bytes)+b.file.Size() > b.limit {
		b.changed.Wait()
	}
	return b.turn
}

// wake wakes the goroutines that wait for a change. It takes the lock, so that no goroutine is
// between checking its condition and waiting.
func wake(changed *sync.Cond) {
	changed.L.Lock()
	defer changed.L.Unlock()
	changed.Broadcast()
}

// store adds a page, with a copy of its items, and the stack after it.
func (b *backlog) store(d outgoingPage, s stack) error {
	page := *d.page
	if !d.emits { // the items are no longer needed
		page.Items, page.Lists = document.Items{}, nil
	}
	e := backlogEntry{outgoingPage: d, kept: s}
	e.page, e.sent, e.stack = &page, nil, nil
	var err error
	if e.items, err = b.storeItems(page.Items, document.ListEnds(page.Lists)); err != nil {
		return err
	}
	if d.sent != nil {
		stored, err := b.storeItems(*d.sent, []document.ListEnd{{End: len(d.sent.Bytes()), Count: d.sent.Len()}})
		if err != nil {
			return err
		}
		e.original = &stored
	}
	page.Items, page.Lists = document.Items{}, nil
	b.entries = append(b.entries, e)
	b.changed.Broadcast()
	return nil
}

// storeItems stores a copy of items.
func (b *backlog) storeItems(items document.Items, ends []document.ListEnd) (s storedItems, err error) {
	s.ends = ends
	if n := len(items.Bytes()); b.bytes+n <= backlogMemory {
		s.all, s.lists = document.Lists(bytes.Clone(items.Bytes()), nil, ends)
		b.bytes += n
		return s, nil
	}
	start := b.file.Size()
	_, err = items.WriteTo(&b.file)
	s.at = [2]int64{start, b.file.Size()}
	return s, err
}

// loadItems returns stored items. It reads items in the file into a buffer.
func (b *backlog) loadItems(s storedItems, buffer *spool.Buffer) (document.Items, []document.TypedItems, error) {
	if s.at[0] == s.at[1] {
		return s.all, s.lists, nil
	}
	buffer.Reset(s.at[1] - s.at[0])
	if err := b.file.CopyTo(buffer, s.at[0], s.at[1]); err != nil {
		return document.Items{}, nil, err
	}
	block, window, err := buffer.Body()
	if err != nil {
		return document.Items{}, nil, err
	}
	all, lists := document.Lists(block, window, s.ends)
	return all, lists, nil
}

// keepEnd adds the end of a partition. It reports false if the turn of the task has come.
func (b *backlog) keepEnd(p runtime.Partition, result EndedResult) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.turn {
		b.entries = append(b.entries, backlogEntry{partition: p, result: result})
		b.changed.Broadcast()
	}
	return !b.turn
}

// end records that the task has ended with an error, or nil.
func (b *backlog) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over, b.err = true, err
	b.changed.Broadcast()
}

// drain forwards the entries and, when no entry is left, lets the task forward the rest itself.
// It returns the error of the task after its end.
func (b *backlog) drain(ctx context.Context, to *frame) error {
	for e, ok := b.removeFirst(); ok; e, ok = b.removeFirst() {
		if e.page == nil {
			to.forwardEnd(e.partition, e.result)
			continue
		}
		if err := b.replay(e, func(d outgoingPage) error { return to.forwardFromChild(ctx, d) }); err != nil {
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

// removeFirst removes the first entry and returns it. If there is no entry, the turn of the task
// begins, and removeFirst reports false.
func (b *backlog) removeFirst() (backlogEntry, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed.Broadcast()
	if len(b.entries) == 0 {
		b.turn = true
		return backlogEntry{}, false
	}
	e := b.entries[0]
	b.entries[0] = backlogEntry{} // its items are no longer needed
	b.entries = b.entries[1:]
	b.bytes -= len(e.items.all.Bytes())
	if e.original != nil {
		b.bytes -= len(e.original.all.Bytes())
	}
	return e, true
}

// replay passes a page on, with its items.
func (b *backlog) replay(e backlogEntry, to func(outgoingPage) error) error {
	var written, sent spool.Buffer
	defer written.Release()
	defer sent.Release()
	var err error
	if e.page.Items, e.page.Lists, err = b.loadItems(e.items, &written); err != nil {
		return err
	}
	if e.original != nil {
		items, _, err := b.loadItems(*e.original, &sent)
		if err != nil {
			return err
		}
		e.sent = &items
	}
	e.stack = func() (stack, error) { return e.kept, nil }
	return to(e.outgoingPage)
}

// discard closes the temporary file.
func (b *backlog) discard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.file.Close()
}
