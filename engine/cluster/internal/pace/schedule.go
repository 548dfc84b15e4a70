package pace

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/runtime/transport"
)

// horizon is how much of the schedule a process takes at once: what it has taken is lost to
// the others if it ends. One request may take more.
const horizon = 250 * time.Millisecond

// A Schedule is the pace of one origin. It implements [transport.SharedPace].
//
// Requests that wait at the same time ask together. While the last time that this process
// has taken is not near, the others wait here, so that a process that ends leaves no gap.
type Schedule struct {
	pace   *Pace
	origin string
	wake   chan struct{} // has a value when waiting or returned have changed

	mu       sync.Mutex
	waiting  []*reservation // in the order of their calls
	returned []*reservation // cancelled, with a time that is still to come
	running  bool           // a goroutine reserves for them

	// What follows belongs to that goroutine.
	epoch string
	next  time.Time // Next of the state that was last seen, by the machine's clock
	last  time.Time // the last time that was taken, by the machine's clock
}

// A reservation implements [transport.Reservation].
type reservation struct {
	schedule *Schedule
	rate     rate
	known    chan struct{} // is closed when the request has its time

	abandoned bool      // nobody waits for it; schedule.mu
	at        time.Time // by the machine's clock
	next      time.Time // Next of the state behind it
	epoch     string    // of the state
}

// Reserve implements [transport.SharedPace].
func (s *Schedule) Reserve(p transport.Pace) transport.Reservation {
	interval := time.Duration(float64(time.Second) / p.PerSecond)
	r := &reservation{schedule: s, rate: rate{max(interval, 1), max(p.Burst, 1)}, known: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = append(s.waiting, r)
	s.start()
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
		s.giveBack(r)
	default: // it is removed from those that wait, or given back when it has a time
	}
}

// giveBack notes that a time is not used. The lock is held.
func (s *Schedule) giveBack(r *reservation) {
	if r.at.After(s.pace.now()) {
		s.returned = append(s.returned, r)
		s.start()
	}
}

// start lets a goroutine serve the requests. The lock is held.
func (s *Schedule) start() {
	if !s.running {
		s.running = true
		s.pace.all.Go(s.run)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run reserves times as long as requests wait for them.
func (s *Schedule) run() {
	for {
		batch, returned, more := s.batch()
		if !more {
			return
		}
		if len(batch) == 0 && len(returned) == 0 {
			s.waitForHorizon()
			continue
		}
		if err := s.reserve(batch, returned); err != nil { // the process ends
			s.mu.Lock()
			s.running = false
			s.mu.Unlock()
			return
		}
	}
}

// batch returns the requests whose times are reserved now, and those whose times are given
// back. It reports false if there is nothing more to do.
func (s *Schedule) batch() (batch, returned []*reservation, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting = slices.DeleteFunc(s.waiting, func(r *reservation) bool { return r.abandoned })
	if len(s.waiting) == 0 && len(s.returned) == 0 {
		s.running = false
		return nil, nil, false
	}
	returned, s.returned = s.returned, nil
	if s.last.Sub(s.pace.now()) > horizon/2 {
		return nil, returned, true
	}
	n, span := 0, time.Duration(0)
	for n < len(s.waiting) && (n == 0 || span+s.waiting[n].rate.interval <= horizon) {
		span += s.waiting[n].rate.interval
		n++
	}
	batch = slices.Clone(s.waiting[:n])
	s.waiting = slices.Delete(s.waiting, 0, n)
	return batch, returned, true
}

// waitForHorizon waits until the last time that was taken is near, or something has changed.
func (s *Schedule) waitForHorizon() {
	timer := time.NewTimer(s.last.Sub(s.pace.now()) - horizon/2)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.wake:
	case <-s.pace.ctx.Done():
	}
}

// reserve gives times back, and takes the times of a batch of requests. The error is that of
// a context: the process ends.
func (s *Schedule) reserve(batch, returned []*reservation) error {
	slices.SortFunc(returned, func(a, b *reservation) int { return b.next.Compare(a.next) })
	for _, r := range returned {
		if r.at.Equal(s.last) {
			s.last = r.at.Add(-r.rate.interval)
		}
	}
	slots := make([]time.Time, len(batch))
	var after state
	err := s.pace.persist(s.pace.ctx, func(ctx context.Context, kv jetstream.KeyValue) error {
		before, revision, err := s.read(ctx, kv)
		if err != nil {
			return err
		}
		local := s.pace.now()
		now := s.pace.clock.time(local)
		after = s.current(before, batch, local, now)
		for _, r := range returned {
			if r.epoch == after.Epoch {
				after.giveBack(r.next, r.rate)
			}
		}
		for i, r := range batch {
			slots[i] = after.take(now, r.rate)
			r.next, r.epoch = after.Next, after.Epoch
		}
		if len(batch) == 0 && after == before.state {
			return nil
		}
		text, err := json.Marshal(after)
		if err == nil {
			_, err = kv.Update(ctx, s.key(), text, revision)
		}
		return err
	})
	if err != nil {
		return err
	}
	s.distribute(batch, slots, after)
	return nil
}

// distribute gives the requests of a batch their times.
func (s *Schedule) distribute(batch []*reservation, slots []time.Time, after state) {
	now := s.pace.now()
	server := s.pace.clock.time(now)
	s.epoch, s.next = after.Epoch, now.Add(after.Next.Sub(server))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range batch {
		r.at = now.Add(slots[i].Sub(server))
		s.last = r.at
		if s.pace.reserved != nil {
			s.pace.reserved(slots[i])
		}
		close(r.known)
		if r.abandoned {
			s.giveBack(r)
		}
	}
}

func (s *Schedule) key() string { return "rate." + s.origin }

// An entry is a state as the bucket has it.
type entry struct {
	state
	created time.Time // zero: there is none
}

// read returns the state of the rate, and its revision in the bucket, 0 if there is none.
func (s *Schedule) read(ctx context.Context, kv jetstream.KeyValue) (e entry, revision uint64, err error) {
	found, err := kv.Get(ctx, s.key())
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return e, 0, nil
	}
	if err != nil {
		return e, 0, err
	}
	e.created = found.Created()
	return e, found.Revision(), json.Unmarshal(found.Value(), &e.state)
}

// current returns the state from which times are taken now: at local by the machine's clock.
func (s *Schedule) current(e entry, batch []*reservation, local, now time.Time) state {
	st := e.state
	switch {
	case !e.created.IsZero():
		st.Next = st.Next.Add(-setBack(e.created, now))
	case len(batch) > 0:
		// It may have been lost after a burst, so a burst needs a rest before it.
		st = state{Next: now.Add(batch[0].rate.rest()), Epoch: rand.Text()}
	}
	if s.epoch != "" && s.epoch != st.Epoch { // it was lost, and this process may know more
		st.Next = later(st.Next, now.Add(s.next.Sub(local)))
	}
	return st
}

// setBack returns by how much the server's clock was set back since it stamped an entry, or
// the clock of another server shows less after it has taken over. Small differences are
// errors of measurement.
func setBack(created, now time.Time) time.Duration {
	if d := created.Sub(now); d > 2*time.Second {
		return d
	}
	return 0
}

// settle waits until no request waits and all times are given back, or until a deadline.
func (s *Schedule) settle(deadline time.Time) {
	for time.Now().Before(deadline) {
		s.mu.Lock()
		idle := !s.running
		s.mu.Unlock()
		if idle {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
