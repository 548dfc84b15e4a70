package cluster_test

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/fixtures"
)

// A transportFunc is a transport that is a function.
type transportFunc func(*http.Request) (*http.Response, error)

func (f transportFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func fails(err error) transportFunc {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

func answers(status int) transportFunc {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("no")), Request: r}, nil
	}
}

// brokenMachines are the ways in which one worker fails where others succeed.
var brokenMachines = map[string]transportFunc{
	"name resolution":    fails(&net.DNSError{Err: "no such host", Name: "api.test", IsNotFound: true}),
	"resolver":           fails(&net.DNSError{Err: "server misbehaving", Name: "api.test", IsTemporary: true}),
	"connection":         fails(&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}),
	"certificate":        fails(&tls.CertificateVerificationError{Err: errors.New("signed by unknown authority")}),
	"proxy":              fails(&net.OpError{Op: "proxyconnect", Net: "tcp", Err: syscall.ECONNREFUSED}),
	"proxy that says no": fails(errors.New(http.StatusText(http.StatusProxyAuthRequired))),
	"401":                answers(http.StatusUnauthorized),
	"403":                answers(http.StatusForbidden),
	"407":                answers(http.StatusProxyAuthRequired),
}

// A worker that fails where another one succeeds fails no partition. It leaves the API alone, and
// says so.
func TestABrokenWorkerFailsNobodysPartitions(t *testing.T) {
	for name, machine := range brokenMachines {
		t.Run(name, func(t *testing.T) {
			if name != "connection" && name != "403" {
				fixtures.SkipUnderRace(t, "a failure and a refusal have the same goroutines as the others")
			}
			t.Parallel()
			began := time.Now()
			a := serveAPI(t, 20)
			nc := startServer(t)
			var tries atomic.Int64
			count := transportFunc(func(r *http.Request) (*http.Response, error) {
				tries.Add(1)
				return machine(r)
			})
			var log fixtures.Buffer
			bad := open(t, connectTo(t, nc), cluster.Hour(cluster.Options{Engine: []engine.Option{engine.WithTransport(count)}, Log: slog.New(slog.NewTextHandler(&log, nil))}))
			good := open(t, nc, cluster.Options{})
			run := submit(t, good, a.config())
			work(t, bad, cluster.Worker{Name: "bad"})
			require.Eventually(t, func() bool {
				return strings.Contains(log.String(), "this worker sends the API no requests for at least ")
			}, 20*time.Second, 10*time.Millisecond)
			require.Contains(t, log.String(), "a partition is tried again, by another worker if there is one")
			work(t, good, cluster.Worker{Name: "good"})
			requireAll(t, run, a)
			s, err := run.Status(t.Context())
			require.NoError(t, err)
			require.Equal(t, status.Complete, s.Phase)
			// The partitions are tried once or twice; after that, the origin is tried once in a pause, which grows.
			// Without pauses there would be hundreds of tries in a second.
			pauses := time.Since(began) / cluster.LongestProbe(good)
			require.Less(t, tries.Load(), 40+int64(pauses))
		})
	}
}

// A failure is final when two workers have had it.
func TestAPartitionHasFailedWhenTwoWorkersHaveFailedIt(t *testing.T) {
	a := serveAPI(t, 5)
	a.answerTeam3(http.StatusForbidden)
	nc := startServer(t)
	join := func(nc *nats.Conn) (*cluster.Cluster, *atomic.Int64) {
		var refusals atomic.Int64
		count := transportFunc(func(r *http.Request) (*http.Response, error) {
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err == nil && resp.StatusCode == http.StatusForbidden {
				refusals.Add(1)
			}
			return resp, err
		})
		// Nobody is alone for long enough.
		return open(t, nc, cluster.Hour(cluster.Options{Engine: []engine.Option{engine.WithTransport(count)}})), &refusals
	}
	first, refused := join(nc)
	second, refusedAgain := join(connectTo(t, nc))
	run := submit(t, first, a.config())
	stop := work(t, first, cluster.Worker{Name: "one"})
	// The second attempt of this worker begins after the failure of the first one has been stored.
	s := await(t, run, func(s *status.Run) bool { return s.Total.Done == 5 && refused.Load() > 1 })
	require.Zero(t, s.Total.Failed)
	stop()
	work(t, second, cluster.Worker{Name: "two"})
	await(t, run, func(s *status.Run) bool { return s.Phase == status.Failed && s.Total.Failed == 1 })
	require.EqualValues(t, 1, refusedAgain.Load())
}

// A worker that the API does not answer decides nothing about a partition that the API has refused to another
// one: otherwise the partition fails with the error of a worker that is broken.
func TestAWorkerWithoutAnAnswerDecidesNothing(t *testing.T) {
	a := serveAPI(t, 5)
	a.answerTeam3(http.StatusForbidden)
	nc := startServer(t)
	var refusals, tries atomic.Int64
	good := open(t, nc, cluster.Hour(cluster.Options{Engine: []engine.Option{engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
		resp, err := http.DefaultTransport.RoundTrip(r)
		if err == nil && resp.StatusCode == http.StatusForbidden {
			refusals.Add(1)
		}
		return resp, err
	}))}}))
	broken := open(t, connectTo(t, nc), cluster.Hour(cluster.Options{Engine: []engine.Option{engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
		tries.Add(1)
		return brokenMachines["certificate"](r)
	}))}}))
	run := submit(t, good, a.config())
	stop := work(t, good, cluster.Worker{Name: "good"})
	await(t, run, func(s *status.Run) bool { return s.Total.Done == 5 && refusals.Load() > 1 })
	stop()
	stop = work(t, broken, cluster.Worker{Name: "broken"})
	// The second attempt begins after the failure of the first one has been stored.
	s := await(t, run, func(*status.Run) bool { return tries.Load() > 1 })
	require.Zero(t, s.Total.Failed)
	stop()
	work(t, good, cluster.Worker{Name: "good"})
	s = await(t, run, func(s *status.Run) bool { return s.Phase == status.Failed })
	require.Contains(t, s.Failed[0].Error.Message, "403")
}

// An outage fails nothing until the patience of the run ends.
func TestAnOutageEndsByItself(t *testing.T) {
	for name, outage := range map[string]func(http.ResponseWriter, *http.Request){
		"503": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
		"429": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"items"`)
		},
		"no answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := serveAPI(t, 10)
			var down atomic.Bool
			var once sync.Once
			var attempts atomic.Int64
			front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/teams/5") {
					once.Do(func() { down.Store(true) })
				}
				if down.Load() {
					attempts.Add(1)
					outage(w, r)
					return
				}
				a.serve(w, r)
			}))
			t.Cleanup(front.Close)
			a.URL = front.URL
			c := open(t, startServer(t), cluster.Options{})
			run := submit(t, c, a.config())
			work(t, c, cluster.Worker{Slots: 2}, cluster.Worker{Slots: 2})
			require.Eventually(t, func() bool { return attempts.Load() >= 8 }, time.Minute, 10*time.Millisecond)
			// Workers report their problems after a while.
			s := await(t, run, func(s *status.Run) bool { return slices.Contains(warnings(s), "problem") })
			require.Zero(t, s.Total.Failed)
			down.Store(false)
			requireAll(t, run, a)
		})
	}
}

func TestAnOutageThatOutlastsThePatienceIsAFailure(t *testing.T) {
	var attempts atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		attempts.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(api.Close)
	c := open(t, startServer(t), cluster.Options{})
	config := fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "http": {"maxRetries": 0}}, "config": {"jobs": [{"endpoint": "teams"}]}}`, api.URL)
	submission := cluster.Submission{Run: "r1", Name: "c.json", Text: config, Patience: time.Hour}
	_, submitted := c.Submit(t.Context(), submission)
	require.NoError(t, submitted)
	work(t, c, cluster.Worker{})
	require.Eventually(t, func() bool { return attempts.Load() >= 3 }, time.Minute, 10*time.Millisecond)
	submission.Patience = 100 * time.Millisecond // the worker hears of it
	run, err := c.Submit(t.Context(), submission)
	require.NoError(t, err)
	s := await(t, run, func(s *status.Run) bool { return s.Phase == status.Failed })
	require.Equal(t, "transient", s.Failed[0].Error.Class)
}

// connectTo connects to a server that another connection uses.
func connectTo(t *testing.T, nc *nats.Conn) *nats.Conn {
	t.Helper()
	other, err := nats.Connect(nc.ConnectedUrl(), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
	require.NoError(t, err)
	t.Cleanup(other.Close)
	return other
}
