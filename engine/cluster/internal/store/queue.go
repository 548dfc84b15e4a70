package store

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// maxOrigins is how many origins the queue may have.
const maxOrigins = 100_000

// Work is a task that has been delivered to this worker. It is delivered to another one if
// neither Progress nor one of the methods that end it is called within [Options.AckWait].
type Work struct {
	Run, Task  string
	Payload    []byte
	RetryOf    uint64 // sequence of the marker of the failure that is to be tried again; 0: none
	Deliveries int    // of this message, from 1

	msg jetstream.Msg
}

// Progress says that the worker still runs the task.
func (w *Work) Progress() error { return w.msg.InProgress() }

// Done removes the task from the queue. It may only be called after the page that ends
// the task was stored, because it does so even if the task has been given to another
// worker.
func (w *Work) Done(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	return w.msg.DoubleAck(ctx)
}

// HandBack gives the task to another worker, after a delay. In that time the task still
// counts as one of those that may be run at the same time.
func (w *Work) HandBack(delay time.Duration) error { return w.msg.NakWithDelay(delay) }

// Drop removes a task from the queue that cannot be run, like Done.
func (w *Work) Drop(reason string) error { return w.msg.TermWithReason(clip(reason, labelBytes)) }

// SetOrigin lets workers fetch the tasks of an origin, of which at most parallel are run
// at the same time; 0: any number.
func (s *Store) SetOrigin(ctx context.Context, origin string, parallel int) error {
	if parallel <= 0 {
		parallel = -1
	}
	config := jetstream.ConsumerConfig{
		Durable: originDurable + origin, FilterSubject: workSubject + origin + ".>", AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: s.options.AckWait, MaxDeliver: -1, MaxAckPending: parallel,
	}
	return s.retry(ctx, "prepare the queue of "+origin, func(ctx context.Context) error {
		consumer, err := s.js.Consumer(ctx, workStream, config.Durable)
		if err == nil {
			c := consumer.CachedInfo().Config
			if c.MaxAckPending == config.MaxAckPending && c.AckWait == config.AckWait {
				return nil
			}
		}
		if err == nil || errors.Is(err, jetstream.ErrConsumerNotFound) {
			_, err = s.js.CreateOrUpdateConsumer(ctx, workStream, config)
		}
		return err
	})
}

// Origins returns the names of all origins of [Store.SetOrigin].
func (s *Store) Origins(ctx context.Context) ([]string, error) {
	var origins []string
	err := s.retry(ctx, "list the queues", func(ctx context.Context) error {
		origins = nil
		stream, err := s.stream(ctx, workStream)
		if err != nil {
			return err
		}
		names := stream.ConsumerNames(ctx)
		for name := range names.Name() {
			if origin, ok := strings.CutPrefix(name, originDurable); ok {
				origins = append(origins, origin)
			}
		}
		return names.Err()
	})
	return origins, err
}

// Fetch returns a task of an origin, or nil if there is none now: none is queued, as many
// are run as may be, or the server does not answer, for which Fetch does not wait.
func (s *Store) Fetch(ctx context.Context, origin string) (*Work, error) {
	denied := s.denied.count()
	msg, err := s.fetch(ctx, origin)
	switch refused, text := s.denied.since(denied); {
	case msg != nil:
		return workOfMessage(msg)
	case refused:
		return nil, deniedError("fetch a task", text)
	case err == nil || isTemporary(err):
		return nil, nil
	}
	return nil, explain("fetch a task", err)
}

// fetch returns a message of an origin, or nil.
func (s *Store) fetch(ctx context.Context, origin string) (jetstream.Msg, error) {
	consumer, err := s.origin(ctx, origin)
	if err != nil {
		return nil, err
	}
	batch, err := consumer.FetchNoWait(1)
	if err != nil {
		return nil, err
	}
	if msg, ok := <-batch.Messages(); ok {
		return msg, nil
	}
	if err = batch.Error(); err != nil {
		s.origins.Delete(origin)
	}
	return nil, err
}

// origin returns the consumer of an origin, which it looks up once.
func (s *Store) origin(ctx context.Context, origin string) (jetstream.Consumer, error) {
	if known, ok := s.origins.Load(origin); ok {
		return known.(jetstream.Consumer), nil
	}
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	consumer, err := s.js.Consumer(ctx, workStream, originDurable+origin)
	if err == nil {
		s.origins.Store(origin, consumer)
	}
	return consumer, err
}

func workOfMessage(msg jetstream.Msg) (*Work, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return nil, explain("fetch a task", err)
	}
	parts := strings.Split(strings.TrimPrefix(msg.Subject(), workSubject), ".")
	if len(parts) != 3 {
		return nil, errors.Join(msg.Term(), explain("fetch a task", errors.New("unknown subject "+msg.Subject())))
	}
	return &Work{Run: parts[1], Task: parts[2], Payload: msg.Data(), Deliveries: int(meta.NumDelivered), RetryOf: retryOf(msg.Headers()), msg: msg}, nil
}

func retryOf(header nats.Header) uint64 {
	n, _ := strconv.ParseUint(header.Get(headerRetryOf), 10, 64)
	return n
}

// A Load says how many tasks of an origin are queued.
type Load struct {
	Waiting int // not delivered to a worker
	Running int // delivered, and not ended
}

// Queued returns how many tasks of an origin are queued.
func (s *Store) Queued(ctx context.Context, origin string) (Load, error) {
	var load Load
	err := s.retry(ctx, "ask for the queue of "+origin, func(ctx context.Context) error {
		consumer, err := s.js.Consumer(ctx, workStream, originDurable+origin)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			return nil
		}
		if err == nil {
			load = Load{Waiting: int(consumer.CachedInfo().NumPending), Running: consumer.CachedInfo().NumAckPending}
		}
		return err
	})
	return load, err
}

// PurgeWork removes the tasks of a run from the queue.
func (s *Store) PurgeWork(ctx context.Context, run string) error {
	return s.retry(ctx, "remove the queued tasks of the run "+run, func(ctx context.Context) error {
		stream, err := s.stream(ctx, workStream)
		if err != nil {
			return err
		}
		return stream.Purge(ctx, jetstream.WithPurgeSubject(workSubject+"*."+run+".>"))
	})
}
