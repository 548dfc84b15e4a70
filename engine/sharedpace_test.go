package engine_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A countingPace is a shared pace that lets every request go, and counts.
type countingPace struct {
	mu     sync.Mutex
	times  []transport.Pace         // that were reserved
	begun  map[string]time.Duration // holds, by their names
	firsts int                      // requests that left a hold
}

func (p *countingPace) Reserve(pace transport.Pace) transport.Reservation {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.times = append(p.times, pace)
	return atOnce{}
}

func (p *countingPace) Hold(name string) transport.Hold { return &countingHold{atOnce{}, p, name} }

// atOnce is a time that is now, and a hold that keeps no request.
type atOnce struct{}

func (atOnce) Wait(context.Context) (time.Duration, error)       { return 0, nil }
func (atOnce) Cancel()                                           {}
func (atOnce) State() (time.Duration, <-chan struct{})           { return 0, nil }
func (atOnce) Enter(context.Context) (first, ok bool, err error) { return true, true, nil }

type countingHold struct {
	atOnce
	pace *countingPace
	name string
}

func (h *countingHold) Begin(wait time.Duration) {
	h.pace.mu.Lock()
	defer h.pace.mu.Unlock()
	h.pace.begun[h.name] = wait
}

func (h *countingHold) Leave() {
	h.pace.mu.Lock()
	defer h.pace.mu.Unlock()
	h.pace.firsts++
}

func TestASharedPaceHasTheRequestsOfARunAndItsTokens(t *testing.T) {
	requests := 0
	serve := transportFunc(func(r *http.Request) (*http.Response, error) {
		if requests++; requests == 1 {
			return respond(r, `{"access_token": "abc", "token_type": "Bearer", "expires_in": 3600}`)
		}
		answer, err := respond(r, `[{"id": 1}]`)
		if requests == 2 {
			answer.StatusCode = http.StatusTooManyRequests
			answer.Header.Set("Retry-After", "7")
		}
		return answer, err
	})
	pace := &countingPace{begun: map[string]time.Duration{}}
	e := load(t, []byte(`{"api": {"baseUrl": "https://api.test/", "http": {"requestsPerSecond": 5, "burst": 3},
		"authentication": {"type": "oauth2", "grant": "client_credentials", "tokenUrl": "https://api.test/token", "clientId": "me", "#clientSecret": "s3cret"}},
		"config": {"jobs": [{"endpoint": "users", "dataField": "."}]}}`),
		engine.WithTransport(serve), engine.WithClock(instant{}), engine.WithSharedPace(pace))
	_, err := e.Run(t.Context(), discard)
	require.NoError(t, err)
	want := transport.Pace{PerSecond: 5, Burst: 3}
	require.Equal(t, []transport.Pace{want, want, want}, pace.times, "a token, a request that was refused, and the page")
	require.Equal(t, map[string]time.Duration{"https://api.test": 7 * time.Second}, pace.begun)
	require.Equal(t, 3, pace.firsts, "every request that goes first leaves")
}
