package transport

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// When an API says in a response when to retry, no request goes to its origin before
// that time, whichever job makes it. Then one request goes first. The others follow
// unless it was told to wait again, so that an API that is overloaded gets one request
// and not one from every job.

// holds are the holds of a client, by origin.
type holds struct {
	mu       sync.Mutex
	byOrigin map[string]*hold
}

// A hold keeps requests from an origin.
type hold struct {
	mu      sync.Mutex
	until   time.Time     // no request before it; zero: there is no hold
	probed  time.Time     // until, when the first request after it began; zero: none is in flight
	changed chan struct{} // is closed when that request has ended
}

// of returns the hold of an address.
func (h *holds) of(address string) *hold {
	origin := ""
	if u, err := url.Parse(address); err == nil {
		origin = originOf(u)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byOrigin[origin] == nil {
		if h.byOrigin == nil {
			h.byOrigin = map[string]*hold{}
		}
		h.byOrigin[origin] = &hold{changed: make(chan struct{})}
	}
	return h.byOrigin[origin]
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
	until := c.options.Clock.Now().Add(min(wait, farWait))
	h := c.holds.of(call.URL)
	h.mu.Lock()
	defer h.mu.Unlock()
	if until.After(h.until) {
		h.until = until
	}
}

// waitForHold waits until there is no hold on the origin of a call, or the first request
// after it may be made.
func (c *Client) waitForHold(ctx context.Context, call Call, h *hold) error {
	clock := c.options.Clock
	for {
		var err error
		switch wait, changed := h.state(clock.Now()); {
		case wait > maxWait:
			return c.tooLate(call, fmt.Sprintf("the API says to retry in %s, at %s",
				wait.Round(time.Second), clock.Now().Add(wait).UTC().Format(time.RFC3339)))
		case wait > 0:
			err = c.sleepThroughHold(ctx, call, wait)
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

// sleepThroughHold waits until a hold ends.
func (c *Client) sleepThroughHold(ctx context.Context, call Call, wait time.Duration) error {
	clock, source := c.options.Clock, c.options.Retry.Header
	c.options.Log.Info(fmt.Sprintf("the API said to retry later, waiting for %s", wait.Round(time.Millisecond)),
		"event", "rate_limit_wait", "wait_ms", wait.Milliseconds(), "source", source)
	c.observe(ctx, call, Event{Kind: EventWait, Time: clock.Now(), Duration: wait, Source: source})
	return clock.Sleep(ctx, wait)
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

// state returns how long a request has to wait, or what tells it that the first request
// after the hold has ended. It returns neither if the request may be made.
func (h *hold) state(now time.Time) (wait time.Duration, ended <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case now.Before(h.until):
		return h.until.Sub(now), nil
	case !h.probed.IsZero():
		return 0, h.changed
	}
	return 0, nil
}

// holds reports whether a request has to wait.
func (h *hold) holds(now time.Time) bool {
	wait, ended := h.state(now)
	return wait > 0 || ended != nil
}

// enter begins a request, unless it has to wait. It reports whether it may be made, and
// whether it is the first one after the hold, which has to leave when it has ended.
func (h *hold) enter(now time.Time) (first, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.until.IsZero():
		return false, true
	case now.Before(h.until), !h.probed.IsZero():
		return false, false
	}
	h.probed = h.until
	return true, true
}

// leave ends the first request after a hold. If it did not begin another hold, all
// requests may be made again.
func (h *hold) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until.Equal(h.probed) {
		h.until = time.Time{}
	}
	h.probed = time.Time{}
	close(h.changed)
	h.changed = make(chan struct{})
}
