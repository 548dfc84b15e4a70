package pace

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// startServer starts a server on a port of its own, or on a given one.
func startServer(t *testing.T, dir string, port int) *server.Server {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, NoLog: true, NoSigs: true})
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(10*time.Second))
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	return s
}

// connect returns the bucket of the pace on a server.
func connect(t *testing.T, url string) *store.Bucket {
	t.Helper()
	nc, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectBufSize(-1))
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	s, err := store.Open(t.Context(), js, store.Options{})
	require.NoError(t, err)
	return s.Pace()
}

// openAt opens a pace of a process whose clock is wrong by skew, and has no monotonic part.
func openAt(t *testing.T, url string, skew time.Duration, log *slog.Logger) *Pace {
	t.Helper()
	now := func() time.Time { return time.Now().Round(0).Add(skew) }
	p, err := open(t.Context(), connect(t, url), log, now)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	return p
}

// A ledger has the times that requests were given.
type ledger struct {
	mu    sync.Mutex
	slots []time.Time
}

func (l *ledger) note(slot time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.slots = append(l.slots, slot)
}

// sorted returns the times in their order.
func (l *ledger) sorted() []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(slices.Values(l.slots), time.Time.Compare)
}

// request waits for times as a job does, one after another, until the context is done.
func request(ctx context.Context, s *Schedule, pace transport.Pace) {
	for ctx.Err() == nil {
		wait, err := s.Reserve(pace).Wait(ctx)
		if err == nil {
			_ = transport.SystemClock.Sleep(ctx, wait)
		}
	}
}

func TestTwelveMachinesWithWrongClocksKeepOneRate(t *testing.T) {
	t.Parallel()
	url := startServer(t, t.TempDir(), -1).ClientURL()
	const machines, perMachine, perSecond, burst = 12, 16, 200, 10
	var l ledger
	var paces []*Pace
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range machines {
		p := openAt(t, url, time.Duration(i-6)*7*time.Minute, nil)
		p.reserved = l.note
		paces = append(paces, p)
		for range perMachine {
			all.Go(func() { request(ctx, p.Of("api"), transport.Pace{PerSecond: perSecond, Burst: burst}) })
		}
	}
	require.Eventually(t, func() bool { return len(l.sorted()) > 2*perSecond }, time.Minute, 10*time.Millisecond)
	cancel()
	all.Wait()

	slots := l.sorted()
	requireWithin(t, slots, time.Second/perSecond, burst)
	var gaps []time.Duration
	for i := range slots[1:] {
		gaps = append(gaps, slots[i+1].Sub(slots[i]))
	}
	took := slots[len(slots)-1].Sub(slots[0]).Seconds()
	slices.Sort(gaps)
	// The median, since a machine under load may have no program that takes a time for a while.
	require.InEpsilon(t, time.Second/perSecond, gaps[len(gaps)/2], 0.05, "time between requests")
	conflicts := int64(0)
	for _, p := range paces {
		conflicts += p.conflicts.Load()
	}
	t.Logf("%d times in %.2fs: %.1f/s, %d conflicts", len(slots), took, float64(len(slots)-1)/took, conflicts)
	require.Less(t, conflicts, int64(len(slots)), "fewer than one for each request")
}

// The wait that a process is told must lead to the time that it was given, whatever its clock.
func TestAProcessWithAWrongClockWaitsForTheRightTime(t *testing.T) {
	url := startServer(t, t.TempDir(), -1).ClientURL()
	for _, skew := range []time.Duration{-3 * time.Hour, 0, 3 * time.Hour} {
		p := openAt(t, url, skew, nil)
		require.WithinDuration(t, time.Now(), p.serverTime(), 2*time.Second, "the server is this machine")
		s := p.Of(fmt.Sprintf("api%d", int64(skew)))
		pace := transport.Pace{PerSecond: 0.01}
		first, err := s.Reserve(pace).Wait(t.Context())
		require.NoError(t, err)
		require.LessOrEqual(t, first, time.Second)
		second, err := openAt(t, url, -skew, nil).Of(s.origin).Reserve(pace).Wait(t.Context())
		require.NoError(t, err)
		require.Greater(t, second, 80*time.Second, "an interval after the first, less what the test takes")
		require.LessOrEqual(t, second, 101*time.Second)
	}
}

func TestATimeThatIsNotUsedIsGivenBack(t *testing.T) {
	url := startServer(t, t.TempDir(), -1).ClientURL()
	pace := transport.Pace{PerSecond: 0.01}
	a, b := openAt(t, url, 0, nil), openAt(t, url, 0, nil)
	_, err := a.Of("api").Reserve(pace).Wait(t.Context())
	require.NoError(t, err)

	r := b.Of("api").Reserve(pace)
	taken, err := r.Wait(t.Context())
	require.NoError(t, err)
	require.Greater(t, taken, 90*time.Second)
	r.Cancel()
	b.Close() // waits until it is given back

	c := openAt(t, url, 0, nil)
	again, err := c.Of("api").Reserve(pace).Wait(t.Context())
	require.NoError(t, err)
	require.Greater(t, again, 60*time.Second)
	require.LessOrEqual(t, again, taken)
}

func TestRequestsThatNobodyWaitsForTakeNoTime(t *testing.T) {
	url := startServer(t, t.TempDir(), -1).ClientURL()
	p := openAt(t, url, 0, nil)
	pace := transport.Pace{PerSecond: 0.01}
	_, err := p.Of("api").Reserve(pace).Wait(t.Context())
	require.NoError(t, err)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		_, err := p.Of("api").Reserve(pace).Wait(gone)
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	p.Close()
	wait, err := openAt(t, url, 0, nil).Of("api").Reserve(pace).Wait(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, wait, 200*time.Second, "at most one was taken before its request had gone")
}

func TestOriginsHaveSchedulesOfTheirOwn(t *testing.T) {
	url := startServer(t, t.TempDir(), -1).ClientURL()
	p := openAt(t, url, 0, nil)
	for _, origin := range []string{"one", "two", "three"} {
		wait, err := p.Of(origin).Reserve(transport.Pace{PerSecond: 0.001}).Wait(t.Context())
		require.NoError(t, err)
		require.LessOrEqual(t, wait, time.Minute)
	}
}

// restart ends a server and starts it anew on the same port. What it had in memory is lost.
func restart(t *testing.T, s *server.Server, dir string) *server.Server {
	t.Helper()
	port := s.Addr().(*net.TCPAddr).Port
	s.Shutdown()
	s.WaitForShutdown()
	return startServer(t, dir, port)
}

// The bucket is lost with the server. What was known of it counts, and there is no burst.
func TestARestartOfTheServerNeitherLosesTheScheduleNorGivesABurst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startServer(t, dir, -1)
	var log fixtures.Buffer
	a := openAt(t, s.ClientURL(), 0, slog.New(slog.NewTextHandler(&log, nil)))
	pace := transport.Pace{PerSecond: 0.01}
	_, err := a.Of("api").Reserve(pace).Wait(t.Context())
	require.NoError(t, err)
	port := s.Addr().(*net.TCPAddr).Port
	s.Shutdown()
	s.WaitForShutdown()

	next := a.Of("api").Reserve(pace)
	away, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = next.Wait(away)
	require.ErrorIs(t, err, context.DeadlineExceeded, "no request goes without a pace")

	s = startServer(t, dir, port)
	wait, err := a.Of("api").Reserve(pace).Wait(t.Context())
	require.NoError(t, err)
	require.Greater(t, wait, 60*time.Second, "after the one that was made before")
	eventually(t, func() bool { return strings.Contains(log.String(), "pace_found") }, "it says that it goes on")
	require.Contains(t, log.String(), "pace_lost")

	// A process that knows nothing begins anew, one request after another.
	s = restart(t, s, dir)
	b := openAt(t, s.ClientURL(), 0, nil)
	var l ledger
	b.reserved = l.note
	bursting := transport.Pace{PerSecond: 50, Burst: 1000}
	for range 5 {
		_, err := b.Of("other").Reserve(bursting).Wait(t.Context())
		require.NoError(t, err)
	}
	for i, slot := range l.slots {
		require.GreaterOrEqual(t, slot.Sub(l.slots[0]), time.Duration(i)*time.Second/50, "no burst before a rest")
	}
}
