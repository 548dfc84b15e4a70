package engine

import (
	"context"

	"github.com/stopwhen/stopwhen/engine/stress"
)

// Simulate runs one job against a model of its API, like [Engine.Stress], and returns the
// pages with their requests and what every rule said of them. The spec is the sizes of the
// pages, as in "10,10,3", or the name of a behaviour, or two names joined by "+".
func (e *Engine) Simulate(ctx context.Context, job, spec string) (*stress.Simulation, error) {
	parsed, err := stress.ParseSpec(spec)
	if err != nil {
		return nil, err
	}
	var simulation *stress.Simulation
	for _, sampled := range e.With(WithVerdicts()).withSamples() {
		simulation, err = sampled.stressSuite().Simulate(ctx, job, parsed)
		if err != nil || simulation.Unknown == "" {
			return simulation, err
		}
	}
	return simulation, nil
}
