package transport

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

func TestAResetIsAWaitOrATime(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		name, header string
		want         time.Duration // negative is an invalid header
	}{
		{"zero", "0", 0},
		{"seconds", "30", 30 * time.Second},
		{"seconds with space", " 7 ", 7 * time.Second},
		{"most seconds", "999999999", 999999999 * time.Second},
		{"time in seconds", "1700000060", time.Minute},
		{"time in milliseconds", "1700000060000", time.Minute},
		{"time in the past", "1600000000", 0},
		{"empty", "", -1},
		{"word", "soon", -1},
		{"negative", "-1", -1},
		{"part of a second", "1.5", 2 * time.Second},
		{"more than 64 bits", "9223372036854775808", -1},
		{"largest integer", "9223372036854775807", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := resetIn(c.header, now)
			require.Equal(t, c.want >= 0, ok)
			require.Equal(t, max(c.want, 0), got)
		})
	}
}

func TestARateLimitThatResetsTooLateEndsTheCall(t *testing.T) {
	s, n := serve(t, status(200, "Content-Type", "application/json", "X-Left", "0", "X-Reset", "36000"))
	c, clock := clientFor(t, s.URL, func(o *Options) {
		o.RateLimit = RateLimit{Remaining: "X-Left", Reset: "X-Reset"}
	})
	_, e := get(t, c, s.URL)
	require.Nil(t, e)
	_, e = get(t, c, s.URL)
	require.NotNil(t, e)
	require.Equal(t, failure.Transient, e.Class)
	require.Contains(t, e.Message, "rate limit exhausted; according to X-Reset it resets in 10h0m0s, at 2026-01-02T13:04:05Z")
	require.EqualValues(t, 1, n.Load(), "the second request is not sent")
	require.Empty(t, clock.waits, "waiting would not help")
	clock.now = clock.now.Add(10 * time.Hour)
	_, e = get(t, c, s.URL)
	require.Nil(t, e)
	require.EqualValues(t, 2, n.Load())
}
