package cluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A counted context counts how often it is looked at, and ends when that is too often.
type counted struct {
	context.Context
	looks int
}

func (c *counted) Err() error {
	if c.looks++; c.looks > 1000 {
		return context.Canceled
	}
	return c.Context.Err()
}

// A worker whose only slot has a task pauses when it may not fetch another one.
func TestAWorkerThatMayFetchNothingPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		p := &workerRun{slots: make(chan struct{}, 1), alone: &attempt{}}
		p.slots <- struct{}{}
		p.busy.Add(1)
		looked := &counted{Context: ctx}
		require.NoError(t, p.serve(looked))
		require.Less(t, looked.looks, 50)
	})
}
