package cluster

import (
	"context"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/runtime"
)

// LosingAcks returns options with which some acknowledgements of pages get lost.
func LosingAcks(o Options, lose func() bool) Options {
	o.lose = func(store.Key) bool { return lose() }
	return o
}

// with returns options with a changed timing. Later changes follow earlier ones.
func with(o Options, change func(*timing)) Options {
	o.adjust = append(slices.Clone(o.adjust), change)
	return o
}

// Impatient returns options with short pauses after failures, and with frequent reports. Other
// changes of the timing follow this one.
func Impatient(o Options) Options {
	impatient := func(t *timing) {
		*t = newTiming(10 * time.Millisecond)
		t.report = 50 * time.Millisecond
	}
	o.adjust = append([]func(*timing){impatient}, o.adjust...)
	return o
}

// Minute returns options with long pauses after failures.
func Minute(o Options) Options {
	return with(o, func(t *timing) {
		report := t.report
		*t = newTiming(time.Minute)
		t.report = report
	})
}

// Final returns options with which the first failure of a task is final if there is no other worker.
func Final(o Options) Options { return with(o, func(t *timing) { t.alone, t.patience = 0, 0 }) }

// Hour returns options with which a failure without another worker is final after an hour.
func Hour(o Options) Options { return with(o, func(t *timing) { t.alone = time.Hour }) }

// LongestProbe returns the longest pause of a worker before it tries an origin again that no worker is known to
// reach.
func LongestProbe(c *Cluster) time.Duration { return c.timing.longestProbe }

// Hasty returns options with which a collection waits less: for pages of a run that is
// cancelled, and before it looks why none arrives.
func Hasty(o Options) Options {
	return with(o, func(t *timing) { t.afterGrace, t.idle = graceOf(20*time.Millisecond), 50*time.Millisecond })
}

// Graceful returns options with which a collection of a run that is cancelled waits for pages
// until the function is called that it sends.
func Graceful(o Options, graces chan<- func()) Options {
	return with(o, func(t *timing) { t.afterGrace = func(_ context.Context, end func()) { graces <- end } })
}

// ProgressAtOnce returns options with which workers log their progress whenever they report it.
func ProgressAtOnce(o Options) Options {
	return with(o, func(t *timing) { t.report, t.progress = 10*time.Millisecond, time.Millisecond })
}

// ReportRarely returns options with which workers report only when they begin, and what cannot wait.
func ReportRarely(o Options) Options { return with(o, func(t *timing) { t.report = time.Hour }) }

// SilentAtOnce returns options with which each worker counts as silent, also if the clock of the server is ahead.
func SilentAtOnce(o Options) Options { return with(o, func(t *timing) { t.silent = -time.Hour }) }

// Resume returns a collection that has read its checkpoints, and goes on when the function is called.
func Resume(ctx context.Context, r *Run, e *engine.Engine, sink engine.SinkFunc, o CollectOptions) (collect func() error, err error) {
	c, err := r.newCollection(ctx, e, runtime.Sink(sink), o)
	return func() error {
		_, err := c.collect(ctx)
		return err
	}, err
}

// Idle says why a run does not go on.
func Idle(ctx context.Context, r *Run) string { return r.idle(ctx, false).String() }

// Waits returns how many pages of a run have waited for room on the server since that was logged.
func Waits(c *Cluster, run string) int {
	c.full.mu.Lock()
	defer c.full.mu.Unlock()
	return c.full.all[problemKey{run: run}].more
}

// SubmissionOf returns what tells a run apart from others of the same name.
func SubmissionOf(r *Run) string { return r.record.Submission }

// MarkDeleted leaves a run as a deletion does that fails at its first step.
func MarkDeleted(ctx context.Context, r *Run) error {
	return r.update(ctx, func(rec *record.Run) { rec.Phase, rec.Deleted = Cancelled, true })
}
