package store

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	maxOrigins = 100_000                // maximum number of origins in the queue
	maxWaiting = 10_000                 // maximum number of workers waiting for a task of the same origin
	answerWait = 100 * time.Millisecond // time that Fetch waits for the server
)

// Work is a task delivered to this worker. Unless Progress or a method that ends the delivery is
// called within AckWait, the task is delivered to another worker.
type Work struct {
	Run        string `json:"run"`
	Task       string `json:"task"`
	Payload    []byte `json:"payload"`
	RetryOf    uint64 `json:"retryOf,omitempty"` // sequence of the failure marker to be retried; 0 for a task that has not failed
	Deliveries int    `json:"deliveries"`        // number of deliveries of the task, from 1, without those that were handed back
	Refused    int    `json:"refused,omitempty"` // number of times that it was handed back as refused
	Submission string `json:"submission"`        // submission of the run, see [Key]

	AckWait time.Duration `json:"-"` // how long the worker may be silent

	s        *Store
	msg      jetstream.Msg
	sequence uint64 // sequence of the message
}

// Progress tells the server that the worker still runs the task.
func (w *Work) Progress() error { return w.msg.InProgress() }

// Done removes the task from the queue, even if it has been delivered to another worker in the
// meantime. So Done may only be called after the page that ends the task was stored. After an
// error the task may be delivered again.
func (w *Work) Done(ctx context.Context) error {
	return w.s.try(ctx, tryTimeout, workStream, w.msg.DoubleAck)
}

// HandBack gives the task to another worker: it replaces the message with a copy at the end of the
// queue. The delivery does not count, so that only deliveries whose worker was lost do. refused
// says that the API does not accept the credentials of the worker.
func (w *Work) HandBack(ctx context.Context, refused bool) error {
	m := nats.NewMsg(w.msg.Subject())
	m.Data = w.Payload
	// Expect that no other copy was made.
	m.Header.Set(headerExpected, strconv.FormatUint(w.sequence, 10))
	if w.RetryOf != 0 {
		m.Header.Set(headerRetryOf, strconv.FormatUint(w.RetryOf, 10))
	}
	m.Header.Set(headerLost, strconv.Itoa(w.Deliveries-1))
	m.Header.Set(headerRefused, strconv.Itoa(w.Refused))
	if refused {
		m.Header.Set(headerRefused, strconv.Itoa(w.Refused+1))
	}
	if _, err := w.s.js.PublishMsg(ctx, m); err != nil {
		return errors.Join(err, w.msg.Nak()) // this delivery counts, which does no harm
	}
	return w.msg.Ack()
}

// Drop removes a task that cannot be run from the queue, like Done.
func (w *Work) Drop(reason string) error { return w.msg.TermWithReason(clip(reason, labelBytes)) }

// MaxTask returns the maximum size of the payload of a task, in bytes.
func (s *Store) MaxTask() int { return int(s.nc.MaxPayload()) - headerRoom }

// queueTTL is how long the server keeps the queue of an origin that no worker uses. The tasks
// remain, and are delivered after the next [Store.SetOrigin].
const queueTTL = 30 * 24 * time.Hour

// SetOrigin lets workers fetch the tasks of an origin. At most parallel tasks run at the same
// time; 0 means no limit.
func (s *Store) SetOrigin(ctx context.Context, origin string, parallel int) error {
	if parallel <= 0 {
		parallel = -1
	}
	config := jetstream.ConsumerConfig{
		Durable: originDurable + origin, FilterSubject: workSubject + origin + ".>", AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: s.options.AckWait, MaxDeliver: -1, MaxAckPending: parallel, MaxWaiting: maxWaiting,
		InactiveThreshold: queueTTL,
	}
	return s.retry(ctx, "prepare the queue of "+origin, workStream, func(ctx context.Context) error {
		consumer, err := s.js.Consumer(ctx, workStream, config.Durable)
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			_, err = s.js.CreateConsumer(ctx, workStream, config)
			return err
		}
		if err != nil {
			return err
		}
		c := consumer.CachedInfo().Config
		if s.anyAckWait {
			config.AckWait = c.AckWait
		}
		if c.MaxAckPending == config.MaxAckPending && c.AckWait == config.AckWait {
			return nil
		}
		config.MaxWaiting = c.MaxWaiting // MaxWaiting cannot be changed
		_, err = s.js.UpdateConsumer(ctx, workStream, config)
		return err
	})
}

// Fetch returns a task of an origin. It returns nil if no task is queued, if the maximum number of
// tasks is running, or if the server does not answer promptly. If the origin has no queue, the
// error is [ErrNoQueue].
func (s *Store) Fetch(ctx context.Context, origin string) (*Work, error) {
	msg, err := s.fetch(ctx, origin)
	if msg != nil {
		return s.workOf(msg, s.ackWait(origin))
	}
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		return nil, ErrNoQueue
	case err == nil, isTemporary(err):
		return nil, nil
	}
	return nil, explain("fetch a task", err)
}

// A puller requests the tasks of an origin, one at a time.
type puller struct {
	mu       sync.Mutex
	consumer jetstream.Consumer     // nil until it has been looked up
	asked    time.Time              // time of the pending request
	answer   jetstream.MessageBatch // answer to the pending request; nil if there is no such request
}

// fetch returns a message of an origin, or nil. If no queued message may be delivered now, the
// server does not answer at once. Then the request stays pending, and the next call looks for its
// answer.
func (s *Store) fetch(ctx context.Context, origin string) (jetstream.Msg, error) {
	known, _ := s.origins.LoadOrStore(origin, &puller{})
	p := known.(*puller)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.answer != nil && time.Since(p.asked) > s.options.AckWait*2/3 {
		p.giveUp()
	}
	waiting, end := s.await(ctx, workStream)
	defer end()
	wait := time.Duration(0) // a pending request has already waited
	if p.answer == nil {
		if err := s.ask(ctx, origin, p); err != nil {
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
		p.giveUp()
		return nil, context.Cause(waiting)
	case msg, ok := <-p.answer.Messages():
		err := p.answer.Error()
		p.answer = nil
		if ok {
			return msg, nil
		}
		if err != nil {
			p.consumer = nil
		}
		return nil, err
	}
}

// giveUp abandons the pending request. If its message has arrived, it is handed back, so that
// another worker gets it now.
func (p *puller) giveUp() {
	select {
	case msg, ok := <-p.answer.Messages():
		if ok {
			_ = msg.Nak() // otherwise it is redelivered a little later
		}
	default:
	}
	p.answer = nil
}

// StopFetching hands back the delivered messages that were not fetched. It is for a worker that is
// ending.
func (s *Store) StopFetching() {
	s.origins.Range(func(_, known any) bool {
		if p, ok := known.(*puller); ok {
			p.mu.Lock()
			if p.answer != nil {
				p.giveUp()
			}
			p.mu.Unlock()
		}
		return true
	})
}

// ask requests one message.
func (s *Store) ask(ctx context.Context, origin string, p *puller) (err error) {
	if p.consumer == nil {
		err = s.try(ctx, tryTimeout, workStream, func(ctx context.Context) error {
			p.consumer, err = s.js.Consumer(ctx, workStream, originDurable+origin)
			return err
		})
		if err != nil {
			return err
		}
	}
	p.asked = time.Now()
	p.answer, err = p.consumer.FetchNoWait(1)
	return err
}

// ackWait returns how long a worker of an origin may be silent, as configured in its queue.
func (s *Store) ackWait(origin string) time.Duration {
	known, _ := s.origins.Load(origin)
	if p, ok := known.(*puller); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.consumer != nil {
			return p.consumer.CachedInfo().Config.AckWait
		}
	}
	return s.options.AckWait
}

func (s *Store) workOf(msg jetstream.Msg, ackWait time.Duration) (*Work, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return nil, explain("fetch a task", err)
	}
	parts := strings.Split(strings.TrimPrefix(msg.Subject(), workSubject), ".")
	if len(parts) != 4 {
		return nil, errors.Join(msg.Term(), explain("fetch a task", errors.New("unknown subject "+msg.Subject())))
	}
	return &Work{
		Run: parts[1], Submission: parts[2], Task: parts[3], Payload: msg.Data(), RetryOf: retryOf(msg.Headers()),
		Deliveries: numberOf(numberIn(msg.Headers(), headerLost) + meta.NumDelivered), Refused: numberOf(numberIn(msg.Headers(), headerRefused)),
		sequence: meta.Sequence.Stream, AckWait: ackWait, s: s, msg: msg,
	}, nil
}

func retryOf(header nats.Header) uint64 { return numberIn(header, headerRetryOf) }

// numberIn returns the number in a header, or 0 if the header is missing.
func numberIn(header nats.Header, name string) uint64 {
	n, _ := strconv.ParseUint(header.Get(name), 10, 63)
	return n
}

// numberOf converts a number of deliveries, which is small.
func numberOf(n uint64) int { return int(min(n, math.MaxInt32)) }

// A Load counts the queued tasks of an origin.
type Load struct {
	Waiting int // number of tasks not delivered to a worker
	Running int // number of tasks delivered and not ended
}

// Queued returns the numbers of queued tasks of an origin.
func (s *Store) Queued(ctx context.Context, origin string) (Load, error) {
	var load Load
	err := s.retry(ctx, "ask for the queue of "+origin, workStream, func(ctx context.Context) error {
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

// IsRetried reports whether a retry of a failed task is queued or delivered. A message that queues
// the task without naming the failure marker has no effect.
func (s *Store) IsRetried(ctx context.Context, origin string, failed Heading) (retried bool, err error) {
	err = s.retry(ctx, "look for a task", workStream, func(ctx context.Context) error {
		stream, err := s.stream(ctx, workStream)
		if err != nil {
			return err
		}
		message, err := stream.GetLastMsgForSubject(ctx, workOf(origin, failed.Key))
		retried = err == nil && retryOf(message.Header) == failed.Sequence
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		return err
	})
	return retried, err
}

// PurgeWork removes the tasks of a run from the queue.
func (s *Store) PurgeWork(ctx context.Context, run string) error {
	return s.retry(ctx, "remove the queued tasks of the run "+run, workStream, func(ctx context.Context) error {
		stream, err := s.stream(ctx, workStream)
		if err != nil {
			return err
		}
		return stream.Purge(ctx, jetstream.WithPurgeSubject(workSubject+"*."+run+".>"))
	})
}
