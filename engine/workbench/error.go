package workbench

import (
	"errors"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/remedy"
)

// An Error is an error as editors and web pages show it.
type Error struct {
	Message     string       `json:"message"`
	Hint        string       `json:"hint,omitempty"`
	Diagnostics []Diagnostic `json:"diagnostics,omitempty"` // if the configuration has mistakes

	Remedy remedy.Remedy `json:"-"` // the hint, for a front end with its own wording
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// ErrorOf returns the error of a method of the document.
func (d *Document) ErrorOf(err error) *Error {
	out := &Error{Message: err.Error()}
	if failed, ok := errors.AsType[*engine.Error](err); ok {
		out.Message, out.Hint, out.Remedy = failed.Message, failed.Hint, failed.Remedy
	}
	if found, ok := errors.AsType[diag.Diagnostics](err); ok {
		out.Message = errNeverCompiled.Error()
		for _, diagnostic := range found {
			out.Diagnostics = append(out.Diagnostics, d.diagnostic(diagnostic))
		}
		if len(found) == 1 {
			out.Message, out.Hint, out.Remedy = found[0].Message, found[0].Hint, found[0].Remedy
		}
	}
	return out
}
