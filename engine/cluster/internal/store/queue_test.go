package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func enqueue(t testing.TB, s *Store, items ...Item) {
	t.Helper()
	require.NoError(t, s.Enqueue(t.Context(), items...))
}

func TestATaskIsQueuedOnce(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.SetOrigin(t.Context(), "api", 0))
	item := Item{Key: Key{Run: "r", Submission: "s", Task: "0-v1"}, Origin: "api", Payload: []byte("p")}
	enqueue(t, s, item, item)
	enqueue(t, s, item)
	load, err := s.Queued(t.Context(), "api")
	require.NoError(t, err)
	require.Equal(t, Load{Waiting: 1}, load)

	w := fetched(t, s)
	require.Equal(t, "r 0-v1 p 0 1", fmt.Sprint(w.Run, " ", w.Task, " ", string(w.Payload), " ", w.RetryOf, " ", w.Deliveries))
	enqueue(t, s, item) // it is still queued while it runs
	requireNone(t, s)
	load, err = s.Queued(t.Context(), "api")
	require.NoError(t, err)
	require.Equal(t, Load{Running: 1}, load)

	require.NoError(t, w.Progress())
	require.NoError(t, w.Done(t.Context()))
	load, err = s.Queued(t.Context(), "api")
	require.NoError(t, err)
	require.Zero(t, load)
	enqueue(t, s, item) // now it is new
	require.Equal(t, 1, fetched(t, s).Deliveries)
}

// The worker that stored the marker of the failure died before it removed the message. The
// retry must not be taken for that message.
func TestARetryIsQueuedBehindTheMessageOfTheFailure(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.SetOrigin(t.Context(), "api", 0))
	item := Item{Key: Key{Run: "r", Submission: "s", Task: "0-v1"}, Origin: "api"}
	retry := item
	retry.RetryOf = 7
	enqueue(t, s, item, retry, retry)
	enqueue(t, s, retry)
	first := fetched(t, s)
	require.Zero(t, first.RetryOf)
	require.NoError(t, first.Done(t.Context()))
	require.Equal(t, uint64(7), fetched(t, s).RetryOf)
	requireNone(t, s)
}

func TestAnOriginHasAsManyTasksAtOnceAsItMayHave(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.SetOrigin(t.Context(), "api", 2))
	require.NoError(t, s.SetOrigin(t.Context(), "other", 0))
	for i := range 4 {
		enqueue(t, s, Item{Key: Key{Run: "r", Submission: "s", Task: fmt.Sprint(i)}, Origin: "api"})
	}
	first, second := fetched(t, s), fetched(t, s)
	requireNone(t, s)
	require.NoError(t, first.Done(t.Context()))
	fetched(t, s)
	requireNone(t, s)
	require.NoError(t, s.SetOrigin(t.Context(), "api", 3))
	fetched(t, s)
	require.NoError(t, second.HandBack(t.Context(), false))
	again := fetched(t, s)
	require.Equal(t, second.Task, again.Task)
	require.Equal(t, 1, again.Deliveries, "a delivery that was handed back does not count")

	_, err := s.Fetch(t.Context(), "unknown")
	require.ErrorIs(t, err, ErrNoQueue)
}

// A task that was delivered while the worker did not look for it is not lost for the rest of
// the time in which it may be silent.
func TestATaskThatWaitedForItsWorkerIsDeliveredAtOnce(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.SetOrigin(t.Context(), "api", 1))
	enqueue(t, s, Item{Key: Key{Run: "r", Submission: "s", Task: "0"}, Origin: "api"},
		Item{Key: Key{Run: "r", Submission: "s", Task: "1"}, Origin: "api"})
	first := fetched(t, s)
	requireNone(t, s) // one at a time
	known, _ := s.origins.Load("api")
	p := known.(*puller)
	require.NoError(t, first.Done(t.Context()))
	require.Eventually(t, func() bool { return len(p.answer.Messages()) == 1 }, 10*time.Second, time.Millisecond)
	p.asked = p.asked.Add(-defaultAckWait)
	second := fetched(t, s)
	require.Equal(t, "1", second.Task)
	require.Equal(t, 2, second.Deliveries)
}

func TestATaskOfASilentWorkerIsDeliveredAgain(t *testing.T) {
	s, _ := openRun(t, Options{AckWait: 100 * time.Millisecond})
	require.NoError(t, s.SetOrigin(t.Context(), "api", 1))
	enqueue(t, s, Item{Key: Key{Run: "r", Submission: "s", Task: "0"}, Origin: "api"})
	fetched(t, s)
	require.Eventually(t, func() bool {
		w, err := s.Fetch(t.Context(), "api")
		require.NoError(t, err)
		return w != nil && w.Deliveries > 1 && w.Drop("no such job") == nil
	}, 10*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		load, err := s.Queued(t.Context(), "api")
		require.NoError(t, err)
		return load == Load{}
	}, 10*time.Second, 10*time.Millisecond)
}

func TestTheQueuedTasksOfOneRunAreRemoved(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.SetOrigin(t.Context(), "api", 0))
	enqueue(t, s, Item{Key: Key{Run: "r", Submission: "s", Task: "0"}, Origin: "api"},
		Item{Key: Key{Run: "r2", Submission: "s", Task: "0"}, Origin: "api"}, Item{Key: Key{Run: "r", Submission: "s", Task: "1"}, Origin: "api"})
	require.NoError(t, s.PurgeWork(t.Context(), "r"))
	require.Equal(t, "r2", fetched(t, s).Run)
}

func TestManyTasksAreQueuedAcrossARestart(t *testing.T) {
	s, server := openRun(t, Options{})
	require.NoError(t, s.SetOrigin(t.Context(), "api", 0))
	items := make([]Item, 2000)
	for i := range items {
		items[i] = Item{Key: Key{Run: "r", Submission: "s", Task: fmt.Sprint(i)}, Origin: "api"}
	}
	enqueue(t, s, items[:1000]...)
	go server.restart()
	enqueue(t, s, items[1000:]...)
	require.Eventually(t, func() bool { // the server counts a little later
		load, err := s.Queued(t.Context(), "api")
		require.NoError(t, err)
		return load == Load{Waiting: 2000}
	}, 10*time.Second, time.Millisecond)
}
