package cluster

import (
	"cmp"
	"context"
	"testing"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
)

// LosingAcks returns options with which some acknowledgements of pages get lost.
func LosingAcks(o Options, lose func() bool) Options {
	o.lose = func(store.Key) bool { return lose() }
	return o
}

// Impatient returns options with short pauses after failures.
func Impatient(o Options) Options {
	o.pause = cmp.Or(o.pause, 10*time.Millisecond)
	return o
}

// Minute returns options with long pauses after failures.
func Minute(o Options) Options {
	o.pause = time.Minute
	return o
}

// Final returns options with which the first failure of a task is final.
func Final(o Options) Options {
	o.final = true
	return o
}

// Hour returns options with which a failure without another worker is final after an hour.
func Hour(o Options) Options {
	o.alone = time.Hour
	return o
}

// Hasty returns options with which a collection waits less: for pages of a run that is
// cancelled, and before it looks why none arrives.
func Hasty(o Options) Options {
	o.grace = func(end func()) { time.Sleep(20 * time.Millisecond); end() }
	o.idle = 50 * time.Millisecond
	return o
}

// Graceful returns options with which a collection of a run that is cancelled waits for pages
// until the function is called that it sends.
func Graceful(o Options, graces chan<- func()) Options {
	o.grace = func(end func()) { graces <- end }
	return o
}

// Idle says why a run does not go on.
func Idle(ctx context.Context, r *Run) string { return r.idle(ctx, false) }

// SubmissionOf returns what tells a run apart from others of the same name.
func SubmissionOf(r *Run) string { return r.record.Submission }

// ProgressAtOnce lets workers log their progress whenever they report it.
func ProgressAtOnce(t *testing.T) {
	report, progress := reportEvery, progressEvery
	t.Cleanup(func() { reportEvery, progressEvery = report, progress })
	reportEvery, progressEvery = 10*time.Millisecond, time.Millisecond
}

// MarkDeleted leaves a run as a deletion does that fails at its first step.
func MarkDeleted(ctx context.Context, r *Run) error {
	return r.update(ctx, func(rec *record.Run) { rec.Phase, rec.Deleted = Cancelled, true })
}

// ReportRarely lets workers report only when they begin, and what cannot wait.
func ReportRarely(t *testing.T) {
	report := reportEvery
	t.Cleanup(func() { reportEvery = report })
	reportEvery = time.Hour
}
