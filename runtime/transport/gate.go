package transport

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A gate has all that requests of a client wait for, under one lock: what the API has
// reported of its rate limit, the holds of its origins, and the turns of the [Pace]. It is
// also the [SharedPace] of a client that shares its pace with no other process.
type gate struct {
	clock    Clock
	limiter  *rate.Limiter // nil: any rate
	parallel int           // requests in flight; 0: any number

	mu    sync.Mutex
	holds map[string]*hold // by origin
	quota quota

	// One request at a time has the turn, in which it asks for its time. Of those that
	// wait for it, the one with the lowest number is next, so that pages that are fetched ahead
	// are requested in their order. A request that does not wait yet holds up no other.
	numbers  int // the number of the last [Turn]
	taken    bool
	inFlight int
	waiting  []*waiter // in the order of their numbers
}

// A waiter is a request that waits for its turn.
type waiter struct {
	number int
	turn   chan struct{} // closed when it is the request's turn
}

// newGate returns the gate of a client. The limiter may be shared with other clients.
func newGate(clock Clock, p *Pacer) *gate {
	return &gate{clock: clock, limiter: p.limiter, parallel: p.parallel, holds: map[string]*hold{}}
}

// enter waits for the turn of a request, while fewer than parallel requests are in flight,
// and counts one more. If there is no error, the request has to pass when it has its time, and
// to leave when it has ended.
func (g *gate) enter(ctx context.Context, number int) error {
	w := &waiter{number: number, turn: make(chan struct{})}
	g.mu.Lock()
	at, _ := slices.BinarySearchFunc(g.waiting, w, func(a, b *waiter) int { return a.number - b.number })
	g.waiting = slices.Insert(g.waiting, at, w)
	g.admit()
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
	g.admit()
	return err
}

// admit gives the turn to the next request, if that is possible. The lock is held.
func (g *gate) admit() {
	if g.taken || len(g.waiting) == 0 || g.parallel > 0 && g.inFlight >= g.parallel {
		return
	}
	g.taken = true
	g.inFlight++
	close(g.waiting[0].turn)
	g.waiting = slices.Delete(g.waiting, 0, 1)
}

// pass ends the turn of a request.
func (g *gate) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taken = false
	g.admit()
}

// leave ends a request that has passed.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inFlight--
	g.admit()
}

// Hold implements [SharedPace].
func (g *gate) Hold(name string) Hold {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.holds[name] == nil {
		g.holds[name] = &hold{gate: g, changed: make(chan struct{})}
	}
	return g.holds[name]
}

// Reserve implements [SharedPace].
func (g *gate) Reserve(Pace) Reservation {
	now := g.clock.Now()
	return &reservation{g.limiter.ReserveN(now, 1), now}
}

// A reservation is a [Reservation] of one process.
type reservation struct {
	of *rate.Reservation
	at time.Time // when it was made
}

// Wait implements [Reservation].
func (r *reservation) Wait(context.Context) (time.Duration, error) { return r.of.DelayFrom(r.at), nil }

// Cancel implements [Reservation].
func (r *reservation) Cancel() { r.of.CancelAt(r.at) }
