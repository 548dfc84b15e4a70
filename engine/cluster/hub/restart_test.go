package hub_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/hub"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

// A hub is restarted under the accounts of the guide. Workers and readers, old and new ones, go on
// without a submitter, also with a shared pace.
func TestARestartNeedsNobody(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `[{"id": 1}]`) }))
	t.Cleanup(api.Close)
	s := accounts(t)
	open := func(user, secret string) *cluster.Cluster {
		js, err := jetstream.New(connect(t, s.URL(), nats.UserInfo(user, "password-of-"+secret),
			nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.ReconnectWait(50*time.Millisecond)))
		require.NoError(t, err)
		c, err := cluster.Open(t.Context(), js, cluster.Options{})
		require.NoError(t, err)
		return c
	}
	run, err := open("sales-submit", "SALES_SUBMIT").Submit(t.Context(), cluster.Submission{Run: "orders", Name: "c.json", Text: fmt.Appendf(nil,
		`{"api": {"baseUrl": "%s/", "http": {"requestsPerSecond": 30}}, "config": {"jobs": [
		  {"id": "lists", "endpoint": "{n.from}", "for": {"n": {"from": 0, "to": 150, "step": 1}}}]}}`, api.URL)})
	require.NoError(t, err)
	work := func() (stop func()) {
		c := open("sales-worker", "SALES_WORKER")
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- c.Work(ctx, cluster.Worker{Slots: 2}) }()
		stop = sync.OnceFunc(func() { cancel(); require.NoError(t, <-ended) })
		t.Cleanup(stop)
		return stop
	}
	stop := work()
	reader := open("sales-reader", "SALES_READER")
	seen, err := reader.Run(t.Context(), run.ID())
	require.NoError(t, err)
	await := func(done int) {
		t.Helper()
		require.Eventually(t, func() bool {
			s, err := seen.Status(t.Context())
			require.NoError(t, err)
			require.Zero(t, s.Total.Failed)
			return s.Total.Done >= done && (done < 150 || s.Phase == status.Complete)
		}, time.Minute, 20*time.Millisecond)
	}
	await(10)
	options := hub.Options{ConfigFile: "testdata/accounts.conf", Dir: s.Dir(), Listen: s.Addr()}
	s.Shutdown()
	require.NoError(t, s.Wait())
	s, err = hub.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { s.Shutdown(); _ = s.Wait() })

	await(20) // the worker that was there goes on
	stop()
	late, err := open("sales-reader", "SALES_READER").Run(t.Context(), run.ID())
	require.NoError(t, err)
	_, err = late.Status(t.Context())
	require.NoError(t, err, "a reader needs no bucket in memory")
	work()
	await(150)
	e, err := late.Engine()
	require.NoError(t, err)
	items := 0
	_, err = late.Collect(t.Context(), e, func(_ context.Context, page *engine.Page) error {
		items += page.Items.Len()
		return nil
	}, cluster.CollectOptions{})
	require.NoError(t, err)
	require.Equal(t, 150, items)
}

// restarted starts a hub at an address that another one had.
func restarted(t *testing.T, listen, dir string) {
	t.Helper()
	s, err := hub.Start(t.Context(), hub.Options{Dir: dir, Listen: listen})
	require.NoError(t, err)
	t.Cleanup(func() { s.Shutdown(); _ = s.Wait() })
}

// opened opens the runs of a hub without accounts.
func opened(t *testing.T, s *hub.Server) *cluster.Cluster {
	t.Helper()
	js, err := jetstream.New(connect(t, s.URL(), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.ReconnectWait(50*time.Millisecond)))
	require.NoError(t, err)
	c, err := cluster.Open(t.Context(), js, cluster.Options{})
	require.NoError(t, err)
	return c
}

// The connection breaks after a worker has opened the runs, and before it takes tasks.
func TestAWorkerWaitsForAServerThatGoesAwayWhileItStarts(t *testing.T) {
	s := start(t, hub.Options{Dir: t.TempDir(), Listen: anyPort})
	c, listen, dir := opened(t, s), s.Addr(), s.Dir()
	s.Shutdown()
	require.NoError(t, s.Wait())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Work(ctx, cluster.Worker{Name: "w"}) }()
	select {
	case err := <-ended:
		require.Fail(t, "it has ended", "%v", err)
	case <-time.After(300 * time.Millisecond):
	}
	restarted(t, listen, dir)
	require.Eventually(t, func() bool {
		all, err := c.Overview(t.Context())
		return err == nil && all.Workers.Count == 1
	}, time.Minute, 20*time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
}

// A hub that is started with an empty directory does not have the runs any more.
func TestAWorkerOfAServerThatIsEmptySaysSo(t *testing.T) {
	s := start(t, hub.Options{Dir: t.TempDir(), Listen: anyPort})
	c, listen := opened(t, s), s.Addr()
	_, err := c.Submit(t.Context(), cluster.Submission{Run: "orders", Name: "c.json",
		Text: []byte(`{"api": {"baseUrl": "http://127.0.0.1:1/"}, "config": {"jobs": [{"endpoint": "orders"}]}}`)})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- c.Work(t.Context(), cluster.Worker{Name: "w"}) }()
	require.Eventually(t, func() bool {
		all, err := c.Overview(t.Context())
		return err == nil && all.Workers.Count == 1
	}, time.Minute, 20*time.Millisecond)
	s.Shutdown()
	require.NoError(t, s.Wait())
	restarted(t, listen, t.TempDir())
	err = <-ended
	require.ErrorIs(t, err, engine.ErrState)
	require.ErrorContains(t, err, "the NATS server no longer has the runs")
}

// A reader asks for the status before any worker has created what the server had in memory.
func TestAReaderNeedsNothingThatTheServerHadInMemory(t *testing.T) {
	s := accounts(t)
	submitter := as(t, s, "sales-submit", "SALES_SUBMIT")
	require.NoError(t, submitter.CreateRun(t.Context(), run, "s", 0))
	options := hub.Options{ConfigFile: "testdata/accounts.conf", Dir: s.Dir(), Listen: s.Addr()}
	s.Shutdown()
	require.NoError(t, s.Wait())
	s, err := hub.Start(t.Context(), options)
	require.NoError(t, err)
	t.Cleanup(func() { s.Shutdown(); _ = s.Wait() })
	reader := as(t, s, "sales-reader", "SALES_READER")
	workers, err := reader.Workers(t.Context())
	require.NoError(t, err)
	require.Empty(t, workers)
	require.Empty(t, reader.refused)
}
