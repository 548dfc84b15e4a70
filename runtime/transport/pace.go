package transport

import (
	"context"

	"golang.org/x/time/rate"
)

// A Pace limits how many requests are made, whichever job makes them: pages, retries,
// redirects and tokens. The zero Pace limits nothing.
type Pace struct {
	PerSecond float64 // requests per second; 0: any number
	Burst     int     // requests that may be made at once after a rest; 0 is 1
	Parallel  int     // requests in flight; 0: any number
}

// SourcePerSecond is the [Event.Source] of a wait for [Pace.PerSecond].
const SourcePerSecond = "requestsPerSecond"

// A Pacer makes requests wait for their turn: one after another waits until fewer than
// Parallel requests are in flight and the rate allows another.
type Pacer struct {
	pace       Pace
	limiter    *rate.Limiter // nil: any rate
	slots      chan struct{} // holds one value for each request in flight; nil: any number
	line       line
	shared     SharedPace // has the rate and the holds, instead of limiter; nil: they are of this run only
	withinTurn bool
}

// NewPacer returns a pacer for the requests of one run.
func NewPacer(p Pace) *Pacer {
	out := &Pacer{pace: p}
	if p.PerSecond > 0 {
		out.limiter = rate.NewLimiter(rate.Limit(p.PerSecond), max(p.Burst, 1))
	}
	if p.Parallel > 0 {
		out.slots = make(chan struct{}, p.Parallel)
	}
	return out
}

// WithinTurn returns a pacer for requests that are made while another request has its
// turn, and waits for them, such as the one for its token: they count for the rate, and
// are in flight instead of that request.
func (p *Pacer) WithinTurn() *Pacer {
	return &Pacer{pace: p.pace, limiter: p.limiter, shared: p.shared, withinTurn: true}
}

// unlimited reports whether no request has to wait.
func (p *Pacer) unlimited() bool { return p.limiter == nil && p.slots == nil }

// enter waits until fewer than Parallel requests are in flight, and counts one more. The
// function that it returns has to be called when that request has ended.
func (p *Pacer) enter(ctx context.Context) (ended func(), err error) {
	if p.slots == nil {
		return func() {}, nil
	}
	select {
	case p.slots <- struct{}{}:
		return func() { <-p.slots }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// waitForRate waits until the rate allows another request. It reports false for a request
// that must not be made then, because held reports that the API wants none; such a request
// does not count, and neither does one that is interrupted.
func (c *Client) waitForRate(ctx context.Context, call Call, held func() bool) (bool, error) {
	clock, limiter := c.options.Clock, c.options.Pacer.limiter
	now := clock.Now()
	reservation := limiter.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait <= 0 {
		return true, nil
	}
	c.reportPace(ctx, call, now, wait, "")
	err := clock.Sleep(ctx, wait)
	if err != nil || held() {
		reservation.CancelAt(now)
		return false, err
	}
	return true, nil
}
