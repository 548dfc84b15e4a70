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
	after := Tail{}
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
	last := after.Sequence

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
	first, err := s.Last(t.Context(), task)
	require.NoError(t, err)
	after = first.Tail()
	for page := range 4 {
		write(page)
	}
	lost := Mark{Sequence: last, Stored: time.Now().Add(-time.Hour)}
	require.ErrorIs(t, s.Read(ctx, "r", last, lost, none), ErrReplaced)
	require.ErrorIs(t, s.Read(ctx, "r", 1, lost, none), ErrReplaced, "the reading begins before the lost page")
}

// A server that is restored from a copy gives the sequences of the tasks that it has lost to others. A worker that
// has run a lost task does not remove another one.
func TestAWorkerRemovesNoTaskThatHasTheSequenceOfALostOne(t *testing.T) {
	for how, end := range map[string]func(*Work) error{
		"done":        func(w *Work) error { return w.Done(t.Context(), task, Tail{connection: w.s.connection()}) },
		"handed back": func(w *Work) error { return w.HandBack(t.Context(), Trouble{}) },
		"dropped":     func(w *Work) error { return w.Drop(t.Context(), "the run is cancelled") },
	} {
		t.Run(how, func(t *testing.T) {
			s, server := openRun(t, Options{})
			require.NoError(t, s.SetQueue(t.Context(), queue))
			server.stop()
			older := t.TempDir()
			require.NoError(t, os.CopyFS(older, os.DirFS(server.options.StoreDir)))
			server.start()
			item := func(task string) Item { return Item{Key: Key{Run: "r", Submission: "s", Task: task}, Origin: "api"} }
			enqueue(t, s, item("lost"))
			lost := fetched(t, s)
			server.stop()
			server.options.StoreDir = older
			server.start()
			enqueue(t, s, item("other"))
			other := fetched(t, s)
			require.Equal(t, lost.sequence, other.sequence)
			require.Eventually(t, func() bool { return end(lost) == nil }, 10*time.Second, 10*time.Millisecond)
			requireLoad(t, s, Load{Running: 1})
			require.NoError(t, other.Done(t.Context(), task, Tail{connection: s.connection()}))
		})
	}
}

// A worker has stored the end of a task, just before the server was restored from a copy that
// lacks this. The task stays in the queue.
func TestATaskWhoseEndIsLostStaysInTheQueue(t *testing.T) {
	s, server := openRun(t, Options{AckWait: time.Second})
	require.NoError(t, s.SetQueue(t.Context(), queue))
	enqueue(t, s, Item{Key: task, Origin: "api"})
	w := fetched(t, s)
	server.stop()
	older := t.TempDir()
	require.NoError(t, os.CopyFS(older, os.DirFS(server.options.StoreDir)))
	server.start()
	end, err := s.Append(t.Context(), task, Tail{}, Head{State: Done, Attempt: "a"}, []byte("{}"), ndjson(1))
	require.NoError(t, err)
	server.stop()
	server.options.StoreDir = older
	server.start()
	require.Eventually(t, func() bool { return w.Done(t.Context(), task, end) == nil }, 10*time.Second, 10*time.Millisecond)
	w = fetched(t, s)
	end, err = s.Append(t.Context(), task, Tail{}, Head{State: Done, Attempt: "a"}, []byte("{}"), ndjson(1))
	require.NoError(t, err)
	server.restart()
	require.Eventually(t, func() bool { return w.Done(t.Context(), task, end) == nil }, 10*time.Second, 10*time.Millisecond)
	requireLoad(t, s, Load{})
}

// A worker continues a task after a page that the server has lost since. Another worker has stored a page of the task
// that has the same sequence, so the first one is overtaken.
func TestAnAttemptDoesNotContinueAfterAPageOfAnother(t *testing.T) {
	s, server := openRun(t, Options{})
	server.stop()
	older := t.TempDir()
	require.NoError(t, os.CopyFS(older, os.DirFS(server.options.StoreDir)))
	server.start()
	page := func(after Tail, attempt string) (Tail, error) {
		return s.Append(t.Context(), task, after, Head{State: More, Attempt: attempt}, []byte("{}"), ndjson(1))
	}
	lost, err := page(Tail{}, "a1")
	require.NoError(t, err)
	lost, err = page(lost, "a2")
	require.NoError(t, err)
	server.stop()
	server.options.StoreDir = older
	server.start()
	other, err := page(Tail{}, "b1")
	require.NoError(t, err)
	other, err = page(other, "b2")
	require.NoError(t, err)
	require.Equal(t, lost.Sequence, other.Sequence)
	_, err = page(lost, "a3")
	require.ErrorIs(t, err, ErrLost)
	server.restart()
	other, err = page(other, "b3")
	require.NoError(t, err)
	_, err = page(other, "b4")
	require.NoError(t, err)
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

// A cluster of which a server was killed has answered that it does not know the stream that it had been told to
// create. The run is not deleted.
func TestARunThatAClusterDoesNotKnowYetIsCreatedAgain(t *testing.T) {
	s := startServer(t).open(Options{})
	forgetful := &forgetfulStreams{JetStream: s.js}
	s.js = forgetful
	require.NoError(t, s.CreateRun(t.Context(), "r", "s", 0))
	require.Equal(t, 2, forgetful.created)
}

// forgetfulStreams does not create a stream when it is told so first.
type forgetfulStreams struct {
	jetstream.JetStream
	created int
}

func (f *forgetfulStreams) CreateStream(ctx context.Context, c jetstream.StreamConfig) (jetstream.Stream, error) {
	if f.created++; f.created == 1 {
		return nil, jetstream.ErrStreamNotFound
	}
	return f.JetStream.CreateStream(ctx, c)
}

// In a cluster, a scan may read from a server that lacks the latest pages, which the leader of the stream knows.
func TestAScanOfAServerThatLagsBehindStartsOver(t *testing.T) {
	s, _ := openRun(t, Options{})
	_, err := s.Append(t.Context(), task, Tail{}, Head{State: Done, Attempt: "a"}, []byte("{}"), ndjson(1))
	require.NoError(t, err)
	s.js = &leadingStreams{JetStream: s.js}
	var heads []StoredHead
	scans := 0
	reset := func() { scans++; heads = nil }
	require.NoError(t, s.Heads(t.Context(), "r", reset, func(h StoredHead) error { heads = append(heads, h); return nil }))
	require.Equal(t, 2, scans)
	require.Len(t, heads, 1)
}

// leadingStreams has one message more, when it is asked first, than the server from which pages are read.
type leadingStreams struct {
	jetstream.JetStream
	asked int
}

func (l *leadingStreams) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	stream, err := l.JetStream.Stream(ctx, name)
	if l.asked++; l.asked == 1 {
		stream = leadingStream{stream}
	}
	return stream, err
}

type leadingStream struct{ jetstream.Stream }

func (l leadingStream) CachedInfo() *jetstream.StreamInfo {
	info := *l.Stream.CachedInfo()
	info.State.LastSeq++
	return &info
}
