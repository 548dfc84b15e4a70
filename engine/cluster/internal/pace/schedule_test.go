package pace

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The clock of the server was an hour ahead when the schedule was stored, and is right now.
func TestAScheduleFarInTheFutureIsNotBelieved(t *testing.T) {
	var log bytes.Buffer
	s := &Schedule{pace: &Pace{now: time.Now, log: slog.New(slog.NewTextHandler(&log, nil))}}
	now := time.Now()
	for _, c := range []struct {
		ahead, interval time.Duration
		believed        bool
	}{
		{time.Second, 100 * time.Millisecond, true}, {time.Minute, time.Millisecond, true}, {time.Hour, time.Minute, true},
		{time.Hour, 100 * time.Millisecond, false}, {2 * time.Hour, time.Minute, false},
	} {
		log.Reset()
		e := entry[storedRate]{value: storedRate{Next: now.Add(c.ahead)}, revision: 1, created: now}
		next := s.current(e, rate{c.interval, 1}, now)
		require.Equal(t, c.believed, next.Equal(now.Add(c.ahead)), c)
		require.Equal(t, c.believed, log.Len() == 0, c)
		if !c.believed {
			require.Equal(t, now, next)
		}
	}
}
