package main

import (
	"path/filepath"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster/hub"
)

// A newer version has submitted a run. This one shows that it is there, and goes on with the
// others.
func TestARunOfANewerVersionIsShownAsUnreadable(t *testing.T) {
	t.Parallel()
	url := startTestHub(t, hub.Options{})
	config := write(t, filepath.Join(t.TempDir(), "config.json"),
		`{"api": {"baseUrl": "http://127.0.0.1:1/"}, "config": {"jobs": [{"id": "a", "endpoint": "a"}]}}`)
	call(t, "submit", config, "-q", "--run", "r1", "--nats", url)
	conn, err := nats.Connect(url)
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	runs, err := js.KeyValue(t.Context(), "STOPWHEN_RUNS")
	require.NoError(t, err)
	_, err = runs.PutString(t.Context(), "newer", `{"version": 2}`)
	require.NoError(t, err)

	call(t, "submit", config, "-q", "--run", "r2", "--nats", url)
	out := call(t, "status", "--nats", url)
	require.Contains(t, out, "the record of run newer cannot be read: it has version 2, this program reads version 1")
	require.Regexp(t, `(?m)^r1 .*\n?`, out)
	require.Regexp(t, `(?m)^r2 .*\n?`, out)
	require.Contains(t, call(t, "status", "--format", "json", "--nats", url), `"unreadable"`)
	call(t, "cancel", "r1", "--nats", url)
}
