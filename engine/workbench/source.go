package workbench

import (
	"context"
	"net/http"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Source answers the requests of a run.
type Source interface {
	// run runs a document. The error says that no run was begun.
	run(ctx context.Context, d *Document, limits Limits) (*Run, error)
}

// FromRecording returns the source of the recorded pages of the document: see [Document.WithRecording].
func FromRecording() Source { return fromRecording{} }

type fromRecording struct{}

func (fromRecording) run(ctx context.Context, d *Document, limits Limits) (*Run, error) {
	e, err := d.load()
	if err != nil {
		return nil, err
	}
	if d.Recording == nil {
		return nil, errNoRecording
	}
	player := d.Recording.NewPlayer(e.Redactor())
	o := &openSource{engine: player.Play(e), transport: player, player: player}
	return o.run(ctx, d, limits)
}

// FromCase returns a source that plays a built-in case, in this process. The run is recorded, as with
// [FromTransport].
func FromCase(c *fixtures.Case) Source { return fromCase{c} }

type fromCase struct{ *fixtures.Case }

func (c fromCase) run(ctx context.Context, d *Document, limits Limits) (*Run, error) {
	server := fixtures.Play(c.Case)
	secrets := func(name string) (string, bool) { return "secret-of-" + name, true }
	e, err := d.bench.load(d, engine.WithPlaceholders(), engine.WithEnv(secrets))
	if err != nil {
		return nil, err
	}
	o := &openSource{engine: e, transport: transport.Negotiated(server), clock: server.Clock(), record: true}
	return o.run(ctx, d, limits)
}

// FromTransport returns a source whose requests a transport makes. The run is recorded, so that the pages can
// be read again: see [Run.Recording]. The workbench must have been created with [engine.WithEnv].
func FromTransport(t http.RoundTripper) Source { return fromTransport{t} }

type fromTransport struct{ http.RoundTripper }

func (t fromTransport) run(ctx context.Context, d *Document, limits Limits) (*Run, error) {
	e, err := d.bench.load(d)
	if err != nil {
		return nil, err
	}
	o := &openSource{engine: e, transport: t.RoundTripper, record: true}
	return o.run(ctx, d, limits)
}
