package cluster_test

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
)

// What a deletion that failed has left of a run cannot be taken for the run: its pages would be
// stored from the beginning, and a collection would continue in the middle of them.
func TestARunThatWasDeletedInPartCanOnlyBeDeleted(t *testing.T) {
	a := serveAPI(t, 1)
	c := open(t, startServer(t), cluster.Options{})
	run := submit(t, c, a.config())
	first := cluster.SubmissionOf(run)
	require.NoError(t, cluster.MarkDeleted(t.Context(), run))
	for what, err := range map[string]error{
		"submit": func() error {
			_, err := c.Submit(t.Context(), cluster.Submission{Run: "r1", Name: "c.json", Text: a.config()})
			return err
		}(),
		"collect": func() error { _, err := (&collector{run: run}).collect(t, cluster.CollectOptions{}); return err }(),
	} {
		require.ErrorIs(t, err, engine.ErrState, what)
		require.ErrorContains(t, err, "run r1 was deleted only in part", what)
	}
	left, err := c.Run(t.Context(), "r1")
	require.NoError(t, err)
	require.NoError(t, left.Delete(t.Context()))
	require.NotEqual(t, first, cluster.SubmissionOf(submit(t, c, a.config())))
}

func TestACollectionDoesNotContinueInPagesThatReplaceThoseItHasRead(t *testing.T) {
	a := serveAPI(t, 4)
	nc := startServer(t)
	c := open(t, nc, cluster.Options{})
	run := submit(t, c, a.config())
	stop := work(t, c, cluster.Worker{})
	some := &collector{run: run, stop: 3}
	_, err := some.collect(t, cluster.CollectOptions{})
	require.ErrorIs(t, err, errStopped)
	stop()

	js, err := jetstream.New(nc)
	require.NoError(t, err)
	require.NoError(t, js.DeleteStream(t.Context(), "STOPWHEN_RUN_r1")) // by an administrator
	work(t, c, cluster.Worker{})
	again := &collector{run: submit(t, c, a.config()), checkpoints: some.checkpoints}
	_, err = again.collect(t, cluster.CollectOptions{})
	require.ErrorIs(t, err, engine.ErrState)
	require.ErrorContains(t, err, "the pages of run r1 have been deleted since, and others are stored")
	require.Empty(t, again.items)
}

// Buckets that others have created may keep what says that a record was deleted.
func TestARunIsDeletedFromBucketsWhoseMarkersDoNotExpire(t *testing.T) {
	a := serveAPI(t, 1)
	nc := startServer(t)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	for _, bucket := range []string{"STOPWHEN_RUNS", "STOPWHEN_CONFIGS"} {
		_, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: bucket})
		require.NoError(t, err)
	}
	c := open(t, nc, cluster.Options{})
	require.NoError(t, submit(t, c, a.config()).Delete(t.Context()))
	runs, err := c.Runs(t.Context())
	require.NoError(t, err)
	require.Empty(t, runs)
	require.Zero(t, configs(t, nc))
}

func TestAnAddressWithAQueryIsNotStored(t *testing.T) {
	c := open(t, startServer(t), cluster.Options{})
	text := []byte(`{"api": {"baseUrl": "https://api.test/?token=hunter2"}, "config": {"jobs": [{"endpoint": "users"}]}}`)
	_, err := c.Submit(t.Context(), cluster.Submission{Run: "r1", Name: "c.json", Text: text})
	require.ErrorContains(t, err, "api.baseUrl has a query, which requests do not have, and which may be secret")
	require.NotContains(t, err.Error(), "hunter2")
}
