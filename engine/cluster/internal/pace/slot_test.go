package pace

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// requireWithin requires that no window of sorted times has more than its length times the
// rate, and a burst.
func requireWithin(t require.TestingT, times []time.Time, interval time.Duration, burst int) {
	for first := range times {
		// The window from the first to the last request, with both of them.
		for _, last := range []int{first + 1, first + burst, first + 10*burst, len(times) - 1} {
			if last <= first || last >= len(times) {
				continue
			}
			window := times[last].Sub(times[first])
			most := burst + int(math.Floor(float64(window)/float64(interval)))
			require.LessOrEqual(t, last-first+1, most, "requests from %s on, within %s", times[first], window)
		}
	}
}

func TestNoWindowHasMoreThanTheRateAndABurst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rate{
			interval: time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "interval")),
			burst:    rapid.IntRange(1, 20).Draw(t, "burst"),
		}
		now := time.Unix(1e9, 0)
		s := storedRate{Next: now}
		var times []time.Time
		for range rapid.IntRange(1, 200).Draw(t, "requests") {
			if rapid.IntRange(0, 9).Draw(t, "rest") == 0 {
				now = now.Add(time.Duration(rapid.Int64Range(0, 30*int64(r.interval)).Draw(t, "for")))
			}
			slot := s.take(now, r)
			require.False(t, slot.Before(now))
			times = append(times, slot)
		}
		requireWithin(t, times, r.interval, r.burst)
	})
}

func TestABurstFollowsARest(t *testing.T) {
	now := time.Unix(1e9, 0)
	s := storedRate{Next: now.Add(-time.Hour)}
	var got []time.Duration
	for range 6 {
		got = append(got, s.take(now, rate{time.Second, 4}).Sub(now))
	}
	require.Equal(t, []time.Duration{0, 0, 0, 0, time.Second, 2 * time.Second}, got)
}

func TestRunsWithDifferentRatesShareASchedule(t *testing.T) {
	now := time.Unix(1e9, 0)
	s := storedRate{Next: now}
	var got []time.Duration
	for _, interval := range []time.Duration{time.Second, 100 * time.Millisecond, time.Second, 100 * time.Millisecond} {
		got = append(got, s.take(now, rate{interval, 1}).Sub(now))
	}
	require.Equal(t, []time.Duration{0, time.Second, 1100 * time.Millisecond, 2100 * time.Millisecond}, got)
}

func TestOnlyTheLastTimesCanBeGivenBack(t *testing.T) {
	now, r := time.Unix(1e9, 0), rate{time.Second, 1}
	s := storedRate{Next: now}
	var ends []time.Time
	for range 3 {
		s.take(now, r)
		ends = append(ends, s.Next)
	}
	require.False(t, s.giveBack(ends[0], r))
	require.Equal(t, now.Add(3*time.Second), s.Next, "others have taken times after it")
	require.True(t, s.giveBack(ends[2], r))
	require.True(t, s.giveBack(ends[1], r))
	require.Equal(t, now.Add(time.Second), s.take(now, r))
}

func TestAServerWhoseClockWasSetBackDoesNotStopTheRequests(t *testing.T) {
	now := time.Unix(1e9, 0)
	require.Equal(t, time.Hour, setBack(now.Add(time.Hour), now))
	require.Zero(t, setBack(now.Add(-time.Hour), now))
	require.Zero(t, setBack(now.Add(time.Duration(rand.N(1000))*time.Millisecond), now), "an error of measurement")
}
