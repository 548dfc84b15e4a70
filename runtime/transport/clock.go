package transport

import (
	"context"
	"time"
)

// A Clock tells the time and waits. A Clock with the method
//
//	Jitter(bound time.Duration) time.Duration
//
// also determines the waits before retries, up to a bound.
type Clock interface {
	Now() time.Time
	// Sleep waits for d. It returns the context's error if the context is done first.
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock is the clock of the machine.
var SystemClock Clock = systemClock{}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// A jitterer is a [Clock] that determines the waits before retries.
type jitterer interface {
	Jitter(bound time.Duration) time.Duration
}

// A VirtualClock is the clock of a run without a network. Its time advances only while the run
// waits, and the waits before retries are the same in every run. It is not safe for concurrent use.
type VirtualClock struct{ Time time.Time }

// Now returns the time of the run.
func (c *VirtualClock) Now() time.Time { return c.Time }

// Jitter returns the bound.
func (c *VirtualClock) Jitter(bound time.Duration) time.Duration { return bound }

// Sleep advances the time and returns at once. If the context is done, it returns the error of
// the context and leaves the time as it is.
func (c *VirtualClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.Time = c.Time.Add(max(d, 0))
	return nil
}
