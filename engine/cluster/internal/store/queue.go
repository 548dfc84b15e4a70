package store

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Queue holds the tasks of a run. If the number of tasks that may run at the same time is limited,
// each task needs a slot of its origin while it runs. Slots are messages, too: a worker fetches a
// slot, then a task, and returns the slot when the task no longer runs.
type Queue struct {
	Origin, Run string
	Slots       int // number of tasks of the origin that may run at the same time; 0 means no limit
}

// durable returns the name of the consumer of the tasks. Names of runs and origins have no "=".
func (q Queue) durable() string { return taskConsumer + q.Run + "=" + q.Origin }

// tasks returns the puller of the tasks of a queue.
func (s *Store) tasks(q Queue) *puller {
	return s.puller(q.durable(), workSubject+q.Origin+"."+q.Run+".>")
}

// slots returns the puller of the slots of the queue's origin.
func (s *Store) slots(q Queue) *puller {
	return s.puller("slots_"+q.Origin, slotSubject(q.Origin)+"*")
}

// slotSubject returns the prefix of the subjects of the slots of an origin, which the numbers of the
// slots follow.
func slotSubject(origin string) string { return workSubject + origin + ".=slot." }

// Work is a task delivered to this worker. Unless Progress or a method that ends the delivery is
// called within AckWait, the task is delivered to another worker.
type Work struct {
	Run        string
	Task       string
	Payload    []byte
	RetryOf    uint64  // sequence of the failure marker to be retried; 0 for a task that has not failed
	Deliveries int     // number of deliveries of the task, from 1, not counting deliveries that were handed back
	Trouble    Trouble // earlier failures of the task
	Submission string  // submission of the run, see [Key]
	New        bool    // first delivery: there is no page, unless the task was queued again after its end

	AckWait time.Duration // how long the worker may be silent

	s        *Store
	msg      *delivery
	slot     *delivery // slot of the origin that the task takes; nil if their number is not limited
	sequence uint64    // sequence of the message
	queued   time.Time // time when the message was queued, by the server's clock
}

// A Trouble describes the failures of a task since its last page. The task is tried again.
type Trouble struct {
	Worker   string        `json:"worker,omitempty"`   // the last worker that could not run the task, unless the task is to blame
	Answered bool          `json:"answered,omitempty"` // whether the API has answered that worker, with a refusal
	Since    time.Time     `json:"since"`              // beginning of the first attempt that failed, by the server's clock
	Times    int           `json:"times"`
	Page     uint64        `json:"page,omitempty"` // sequence of the last page; 0 if there is no page
	Wait     time.Duration `json:"wait,omitempty"` // pause before the next attempt
}

// A taskHeader is the JSON in the header of a queued task.
type taskHeader struct {
	MayRepeat         bool    `json:"again,omitempty"` // the task may have been queued before
	RetryOf           uint64  `json:"retryOf,omitempty"`
	EarlierDeliveries int     `json:"lost,omitempty"` // number of deliveries of the messages that this message replaces
	Trouble           Trouble `json:"trouble,omitzero"`
}

// taskHeaderOf returns the header of a task. It is zero if the task is queued for the first time.
func taskHeaderOf(header nats.Header) (n taskHeader) {
	if text := header.Get(headerTask); text != "" {
		_ = json.Unmarshal([]byte(text), &n) // this package has written it
	}
	return n
}

func (n taskHeader) set(header nats.Header) {
	if n == (taskHeader{}) {
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
// meantime, unless the server no longer has the page that ends the task: end is its tail. After an
// error the task may be delivered again.
func (w *Work) Done(ctx context.Context, key Key, end Tail) error {
	connection := w.s.connection()
	if stored, err := w.s.isLast(ctx, key, end); !stored || err != nil {
		return err
	}
	return w.remove(ctx, connection, w.msg.DoubleAck)
}

// remove calls f, which removes the message of the task, because of what the server has stored on a connection.
// A server that was restored from a copy since may have lost that, and gives out the sequences after that copy
// again. So remove does nothing if there is another connection, or another message with the sequence: the
// task, if it is still queued, is delivered again.
func (w *Work) remove(ctx context.Context, connection uint64, f func(context.Context) error) error {
	return w.s.try(ctx, w.s.options.tryTimeout, workStream, func(ctx context.Context) error {
		if queued, err := w.isQueued(ctx); !queued || err != nil || w.s.connection() != connection {
			return err
		}
		return f(ctx)
	})
}

// isQueued reports whether the server still has the message of the task. Like [Store.isLast], it asks only if the
// connection was made again since the message was requested.
func (w *Work) isQueued(ctx context.Context) (bool, error) {
	if w.msg.connection == w.s.connection() {
		return true, nil
	}
	stream, err := w.s.stream(ctx, workStream)
	if err != nil {
		return false, err
	}
	queued, err := stream.GetMsg(ctx, w.sequence)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil && queued.Time.Equal(w.queued), err
}

// HandBack gives the task to another worker: it replaces the message with a copy at the end of the
// queue, unless the queue already has another copy. The delivery does not count; only a delivery whose
// worker was lost counts. If the task has failed, the trouble says when it is tried again.
func (w *Work) HandBack(ctx context.Context, trouble Trouble) error {
	m := nats.NewMsg(w.msg.Subject())
	m.Data = w.Payload
	// Expect that no other copy was made.
	m.Header.Set(headerExpected, strconv.FormatUint(w.sequence, 10))
	taskHeader{MayRepeat: true, RetryOf: w.RetryOf, EarlierDeliveries: w.Deliveries - 1, Trouble: trouble}.set(m.Header)
	connection := w.s.connection()
	if _, err := w.s.js.PublishMsg(ctx, m); err != nil && (codeOf(err) != codeWrongLast || w.RetryOf > 0) {
		return errors.Join(err, w.msg.Nak()) // this delivery counts, which does no harm
	}
	return w.remove(ctx, connection, func(context.Context) error { return w.msg.Ack() })
}

// Drop removes a task that cannot be run from the queue, like Done.
func (w *Work) Drop(ctx context.Context, reason string) error {
	return w.remove(ctx, w.s.connection(), func(context.Context) error { return w.msg.TermWithReason(clip(reason, labelBytes)) })
}

// MaxTask returns the maximum size of the payload of a task, in bytes.
func (s *Store) MaxTask() int { return int(s.nc.MaxPayload()) - headerRoom }

// SetQueue lets workers fetch the tasks of a run.
func (s *Store) SetQueue(ctx context.Context, q Queue) error { return s.tasks(q).prepare(ctx) }

// SetSlots adds the slots of the origin that are missing, up to q.Slots. [Store.Fetch] removes slots
// above this number.
func (s *Store) SetSlots(ctx context.Context, q Queue) error {
	slots := s.slots(q)
	if err := slots.prepare(ctx); err != nil {
		return err
	}
	return s.retry(ctx, "set the slots of "+q.Origin, workStream, func(ctx context.Context) error {
		stream, err := s.stream(ctx, workStream)
		if err != nil {
			return err
		}
		info, err := stream.Info(ctx, jetstream.WithSubjectFilter(slots.filter))
		if err != nil {
			return err
		}
		for i := range q.Slots {
			subject := slotSubject(q.Origin) + strconv.Itoa(i)
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
func (s *Store) slot(ctx context.Context, q Queue) (*delivery, error) {
	for q.Slots > 0 {
		msg, err := s.slots(q).take(ctx)
		if msg == nil {
			return nil, err
		}
		number, err := strconv.Atoi(strings.TrimPrefix(msg.Subject(), slotSubject(q.Origin)))
		if err == nil && number < q.Slots {
			return msg, nil
		}
		if err := msg.Term(); err != nil && !isTemporary(err) { // otherwise it is delivered again
			return nil, explain("remove a slot", err)
		}
	}
	return nil, nil
}

// task returns a task whose pause is over, or nil.
func (s *Store) task(ctx context.Context, q Queue) (*Work, error) {
	tasks := s.tasks(q)
	for {
		msg, err := tasks.take(ctx)
		if msg == nil {
			return nil, err
		}
		w, deliveries, err := s.readWork(msg, tasks.ackWait())
		if err != nil || w.Trouble.Wait == 0 {
			return w, err
		}
		if deliveries > 1 {
			w.Deliveries-- // the first delivery began the pause
			return w, nil
		}
		// If the connection is interrupted, the task is delivered again.
		if err := msg.NakWithDelay(w.Trouble.Wait); err != nil && !isTemporary(err) {
			return nil, explain("postpone a task", err)
		}
	}
}

// readWork returns the task of a message, and the number of deliveries of the message.
func (s *Store) readWork(msg *delivery, ackWait time.Duration) (w *Work, deliveries int, err error) {
	meta, err := msg.Metadata()
	if err != nil {
		return nil, 0, explain("fetch a task", err)
	}
	parts := strings.Split(strings.TrimPrefix(msg.Subject(), workSubject), ".")
	if len(parts) != 4 {
		return nil, 0, errors.Join(msg.Term(), explain("fetch a task", errors.New("unknown subject "+msg.Subject())))
	}
	n, deliveries := taskHeaderOf(msg.Headers()), deliveriesOf(meta.NumDelivered)
	return &Work{
		Run: parts[1], Submission: parts[2], Task: parts[3], Payload: msg.Data(), RetryOf: n.RetryOf, Trouble: n.Trouble,
		New: deliveries == 1 && n == taskHeader{}, Deliveries: n.EarlierDeliveries + deliveries,
		sequence: meta.Sequence.Stream, queued: meta.Timestamp, AckWait: ackWait, s: s, msg: msg,
	}, deliveries, nil
}

// deliveriesOf converts a number of deliveries, which is small.
func deliveriesOf(n uint64) int { return int(min(n, math.MaxInt32)) }

// A Load counts the queued tasks of a run.
type Load struct {
	Waiting int // number of tasks not delivered to a worker
	Running int // number of tasks delivered and not ended, or with a pause before the next attempt
}

// Queued returns the numbers of queued tasks of a run.
func (s *Store) Queued(ctx context.Context, q Queue) (Load, error) {
	var load Load
	err := s.retry(ctx, "ask for the queue of the run "+q.Run, workStream, func(ctx context.Context) error {
		consumer, err := s.js.Consumer(ctx, workStream, q.durable())
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
func (s *Store) IsRetried(ctx context.Context, origin string, failed StoredHead) (retried bool, err error) {
	err = s.retry(ctx, "look for a task", workStream, func(ctx context.Context) error {
		stream, err := s.stream(ctx, workStream)
		if err != nil {
			return err
		}
		message, err := stream.GetLastMsgForSubject(ctx, taskSubject(origin, failed.Key))
		retried = err == nil && taskHeaderOf(message.Header).RetryOf == failed.Sequence
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
