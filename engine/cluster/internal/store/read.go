package store

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Limits of the requests of a reader.
const (
	fetchMessages = 512
	fetchBytes    = 16 << 20
	fetchWait     = 5 * time.Second
	fetchBeat     = time.Second // interval at which the server sends heartbeats
	idleConsumer  = 30 * time.Second
)

var (
	errCaughtUp = errors.New("caught up")            // ends a feed after the existing messages
	errMissed   = errors.New("a message was missed") // a consumer without acknowledgements does not repeat messages
)

// Read delivers the pages of a run after a sequence, in the order in which they were stored, and
// then waits for more. It returns when the context ends or when deliver returns an error, which
// becomes the error of Read. If the run is deleted, the error is [ErrDeleted]. An entry is valid
// until deliver returns.
//
// after is the sequence of a page, or 0. latest is the mark of the last page that was ever read, which may be
// a later one; its zero value stands for none. If the server no longer has that page or, later, one that was
// delivered, the error is [ErrReplaced]. Pages that are released during the call may be left out.
func (s *Store) Read(ctx context.Context, run string, after uint64, latest Mark, deliver func(*Entry) error) error {
	var a assembly
	defer a.reset()
	f := feed{s: s, run: run, read: after, latest: latest}
	return f.deliver(ctx, func(m *message) error {
		e, err := a.add(m)
		if err != nil {
			return err
		}
		if e == nil {
			return nil
		}
		defer e.Release()
		return deliver(e)
	})
}

// A feed delivers the messages of a run in order, through a consumer that it replaces whenever a
// message may have been missed.
type feed struct {
	s      *Store
	run    string
	read   uint64                   // sequence of the last delivered message
	latest Mark                     // the message with the highest sequence that was ever delivered, also to an earlier feed
	config jetstream.ConsumerConfig // selects messages; the zero value selects all messages after that sequence
	finite bool                     // whether to end with errCaughtUp after the messages that existed when the consumer was created
	opened func()                   // called for each consumer; may be nil

	consumer jetstream.Consumer
	next     uint64 // number of the consumer's next message, from 1
	last     uint64 // number of the last message that existed when the consumer was created
	end      uint64 // sequence of the last message at that time, as the leader of the stream says; 0 if there is none
}

// deliver passes messages to f until f returns an error.
func (d *feed) deliver(ctx context.Context, f func(*message) error) error {
	defer d.drop(ctx)
	var stop stopError
	attempt := func() (again bool, err error) {
		before := d.read
		err = d.round(ctx, f)
		if err == nil || errors.As(err, &stop) {
			return false, nil
		}
		d.drop(ctx)
		if d.read > before {
			return false, nil // the next round reports a problem that persists
		}
		return isTemporary(err), err
	}
	for stop.error == nil {
		if err := d.s.repeat(ctx, "read pages", attempt); err != nil {
			return err
		}
	}
	return stop.error
}

// A stopError is an error of the function that receives the messages.
type stopError struct{ error }

// round makes one fetch request.
func (d *feed) round(ctx context.Context, f func(*message) error) error {
	if d.consumer == nil {
		if err := d.open(ctx); err != nil {
			return err
		}
	}
	waiting, end := d.s.await(ctx, runStream+d.run)
	defer end()
	// The client refuses a context that ends sooner than two heartbeats.
	fetching, cancel := context.WithTimeout(context.WithoutCancel(waiting), fetchWait)
	defer cancel()
	defer context.AfterFunc(waiting, cancel)()
	limit := max(fetchBytes, 2*int(d.s.nc.MaxPayload()))
	batch, err := d.consumer.Fetch(fetchMessages, jetstream.FetchMaxBytes(limit),
		jetstream.FetchContext(fetching), jetstream.FetchHeartbeat(fetchBeat))
	if err != nil {
		return err
	}
	first := d.next
	for m := range batch.Messages() {
		if waiting.Err() != nil {
			break
		}
		if err := d.pass(m, f); err != nil {
			return err
		}
	}
	switch err = batch.Error(); {
	case ctx.Err() != nil:
		return stopError{interrupted(ctx)}
	case waiting.Err() != nil:
		return context.Cause(waiting)
	case err == nil && d.finite && d.next == first: // the missing messages have been deleted
		return d.caughtUp()
	}
	return err
}

// caughtUp ends a finite feed. In a cluster, the consumer may be on a server that lacks the latest messages; then
// the feed starts over.
func (d *feed) caughtUp() error {
	if d.read < d.end {
		return errMissed
	}
	return stopError{errCaughtUp}
}

// pass passes one message to f.
func (d *feed) pass(m jetstream.Msg, f func(*message) error) error {
	meta, err := m.Metadata()
	if err != nil {
		return stopError{err}
	}
	if meta.Sequence.Consumer != d.next {
		return errMissed
	}
	d.next++
	err = f(&message{Subject: m.Subject(), Header: m.Headers(), Data: m.Data(), Sequence: meta.Sequence.Stream, Time: meta.Timestamp})
	if err != nil {
		return stopError{err}
	}
	d.read = meta.Sequence.Stream
	if d.read > d.latest.Sequence {
		d.latest.Sequence, d.latest.Stored = d.read, meta.Timestamp
	}
	if d.finite && (d.next > d.last || meta.NumPending == 0) {
		return d.caughtUp()
	}
	return nil
}

// open creates a consumer for the remaining messages.
func (d *feed) open(ctx context.Context) error {
	config := d.config
	config.AckPolicy, config.MemoryStorage, config.Replicas, config.InactiveThreshold = jetstream.AckNonePolicy, true, 1, idleConsumer
	if config.DeliverPolicy == jetstream.DeliverAllPolicy && d.read > 0 {
		config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, d.read+1
	}
	if d.finite {
		d.read, d.end = 0, 0
	}
	var consumer jetstream.Consumer
	err := d.s.try(ctx, d.s.options.tryTimeout, runStream+d.run, func(ctx context.Context) error {
		state, err := d.s.check(ctx, d.run, &d.latest)
		if err == nil {
			if d.finite && state.Msgs > 0 && config.OptStartSeq <= state.LastSeq {
				d.end = state.LastSeq
			}
			consumer, err = d.s.js.CreateConsumer(ctx, runStream+d.run, config)
		}
		if err != nil {
			return d.s.deletedOr(ctx, d.run, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	d.consumer, d.next, d.last = consumer, 1, consumer.CachedInfo().NumPending
	if d.opened != nil {
		d.opened()
	}
	if d.finite && d.last == 0 {
		return d.caughtUp()
	}
	return nil
}

// drop deletes the consumer. If that fails, the server deletes the idle consumer later.
func (d *feed) drop(ctx context.Context) {
	if d.consumer == nil {
		return
	}
	if d.s.nc.IsConnected() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = d.s.js.DeleteConsumer(ctx, runStream+d.run, d.consumer.CachedInfo().Name)
	}
	d.consumer = nil
}
