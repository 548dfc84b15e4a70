package workbench

import (
	"context"
	"net/http"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Source answers the requests of a run.
type Source interface {
	// open prepares a run of a document: it returns the engine, and the transport that answers its requests.
	open(ctx context.Context, d *Document) (*openSource, error)
}

// An openSource is a source that is ready for one run.
type openSource struct {
	engine    *engine.Engine // without a transport
	transport http.RoundTripper
	clock     transport.Clock // nil means the system clock
	player    *recording.Player
	record    bool // whether the exchanges are recorded
}

// FromRecording returns the source of the recorded pages of the document: see [Document.WithRecording].
func FromRecording() Source { return fromRecording{} }

type fromRecording struct{}

func (fromRecording) open(_ context.Context, d *Document) (*openSource, error) {
	e, err := d.load()
	if err != nil {
		return nil, err
	}
	if d.Recording == nil {
		return nil, errNoRecording
	}
	player := d.Recording.NewPlayer(e.Redactor())
	return &openSource{engine: player.Play(e), transport: player, player: player}, nil
}

// FromCase returns a source that plays a built-in case, in this process. The run is recorded, as with
// [FromTransport].
func FromCase(c *fixtures.Case) Source { return fromCase{c} }

type fromCase struct{ *fixtures.Case }

func (c fromCase) open(_ context.Context, d *Document) (*openSource, error) {
	server := fixtures.Play(c.Case)
	secrets := func(name string) (string, bool) { return "secret-of-" + name, true }
	e, err := d.bench.load(d, engine.WithPlaceholders(), engine.WithEnv(secrets))
	if err != nil {
		return nil, err
	}
	return &openSource{engine: e, transport: transport.Negotiated(server), clock: server.Clock(), record: true}, nil
}

// FromTransport returns a source whose requests a transport makes. The run is recorded, so that the pages can
// be read again: see [Run.Recording]. The workbench must have been created with [engine.WithEnv].
func FromTransport(t http.RoundTripper) Source { return fromTransport{t} }

type fromTransport struct{ http.RoundTripper }

func (t fromTransport) open(_ context.Context, d *Document) (*openSource, error) {
	e, err := d.bench.load(d)
	if err != nil {
		return nil, err
	}
	return &openSource{engine: e, transport: t.RoundTripper, record: true}, nil
}
