package transport

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

func TestRetryAfterIsNeverShortened(t *testing.T) {
	for _, c := range []struct {
		name, header string
		want         time.Duration
	}{
		{"seconds", "7", 7 * time.Second},
		{"zero", " 0 ", 0},
		{"seconds with a zero decimal", "2.0", 2 * time.Second},
		{"part of a second", "0.65", time.Second},
		{"date", "Fri, 02 Jan 2026 03:05:05 GMT", time.Minute},
		{"date of RFC 850", "Friday, 02-Jan-26 03:05:05 GMT", time.Minute},
		{"date of ANSI C", "Fri Jan  2 03:05:05 2026", time.Minute},
		{"date in the past", "Thu, 01 Jan 2026 03:05:05 GMT", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := serve(t, status(429, "Retry-After", c.header, "Date", "Fri, 02 Jan 2026 03:04:05 GMT"), status(200))
			client, clock := clientFor(t, s.URL)
			_, e := get(t, client, s.URL)
			require.Nil(t, e)
			require.Equal(t, []time.Duration{c.want}, clock.waits)
		})
	}
}

func TestARetryAfterBeyondTheLimitEndsTheCallAndSaysWhenToRetry(t *testing.T) {
	for _, header := range []string{"3600", "10000000000", "9223372036854775807", "99999999999999999999"} {
		t.Run(header, func(t *testing.T) {
			s, n := serve(t, status(503, "Retry-After", header))
			c, clock := clientFor(t, s.URL)
			_, e := get(t, c, s.URL)
			require.Equal(t, failure.Transient, e.Class)
			require.Contains(t, e.Message, "; the API says to retry in ")
			require.EqualValues(t, 1, n.Load())
			require.Empty(t, clock.waits)
		})
	}
}

func TestAnInvalidRetryAfterFallsBackToBackoff(t *testing.T) {
	for _, c := range []struct{ name, header string }{
		{"negative", "-5"}, {"exponent", "1e1"}, {"point alone", "."}, {"word", "soon"}, {"empty", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, _ := serve(t, status(429, "Retry-After", c.header), status(200))
			client, clock := clientFor(t, s.URL)
			_, e := get(t, client, s.URL)
			require.Nil(t, e)
			require.Len(t, clock.waits, 1)
			require.Greater(t, clock.waits[0], time.Duration(0))
			require.LessOrEqual(t, clock.waits[0], time.Second, "the first backoff is at most the base")
		})
	}
}

func TestACustomRetryHeaderMayHoldATime(t *testing.T) {
	s, _ := serve(t, status(429, "X-Reset", "1767323105"), status(200)) // a minute after the clock's start
	c, clock := clientFor(t, s.URL, func(o *Options) { o.Retry.Header = "X-Reset" })
	_, e := get(t, c, s.URL)
	require.Nil(t, e)
	require.Equal(t, []time.Duration{time.Minute}, clock.waits)
}

func TestTheBackoffDoublesUpToItsCap(t *testing.T) {
	longest := &Client{jitter: func(bound time.Duration) time.Duration { return bound }}
	for attempt, want := range []time.Duration{1, 2, 4, 8, 16, 32, 60, 60} {
		require.Equal(t, want*time.Second, longest.backoff(attempt+1))
	}
	require.Equal(t, time.Minute, longest.backoff(1_000_000))
}

func FuzzRetryAfter(f *testing.F) {
	for _, seed := range []string{"7", "-1", "Fri, 02 Jan 2026 03:05:05 GMT", "99999999999999999999", "1e3", " 5 "} {
		f.Add(seed)
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, header string) {
		wait, ok := retryAfter(header, "", now)
		require.GreaterOrEqual(t, wait, time.Duration(0))
		require.True(t, ok || wait == 0)
	})
}

func TestTheRetryBudgetOfARunEndsAndRefills(t *testing.T) {
	b := &budget{}
	taken := 0
	for b.spend(backoffCost) {
		taken++
	}
	require.Equal(t, budgetTokens/backoffCost, taken)
	for range backoffCost {
		b.refill()
	}
	require.True(t, b.spend(backoffCost), "successes pay for a retry")
	require.False(t, b.spend(backoffCost))
}

func TestRetriesAtTheTimeThatTheAPIAskedForNeverEndARunThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := 0
		client := New(Options{
			Origin: &url.URL{Scheme: "http", Host: "api.test"},
			Retry:  RetryPolicy{MaxAttempts: 5, Statuses: []int{429}, Header: "Retry-After"},
			Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
				requests++
				response := &http.Response{StatusCode: 200, Header: http.Header{}, Body: http.NoBody, Request: r}
				if requests%2 == 1 { // every call is told to wait once
					response.StatusCode = 429
					response.Header.Set("Retry-After", "1")
				}
				return response, nil
			}),
		})
		for range 2 * budgetTokens {
			_, err := client.Do(t.Context(), Call{Method: "GET", URL: "http://api.test/"}, nil)
			require.NoError(t, err)
		}
	})
}

func TestADeadHostCostsItsAttemptsAndNoMore(t *testing.T) {
	for _, c := range []struct {
		name            string
		attempts, waits int
		want            string
	}{{"with retries", 5, 4, "after 5 attempts"}, {"without retries", 1, 0, "after 1 attempt"}, {"zero", 0, 0, "after 1 attempt"}} {
		t.Run(c.name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			address := "http://" + listener.Addr().String()
			require.NoError(t, listener.Close())
			client, clock := clientFor(t, address, func(o *Options) { o.Retry.MaxAttempts = c.attempts })
			_, e := get(t, client, address)
			require.Equal(t, failure.Transient, e.Class)
			require.Regexp(t, c.want+"$", e.Message)
			require.Len(t, clock.waits, c.waits)
		})
	}
}

func TestCancellingReturnsAtOnceEvenDuringALongWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		origin, _ := url.Parse("http://api.test/")
		retry := RetryPolicy{MaxAttempts: 5, Statuses: []int{429}, Header: "Retry-After"}
		client := New(Options{Origin: origin, Retry: retry, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 429, Header: http.Header{"Retry-After": {"600"}}, Body: http.NoBody, Request: r}, nil
		})})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		_, err := client.Do(ctx, Call{Method: "GET", URL: "http://api.test/"}, nil)
		require.ErrorIs(t, err, failure.ErrCancelled)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, time.Second, time.Since(began))
	})
}
