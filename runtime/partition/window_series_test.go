package partition

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/times"
)

// bounds returns the beginning and the end of a window.
func bounds(v any) (from, to any) {
	both, _ := v.(map[string]any)
	return both["from"], both["to"]
}

// drawTime draws a time, also at the end of a month, on a leap day, and near a change of
// the clocks.
func drawTime(t *rapid.T) time.Time {
	zone := rapid.SampledFrom([]string{"UTC", "Europe/Prague", "America/New_York", "Australia/Lord_Howe"}).Draw(t, "zone")
	location, err := time.LoadLocation(zone)
	require.NoError(t, err)
	day := rapid.SampledFrom([]string{"2024-01-31", "2024-02-29", "2026-03-29", "2026-10-25", "2026-03-08", "2025-12-31"}).Draw(t, "day")
	start, err := time.ParseInLocation(time.DateOnly, day, location)
	require.NoError(t, err)
	return start.Add(time.Duration(rapid.IntRange(0, 100).Draw(t, "hours")) * time.Hour)
}

func drawSpan(t *rapid.T, name string) times.Span {
	span, err := times.ParseSpan(rapid.SampledFrom([]any{"1mo", "5mo", "1y", "1d", "3d", "1w", "36h", "90m", "7h"}).Draw(t, name))
	require.NoError(t, err)
	return span
}

// TestWindowsOfTimesCoverTheirIntervalExactly draws intervals and steps: each window begins
// where the one before it ended, less the overlap, and together they are the interval.
func TestWindowsOfTimesCoverTheirIntervalExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := drawTime(t)
		to := from.Add(time.Duration(rapid.IntRange(0, 24*400).Draw(t, "length")) * time.Hour)
		source := rules.Window{Step: drawSpan(t, "step")}
		if rapid.Bool().Draw(t, "overlaps") {
			source.Overlap = drawSpan(t, "overlap")
		}
		w, err := newWindows(source, from, to)
		require.NoError(t, err)
		at, count := from, 0
		for {
			require.Equal(t, !at.Before(to), w.done())
			v, more := w.next()
			if !more {
				break
			}
			begins, ends := bounds(v)
			want := at
			if count++; count > 1 && source.Overlap != (times.Span{}) {
				want = source.Overlap.After(at, -1)
			}
			require.True(t, want.Equal(begins.(time.Time)), "window %d begins at %v, want %v", count, begins, want)
			require.True(t, at.Before(ends.(time.Time)), "window %d ends at %v, before it begins", count, ends)
			at = ends.(time.Time)
		}
		require.True(t, at.Equal(to), "the windows end at %v, want %v", at, to)
	})
}

// TestWindowsOfNumbersCoverTheirIntervalExactly is the same for numbers.
func TestWindowsOfNumbersCoverTheirIntervalExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(-1000, 1000).Draw(t, "from")
		steps := []any{1, 7, 100, 0.25, 2.5}
		if rapid.Bool().Draw(t, "large") { // as a float, an id of this size is rounded
			from, steps = from+1<<60, steps[:3]
		}
		to := from + rapid.IntRange(0, 500).Draw(t, "length")
		source := rules.Window{Step: times.Span{Number: rapid.SampledFrom(steps).Draw(t, "step")}}
		w, err := newWindows(source, from, to)
		require.NoError(t, err)
		var at any = from
		for {
			v, more := w.next()
			if !more {
				break
			}
			begins, ends := bounds(v)
			require.EqualValues(t, at, begins)
			require.True(t, before(at, ends), "from %v to %v", begins, ends)
			at = ends
		}
		require.EqualValues(t, to, at)
	})
}

// TestHalvesCoverTheirWindow splits windows down to the smallest: halves meet, neither is
// empty, both together are the window, and splitting ends.
func TestHalvesCoverTheirWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &windowSeries{}
		var whole map[string]any
		if rapid.Bool().Draw(t, "times") {
			from := drawTime(t)
			whole = window(from, from.Add(time.Duration(rapid.IntRange(1, 24*90).Draw(t, "length"))*time.Hour))
			w.source.Smallest = drawSpan(t, "smallest")
		} else {
			from := rapid.IntRange(-50, 50).Draw(t, "from")
			w.source.Smallest.Number = rapid.SampledFrom([]any{nil, 1, 7, 0.5}).Draw(t, "smallest")
			if w.source.Smallest.Number != 0.5 && rapid.Bool().Draw(t, "large") {
				from += 1 << 60
			}
			whole = window(from, from+rapid.IntRange(1, 200).Draw(t, "length"))
		}
		pending, at, leaves := []any{whole}, whole["from"], 0
		for len(pending) > 0 {
			first, second, ok := w.halves(pending[0])
			from, to := bounds(pending[0])
			if pending = pending[1:]; ok {
				begins, middle := bounds(first)
				again, ends := bounds(second)
				require.Equal(t, []any{from, middle, to}, []any{begins, again, ends})
				require.True(t, before(from, middle) && before(middle, to), "%v is divided at %v", []any{from, to}, middle)
				pending = append([]any{first, second}, pending...)
				continue
			}
			require.Equal(t, at, from, "no gap, and no overlap")
			at = to
			leaves++
			require.Less(t, leaves, 10000)
		}
		require.Equal(t, whole["to"], at)
	})
}

// TestClosedWindowsAndTheirHalvesHaveEveryUnitOnce divides intervals of whole numbers and of days into windows
// that include their ends, and these down to single units.
func TestClosedWindowsAndTheirHalvesHaveEveryUnitOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first, length := rapid.IntRange(-50, 50).Draw(t, "from"), rapid.IntRange(0, 60).Draw(t, "length")
		step := rapid.IntRange(0, 20).Draw(t, "step")
		unit := func(n int) any { return n }
		source := rules.Window{Granularity: times.Span{Number: 1}, Step: times.Span{Number: step}}
		if rapid.Bool().Draw(t, "days") {
			day := time.Date(2024, 2, 1, 0, 0, 0, 0, time.UTC)
			unit = func(n int) any { return day.AddDate(0, 0, n) }
			source = rules.Window{Granularity: times.Span{Days: 1}, Step: times.Span{Days: step}}
		}
		if step == 0 {
			source.Step = times.Span{}
		}
		source.Smallest = source.Granularity
		w, err := newWindows(source, unit(first), unit(first+length))
		require.NoError(t, err)
		n := 0
		var whole func(v any)
		whole = func(v any) {
			if a, b, ok := w.halves(v); ok {
				whole(a)
				whole(b)
				return
			}
			from, to := bounds(v)
			require.Equal(t, []any{unit(first + n), unit(first + n)}, []any{from, to})
			n++
		}
		for v, more := w.next(); more; v, more = w.next() {
			require.NoError(t, (&windowSeries{From: w.From, To: w.To, Next: w.Next}).check(source), "a state may have it")
			whole(v)
		}
		require.Equal(t, length+1, n)
	})
}

// TestWindowsOfDaysAreThoseOfTheirTimeZone divides a week in which the clocks change: every
// window begins at midnight, also after the windows were saved and read again.
func TestWindowsOfDaysAreThoseOfTheirTimeZone(t *testing.T) {
	prague, err := time.LoadLocation("Europe/Prague")
	require.NoError(t, err)
	from := time.Date(2026, time.March, 27, 0, 0, 0, 0, prague)
	w, err := newWindows(rules.Window{Step: times.Span{Days: 1}}, from, from.AddDate(0, 0, 7))
	require.NoError(t, err)
	for day := range 7 {
		saved, err := json.Marshal(w)
		require.NoError(t, err)
		again := &windowSeries{source: w.source}
		require.NoError(t, json.Unmarshal(saved, again))
		w = again
		v, more := w.next()
		require.True(t, more)
		begins, _ := bounds(v)
		require.Equal(t, from.AddDate(0, 0, day).Format(time.RFC3339), begins.(time.Time).Format(time.RFC3339))
	}
	require.True(t, w.done())
}

func TestAStepThatChangesNothingIsRefused(t *testing.T) {
	for _, c := range []struct{ from, to any }{{0.0, 1e20}, {1e20, 2e20}} {
		_, err := newWindows(rules.Window{Step: times.Span{Number: 1}}, c.from, c.to)
		require.ErrorContains(t, err, "step is 1, which is too small for numbers like")
	}
}

// TestBoundsAreDecimal divides intervals of decimal fractions by such steps: every bound is
// the number that a person would write, and no window is a rounding error long.
// TestBoundsWithMoreDigitsThanAFloatAreRoundedOutwards: a later beginning leaves out the rows of the value itself.
func TestBoundsWithMoreDigitsThanAFloatAreRoundedOutwards(t *testing.T) {
	for _, text := range []string{"1735689600.123456860", "1735689600.123456980", "-1735689600.123456860", "18446744073709551615", "9223372036854775809"} {
		w, err := newWindows(rules.Window{}, json.Number(text), json.Number(text))
		require.NoError(t, err)
		v, ok := w.next()
		require.True(t, ok)
		from, to := bounds(v)
		exact, _ := new(big.Rat).SetString(text)
		require.Negative(t, times.Exact(from).Cmp(exact), text)
		require.Positive(t, times.Exact(to).Cmp(exact), text)
		require.Equal(t, to, math.Nextafter(from.(float64), math.Inf(1)), text)
	}
	_, err := newWindows(rules.Window{}, 1, json.Number("1"+strings.Repeat("0", 400)))
	require.ErrorContains(t, err, "value out of range")
}

func TestBoundsAreDecimal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.SampledFrom([]int{10, 100, 1000, 100000}).Draw(t, "scale")
		fraction := func(n int) float64 { return float64(n) / float64(scale) } // the nearest to the decimal fraction
		from, step := rapid.IntRange(-5000, 5000).Draw(t, "from"), rapid.IntRange(1, 300).Draw(t, "step")
		count := rapid.IntRange(1, 50).Draw(t, "windows")
		source := rules.Window{Step: times.Span{Number: fraction(step)}}
		w, err := newWindows(source, fraction(from), fraction(from+count*step))
		require.NoError(t, err)
		for i := range count {
			v, more := w.next()
			require.True(t, more)
			begins, ends := bounds(v)
			require.Equal(t, fraction(from+i*step), begins)
			require.Equal(t, fraction(from+(i+1)*step), ends)
		}
		require.True(t, w.done(), "there are %d windows", count)

		w.source.Smallest = times.Span{Number: fraction(1)}
		first, _, ok := w.halves(window(fraction(from), fraction(from+step)))
		require.Equal(t, step > 1, ok, "a window is split unless it is the smallest")
		_, middle := bounds(first)
		require.Equal(t, ok, middle == fraction(from+max(step/2, 1)), "the middle is %v", middle)
	})
}
