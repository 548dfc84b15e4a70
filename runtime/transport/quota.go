package transport

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// A quota is the rate limit as the API reported it. The lock of the gate protects it.
type quota struct {
	until  time.Time // no request goes before it
	known  bool      // whether left is known
	left   int       // number of requests left
	active int       // requests in flight, which the API may not have counted yet
}

// endRequest counts a request as no longer in flight for the API's rate limit; leave does so for
// [Pace.Parallel].
func (g *gate) endRequest() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.quota.active--
}

// untilReset returns the time until the rate limit resets, if no requests are left. Otherwise the
// result is not positive.
func (g *gate) untilReset() time.Duration {
	g.mu.Lock()
	until := g.quota.until
	g.mu.Unlock()
	if until.IsZero() {
		return 0
	}
	return until.Sub(g.clock.Now())
}

// A RateLimit names the response headers in which an API reports the number of requests left and
// the reset of the limit. An empty name means that the API does not send the header.
type RateLimit struct {
	Remaining string // X-RateLimit-Remaining, for example; at 0, the next request waits for the reset
	Reset     string // X-RateLimit-Reset, for example: seconds to wait, or a time in seconds or milliseconds since 1970
}

// usualLimits are the headers that many APIs send.
var usualLimits = []RateLimit{
	{"X-RateLimit-Remaining", "X-RateLimit-Reset"},
	{"X-Rate-Limit-Remaining", "X-Rate-Limit-Reset"},
	{"RateLimit-Remaining", "RateLimit-Reset"},
}

// exceeded reports whether a refusal says that no requests are left, in the configured header or in
// a usual one. reset is the name of the header with the reset of the limit.
func (l RateLimit) exceeded(headers http.Header) (reset string, ok bool) {
	for _, usual := range usualLimits {
		if strings.TrimSpace(headers.Get(cmp.Or(l.Remaining, usual.Remaining))) == "0" {
			return cmp.Or(l.Reset, usual.Reset), true
		}
	}
	return "", false
}

// CountRequest counts a request against the API's rate limit before it is made, and returns its number
// for [Call.Ticket]. If requests wait for the [Pace], the lowest number comes first.
func (c *Client) CountRequest() int { return c.gate.countRequest() }

func (g *gate) countRequest() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.quota.active++
	g.quota.left--
	g.numbers++
	return g.numbers
}

// HasQuota reports whether the API allows another request besides the requests in flight, according to
// its last report. It reports true before any report.
func (c *Client) HasQuota() bool { return c.gate.hasQuota() }

func (g *gate) hasQuota() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.quota.known || g.quota.left > 0
}

// noteQuota updates the quota from the headers of a response, which l names.
func (g *gate) noteQuota(l RateLimit, header http.Header) {
	remaining, reset := strings.TrimSpace(header.Get(l.Remaining)), header.Get(l.Reset)
	if remaining == "" && reset == "" {
		return
	}
	now := g.clock.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	q := &g.quota
	if n, err := strconv.Atoi(remaining); err == nil {
		q.known, q.left = true, n-(q.active-1)
	}
	if l.Remaining != "" && remaining != "0" {
		return
	}
	wait, ok := resetIn(reset, now)
	if at := now.Add(wait); ok && at.After(q.until) {
		q.until = at
	}
}

// resetIn parses a header with the reset of a limit. A number below a billion means seconds to
// wait, a number below a hundred billion seconds since 1970, and any larger number milliseconds
// since 1970. It reports false for anything else.
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
