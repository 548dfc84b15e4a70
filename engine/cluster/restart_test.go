package cluster_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/hub"
)

// The records of workers are in the memory of the server. A worker that is connected again does not
// wait for its next report.
func TestAWorkerIsKnownAtOnceAfterARestart(t *testing.T) {
	o := hub.Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"}
	s, err := hub.Start(t.Context(), o)
	require.NoError(t, err)
	nc, err := nats.Connect(s.URL(), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.ReconnectWait(20*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	c := open(t, nc, cluster.ReportRarely(cluster.Options{}))
	work(t, c, cluster.Worker{})
	known := func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		all, err := c.Overview(ctx)
		return err == nil && all.Workers.Count == 1
	}
	require.Eventually(t, known, time.Minute, 10*time.Millisecond)
	o.Listen = s.Addr()
	s.Shutdown()
	s, err = hub.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(s.Shutdown)
	require.Eventually(t, known, time.Minute, 10*time.Millisecond)
}
