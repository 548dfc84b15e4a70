package transport

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// RateLimit names the headers by which an API says how many requests are left,
// and when there are more. The zero value: it does not.
type RateLimit struct {
	Remaining string // X-RateLimit-Remaining; 0 there: the next request waits
	Reset     string // X-RateLimit-Reset: seconds to wait, or a time in seconds or milliseconds since 1970
}

// quota is what the API has said of it.
type quota struct {
	mu     sync.Mutex
	until  time.Time // no request before; zero: at once
	known  bool      // whether left is
	left   int       // requests that may be made
	active int       // requests under way, which the API may not have counted yet
}

// ask counts a request that is made, and answered one whose response has come, or
// will not.
func (q *quota) ask() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.active++
	q.left--
}

func (q *quota) answered() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.active--
}

// some tells whether requests are left beside those under way, as far as the API
// has said.
func (q *quota) some() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.known || q.left > 0
}

// note reads the headers of a response.
func (c *Client) note(header http.Header) {
	o := c.options.RateLimit
	if o == (RateLimit{}) {
		return
	}
	if n, err := strconv.Atoi(strings.TrimSpace(header.Get(o.Remaining))); o.Remaining != "" && err == nil {
		c.quota.mu.Lock()
		c.quota.known, c.quota.left = true, n-(c.quota.active-1)
		c.quota.mu.Unlock()
	}
	if o.Reset == "" || o.Remaining != "" && strings.TrimSpace(header.Get(o.Remaining)) != "0" {
		return
	}
	now := c.options.Clock.Now()
	wait, ok := resetIn(header.Get(o.Reset), now)
	if !ok {
		return
	}
	c.quota.mu.Lock()
	defer c.quota.mu.Unlock()
	if at := now.Add(wait); at.After(c.quota.until) {
		c.quota.until = at
	}
}

// resetIn reads a header that says when there are requests again: below a billion
// seconds to wait, below a hundred billion seconds since 1970, else milliseconds.
func resetIn(header string, now time.Time) (time.Duration, bool) {
	n, err := strconv.ParseInt(strings.TrimSpace(header), 10, 64)
	switch {
	case err != nil || n < 0:
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

// quotaWait waits until the API takes requests again.
func (c *Client) quotaWait(ctx context.Context, call Call) error {
	c.quota.mu.Lock()
	wait := c.quota.until.Sub(c.options.Clock.Now())
	c.quota.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	if wait > c.options.Retry.MaxWait {
		return &failure.Error{Class: failure.Transient, Op: "request", Method: call.Method, URL: c.show(call.URL), Message: fmt.Sprintf("no requests are left; by %s there are more in %s, at %s",
			c.options.RateLimit.Reset, wait.Round(time.Second), c.options.Clock.Now().Add(wait).UTC().Format(time.RFC3339))}
	}
	c.options.Log.Info(fmt.Sprintf("no requests are left, waiting for %s", wait.Round(time.Millisecond)), "event", "rate_limit_wait", "wait_ms", wait.Milliseconds(), "source", c.options.RateLimit.Reset)
	c.observe(ctx, call, Event{Kind: EventWait, Time: c.options.Clock.Now(), Duration: wait, Source: c.options.RateLimit.Reset})
	return c.options.Clock.Sleep(ctx, wait)
}

// Reserve counts a request against the API's quota before it is made, for one
// whose [Call.Reserved] is set.
func (c *Client) Reserve() { c.quota.ask() }

// MayReserve reports whether, as far as the API has said, requests are left
// besides those in flight.
func (c *Client) MayReserve() bool { return c.quota.some() }
