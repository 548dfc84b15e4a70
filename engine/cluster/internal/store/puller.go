package store

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	maxQueues  = 100_000                // maximum number of queues
	maxWaiting = 10_000                 // maximum number of workers waiting for a message of the same queue
	answerWait = 100 * time.Millisecond // time that take waits for the server

	// queueTTL is how long the server keeps a queue that no worker uses. Its messages remain, and are
	// delivered after the next [puller.prepare].
	queueTTL = 30 * 24 * time.Hour
)

// A puller fetches the messages of a queue, one at a time: tasks of a run, or slots of an origin. The
// queue is a consumer of the stream of tasks; it delivers each message to one worker.
type puller struct {
	s       *Store
	durable string // name of the consumer
	filter  string // subjects of the messages

	mu         sync.Mutex
	consumer   jetstream.Consumer     // nil until it has been looked up
	asked      time.Time              // time of the pending request
	connection uint64                 // connection of the pending request
	answer     jetstream.MessageBatch // answer to the pending request; nil if there is no such request
	forgotten  bool                   // set by Forget; then nothing is requested any more
}

// A delivery is a message of a queue, and the connection on which it was requested.
type delivery struct {
	jetstream.Msg
	connection uint64
}

// puller returns the puller of a queue.
func (s *Store) puller(durable, filter string) *puller {
	known, _ := s.pullers.LoadOrStore(durable, &puller{s: s, durable: durable, filter: filter})
	return known.(*puller)
}

// prepare creates the consumer, or updates its AckWait.
func (p *puller) prepare(ctx context.Context) error {
	s := p.s
	config := jetstream.ConsumerConfig{
		Durable: p.durable, FilterSubject: p.filter, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: s.options.AckWait, MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: maxWaiting, InactiveThreshold: queueTTL,
	}
	return s.retry(ctx, "prepare the queue "+p.durable, workStream, func(ctx context.Context) error {
		consumer, err := s.js.Consumer(ctx, workStream, p.durable)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			_, err = s.js.CreateConsumer(ctx, workStream, config)
			return err
		}
		if err != nil {
			return err
		}
		c := consumer.CachedInfo().Config
		if s.anyAckWait || c.AckWait == config.AckWait {
			return nil
		}
		config.MaxWaiting = c.MaxWaiting // MaxWaiting cannot be changed
		_, err = s.js.UpdateConsumer(ctx, workStream, config)
		return err
	})
}

// take returns a message, or nil.
func (p *puller) take(ctx context.Context) (*delivery, error) {
	msg, err := p.fetch(ctx)
	switch {
	case msg != nil:
		return msg, nil
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		return nil, ErrNoQueue
	case err == nil, isTemporary(err):
		return nil, nil
	}
	return nil, explain("fetch a task", err)
}

// fetch returns a message, or nil. If the server does not answer at once, the request stays pending,
// and the next call looks for its answer.
func (p *puller) fetch(ctx context.Context) (*delivery, error) {
	s := p.s
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.forgotten {
		return nil, nil
	}
	if p.answer != nil && time.Since(p.asked) > s.options.AckWait*2/3 {
		p.giveUpLocked()
	}
	waiting, end := s.await(ctx, workStream)
	defer end()
	wait := time.Duration(0) // a pending request has already waited
	if p.answer == nil {
		if err := p.askLocked(ctx); err != nil {
			return nil, err
		}
		wait = min(answerWait, s.options.AckWait/4)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil, nil
	case <-waiting.Done():
		if ctx.Err() != nil {
			return nil, interrupted(ctx)
		}
		p.giveUpLocked()
		return nil, context.Cause(waiting)
	case msg, ok := <-p.answer.Messages():
		err := p.answer.Error()
		p.answer = nil
		if ok {
			return &delivery{msg, p.connection}, nil
		}
		if err != nil {
			p.consumer = nil
		}
		return nil, err
	}
}

// askLocked requests one message.
func (p *puller) askLocked(ctx context.Context) (err error) {
	if p.consumer == nil {
		err = p.s.try(ctx, p.s.options.tryTimeout, workStream, func(ctx context.Context) error {
			p.consumer, err = p.s.js.Consumer(ctx, workStream, p.durable)
			return err
		})
		if err != nil {
			return err
		}
	}
	p.asked, p.connection = time.Now(), p.s.connection()
	p.answer, err = p.consumer.FetchNoWait(1)
	return err
}

// giveUpLocked abandons the pending request, if there is one. If its message has arrived, it is handed back,
// so that another worker gets it now.
func (p *puller) giveUpLocked() {
	if p.answer == nil {
		return
	}
	select {
	case msg, ok := <-p.answer.Messages():
		if ok {
			_ = msg.Nak() // otherwise it is redelivered a little later
		}
	default:
	}
	p.answer = nil
}

// ackWait returns how long a worker may be silent, as configured in the consumer.
func (p *puller) ackWait() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.consumer == nil {
		return p.s.options.AckWait
	}
	return p.consumer.CachedInfo().Config.AckWait
}

// Forget forgets the queue of a run that is over, and hands back its messages that were not fetched. It does not
// wait for a fetch.
func (s *Store) Forget(q Queue) {
	known, ok := s.pullers.LoadAndDelete(q.durable())
	if !ok {
		return
	}
	p := known.(*puller)
	go func() {
		p.mu.Lock() // a fetch may hold it
		defer p.mu.Unlock()
		p.giveUpLocked()
		p.forgotten = true
	}()
}

// StopFetching hands back the delivered messages that were not fetched. It is for a worker that is
// ending.
func (s *Store) StopFetching() {
	s.pullers.Range(func(_, known any) bool {
		p := known.(*puller)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.giveUpLocked()
		return true
	})
}
