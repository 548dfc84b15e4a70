package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A RateLimit names the response headers in which an API reports how many
// requests are left, and when the limit resets. An empty name is a header that
// the API does not send.
type RateLimit struct {
	Remaining string // such as X-RateLimit-Remaining; at 0, the next request waits for the reset
	Reset     string // such as X-RateLimit-Reset: seconds to wait, or a time in seconds or milliseconds since 1970
}

// A quota is what the API has reported of its rate limit.
type quota struct {
	mu     sync.Mutex
	until  time.Time // no request before it
	known  bool      // left is known
	left   int       // requests that may still be made
	active int       // requests in flight, which the API may not have counted yet
}

// reserve counts a request that is about to be made.
func (q *quota) reserve() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.active++
	q.left--
}

// release counts a request that is no longer in flight.
func (q *quota) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.active--
}

// available reports whether requests are left besides those in flight.
func (q *quota) available() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.known || q.left > 0
}

// A Turn is a request that was counted before it is made ([Client.Reserve]).
type Turn struct{ number int }

// Reserve counts a request against the API's rate limit before it is made, for a
// [Call.Turn]. If requests have to wait for the [Pace], an earlier turn comes first.
func (c *Client) Reserve() *Turn {
	c.quota.reserve()
	return &Turn{int(c.turns.Add(1))}
}

// MayReserve reports whether requests are left besides those in flight, as far
// as the API has reported its rate limit.
func (c *Client) MayReserve() bool { return c.quota.available() }

// noteQuota updates the quota from the headers of a response.
func (c *Client) noteQuota(header http.Header) {
	o, now := c.options.RateLimit, c.options.Clock.Now()
	remaining := strings.TrimSpace(header.Get(o.Remaining))
	c.quota.mu.Lock()
	defer c.quota.mu.Unlock()
	if n, err := strconv.Atoi(remaining); err == nil {
		c.quota.known, c.quota.left = true, n-(c.quota.active-1)
	}
	if o.Remaining != "" && remaining != "0" {
		return
	}
	wait, ok := resetIn(header.Get(o.Reset), now)
	if at := now.Add(wait); ok && at.After(c.quota.until) {
		c.quota.until = at
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

// tooLate returns an error that is marked with errTooLate.
func (c *Client) tooLate(call Call, message string) error {
	e := c.fault(failure.Transient, call, 0, message)
	e.Err = errTooLate
	return e
}

// exhausted reports whether no requests are left before the rate limit resets.
func (q *quota) exhausted(now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.until.After(now)
}

// waitForQuota waits until the rate limit resets, if no requests are left.
func (c *Client) waitForQuota(ctx context.Context, call Call) error {
	now, source := c.options.Clock.Now(), c.options.RateLimit.Reset
	c.quota.mu.Lock()
	until := c.quota.until
	c.quota.mu.Unlock()
	wait := until.Sub(now)
	if wait <= 0 {
		return nil
	}
	if wait > maxWait {
		return c.tooLate(call, fmt.Sprintf("rate limit exhausted; according to %s it resets in %s, at %s",
			source, wait.Round(time.Second), until.UTC().Format(time.RFC3339)))
	}
	c.options.Log.Info(fmt.Sprintf("rate limit exhausted, waiting for %s", wait.Round(time.Millisecond)),
		"event", "rate_limit_wait", "wait_ms", wait.Milliseconds(), "source", source)
	c.observe(ctx, call, Event{Kind: EventWait, Time: now, Duration: wait, Source: source})
	return c.options.Clock.Sleep(ctx, wait)
}
