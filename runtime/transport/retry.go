package transport

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A RetryPolicy says which statuses are retried, how often, and after what wait.
type RetryPolicy struct {
	MaxAttempts int    // per call; 0 is 1, which retries nothing
	Statuses    []int  // that are retried
	Header      string // response header that says when to retry; "" is none
}

// Retries reports whether a status is retried.
func (p RetryPolicy) Retries(status int) bool { return slices.Contains(p.Statuses, status) }

// The waits before a retry.
const (
	maxWait     = 15 * time.Minute // a longer wait ends the call instead
	backoffBase = time.Second
	backoffCap  = time.Minute
)

// randomJitter returns a random wait, up to a bound.
func randomJitter(bound time.Duration) time.Duration { return rand.N(bound) + 1 }

// A budget limits the retries of a whole run, so that a dying API costs minutes
// and not hours. Every retry takes tokens from it, and every success puts one
// back. A retry at the time that the API asked for takes no more than a success
// puts back: an API that limits the rate of requests is not dying.
// The zero budget is full.
type budget struct{ spent atomic.Int64 }

const (
	budgetTokens  = 100
	backoffCost   = 5
	requestedCost = successRefill
	successRefill = 1
)

// spend pays for a retry. It reports false if the budget is spent.
func (b *budget) spend(cost int64) bool {
	if b.spent.Add(cost) <= budgetTokens {
		return true
	}
	b.spent.Add(-cost)
	return false
}

// refill records a success.
func (b *budget) refill() {
	if b.spent.Add(-successRefill) < 0 {
		b.spent.Add(successRefill)
	}
}

// waitToRetry waits before the next attempt of a call. It returns an error if
// there must not be one. cause is the error of the last attempt, and r its
// response, if there was one.
func (c *Client) waitToRetry(ctx context.Context, call Call, r *Response, cause *failure.Error) error {
	o, clock := c.options.Retry, c.options.Clock
	if call.attempt >= o.MaxAttempts {
		return exhausted(cause, ", after "+value.Counted(call.attempt, "attempt"))
	}
	wait, source, cost := c.retryWait(call.attempt, r)
	ahead := call.attempt == 1 && !call.Ended.IsZero()
	if !ahead && !c.budget.spend(cost) {
		return exhausted(cause, "; too many retries in this run")
	}
	if ahead {
		wait = max(wait-clock.Now().Sub(call.Ended), 0)
	}
	if wait > maxWait {
		return exhausted(cause, fmt.Sprintf("; the API says to retry in %s, at %s", wait, clock.Now().Add(wait).UTC().Format(time.RFC3339)))
	}
	c.options.Log.Warn(fmt.Sprintf("retrying in %s: %s", wait.Round(time.Millisecond), cause.Message), "event", "request_retry",
		"attempt", call.attempt, "wait_ms", wait.Milliseconds(), "wait_source", source, "url", c.show(call.URL))
	c.observe(ctx, call, Event{Kind: EventRetry, Time: clock.Now(), Duration: wait, Status: cause.Status, Source: source, Err: cause})
	if err := clock.Sleep(ctx, wait); err != nil {
		e := *cause
		e.Class, e.Err = failure.Cancelled, errors.Join(err, context.Cause(ctx))
		e.Message = Interruption(ctx) + " while waiting to retry: " + cause.Message
		return &e
	}
	return nil
}

// exhausted returns the last transient error of a call, with the reason why
// there is no further attempt.
func exhausted(cause *failure.Error, reason string) error {
	e := *cause
	e.Class, e.Message = failure.Transient, cause.Message+reason
	return &e
}

// retryWait returns how long to wait after an attempt, what says so (a header of
// the response, or "backoff"), and what the retry takes from the budget.
func (c *Client) retryWait(attempt int, r *Response) (wait time.Duration, source string, cost int64) {
	o := c.options.Retry
	if r != nil {
		if wait, ok := c.requestedWait(r.Header); ok {
			return wait, o.Header, requestedCost
		}
	}
	return c.backoff(attempt), "backoff", backoffCost
}

// requestedWait returns the wait that the headers of a response request.
func (c *Client) requestedWait(headers http.Header) (time.Duration, bool) {
	name, now := c.options.Retry.Header, c.options.Clock.Now()
	header := headers.Get(name)
	if !strings.EqualFold(name, "Retry-After") { // custom headers often hold a point in time
		if wait, ok := resetIn(header, now); ok {
			return wait, true
		}
	}
	return retryAfter(header, headers.Get("Date"), now)
}

// backoff returns a wait with full jitter: up to a bound that doubles with every
// attempt.
func (c *Client) backoff(attempt int) time.Duration {
	bound := backoffBase
	for n := 1; n < attempt && bound < backoffCap; n++ {
		bound *= 2
	}
	return c.jitter(min(bound, backoffCap))
}

// retryAfter reads a Retry-After header: seconds, or a date, which is compared
// with the response's own Date so that a wrong local clock does no harm. It
// reports false for anything else. A wait too long for a [time.Duration] is the
// longest one. Some APIs send seconds with decimals (2.0), which are rounded up.
func retryAfter(header, date string, now time.Time) (time.Duration, bool) {
	header = strings.TrimSpace(header)
	if header == "" {
		return 0, false
	}
	if seconds, ok := roundedUp(header); ok {
		const longest = time.Duration(1<<63 - 1)
		if seconds > int64(longest/time.Second) {
			return longest, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0, false
	}
	if served, err := http.ParseTime(date); err == nil {
		now = served
	}
	return max(at.Sub(now), 0), true
}

// roundedUp returns a number of digits, with or without decimals, as the next integer. One
// that is too large is the largest.
func roundedUp(number string) (int64, bool) {
	whole, decimals, _ := strings.Cut(number, ".")
	if whole == "" || strings.Trim(whole+decimals, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err == nil && n < math.MaxInt64 && strings.Trim(decimals, "0") != "" {
		n++
	}
	return n, true // too many digits give the largest number
}
