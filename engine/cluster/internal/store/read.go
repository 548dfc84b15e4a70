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
// after is 0 or the sequence of a page. Pages that are released during the call may be left out.
func (s *Store) Read(ctx context.Context, run string, after uint64, deliver func(*Entry) error) error {
	var a assembly
	defer a.reset()
	f := feed{s: s, run: run, after: after}
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
	after  uint64                   // sequence of the last delivered message
	config jetstream.ConsumerConfig // selects messages; the zero value selects all messages after that sequence
	finite bool                     // whether to end with errCaughtUp after the messages that existed when the consumer was created
	opened func()                   // called for each consumer; may be nil

	created time.Time // creation time of the stream; zero before the first consumer
	stored  time.Time // time of the last delivered message

	consumer jetstream.Consumer
	next     uint64 // number of the consumer's next message, from 1
	last     uint64 // number of the last message that existed when the consumer was created
}

// deliver passes messages to f until f returns an error.
func (d *feed) deliver(ctx context.Context, f func(*message) error) error {
	defer d.drop(ctx)
	var stop stopError
	once := func() (again bool, err error) {
		before := d.after
		err = d.round(ctx, f)
		if err == nil || errors.As(err, &stop) {
			return false, nil
		}
		d.drop(ctx)
		if d.after > before {
			return false, nil // the next round reports a problem that persists
		}
		return isTemporary(err), err
	}
	for stop.error == nil {
		if err := d.s.repeat(ctx, "read pages", once); err != nil {
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
	fetching, cancel := context.WithTimeout(waiting, fetchWait)
	defer cancel()
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
		return stopError{errCaughtUp}
	}
	return err
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
	d.after, d.stored = meta.Sequence.Stream, meta.Timestamp
	if d.finite && (d.next > d.last || meta.NumPending == 0) {
		return stopError{errCaughtUp}
	}
	return nil
}

// open creates a consumer for the remaining messages.
func (d *feed) open(ctx context.Context) error {
	config := d.config
	config.AckPolicy, config.MemoryStorage, config.Replicas, config.InactiveThreshold = jetstream.AckNonePolicy, true, 1, idleConsumer
	if config.DeliverPolicy == jetstream.DeliverAllPolicy && d.after > 0 {
		config.DeliverPolicy, config.OptStartSeq = jetstream.DeliverByStartSequencePolicy, d.after+1
	}
	var consumer jetstream.Consumer
	err := d.s.try(ctx, d.s.options.tryTimeout, runStream+d.run, func(ctx context.Context) (err error) {
		if err = d.check(ctx); err == nil {
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
		return stopError{errCaughtUp}
	}
	return nil
}

// check returns an error if the server no longer has the stream whose messages were delivered: the stream
// was created anew, it has fewer messages, or it has another message in the place of the last delivered
// message.
func (d *feed) check(ctx context.Context) error {
	stream, err := d.s.js.Stream(ctx, runStream+d.run)
	if err != nil {
		return err
	}
	info := stream.CachedInfo()
	if d.created.IsZero() {
		d.created = info.Created
	}
	if d.after == 0 {
		return nil
	}
	if !d.created.Equal(info.Created) || info.State.LastSeq < d.after {
		return ErrReplaced
	}
	if d.stored.IsZero() {
		return nil
	}
	last, err := stream.GetMsg(ctx, d.after)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound): // it has been released
		return nil
	case err == nil && !last.Time.Equal(d.stored):
		return ErrReplaced
	}
	return err
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
