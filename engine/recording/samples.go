package recording

import (
	"context"
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
	player.samples = map[string][]byte{}
	e = e.With(engine.WithTransport(player), engine.WithClock(player), engine.WithPlaceholderTokens(), engine.WithTokenStore(nil),
		engine.WithKeepGoing(), engine.WithPrefetch(0))
	_, _ = e.Run(ctx, func(context.Context, *engine.Page) error { return nil })
	return player.samples
}

// sample keeps the body that answers a request if it is the first page of its job.
func (p *Player) sample(req *http.Request, x Exchange) {
	of, ok := runtime.PartitionOf(req.Context())
	if p.samples == nil || !ok || x.Error != "" || !transport.IsPage(x.Status) || len(x.ResponseBody) == 0 || len(x.ResponseBody) > maxSample {
		return
	}
	if id := of.Job.Set.Job.ID; p.samples[id] == nil {
		p.samples[id] = x.ResponseBody
	}
}
