package store

import (
	"context"
	"encoding/json"
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
	maxQueues  = 100_000                // maximum number of queues
	maxWaiting = 10_000                 // maximum number of workers waiting for a task of the same queue
	answerWait = 100 * time.Millisecond // time that Fetch waits for the server
)

// A Queue holds the tasks of a run.
type Queue struct {
	Origin, Run string
	Slots       int // number of tasks of the origin that may run at the same time; 0 means no limit
}

// tasks returns the name of the consumer of the tasks, and the filter of their subjects. Names of
// runs and origins have no "=".
func (q Queue) tasks() (durable, filter string) {
	return taskConsumer + q.Run + "=" + q.Origin, workSubject + q.Origin + "." + q.Run + ".>"
}

// slots returns the name of the consumer of the slots of the origin, and the filter of their
// subjects.
func (q Queue) slots() (durable, filter string) {
	return "slots_" + q.Origin, workSubject + q.Origin + ".=slot.*"
}

// Work is a task delivered to this worker. Unless Progress or a method that ends the delivery is
// called within AckWait, the task is delivered to another worker.
type Work struct {
	Run        string  `json:"run"`
	Task       string  `json:"task"`
	Payload    []byte  `json:"payload"`
	RetryOf    uint64  `json:"retryOf,omitempty"` // sequence of the failure marker to be retried; 0 for a task that has not failed
	Deliveries int     `json:"deliveries"`        // number of deliveries of the task, from 1, without those that were handed back
	Trouble    Trouble `json:"trouble,omitzero"`  // earlier failures of the task
	Submission string  `json:"submission"`        // submission of the run, see [Key]
	New        bool    `json:"new,omitempty"`     // the task has not been delivered before, so it has no page unless it was queued again after its end

	AckWait time.Duration `json:"-"` // how long the worker may be silent

	s        *Store
	msg      jetstream.Msg
	slot     jetstream.Msg // slot of the origin that the task takes; nil if their number is not limited
	sequence uint64        // sequence of the message
}

// A Trouble describes the failures of a task since its last page. The task is tried again.
type Trouble struct {
	Worker string        `json:"worker,omitempty"` // the worker that cannot run the task, unless the task is to blame
	Since  time.Time     `json:"since"`            // beginning of the first attempt that failed, by the server's clock
	Times  int           `json:"times"`
	Page   uint64        `json:"page,omitempty"` // sequence of the last page; 0 if there is no page
	Wait   time.Duration `json:"wait,omitempty"` // pause before the next attempt
}

// A note is the JSON in the header of a queued task.
type note struct {
	Again   bool    `json:"again,omitempty"` // the task may have been queued before
	RetryOf uint64  `json:"retryOf,omitempty"`
	Lost    int     `json:"lost,omitempty"` // number of deliveries of the messages that this message replaces
	Trouble Trouble `json:"trouble,omitzero"`
}

// noteOf returns the note of a task; tasks that are queued for the first time have none.
func noteOf(header nats.Header) (n note) {
	if text := header.Get(headerTask); text != "" {
		_ = json.Unmarshal([]byte(text), &n) // this package has written it
	}
	return n
}

func (n note) set(header nats.Header) {
	if n == (note{}) {
		return
	}
	text, _ := json.Marshal(n) // it has no value that cannot be encoded
	header.Set(headerTask, string(text))
}

// Progress tells the server that the worker still runs the task.
func (w *Work) Progress() error {
	if w.slot != nil {
		_ = w.slot.InProgress() // if another worker gets the slot, there is one request more for a while
	}
	return w.msg.InProgress()
}

// Release gives the slot of the task to other tasks. It is called when the task no longer runs.
func (w *Work) Release() {
	if w.slot != nil {
		_ = w.slot.Nak() // otherwise it is free when the worker has been silent long enough
	}
}

// Done removes the task from the queue, even if it has been delivered to another worker in the
// meantime. So Done may only be called after the page that ends the task was stored. After an
// error the task may be delivered again.
func (w *Work) Done(ctx context.Context) error {
	return w.s.try(ctx, tryTimeout, workStream, w.msg.DoubleAck)
}

// HandBack gives the task to another worker: it replaces the message with a copy at the end of the
// queue, unless there is another copy already. The delivery does not count, so that only deliveries whose worker was lost do. If the task
// has failed, the trouble says when it is tried again.
func (w *Work) HandBack(ctx context.Context, trouble Trouble) error {
	m := nats.NewMsg(w.msg.Subject())
	m.Data = w.Payload
	// Expect that no other copy was made.
	m.Header.Set(headerExpected, strconv.FormatUint(w.sequence, 10))
	note{Again: true, RetryOf: w.RetryOf, Lost: w.Deliveries - 1, Trouble: trouble}.set(m.Header)
	if _, err := w.s.js.PublishMsg(ctx, m); err != nil && codeOf(err) != codeWrongLast {
		return errors.Join(err, w.msg.Nak()) // this delivery counts, which does no harm
	}
	return w.msg.Ack()
}

// Drop removes a task that cannot be run from the queue, like Done.
func (w *Work) Drop(reason string) error { return w.msg.TermWithReason(clip(reason, labelBytes)) }

// MaxTask returns the maximum size of the payload of a task, in bytes.
func (s *Store) MaxTask() int { return int(s.nc.MaxPayload()) - headerRoom }

// queueTTL is how long the server keeps a queue that no worker uses. The tasks remain, and are
// delivered after the next [Store.SetQueue].
const queueTTL = 30 * 24 * time.Hour

// SetQueue lets workers fetch the tasks of a run.
func (s *Store) SetQueue(ctx context.Context, q Queue) error {
	durable, filter := q.tasks()
	return s.setConsumer(ctx, durable, filter)
}

// SetSlots adds the slots of the origin that are missing, up to q.Slots. [Store.Fetch] removes those
// that exceed this number.
func (s *Store) SetSlots(ctx context.Context, q Queue) error {
	durable, filter := q.slots()
	if err := s.setConsumer(ctx, durable, filter); err != nil {
		return err
	}
	return s.retry(ctx, "set the slots of "+q.Origin, workStream, func(ctx context.Context) error {
		stream, err := s.stream(ctx, workStream)
		if err != nil {
			return err
		}
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(filter))
		if err != nil {
			return err
		}
		for i := range q.Slots {
			subject := strings.TrimSuffix(filter, "*") + strconv.Itoa(i)
			if info.State.Subjects[subject] > 0 {
				continue
			}
			m := nats.NewMsg(subject)
			m.Header.Set(headerExpected, "0")
			if _, err := s.js.PublishMsg(ctx, m); err != nil && codeOf(err) != codeWrongLast {
				return err
			}
		}
		return nil
	})
}

func (s *Store) setConsumer(ctx context.Context, durable, filter string) error {
	config := jetstream.ConsumerConfig{
		Durable: durable, FilterSubject: filter, AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: s.options.AckWait, MaxDeliver: -1, MaxAckPending: -1, MaxWaiting: maxWaiting, InactiveThreshold: queueTTL,
	}
	return s.retry(ctx, "prepare the queue "+durable, workStream, func(ctx context.Context) error {
		consumer, err := s.js.Consumer(ctx, workStream, durable)
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

// Fetch returns a task of a run. It returns nil if no task is queued, if the maximum number of
// tasks of the origin is running, or if the server does not answer promptly. If the run has no
// queue, the error is [ErrNoQueue].
func (s *Store) Fetch(ctx context.Context, q Queue) (*Work, error) {
	slot, err := s.slot(ctx, q)
	if err != nil || slot == nil && q.Slots > 0 {
		return nil, err
	}
	w, err := s.task(ctx, q)
	switch {
	case w != nil:
		w.slot = slot
	case slot != nil:
		_ = slot.Nak()
	}
	return w, err
}

// slot returns a slot of the origin, or nil if all are taken or their number is not limited.
func (s *Store) slot(ctx context.Context, q Queue) (jetstream.Msg, error) {
	durable, filter := q.slots()
	for q.Slots > 0 {
		msg, err := s.take(ctx, durable)
		if msg == nil {
			return nil, err
		}
		number, err := strconv.Atoi(strings.TrimPrefix(msg.Subject(), strings.TrimSuffix(filter, "*")))
		if err == nil && number < q.Slots {
			return msg, nil
		}
		if err := msg.Term(); err != nil {
			return nil, explain("remove a slot", err)
		}
	}
	return nil, nil
}

// task returns a task whose pause is over, or nil.
func (s *Store) task(ctx context.Context, q Queue) (*Work, error) {
	durable, _ := q.tasks()
	for {
		msg, err := s.take(ctx, durable)
		if msg == nil {
			return nil, err
		}
		w, deliveries, err := s.workOf(msg, s.ackWait(durable))
		if err != nil || w.Trouble.Wait == 0 {
			return w, err
		}
		if deliveries > 1 {
			w.Deliveries-- // the first delivery began the pause
			return w, nil
		}
		if err := msg.NakWithDelay(w.Trouble.Wait); err != nil {
			return nil, explain("postpone a task", err)
		}
	}
}

// take returns a message of a queue, or nil.
func (s *Store) take(ctx context.Context, durable string) (jetstream.Msg, error) {
	msg, err := s.fetch(ctx, durable)
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

// A puller requests the messages of a queue, one at a time.
type puller struct {
	mu       sync.Mutex
	consumer jetstream.Consumer     // nil until it has been looked up
	asked    time.Time              // time of the pending request
	answer   jetstream.MessageBatch // answer to the pending request; nil if there is no such request
}

// fetch returns a message of a queue, or nil. If the server does not answer at once, the request
// stays pending, and the next call looks for its answer.
func (s *Store) fetch(ctx context.Context, durable string) (jetstream.Msg, error) {
	known, _ := s.pullers.LoadOrStore(durable, &puller{})
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
		if err := s.ask(ctx, durable, p); err != nil {
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
	s.pullers.Range(func(_, known any) bool {
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
func (s *Store) ask(ctx context.Context, durable string, p *puller) (err error) {
	if p.consumer == nil {
		err = s.try(ctx, tryTimeout, workStream, func(ctx context.Context) error {
			p.consumer, err = s.js.Consumer(ctx, workStream, durable)
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

// ackWait returns how long a worker may be silent, as configured in a queue.
func (s *Store) ackWait(durable string) time.Duration {
	known, _ := s.pullers.Load(durable)
	if p, ok := known.(*puller); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.consumer != nil {
			return p.consumer.CachedInfo().Config.AckWait
		}
	}
	return s.options.AckWait
}

// workOf returns the task of a message, and the number of deliveries of the message.
func (s *Store) workOf(msg jetstream.Msg, ackWait time.Duration) (w *Work, deliveries int, err error) {
	meta, err := msg.Metadata()
	if err != nil {
		return nil, 0, explain("fetch a task", err)
	}
	parts := strings.Split(strings.TrimPrefix(msg.Subject(), workSubject), ".")
	if len(parts) != 4 {
		return nil, 0, errors.Join(msg.Term(), explain("fetch a task", errors.New("unknown subject "+msg.Subject())))
	}
	n, deliveries := noteOf(msg.Headers()), numberOf(meta.NumDelivered)
	return &Work{
		Run: parts[1], Submission: parts[2], Task: parts[3], Payload: msg.Data(), RetryOf: n.RetryOf, Trouble: n.Trouble,
		New: deliveries == 1 && n == note{}, Deliveries: n.Lost + deliveries, sequence: meta.Sequence.Stream, AckWait: ackWait, s: s, msg: msg,
	}, deliveries, nil
}

// numberOf converts a number of deliveries, which is small.
func numberOf(n uint64) int { return int(min(n, math.MaxInt32)) }

// A Load counts the queued tasks of a run.
type Load struct {
	Waiting int // number of tasks not delivered to a worker
	Running int // number of tasks delivered and not ended, or with a pause before the next attempt
}

// Queued returns the numbers of queued tasks of a run.
func (s *Store) Queued(ctx context.Context, q Queue) (Load, error) {
	var load Load
	durable, _ := q.tasks()
	err := s.retry(ctx, "ask for the queue of the run "+q.Run, workStream, func(ctx context.Context) error {
		consumer, err := s.js.Consumer(ctx, workStream, durable)
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
		retried = err == nil && noteOf(message.Header).RetryOf == failed.Sequence
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
