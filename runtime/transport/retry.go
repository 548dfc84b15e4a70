package transport

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// RetryPolicy say which faults are retried, how often and after what wait.
type RetryPolicy struct {
	MaxAttempts int           // for one page; 0: 5
	Statuses    []int         // nil: the usual ones
	Header      string        // says when to come back; empty: Retry-After
	MaxWait     time.Duration // a longer wait ends the run instead; 0: 15 min
	Base, Cap   time.Duration // of the backoff; 0: 1 s and 60 s

	Jitter func(bound time.Duration) time.Duration // nil: any time up to the bound
}

// retryStatuses are the statuses that pass by themselves.
var retryStatuses = []int{408, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529}

func (o RetryPolicy) withDefaults() RetryPolicy {
	o.MaxAttempts = cmp.Or(o.MaxAttempts, 5)
	o.Header = cmp.Or(o.Header, "Retry-After")
	o.MaxWait = cmp.Or(o.MaxWait, 15*time.Minute)
	o.Base, o.Cap = cmp.Or(o.Base, time.Second), cmp.Or(o.Cap, time.Minute)
	if o.Jitter == nil {
		o.Jitter = func(bound time.Duration) time.Duration { return rand.N(bound) + 1 }
	}
	if o.Statuses == nil {
		o.Statuses = retryStatuses
	}
	return o
}

func (o RetryPolicy) repeats(status int) bool { return slices.Contains(o.Statuses, status) }

// budget bounds the retries of a whole run: each costs, each success gives a
// little back, so that a dying API costs minutes and not hours.
type budget struct {
	mu     sync.Mutex
	tokens int
}

const (
	budgetStart = 100
	retryCosts  = 5
	successPays = 1
)

func newBudget() budget { return budget{tokens: budgetStart} }

func (b *budget) take() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < retryCosts {
		return false
	}
	b.tokens -= retryCosts
	return true
}

func (b *budget) success() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.tokens+successPays, budgetStart)
}

// wait waits before the next attempt, or says why there is none.
func (c *Client) wait(ctx context.Context, call Call, attempt int, r *Response, cause *failure.Error) error {
	o := c.options.Retry
	if attempt >= o.MaxAttempts {
		return exhausted(cause, fmt.Sprintf("%s, after %d attempts", cause.Message, attempt))
	}
	if !c.budget.take() {
		return exhausted(cause, cause.Message+"; too many retries in this run")
	}
	pause, source := o.backoff(attempt), "backoff"
	if r != nil {
		asked, ok := retryAfter(r.Header.Get(o.Header), r.Header.Get("Date"), c.options.Clock.Now())
		if reset, known := resetIn(r.Header.Get(o.Header), c.options.Clock.Now()); known && !strings.EqualFold(o.Header, "Retry-After") {
			asked, ok = reset, true // headers of an API's own often hold a time
		}
		if ok {
			pause, source = max(asked, 0), o.Header
		}
	}
	if pause > o.MaxWait {
		back := c.options.Clock.Now().Add(pause).UTC().Format(time.RFC3339)
		return exhausted(cause, fmt.Sprintf("%s; the API asks to come back in %s, at %s", cause.Message, pause, back))
	}
	c.options.Log.Warn(fmt.Sprintf("retrying in %s: %s", pause.Round(time.Millisecond), cause.Message), "event", "request_retry",
		"attempt", attempt, "wait_ms", pause.Milliseconds(), "wait_source", source, "url", c.show(call.URL))
	c.observe(ctx, call, Event{Kind: EventRetry, Time: c.options.Clock.Now(), Duration: pause, Status: cause.Status, Source: source, Err: cause})
	if err := c.options.Clock.Sleep(ctx, pause); err != nil {
		e := *cause
		e.Class, e.Err, e.Message = failure.Cancelled, err, "interrupted while waiting to retry: "+cause.Message
		return &e
	}
	return nil
}

func exhausted(cause *failure.Error, message string) error {
	e := *cause
	e.Class, e.Message = failure.Transient, message
	return &e
}

// backoff is full jitter: by default any time up to a bound that doubles.
func (o RetryPolicy) backoff(attempt int) time.Duration {
	bound := o.Cap
	if attempt < 30 {
		bound = min(o.Cap, o.Base<<(attempt-1))
	}
	return o.Jitter(bound)
}

// retryAfter reads a Retry-After header: whole seconds, or a date, which is
// measured against the response's own Date so that a wrong local clock does not
// matter. What is neither is no answer; a wait too long for a duration is the
// longest.
func retryAfter(header, date string, now time.Time) (time.Duration, bool) {
	header = strings.TrimSpace(header)
	if header == "" {
		return 0, false
	}
	if digits := strings.TrimLeft(header, "0123456789"); digits == "" {
		const longest = time.Duration(1<<63 - 1)
		seconds, err := strconv.ParseInt(header, 10, 64)
		if err != nil || seconds > int64(longest/time.Second) {
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

// faultOf classifies an exchange that brought no response. Any error while a
// body is read is a passing one: there is no list of such errors to rely on.
func (c *Client) faultOf(ctx context.Context, call Call, err error) verdict {
	e := &failure.Error{Op: "request", Method: call.Method, URL: c.show(call.URL), Err: bare(err)}
	if ctx.Err() != nil {
		e.Class, e.Message, e.Err = failure.Cancelled, "interrupted", ctx.Err()
		return verdict{err: e}
	}
	if known := (*failure.Error)(nil); errors.As(err, &known) {
		if known.URL == "" {
			known.Method, known.URL = e.Method, e.URL
		}
		return verdict{err: known, retry: known.Class == failure.Transient}
	}
	e.Message = c.options.Redactor.String(bare(err).Error())
	if c.unknownHost(err) {
		e.Class, e.Message, e.Hint = failure.API, "unknown host "+hostOf(call.URL), "check api.baseUrl"
		return verdict{err: e}
	}
	if permanent(err) {
		e.Class = failure.API
		return verdict{err: e}
	}
	e.Class = failure.Transient
	return verdict{err: e, retry: true}
}

// bare takes the address off an error of net/http, which may hold credentials.
func bare(err error) error {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// permanent tells the faults that another attempt does not cure.
func permanent(err error) bool {
	if certificate := (*tls.CertificateVerificationError)(nil); errors.As(err, &certificate) {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "unsupported protocol scheme") || strings.Contains(text, "invalid header field") ||
		strings.Contains(text, "server gave HTTP response to HTTPS client") || strings.Contains(text, "malformed HTTP")
}

// unknownHost tells that a name does not exist; once a response has come from
// it, it is a passing fault of the resolver.
func (c *Client) unknownHost(err error) bool {
	dns := (*net.DNSError)(nil)
	return errors.As(err, &dns) && dns.IsNotFound && !c.served.Load()
}

func hostOf(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Host
	}
	return ""
}
