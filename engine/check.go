package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// Check returns the error that would end a run before its first request. Invalid values of options,
// and missing, unknown or invalid inputs, are reported as [Diagnostics], and checkpoints of another
// version as an [*Error] of class "state". [Engine.Run] calls Check.
func (e *Engine) Check() error {
	if err := e.options.run.check(); err != nil {
		return err
	}
	if err := e.checkJobs(); err != nil {
		return err
	}
	if err := e.checkResume(); err != nil {
		return err
	}
	inputs, found := e.cfg.BindInputs(e.options.run.Inputs)
	if err := found.Err(); err != nil {
		return err
	}
	if _, err := e.baseURL(inputs); err != nil {
		return e.invalidAddress("api.baseUrl", "https://api.example.com/v1/", err)
	}
	if _, err := e.allowedOrigins(inputs); err != nil {
		return e.invalidAddress("api.allowedOrigins", "https://files.example.com", err)
	}
	for _, job := range e.running() {
		if err := job.CheckEndpoint(inputs); err != nil {
			return runtime.CompleteError(context.Background(), e.Redactor(), &Error{Class: failure.Config, Job: job.ID(), Err: err})
		}
	}
	for _, root := range e.roots() {
		job := root.ID()
		if token := e.options.run.Resume[job]; token != nil {
			if err := runtime.Checkpoint(token).CheckVersion(); err != nil {
				return runtime.UnusableCheckpoint(job, err)
			}
		}
	}
	return nil
}

// Ended reports whether the checkpoints of [WithResume] say that every job has ended. A run then
// makes no requests and returns the result of the previous run.
func (e *Engine) Ended() bool {
	return !slices.ContainsFunc(e.roots(), func(job *compile.Job) bool {
		return !runtime.Checkpoint(e.options.run.Resume[job.ID()]).Ended()
	})
}

// baseURL returns the base address of a run with these inputs.
func (e *Engine) baseURL(inputs map[string]any) (string, error) {
	return e.jobs[0].BaseURL(inputs)
}

// allowedOrigins returns the origins that links and redirects may point to in a run with these inputs.
func (e *Engine) allowedOrigins(inputs map[string]any) ([]string, error) {
	computed, err := e.jobs[0].AllowedOrigins(inputs)
	return append(computed, e.cfg.AllowedOrigins...), err
}

// invalidAddress returns the error for inputs that result in an invalid address of the api, or for a
// function that panicked.
func (e *Engine) invalidAddress(path, example string, err error) error {
	if class := failure.ClassFor(err, failure.Config); class == failure.Internal {
		return e.redact(&Error{Class: class, Op: "run", Message: err.Error(), Err: err})
	}
	found, text := diag.NewCollector(e.cfg.Source), err.Error()
	if failed, ok := errors.AsType[*language.RuleError](err); ok { // the diagnostic already states the place
		text = fmt.Sprintf("%v, in %s", failed.Err, failed.Rule.Source)
	}
	found.Errorf(diag.Value(e.cfg.Path(path)), "%s", e.Redactor().Text(text)).
		WithHint("the address that results must be like " + example)
	return found.Diagnostics()
}

// checkJobs reports the IDs of [WithJobs] that match no job.
func (e *Engine) checkJobs() error {
	known := e.AllJobs()
	found := diag.NewCollector(nil)
	for _, id := range e.options.run.jobs {
		if !slices.Contains(known, id) {
			found.Errorf(diag.Option(remedy.Jobs), "the configuration has no job %q", id).
				WithHint("the jobs are "+strings.Join(known, ", ")).WithNearest(id, known)
		}
	}
	return found.Diagnostics().Err()
}

// checkResume reports the IDs of [WithResume] that are not IDs of root jobs.
func (e *Engine) checkResume() error {
	found := diag.NewCollector(nil)
	for _, id := range slices.Sorted(maps.Keys(e.options.run.Resume)) {
		switch root := e.Job(id).Root; {
		case root == "":
			known := e.With(WithJobs()).Info().Roots
			found.Errorf(diag.Option(remedy.Resume), "the configuration has no job %q", id).
				WithHint("checkpoints belong to "+strings.Join(known, ", ")).WithNearest(id, known)
		case root != id:
			found.Errorf(diag.Option(remedy.Resume), "job %q has no checkpoint of its own: it is in the tree of job %q", id, root).
				WithHint("save checkpoints by Page.Root")
		}
	}
	return found.Diagnostics().Err()
}
