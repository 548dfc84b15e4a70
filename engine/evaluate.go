package engine

import (
	"context"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// Evaluate runs the engine up to a page of a job and returns the value of an expression there. The
// expression may read the names of stopping rules and, if the place has an item, the names of filter.
// The error is [Diagnostics] if the expression has a mistake, and otherwise the error of the run. An
// error of the evaluation itself is in the result.
func (e *Engine) Evaluate(ctx context.Context, expression string, place trace.Place) (*trace.Evaluation, error) {
	probed, err := e.withProbe(expression, place)
	if err != nil {
		return nil, err
	}
	page, pages, err := probed.PageAt(ctx, place.Job, place.Page)
	if err != nil {
		return nil, err
	}
	if page == nil {
		message := "the list ends after " + wording.Counted(pages, "page")
		return nil, &Error{Class: failure.Config, Job: place.Job, Op: "evaluate", Message: message}
	}
	return runtime.ProbedOn(page), nil
}

// withProbe returns the engine with a probe in a job.
func (e *Engine) withProbe(expression string, place trace.Place) (*Engine, error) {
	compiled, found := compile.Compile(e.cfg, compile.Options{
		Language: e.options.language,
		Probe:    &compile.ProbeSource{Job: place.Job, Source: expression, Item: place.Item},
	})
	if found.Err() != nil {
		return nil, hideSecrets(found.Errors(), e.cfg.Secrets, e.cfg.Source)
	}
	changed := e.With(WithJobs(place.Job), WithPrefetch(0), WithParallelJobs(1), WithAccept(JobResult.Ended))
	changed.setJobs(compiled.Jobs)
	return changed, nil
}
