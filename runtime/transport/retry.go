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

	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A RetryPolicy determines which statuses are retried, how often, and after which wait.
type RetryPolicy struct {
	MaxAttempts int    // attempts per call; 0 means 1, without retries
	Statuses    []int  // statuses that are retried
	Limited     []int  // statuses that are retried if the response says that a rate limit is exceeded
	Header      string // response header that says when to retry; "" means no header
}

// Retries reports whether a response with a status and headers is retried. A response says that a
// rate limit is exceeded if it says when to retry, or that no requests are left.
func (o *Options) Retries(status int, headers http.Header) bool {
	if slices.Contains(o.Retry.Statuses, status) {
		return true
	}
	if !slices.Contains(o.Retry.Limited, status) {
		return false
	}
	_, said := o.Retry.RequestedWait(headers, time.Time{})
	_, exceeded := o.RateLimit.exceeded(headers)
	return said || exceeded
}

// The waits before a retry.
const (
	MaxWait     = 15 * time.Minute // longest wait; a longer one ends the call
	BackoffBase = time.Second      // bound of the first wait without a header, which doubles with each retry
	BackoffCap  = time.Minute      // bound of every wait without a header
)

// randomJitter returns a random positive wait up to a bound.
func randomJitter(bound time.Duration) time.Duration { return rand.N(bound) + 1 }

// A budget limits the retries of a whole run, so that a failing API costs minutes and not hours.
// Every retry spends tokens, and every success returns one. A retry at a time that the API asked
// for costs no more than a success returns, because an API that limits the rate of requests is not
// failing. The zero budget is full.
type budget struct{ spent atomic.Int64 }

const (
	budgetTokens  = 100
	backoffCost   = 5
	requestedCost = successRefill
	successRefill = 1
)

// What texts say about the retries of a run.
const (
	RetriesOfRun      = budgetTokens / backoffCost  // the most without a success, at times for which the API did not ask
	SuccessesForRetry = backoffCost / successRefill // requests that succeed and give one of these back
)

// spend pays for a retry. It reports false if the budget is exhausted.
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

// waitToRetry waits before the next attempt of a call. It returns an error if there must be no
// further attempt. cause is the error of the last attempt, and r its response or nil.
func (c *Client) waitToRetry(ctx context.Context, call Call, r *Response, cause *failure.Error) error {
	o, clock := c.options.Retry, c.options.Clock
	if call.attempt >= o.MaxAttempts {
		return exhausted(cause, ", after "+wording.Counted(call.attempt, "attempt"))
	}
	wait, source, cost := c.retryWait(call.attempt, r)
	ahead := call.attempt == 1 && !call.ahead.IsZero()
	if !ahead && !c.budget.spend(cost) {
		return exhausted(cause, "; too many retries in this run")
	}
	if ahead {
		wait = max(wait-clock.Now().Sub(call.ahead), 0)
	}
	if wait > MaxWait {
		return exhausted(cause, fmt.Sprintf("; the API says to retry in %s, at %s", wait, clock.Now().Add(wait).UTC().Format(time.RFC3339)))
	}
	c.options.Log.Warn(fmt.Sprintf("retrying in %s: %s", wait.Round(time.Millisecond), cause.Message), "event", "request_retry",
		"attempt", call.attempt, "wait_ms", wait.Milliseconds(), "wait_source", source, "url", c.show(call.URL))
	c.observe(ctx, call, Event{Kind: EventRetry, Time: clock.Now(), Duration: wait, Status: cause.Status, Source: source, Err: cause})
	if err := clock.Sleep(ctx, wait); err != nil {
		return cause.With(func(e *failure.Error) {
			e.Class, e.Err = failure.Cancelled, errors.Join(err, context.Cause(ctx))
			e.Message = Interruption(ctx) + " while waiting to retry: " + e.Message
		})
	}
	return nil
}

// exhausted returns the last transient error of a call, with the reason why there is no further
// attempt.
func exhausted(cause *failure.Error, reason string) error {
	return cause.With(func(e *failure.Error) { e.Class, e.Message = failure.Transient, e.Message+reason })
}

// retryWait returns the wait after an attempt, its source (a header of the response, or [SourceBackoff]),
// and the cost of the retry to the budget.
func (c *Client) retryWait(attempt int, r *Response) (wait time.Duration, source string, cost int64) {
	if r != nil {
		if wait, source, ok := c.requestedWait(r.Header); ok {
			return wait, source, requestedCost
		}
	}
	return c.backoff(attempt), SourceBackoff, backoffCost
}

// requestedWait returns the wait that the headers of a refusal ask for, and the header that says so.
func (c *Client) requestedWait(headers http.Header) (wait time.Duration, source string, ok bool) {
	retry, limit, now := c.options.Retry, c.options.RateLimit, c.options.Clock.Now()
	if wait, ok := retry.RequestedWait(headers, now); ok {
		return wait, retry.Header, true
	}
	source, ok = limit.exceeded(headers)
	if ok {
		wait, ok = resetIn(headers.Get(source), now)
	}
	return wait, source, ok
}

// RequestedWait returns the wait from now that the header of a refusal asks for. It reports false
// if the header is missing or malformed.
func (p RetryPolicy) RequestedWait(headers http.Header, now time.Time) (time.Duration, bool) {
	header := headers.Get(p.Header)
	if !strings.EqualFold(p.Header, "Retry-After") { // other headers often hold a point in time
		if wait, ok := resetIn(header, now); ok {
			return wait, true
		}
	}
	return retryAfter(header, headers.Get("Date"), now)
}

// backoff returns a random wait (full jitter) up to a bound that doubles with every attempt.
func (c *Client) backoff(attempt int) time.Duration {
	doublings := min(attempt-1, 6) // more exceed BackoffCap
	return c.jitter(min(BackoffBase<<doublings, BackoffCap))
}

// retryAfter parses a Retry-After header: seconds, or a date, which is compared with the response's
// own Date so that a wrong local clock does not matter. It reports false for anything else. A wait
// too long for a [time.Duration] becomes the longest one. Some APIs send seconds with decimals
// (2.0), which are rounded up.
func retryAfter(header, date string, now time.Time) (time.Duration, bool) {
	header = strings.TrimSpace(header)
	if seconds, ok := roundedUp(header); ok {
		const longest = time.Duration(1<<63 - 1)
		if seconds > int64(longest/time.Second) {
			return longest, true
		}
		return time.Duration(seconds) * time.Second, true
	}
	t, err := http.ParseTime(header)
	if err != nil {
		return 0, false
	}
	if served, err := http.ParseTime(date); err == nil {
		now = served
	}
	return max(t.Sub(now), 0), true
}

// roundedUp rounds a decimal number up to an integer. A number that is too large becomes the
// largest integer.
func roundedUp(number string) (int64, bool) {
	whole, decimals, _ := strings.Cut(number, ".")
	if whole == "" || strings.Trim(whole+decimals, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(whole, 10, 64)
	if err == nil && n < math.MaxInt64 && strings.Trim(decimals, "0") != "" {
		n++
	}
	return n, true // ParseInt returns the largest number for too many digits
}
