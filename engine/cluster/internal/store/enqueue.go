package store

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// maxUnconfirmed is the maximum number of tasks sent without a confirmation from the server.
const maxUnconfirmed = 256

// An Item is a task to be queued.
type Item struct {
	Key
	Origin    string
	Payload   []byte
	MayRepeat bool   // the task may have been queued before
	RetryOf   uint64 // sequence of the failure marker to be retried; 0 for a task that has not failed
}

// message returns the message of an item. The message is stored only if the last message of its
// subject has the sequence after.
func (i Item) message(after uint64) *nats.Msg {
	m := nats.NewMsg(taskSubject(i.Origin, i.Key))
	m.Data = i.Payload
	m.Header.Set(headerExpected, strconv.FormatUint(after, 10))
	taskHeader{MayRepeat: i.MayRepeat, RetryOf: i.RetryOf}.set(m.Header)
	return m
}

// Enqueue queues tasks. It does not queue a task twice.
func (s *Store) Enqueue(ctx context.Context, items ...Item) error {
	waiting, end := s.await(ctx, workStream)
	defer end()
	for chunk := range slices.Chunk(items, maxUnconfirmed) {
		futures := make([]jetstream.PubAckFuture, len(chunk))
		for i, item := range chunk {
			futures[i], _ = s.js.PublishMsgAsync(item.message(0)) // nil after an error, which enqueue meets again
		}
		for i, item := range chunk {
			if s.confirmed(waiting, item, futures[i]) {
				continue
			}
			if err := s.enqueue(ctx, item); err != nil {
				return err
			}
		}
	}
	return nil
}

// confirmed reports whether the server confirms that a task is queued.
func (s *Store) confirmed(ctx context.Context, item Item, future jetstream.PubAckFuture) bool {
	if future == nil {
		return false
	}
	timer := time.NewTimer(s.options.tryTimeout)
	defer timer.Stop()
	select {
	case <-future.Ok():
		return true
	case err := <-future.Err():
		return codeOf(err) == codeWrongLast && item.RetryOf == 0
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// enqueue queues one task, retrying until it is queued once. If another message of the task is
// queued, a retry is queued after it: the worker may have stored the failure marker but not yet
// removed the message, and would remove the retry as well.
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
		queued, err := stream.GetLastMsgForSubject(ctx, taskSubject(item.Origin, item.Key))
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return nats.ErrTimeout // it has been removed in the meantime
		case err != nil || item.RetryOf == 0 || taskHeaderOf(queued.Header).RetryOf == item.RetryOf:
			return err
		}
		_, err = s.js.PublishMsg(ctx, item.message(queued.Sequence))
		if codeOf(err) == codeWrongLast {
			return nats.ErrTimeout // look again
		}
		return err
	})
}
