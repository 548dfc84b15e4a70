package cluster

import "time"

// The time between two looks at failed partitions that are queued again. Each look reads the
// last pages of all partitions.
const (
	shortestLook = 200 * time.Millisecond
	longestLook  = 10 * time.Second
)

// looks are the times between looks: longer and longer while nothing changes. The zero looks
// is ready for use.
type looks struct {
	pause time.Duration
	pages int64
}

// next returns the time until the next look. pages is how many have been received.
func (l *looks) next(pages int64) time.Duration {
	if l.pause == 0 || pages != l.pages {
		l.pause, l.pages = shortestLook, pages
		return l.pause
	}
	l.pause = min(2*l.pause, longestLook)
	return l.pause
}
