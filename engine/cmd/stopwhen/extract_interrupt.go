package main

import (
	"context"
	"slices"
	"sync"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// runUntilSignal passes pages to a sink. It returns soon after a signal (see [app.endSoon]), even
// if the source does not notice the signal because it evaluates rules or decodes a page. Then the
// result covers the pages that the sink has received.
func (a *app) runUntilSignal(ctx context.Context, pages pageSource, e *engine.Engine, sink engine.SinkFunc) (*engine.Result, error) {
	type ending struct {
		result *engine.Result
		err    error
	}
	received := &receivedPages{sink: sink}
	ended := make(chan ending, 1)
	go func() {
		result, err := pages(ctx, e.With(engine.WithObserver(received, engine.EventEnd)), received.page)
		ended <- ending{result, err}
	}()
	select {
	case run := <-ended:
		return run.result, run.err
	case <-a.abandoned:
		return received.close(), &engine.Error{Class: failure.Cancelled, Op: "run", Message: "interrupted", Err: ctx.Err()}
	}
}

// receivedPages passes pages to a sink and counts them. It observes the run, to know the
// results of the jobs that have ended.
type receivedPages struct {
	sink engine.SinkFunc

	mu     sync.Mutex
	closed bool
	result engine.Result // results of the jobs that have begun, in order
}

// page passes a page to the sink, unless the run has been abandoned.
func (r *receivedPages) page(ctx context.Context, page *engine.Page) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return context.Cause(ctx)
	}
	if err := r.sink(ctx, page); err != nil {
		return err
	}
	job := r.job(page.Job)
	job.Pages, job.Items, job.Bytes = job.Pages+1, job.Items+page.Items.Len(), job.Bytes+page.Bytes
	if page.Written != nil {
		job.Filtered += page.Count - *page.Written
	}
	return nil
}

// Observe receives the result of a job that has ended.
func (r *receivedPages) Observe(_ context.Context, event engine.Event) {
	if event.Partition != "" { // other partitions of the job may follow
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		*r.job(event.Job) = *event.Result
	}
}

// job returns the result of a job. Until the job has ended, that is the result of a failed job.
func (r *receivedPages) job(id string) *engine.JobResult {
	i := slices.IndexFunc(r.result.Jobs, func(job engine.JobResult) bool { return job.Job == id })
	if i < 0 {
		i = len(r.result.Jobs)
		r.result.Jobs = append(r.result.Jobs,
			engine.JobResult{Job: id, Outcome: rules.Failed, Reason: runtime.ReasonError, StoppedBy: []string{}, Message: "interrupted"})
	}
	return &r.result.Jobs[i]
}

// close stops accepting pages, and returns the result for the received pages. It waits for the
// page that is being written.
func (r *receivedPages) close() *engine.Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return &r.result
}
