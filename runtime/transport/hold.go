package transport

import (
	"context"
	"fmt"
	"net/http"
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

// A hold is a [Hold] on the requests of one client.
type hold struct {
	clock   Clock
	mu      sync.Mutex
	until   time.Time     // no request before it; zero: there is no hold
	probed  time.Time     // until, when the first request after it began; zero: none is in flight
	changed chan struct{} // is closed when that request has ended
}

// holdOn returns the hold on the requests to the origin of an address.
func (c *Client) holdOn(address string) Hold {
	origin := ""
	if u, err := c.parse(address); err == nil {
		origin = originOf(u)
	}
	if c.options.Pacer.shared != nil {
		return c.options.Pacer.hold(origin)
	}
	return c.holds.of(origin, c.options.Clock)
}

// of returns the hold of an origin.
func (h *holds) of(origin string, clock Clock) *hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.byOrigin[origin] == nil {
		if h.byOrigin == nil {
			h.byOrigin = map[string]*hold{}
		}
		h.byOrigin[origin] = &hold{clock: clock, changed: make(chan struct{})}
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
	c.holdOn(call.URL).Begin(min(wait, farWait))
}

// waitForHold waits until there is no hold on the origin of a call, or the first request
// after it may be made.
func (c *Client) waitForHold(ctx context.Context, call Call, h Hold) error {
	clock := c.options.Clock
	for {
		var err error
		switch wait, changed := h.State(); {
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

// isOn reports whether requests have to wait for a hold.
func isOn(h Hold) bool {
	wait, changed := h.State()
	return wait > 0 || changed != nil
}

// Begin implements [Hold].
func (h *hold) Begin(wait time.Duration) {
	until := h.clock.Now().Add(wait)
	h.mu.Lock()
	defer h.mu.Unlock()
	if until.After(h.until) {
		h.until = until
	}
}

// State implements [Hold].
func (h *hold) State() (wait time.Duration, changed <-chan struct{}) {
	now := h.clock.Now()
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

// Enter implements [Hold].
func (h *hold) Enter(context.Context) (first, ok bool, err error) {
	now := h.clock.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
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
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.until.Equal(h.probed) {
		h.until = time.Time{}
	}
	h.probed = time.Time{}
	close(h.changed)
	h.changed = make(chan struct{})
}
