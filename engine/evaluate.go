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
// expression may read the names of stopping rules and, if the scope has an item, the names of filter.
// The error is [Diagnostics] if the expression has a mistake, and otherwise the error of the run. An
// error of the evaluation itself is in the result.
func (e *Engine) Evaluate(ctx context.Context, expression string, scope trace.Scope) (*trace.Evaluation, error) {
	probed, err := e.withProbe(expression, scope)
	if err != nil {
		return nil, err
	}
	page, pages, err := probed.PageAt(ctx, scope.Job, scope.Page)
	if err != nil {
		return nil, err
	}
	if page == nil {
		message := "the list ends after " + wording.Counted(pages, "page")
		return nil, &Error{Class: failure.Config, Job: scope.Job, Op: "evaluate", Message: message}
	}
	return runtime.ProbedOn(page), nil
}

// withProbe returns the engine with a probe in a job.
func (e *Engine) withProbe(expression string, scope trace.Scope) (*Engine, error) {
	compiled, found := compile.Config(e.cfg, compile.Options{
		Language: e.options.language,
		Probe:    &compile.ProbeSource{Job: scope.Job, Source: expression, Item: scope.Item},
	})
	if found.Err() != nil {
		return nil, hideSecrets(found.Errors(), e.cfg.Secrets, e.cfg.Source)
	}
	changed := e.With(WithJobs(scope.Job), WithPrefetch(0), WithParallelJobs(1), WithAccept(JobResult.Ended))
	changed.setJobs(compiled.Jobs)
	return changed, nil
}
