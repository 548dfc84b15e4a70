package engine

import (
	"context"

	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// Stress says how the jobs fare against what an API may do: a model of the API, derived
// from the compiled rules, is played in memory with every behaviour of a table. It makes no
// request, has no credentials, and ignores the engine's transport, clock, logger and
// observer. An input that a run would have to set has a sample value. The error is that of
// the context.
func (e *Engine) Stress(ctx context.Context, o stress.Options) (*stress.Report, error) {
	var best *stress.Report
	for _, sampled := range e.withSamples() {
		report, err := sampled.stressSuite().Run(ctx, o)
		if err != nil || len(report.Unknown()) == 0 {
			return report, err
		}
		if best == nil || len(report.Unknown()) < len(best.Unknown()) {
			best = report
		}
	}
	return best, nil
}

func (e *Engine) stressSuite() *stress.Suite {
	root, _ := value.Members(e.root)
	inner, wrapped := root.Get("parameters")
	if wrapped {
		root, _ = value.Members(inner)
	}
	return &stress.Suite{
		Jobs: e.selected(), ExitStatus: failure.ExitStatus, Config: root,
		With: func(config value.Object) (*stress.Suite, error) {
			if wrapped {
				config = value.ObjectOf("parameters", config)
			}
			changed, err := build(nil, config, e.settings)
			if err != nil {
				return nil, err
			}
			return changed.stressSuite(), nil
		},
		Walk: func(env stress.Environment) partition.Walk { return e.walk(e.offline(env.Transport, env.Clock)) },
	}
}
