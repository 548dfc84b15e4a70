package store

import (
	"bytes"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// An Entry is a page that is stored. A large one is in a temporary file, which
// [Entry.Release] closes.
type Entry struct {
	Key
	Head
	Sequence uint64    // of the page in its run; of the last part, if it has several
	Time     time.Time // when it was stored, by the clock of the server
	Envelope []byte    // without its newline
	Items    document.Items
	Window   *spool.Window // of the block of Items; nil if it is in memory

	buffer *spool.Buffer
}

// Release closes the temporary file of the entry. Its items are not valid any more.
func (e *Entry) Release() {
	if e != nil && e.buffer != nil {
		e.buffer.Release()
		e.Items, e.Window, e.buffer = document.Items{}, nil, nil
	}
}

// A message is one message of a run, however it was received.
type message struct {
	subject  string
	header   nats.Header
	data     []byte
	sequence uint64
	time     time.Time
}

// part returns the batch of a message and its number in it; "" for a page in one message.
func (m *message) part() (batch string, number int) {
	batch = m.header.Get(headerBatch)
	number, _ = strconv.Atoi(m.header.Get(headerBatchSequence)) // 0 is the number of no part
	return batch, number
}

// last reports whether the message has the head of a page: it is the page, or its last part.
func (m *message) last() bool { return m.header.Get(headerHead) != "" }

// entry returns the entry of the last message of a page, without its contents.
func (m *message) entry() (*Entry, error) {
	key, ok := keyOf(m.subject)
	head, err := readHead(m.header)
	if !ok || err != nil {
		return nil, damaged(m.sequence, fmt.Sprintf("subject %s: %v", m.subject, err))
	}
	return &Entry{Key: key, Head: head, Sequence: m.sequence, Time: m.time}, nil
}

func damaged(sequence uint64, what string) error {
	return &failure.Error{Class: failure.State, Op: "store", Message: fmt.Sprintf("message %d of the run is damaged: %s", sequence, what),
		Hint: "delete the run and submit it again"}
}

// An assembly puts pages together from their messages.
type assembly struct {
	batch    string // of the page that has begun; empty: none has
	parts    int    // of it that are here
	first    uint64 // sequence of its first part
	envelope []byte
	complete bool // the envelope is
	items    int
	buffer   *spool.Buffer
}

// add adds a message. It returns the entry that is complete with it, or nil.
func (a *assembly) add(m *message) (*Entry, error) {
	batch, number := m.part()
	if batch == "" {
		return wholePage(m)
	}
	if number == 1 {
		a.reset()
		*a = assembly{batch: batch, first: m.sequence, buffer: &spool.Buffer{}}
		a.buffer.Reset(-1)
	}
	if a.batch != batch || number != a.parts+1 {
		return nil, damaged(m.sequence, fmt.Sprintf("it is part %d of a page whose earlier parts are missing", number))
	}
	a.parts = number
	if err := a.write(m.data); err != nil {
		return nil, err
	}
	if !m.last() {
		return nil, nil
	}
	return a.finish(m)
}

// write adds the data of a part: the end of the envelope, then items.
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
		return nil, damaged(m.sequence, fmt.Sprintf("the page has %d parts of %d", a.parts, e.Parts))
	}
	block, window, err := a.buffer.Body()
	if err != nil {
		return nil, err
	}
	e.Envelope, e.Items, e.Window, e.buffer = a.envelope, document.NewItems(block, a.items, window), window, a.buffer
	*a = assembly{}
	return e, nil
}

// reset forgets a page that has begun.
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
	end := bytes.IndexByte(m.data, '\n')
	if end < 0 {
		return nil, damaged(m.sequence, "it has no envelope")
	}
	block := m.data[end+1:]
	e.Envelope, e.Items = m.data[:end:end], document.NewItems(block, bytes.Count(block, []byte{'\n'}), nil)
	return e, nil
}
