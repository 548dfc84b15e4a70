package engine

import (
	"context"
	"slices"
	"strconv"

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
	return &stress.Suite{
		Jobs: e.selected(), ExitStatus: failure.ExitStatus,
		Change: func(changes []stress.Change) (*stress.Suite, error) {
			changed, err := e.changed(changes)
			if err != nil {
				return nil, err
			}
			return changed.stressSuite(), nil
		},
		Walk: func(env stress.Environment) partition.Walk { return e.walk(e.offline(env.Transport, env.Clock)) },
	}
}

// changedAt returns a value with a change at a path in it.
func changedAt(v any, path []string, c stress.Change) any {
	if len(path) == 0 && c.Append {
		list, _ := v.([]any)
		return append(slices.Clone(list), c.Value)
	}
	if len(path) == 0 {
		return c.Value
	}
	if list, isList := v.([]any); isList {
		if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < len(list) {
			list = slices.Clone(list)
			list[i] = changedAt(list[i], path[1:], c)
		}
		return list
	}
	o, _ := value.Members(v)
	inner, _ := o.Get(path[0])
	return o.With(path[0], changedAt(inner, path[1:], c))
}

// changed returns the engine of the same configuration after changes to its values.
func (e *Engine) changed(changes []stress.Change) (*Engine, error) {
	root, _ := value.Members(e.root)
	inner, wrapped := root.Get("parameters")
	if wrapped {
		root, _ = value.Members(inner)
	}
	for _, c := range changes {
		set, _ := changedAt(root, c.Path, c).(value.Object)
		root = set
	}
	if wrapped {
		root = value.Object{{Name: "parameters", Value: root}}
	}
	return build(nil, root, e.settings)
}
