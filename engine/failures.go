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

// failures passes the pages of all jobs to the sink, one at a time, and decides whether
// a failed job ends the run. Concurrent jobs may use it.
type failures struct {
	sink      runtime.Sink
	skip      func(*Page) // receives the pages of skipped partitions that the sink does not receive; may be nil
	keepGoing bool        // whether the other jobs go on after a job failed
	log       *slog.Logger

	yielding bool // the sink is the body of a loop over Pages, to which its panics belong

	mu    sync.Mutex
	ended error         // reason why the other jobs must end; nil while they may run
	all   map[int]error // errors of the failed jobs, by position
}

func (e *Engine) newFailures(sink SinkFunc) *failures {
	s := e.options.run
	return &failures{sink: runtime.Sink(sink), skip: s.skipped, keepGoing: s.keepGoing, log: s.Log, all: map[int]error{}}
}

// deliver passes a page to the sink unless the run must end. The run ends after a page that the
// sink rejected or on which a job failed, because an output may hold a part of that page. A
// skipped partition does not end the run.
func (f *failures) deliver(ctx context.Context, page *Page) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended != nil {
		return f.ended
	}
	err := f.sink(ctx, page)
	if err != nil || page.Outcome == rules.Failed && !page.Skipped && !f.keepGoing {
		f.ended = cancelledBecauseOf(page.Job)
	}
	return err
}

// skipped passes on the page on which a skipped partition failed.
func (f *failures) skipped(page *Page) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.skip != nil && f.ended == nil {
		f.skip(page)
	}
}

// end records the error of the job at a position, if it failed. It returns the reason why the
// other jobs must end, or nil. A job that ended because another job failed adds no error.
func (f *failures) end(run context.Context, position int, job string, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil || errors.Is(err, errJobFailed) {
		return f.ended
	}
	f.all[position] = err
	switch {
	case f.ended != nil:
	case !f.keepGoing || run.Err() != nil:
		f.ended = cancelledBecauseOf(job)
	case f.log != nil:
		f.all[position] = f.report(job, err)
	}
	return f.ended
}

// report logs that a job failed while the other jobs continue. It returns the error of the job, joined
// with that of a logger that panics.
func (f *failures) report(job string, failed error) (err error) {
	defer func() { err = join(failed, failure.Recovered(job, recover(), nil)) }()
	f.log.Error(fmt.Sprintf("%v; the other jobs continue", failed), "event", "job_error", "job", job)
	return nil
}

// over returns the reason why no other job may begin, or nil.
func (f *failures) over() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

// err returns the error of the run: the error of the failed job, or the joined errors of several
// failed jobs in the order of the jobs.
func (f *failures) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	var inOrder []error
	for _, position := range slices.Sorted(maps.Keys(f.all)) {
		inOrder = append(inOrder, f.all[position])
	}
	return join(inOrder...)
}

// errJobFailed is the cause of the errors of jobs that ended because another one failed.
var errJobFailed = errors.New("another job failed")

func cancelledBecauseOf(job string) *Error {
	return &Error{Class: failure.Cancelled, Op: "run", Message: fmt.Sprintf("cancelled because job %s failed", job), Err: errJobFailed}
}
