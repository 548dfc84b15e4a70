package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// issuer issues numbered tokens, of which only the latest is valid.
type issuer struct {
	issued atomic.Int64
	life   time.Duration // 0: no end
	clock  Clock
}

func (i *issuer) obtain(context.Context) (*Lease, error) {
	token := fmt.Sprintf("token-%d", i.issued.Add(1))
	lease := &Lease{Header: []Pair{{"Authorization", "Bearer " + token}}, Secrets: map[string]string{"token": token}}
	if i.life > 0 {
		lease.Renew = i.clock.Now().Add(i.life)
	}
	return lease, nil
}

// accepts reports whether a request has the latest token.
func (i *issuer) accepts(r *http.Request) bool {
	return r.Header.Get("Authorization") == fmt.Sprintf("Bearer token-%d", i.issued.Load())
}

func TestRequestsAtTheSameTimeShareOneLease(t *testing.T) {
	tokens := &issuer{}
	api, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !tokens.accepts(r) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "[]")
	})
	begun, release := make(chan struct{}), make(chan struct{})
	c, _ := clientFor(t, api.URL, func(o *Options) {
		o.Auth.Obtain = func(ctx context.Context) (*Lease, error) {
			close(begun) // a second call panics
			<-release
			return tokens.obtain(ctx)
		}
	})
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			_, err := c.Do(t.Context(), Call{Method: "GET", URL: api.URL}, nil)
			assert.NoError(t, err)
		})
	}
	<-begun
	close(release)
	all.Wait()
	require.EqualValues(t, 1, tokens.issued.Load())
	require.EqualValues(t, 20, requests.Load())
}

func TestALeaseThatEndsWhileRequestsAreUnderWayIsRenewedOnce(t *testing.T) {
	tokens := &issuer{}
	var first sync.WaitGroup
	first.Add(8)
	api, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer token-1" {
			first.Done()
			first.Wait() // all eight are refused at once
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "[]")
	})
	c, clock := clientFor(t, api.URL, func(o *Options) { o.Auth.Obtain = tokens.obtain })
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			r, err := c.Do(t.Context(), Call{Method: "GET", URL: api.URL}, nil)
			if assert.NoError(t, err) {
				assert.Equal(t, 2, r.Attempts)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 2, tokens.issued.Load())
	require.Empty(t, clock.waits, "a new token needs no wait")
}

func TestALeaseIsRenewedWhenItIsDue(t *testing.T) {
	tokens := &issuer{life: time.Minute}
	api, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.True(t, tokens.accepts(r))
		fmt.Fprint(w, "[]")
	})
	c, clock := clientFor(t, api.URL, func(o *Options) { o.Auth.Obtain, tokens.clock = tokens.obtain, o.Clock })
	for _, wait := range []time.Duration{0, 59 * time.Second, time.Second, 59 * time.Second} {
		require.NoError(t, clock.Sleep(t.Context(), wait))
		_, err := get(t, c, api.URL)
		require.Nil(t, err)
	}
	require.EqualValues(t, 2, tokens.issued.Load())
}

func TestALeaseThatIsDueOnArrivalIsUsedOnce(t *testing.T) {
	tokens := &issuer{life: -time.Hour}
	api, requests := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[]") })
	c, _ := clientFor(t, api.URL, func(o *Options) {
		o.Auth.Obtain = func(ctx context.Context) (*Lease, error) {
			lease, err := tokens.obtain(ctx)
			lease.Renew = o.Clock.Now().Add(-time.Hour)
			return lease, err
		}
	})
	_, err := get(t, c, api.URL)
	require.Nil(t, err)
	require.EqualValues(t, 1, requests.Load())
	require.EqualValues(t, 1, tokens.issued.Load())
}

func TestAnotherOriginReceivesNoLease(t *testing.T) {
	tokens := &issuer{}
	other, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Empty(t, r.Header.Get("Authorization"))
		assert.Empty(t, r.URL.RawQuery)
		w.WriteHeader(http.StatusUnauthorized) // which says nothing of the lease
	})
	api, requests := serve(t, func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "Bearer token-1", r.Header.Get("Authorization"))
		assert.Equal(t, "key=k", r.URL.RawQuery)
		http.Redirect(w, r, other.URL, http.StatusFound)
	})
	c, _ := clientFor(t, api.URL, func(o *Options) {
		o.AllowedOrigins = []string{other.URL}
		o.Auth.Obtain = func(ctx context.Context) (*Lease, error) {
			lease, err := tokens.obtain(ctx)
			lease.Query = []Pair{{"key", "k"}}
			return lease, err
		}
	})
	_, err := get(t, c, api.URL)
	require.Equal(t, failure.API, err.Class)
	require.EqualValues(t, 1, requests.Load())
	require.EqualValues(t, 1, tokens.issued.Load())
}

func TestAFailureToObtainALeaseIsNotRetriedAgain(t *testing.T) {
	down := &failure.Error{Class: failure.Transient, Op: "authenticate", Message: "down"}
	calls := 0
	c, clock := clientFor(t, "http://127.0.0.1:1/", func(o *Options) {
		o.Auth.Obtain = func(context.Context) (*Lease, error) { calls++; return nil, down }
	})
	_, err := get(t, c, "http://127.0.0.1:1/")
	require.Equal(t, failure.Transient, err.Class)
	require.Equal(t, "down", err.Message)
	require.Equal(t, 1, calls)
	require.Empty(t, clock.waits)
}

func TestACallerThatLeavesDoesNotFailTheOthers(t *testing.T) {
	tokens := &issuer{}
	api, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[]") })
	begun := make(chan struct{}, 2)
	c, _ := clientFor(t, api.URL, func(o *Options) {
		o.Auth.Obtain = func(ctx context.Context) (*Lease, error) {
			if begun <- struct{}{}; tokens.issued.Load() == 0 {
				tokens.issued.Add(1)
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return tokens.obtain(ctx)
		}
	})
	leaving, leave := context.WithCancelCause(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		_, err := c.Do(leaving, Call{Method: "GET", URL: api.URL}, nil)
		assert.ErrorIs(t, err, failure.ErrCancelled)
	})
	<-begun
	all.Go(func() {
		_, err := c.Do(t.Context(), Call{Method: "GET", URL: api.URL}, nil)
		assert.NoError(t, err)
	})
	leave(errors.New("left"))
	all.Wait()
	require.EqualValues(t, 2, tokens.issued.Load())
}

func TestAParameterOfALeaseReplacesThatOfTheRequestOrJoinsIt(t *testing.T) {
	for _, c := range []struct {
		address, replaced, joined string
	}{
		{"/a", "/a?key=k%261&region=eu", "/a?key=k%261&region=eu"},
		{"/a?region=us&n=1", "/a?region=eu&n=1&key=k%261", "/a?n=1&key=k%261&region%5B0%5D=us&region%5B1%5D=eu"},
		{"/a?n=1&region=eu", "/a?n=1&region=eu&key=k%261", "/a?n=1&key=k%261&region%5B0%5D=eu"},
		{"/a?regio%6E=%75s", "/a?region=eu&key=k%261", "/a?key=k%261&region%5B0%5D=us&region%5B1%5D=eu"},
		{"/a?region=us&key=0", "/a?region=eu&key=k%261", "/a?key%5B0%5D=0&key%5B1%5D=k%261&region%5B0%5D=us&region%5B1%5D=eu"},
		{"/a?region=&region=x", "/a?region=eu&key=k%261", "/a?key=k%261&region%5B0%5D=&region%5B1%5D=x&region%5B2%5D=eu"},
	} {
		lease := Lease{Query: []Pair{{"key", "k&1"}, {"region", "eu"}}}
		assert.Equal(t, c.replaced, lease.address(c.address))
		lease.Lists = true
		assert.Equal(t, c.joined, lease.address(c.address), c.address)
	}
}
