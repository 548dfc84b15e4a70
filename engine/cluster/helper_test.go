package cluster_test

import (
	"context"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster"
)

// startServer starts a server with JetStream that stores in memory of the operating system.
func startServer(t testing.TB) *nats.Conn {
	t.Helper()
	options := &server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, MaxPayload: 8 << 20}
	running, err := server.NewServer(options)
	require.NoError(t, err)
	running.Start()
	t.Cleanup(func() { running.Shutdown(); running.WaitForShutdown() })
	nc, err := nats.Connect(running.ClientURL(), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	return nc
}

// open opens a cluster whose pauses after failures are short.
func open(t testing.TB, nc *nats.Conn, o cluster.Options) *cluster.Cluster {
	t.Helper()
	c, err := connect(t, nc, o)
	require.NoError(t, err)
	return c
}

// connect is like open for goroutines, which must not end the test.
func connect(t testing.TB, nc *nats.Conn, o cluster.Options) (*cluster.Cluster, error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	return cluster.Open(t.Context(), js, cluster.Impatient(o))
}

// work runs workers until the function is called, or the test ends.
func work(t testing.TB, c *cluster.Cluster, workers ...cluster.Worker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, len(workers))
	for _, w := range workers {
		go func() { ended <- c.Work(ctx, w) }()
	}
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		for range workers {
			require.NoError(t, <-ended)
		}
	}
	t.Cleanup(stop)
	return stop
}
