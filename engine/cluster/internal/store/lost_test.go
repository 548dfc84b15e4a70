package store

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"
)

// The server is restored from a copy that lacks the last pages, while a collection reads and before
// one continues.
func TestAServerThatHasLostPagesIsNoticed(t *testing.T) {
	s, server := openRun(t, Options{})
	after := uint64(0)
	write := func(page int) {
		var err error
		after, err = s.Append(t.Context(), task, after, Head{State: More, Attempt: fmt.Sprint(page)}, []byte("{}"), ndjson(1))
		require.NoError(t, err)
	}
	write(1)
	server.stop()
	older := t.TempDir()
	require.NoError(t, os.CopyFS(older, os.DirFS(server.options.StoreDir)))
	server.start()
	write(2)
	write(3)
	last := after

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen, ended := make(chan uint64, 10), make(chan error, 1)
	go func() {
		ended <- s.Read(ctx, "r", 0, Mark{}, func(e *Entry) error { seen <- e.Sequence; return nil })
	}()
	for range 3 {
		<-seen
	}
	server.stop()
	server.options.StoreDir = older
	server.start()
	require.ErrorIs(t, <-ended, ErrReplaced)
	none := func(*Entry) error { t.Error("there is no such page"); return nil }
	require.ErrorIs(t, s.Read(ctx, "r", last, Mark{Sequence: last}, none), ErrReplaced)

	// Other pages have the sequences of those that were lost.
	after = 1
	for page := range 4 {
		write(page)
	}
	lost := Mark{Sequence: last, Stored: time.Now().Add(-time.Hour)}
	require.ErrorIs(t, s.Read(ctx, "r", last, lost, none), ErrReplaced)
	require.ErrorIs(t, s.Read(ctx, "r", 1, lost, none), ErrReplaced, "the reading begins before the lost page")
}

// A stream of a cluster has no leader for a while after a server has been lost, and nobody answers. If the
// stream is gone, there is nothing to wait for.
func TestAStreamWithoutALeaderIsWaitedFor(t *testing.T) {
	s, _ := openRun(t, Options{})
	calls := 0
	unanswered := func(context.Context) error {
		if calls++; calls > 2 {
			return nil
		}
		return jetstream.ErrNoStreamResponse
	}
	require.NoError(t, s.retry(t.Context(), "queue a task", workStream, unanswered))
	require.Equal(t, 3, calls)
	require.NoError(t, s.js.DeleteStream(t.Context(), workStream))
	calls = 0
	require.ErrorIs(t, s.retry(t.Context(), "queue a task", workStream, unanswered), errEmptied)
}

// A flush during which the connection breaks says that the connection is closed, although it is made again.
func TestAConnectionThatBreaksAtTheStartIsMadeAgain(t *testing.T) {
	s, server := openRun(t, Options{})
	broken := false
	flush := func(ctx context.Context) error {
		if !broken {
			broken = true
			return nats.ErrConnectionClosed
		}
		return s.nc.FlushWithContext(ctx)
	}
	require.NoError(t, s.retry(t.Context(), "connect", "", flush))
	closed, err := Open(t.Context(), server.connect(), Options{})
	require.NoError(t, err)
	closed.nc.Close()
	require.ErrorContains(t, closed.retry(t.Context(), "connect", "", closed.nc.FlushWithContext), "the connection to the NATS server was closed")
}

// A cluster that has lost most of its servers answers that JetStream is unavailable. A watch of a bucket returns
// this as an error of the older API of the client, and a worker waits, as it does after other requests.
func TestAClusterThatIsUnavailableIsWaitedFor(t *testing.T) {
	const unavailable = 10008 // "JetStream system temporarily unavailable"
	for _, err := range []error{
		&jetstream.APIError{Code: http.StatusServiceUnavailable, ErrorCode: unavailable},
		&nats.APIError{Code: http.StatusServiceUnavailable, ErrorCode: unavailable},
		fmt.Errorf("watch: %w", &nats.APIError{Code: http.StatusServiceUnavailable, ErrorCode: unavailable}),
	} {
		require.True(t, isTemporary(err), "%T", err)
	}
	require.False(t, isTemporary(&nats.APIError{Code: http.StatusServiceUnavailable, ErrorCode: nats.JSErrCodeJetStreamNotEnabled}))
	require.False(t, isTemporary(&nats.APIError{Code: http.StatusBadRequest, ErrorCode: unavailable}))
}
