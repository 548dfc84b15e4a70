package store

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A Heading is what is known of a page without reading it.
type Heading struct {
	Key
	Head
	Sequence uint64
	Time     time.Time // when it was stored, by the clock of the server
}

// Heads calls f for the last page of each task of a run, in the order in which they were
// stored. It ends when it has delivered what there is.
func (s *Store) Heads(ctx context.Context, run string, f func(Heading) error) error {
	return s.headings(ctx, run, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
		FilterSubject: pageSubject + run + ".>"}, f)
}

// HeadsSince calls f for all pages of a run that were stored since a time, in the order in
// which they were stored. It ends when it has delivered what there is.
func (s *Store) HeadsSince(ctx context.Context, run string, since time.Time, f func(Heading) error) error {
	return s.headings(ctx, run, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &since}, f)
}

// headings gathers headings before it passes them on, so that an interrupted connection
// does not repeat any.
func (s *Store) headings(ctx context.Context, run string, config jetstream.ConsumerConfig, f func(Heading) error) error {
	config.HeadersOnly = true
	var found []Heading
	d := feed{s: s, run: run, config: config, finite: true, opened: func() { found = found[:0] }}
	err := d.deliver(ctx, func(m *message) error {
		if !m.last() {
			return nil
		}
		e, err := m.entry()
		if err == nil {
			found = append(found, Heading{e.Key, e.Head, e.Sequence, e.Time})
		}
		return err
	})
	if !errors.Is(err, errCaughtUp) {
		return err
	}
	for _, h := range found {
		if err := f(h); err != nil {
			return err
		}
	}
	return nil
}
