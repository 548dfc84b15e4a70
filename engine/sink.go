package engine

import (
	"context"
	"errors"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Sink receives what a run extracts: see [Engine.RunTo]. Its methods are called one at a
// time.
type Sink interface {
	// Page receives a page. The pages of a job come in order; those of concurrent jobs
	// take turns. The items are valid until Page returns. Its error ends the run.
	Page(ctx context.Context, page *Page) error

	// Commit is called after the run for each job of [Result.Completed]. Its error is one of
	// the run, and does not keep other jobs from being committed.
	Commit(ctx context.Context, job JobResult) error
}

// RunTo is [Engine.Run] with a sink that also learns which jobs are complete, even if
// another job has failed or the context has ended.
func (e *Engine) RunTo(ctx context.Context, sink Sink) (*Result, error) {
	if sink == nil {
		return NewResult(nil), &Error{Class: failure.Config, Op: "run", Message: "the sink is nil"}
	}
	result, err := e.Run(ctx, sink.Page)
	for _, job := range result.Completed(nil) {
		err = errors.Join(err, sink.Commit(context.WithoutCancel(ctx), job))
	}
	return result, err
}
