package store

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/document"
)

// A natsServer is a server with JetStream in a temporary directory.
type natsServer struct {
	t       testing.TB
	options server.Options
	server  *server.Server
}

// startServer starts a server. Its options may be changed before.
func startServer(t testing.TB, change ...func(*server.Options)) *natsServer {
	t.Helper()
	s := &natsServer{t: t, options: server.Options{
		Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	}}
	for _, f := range change {
		f(&s.options)
	}
	s.start()
	t.Cleanup(s.stop)
	return s
}

func (s *natsServer) start() {
	s.t.Helper()
	options := s.options
	running, err := server.NewServer(&options)
	require.NoError(s.t, err)
	running.Start()
	require.True(s.t, running.ReadyForConnections(30*time.Second))
	s.server = running
	s.options.Port = running.Addr().(*net.TCPAddr).Port
}

func (s *natsServer) stop() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}

func (s *natsServer) restart() {
	s.stop()
	s.start()
}

// connect connects like the command does.
func (s *natsServer) connect(o ...nats.Option) jetstream.JetStream {
	s.t.Helper()
	o = append([]nats.Option{
		nats.MaxReconnects(-1), nats.ReconnectBufSize(-1), nats.ReconnectWait(20 * time.Millisecond), nats.ReconnectJitter(0, 0),
	}, o...)
	nc, err := nats.Connect(s.server.ClientURL(), o...)
	require.NoError(s.t, err)
	s.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(s.t, err)
	return js
}

func (s *natsServer) open(o Options) *Store {
	s.t.Helper()
	store, err := Open(s.t.Context(), s.connect(), o)
	require.NoError(s.t, err)
	return store
}

// openRun returns a store with a run named "r".
func openRun(t testing.TB, o Options, change ...func(*server.Options)) (*Store, *natsServer) {
	t.Helper()
	s := startServer(t, change...)
	store := s.open(o)
	require.NoError(t, store.CreateRun(t.Context(), "r", "s", 0))
	return store, s
}

var task = Key{Run: "r", Submission: "s", Job: "users/v2.x", Task: "0-v1"}

func ndjson(n int) document.Items {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":%d}\n", i)
	}
	return document.NewItems(b.Bytes(), n, nil)
}

// blockOf returns one item, of size bytes with its newline.
func blockOf(size int) document.Items {
	if size == 0 {
		return document.Items{}
	}
	return document.NewItems([]byte(`"`+strings.Repeat("x", size-3)+"\"\n"), 1, nil)
}

// collect reads n pages of a run after a sequence.
func collect(t testing.TB, s *Store, after uint64, n int) []Entry {
	t.Helper()
	var pages []Entry
	stop := fmt.Errorf("enough")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := s.Read(ctx, "r", after, Mark{}, func(e *Entry) error {
		kept := *e
		kept.Items, kept.buffer = e.Items.Clone(), nil
		pages = append(pages, kept)
		if len(pages) == n {
			return stop
		}
		return nil
	})
	require.ErrorIs(t, err, stop)
	return pages
}

// queue is the queue of the run named "r".
var queue = Queue{Origin: "api", Run: "r"}

// fetched returns the next task of the queue.
func fetched(t testing.TB, s *Store) *Work {
	t.Helper()
	return fetchedFrom(t, s, queue)
}

// fetchedFrom returns the next task of a queue. One call of Fetch may return before the server has
// answered.
func fetchedFrom(t testing.TB, s *Store, q Queue) (w *Work) {
	t.Helper()
	require.Eventually(t, func() bool {
		var err error
		w, err = s.Fetch(t.Context(), q)
		return err == nil && w != nil
	}, 20*time.Second, 10*time.Millisecond)
	return w
}

// requireNone requires that no task of a queue can be fetched.
func requireNone(t testing.TB, s *Store, q Queue) {
	t.Helper()
	w, err := s.Fetch(t.Context(), q)
	require.NoError(t, err)
	require.Nil(t, w)
}
