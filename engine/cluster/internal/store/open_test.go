package store

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

func TestAServerWithoutJetStreamIsRefused(t *testing.T) {
	s := startServer(t, func(o *server.Options) { o.JetStream = false })
	_, err := Open(t.Context(), s.connect(), Options{tryTimeout: 500 * time.Millisecond, startPatience: 100 * time.Millisecond})
	require.ErrorIs(t, err, failure.ErrConfig)
	require.ErrorContains(t, err, "the NATS server does not have JetStream enabled")
}

func TestAServerThatIsTooOldIsRefused(t *testing.T) {
	for version, ok := range map[string]bool{
		"2.11.9": false, "2.12.0": true, "v2.15.2": true, "1.99.0": false, "3.0.0": true, "2.12.0-beta.1": true,
		"dev": true, "": true, "x.y": true,
	} {
		err := checkServer(version)
		require.Equal(t, ok, err == nil, version)
		if !ok {
			require.ErrorIs(t, err, failure.ErrConfig)
			require.ErrorContains(t, err, "(use version 2.12 or newer)")
		}
	}
}

func TestAServerMayBeStartedAfterItsClients(t *testing.T) {
	s := startServer(t)
	js := s.connect()
	s.stop()
	require.Eventually(t, func() bool { return !js.Conn().IsConnected() }, 10*time.Second, time.Millisecond)
	opened := make(chan error)
	go func() {
		_, err := Open(t.Context(), js, Options{})
		opened <- err
	}()
	time.Sleep(50 * time.Millisecond)
	s.start()
	require.NoError(t, <-opened)
}

func TestPatienceEnds(t *testing.T) {
	s := startServer(t)
	store := s.open(Options{Patience: 200 * time.Millisecond})
	s.stop()
	_, err := store.Runs(t.Context())
	require.ErrorIs(t, err, failure.ErrTransient)
	require.ErrorContains(t, err, "list the runs: the NATS server has not answered for ")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = store.Runs(ctx)
	require.ErrorIs(t, err, failure.ErrCancelled)
}

// Permissions of a worker that may create nothing.
func denied(deny ...string) func(*server.Options) {
	return func(o *server.Options) {
		o.Users = []*server.User{
			{Username: "admin", Password: "a"},
			{Username: "worker", Password: "w", Permissions: &server.Permissions{Publish: &server.SubjectPermission{
				Deny: append(deny, "$JS.API.STREAM.CREATE.>", "$JS.API.STREAM.DELETE.>", "$JS.API.STREAM.UPDATE.>"),
			}}},
		}
		o.NoAuthUser = "admin"
	}
}

func TestAUserWhoMayCreateNothingCanWork(t *testing.T) {
	s := startServer(t, denied())
	admin := s.open(Options{})
	require.NoError(t, admin.CreateRun(t.Context(), "r", "s", 0))
	require.NoError(t, admin.SetQueue(t.Context(), queue))
	enqueue(t, admin, Item{Key: Key{Run: "r", Submission: "s", Task: "0"}, Origin: "api"})
	worker, err := Open(t.Context(), s.connect(nats.UserInfo("worker", "w")), Options{})
	require.NoError(t, err)
	w := fetched(t, worker)
	end, err := worker.Append(t.Context(), task, Tail{}, Head{State: Done, Attempt: "a"}, []byte("{}"), ndjson(1))
	require.NoError(t, err)
	require.NoError(t, w.Done(t.Context(), task, end))
	require.Len(t, collect(t, worker, 0, 1), 1)
}

func TestADeniedRequestNamesItsSubject(t *testing.T) {
	options := Options{tryTimeout: time.Hour} // nobody waits for an answer that does not come
	s := startServer(t, denied("stopwhen.page.>", "stopwhen.work.>", "$KV.STOPWHEN_WORKERS.>", "$JS.API.CONSUMER.MSG.NEXT.>"))
	worker := s.connect(nats.UserInfo("worker", "w"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		t.Error("the error of the request says it:", err)
	}))
	_, err := Open(t.Context(), worker, options)
	require.ErrorIs(t, err, failure.ErrConfig)
	require.EqualError(t, err, "nothing has been submitted yet: the stream STOPWHEN_WORK does not exist, "+
		"and the NATS user may not publish to $JS.API.STREAM.CREATE.STOPWHEN_WORK (submit a run first, with a user who may create streams)")

	admin := s.open(Options{})
	require.NoError(t, admin.CreateRun(t.Context(), "r", "s", 0))
	require.NoError(t, admin.SetQueue(t.Context(), queue))
	store, err := Open(t.Context(), worker, options)
	require.NoError(t, err)
	_, err = store.Append(t.Context(), task, Tail{}, Head{State: Done, Attempt: "a"}, []byte("{}"), ndjson(1))
	require.ErrorIs(t, err, failure.ErrConfig)
	require.ErrorContains(t, err, "store a page: the NATS user may not publish to stopwhen.page.r.s.users=2Fv2=2Ex.0-v1 (give")
	_, err = store.Fetch(t.Context(), queue)
	require.ErrorContains(t, err, "fetch a task: the NATS user may not publish to $JS.API.CONSUMER.MSG.NEXT.STOPWHEN_WORK.run_r=api (give")
	err = store.Enqueue(t.Context(), Item{Key: Key{Run: "r", Submission: "s", Task: "0"}, Origin: "api"})
	require.ErrorContains(t, err, "queue a task: the NATS user may not publish to stopwhen.work.api.r.s.0 (give")
	require.ErrorContains(t, store.PutWorker(t.Context(), "w", []byte("{}")), "the NATS user may not publish to $KV.STOPWHEN_WORKERS.w")
}

// A worker may not say that it is there. What it does for a run goes on.
func TestADenialIsThatOfItsRequest(t *testing.T) {
	s := startServer(t, denied("$KV.STOPWHEN_WORKERS.>"))
	admin := s.open(Options{})
	require.NoError(t, admin.CreateRun(t.Context(), "r", "s", 0))
	quiet := nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})
	store, err := Open(t.Context(), s.connect(nats.UserInfo("worker", "w"), quiet), Options{})
	require.NoError(t, err)
	stop, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
				_ = store.PutWorker(t.Context(), "w", []byte("{}"))
			}
		}
	}()
	for i := range 100 {
		_, err = store.Append(t.Context(), keyNumber(i), Tail{}, Head{State: Done, Attempt: "a"}, []byte("{}"), ndjson(1))
		require.NoError(t, err)
	}
	close(stop)
	<-ended
}

func TestAConnectionIsListenedToOnce(t *testing.T) {
	s := startServer(t)
	js := s.connect()
	first, err := Open(t.Context(), js, Options{})
	require.NoError(t, err)
	second, err := Open(t.Context(), js, Options{})
	require.NoError(t, err)
	require.Same(t, first.listener, second.listener)
	js.Conn().Close()
	require.Eventually(t, func() bool { _, known := listeners.Load(js.Conn()); return !known }, 10*time.Second, time.Millisecond)
}

// The limit of the run is reached. The page is stored when the limit has been raised, and
// the reason is told whenever it was tried.
func TestAPageWaitsWhileTheRunIsFull(t *testing.T) {
	waiting := make(chan error, 100)
	s, _ := openRun(t, Options{Waiting: func(_ Key, err error) { waiting <- err }})
	for _, size := range []int{60 << 10, 2 << 20} {
		require.NoError(t, s.CreateRun(t.Context(), "r", "s", int64(size)))
		stored := make(chan error)
		go func() {
			_, err := s.Append(t.Context(), keyNumber(size), Tail{}, Head{State: More, Attempt: "a"}, []byte("{}"), blockOf(size))
			stored <- err
		}()
		for range 2 {
			err := <-waiting
			require.ErrorIs(t, err, failure.ErrIO)
			require.ErrorContains(t, err, "the stream is full")
		}
		require.NoError(t, s.CreateRun(t.Context(), "r", "s", 0))
		require.NoError(t, <-stored)
		for len(waiting) > 0 {
			require.Error(t, <-waiting)
		}
	}
	require.Len(t, collect(t, s, 0, 2), 2)
}

func TestAPageThatNoBatchCanHoldIsRefused(t *testing.T) {
	s, _ := openRun(t, Options{}, func(o *server.Options) { o.MaxPayload = headerRoom + 1000 })
	_, err := s.Append(t.Context(), task, Tail{}, Head{State: More, Attempt: "a"}, []byte("{}"), blockOf(1000*1000-3))
	require.NoError(t, err, "the largest")
	_, err = s.Append(t.Context(), task, Tail{Sequence: 1000, Attempt: "a"}, Head{State: More, Attempt: "a"}, []byte("{}"), blockOf(1000*1000-2))
	require.ErrorContains(t, err,
		"a page of 1000001 bytes is too large for the NATS server: it accepts 1000 messages of 1000 bytes (raise max_payload")
}

func TestAStreamThatMayLosePagesIsRefused(t *testing.T) {
	s, _ := openRun(t, Options{})
	stream, err := s.js.Stream(t.Context(), "STOPWHEN_RUN_r")
	require.NoError(t, err)
	config := stream.CachedInfo().Config
	config.MaxAge = time.Hour
	_, err = s.js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	err = s.CreateRun(t.Context(), "r", "s", 0)
	require.ErrorContains(t, err, "the stream STOPWHEN_RUN_r may lose pages")
	require.ErrorIs(t, s.CreateRun(t.Context(), "a.b", "s", 0), failure.ErrConfig)
}

func TestNamesAreTokens(t *testing.T) {
	for _, text := range []string{"", "users", "a.b c/=é\n", "=", "-_"} {
		token := escape(text)
		back, ok := unescape(token)
		require.True(t, ok)
		require.Equal(t, text, back)
		key, ok := keyOf(taskPages(Key{Run: "r", Submission: "s", Job: text, Task: "0"}))
		require.True(t, ok)
		require.Equal(t, Key{Run: "r", Submission: "s", Job: text, Task: "0"}, key)
	}
	for _, token := range []string{"", "a=", "a=4", "=41", "=zz", "=c3"} {
		_, ok := unescape(token)
		require.False(t, ok, token)
	}
	require.Equal(t, "api_test-", OriginToken("api.test", "https://api.test:443")[:9])
	require.NotEqual(t, OriginToken("api.test", "https://api.test:443"), OriginToken("api.test", "http://api.test:80"))
	for run, ok := range map[string]bool{
		"": false, "a": true, "A-_9": true, "a b": false, "a.b": false, "é": false, fmt.Sprintf("%065d", 0): false,
	} {
		require.Equal(t, ok, CheckRun(run) == nil, run)
	}
}

func TestErrorsOfOthersKeepTheirCause(t *testing.T) {
	cause := errors.New("cause")
	require.ErrorIs(t, explain("x", cause), cause)
	require.ErrorIs(t, explain("x", nats.ErrConnectionClosed), failure.ErrTransient)
}
