package workbench

import (
	"context"
	"net/http"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/configtest"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/runtime"
)

// FromModel returns a source that is the model of a job's API: see [engine.Engine.Simulate]. A spec has the
// sizes of the pages, as in "10,10,3", or the name of a behaviour, or two names joined by "+".
func FromModel(job, spec string) Source { return fromModel{job, spec} }

type fromModel struct{ job, spec string }

// run runs the job of a document against the model.
func (m fromModel) run(ctx context.Context, d *Document, limits Limits) (*Run, error) {
	e, err := d.load()
	if err != nil {
		return nil, err
	}
	if limits.Inputs != nil {
		e = e.With(engine.WithInputs(limits.Inputs))
	}
	s, err := e.Simulate(ctx, m.job, m.spec)
	if err != nil {
		return nil, err
	}
	result := &Run{Pages: []*Page{}, Jobs: []engine.JobResult{}, Model: s.Model, Row: s.Result, Error: s.Unknown}
	r := &runBuilder{Run: result, redactor: e.Redactor()}
	s.Watch(ctx, func(next http.RoundTripper) http.RoundTripper {
		r.Pages, r.responses, r.tap = []*Page{}, nil, newTap(next)
		return r.tap
	}, func(page *runtime.Page) { r.add(page.Record, page.Items) })
	if n := len(s.Pages); n > len(r.Pages) && s.Pages[n-1].Error != nil {
		r.add(s.Pages[n-1], engine.Items{})
	}
	r.describe(d.explained())
	return r.Run, ctx.Err()
}

// Stress reports how the jobs cope with what APIs do. With a recording, the models resemble its responses.
func (d *Document) Stress(ctx context.Context, o stress.Options) (*stress.Report, error) {
	e, err := d.load()
	if err != nil {
		return nil, err
	}
	if d.Recording != nil && o.Recording.Pages == nil {
		o.Recording = recording.Samples(ctx, e, d.Recording)
	}
	return e.Stress(ctx, o)
}

// Tests runs the tests of the document.
func (d *Document) Tests(ctx context.Context) (*configtest.Report, error) {
	e, err := d.load()
	if err != nil {
		return nil, err
	}
	return e.Test(ctx), nil
}
