package transport

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A testShared is a shared pace in memory. It can be out of reach.
type testShared struct {
	limiter *rate.Limiter
	holds   *gate
	away    chan struct{} // requests wait until it is closed; nil: it is in reach

	mu        sync.Mutex
	cancelled int
}

// shareRate returns a shared pace of a rate.
func shareRate(p Pace) *testShared {
	return &testShared{limiter: rate.NewLimiter(rate.Limit(p.PerSecond), max(p.Burst, 1)), holds: newGate(SystemClock, NewPacer(Pace{}))}
}

func (s *testShared) Hold(name string) Hold { return s.holds.Hold(name) }

func (s *testShared) Reserve(Pace) Reservation { return &testReservation{s, s.limiter.Reserve()} }

type testReservation struct {
	shared *testShared
	*rate.Reservation
}

func (r *testReservation) Wait(ctx context.Context) (time.Duration, error) {
	if r.shared.away != nil {
		if err := waitFor(ctx, r.shared.away); err != nil {
			return 0, err
		}
	}
	return r.Delay(), nil
}

func (r *testReservation) Cancel() {
	r.shared.mu.Lock()
	defer r.shared.mu.Unlock()
	r.shared.cancelled++
	r.Reservation.Cancel()
}

// sharing returns a client with a pace that it shares.
func sharing(shared SharedPace, pace Pace, serve http.RoundTripper) *Client {
	return pacedClient(Pace{}, serve, func(o *Options) { o.Pacer = NewSharedPacer(pace, shared) })
}

// doOnEach makes calls of several clients at the same time.
func doOnEach(t *testing.T, clients []*Client, calls int) {
	t.Helper()
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			for _, err := range doAll(t.Context(), c, "http://api.test/", calls) {
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
}

func TestASharedRateHoldsForAllClientsTogether(t *testing.T) {
	for name, pace := range map[string]Pace{"any number in flight": {PerSecond: 2}, "each of them one at a time": {PerSecond: 2, Parallel: 1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				serve, made := serveTimes(ok)
				shared := shareRate(pace)
				doOnEach(t, []*Client{sharing(shared, pace, serve), sharing(shared, pace, serve)}, jobs)
				require.Equal(t, every(500*time.Millisecond, 2*jobs, 0), made())
			})
		})
	}
}

func TestRequestsWithoutARateDoNotAskForATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve, made := serveTimes(ok)
		shared := shareRate(Pace{PerSecond: 0.001})
		doOnEach(t, []*Client{sharing(shared, Pace{}, serve)}, jobs)
		require.Equal(t, times(jobs, 0), made())
	})
}

func TestARetryAfterOfOneClientHoldsTheOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve, made := serveTimes(func(n int) (int, string, error) {
			if n == 1 {
				return 429, "2", nil
			}
			return 200, "", nil
		})
		shared := shareRate(Pace{})
		clients := []*Client{sharing(shared, Pace{}, serve), sharing(shared, Pace{}, serve), sharing(shared, Pace{}, serve)}
		var all sync.WaitGroup
		all.Go(func() { doOnEach(t, clients[:1], 1) })
		time.Sleep(time.Second) // the answer to its request has come
		all.Go(func() { doOnEach(t, clients[1:], jobs) })
		all.Wait()
		want := append([]time.Duration{0, 2100 * time.Millisecond}, times(2*jobs, 2200*time.Millisecond)...)
		require.Equal(t, want, made(), "one request of all clients goes first after the hold")
	})
}

// The requests that wait for their times when a hold begins give them back.
func TestAHoldCancelsTheTimesThatWereReserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve, made := serveTimes(func(n int) (int, string, error) {
			if n == 1 {
				return 429, "30", nil
			}
			return 200, "", nil
		})
		shared := shareRate(Pace{PerSecond: 1})
		doOnEach(t, []*Client{sharing(shared, Pace{PerSecond: 1}, serve), sharing(shared, Pace{PerSecond: 1}, serve)}, 3)
		require.Equal(t, append([]time.Duration{0}, every(time.Second, 6, 30100*time.Millisecond)...), made())
		require.GreaterOrEqual(t, shared.cancelled, 5, "the requests that had a time when the hold began")
	})
}

func TestRequestsWaitWhileTheSharedPaceIsOutOfReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve, made := serveTimes(ok)
		shared := shareRate(Pace{PerSecond: 10})
		shared.away = make(chan struct{})
		c := sharing(shared, Pace{PerSecond: 10}, serve)

		impatient, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.Do(impatient, Call{Method: "GET", URL: "http://api.test/"}, nil)
		require.ErrorIs(t, err, failure.ErrCancelled)
		require.Empty(t, made())

		time.AfterFunc(time.Minute, func() { close(shared.away) })
		var waits []Event
		onWait := func(e Event) { waits = append(waits, e) }
		_, err = c.Do(t.Context(), Call{Method: "GET", URL: "http://api.test/", OnWait: onWait}, nil)
		require.NoError(t, err)
		require.Equal(t, []time.Duration{2 * time.Minute}, made())
		require.Len(t, waits, 1)
		require.Equal(t, time.Minute, waits[0].Duration)
	})
}

// A request for a token is part of the first request after a hold, so it cannot wait for it.
func TestTokenRequestsShareTheRateAndHaveHoldsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve, made := serveTimes(func(n int) (int, string, error) {
			if n == 2 { // the first is for a token
				return 429, "5", nil
			}
			return 200, "", nil
		})
		pace := Pace{PerSecond: 1, Parallel: 1}
		pacer := NewSharedPacer(pace, shareRate(pace))
		tokens := pacedClient(Pace{}, serve, func(o *Options) { o.Pacer = pacer.WithinTurn() })
		c := pacedClient(Pace{}, serve, func(o *Options) {
			o.Pacer = pacer
			o.Auth.Obtain = func(ctx context.Context) (*Lease, error) {
				_, err := tokens.Do(ctx, Call{Method: "POST", URL: "http://api.test/token"}, nil)
				return &Lease{Renew: time.Now().Add(3500 * time.Millisecond)}, err
			}
		})
		_, err := c.Do(t.Context(), Call{Method: "GET", URL: "http://api.test/"}, nil)
		require.NoError(t, err)
		const held = 6100 * time.Millisecond // the response with the hold came at 1.1s
		require.Equal(t, []time.Duration{0, time.Second, held, held + time.Second}, made(), "token, refused, token, page")
	})
}

func TestWaitsForASharedPaceAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		serve, _ := serveTimes(ok)
		pace := Pace{PerSecond: 0.5}
		c := sharing(shareRate(pace), pace, serve)
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
