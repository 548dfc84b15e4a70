package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A preparedRequest may be sent now. Only its signature is missing.
type preparedRequest struct {
	request *http.Request
	lease   *Lease // lease of the request, or nil
	trust   trust  // whether its address may receive the credentials
	gate    *gate  // counts the request as in flight; nil if nothing is limited
	first   Hold   // hold after which it is the first request, or nil
}

// ended must be called at the end of the request.
func (p *preparedRequest) ended() {
	if p.first != nil {
		p.first.Leave()
	}
	if p.gate != nil {
		p.gate.leave()
	}
}

// prepare waits until the API accepts a request and the pace allows it.
func (c *Client) prepare(ctx context.Context, call Call, t trust) (*preparedRequest, error) {
	h := c.holdOn(call.URL)
	for {
		if err := c.waitForQuota(ctx, call); err != nil {
			return nil, err
		}
		if err := c.waitForHold(ctx, call, h); err != nil {
			return nil, err
		}
		p, err := c.takeTurn(ctx, call, h, t)
		if p != nil || err != nil {
			return p, err
		}
	}
}

// takeTurn waits until the pace allows a request. It returns nil if the API has begun a hold in the
// meantime: the request must wait for that first, and take another turn.
//
// The turn lasts until the request has its time. With a shared rate, it lasts until the request has
// asked for its time, since the answer comes from another machine: waiting requests then ask
// together.
func (c *Client) takeTurn(ctx context.Context, call Call, h Hold, t trust) (*preparedRequest, error) {
	p, endTurn := &preparedRequest{trust: t}, func() {}
	if !c.options.Pacer.unlimited() {
		if err := c.gate.enter(ctx, call.Ticket); err != nil {
			return nil, err
		}
		p.gate, endTurn = c.gate, sync.OnceFunc(c.gate.endTurn)
		defer endTurn()
	}
	first, ok, err := h.Enter(ctx)
	if ok && err == nil {
		if first {
			p.first = h
		}
		held := func() bool { return !first && (c.gate.untilReset() > 0 || isOn(h)) }
		ok, err = c.waitInTurn(ctx, call, p, endTurn, held)
	}
	if err != nil || !ok {
		p.ended()
		return nil, err
	}
	return p, nil
}

// waitInTurn completes a request and waits for its time. It reports false if isHeld reports a hold,
// so that the request must not be made. endTurn ends the turn.
//
// A token that the request needs is obtained before the wait for the rate: both requests count, and
// they are not in flight at the same time.
func (c *Client) waitInTurn(ctx context.Context, call Call, p *preparedRequest, endTurn func(), isHeld func() bool) (bool, error) {
	if isHeld() {
		return false, nil
	}
	var err error
	if p.request, p.lease, err = c.buildRequest(ctx, call, p.trust); err != nil {
		return false, err
	}
	pacer := c.options.Pacer
	if pacer.limiter == nil {
		return true, nil
	}
	reservation := c.pace.Reserve(pacer.pace)
	if pacer.shared != nil {
		endTurn()
	}
	return c.waitForTime(ctx, call, reservation, isHeld)
}

// noticeable is the shortest wait for the time of a request that is reported as an event. A shorter
// wait is only the time for asking.
const noticeable = 10 * time.Millisecond

// waitForTime waits for the time that was reserved for a request. It reports false if isHeld reports
// a hold at that time. Such a request does not count, nor does an interrupted one.
func (c *Client) waitForTime(ctx context.Context, call Call, reserved Reservation, isHeld func() bool) (bool, error) {
	clock := c.options.Clock
	asked := clock.Now()
	wait, err := reserved.Wait(ctx)
	if err != nil {
		return false, err
	}
	if took := clock.Now().Sub(asked); wait > 0 || took >= noticeable {
		c.reportPace(ctx, call, asked, took+max(wait, 0))
	}
	if wait > 0 {
		err = clock.Sleep(ctx, wait)
	}
	if err != nil || isHeld() {
		reserved.Cancel()
		return false, err
	}
	return true, nil
}

// reportPace reports a wait for the rate that started at began.
func (c *Client) reportPace(ctx context.Context, call Call, began time.Time, wait time.Duration) {
	pacer, scope := c.options.Pacer, ""
	if pacer.shared != nil {
		scope = " for all machines together"
	}
	c.options.Log.Debug(fmt.Sprintf("waiting for %s: the configuration allows %v requests per second%s",
		wait.Round(time.Millisecond), pacer.pace.PerSecond, scope), "event", "pace_wait", "wait_ms", wait.Milliseconds())
	c.observe(ctx, call, Event{Kind: EventWait, Time: began, Duration: wait, Source: SourcePerSecond})
}

// buildRequest obtains the lease that a request needs and builds the HTTP request with its credentials.
func (c *Client) buildRequest(ctx context.Context, call Call, t trust) (request *http.Request, lease *Lease, err error) {
	if t == trusted {
		if lease, err = c.lease(ctx, call); err != nil {
			return nil, nil, err
		}
	}
	request, err = c.newRequest(ctx, call, t, lease)
	return request, lease, err
}

// holdOn returns the hold on the requests to the origin of an address.
//
// A token request may be made while the request that needs the token is the first after a hold, and
// must not wait for it. So, where machines share the holds, token requests have holds of their own.
func (c *Client) holdOn(address string) Hold {
	u, _ := c.parse(address) // only valid addresses are requested
	origin := c.originOf(u)
	if c.options.Pacer.shared != nil && c.options.Pacer.withinTurn {
		origin = "tokens from " + origin
	}
	return c.pace.Hold(origin)
}

// farWait replaces every longer wait, so that times do not overflow.
const farWait = 100 * 365 * 24 * time.Hour

// noteHold begins a hold if a response says when to retry.
func (c *Client) noteHold(call Call, r *http.Response) {
	if !c.options.Retries(r.StatusCode, r.Header) {
		return
	}
	if wait, _, ok := c.requestedWait(r.Header); ok && wait > 0 {
		c.holdOn(call.URL).Begin(min(wait, farWait))
	}
}

// waitForHold waits until the origin of a call has no hold, or until the request may be the first
// after one.
func (c *Client) waitForHold(ctx context.Context, call Call, h Hold) error {
	for {
		var err error
		switch wait, changed := h.State(); {
		case wait > 0:
			err = c.waitOut(ctx, call, outage{
				wait: wait, source: c.options.Retry.Header, problem: "the API says to retry", reason: "the API said to retry later",
			})
		case changed != nil:
			err = waitFor(ctx, changed)
		default:
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// errTooLate marks transient errors that end a call at once, because the API asked for a longer
// wait than a call makes.
var errTooLate = errors.New("the API asks for a longer wait than a call makes")

// An outage is a time in which the API serves no request, according to a header.
type outage struct {
	wait    time.Duration
	source  string // the header
	problem string // begins the error if the wait is too long: "the API says to retry"
	reason  string // of the wait, for the log: "the API said to retry later"
}

// waitOut waits for the end of an outage. It fails at once if that is longer than a call may wait.
func (c *Client) waitOut(ctx context.Context, call Call, o outage) error {
	now := c.options.Clock.Now()
	if o.wait > MaxWait {
		message := fmt.Sprintf("%s in %s, at %s", o.problem, o.wait.Round(time.Second), now.Add(o.wait).UTC().Format(time.RFC3339))
		return c.fault(call, failure.Error{Class: failure.Transient, Message: message, Err: errTooLate})
	}
	c.options.Log.Info(fmt.Sprintf("%s, waiting for %s", o.reason, o.wait.Round(time.Millisecond)),
		"event", "rate_limit_wait", "wait_ms", o.wait.Milliseconds(), "source", o.source)
	c.observe(ctx, call, Event{Kind: EventWait, Time: now, Duration: o.wait, Source: o.source})
	return c.options.Clock.Sleep(ctx, o.wait)
}

// waitFor waits until a channel is closed. It returns the error of the context if the context is
// done first.
func waitFor(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isOn reports whether a hold stops requests.
func isOn(h Hold) bool {
	wait, changed := h.State()
	return wait > 0 || changed != nil
}

// waitForQuota waits until the rate limit resets, if no requests are left.
func (c *Client) waitForQuota(ctx context.Context, call Call) error {
	wait, source := c.gate.untilReset(), c.options.RateLimit.Reset
	if wait <= 0 {
		return nil
	}
	return c.waitOut(ctx, call, outage{
		wait: wait, source: source, problem: "rate limit exhausted; according to " + source + " it resets", reason: "rate limit exhausted",
	})
}
