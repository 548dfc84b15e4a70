package store

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/runtime/document"
)

// Last returns the last page of a task without its items, or nil if the task has no pages.
func (s *Store) Last(ctx context.Context, key Key) (*Entry, error) {
	connection := s.connection()
	last, err := s.lastMessage(ctx, key)
	if last == nil || err != nil {
		return nil, err
	}
	var e *Entry
	if batch, _ := last.part(); batch == "" {
		e, err = wholePage(last)
	} else if e, err = last.entry(); err == nil {
		e, err = s.Next(ctx, e.Key, e.After)
	}
	if err != nil || e == nil {
		return nil, err
	}
	e.Release()
	e.Items, e.connection = document.Items{}, connection
	return e, nil
}

// Next returns the first page of a task after a sequence, or nil if there is no such page yet. The
// caller must release the page.
func (s *Store) Next(ctx context.Context, key Key, after uint64) (*Entry, error) {
	var a assembly
	for sequence := after; ; {
		m, err := s.nextMessage(ctx, key, sequence)
		if err != nil || m == nil {
			a.reset()
			return nil, err
		}
		e, err := a.add(m)
		if e != nil || err != nil {
			a.reset()
			return e, err
		}
		sequence = m.Sequence
	}
}

// CheckRelease returns an error if [Store.Release] is not permitted.
func (s *Store) CheckRelease(ctx context.Context, run, submission string) error {
	return s.retry(ctx, "release pages", runStream+run, func(ctx context.Context) error {
		stream, err := s.stream(ctx, runStream+run)
		if err != nil {
			return err
		}
		// The subject matches no page, so this only tests the permission.
		err = stream.Purge(ctx, jetstream.WithPurgeSubject(runPages(run, submission)+"none"))
		if err != nil {
			return s.deletedOr(ctx, run, err)
		}
		return nil
	})
}

// Release deletes the pages of a task up to a sequence, but never its last page, which holds the
// position of the task.
func (s *Store) Release(ctx context.Context, key Key, through uint64) error {
	last, err := s.lastMessage(ctx, key)
	if last == nil || err != nil {
		return err
	}
	head, err := readHead(last.Header)
	if err != nil {
		return damaged(last.Sequence, err.Error())
	}
	end := min(through, head.After) // the last page comes after it
	if end == 0 {
		return nil
	}
	return s.retry(ctx, "release pages", runStream+key.Run, func(ctx context.Context) error {
		stream, err := s.stream(ctx, runStream+key.Run)
		if err != nil {
			return err
		}
		err = stream.Purge(ctx, jetstream.WithPurgeSubject(taskPages(key)), jetstream.WithPurgeSequence(end+1))
		if err != nil {
			return s.deletedOr(ctx, key.Run, err)
		}
		return nil
	})
}

// lastMessage returns the last message of a task, or nil if there is no message.
func (s *Store) lastMessage(ctx context.Context, key Key) (*message, error) {
	return s.message(ctx, key.Run, func(ctx context.Context, stream jetstream.Stream) (*jetstream.RawStreamMsg, error) {
		return stream.GetLastMsgForSubject(ctx, taskPages(key))
	})
}

// nextMessage returns the first message of a task after a sequence, or nil if there is no such
// message.
func (s *Store) nextMessage(ctx context.Context, key Key, after uint64) (*message, error) {
	return s.message(ctx, key.Run, func(ctx context.Context, stream jetstream.Stream) (*jetstream.RawStreamMsg, error) {
		return stream.GetMsg(ctx, after+1, jetstream.WithGetMsgSubject(taskPages(key)))
	})
}

// message returns a message of a run, or nil if there is no such message.
func (s *Store) message(ctx context.Context, run string,
	get func(ctx context.Context, stream jetstream.Stream) (*jetstream.RawStreamMsg, error),
) (*message, error) {
	var m *message
	err := s.retry(ctx, "read a page", runStream+run, func(ctx context.Context) error {
		stream, err := s.stream(ctx, runStream+run)
		if err != nil {
			return err
		}
		raw, err := get(ctx, stream)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			m = nil
			return nil
		case err != nil:
			return s.deletedOr(ctx, run, err)
		}
		m = (*message)(raw)
		return nil
	})
	return m, err
}

// deletedOr returns [ErrDeleted] if the stream of a run no longer exists, and otherwise err. A
// server does not answer requests for a stream that does not exist.
func (s *Store) deletedOr(ctx context.Context, run string, err error) error {
	if _, lookErr := s.js.Stream(ctx, runStream+run); errors.Is(lookErr, jetstream.ErrStreamNotFound) {
		s.streams.Delete(runStream + run)
		return ErrDeleted
	}
	return err
}
