package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/format"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// pageError adds job and page to an error of a rule or of a response.
func (r *listRun) pageError(class failure.Class, err error) error {
	page := r.pageContext().Page
	return CompleteError(r.workspace.machine.Context, r.Redactor, &failure.Error{
		Class: class, Job: r.job.ID(), Page: page, Err: err, CauseBefore: page == 0 && r.job.Parent != nil,
	})
}

// exchangeError returns the error of an exchange with its job and page. If an onError rule could not be evaluated, the
// error is that of the rule.
func (r *listRun) exchangeError(f fetchResult, err error) error {
	e, ok := errors.AsType[*failure.Error](err)
	if !ok {
		return err
	}
	e = e.With(func(e *failure.Error) { e.Job, e.Page = f.call.Job, f.call.Page })
	if f.action.err != nil {
		return r.onErrorFailure(e, f.action.err)
	}
	return e
}

// onErrorFailure returns the error of a run whose onError rule could not be evaluated. refused is the error of the
// response.
func (r *listRun) onErrorFailure(refused *failure.Error, err error) error {
	failed := refused.With(func(e *failure.Error) { e.Class, e.Err = failure.Response, err })
	return CompleteError(r.workspace.machine.Context, r.Redactor, failed).With(func(e *failure.Error) { e.Message += "; " + refused.Message })
}

// responseError returns the error for a response of size bytes that is not a page.
func (r *listRun) responseError(f fetchResult, size int, err error) error {
	e := &failure.Error{
		Class: failure.Response, Job: r.job.ID(), Page: r.pageContext().Page + 1, Op: "read",
		URL: r.Redactor.Shown(f.URL), Status: f.Status, Err: err,
	}
	if known, ok := errors.AsType[*failure.Error](err); ok { // the error of a temporary file
		e.Class, e.Message, e.Hint = known.Class, known.Message, known.Hint
		return e
	}
	if r.converter == nil {
		e.Hint = format.Hint(bodyOf(f.Response, r.workspace.head))
	}
	if errors.As(err, new(*document.DepthError)) {
		e.Class, e.Hint = failure.Policy, "if the API really nests that deeply, raise api.http.maxDepth"
	}
	if errors.As(err, new(*document.ItemsError)) {
		e.Class, e.Hint = failure.Policy, "if the API really has such pages, raise api.http.maxItemsPerPage, or request smaller ones"
	}
	if size, ok := errors.AsType[*document.SizeError](err); ok {
		e.Class, e.Hint = failure.Policy, size.Hint
	}
	e.Message = fmt.Sprintf("%v; the response (%s) begins with %s", err, f.ContentType(), r.Redactor.Excerpt(r.workspace.head, size))
	if size == 0 {
		e.Message = fmt.Sprintf("the response body is empty (%s)", f.ContentType())
	}
	return e
}

// CompleteError returns an error whose cause, Err, comes from a rule or a value, with the message of the cause and,
// if the cause decides it, its class. ctx is the context of the evaluation; if the cause is its end,
// the class is [failure.Cancelled].
func CompleteError(ctx context.Context, redactor *redact.Redactor, failed *failure.Error) *failure.Error {
	return failed.With(func(e *failure.Error) { complete(ctx, redactor, e) })
}

func complete(ctx context.Context, redactor *redact.Redactor, e *failure.Error) {
	err := e.Err
	e.Message = redactor.Shown(err.Error())
	if errors.As(err, new(*requests.LengthError)) {
		e.Class = failure.Policy
	}
	if size, ok := errors.AsType[*document.SizeError](err); ok {
		e.Class, e.Hint = failure.Policy, size.Hint
	}
	if failed, ok := errors.AsType[*language.RuleError](err); ok {
		e.Op = failure.OpRule(failed.Rule.ID)
		switch {
		case errors.Is(err, language.ErrBudget):
			e.Class = failure.Policy
		case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
			e.Class, e.Err = failure.Cancelled, errors.Join(ctx.Err(), context.Cause(ctx))
		}
		e.Message = redactor.Shown(failed.Placed())
	}
	e.Class = failure.ClassFor(err, e.Class)
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
		"event", "warn", "code", code, "job", r.job.ID(), "page", r.pageContext().Page)
}

// note records a remark on the values that an expression read for its verdict, and logs the first
// remark on each expression.
func (r *listRun) note(e *language.Expression, text string) {
	text = r.Redactor.Shown(text)
	r.current.notes = append(r.current.notes, text)
	r.warn("note "+e.Rule.ID, fmt.Sprintf("%s: %s", e.Rule.ID, text))
}
