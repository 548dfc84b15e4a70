package transport

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
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

// A Turn is a request that was counted before it is made ([Client.Reserve]).
type Turn struct{ number int }

// Reserve counts a request against the API's rate limit before it is made, for a
// [Call.Turn]. If requests have to wait for the [Pace], an earlier turn comes first.
func (c *Client) Reserve() *Turn {
	g := c.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	g.quota.active++
	g.quota.left--
	g.numbers++
	return &Turn{g.numbers}
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

// tooLate returns an error that is marked with errTooLate.
func (c *Client) tooLate(call Call, message string) error {
	e := c.fault(failure.Transient, call, 0, message)
	e.Err = errTooLate
	return e
}

// untilReset returns how long it is until the rate limit resets, if no requests are left;
// otherwise it is not positive.
func (g *gate) untilReset() time.Duration {
	now := g.clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.quota.until.Sub(now)
}

// waitForQuota waits until the rate limit resets, if no requests are left.
func (c *Client) waitForQuota(ctx context.Context, call Call) error {
	wait, source := c.gate.untilReset(), c.options.RateLimit.Reset
	if wait <= 0 {
		return nil
	}
	return c.waitOut(ctx, call, wait, source, "rate limit exhausted; according to "+source+" it resets", "rate limit exhausted")
}
