package store

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A Mark identifies a page that was read, so that a server that has another page in its place is noticed: a
// sequence alone says nothing after the server has lost its last pages and stored others. Parts that are zero
// are unknown.
type Mark struct {
	Created  time.Time `json:"created"`            // creation time of the stream
	Sequence uint64    `json:"sequence,omitempty"` // sequence of the page
	Stored   time.Time `json:"stored,omitzero"`    // time when the page was stored, by the server's clock
}

// Check returns [ErrReplaced] if the server no longer has the page of a mark.
func (s *Store) Check(ctx context.Context, run string, m Mark) error {
	return s.retry(ctx, "ask for the run "+run, runStream+run, func(ctx context.Context) error {
		_, err := s.check(ctx, run, &m)
		return err
	})
}

// check is Check, once, and returns the state of the stream. It sets the creation time of the stream if it is
// unknown. A page that has been released cannot be checked.
func (s *Store) check(ctx context.Context, run string, m *Mark) (state jetstream.StreamState, err error) {
	stream, err := s.js.Stream(ctx, runStream+run)
	if err != nil {
		return state, err
	}
	info := stream.CachedInfo()
	if m.Created.IsZero() {
		m.Created = info.Created
	}
	switch {
	case !m.Created.Equal(info.Created), info.State.LastSeq < m.Sequence:
		return state, ErrReplaced
	case m.Sequence == 0, m.Stored.IsZero():
		return info.State, nil
	}
	last, err := stream.GetMsg(ctx, m.Sequence)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		err = nil
	case err == nil && !last.Time.Equal(m.Stored):
		err = ErrReplaced
	}
	return info.State, err
}
