package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A sinkGate passes the pages of all jobs to the sink, one at a time, and decides whether
// a failed job ends the run. Concurrent jobs may use it.
type sinkGate struct {
	sink      runtime.Sink
	skip      func(*Page) // receives the pages of skipped partitions that the sink does not receive; may be nil
	keepGoing bool        // whether the other jobs go on after a job failed
	log       *slog.Logger

	yielding bool // the sink is the body of a loop over Pages, to which its panics belong

	mu       sync.Mutex
	left     int           // jobs of the run that have not ended
	ended    error         // reason why the other jobs must end; nil while they may run
	failures map[int]error // errors of the failed jobs, by position
}

func (e *Engine) newSinkGate(sink SinkFunc) *sinkGate {
	s := e.options.run
	return &sinkGate{sink: runtime.Sink(sink), skip: s.skipped, keepGoing: s.keepGoing, log: e.log(), failures: map[int]error{}}
}

// deliver passes a page to the sink unless the run must end. The run ends after a page that the
// sink rejected or on which a job failed, because an output may hold a part of that page. A
// skipped partition does not end the run.
func (g *sinkGate) deliver(ctx context.Context, page *Page) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ended != nil {
		return g.ended
	}
	err := g.sink(ctx, page)
	if err != nil || page.Outcome == rules.Failed && !page.Skipped && !g.keepGoing {
		g.ended = cancelledBecauseOf(page.Job)
	}
	return err
}

// deliverSkipped passes on the page on which a skipped partition failed.
func (g *sinkGate) deliverSkipped(page *Page) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.skip != nil && g.ended == nil {
		g.skip(page)
	}
}

// end records the error of the job at a position, if it failed. It returns the reason why the
// other jobs must end, or nil. ctx is that of the run. A job that ended because another job failed adds no error.
func (g *sinkGate) end(ctx context.Context, position int, job string, err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left--
	if err == nil || errors.Is(err, errJobFailed) {
		return g.ended
	}
	g.failures[position] = err
	switch {
	case g.ended != nil:
	case !g.keepGoing || ctx.Err() != nil:
		g.ended = cancelledBecauseOf(job)
	case g.log != nil && g.left > 0:
		g.failures[position] = g.report(job, err)
	}
	return g.ended
}

// report logs that a job failed while the other jobs continue. It returns the error of the job, joined
// with that of a logger that panics.
func (g *sinkGate) report(job string, jobErr error) (err error) {
	defer func() { err = join(jobErr, failure.Recovered(job, recover(), nil)) }()
	g.log.Error(fmt.Sprintf("%v; the other jobs continue", jobErr), "event", "job_error", "job", job)
	return nil
}

// stopReason returns the reason why no other job may begin, or nil.
func (g *sinkGate) stopReason() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ended
}

// err returns the error of the run: the error of the failed job, or the joined errors of several
// failed jobs in the order of the jobs.
func (g *sinkGate) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	var inOrder []error
	for _, position := range slices.Sorted(maps.Keys(g.failures)) {
		inOrder = append(inOrder, g.failures[position])
	}
	return join(inOrder...)
}

// errJobFailed is the cause of the errors of jobs that ended because another one failed.
var errJobFailed = errors.New("another job failed")

func cancelledBecauseOf(job string) *Error {
	return &Error{Class: failure.Cancelled, Op: "run", Message: fmt.Sprintf("cancelled because job %s failed", job), Err: errJobFailed}
}
