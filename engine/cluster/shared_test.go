package cluster_test

import (
	"context"
	"log/slog"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster"
)

// configs returns how many configurations are on the server.
func configs(t *testing.T, nc *nats.Conn) (n int) {
	t.Helper()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	bucket, err := js.KeyValue(t.Context(), "STOPWHEN_CONFIGS")
	require.NoError(t, err)
	keys, err := bucket.ListKeys(t.Context())
	require.NoError(t, err)
	for range keys.Keys() {
		n++
	}
	return n
}

func TestNothingRemainsOfRunsThatAreDeleted(t *testing.T) {
	a, other := serveAPI(t, 1), serveAPI(t, 1)
	nc := startServer(t)
	c := open(t, nc, cluster.Options{})
	var runs []*cluster.Run
	for _, s := range []cluster.Submission{{Run: "a1", Text: a.config()}, {Run: "a2", Text: a.config()}, {Run: "b", Text: other.config()}} {
		s.Name = "c.json"
		run, err := c.Submit(t.Context(), s)
		require.NoError(t, err)
		runs = append(runs, run)
	}
	for i, run := range runs {
		require.NoError(t, run.Delete(t.Context()))
		require.Equal(t, len(runs)-1-i, configs(t, nc))
	}
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	work, err := js.Stream(t.Context(), "STOPWHEN_WORK")
	require.NoError(t, err)
	queues := work.ListConsumers(t.Context())
	for queue := range queues.Info() {
		require.Positive(t, queue.Config.InactiveThreshold, "the server removes it")
	}
	require.NoError(t, queues.Err())
	for _, bucket := range []string{"KV_STOPWHEN_RUNS", "KV_STOPWHEN_CONFIGS"} {
		stream, err := js.Stream(t.Context(), bucket)
		require.NoError(t, err)
		require.Positive(t, stream.CachedInfo().Config.SubjectDeleteMarkerTTL)
		last, err := stream.GetMsg(t.Context(), stream.CachedInfo().State.LastSeq)
		require.NoError(t, err)
		require.NotEmpty(t, last.Header.Get("Nats-TTL"), "the server forgets that it was deleted")
	}
}

// Deleting a run leaves the configuration of another run of the same API.
func TestASubmissionLosesNothingToADeletion(t *testing.T) {
	a := serveAPI(t, 1)
	nc := startServer(t)
	c := open(t, nc, cluster.Options{})
	old := submit(t, c, a.config())
	run, err := c.Submit(t.Context(), cluster.Submission{Run: "r2", Name: "c.json", Text: a.config()})
	require.NoError(t, err)
	require.NoError(t, old.Delete(t.Context()))
	work(t, c, cluster.Worker{})
	requireAll(t, run, a)
}

// The program that submitted the run died before its configuration was stored.
func TestASubmissionStoresAConfigurationThatIsMissing(t *testing.T) {
	a := serveAPI(t, 1)
	nc := startServer(t)
	c := open(t, nc, cluster.Options{})
	run := submit(t, c, a.config())
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	bucket, err := js.KeyValue(t.Context(), "STOPWHEN_CONFIGS")
	require.NoError(t, err)
	require.NoError(t, bucket.Delete(t.Context(), run.Token()))
	_, err = c.Run(t.Context(), run.ID())
	require.ErrorContains(t, err, "submit the run again")
	submit(t, c, a.config())
	work(t, c, cluster.Worker{})
	requireAll(t, run, a)
}

// The server has removed the queue, since no worker has asked for it in a month.
func TestAWorkerPreparesAQueueThatIsMissing(t *testing.T) {
	a := serveAPI(t, 1)
	nc := startServer(t)
	c := open(t, nc, cluster.Options{})
	run := submit(t, c, a.config())
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	queue, err := js.Stream(t.Context(), "STOPWHEN_WORK")
	require.NoError(t, err)
	for name := range queue.ConsumerNames(t.Context()).Name() {
		require.NoError(t, queue.DeleteConsumer(t.Context(), name))
	}
	work(t, c, cluster.Worker{})
	requireAll(t, run, a)
}

// recordsOf returns a logger that sends the messages of its records.
func recordsOf(messages chan<- string) *slog.Logger {
	return slog.New(&capture{messages: messages})
}

type capture struct {
	slog.Handler
	messages chan<- string
}

func (c *capture) Enabled(context.Context, slog.Level) bool { return true }
func (c *capture) WithAttrs([]slog.Attr) slog.Handler       { return c }
func (c *capture) WithGroup(string) slog.Handler            { return c }
func (c *capture) Handle(_ context.Context, r slog.Record) error {
	select {
	case c.messages <- r.Message:
	default:
	}
	return nil
}

// One run was submitted by a newer version, and the record of another one is damaged. The
// others go on.
func TestARecordThatCannotBeReadStopsNoOtherRun(t *testing.T) {
	a := serveAPI(t, 2)
	nc := startServer(t)
	messages := make(chan string, 1000)
	c := open(t, nc, cluster.Options{Log: recordsOf(messages)})
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	bucket, err := js.KeyValue(t.Context(), "STOPWHEN_RUNS")
	require.NoError(t, err)
	for id, text := range map[string]string{"newer": `{"version": 99, "phase": "running"}`, "damaged": `{"version`} {
		_, err := bucket.Put(t.Context(), id, []byte(text))
		require.NoError(t, err)
	}
	run := submit(t, c, a.config())
	work(t, c, cluster.Worker{})
	requireAll(t, run, a)

	runs, err := c.Runs(t.Context())
	require.NoError(t, err)
	require.Len(t, runs, 1)
	var told []string
	for len(messages) > 0 {
		told = append(told, <-messages)
	}
	require.Contains(t, told,
		"the record of run newer cannot be read: it has version 99, this program reads version 2 (use the program that submitted the run)")
	all, err := c.Overview(t.Context())
	require.NoError(t, err)
	require.Len(t, all.Runs, 1)
	require.Len(t, all.Unreadable, 2)
}
