package cluster_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

// paged is a run with a list in which every page after the first waits.
const paged = `{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [{"id": "orders", "endpoint": "orders"}]}}`

func TestAPartitionThatRunsHasItsPagesAndItsWorker(t *testing.T) {
	open1 := make(chan struct{})
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("page") == "2" {
			<-open1
		}
		fmt.Fprint(w, `[{"id": 1}]`)
	}))
	t.Cleanup(api.Close)
	t.Cleanup(func() { close(open1) })
	c := open(t, startServer(t), cluster.Options{})
	run, err := c.Submit(t.Context(), cluster.Submission{Run: "paged", Name: "c.json", Text: fmt.Appendf(nil, paged, api.URL)})
	require.NoError(t, err)
	work(t, c, cluster.Worker{Name: "w", Slots: 1})
	s := await(t, run, func(s *status.Run) bool { return s.Total.Pages == 1 && len(s.Running) == 1 && s.Running[0].Pages == 1 })
	require.Equal(t, status.Counts{Partitions: 1, Running: 1, Pages: 1, Items: 1, Bytes: s.Total.Bytes}, s.Total)
	require.Equal(t, []string{"w", "running"}, []string{s.Running[0].Worker, string(s.Running[0].State)})
	waiting, err := run.Partitions(t.Context(), func(p status.Partition) error {
		require.Equal(t, s.Running[0], p)
		return nil
	})
	require.NoError(t, err)
	require.Zero(t, waiting)
}

// putWorker stores what a worker would have said of itself.
func putWorker(t *testing.T, nc *nats.Conn, name, record string) {
	t.Helper()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	workers, err := js.KeyValue(t.Context(), "STOPWHEN_WORKERS")
	require.NoError(t, err)
	_, err = workers.PutString(t.Context(), name, record)
	require.NoError(t, err)
}

func TestAWorkerIsSilentForTheRunsThatItKnew(t *testing.T) {
	nc := startServer(t)
	c := open(t, nc, cluster.Options{})
	submit := func(id string) *cluster.Run {
		run, err := c.Submit(t.Context(), cluster.Submission{Run: id, Name: "c.json", Text: fmt.Appendf(nil, paged, "http://127.0.0.1:1")})
		require.NoError(t, err)
		return run
	}
	early := submit("early")
	putWorker(t, nc, "dead", `{"host": "h", "slots": 4, "running": [{"run": "early", "job": "orders", "task": "0"}]}`)
	time.Sleep(10 * time.Millisecond) // the clocks of both are that of this machine
	late := submit("late")
	c = open(t, nc, cluster.SilentAtOnce(cluster.Options{}))
	early, err := c.Run(t.Context(), early.ID())
	require.NoError(t, err)
	s, err := early.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"noWorkers", "silent"}, warnings(s))
	require.Equal(t, "dead", s.Workers.List[0].Name)
	require.True(t, s.Workers.List[0].Silent)
	require.Zero(t, s.Workers.Count+s.Workers.Slots+s.Workers.Running, "silent workers do nothing")
	late, err = c.Run(t.Context(), late.ID())
	require.NoError(t, err)
	s, err = late.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"noWorkers"}, warnings(s))
	require.Empty(t, s.Workers.List)
}

func TestAFailureThatIsQueuedAgainWaits(t *testing.T) {
	api := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(api.Close)
	c := open(t, startServer(t), cluster.Options{})
	submission := cluster.Submission{Run: "failing", Name: "c.json", Text: fmt.Appendf(nil,
		`{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [
		  {"id": "teams", "endpoint": "teams/{team}", "for": {"team": {"values": ["a", "b", "c"]}}}]}}`, api.URL)}
	run, err := c.Submit(t.Context(), submission)
	require.NoError(t, err)
	stop := work(t, c, cluster.Worker{Slots: 2})
	s := await(t, run, func(s *status.Run) bool { return s.Phase == status.Failed })
	stop()
	require.Equal(t, 3, s.Total.Failed)

	n, err := run.Retry(t.Context(), s.Failed[0].Task)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	again := await(t, run, func(s *status.Run) bool { return s.Phase == status.Running }) // the server counts it shortly after
	require.Equal(t, []int{2, 1, 2}, []int{again.Total.Failed, again.Total.Waiting, len(again.Failed)})

	// Submitting it again queues no failures: what it sends has no effect on them.
	run, err = c.Submit(t.Context(), submission)
	require.NoError(t, err)
	require.Equal(t, &cluster.Resubmission{Failed: 2}, run.Resubmission())
	again, err = run.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{2, 1, 2}, []int{again.Total.Failed, again.Total.Waiting, len(again.Failed)})
}

func TestARunThatIsFullIsLoggedOnce(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `[{"id": %q}]`, strings.Repeat(r.FormValue("page"), 20_000))
	}))
	t.Cleanup(api.Close)
	log := &bytes.Buffer{}
	c := open(t, startServer(t), cluster.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	run, err := c.Submit(t.Context(), cluster.Submission{Run: "full", Name: "c.json", MaxBytes: 12_000, Text: fmt.Appendf(nil,
		`{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [
		  {"id": "teams", "endpoint": "teams/{team}", "for": {"team": {"values": ["a", "b", "c", "d"]}}}]}}`, api.URL)})
	require.NoError(t, err)
	stop := work(t, c, cluster.Worker{Slots: 4})
	s := await(t, run, func(s *status.Run) bool { return s.Total.Running == 4 && slices.Equal(warnings(s), []string{"full"}) })
	require.Contains(t, s.Warnings[0].Hint, "CollectOptions.Release would delete nothing", "no page is stored")
	require.Eventually(t, func() bool { return cluster.Waits(c, "full") >= 10 }, time.Minute, 10*time.Millisecond, "attempts that are not logged")
	stop()
	require.Equal(t, 1, strings.Count(log.String(), "pages wait until the server has room: maximum bytes exceeded"), log)
}
