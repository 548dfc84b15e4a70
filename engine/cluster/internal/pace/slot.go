package pace

import "time"

// A state is what the bucket has of the rate of an origin.
type state struct {
	// Next is the time at which the next request would be made if there were no bursts
	// (the theoretical arrival time of the generic cell rate algorithm).
	Next time.Time `json:"next"`
}

// A rate is what one request asks for.
type rate struct {
	interval time.Duration // between requests
	burst    int           // that may follow each other at once after a rest, at least 1
}

// rest is how far Next may be ahead of a request that is made at once.
func (r rate) rest() time.Duration { return time.Duration(r.burst-1) * r.interval }

// take takes the next free time from a state, at or after now.
//
// Runs may have different rates for one origin: each request moves the state on by its own
// interval, so that two runs get at most what the rates allow together: a run with half the
// requests of its rate leaves the other one half of its own.
func (s *state) take(now time.Time, r rate) time.Time {
	begin := later(s.Next, now)
	s.Next = begin.Add(r.interval)
	return later(begin.Add(-r.rest()), now)
}

// giveBack gives back a time, after which Next was next. It reports false, and does nothing,
// if others have taken times after it.
func (s *state) giveBack(next time.Time, r rate) bool {
	if !s.Next.Equal(next) {
		return false
	}
	s.Next = next.Add(-r.interval)
	return true
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
