package transport

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// pacedClient returns a client of http://api.test with a pace, a transport and the clock
// of the test.
func pacedClient(pace Pace, serve http.RoundTripper, change ...func(*Options)) *Client {
	origin, _ := url.Parse("http://api.test/")
	options := Options{
		Origin: origin, Transport: serve, Pacer: NewPacer(pace),
		Retry: RetryPolicy{MaxAttempts: 3, Statuses: []int{429, 503}, Header: "Retry-After"},
	}
	for _, f := range change {
		f(&options)
	}
	return New(options)
}

// ok answers every request with status 200.
func ok(int) (int, string, error) { return 200, "", nil }

// every returns the times of n requests at an interval, from a time on.
func every(interval time.Duration, n int, from time.Duration) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = from + time.Duration(i)*interval
	}
	return out
}

func TestRequestsPerSecondHoldForAllJobsTogether(t *testing.T) {
	for _, c := range []struct {
		name string
		pace Pace
		want []time.Duration
	}{
		{"two per second", Pace{PerSecond: 2}, every(500*time.Millisecond, jobs, 0)},
		{"below one", Pace{PerSecond: 0.2}, every(5*time.Second, jobs, 0)},
		{"burst", Pace{PerSecond: 1, Burst: 5}, append(times(5, 0), every(time.Second, jobs-5, time.Second)...)},
		{"the rate is stricter than the parallel requests", Pace{PerSecond: 1, Parallel: 1}, every(time.Second, jobs, 0)},
		{"the parallel requests are stricter than the rate", Pace{PerSecond: 1000, Burst: 1000, Parallel: 1}, every(100*time.Millisecond, jobs, 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				serve, made := serveTimes(ok)
				for _, err := range doAll(t.Context(), pacedClient(c.pace, serve), "http://api.test/", jobs) {
					require.NoError(t, err)
				}
				require.Equal(t, c.want, made())
			})
		})
	}
}

func TestAtMostSoManyRequestsAreInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var flying atomic.Int64
		var mu sync.Mutex
		var most int64 // in flight at the same time
		serve := roundTrip(func(r *http.Request) (*http.Response, error) {
			n := flying.Add(1)
			defer flying.Add(-1)
			mu.Lock()
			most = max(most, n)
			mu.Unlock()
			time.Sleep(time.Second)
			return answerTo(r), nil
		})
		for _, err := range doAll(t.Context(), pacedClient(Pace{Parallel: 3}, serve), "http://api.test/", jobs) {
			require.NoError(t, err)
		}
		require.EqualValues(t, 3, most)
	})
}

// answerTo returns a response to a request, with status 200.
func answerTo(r *http.Request) *http.Response {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("[]")), Request: r}
}

func TestRetriesAndRedirectsCountForThePace(t *testing.T) {
	t.Run("retries", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			serve, made := serveTimes(func(n int) (int, string, error) {
				if n < 3 {
					return 503, "1", nil
				}
				return 200, "", nil
			})
			c := pacedClient(Pace{PerSecond: 0.1}, serve)
			_, err := c.Do(t.Context(), Call{Method: "GET", URL: "http://api.test/"}, nil)
			require.NoError(t, err)
			require.Equal(t, every(10*time.Second, 3, 0), made())
		})
	})
	t.Run("redirects", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var made []time.Duration
			began := time.Now()
			c := pacedClient(Pace{PerSecond: 0.1, Parallel: 1}, roundTrip(func(r *http.Request) (*http.Response, error) {
				made = append(made, time.Since(began))
				answer := answerTo(r)
				if r.URL.Path == "/" {
					answer.StatusCode = 302
					answer.Header.Set("Location", "/moved")
				}
				return answer, nil
			}))
			_, err := c.Do(t.Context(), Call{Method: "GET", URL: "http://api.test/"}, nil)
			require.NoError(t, err)
			require.Equal(t, every(10*time.Second, 2, 0), made)
		})
	})
}

// After a hold the requests do not make up for the time in which none was made, and the
// one that goes first does not wait for others.
func TestThePaceHoldsAfterAHold(t *testing.T) {
	for _, pace := range []Pace{{PerSecond: 2}, {PerSecond: 2, Parallel: 1}, {PerSecond: 2, Parallel: 4}} {
		t.Run(fmt.Sprintf("%d in flight", pace.Parallel), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				serve, made := serveTimes(func(n int) (int, string, error) {
					if n == 3 {
						return 429, "30", nil
					}
					return 200, "", nil
				})
				for _, err := range doAll(t.Context(), pacedClient(pace, serve), "http://api.test/", 6) {
					require.NoError(t, err)
				}
				const held = 31100 * time.Millisecond // the response to the third request came at 1.1s
				require.Equal(t, append(every(500*time.Millisecond, 3, 0), every(500*time.Millisecond, 4, held)...), made())
			})
		})
	}
}

func TestTurnsAreTakenInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var paths []string
		c := pacedClient(Pace{PerSecond: 1, Parallel: 2}, roundTrip(func(r *http.Request) (*http.Response, error) {
			mu.Lock()
			defer mu.Unlock()
			paths = append(paths, r.URL.Path)
			return answerTo(r), nil
		}))
		var all sync.WaitGroup
		abandoned, cancel := context.WithCancel(t.Context())
		cancel()
		for i := range 10 {
			call := Call{Method: "GET", URL: fmt.Sprintf("http://api.test/%d", i), Ticket: c.CountRequest()}
			ctx := t.Context()
			if i == 4 {
				ctx = abandoned
			}
			all.Go(func() {
				if i > 1 { // these come in the reverse order, while the second one waits for the rate
					time.Sleep(time.Duration(20-i) * time.Millisecond)
				}
				time.Sleep(time.Duration(min(i, 1)) * time.Millisecond)
				_, err := c.Exchange(ctx, call)
				if i == 4 {
					assert.ErrorIs(t, err, context.Canceled)
					return
				}
				assert.NoError(t, err)
			})
		}
		all.Wait()
		require.Equal(t, []string{"/0", "/1", "/2", "/3", "/5", "/6", "/7", "/8", "/9"}, paths)
	})
}

func TestWaitingForThePaceCanBeInterrupted(t *testing.T) {
	for name, pace := range map[string]Pace{"rate": {PerSecond: 0.001}, "requests in flight": {Parallel: 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				serve := roundTrip(func(r *http.Request) (*http.Response, error) {
					time.Sleep(time.Minute)
					return answerTo(r), nil
				})
				c := pacedClient(pace, serve)
				ctx, cancel := context.WithCancel(t.Context())
				began := time.Now()
				time.AfterFunc(10*time.Second, cancel)
				for _, err := range doAll(ctx, c, "http://api.test/", 3) {
					if err != nil { // the transport of the test does not notice that the first was interrupted
						require.ErrorIs(t, err, failure.ErrCancelled)
					}
				}
				require.LessOrEqual(t, time.Since(began), time.Minute)

				_, err := c.Do(t.Context(), Call{Method: "GET", URL: "http://api.test/"}, nil)
				require.NoError(t, err, "the places of the others are free")
			})
		})
	}
}

func TestTokenRequestsCountForThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve, made := serveTimes(ok)
		pacer := NewPacer(Pace{PerSecond: 1, Parallel: 1})
		tokens := pacedClient(Pace{}, serve, func(o *Options) { o.Pacer = pacer.WithinTurn() })
		c := pacedClient(Pace{}, serve, func(o *Options) {
			o.Pacer = pacer
			o.Auth.Obtain = func(ctx context.Context) (*Lease, error) {
				_, err := tokens.Do(ctx, Call{Method: "POST", URL: "http://api.test/token"}, nil)
				return &Lease{Renew: time.Now().Add(3500 * time.Millisecond)}, err
			}
		})
		for _, err := range doAll(t.Context(), c, "http://api.test/", 5) {
			require.NoError(t, err)
		}
		require.Equal(t, every(time.Second, 7, 0), made(), "five requests, and two for tokens")
	})
}

func TestARequestThatTakesTooLongIsRetried(t *testing.T) {
	for name, serve := range map[string]roundTrip{
		"no headers": func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		},
		"a slow body": func(r *http.Request) (*http.Response, error) {
			answer := answerTo(r)
			answer.Body = slowly{r.Context()}
			return answer, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var requests atomic.Int64
				c := pacedClient(Pace{}, roundTrip(func(r *http.Request) (*http.Response, error) {
					requests.Add(1)
					return serve(r)
				}), func(o *Options) { o.Timeout = 5 * time.Second })
				_, err := c.Do(t.Context(), Call{Method: "GET", URL: "http://api.test/"}, nil)
				require.ErrorIs(t, err, failure.ErrTransient)
				require.ErrorContains(t, err, "no complete response within 5s (api.http.timeout), after 3 attempts")
				require.EqualValues(t, 3, requests.Load())
			})
		})
	}
}

// slowly is a body of which a byte arrives every second.
type slowly struct{ ctx context.Context }

func (s slowly) Read(p []byte) (int, error) {
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-time.After(time.Second):
		p[0] = ' '
		return 1, nil
	}
}

func (slowly) Close() error { return nil }

// A timeout above the client's own limit of a minute applies instead of it.
func TestALongTimeoutLetsAnAPIThinkForMinutes(t *testing.T) {
	slow := roundTrip(func(r *http.Request) (*http.Response, error) {
		select {
		case <-r.Context().Done():
			return nil, context.Cause(r.Context())
		case <-time.After(4 * time.Minute):
			return answerTo(r), nil
		}
	})
	for timeout, want := range map[time.Duration]error{0: failure.ErrTransient, 5 * time.Minute: nil} {
		synctest.Test(t, func(t *testing.T) {
			_, err := pacedClient(Pace{}, slow, func(o *Options) { o.Timeout = timeout }).Do(t.Context(), Call{Method: "GET", URL: "http://api.test/"}, nil)
			if want == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, want)
		})
	}
}

func TestWaitsForThePaceAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve, _ := serveTimes(ok)
		c := pacedClient(Pace{PerSecond: 0.5}, serve)
		var waits []Event
		onWait := func(e Event) { waits = append(waits, e) }
		for range 2 {
			_, err := c.Do(t.Context(), Call{Method: "GET", URL: "http://api.test/", OnWait: onWait}, nil)
			require.NoError(t, err)
		}
		require.Len(t, waits, 1)
		require.Equal(t, EventWait, waits[0].Kind)
		require.Equal(t, SourcePerSecond, waits[0].Source)
		require.Equal(t, 1900*time.Millisecond, waits[0].Duration)
	})
}
