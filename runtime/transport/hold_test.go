package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// serveTimes answers requests after a tenth of a second, and records when each was made.
// answer returns the status of the n-th, from 1, and the value of Retry-After.
func serveTimes(answer func(n int) (status int, retryAfter string, err error)) (http.RoundTripper, func() []time.Duration) {
	var mu sync.Mutex
	var times []time.Duration
	began := time.Now()
	serve := roundTrip(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		times = append(times, time.Since(began))
		n := len(times)
		mu.Unlock()
		time.Sleep(100 * time.Millisecond)
		status, retryAfter, err := answer(n)
		if err != nil {
			return nil, err
		}
		header := http.Header{}
		if retryAfter != "" {
			header.Set("Retry-After", retryAfter)
		}
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader("[]")), Request: r}, nil
	})
	return serve, func() []time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return times
	}
}

// clientOf returns a client of http://api.test with a transport and the clock of the test.
func clientOf(serve http.RoundTripper) *Client {
	origin, _ := url.Parse("http://api.test/")
	return New(Options{
		Origin: origin, AllowedOrigins: []string{"http://93.184.216.34"}, Transport: serve,
		Retry: RetryPolicy{MaxAttempts: 5, Statuses: []int{429, 503}, Header: "Retry-After"},
	})
}

// doAll makes calls at the same time and returns their errors.
func doAll(ctx context.Context, c *Client, address string, calls int) []error {
	errs := make([]error, calls)
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { _, errs[i] = c.Do(ctx, Call{Method: "GET", URL: address}, nil) })
	}
	all.Wait()
	return errs
}

const jobs = 20

// times returns n times the same time.
func times(n int, at time.Duration) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = at
	}
	return out
}

func TestOneRetryAfterHoldsTheRequestsOfAllJobs(t *testing.T) {
	for _, c := range []struct {
		name string
		told []string        // Retry-After of the first answers
		want []time.Duration // when the requests are made
	}{
		{"one wait", []string{"2"}, append([]time.Duration{0, 2100 * time.Millisecond}, times(jobs, 2200*time.Millisecond)...)},
		{"the first request is told to wait again", []string{"2", "3"},
			append([]time.Duration{0, 2100 * time.Millisecond, 5200 * time.Millisecond}, times(jobs, 5300*time.Millisecond)...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				serve, made := serveTimes(func(n int) (int, string, error) {
					if n <= len(c.told) {
						return 429, c.told[n-1], nil
					}
					return 200, "", nil
				})
				client := clientOf(serve)
				first := make(chan error)
				go func() {
					_, err := client.Do(t.Context(), Call{Method: "GET", URL: "http://api.test/a"}, nil)
					first <- err
				}()
				time.Sleep(time.Second) // the answer to the first request has come
				for _, err := range doAll(t.Context(), client, "http://api.test/b", jobs) {
					require.NoError(t, err)
				}
				require.NoError(t, <-first)
				require.Equal(t, c.want, made())
			})
		})
	}
}

func TestARequestThatFailsAfterAHoldLetsTheNextOneTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve, made := serveTimes(func(n int) (int, string, error) {
			switch n {
			case 1:
				return 503, "2", nil
			case 2:
				return 0, "", errors.New("connection reset")
			}
			return 200, "", nil
		})
		for _, err := range doAll(t.Context(), clientOf(serve), "http://api.test/", 1) {
			require.NoError(t, err)
		}
		require.Len(t, made(), 3)
	})
}

func TestAHoldIsForItsOriginOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve, made := serveTimes(func(n int) (int, string, error) {
			if n == 1 {
				return 429, "60", nil
			}
			return 200, "", nil
		})
		client := clientOf(serve)
		ctx, cancel := context.WithCancel(t.Context())
		held := make(chan []error)
		go func() { held <- doAll(ctx, client, "http://api.test/", 1) }()
		time.Sleep(time.Second)
		for _, err := range doAll(t.Context(), client, "http://93.184.216.34/", 3) {
			require.NoError(t, err)
		}
		require.Equal(t, append([]time.Duration{0}, times(3, time.Second)...), made())
		cancel()
		require.ErrorIs(t, (<-held)[0], failure.ErrCancelled)
	})
}

func TestAHoldThatIsTooLongEndsEveryCall(t *testing.T) {
	for _, seconds := range []string{"3600", "99999999999999999999"} {
		t.Run(seconds, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				serve, made := serveTimes(func(int) (int, string, error) { return 429, seconds, nil })
				client := clientOf(serve)
				began := time.Now()
				for _, err := range append(doAll(t.Context(), client, "http://api.test/", 1), doAll(t.Context(), client, "http://api.test/", 3)...) {
					require.ErrorIs(t, err, failure.ErrTransient)
					require.ErrorContains(t, err, "the API says to retry in ")
				}
				require.Len(t, made(), 1, "no request is made that the API has refused in advance")
				require.Less(t, time.Since(began), time.Second)
			})
		})
	}
}

func TestCancellingEndsAWaitForTheFirstRequestAfterAHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		serve, _ := serveTimes(func(n int) (int, string, error) {
			if n == 1 {
				return 429, "1", nil
			}
			<-release
			return 200, "", nil
		})
		client := clientOf(serve)
		first := make(chan []error)
		go func() { first <- doAll(t.Context(), client, "http://api.test/", 1) }()
		time.Sleep(5 * time.Second) // its second request is in flight
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		for _, err := range doAll(ctx, client, "http://api.test/", 3) {
			require.ErrorIs(t, err, failure.ErrCancelled, fmt.Sprint(err))
		}
		require.Equal(t, time.Second, time.Since(began))
		close(release)
		require.NoError(t, (<-first)[0])
	})
}
