package cluster

import (
	"context"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
)

// A timing holds how long the calls of a cluster wait, and how often they look or report. Tests
// change it.
type timing struct {
	// Pauses after a failure; see [attempt.planRetry].
	firstRetry   time.Duration // before a task is tried again for the first time; it doubles with each further failure
	longestRetry time.Duration // longest pause before a task is tried again
	otherRetry   time.Duration // longest pause if another worker should try the task
	alone        time.Duration // time after which a failure is final if there is no other worker
	patience     time.Duration // of a run that sets no other

	// How long a worker avoids a run or an origin; see [workerRun.pauseRun] and [workerRun.avoid].
	pausedRun     time.Duration // a run that the worker cannot join
	longestAvoid  time.Duration // an origin that other workers reach
	longestProbe  time.Duration // an origin that no worker is known to reach
	countsReached time.Duration // time after a page during which an origin counts as reached

	report   time.Duration // between two reports of a worker to the server
	progress time.Duration // between two log entries about the progress of a worker
	silent   time.Duration // time without a report after which a worker counts as silent

	// afterGrace calls end when workers no longer store pages of a run that has been cancelled,
	// unless the context ends first.
	afterGrace func(ctx context.Context, end func())
	idle       time.Duration // how long a collection waits for pages before it looks for the reason
}

// newTiming returns a timing. The pauses after failures are multiples of the first one, which is a
// second except in tests.
func newTiming(firstRetry time.Duration) timing {
	return timing{
		firstRetry:   firstRetry,
		longestRetry: 300 * firstRetry,
		otherRetry:   10 * firstRetry,
		alone:        60 * firstRetry,
		patience:     3600 * firstRetry,

		pausedRun:     10 * firstRetry,
		longestAvoid:  300 * firstRetry,
		longestProbe:  10 * firstRetry,
		countsReached: 60 * firstRetry,

		report:   5 * time.Second,
		progress: time.Minute,
		silent:   15 * time.Second,

		afterGrace: graceOf(2 * time.Second),
		idle:       10 * time.Second,
	}
}

// graceOf returns a function for [timing.afterGrace] that waits for a time.
func graceOf(wait time.Duration) func(ctx context.Context, end func()) {
	return func(ctx context.Context, end func()) {
		if store.Sleep(ctx, wait) == nil {
			end()
		}
	}
}

// mostDoublings bounds how often the first pause is doubled.
const mostDoublings = 9

// retry returns the pause after a number of failures, at most longest.
func (t *timing) retry(failures int, longest time.Duration) time.Duration {
	return min(t.firstRetry<<min(failures-1, mostDoublings), longest)
}
