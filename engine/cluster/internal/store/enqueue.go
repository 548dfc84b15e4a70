package store

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// maxPending is how many tasks an Enqueuer sends before the server has confirmed them.
const maxPending = 256

// An Item is a task to be queued.
type Item struct {
	Origin, Run, Task string
	Payload           []byte
	Submission        string // of the run, see [Key]
	RetryOf           uint64 // sequence of the marker of the failure that is to be tried again; 0: none
}

func (i Item) subject() string {
	return workOf(i.Origin, Key{Run: i.Run, Submission: i.Submission, Task: i.Task})
}

// message returns the message of an item that is stored only if the last one of its
// subject is the one with sequence after.
func (i Item) message(after uint64) *nats.Msg {
	m := nats.NewMsg(i.subject())
	m.Data = i.Payload
	m.Header.Set(headerExpected, strconv.FormatUint(after, 10))
	if i.RetryOf != 0 {
		m.Header.Set(headerRetryOf, strconv.FormatUint(i.RetryOf, 10))
	}
	return m
}

// An Enqueuer queues tasks, many at a time. What is queued is not queued again. Its
// methods may not be called at the same time.
type Enqueuer struct {
	s       *Store
	pending []pendingItem

	waiting context.Context // see [listener.await]; nil: no task is pending
	end     func()
}

type pendingItem struct {
	item   Item
	future jetstream.PubAckFuture // nil: it could not be sent
}

// Enqueuer returns an enqueuer, which needs no closing.
func (s *Store) Enqueuer() *Enqueuer { return &Enqueuer{s: s} }

// Add sends a task. It is queued for sure only after the next Flush.
func (e *Enqueuer) Add(ctx context.Context, item Item) error {
	if e.waiting == nil {
		e.waiting, e.end = e.s.await(context.Background(), workStream)
	}
	future, err := e.s.js.PublishMsgAsync(item.message(0))
	if err != nil {
		future = nil // Flush sends it again, and finds out what is wrong
	}
	e.pending = append(e.pending, pendingItem{item, future})
	if len(e.pending) < maxPending {
		return nil
	}
	return e.confirm(ctx, maxPending/2)
}

// Flush returns when everything that was added is queued.
func (e *Enqueuer) Flush(ctx context.Context) error { return e.confirm(ctx, 0) }

// confirm waits until at most rest tasks are not confirmed.
func (e *Enqueuer) confirm(ctx context.Context, rest int) (err error) {
	defer func() {
		if e.waiting != nil && (err != nil || len(e.pending) == 0) {
			e.end()
			e.waiting = nil
		}
	}()
	for len(e.pending) > rest {
		p := e.pending[0]
		if !p.confirmed(ctx, e.waiting) {
			if err := e.s.enqueue(ctx, p.item); err != nil {
				return err
			}
		}
		e.pending[0] = pendingItem{}
		e.pending = e.pending[1:]
	}
	return nil
}

// confirmed reports whether the server says that the task is queued.
func (p pendingItem) confirmed(ctx, waiting context.Context) bool {
	if p.future == nil {
		return false
	}
	timer := time.NewTimer(tryTimeout)
	defer timer.Stop()
	select {
	case <-p.future.Ok():
		return true
	case err := <-p.future.Err():
		return codeOf(err) == codeWrongLast && p.item.RetryOf == 0
	case <-waiting.Done():
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// enqueue queues one task, and tries until it is queued once. Where another message of the
// task is queued, a retry goes after it: the worker may have stored the marker of the
// failure, but not have removed the message yet, and would remove the retry with it.
func (s *Store) enqueue(ctx context.Context, item Item) error {
	return s.retry(ctx, "queue a task", workStream, func(ctx context.Context) error {
		_, err := s.js.PublishMsg(ctx, item.message(0))
		if code := codeOf(err); code != codeWrongLast && code != codeWrongLastReplicas {
			return err
		}
		stream, err := s.stream(ctx, workStream)
		if err != nil {
			return err
		}
		queued, err := stream.GetLastMsgForSubject(ctx, item.subject())
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return nats.ErrTimeout // it has been removed in the meantime
		case err != nil || item.RetryOf == 0 || retryOf(queued.Header) == item.RetryOf:
			return err
		}
		_, err = s.js.PublishMsg(ctx, item.message(queued.Sequence))
		if codeOf(err) == codeWrongLast {
			return nats.ErrTimeout // look again
		}
		return err
	})
}
