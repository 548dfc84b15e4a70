package store

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// Limits of messages.
const (
	headerRoom = 16 << 10 // bytes reserved for headers in a message
	maxParts   = 1000     // server limit of messages in a batch
	unanswered = 8 << 20  // bytes of a batch sent before the server has to answer
)

// A Tail is the last page of a task, as an attempt knows it. The zero value stands for a task without pages.
type Tail struct {
	Sequence   uint64
	Attempt    string // see [Head]
	connection uint64 // the connection on which the page was seen
}

// is reports whether the tail is that of a message with a head.
func (t Tail) is(m *message, h Head) bool { return m.Sequence == t.Sequence && h.Attempt == t.Attempt }

// A page is the page that Append stores.
type page struct {
	key      Key
	after    Tail
	head     Head
	envelope []byte
	items    document.Items
	subject  string
}

func (p *page) size() int { return len(p.envelope) + 1 + len(p.items.Bytes()) }

// Append stores a page of a task and returns the new tail. The page consists of an envelope, which
// is one line of text without its newline, and items. after is the tail before it.
//
// If another attempt has appended a page after that page, nothing is stored and the error is
// [ErrLost]. If the run is deleted, the error is [ErrDeleted]. Otherwise Append retries until the
// page is stored once, or until the context or the patience ends; then the page may have been
// stored, and [Store.Last] tells.
func (s *Store) Append(ctx context.Context, key Key, after Tail, head Head, envelope []byte, items document.Items) (Tail, error) {
	head.After = after.Sequence
	p := &page{key: key, after: after, head: head, envelope: envelope, items: items, subject: taskPages(key)}
	switch {
	case head.Attempt == "" || head.State == "":
		return Tail{}, appendError(failure.Internal, "a page has no attempt or no state", "")
	case bytes.IndexByte(envelope, '\n') >= 0:
		return Tail{}, appendError(failure.Internal, "the envelope of a page has a newline", "")
	}
	sequence, connection := uint64(0), s.connection()
	if after.Sequence > 0 {
		last, err := s.isLast(ctx, key, after)
		if err == nil && !last {
			err = ErrLost
		}
		if err != nil {
			return Tail{}, err
		}
	}
	err := s.repeat(ctx, "store a page", func() (again bool, err error) {
		if sequence, err = s.publish(ctx, p); err == nil {
			return false, nil
		}
		stored, lookErr := s.outcome(ctx, p)
		if stored > 0 || lookErr != nil {
			sequence = stored
			return false, lookErr
		}
		full := isFull(err)
		if full && s.options.Waiting != nil {
			s.options.Waiting(key, explain("store a page", err))
		}
		return full || isTemporary(err) || codeOf(err) == codeWrongLast, err
	})
	if err != nil {
		return Tail{}, err
	}
	return Tail{sequence, head.Attempt, connection}, nil
}

// isLast reports whether a tail is still the last page of a task, as far as the server may have lost pages.
// It asks only if the connection was made again since the page was seen: then the server may have been restored from
// a copy.
func (s *Store) isLast(ctx context.Context, key Key, tail Tail) (bool, error) {
	if tail.connection == s.connection() {
		return true, nil
	}
	last, err := s.lastMessage(ctx, key)
	if last == nil || err != nil {
		return false, err
	}
	head, err := readHead(last.Header)
	return err == nil && tail.is(last, head), err
}

// connection returns the number of the connection to the server, which changes whenever it is made again.
func (s *Store) connection() uint64 { return s.nc.Stats().Reconnects }

// outcome finds out whether a page was stored although its acknowledgement was not received. It
// returns the sequence of the page, or 0 if the page was not stored and may be sent again. If the last page of
// the task is neither this page nor the one before it, the error is [ErrLost], even if it has the sequence of
// the one before: a server that was restored from a copy gives out the sequences after that copy again.
func (s *Store) outcome(ctx context.Context, p *page) (uint64, error) {
	last, err := s.lastMessage(ctx, p.key)
	if err != nil {
		return 0, err
	}
	if last == nil {
		if p.head.After == 0 {
			return 0, nil
		}
		return 0, ErrLost
	}
	head, err := readHead(last.Header)
	switch {
	case err != nil:
	case p.after.is(last, head):
		return 0, nil
	case head.Attempt == p.head.Attempt && head.After == p.head.After:
		return last.Sequence, nil
	}
	return 0, ErrLost
}

// publish sends a page once, either as one message or as an atomic batch of messages.
func (s *Store) publish(ctx context.Context, p *page) (uint64, error) {
	room := int(s.nc.MaxPayload()) - headerRoom
	if room <= 0 {
		return 0, appendError(failure.Config, fmt.Sprintf("the NATS server accepts messages of only %d bytes", s.nc.MaxPayload()),
			"raise max_payload of the server")
	}
	parts := (p.size() + room - 1) / room
	if parts > maxParts {
		return 0, appendError(failure.Policy,
			fmt.Sprintf("a page of %d bytes is too large for the NATS server: it accepts %d messages of %d bytes", p.size(), maxParts, room),
			"raise max_payload of the server, or make the pages smaller")
	}
	buffer := s.buffers.Get().(*bytes.Buffer)
	defer s.buffers.Put(buffer)
	buffer.Reset()
	buffer.Grow(min(p.size(), room))
	w := &partWriter{ctx: ctx, s: s, page: p, room: room, parts: parts, buffer: buffer}
	return w.send()
}

// A partWriter cuts a page into parts of equal size and sends them.
type partWriter struct {
	ctx     context.Context
	s       *Store
	page    *page
	room    int
	parts   int
	batch   string // ID of the batch; empty for a page in one message
	part    int    // number of the part in the buffer, from 1
	buffer  *bytes.Buffer
	unasked int // number of bytes sent since the last answer
}

func (w *partWriter) send() (uint64, error) {
	w.part = 1
	if w.parts > 1 {
		w.batch = rand.Text()
	}
	for _, piece := range [][]byte{w.page.envelope, {'\n'}} {
		if _, err := w.Write(piece); err != nil {
			return 0, err
		}
	}
	if _, err := w.page.items.WriteTo(w); err != nil {
		return 0, err
	}
	return w.commit()
}

// Write adds to the current part, and sends the part when more data follows.
func (w *partWriter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if w.buffer.Len() == w.room {
			if err := w.sendPart(); err != nil {
				return len(p) - len(rest), err
			}
		}
		n := min(len(rest), w.room-w.buffer.Len())
		w.buffer.Write(rest[:n])
		rest = rest[n:]
	}
	return len(p), nil
}

// message returns the message of the current part. The first part has the expectation, and the
// last part has the head.
func (w *partWriter) message() *nats.Msg {
	m := nats.NewMsg(w.page.subject)
	m.Data = w.buffer.Bytes()
	if w.part == 1 {
		m.Header.Set(headerExpected, strconv.FormatUint(w.page.head.After, 10))
	}
	if w.batch != "" {
		m.Header.Set(headerBatch, w.batch)
		m.Header.Set(headerBatchSequence, strconv.Itoa(w.part))
	}
	return m
}

// sendPart sends a part other than the last.
func (w *partWriter) sendPart() error {
	m := w.message()
	w.unasked += len(m.Data)
	defer func() {
		w.part++
		w.buffer.Reset()
	}()
	if w.part > 1 && w.unasked < unanswered {
		return w.s.nc.PublishMsg(m)
	}
	w.unasked = 0
	answer, err := w.request(m)
	if err != nil || len(answer) == 0 {
		return err
	}
	if _, err := readAck(answer); err != nil {
		return err
	}
	return streamError(w.page.key.Run, "stores the parts of a page one by one", "use NATS server 2.12 or newer")
}

// commit sends the last part and returns its sequence.
func (w *partWriter) commit() (uint64, error) {
	m := w.message()
	head := w.page.head
	head.Parts = 0
	if w.batch != "" {
		head.Parts = w.part
		m.Header.Set(headerBatchCommit, "1")
	}
	head.write(m.Header)
	answer, err := w.request(m)
	if err != nil {
		return 0, err
	}
	if w.s.options.LoseAck != nil && w.s.options.LoseAck(w.page.key) {
		return 0, nats.ErrTimeout
	}
	return readAck(answer)
}

// request sends a message and returns the answer of the server.
func (w *partWriter) request(m *nats.Msg) ([]byte, error) {
	var data []byte
	err := w.s.try(w.ctx, 2*w.s.options.tryTimeout, runStream+w.page.key.Run, func(ctx context.Context) error {
		answer, err := w.s.nc.RequestMsgWithContext(ctx, m)
		if err == nil {
			data = answer.Data
		}
		return err
	})
	return data, err
}

// readAck reads the server's answer to a stored message.
func readAck(answer []byte) (uint64, error) {
	var ack struct {
		Error    *jetstream.APIError `json:"error"`
		Sequence uint64              `json:"seq"`
	}
	if err := json.Unmarshal(answer, &ack); err != nil {
		return 0, errors.Join(jetstream.ErrInvalidJSAck, err)
	}
	if ack.Error != nil {
		return 0, ack.Error
	}
	if ack.Sequence == 0 {
		return 0, jetstream.ErrInvalidJSAck
	}
	return ack.Sequence, nil
}

func appendError(class failure.Class, message, hint string) error {
	return &failure.Error{Class: class, Op: "store", Message: message, Hint: hint}
}
