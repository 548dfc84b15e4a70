package recording

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// maxSample is the size of a body up to which it is a sample.
const maxSample = 1 << 20

// Samples runs a configuration against a recording and returns, by job, the body of the first
// page that the recording has for it. A job for which it has none, or one of more than
// 1 MiB, has no sample. How the run ends makes no difference.
func Samples(ctx context.Context, e *engine.Engine, r *Recording) map[string][]byte {
	player := r.NewPlayer(e.Redactor())
	sampler := &sampler{player: player, bodies: map[string][]byte{}}
	e = e.With(engine.WithTransport(sampler), engine.WithClock(player), engine.WithPlaceholderTokens(), engine.WithTokenStore(nil),
		engine.WithKeepGoing(), engine.WithPrefetch(0))
	_, _ = e.Run(ctx, func(context.Context, *engine.Page) error { return nil })
	return sampler.bodies
}

// A sampler keeps the first response to each job.
type sampler struct {
	player *Player
	bodies map[string][]byte
}

// RoundTrip plays an exchange.
func (s *sampler) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := s.player.RoundTrip(r)
	p, ok := runtime.PartitionOf(r.Context())
	if err != nil || !ok || !transport.IsPage(response.StatusCode) || s.bodies[p.Job.Set.Job.ID] != nil {
		return response, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxSample+1))
	if err == nil && len(body) <= maxSample && len(body) > 0 {
		s.bodies[p.Job.Set.Job.ID] = body
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), response.Body), response.Body}
	return response, nil
}
