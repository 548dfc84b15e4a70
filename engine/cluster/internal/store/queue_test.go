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

// requireLoad waits until the queue has a load: the server counts a message shortly after it has
// acknowledged it.
func requireLoad(t *testing.T, s *Store, want Load) {
	t.Helper()
	var load Load
	require.Eventually(t, func() bool {
		var err error
		load, err = s.Queued(t.Context(), queue)
		require.NoError(t, err)
		return load == want
	}, 10*time.Second, time.Millisecond, "%+v", &load)
}

func TestATaskIsQueuedOnce(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.SetQueue(t.Context(), queue))
	item := Item{Key: Key{Run: "r", Submission: "s", Task: "0-v1"}, Origin: "api", Payload: []byte("p")}
	enqueue(t, s, item, item)
	enqueue(t, s, item)
	requireLoad(t, s, Load{Waiting: 1})

	w := fetched(t, s)
	require.Equal(t, "r 0-v1 p 0 1", fmt.Sprint(w.Run, " ", w.Task, " ", string(w.Payload), " ", w.RetryOf, " ", w.Deliveries))
	enqueue(t, s, item) // it is still queued while it runs
	requireNone(t, s, queue)
	requireLoad(t, s, Load{Running: 1})

	require.NoError(t, w.Progress())
	require.NoError(t, w.Done(t.Context(), task, Tail{}))
	requireLoad(t, s, Load{})
	enqueue(t, s, item) // now it is new
	require.Equal(t, 1, fetched(t, s).Deliveries)
}

// The worker that stored the marker of the failure died before it removed the message. The
// retry must not be taken for that message.
func TestARetryIsQueuedBehindTheMessageOfTheFailure(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.SetQueue(t.Context(), queue))
	item := Item{Key: Key{Run: "r", Submission: "s", Task: "0-v1"}, Origin: "api"}
	retry := item
	retry.RetryOf = 7
	enqueue(t, s, item, retry, retry)
	enqueue(t, s, retry)
	first := fetched(t, s)
	require.Zero(t, first.RetryOf)
	require.NoError(t, first.Done(t.Context(), task, Tail{}))
	require.Equal(t, uint64(7), fetched(t, s).RetryOf)
	requireNone(t, s, queue)
}

// If another message of a task is queued, its worker has nothing to hand back: otherwise the first
// message would be delivered again and again, and the task would seem to end its workers.
func TestATaskThatIsQueuedTwiceIsHandedBackOnce(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.SetQueue(t.Context(), queue))
	item := Item{Key: Key{Run: "r", Submission: "s", Task: "0-v1"}, Origin: "api"}
	retry := item
	retry.RetryOf = 7
	enqueue(t, s, item, retry)
	first := fetched(t, s)
	require.True(t, first.New)
	require.NoError(t, first.HandBack(t.Context(), Trouble{}))
	requireLoad(t, s, Load{Waiting: 1})
	second := fetched(t, s)
	require.Equal(t, "7 1 false", fmt.Sprint(second.RetryOf, " ", second.Deliveries, " ", second.New))
	require.NoError(t, second.HandBack(t.Context(), Trouble{}))
	again := fetched(t, s)
	require.Equal(t, "7 1 false", fmt.Sprint(again.RetryOf, " ", again.Deliveries, " ", again.New))
	requireNone(t, s, queue)

	// A retry is never dropped for a message that is not one.
	_, err := s.js.Publish(t.Context(), taskSubject("api", item.Key), nil)
	require.NoError(t, err)
	require.Error(t, again.HandBack(t.Context(), Trouble{}))
	require.ElementsMatch(t, []uint64{0, 7}, []uint64{fetched(t, s).RetryOf, fetched(t, s).RetryOf})
}

// limited lets n tasks of the origin run at the same time.
func limited(t testing.TB, s *Store, n int) Queue {
	t.Helper()
	q := queue
	q.Slots = n
	require.NoError(t, s.SetSlots(t.Context(), q))
	return q
}

func TestAnOriginHasAsManyTasksAtOnceAsItMayHave(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.SetQueue(t.Context(), queue))
	other := Queue{Origin: "api", Run: "r2", Slots: 2}
	require.NoError(t, s.SetQueue(t.Context(), other))
	for i := range 4 {
		enqueue(t, s, Item{Key: Key{Run: "r", Submission: "s", Task: fmt.Sprint(i)}, Origin: "api"})
		enqueue(t, s, Item{Key: Key{Run: "r2", Submission: "s", Task: fmt.Sprint(i)}, Origin: "api"})
	}
	q := limited(t, s, 2)
	first, second := fetchedFrom(t, s, q), fetchedFrom(t, s, other)
	requireNone(t, s, q)
	requireNone(t, s, other)
	require.NoError(t, first.Done(t.Context(), task, Tail{}))
	requireNone(t, s, q)
	first.Release()
	third := fetchedFrom(t, s, other)
	requireNone(t, s, q)

	q = limited(t, s, 3)
	fourth := fetchedFrom(t, s, q)
	requireNone(t, s, other)
	require.NoError(t, second.HandBack(t.Context(), Trouble{}))
	second.Release()
	again := fetchedFrom(t, s, other)
	require.Equal(t, 1, again.Deliveries, "a delivery that was handed back does not count")

	q = limited(t, s, 1)
	for _, w := range []*Work{third, fourth, again} {
		w.Release()
	}
	fetchedFrom(t, s, q)
	requireNone(t, s, q)

	_, err := s.Fetch(t.Context(), Queue{Origin: "unknown", Run: "r"})
	require.ErrorIs(t, err, ErrNoQueue)
	_, err = s.Fetch(t.Context(), Queue{Origin: "unknown", Run: "r", Slots: 1})
	require.ErrorIs(t, err, ErrNoQueue)
}

// The number of deliveries says how many workers were lost with the task, and neither failures nor
// pauses.
func TestATaskThatFailedIsDeliveredAgainAfterItsPause(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.SetQueue(t.Context(), queue))
	enqueue(t, s, Item{Key: Key{Run: "r", Submission: "s", Task: "0"}, Origin: "api", RetryOf: 3})
	const pause = 200 * time.Millisecond
	trouble := Trouble{Worker: "w", Since: time.Now().UTC().Round(0), Times: 1, Page: 7, Wait: pause}
	begun := time.Now()
	require.NoError(t, fetched(t, s).HandBack(t.Context(), trouble))
	w := fetched(t, s)
	require.GreaterOrEqual(t, time.Since(begun), pause)
	require.Equal(t, trouble, w.Trouble)
	require.Equal(t, []any{1, uint64(3)}, []any{w.Deliveries, w.RetryOf})
	w.Trouble.Wait = 0
	require.NoError(t, w.HandBack(t.Context(), w.Trouble))
	require.Equal(t, 1, fetched(t, s).Deliveries)
}

// A worker that dies loses its slots, too.
func TestTheSlotOfASilentWorkerIsUsedAgain(t *testing.T) {
	s, _ := openRun(t, Options{AckWait: 100 * time.Millisecond})
	require.NoError(t, s.SetQueue(t.Context(), queue))
	q := limited(t, s, 1)
	enqueue(t, s, Item{Key: Key{Run: "r", Submission: "s", Task: "0"}, Origin: "api"})
	fetchedFrom(t, s, q)
	require.Equal(t, 2, fetchedFrom(t, s, q).Deliveries)
}

func TestATaskOfASilentWorkerIsDeliveredAgain(t *testing.T) {
	s, _ := openRun(t, Options{AckWait: 100 * time.Millisecond})
	require.NoError(t, s.SetQueue(t.Context(), queue))
	enqueue(t, s, Item{Key: Key{Run: "r", Submission: "s", Task: "0"}, Origin: "api"})
	fetched(t, s)
	require.Eventually(t, func() bool {
		w, err := s.Fetch(t.Context(), queue)
		require.NoError(t, err)
		return w != nil && w.Deliveries > 1 && w.Drop(t.Context(), "no such job") == nil
	}, 10*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool {
		load, err := s.Queued(t.Context(), queue)
		require.NoError(t, err)
		return load == Load{}
	}, 10*time.Second, 10*time.Millisecond)
}

func TestTheQueuedTasksOfOneRunAreRemoved(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.SetQueue(t.Context(), queue))
	enqueue(t, s, Item{Key: Key{Run: "r", Submission: "s", Task: "0"}, Origin: "api"},
		Item{Key: Key{Run: "r2", Submission: "s", Task: "0"}, Origin: "api"}, Item{Key: Key{Run: "r", Submission: "s", Task: "1"}, Origin: "api"})
	other := Queue{Origin: "api", Run: "r2"}
	require.NoError(t, s.SetQueue(t.Context(), other))
	require.NoError(t, s.PurgeWork(t.Context(), "r"))
	requireNone(t, s, queue)
	require.Equal(t, "r2", fetchedFrom(t, s, other).Run)
}

func TestManyTasksAreQueuedAcrossARestart(t *testing.T) {
	s, server := openRun(t, Options{})
	require.NoError(t, s.SetQueue(t.Context(), queue))
	items := make([]Item, 2000)
	for i := range items {
		items[i] = Item{Key: Key{Run: "r", Submission: "s", Task: fmt.Sprint(i)}, Origin: "api"}
	}
	enqueue(t, s, items[:1000]...)
	go server.restart()
	enqueue(t, s, items[1000:]...)
	require.Eventually(t, func() bool { // the server counts a little later
		load, err := s.Queued(t.Context(), queue)
		require.NoError(t, err)
		return load == Load{Waiting: 2000}
	}, 10*time.Second, time.Millisecond)
}

// The connection breaks between the delivery of a task and its postponement, or of a slot and its removal. That
// is not a reason for a worker to end: the server delivers both again.
func TestAConnectionThatBreaksDuringAFetchIsNoError(t *testing.T) {
	s, server := openRun(t, Options{})
	limited := Queue{Origin: "limited", Run: "r", Slots: 2}
	require.NoError(t, s.SetQueue(t.Context(), queue))
	require.NoError(t, s.SetSlots(t.Context(), limited))
	require.NoError(t, s.Enqueue(t.Context(), Item{Key: task, Origin: queue.Origin}))
	require.NoError(t, fetched(t, s).HandBack(t.Context(), Trouble{Wait: time.Minute}))
	require.Eventually(t, func() bool {
		first, err := s.slot(t.Context(), limited)
		return err == nil && first != nil
	}, time.Minute, 10*time.Millisecond)
	pullers := []*puller{s.tasks(queue), s.slots(limited)}
	for _, p := range pullers {
		askUntilDelivered(t, p)
	}
	server.stop()
	require.Eventually(t, func() bool { return !s.nc.IsConnected() }, time.Minute, 10*time.Millisecond)
	limited.Slots = 1 // the second slot is one too many
	for pullers[0].answer != nil || pullers[1].answer != nil {
		w, err := s.task(t.Context(), queue)
		require.NoError(t, err)
		require.Nil(t, w)
		msg, err := s.slot(t.Context(), limited)
		require.NoError(t, err)
		require.Nil(t, msg)
	}
	server.start()
}

// askUntilDelivered requests a message until one has arrived. The server answers at once, also if it does not know yet of one that was
// just enqueued.
func askUntilDelivered(t *testing.T, p *puller) {
	t.Helper()
	var asked time.Time
	require.Eventually(t, func() bool {
		if time.Since(asked) > 2*time.Second {
			asked = time.Now()
			require.NoError(t, p.askLocked(t.Context()))
		}
		return len(p.answer.Messages()) == 1
	}, time.Minute, 10*time.Millisecond)
}

// A run is over while a fetch of its queue runs. The run may be submitted again.
func TestAQueueThatIsForgottenHandsItsTaskBack(t *testing.T) {
	s, _ := openRun(t, Options{})
	require.NoError(t, s.SetQueue(t.Context(), queue))
	enqueue(t, s, Item{Key: task, Origin: queue.Origin})
	p := s.tasks(queue)
	p.mu.Lock() // as a fetch does
	askUntilDelivered(t, p)
	s.Forget(queue)
	_, known := s.pullers.Load(p.durable)
	require.False(t, known)
	p.mu.Unlock()

	require.Equal(t, task.Task, fetched(t, s).Task, "before the end of AckWait")
	msg, err := p.fetch(t.Context())
	require.NoError(t, err)
	require.Nil(t, msg)
	require.Nil(t, p.answer, "nothing was requested")
}
