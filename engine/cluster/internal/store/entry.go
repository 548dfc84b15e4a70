package store

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// An Entry is a stored page. A large page is in a temporary file, which [Entry.Release] closes.
type Entry struct {
	StoredHead
	Envelope []byte // the envelope without its newline
	Items    document.Items
	Mapping  *spool.Mapping // mapping of the block of Items; nil if Items are in memory

	buffer     *spool.Buffer
	connection uint64 // see [Tail]
}

// Tail returns the tail that ends with the page, for an attempt that continues after it.
func (e *Entry) Tail() Tail { return Tail{e.Sequence, e.Attempt, e.connection} }

// Release closes the temporary file of the entry and so invalidates its items.
func (e *Entry) Release() {
	if e != nil && e.buffer != nil {
		e.buffer.Release()
		e.Items, e.Mapping, e.buffer = document.Items{}, nil, nil
	}
}

// A message is one message of a run, regardless of how it was received.
type message jetstream.RawStreamMsg

// part returns the batch of a message and its number in the batch. The batch is "" for a page in
// one message.
func (m *message) part() (batch string, number int) {
	batch = m.Header.Get(headerBatch)
	number, _ = strconv.Atoi(m.Header.Get(headerBatchSequence)) // 0 is not a valid part number
	return batch, number
}

// last reports whether the message has the head of a page: it is the whole page or its last part.
func (m *message) last() bool { return m.Header.Get(headerHead) != "" }

// entry returns the entry of the last message of a page, without its content.
func (m *message) entry() (*Entry, error) {
	key, ok := keyOf(m.Subject)
	head, err := readHead(m.Header)
	if !ok || err != nil {
		return nil, damaged(m.Sequence, fmt.Sprintf("subject %s: %v", m.Subject, err))
	}
	return &Entry{StoredHead: StoredHead{key, head, m.Sequence, m.Time}}, nil
}

// Damaged returns the error for a page whose content has a problem.
func (h StoredHead) Damaged(problem string) error { return damaged(h.Sequence, problem) }

func damaged(sequence uint64, problem string) error {
	return &failure.Error{Class: failure.State, Op: "store", Message: fmt.Sprintf("message %d of the run is damaged: %s", sequence, problem),
		Hint: "delete the run and submit it again"}
}

// An assembly assembles pages from their messages.
type assembly struct {
	batch    string // batch of the page in progress; empty if there is no such page
	parts    int    // number of its parts received so far
	first    uint64 // sequence of its first part
	envelope []byte
	complete bool // whether the envelope is complete
	items    int
	buffer   *spool.Buffer
}

// add adds a message. It returns the entry completed by the message, or nil.
func (a *assembly) add(m *message) (*Entry, error) {
	batch, number := m.part()
	if batch == "" {
		return wholePage(m)
	}
	if number == 1 {
		a.reset()
		*a = assembly{batch: batch, first: m.Sequence, buffer: &spool.Buffer{}}
		a.buffer.Reset(-1)
	}
	if a.batch != batch || number != a.parts+1 {
		return nil, damaged(m.Sequence, fmt.Sprintf("it is part %d of a page whose earlier parts are missing", number))
	}
	a.parts = number
	if err := a.write(m.Data); err != nil {
		return nil, err
	}
	if !m.last() {
		return nil, nil
	}
	return a.finish(m)
}

// write adds the data of a part: the rest of the envelope, then items.
func (a *assembly) write(data []byte) error {
	if !a.complete {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			a.envelope = append(a.envelope, data...)
			return nil
		}
		a.envelope = append(a.envelope, data[:end]...)
		a.complete, data = true, data[end+1:]
	}
	a.items += bytes.Count(data, []byte{'\n'})
	_, err := a.buffer.Write(data)
	return err
}

func (a *assembly) finish(m *message) (*Entry, error) {
	e, err := m.entry()
	if err != nil {
		return nil, err
	}
	if e.Parts != a.parts || !a.complete {
		return nil, damaged(m.Sequence, fmt.Sprintf("the page has %d parts of %d", a.parts, e.Parts))
	}
	block, mapping, err := a.buffer.Body()
	if err != nil {
		return nil, err
	}
	e.Envelope, e.Items, e.Mapping, e.buffer = a.envelope, document.NewItems(block, a.items, mapping), mapping, a.buffer
	*a = assembly{}
	return e, nil
}

// reset discards the page in progress.
func (a *assembly) reset() {
	if a.buffer != nil {
		a.buffer.Release()
	}
	*a = assembly{}
}

// wholePage returns the entry of a page in one message.
func wholePage(m *message) (*Entry, error) {
	e, err := m.entry()
	if err != nil {
		return nil, err
	}
	end := bytes.IndexByte(m.Data, '\n')
	if end < 0 {
		return nil, damaged(m.Sequence, "it has no envelope")
	}
	block := m.Data[end+1:]
	e.Envelope, e.Items = m.Data[:end:end], document.NewItems(block, bytes.Count(block, []byte{'\n'}), nil)
	return e, nil
}
