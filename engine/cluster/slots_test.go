package cluster_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
)

func TestAWorkerThatCannotHaveItsSlotsIsRefused(t *testing.T) {
	c := open(t, startServer(t), cluster.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := c.Work(ctx, cluster.Worker{Slots: -1})
	require.ErrorIs(t, err, engine.ErrConfig)
	require.ErrorContains(t, err, "a worker cannot have -1 slots")
}

// While the end of a partition is stored, its slot is free, but no more ends are stored than there are
// slots.
func TestASlotIsFreeWhileAnEndIsStored(t *testing.T) {
	var requests atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		fmt.Fprint(w, `[{"id":1}]`)
	}))
	t.Cleanup(api.Close)
	stored := make(chan bool)
	c := open(t, startServer(t), cluster.LosingAcks(cluster.Options{}, func() bool { <-stored; return false }))
	run := submit(t, c, fmt.Appendf(nil, `{"api": {"baseUrl": %q}, "config": {"jobs": [
		{"endpoint": "a"}, {"endpoint": "b"}, {"endpoint": "c"}, {"endpoint": "d"}]}}`, api.URL))
	work(t, c, cluster.Worker{Slots: 1})
	require.Eventually(t, func() bool { return requests.Load() == 2 }, time.Minute, time.Millisecond)
	require.Never(t, func() bool { return requests.Load() > 2 }, 100*time.Millisecond, time.Millisecond)
	close(stored)
	part := &collector{run: run}
	_, err := part.collect(t, cluster.CollectOptions{})
	require.NoError(t, err)
	require.Len(t, part.items, 4)
}

// A worker does not ask the server for pages of a task that nobody has had. If there are pages
// nevertheless, because the task was queued again after its end, it asks for them before it stores
// another one.
func TestATaskThatIsQueuedAgainAfterItsEndIsNotRunAgain(t *testing.T) {
	a := serveAPI(t, 1)
	nc := startServer(t)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	var looks atomic.Int64
	_, err = nc.Subscribe("$JS.API.STREAM.MSG.GET.STOPWHEN_RUN_r1", func(*nats.Msg) { looks.Add(1) })
	require.NoError(t, err)
	c := open(t, nc, cluster.Options{})
	run := submit(t, c, a.config())
	queue, err := js.Stream(t.Context(), "STOPWHEN_WORK")
	require.NoError(t, err)
	task, err := queue.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	work(t, c, cluster.Worker{})
	awaitQueue := func() {
		t.Helper()
		require.Eventually(t, func() bool {
			info, err := queue.Info(t.Context())
			return err == nil && info.State.Msgs == 0
		}, time.Minute, time.Millisecond)
	}
	requireAll(t, run, a)
	awaitQueue()
	require.Zero(t, looks.Load())
	pages, err := js.Stream(t.Context(), "STOPWHEN_RUN_r1")
	require.NoError(t, err)
	before := pages.CachedInfo().State.LastSeq

	_, err = js.Publish(t.Context(), task.Subject, task.Data)
	require.NoError(t, err)
	awaitQueue()
	require.NotZero(t, looks.Load())
	info, err := pages.Info(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, info.State.LastSeq, "no page was stored twice")
	requireAll(t, run, a)
}
