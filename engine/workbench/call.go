package workbench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/remedy"
)

// A Request has the arguments of a call. Each call reads only some of them.
type Request struct {
	At       Position        `json:"at"`
	Range    *Range          `json:"range,omitempty"`
	Name     string          `json:"name,omitempty"` // the new name of rename
	Width    int             `json:"width,omitempty"`
	Limits   Limits          `json:"limits"`
	Job      string          `json:"job,omitempty"`
	Model    string          `json:"model,omitempty"` // for simulate: the model of the job's API that answers
	Fixes    []string        `json:"fixes,omitempty"` // behaviours of stress
	Stress   stress.Options  `json:"stress"`
	Document json.RawMessage `json:"document,omitempty"` // selects the document; only the caller reads it
}

// within returns the range of the request, or a range that covers every text if it has none.
func (r Request) within() Range {
	if r.Range == nil {
		return Range{End: Position{Line: math.MaxInt32}}
	}
	return *r.Range
}

// calls maps the names of calls to functions. Runs against a caller's source are not among them.
var calls = map[string]func(ctx context.Context, d *Document, r Request) (any, error){
	"diagnostics": func(_ context.Context, d *Document, _ Request) (any, error) { return d.Diagnostics(), nil },
	"explain":     func(_ context.Context, d *Document, r Request) (any, error) { return d.Explain(r.Width) },
	"completion":  func(_ context.Context, d *Document, r Request) (any, error) { return d.Completion(r.At), nil },
	"hover":       func(_ context.Context, d *Document, r Request) (any, error) { return d.Hover(r.At), nil },
	"definition":  func(_ context.Context, d *Document, r Request) (any, error) { return d.Definition(r.At), nil },
	"references":  func(_ context.Context, d *Document, r Request) (any, error) { return d.References(r.At), nil },
	"rename":      func(_ context.Context, d *Document, r Request) (any, error) { return d.Rename(r.At, r.Name) },
	"symbols":     func(_ context.Context, d *Document, _ Request) (any, error) { return d.Symbols(), nil },
	"inlays":      func(_ context.Context, d *Document, r Request) (any, error) { return d.Inlays(r.within()), nil },
	"lenses":      func(ctx context.Context, d *Document, _ Request) (any, error) { return d.Lenses(ctx), nil },
	"format":      func(_ context.Context, d *Document, _ Request) (any, error) { return d.Format(), nil },
	"mend":        func(ctx context.Context, d *Document, r Request) (any, error) { return d.Mend(ctx, r.Fixes...) },
	"stress":      func(ctx context.Context, d *Document, r Request) (any, error) { return d.Stress(ctx, r.Stress) },
	"tests":       func(ctx context.Context, d *Document, _ Request) (any, error) { return d.Tests(ctx) },
	"replay": func(ctx context.Context, d *Document, r Request) (any, error) {
		return d.Run(ctx, FromRecording(), r.Limits)
	},
	"simulate": func(ctx context.Context, d *Document, r Request) (any, error) {
		return d.Run(ctx, FromModel(r.Job, r.Model), r.Limits)
	},
}

// Calls returns the names of the calls.
func Calls() []string { return slices.Sorted(maps.Keys(calls)) }

// Call makes a call by its name, with its arguments as JSON, and returns its result as JSON. An error is an
// [*Error].
func (d *Document) Call(ctx context.Context, name string, arguments []byte) (json.RawMessage, error) {
	call := calls[name]
	if call == nil {
		return nil, &Error{Message: fmt.Sprintf("unknown call %q", name), Hint: diag.DidYouMean(name, Calls())}
	}
	var r Request
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &r); err != nil {
			return nil, &Error{Message: fmt.Sprintf("call %s: %v", name, err)}
		}
	}
	result, err := call(ctx, d, r)
	if err != nil {
		return nil, d.errorOf(err)
	}
	text, err := json.Marshal(result)
	if err != nil {
		return nil, &Error{Message: err.Error()}
	}
	return text, nil
}

// An Error is the error of a call.
type Error struct {
	Message     string       `json:"message"`
	Hint        string       `json:"hint,omitempty"`
	Diagnostics []Diagnostic `json:"diagnostics,omitempty"` // if the configuration has mistakes

	Remedy remedy.Remedy `json:"-"` // the hint, for a front end with its own wording
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// errorOf returns the error of a call.
func (d *Document) errorOf(err error) *Error {
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
