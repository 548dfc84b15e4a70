package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// errorOn adds job and page to an error of a rule or of a response.
func (r *listRun) errorOn(class failure.Class, err error) error {
	return r.CompleteError(r.pooled.machine.Context, &failure.Error{Class: class, Job: r.job.ID(), Page: r.context().Page, Err: err})
}

// CompleteError completes an error whose cause, Err, comes from a rule or a value. It sets the message and,
// if the cause decides it, the class. ctx is the context of the evaluation; if the cause is its end,
// the class is [failure.Cancelled].
func (l *Loop) CompleteError(ctx context.Context, e *failure.Error) *failure.Error {
	err := e.Err
	e.Message = l.Redactor.String(err.Error())
	if errors.As(err, new(*requests.LengthError)) {
		e.Class = failure.Policy
	}
	if size, ok := errors.AsType[*document.SizeError](err); ok {
		e.Class, e.Hint = failure.Policy, size.Hint
	}
	if failed, ok := errors.AsType[*language.RuleError](err); ok {
		e.Op = "rule " + failed.Rule.ID
		switch {
		case errors.Is(err, language.ErrBudget):
			e.Class = failure.Policy
		case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
			e.Class, e.Err = failure.Cancelled, errors.Join(ctx.Err(), context.Cause(ctx))
		}
		e.Message = l.Redactor.String(failed.Placed())
	}
	e.Class = failure.ClassFor(err, e.Class)
	return e
}

// warn logs a warning, once per run for each code.
func (r *listRun) warn(code, message string) {
	if r.reported[code] {
		return
	}
	if r.reported == nil {
		r.reported = map[string]bool{}
	}
	r.reported[code] = true
	r.Log.Warn(fmt.Sprintf("Job '%s': %s", r.name(), message),
		"event", "warn", "code", code, "job", r.job.ID(), "page", r.context().Page)
}

// note records a remark on the values that an expression read for its verdict, and logs the first
// remark on each expression.
func (r *listRun) note(e *language.Expression, text string) {
	text = r.Redactor.String(text)
	r.current.notes = append(r.current.notes, text)
	r.warn("note "+e.Rule.ID, fmt.Sprintf("%s: %s", e.Rule.ID, text))
}
