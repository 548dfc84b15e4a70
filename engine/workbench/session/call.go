package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/remedy"
)

// A request has the arguments of a call. Each call reads only some of them.
type request struct {
	Name      string `json:"name"` // name of the configuration, or of a recording
	Text      string `json:"text"`
	Recording string `json:"recording"` // id of the recording

	At      workbench.Position `json:"at"`
	Range   *workbench.Range   `json:"range"`
	NewName string             `json:"newName"` // of rename
	Width   int                `json:"width"`
	Model   string             `json:"model"` // for simulate: the model of the job's API that answers
	Fixes   []string           `json:"fixes"` // behaviours of stress
	Stress  stress.Options     `json:"stress"`

	Limits  workbench.Limits `json:"limits"`
	Run     string           `json:"run"`     // id of the run
	Number  int              `json:"number"`  // number of a page of the run, or of a request that it has not played, from 1
	Job     string           `json:"job"`     // id of the job
	Archive string           `json:"archive"` // a recording, as text
	Case    string           `json:"case"`    // name of a built-in case
}

// within returns the range of the request, or a range that covers every text if it has none.
func (r request) within() workbench.Range {
	if r.Range == nil {
		return workbench.Range{End: workbench.Position{Line: math.MaxInt32}}
	}
	return *r.Range
}

// A call answers a request.
type call func(s *Session, ctx context.Context, r request) (any, error)

// calls maps the names of calls to functions.
var calls = map[string]call{
	"diagnostics": ofDocument(func(_ context.Context, d *workbench.Document, _ request) (any, error) { return d.Diagnostics(), nil }),
	"explain":     ofDocument(func(_ context.Context, d *workbench.Document, r request) (any, error) { return d.Explain(r.Width) }),
	"completion":  ofDocument(func(_ context.Context, d *workbench.Document, r request) (any, error) { return d.Completion(r.At), nil }),
	"hover":       ofDocument(func(_ context.Context, d *workbench.Document, r request) (any, error) { return d.Hover(r.At), nil }),
	"definition":  ofDocument(func(_ context.Context, d *workbench.Document, r request) (any, error) { return d.Definition(r.At), nil }),
	"references":  ofDocument(func(_ context.Context, d *workbench.Document, r request) (any, error) { return d.References(r.At), nil }),
	"rename": ofDocument(func(_ context.Context, d *workbench.Document, r request) (any, error) {
		return d.Rename(r.At, r.NewName)
	}),
	"symbols": ofDocument(func(_ context.Context, d *workbench.Document, _ request) (any, error) { return d.Symbols(), nil }),
	"inlays": ofDocument(func(_ context.Context, d *workbench.Document, r request) (any, error) {
		return d.Inlays(r.within()), nil
	}),
	"lenses": ofDocument(func(ctx context.Context, d *workbench.Document, _ request) (any, error) { return d.Lenses(ctx), nil }),
	"format": ofDocument(func(_ context.Context, d *workbench.Document, _ request) (any, error) { return d.Format(), nil }),
	"mend": ofDocument(func(ctx context.Context, d *workbench.Document, r request) (any, error) {
		return d.Mend(ctx, r.Fixes...)
	}),
	"stress": ofDocument(func(ctx context.Context, d *workbench.Document, r request) (any, error) {
		return d.Stress(ctx, r.Stress)
	}),
	"tests": ofDocument(func(ctx context.Context, d *workbench.Document, _ request) (any, error) { return d.Tests(ctx) }),
	"simulate": ofDocument(func(ctx context.Context, d *workbench.Document, r request) (any, error) {
		return d.Run(ctx, workbench.FromModel(r.Job, r.Model), r.Limits)
	}),

	"replay":         (*Session).replay,
	"run":            (*Session).run,
	"page":           (*Session).page,
	"unplayed":       (*Session).unplayed,
	"items":          (*Session).items,
	"record":         (*Session).record,
	"sampleTest":     (*Session).sampleTest,
	"cases":          (*Session).cases,
	"case":           (*Session).playCase,
	"withoutSecrets": (*Session).withoutSecrets,
}

// Calls returns the names of the calls.
func Calls() []string { return slices.Sorted(maps.Keys(calls)) }

// ofDocument returns a call that the document of the request answers.
func ofDocument(answer func(ctx context.Context, d *workbench.Document, r request) (any, error)) call {
	return func(s *Session, ctx context.Context, r request) (any, error) {
		d, err := s.open(r)
		if err != nil {
			return nil, err
		}
		result, err := answer(ctx, d, r)
		if err != nil {
			return nil, d.ErrorOf(err)
		}
		return result, nil
	}
}

// Call answers a call. An error is a *[workbench.Error], and has no secrets.
func (s *Session) Call(ctx context.Context, name string, params json.RawMessage) (any, error) {
	answer := calls[name]
	if answer == nil {
		return nil, &workbench.Error{Message: fmt.Sprintf("unknown call %q", name), Hint: diag.DidYouMean(name, Calls())}
	}
	var r request
	if err := json.Unmarshal(params, &r); err != nil {
		return nil, &workbench.Error{Message: fmt.Sprintf("the parameters of %s are malformed: %v", name, err)}
	}
	result, err := answer(s, ctx, r)
	if err != nil {
		return nil, errorOf(err)
	}
	return result, nil
}

// errorOf returns the error of a call.
func errorOf(err error) *workbench.Error {
	if known, ok := errors.AsType[*workbench.Error](err); ok {
		return known
	}
	if found, ok := errors.AsType[diag.Diagnostics](err); ok && len(found) > 0 {
		out := &workbench.Error{Message: found[0].Message, Hint: found[0].Hint, Remedy: found[0].Remedy}
		if len(found) > 1 {
			out.Hint = strings.TrimPrefix(fmt.Sprintf("%s; %d more mistakes", out.Hint, len(found)-1), "; ")
			if out.Remedy.InWords() {
				out.Remedy = remedy.New("%s; %d more mistakes", out.Remedy, len(found)-1)
			}
		}
		return out
	}
	return &workbench.Error{Message: err.Error()}
}
