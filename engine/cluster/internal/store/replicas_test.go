package store

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// startCluster starts servers that form a cluster.
func startCluster(t testing.TB, n int) []*natsServer {
	t.Helper()
	var all []*natsServer
	var routes []*url.URL
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		routes = append(routes, &url.URL{Scheme: "nats", Host: l.Addr().String()})
		require.NoError(t, l.Close())
	}
	for i, at := range routes {
		s := &natsServer{t: t, options: server.Options{
			Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
			ServerName: fmt.Sprintf("n%d", i), Routes: routes,
		}}
		port, err := strconv.Atoi(at.Port())
		require.NoError(t, err)
		s.options.Cluster = server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port}
		s.server, err = server.NewServer(&s.options)
		require.NoError(t, err)
		s.server.Start()
		t.Cleanup(s.stop)
		all = append(all, s)
	}
	for _, s := range all {
		require.True(t, s.server.ReadyForConnections(time.Minute))
	}
	return all
}

// replicas returns the replicas of all streams.
func replicas(t *testing.T, js jetstream.JetStream) map[string]int {
	t.Helper()
	all := map[string]int{}
	streams := js.ListStreams(t.Context())
	for info := range streams.Info() {
		all[info.Config.Name] = info.Config.Replicas
	}
	require.NoError(t, streams.Err())
	return all
}

func TestReplicasAreRaisedWhenARunAsksForMore(t *testing.T) {
	all := startCluster(t, 3)
	s := all[0].open(Options{Replicas: 1})
	require.NoError(t, s.CreateRun(t.Context(), "one", "s", 0))
	shared := []string{"STOPWHEN_WORK", "KV_STOPWHEN_CONFIGS", "KV_STOPWHEN_RUNS", "KV_STOPWHEN_PACE", "KV_STOPWHEN_WORKERS"}
	requireReplicas := func(one, more, others int) {
		t.Helper()
		want := map[string]int{"STOPWHEN_RUN_one": one}
		if more > 0 {
			want["STOPWHEN_RUN_more"] = more
		}
		for _, name := range shared {
			want[name] = others
		}
		// A stream that has just got replicas has no leader, and is not listed.
		require.EventuallyWithT(t, func(c *assert.CollectT) { require.Equal(c, want, replicas(t, s.js)) }, time.Minute, 50*time.Millisecond)
	}
	requireReplicas(1, 0, 1)

	// A worker that has to create a bucket does as the queue does.
	require.NoError(t, s.js.DeleteStream(t.Context(), "KV_STOPWHEN_PACE"))
	worker := all[1].open(Options{})
	require.NoError(t, worker.openBuckets(t.Context(), worker.pace))
	requireReplicas(1, 0, 1)

	second := all[1].open(Options{})
	require.NoError(t, second.CreateRun(t.Context(), "more", "s", 0))
	requireReplicas(1, 3, 3)
	require.NoError(t, second.CreateRun(t.Context(), "one", "s", 0)) // submitted again
	requireReplicas(1, 3, 3)
	requireCompression := func(run string, want jetstream.StoreCompression) {
		t.Helper()
		stream, err := s.js.Stream(t.Context(), runStream+run)
		require.NoError(t, err)
		require.Equal(t, want, stream.CachedInfo().Config.Compression)
	}
	requireCompression("one", jetstream.S2Compression)
	requireCompression("more", jetstream.NoCompression)
	require.NoError(t, all[2].open(Options{Replicas: 3}).CreateRun(t.Context(), "one", "s", 0))
	requireReplicas(3, 3, 3)
	requireCompression("one", jetstream.NoCompression)
	info, err := second.Info(t.Context(), "one")
	require.NoError(t, err)
	require.Equal(t, 3, info.Replicas)

	// Any one of the servers may be missing.
	key := Key{Run: "one", Submission: "s", Job: "j", Task: "0"}
	require.Eventually(t, func() bool {
		return isCurrent(t, second.js, "STOPWHEN_RUN_one") && isCurrent(t, second.js, "STOPWHEN_WORK")
	}, time.Minute, 50*time.Millisecond)
	all[0].stop()
	require.NoError(t, second.Enqueue(t.Context(), Item{Key: key, Origin: "api"}))
	_, err = second.Append(t.Context(), key, Tail{}, Head{Attempt: "a", State: More}, []byte("{}"), document.Items{})
	require.NoError(t, err)
}

// isCurrent reports whether all servers have what a stream has.
func isCurrent(t *testing.T, js jetstream.JetStream, name string) bool {
	t.Helper()
	stream, err := js.Stream(t.Context(), name)
	if err != nil {
		return false
	}
	c := stream.CachedInfo().Cluster
	return c != nil && len(c.Replicas) == 2 && c.Replicas[0].Current && c.Replicas[1].Current
}

func TestAClusterThatIsTooSmallSaysSo(t *testing.T) {
	all := startCluster(t, 2)
	_, err := Open(t.Context(), all[0].connect(), Options{Patience: time.Minute})
	require.ErrorIs(t, err, failure.ErrConfig)
	require.ErrorContains(t, err, "open the queue: fewer servers of the NATS cluster are running than the run has replicas")
	require.ErrorContains(t, err, "(start the others, or use Options.Replicas with a smaller number)")
	s := all[1].open(Options{Replicas: 1})
	require.NoError(t, s.CreateRun(t.Context(), "one", "s", 0))
	err = all[0].open(Options{Patience: time.Minute}).CreateRun(t.Context(), "two", "s", 0)
	require.ErrorIs(t, err, failure.ErrConfig)
	require.ErrorContains(t, err, "use Options.Replicas with a smaller number")
	_, err = s.js.Stream(t.Context(), "STOPWHEN_RUN_two")
	require.ErrorIs(t, err, jetstream.ErrStreamNotFound, "nothing was created")
}

func TestAServerAloneKeepsNoReplicas(t *testing.T) {
	_, err := Open(t.Context(), startServer(t).connect(), Options{Replicas: 3})
	require.ErrorIs(t, err, failure.ErrConfig)
	require.ErrorContains(t, err, "the NATS server is not in a cluster, and cannot keep replicas")
	require.ErrorContains(t, err, "(use Options.Replicas with 1)")
}
