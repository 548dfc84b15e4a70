package pace

import (
	"context"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/transport"
)

// eventually waits until a condition is true, however slow the machine is.
func eventually(t *testing.T, condition func() bool, claim string) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, time.Millisecond, claim)
}

// waits reports whether a request has to wait for the end of a hold.
func waits(h transport.Hold) bool {
	wait, _ := h.State()
	return wait > 0
}

// holdOf returns the hold of a process on the requests to the API.
func holdOf(p *Pace) transport.Hold { return p.Of("api").Hold("http://api.test") }

// heard begins a hold by the first process, and returns the holds of all when they know of
// it and it is over.
func heard(t *testing.T, paces ...*Pace) []transport.Hold {
	t.Helper()
	var holds []transport.Hold
	for _, p := range paces {
		holds = append(holds, holdOf(p))
	}
	holds[0].Begin(200 * time.Millisecond)
	for _, h := range holds {
		eventually(t, func() bool { h := h.(*hold); h.mu.Lock(); defer h.mu.Unlock(); return !h.until.IsZero() }, "the process hears of it")
	}
	for _, h := range holds {
		eventually(t, func() bool { return !waits(h) }, "it ends")
	}
	return holds
}

func TestARetryAfterIsHeardByAllMachines(t *testing.T) {
	url := startServer(t, t.TempDir(), -1).ClientURL()
	a, b := openAt(t, url, 3*time.Hour, nil), openAt(t, url, -3*time.Hour, nil)
	holdOf(a).Begin(time.Hour)
	require.True(t, waits(holdOf(a)), "the process that was told obeys at once")
	eventually(t, func() bool { return waits(holdOf(b)) }, "the other one hears of it")
	wait, _ := holdOf(b).State()
	require.InDelta(t, time.Hour, wait, float64(time.Minute))

	late := openAt(t, url, 0, nil)
	require.True(t, waits(holdOf(late)), "a process that starts later knows of it before its first request")
	require.False(t, waits(late.Of("api").Hold("http://files.test")), "other origins are free")
	require.False(t, waits(late.Of("another").Hold("http://api.test")), "and so are other schedules")

	holdOf(a).Begin(2 * time.Hour)
	holdOf(b).Begin(time.Minute)
	eventually(t, func() bool { wait, _ := holdOf(late).State(); return wait > 90*time.Minute }, "the longest one counts")
}

func TestOneRequestOfAllMachinesGoesFirstAfterAHold(t *testing.T) {
	t.Parallel()
	url := startServer(t, t.TempDir(), -1).ClientURL()
	var paces []*Pace
	for i := range 6 {
		paces = append(paces, openAt(t, url, time.Duration(i)*time.Hour, nil))
	}
	holds := heard(t, paces...)
	var mu sync.Mutex
	var winners []transport.Hold
	var all sync.WaitGroup
	for _, h := range holds {
		for range 8 {
			all.Go(func() {
				first, ok, err := h.Enter(t.Context())
				if err != nil {
					t.Error(err)
				}
				assert.Equal(t, first, ok, "no request goes but the first")
				if first {
					mu.Lock()
					defer mu.Unlock()
					winners = append(winners, h)
				}
			})
		}
	}
	all.Wait()
	require.Len(t, winners, 1)
	for _, h := range holds {
		wait, changed := h.State()
		require.Zero(t, wait)
		require.NotNil(t, changed, "the others wait until it has ended")
	}

	winners[0].Leave()
	for _, h := range holds {
		eventually(t, func() bool { _, changed := h.State(); return changed == nil }, "all are free")
		for range 8 {
			first, ok, err := h.Enter(t.Context())
			require.NoError(t, err)
			require.True(t, ok)
			require.False(t, first)
		}
	}
}

func TestAFirstRequestThatIsToldToWaitAgainHoldsAllMachines(t *testing.T) {
	url := startServer(t, t.TempDir(), -1).ClientURL()
	holds := heard(t, openAt(t, url, 0, nil), openAt(t, url, 0, nil))
	first, _, err := holds[1].Enter(t.Context())
	require.NoError(t, err)
	require.True(t, first)
	_, changed := holds[0].State()
	holds[1].Begin(time.Hour)
	holds[1].Leave()
	require.True(t, waits(holds[1]))
	eventually(t, func() bool { return waits(holds[0]) }, "the other process waits again")
	if changed != nil {
		<-changed
	}
}

// A process that ends while its request goes first does not stop the others for good.
func TestAFirstRequestWhoseProcessEndsIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	url := startServer(t, t.TempDir(), -1).ClientURL()
	a, b := openAt(t, url, 0, nil), openAt(t, url, 0, nil)
	a.probes = time.Second
	holds := heard(t, a, b)
	first, _, err := holds[0].Enter(t.Context())
	require.NoError(t, err)
	require.True(t, first)
	a.cancel() // the process ends without a word
	_, ok, err := holds[1].Enter(t.Context())
	require.NoError(t, err)
	require.False(t, ok, "it may be about to end well")
	eventually(t, func() bool {
		_, changed := holds[1].State()
		if changed != nil {
			<-changed
			return false
		}
		first, _, err := holds[1].Enter(t.Context())
		return err == nil && first
	}, "the other process takes over")
}

func TestAHoldOutlivesARestartOfTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startServer(t, dir, -1)
	a, b := openAt(t, s.ClientURL(), 0, nil), openAt(t, s.ClientURL(), 0, nil)
	holdOf(a).Begin(time.Hour)
	eventually(t, func() bool { return waits(holdOf(b)) }, "the other process hears of it")
	s = restart(t, s, dir)
	require.True(t, waits(holdOf(a)))
	require.True(t, waits(holdOf(b)))
	eventually(t, func() bool {
		p, err := Open(t.Context(), connect(t, s.ClientURL()), nil)
		require.NoError(t, err)
		defer p.Close()
		return waits(holdOf(p))
	}, "it is put back, and heard by a process that starts now")
	holdOf(b).Begin(3 * time.Hour)
	eventually(t, func() bool { wait, _ := holdOf(a).State(); return wait > 2*time.Hour }, "the watches go on")
}

func TestNoRequestGoesFirstWhileTheServerIsAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := startServer(t, dir, -1)
	holds := heard(t, openAt(t, s.ClientURL(), 0, nil))
	port := s.Addr().(*net.TCPAddr).Port
	s.Shutdown()
	s.WaitForShutdown()
	impatient, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	first, ok, err := holds[0].Enter(impatient)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, first)
	require.False(t, ok)

	startServer(t, dir, port)
	first, ok, err = holds[0].Enter(t.Context())
	require.NoError(t, err)
	require.True(t, first)
	require.True(t, ok)
	holds[0].Leave()
}

func TestNothingOfAHoldOutlivesItsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pace{now: time.Now, holds: map[string]*hold{}}
		p.ctx, p.cancel = context.WithCancel(t.Context())
		p.clock.Store(&serverClock{time.Now(), time.Now()})
		h := p.hold("hold.api")
		h.apply(storedHold{Until: time.Now(), Probe: time.Now().Add(probeTime)}, 1)
		_, changed := h.State()
		time.Sleep(probeTime)
		<-changed

		h.apply(storedHold{Until: time.Now(), Probe: time.Now().Add(probeTime)}, 2)
		_, changed = h.State()
		p.Close()
		time.Sleep(2 * probeTime)
		select {
		case <-changed:
			t.Error("a timer is still running")
		default:
		}
	})
}
