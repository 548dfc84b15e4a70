package transport

import (
	"context"
	"time"
)

// A Clock tells the time and waits. One that has a method
//
//	Jitter(bound time.Duration) time.Duration
//
// also decides how long to wait, up to a bound, before a request is retried.
type Clock interface {
	Now() time.Time
	// Sleep waits for d. It returns the context's error if the context is done first.
	Sleep(ctx context.Context, d time.Duration) error
}

// SystemClock is the machine's clock.
var SystemClock Clock = systemClock{}

type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// jitterer is a [Clock] that decides the waits between retries.
type jitterer interface {
	Jitter(bound time.Duration) time.Duration
}
