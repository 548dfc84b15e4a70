package transport

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A gate coordinates the waits of a client's requests under one lock: the reported rate limit, the
// holds of origins, and the turns of the [Pace]. It is also the [SharedPace] of a client whose pace
// is not shared.
type gate struct {
	clock    Clock
	limiter  *rate.Limiter // nil means no rate; other clients may share it
	parallel int           // largest number of requests in flight; 0 means no limit

	mu    sync.Mutex
	holds map[string]*originHold // holds by origin
	quota quota

	// One request at a time has the turn, in which it asks for its time. Among the waiting
	// requests, the lowest number comes first, so that pages fetched ahead are requested in order.
	// A request that is not waiting yet does not hold up others.
	numbers  int // last number assigned
	taken    bool
	inFlight int
	waiting  []*waiter // in the order of their numbers
}

// A waiter is a request waiting for its turn.
type waiter struct {
	number int
	turn   chan struct{} // closed when the turn of the request begins
}

// newGate returns the gate of a client.
func newGate(clock Clock, p *Pacer) *gate {
	return &gate{clock: clock, limiter: p.limiter, parallel: p.pace.Parallel, holds: map[string]*originHold{}}
}

// enter waits for the turn of a request while the number of requests in flight is at its limit, and
// then counts the request. After enter returns nil, the caller must call endTurn when the request
// has its time, and leave when the request has ended.
func (g *gate) enter(ctx context.Context, number int) error {
	w := &waiter{number: number, turn: make(chan struct{})}
	g.mu.Lock()
	at, _ := slices.BinarySearchFunc(g.waiting, w, func(a, b *waiter) int { return a.number - b.number })
	g.waiting = slices.Insert(g.waiting, at, w)
	g.admitLocked()
	g.mu.Unlock()
	err := waitFor(ctx, w.turn)
	if err == nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, w); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
		return err
	}
	g.taken = false // its turn came at the same time
	g.inFlight--
	g.admitLocked()
	return err
}

// admitLocked gives the turn to the next request, if possible. The caller holds the lock.
func (g *gate) admitLocked() {
	if g.taken || len(g.waiting) == 0 || g.parallel > 0 && g.inFlight >= g.parallel {
		return
	}
	g.taken = true
	g.inFlight++
	close(g.waiting[0].turn)
	g.waiting = slices.Delete(g.waiting, 0, 1)
}

// endTurn ends the turn of a request.
func (g *gate) endTurn() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taken = false
	g.admitLocked()
}

// leave ends a request after its turn.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inFlight--
	g.admitLocked()
}

// Hold implements [SharedPace].
func (g *gate) Hold(name string) Hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holds[name] == nil {
		g.holds[name] = &originHold{gate: g, changed: make(chan struct{})}
	}
	return g.holds[name]
}

// Reserve implements [SharedPace].
func (g *gate) Reserve(Pace) Reservation {
	now := g.clock.Now()
	return &localReservation{g.limiter.ReserveN(now, 1), now}
}

// A localReservation is a [Reservation] within one process.
type localReservation struct {
	reservation *rate.Reservation
	at          time.Time // time of the reservation
}

// Wait implements [Reservation].
func (r *localReservation) Wait(context.Context) (time.Duration, error) {
	return r.reservation.DelayFrom(r.at), nil
}

// Cancel implements [Reservation].
func (r *localReservation) Cancel() { r.reservation.CancelAt(r.at) }

// An originHold is a [Hold] for the requests of one client. If a response says when to retry, no job
// sends a request to the origin before that time. Then one request goes first. The others follow
// unless its response says to wait again, so an overloaded API does not get a request of every job.
//
// The mutex of the gate guards all fields.
type originHold struct {
	gate    *gate
	until   time.Time     // no request goes before it; zero without a hold
	probed  time.Time     // value of until when the first request after it began; zero if that request is not in flight
	changed chan struct{} // closed when that request has ended
}

// Begin implements [Hold].
func (h *originHold) Begin(wait time.Duration) {
	end := h.gate.clock.Now().Add(wait)
	h.gate.mu.Lock()
	defer h.gate.mu.Unlock()
	if end.After(h.until) {
		h.until = end
	}
}

// State implements [Hold].
func (h *originHold) State() (wait time.Duration, changed <-chan struct{}) {
	h.gate.mu.Lock()
	defer h.gate.mu.Unlock()
	if h.until.IsZero() {
		return 0, nil
	}
	switch now := h.gate.clock.Now(); {
	case now.Before(h.until):
		return h.until.Sub(now), nil
	case !h.probed.IsZero():
		return 0, h.changed
	}
	return 0, nil
}

// Enter implements [Hold].
func (h *originHold) Enter(context.Context) (first, ok bool, err error) {
	h.gate.mu.Lock()
	defer h.gate.mu.Unlock()
	switch {
	case h.until.IsZero():
		return false, true, nil
	case h.gate.clock.Now().Before(h.until), !h.probed.IsZero():
		return false, false, nil
	}
	h.probed = h.until
	return true, true, nil
}

// Leave implements [Hold].
func (h *originHold) Leave() {
	h.gate.mu.Lock()
	defer h.gate.mu.Unlock()
	if h.until.Equal(h.probed) {
		h.until = time.Time{}
	}
	h.probed = time.Time{}
	close(h.changed)
	h.changed = make(chan struct{})
}
