package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// retry calls f until it succeeds, fails permanently, or the patience or the context ends. The
// error begins with what, which names the operation. stream is the stream that f uses.
func (s *Store) retry(ctx context.Context, what, stream string, f func(ctx context.Context) error) error {
	return s.repeat(ctx, what, func() (bool, error) {
		err := s.try(ctx, s.options.tryTimeout, stream, f)
		return isTemporary(err), err
	})
}

// repeat is like [Store.retry] for a function that itself reports whether to try again.
func (s *Store) repeat(ctx context.Context, what string, attempt func() (again bool, err error)) error {
	start, pause := time.Now(), Backoff{First: firstPause, Longest: lastPause}
	for {
		again, err := attempt()
		if err == nil {
			return nil
		}
		switch waited := time.Since(start); {
		case ctx.Err() != nil:
			return interrupted(ctx)
		case !again:
			return explain(what, err)
		case s.options.Patience > 0 && waited > s.options.Patience:
			if codeOf(err) != 0 {
				return explain(what, err)
			}
			return silent(what, waited, err)
		}
		if pause.Wait(ctx) != nil {
			return interrupted(ctx)
		}
	}
}

// try calls f once, with a context that ends when the server is not going to answer requests about
// the stream: see [listener].
func (s *Store) try(ctx context.Context, timeout time.Duration, stream string, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	waiting, end := s.await(ctx, stream)
	defer end()
	err := f(waiting)
	if errors.Is(err, nats.ErrConnectionClosed) && !s.nc.IsClosed() { // the error of a flush during which the connection breaks
		err = nats.ErrDisconnected
	}
	if errors.Is(err, jetstream.ErrNoStreamResponse) && !errors.Is(err, errMissed) {
		if _, missing := s.js.Stream(waiting, stream); errors.Is(missing, jetstream.ErrStreamNotFound) {
			err = missing
		}
	}
	gone := errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, nats.ErrStreamNotFound) // of the two APIs of the client
	if gone && !errors.Is(err, errMissed) && !strings.HasPrefix(stream, runStream) {
		return errEmptied
	}
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return context.Cause(waiting)
	}
	return err
}

// A Backoff pauses between attempts. Each pause is twice as long as the previous one, up to a
// limit.
type Backoff struct {
	First, Longest time.Duration
	last           time.Duration
}

// Next returns the next pause.
func (b *Backoff) Next() time.Duration {
	b.last = min(max(2*b.last, b.First), b.Longest)
	return b.last
}

// Wait pauses. If the context ends first, Wait returns the cause.
func (b *Backoff) Wait(ctx context.Context) error { return Sleep(ctx, b.Next()) }

// Reset restarts the sequence of pauses.
func (b *Backoff) Reset() { b.last = 0 }

// Sleep pauses for d. If the context ends first, Sleep returns the cause.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
