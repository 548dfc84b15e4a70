package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Sink receives what a run extracts: see [Engine.RunTo]. Package engine/output has sinks
// for files, pipes and other writers. Its methods are called one at a time.
type Sink interface {
	// Page receives a page. The pages of a job come in order; those of concurrent jobs
	// take turns. The items are valid until Page returns. Its error ends the run.
	Page(ctx context.Context, page *Page) error

	// Commit is called when a job was ended by a rule, after its last page: its items are
	// complete, or as complete as job.Outcome and job.Findings say, and the run has the
	// values for the next run in job.Kept. A job that failed is not committed. Its error
	// is the error of the run, and does not keep other jobs from being committed.
	Commit(ctx context.Context, job JobResult) error
}

// A SinkFunc receives pages, like the method Page of a [Sink].
type SinkFunc func(ctx context.Context, page *Page) error

// Page calls the function.
func (f SinkFunc) Page(ctx context.Context, page *Page) error { return f(ctx, page) }

// Commit does nothing.
func (f SinkFunc) Commit(context.Context, JobResult) error { return nil }

// RunTo is [Engine.Run] with a sink that also learns which jobs are complete. The jobs are
// committed at the end of the run, in their order, also if another one has failed or if
// the context has ended. A job and those for its items are committed together, the latter
// first, or not at all: the values that it keeps for the next run are about their items too.
func (e *Engine) RunTo(ctx context.Context, sink Sink) (*Result, error) {
	if sink == nil {
		return newResult(), &Error{Class: failure.Config, Op: "run", Message: "the sink is nil"}
	}
	result, err := e.Run(ctx, sink.Page)
	ctx = context.WithoutCancel(ctx)
	failed := func(job JobResult) bool { return job.Outcome == rules.Failed || job.Outcome == "" }
	for _, tree := range result.Trees() {
		if slices.ContainsFunc(tree, failed) {
			continue
		}
		for _, job := range tree {
			err = errors.Join(err, sink.Commit(ctx, job))
		}
	}
	return result, err
}
