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
	Sequence uint64    // in the run; of the last part, if the page has several
	Time     time.Time // when it was stored, by the clock of the server
}

// Heads calls f for the last page of each task of a run, in the order in which they were
// stored. It ends when it has delivered what there is, and keeps none of it. It calls again
// before the first task and, after the connection was interrupted, before f is called for all
// tasks once more. again may be nil.
func (s *Store) Heads(ctx context.Context, run string, again func(), f func(Heading) error) error {
	return s.scan(ctx, run, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy,
		FilterSubject: pageSubject + run + ".>"}, again, f)
}

// HeadsFrom is [Store.Heads] for all pages of a run from a sequence on.
func (s *Store) HeadsFrom(ctx context.Context, run string, sequence uint64, again func(), f func(Heading) error) error {
	return s.scan(ctx, run, jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: sequence}, again, f)
}

// scan passes headings on as they arrive. It calls again whenever it begins.
func (s *Store) scan(ctx context.Context, run string, config jetstream.ConsumerConfig, again func(), f func(Heading) error) error {
	config.HeadersOnly = true
	d := feed{s: s, run: run, config: config, finite: true, opened: again}
	err := d.deliver(ctx, func(m *message) error {
		if !m.last() {
			return nil
		}
		e, err := m.entry()
		if err != nil {
			return err
		}
		return f(e.Heading)
	})
	if errors.Is(err, errCaughtUp) {
		return nil
	}
	return err
}
