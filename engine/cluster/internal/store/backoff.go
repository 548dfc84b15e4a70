package store

import (
	"context"
	"time"
)

// A Backoff pauses between attempts: each time twice as long, up to a limit.
type Backoff struct {
	First, Longest time.Duration
	last           time.Duration
}

// Wait pauses. The error is why the context has ended before.
func (b *Backoff) Wait(ctx context.Context) error {
	b.last = min(max(2*b.last, b.First), b.Longest)
	return Sleep(ctx, b.last)
}

// Reset lets the next pause be the first again.
func (b *Backoff) Reset() { b.last = 0 }

// Sleep waits. It returns why the context has ended if that is done first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
