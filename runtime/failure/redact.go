package failure

import (
	"errors"
	"fmt"

	"github.com/stopwhen/stopwhen/rules/panics"
)

// Redact returns an error without its secrets: hide changes the text of the error, and the texts of all
// its causes. errors.Is and errors.As find in the result what they find in err. If hide changes no text,
// the result is err.
func Redact(err error, hide func(string) string) error {
	r := redaction{hide: hide}
	shown := r.error(err)
	if !r.changed {
		return err
	}
	return shown
}

// A redaction replaces the errors of a chain.
type redaction struct {
	hide    func(string) string
	changed bool // whether a text has changed
}

// text returns a text without its secrets.
func (r *redaction) text(text string) string {
	shown := r.hide(text)
	r.changed = r.changed || shown != text
	return shown
}

// error returns an error without its secrets.
func (r *redaction) error(err error) error {
	switch known := err.(type) { //nolint:errorlint // the causes are redacted one by one
	case nil:
		return nil
	case *Error:
		e := known
		if hint := r.text(known.Hint); hint != known.Hint {
			e = known.WithHint(hint)
		}
		return e.With(func(e *Error) {
			e.Partition, e.URL, e.Message, e.Err = r.text(e.Partition), r.text(e.URL), r.text(e.Message), r.error(e.Err)
		})
	case *panics.Error:
		return &panics.Error{Text: r.text(known.Text), Trace: known.Trace}
	}
	shown := redacted{text: r.text(fmt.Sprint(err)), original: &err} // unlike a call of Error, Sprint recovers from a panic
	several, ok := err.(interface{ Unwrap() []error })
	if !ok {
		shown.cause = r.error(errors.Unwrap(err))
		return &shown
	}
	list := redactedList{redacted: shown}
	for _, cause := range several.Unwrap() {
		list.causes = append(list.causes, r.error(cause))
	}
	list.cause = errors.Join(list.causes...)
	return &list
}

// A redacted is an error without its secrets.
type redacted struct {
	text     string
	cause    error  // without secrets, too; may be nil
	original *error // the error with its secrets; behind a pointer, so that no verb of fmt prints it
}

func (r *redacted) Error() string { return r.text }

// Unwrap returns the cause.
func (r *redacted) Unwrap() error { return r.cause }

// Is reports whether the error with its secrets is target.
func (r *redacted) Is(target error) bool { return errors.Is(*r.original, target) }

// As finds target in the causes without secrets, or else in the error itself.
func (r *redacted) As(target any) bool {
	return r.cause != nil && errors.As(r.cause, target) || errors.As(*r.original, target)
}

// A redactedList is a redacted error with several causes.
type redactedList struct {
	redacted
	causes []error
}

// Unwrap returns the causes.
func (l *redactedList) Unwrap() []error { return l.causes }
