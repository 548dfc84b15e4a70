package transport

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"
)

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

// holdOn returns the hold on the requests to the origin of an address.
//
// A request that obtains a token is made while the request that needs it may be the first
// one after a hold, and must not wait for it. So, where machines share the holds, these
// requests have holds of their own.
func (c *Client) holdOn(address string) Hold {
	origin := ""
	if u, err := c.parse(address); err == nil {
		origin = OriginOf(u)
	}
	if c.options.Pacer.shared != nil && c.options.Pacer.withinTurn {
		origin = "tokens from " + origin
	}
	return c.pace.Hold(origin)
}

// farWait stands for all waits that are longer: times must not overflow.
const farWait = 100 * 365 * 24 * time.Hour

// noteHold begins a hold if a response says when to retry.
func (c *Client) noteHold(call Call, r *http.Response) {
	if !slices.Contains(c.options.Retry.Statuses, r.StatusCode) {
		return
	}
	wait, ok := c.requestedWait(r.Header)
	if !ok || wait <= 0 {
		return
	}
	c.holdOn(call.URL).Begin(min(wait, farWait))
}

// waitForHold waits until there is no hold on the origin of a call, or the first request
// after it may be made.
func (c *Client) waitForHold(ctx context.Context, call Call, h Hold) error {
	for {
		var err error
		switch wait, changed := h.State(); {
		case wait > 0:
			err = c.waitOut(ctx, call, wait, c.options.Retry.Header, "the API says to retry", "the API said to retry later")
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

// waitOut waits as long as the API serves no request, as a header says. It fails at once
// if a call does not wait that long.
func (c *Client) waitOut(ctx context.Context, call Call, wait time.Duration, source, says, why string) error {
	now := c.options.Clock.Now()
	if wait > maxWait {
		return c.tooLate(call, fmt.Sprintf("%s in %s, at %s", says, wait.Round(time.Second), now.Add(wait).UTC().Format(time.RFC3339)))
	}
	c.options.Log.Info(fmt.Sprintf("%s, waiting for %s", why, wait.Round(time.Millisecond)),
		"event", "rate_limit_wait", "wait_ms", wait.Milliseconds(), "source", source)
	c.observe(ctx, call, Event{Kind: EventWait, Time: now, Duration: wait, Source: source})
	return c.options.Clock.Sleep(ctx, wait)
}

// waitFor waits until a channel is closed. It returns the context's error if the context
// is done first.
func waitFor(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isOn reports whether requests have to wait for a hold.
func isOn(h Hold) bool {
	wait, changed := h.State()
	return wait > 0 || changed != nil
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
