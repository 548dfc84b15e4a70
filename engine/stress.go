package engine

import (
	"context"
	"slices"

	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
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
	return &stress.Suite{
		Jobs: e.selected(), ExitStatus: failure.ExitStatus,
		Change: func(changes []stress.Change) (*stress.Suite, error) {
			changed, err := e.changed(changes)
			if err != nil {
				return nil, err
			}
			return changed.stressSuite(), nil
		},
		Loop: func(env stress.Environment) runtime.Loop {
			offline := e.With(WithTransport(env.Transport), WithClock(env.Clock), WithLogger(nil), WithObserver(nil),
				WithResume(nil), WithKept(nil), WithPrefetch(0), WithAuth(&Auth{}))
			loop, _ := offline.loop() // without credentials it cannot fail
			return loop
		},
	}
}

// changed returns the engine of the same configuration after changes to its values.
func (e *Engine) changed(changes []stress.Change) (*Engine, error) {
	root, _ := value.Members(e.root)
	inner, wrapped := root.Get("parameters")
	if wrapped {
		root, _ = value.Members(inner)
	}
	for _, c := range changes {
		v := c.Value
		if c.Append {
			list, _ := rules.GetPath(root, c.Path).([]any)
			v = append(slices.Clone(list), v)
		}
		root = rules.SetPath(root, c.Path, v)
	}
	if wrapped {
		root = value.Object{{Name: "parameters", Value: root}}
	}
	return build(nil, root, e.settings)
}
