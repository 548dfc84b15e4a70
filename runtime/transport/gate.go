package transport

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// A gate has all that requests of a client wait for, under one lock: what the API has
// reported of its rate limit, the holds of its origins, and the turns of the [Pace]. It is
// also the [SharedPace] of a client that shares its pace with no other process.
type gate struct {
	clock    Clock
	limiter  *rate.Limiter // nil: any rate; it may be shared with other clients
	parallel int           // requests in flight; 0: any number

	mu    sync.Mutex
	holds map[string]*hold // by origin
	quota quota

	// One request at a time has the turn, in which it asks for its time. Of those that
	// wait for it, the one with the lowest number is next, so that pages that are fetched ahead
	// are requested in their order. A request that does not wait yet holds up no other.
	numbers  int // of the requests that were counted
	taken    bool
	inFlight int
	waiting  []*waiter // in the order of their numbers
}

// A waiter is a request that waits for its turn.
type waiter struct {
	number int
	turn   chan struct{} // closed when it is the request's turn
}

// newGate returns the gate of a client.
func newGate(clock Clock, p *Pacer) *gate {
	return &gate{clock: clock, limiter: p.limiter, parallel: p.pace.Parallel, holds: map[string]*hold{}}
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

// When an API says in a response when to retry, no request goes to its origin before
// that time, whichever job makes it. Then one request goes first. The others follow
// unless it was told to wait again, so that an API that is overloaded gets one request
// and not one from every job.

// A hold is a [Hold] on the requests of one client. It is under the lock of the gate.
type hold struct {
	gate    *gate
	until   time.Time     // no request before it; zero: there is no hold
	probed  time.Time     // until, when the first request after it began; zero: none is in flight
	changed chan struct{} // is closed when that request has ended
}

// Begin implements [Hold].
func (h *hold) Begin(wait time.Duration) {
	until := h.gate.clock.Now().Add(wait)
	h.gate.mu.Lock()
	defer h.gate.mu.Unlock()
	if until.After(h.until) {
		h.until = until
	}
}

// State implements [Hold].
func (h *hold) State() (wait time.Duration, changed <-chan struct{}) {
	now := h.gate.clock.Now()
	h.gate.mu.Lock()
	defer h.gate.mu.Unlock()
	switch {
	case now.Before(h.until):
		return h.until.Sub(now), nil
	case !h.probed.IsZero():
		return 0, h.changed
	}
	return 0, nil
}

// Enter implements [Hold].
func (h *hold) Enter(context.Context) (first, ok bool, err error) {
	now := h.gate.clock.Now()
	h.gate.mu.Lock()
	defer h.gate.mu.Unlock()
	switch {
	case h.until.IsZero():
		return false, true, nil
	case now.Before(h.until), !h.probed.IsZero():
		return false, false, nil
	}
	h.probed = h.until
	return true, true, nil
}

// Leave implements [Hold].
func (h *hold) Leave() {
	h.gate.mu.Lock()
	defer h.gate.mu.Unlock()
	if h.until.Equal(h.probed) {
		h.until = time.Time{}
	}
	h.probed = time.Time{}
	close(h.changed)
	h.changed = make(chan struct{})
}

// A quota is what the API has reported of its rate limit. It is under the lock of the gate.
type quota struct {
	until  time.Time // no request before it
	known  bool      // left is known
	left   int       // requests that may still be made
	active int       // requests in flight, which the API may not have counted yet
}

// ended counts a request that is no longer in flight.
func (g *gate) ended() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.quota.active--
}

// untilReset returns how long it is until the rate limit resets, if no requests are left;
// otherwise it is not positive.
func (g *gate) untilReset() time.Duration {
	now := g.clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.quota.until.Sub(now)
}

// A RateLimit names the response headers in which an API reports how many
// requests are left, and when the limit resets. An empty name is a header that
// the API does not send.
type RateLimit struct {
	Remaining string // such as X-RateLimit-Remaining; at 0, the next request waits for the reset
	Reset     string // such as X-RateLimit-Reset: seconds to wait, or a time in seconds or milliseconds since 1970
}

// Reserve counts a request against the API's rate limit before it is made, for a
// [Call.Turn]. If requests have to wait for the [Pace], an earlier turn comes first.
func (c *Client) Reserve() int {
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.quota.active++
	g.quota.left--
	g.numbers++
	return g.numbers
}

// MayReserve reports whether requests are left besides those in flight, as far
// as the API has reported its rate limit.
func (c *Client) MayReserve() bool {
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.quota.known || g.quota.left > 0
}

// noteQuota updates the quota from the headers of a response.
func (c *Client) noteQuota(header http.Header) {
	o, now := c.options.RateLimit, c.options.Clock.Now()
	remaining := strings.TrimSpace(header.Get(o.Remaining))
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	q := &c.gate.quota
	if n, err := strconv.Atoi(remaining); err == nil {
		q.known, q.left = true, n-(q.active-1)
	}
	if o.Remaining != "" && remaining != "0" {
		return
	}
	wait, ok := resetIn(header.Get(o.Reset), now)
	if at := now.Add(wait); ok && at.After(q.until) {
		q.until = at
	}
}

// resetIn reads a header that says when a limit resets: below a billion it is
// seconds to wait, below a hundred billion seconds since 1970, otherwise
// milliseconds since 1970. It reports false for anything else.
func resetIn(header string, now time.Time) (time.Duration, bool) {
	n, ok := roundedUp(strings.TrimSpace(header))
	switch {
	case !ok:
		return 0, false
	case n < 1e9:
		return time.Duration(n) * time.Second, true
	case n < 1e11:
		return max(time.Unix(n, 0).Sub(now), 0), true
	case n < 1e14:
		return max(time.UnixMilli(n).Sub(now), 0), true
	}
	return 0, false
}

// errTooLate marks transient errors that end a call at once: the API has said that it
// serves no request for longer than a call waits.
var errTooLate = errors.New("the API serves no request for too long")
