package pace

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// horizon is the part of the schedule that a process reserves at once: its reserved times are lost
// to the others if it ends. A single request may reserve more.
const horizon = 250 * time.Millisecond

// A Schedule is the shared schedule of one origin. It implements [transport.SharedPace].
//
// Requests that wait at the same time are reserved together. While the last time reserved by this
// process is not near, further requests wait in the process, so that little is lost if it ends.
type Schedule struct {
	pace   *Pace
	origin string

	mu      sync.Mutex
	waiting []*reservation // requests in the order of their calls
	running bool           // whether a goroutine reserves times for them
	next    time.Time      // Next of the last storedRate written by this process, by the machine's clock
	last    time.Time      // last reserved time, by the machine's clock
}

// A reservation implements [transport.Reservation].
type reservation struct {
	schedule *Schedule
	rate     rate
	known    chan struct{} // closed when the request has its time

	abandoned bool      // set if nobody waits for it; guarded by schedule.mu
	at        time.Time // reserved time, by the machine's clock
	next      time.Time // Next of the storedRate after the reservation
}

// Reserve implements [transport.SharedPace].
func (s *Schedule) Reserve(p transport.Pace) transport.Reservation {
	interval := time.Duration(float64(time.Second) / p.PerSecond)
	r := &reservation{schedule: s, rate: rate{max(interval, 1), max(p.Burst, 1)}, known: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, r)
	if !s.running {
		s.running = true
		s.pace.goroutines.Go(s.run)
	}
	return r
}

// Hold implements [transport.SharedPace].
func (s *Schedule) Hold(name string) transport.Hold { return s.pace.hold(holdKey(s.origin, name)) }

// Wait implements [transport.Reservation].
func (r *reservation) Wait(ctx context.Context) (time.Duration, error) {
	select {
	case <-r.known:
		return r.at.Sub(r.schedule.pace.now()), nil
	case <-ctx.Done():
		r.Cancel()
		return 0, ctx.Err()
	}
}

// Cancel implements [transport.Reservation].
func (r *reservation) Cancel() {
	s := r.schedule
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.abandoned {
		return
	}
	r.abandoned = true
	select {
	case <-r.known:
		s.giveBackLocked(r)
	default: // run removes it from the waiting requests, or gives its time back
	}
}

// giveBackTime is how long a process tries to give back a time.
const giveBackTime = time.Second

// giveBackLocked returns an unused time if nobody has reserved a later one.
func (s *Schedule) giveBackLocked(r *reservation) {
	if !r.at.After(s.pace.now()) {
		return
	}
	if r.at.Equal(s.last) {
		s.last = r.at.Add(-r.rate.interval)
	}
	s.pace.goroutines.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), giveBackTime)
		defer cancel()
		_ = s.pace.persist(ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
			e, err := read[storedRate](ctx, kv, s.key())
			if err != nil || !e.value.giveBack(r.next, r.rate) {
				return err
			}
			if err = e.write(ctx, kv, s.key()); err == nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.next = s.next.Add(-r.rate.interval)
			}
			return err
		})
	})
}

// run reserves times while requests wait for them.
func (s *Schedule) run() {
	for {
		batch, more := s.batch()
		switch {
		case !more:
			return
		case len(batch) == 0:
			s.waitForHorizon()
		default:
			if s.reserve(batch) != nil { // the process ends
				s.mu.Lock()
				s.running = false
				s.mu.Unlock()
				return
			}
		}
	}
}

// batch returns the requests whose times are reserved next. more is false if no request waits.
func (s *Schedule) batch() (batch []*reservation, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(r *reservation) bool { return r.abandoned })
	if len(s.waiting) == 0 {
		s.running = false
		return nil, false
	}
	if s.last.Sub(s.pace.now()) > horizon/2 {
		return nil, true
	}
	n, span := 0, time.Duration(0)
	for n < len(s.waiting) && (n == 0 || span+s.waiting[n].rate.interval <= horizon) {
		span += s.waiting[n].rate.interval
		n++
	}
	batch = slices.Clone(s.waiting[:n])
	s.waiting = slices.Delete(s.waiting, 0, n)
	return batch, true
}

// waitForHorizon waits until the last reserved time is near, but not for long, because times may
// be given back meanwhile.
func (s *Schedule) waitForHorizon() {
	s.mu.Lock()
	wait := s.last.Sub(s.pace.now()) - horizon/2
	s.mu.Unlock()
	_ = store.Sleep(s.pace.ctx, min(wait, horizon)) // the next attempt notices the end of the process
}

// reserve reserves times for a batch of requests. It returns an error only if the process ends.
func (s *Schedule) reserve(batch []*reservation) error {
	slots := make([]time.Time, len(batch))
	var e entry[storedRate]
	err := s.pace.persist(s.pace.ctx, func(ctx context.Context, kv jetstream.KeyValue) (err error) {
		if e, err = read[storedRate](ctx, kv, s.key()); err != nil {
			return err
		}
		now := s.pace.serverTime()
		e.value.Next = s.current(e, batch[0].rate, now)
		for i, r := range batch {
			slots[i] = e.value.take(now, r.rate)
			r.next = e.value.Next
		}
		return e.write(ctx, kv, s.key())
	})
	if err != nil {
		return err
	}
	now := s.pace.now()
	server := s.pace.timeAt(now)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = now.Add(e.value.Next.Sub(server))
	for i, r := range batch {
		r.at = now.Add(slots[i].Sub(server))
		s.last = r.at
		if s.pace.reserved != nil {
			s.pace.reserved(slots[i])
		}
		close(r.known)
		if r.abandoned {
			s.giveBackLocked(r)
		}
	}
	return nil
}

func (s *Schedule) key() string { return "rate." + s.origin }

// current returns the Next from which times are reserved now, by the server's clock: the Next in the bucket
// or, if it is later, the last Next of this process, because the server may have lost the bucket. If the
// bucket has no value, no burst is allowed, because one may just have happened. If the server's clock was
// set back, so is Next.
func (s *Schedule) current(e entry[storedRate], r rate, now time.Time) time.Time {
	next := e.value.Next.Add(-setBack(e.created, now))
	if ahead := next.Sub(now); ahead > r.believable() {
		s.pace.log.Warn(fmt.Sprintf("the shared pace was %s ahead, since the clock of the NATS server was set; it begins anew",
			ahead.Round(time.Second)), "event", "pace_reset")
		next = now.Add(r.rest())
	}
	if e.revision == 0 {
		next = now.Add(r.rest())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next.IsZero() {
		return next
	}
	return later(next, now.Add(s.next.Sub(s.pace.now())))
}

// setBack returns by how much the server's clock was set back since it stamped an entry. The clock
// of a server that has taken over may also be behind. Small differences are measurement errors.
func setBack(created, now time.Time) time.Duration {
	if d := created.Sub(now); d > 2*time.Second {
		return d
	}
	return 0
}

// A storedRate says in the bucket how far the requests to an origin have come.
type storedRate struct {
	// Next is the time at which the next request would be made if there were no bursts
	// (the theoretical arrival time of the generic cell rate algorithm).
	Next time.Time `json:"next"`
}

// A rate is the rate requested for one reservation.
type rate struct {
	interval time.Duration // time between requests
	burst    int           // number of requests that may follow each other at once after a rest, at least 1
}

// rest is how far Next may be ahead of a request that is made at once.
func (r rate) rest() time.Duration { return time.Duration(r.burst-1) * r.interval }

// believable is how far Next may be ahead: by a hundred processes that wait. A time beyond it comes
// from a clock that was set.
func (r rate) believable() time.Duration { return max(time.Minute, 100*r.interval) + r.rest() }

// take reserves the next free time, at or after now.
//
// Runs may have different rates for one origin. Each request advances Next by its own
// interval, so that two runs together stay within both rates: a run that uses half of its rate
// leaves the other run half of its own.
func (s *storedRate) take(now time.Time, r rate) time.Time {
	begin := later(s.Next, now)
	s.Next = begin.Add(r.interval)
	return later(begin.Add(-r.rest()), now)
}

// giveBack returns a time, where next was Next after its reservation. It does nothing
// and returns false if others have reserved later times.
func (s *storedRate) giveBack(next time.Time, r rate) bool {
	if !s.Next.Equal(next) {
		return false
	}
	s.Next = next.Add(-r.interval)
	return true
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
