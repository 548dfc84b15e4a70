package engine

import (
	"context"
	"maps"
	"regexp/syntax"
	"strings"

	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// Stress reports how the jobs cope with the behaviours of APIs: every job runs in memory against
// a model of its API, which is derived from the compiled rules, once for each behaviour of a
// table. Stress makes no request, has no credentials, and ignores the engine's transport, clock,
// logger and observer. An input that a run would have to set has a sample value. The error is
// that of the context.
func (e *Engine) Stress(ctx context.Context, o stress.Options) (*stress.Report, error) {
	var best *stress.Report
	for _, sampled := range e.withSamples() {
		report, err := sampled.stressSuite(&runtime.Pool{}).Run(ctx, o)
		if err != nil || len(report.Unknown()) == 0 {
			return report, err
		}
		if best == nil || len(report.Unknown()) < len(best.Unknown()) {
			best = report
		}
	}
	return best, nil
}

// stressSuite returns the suite of the engine. Its runs, and those of changed configurations, take their readers from a pool.
func (e *Engine) stressSuite(pool *runtime.Pool) *stress.Suite {
	root, _ := value.Members(e.root)
	inner, wrapped := root.Get("parameters")
	if wrapped {
		root, _ = value.Members(inner)
	}
	return &stress.Suite{
		Jobs: e.selected(), ExitStatus: failure.ExitStatus, Config: root, Methods: e.options.decode.Catalog.Methods(e.cfg.Dialect),
		With: func(config value.Object) (*stress.Suite, error) {
			if wrapped {
				config = value.ObjectOf("parameters", config)
			}
			changed, err := build(nil, config, e.options)
			if err != nil {
				return nil, err
			}
			return changed.stressSuite(pool), nil
		},
		Walk: func(env stress.Environment) partition.Walk {
			loop := e.offline(env.Transport, env.Clock)
			loop.Pool = pool
			return e.walk(loop)
		},
	}
}

// sampleTexts are the values of inputs that have no value. A text suits most inputs; inputs that
// are compared with a number or parsed as a time need the others.
var sampleTexts = []string{"sample", "10", "2026-01-01T00:00:00Z"}

// sampleAddress is the value of an input that baseUrl reads as an address.
const sampleAddress = "https://sample.example.com/"

// withSamples returns an engine for each text of sampleTexts, in which that text is the value of
// the missing inputs, unless a test of the configuration gives them values. If no input is missing, it returns only the
// engine itself.
func (e *Engine) withSamples() []*Engine {
	var missing []rules.Input
	for _, in := range e.cfg.Inputs {
		if _, given := e.options.run.Inputs[in.Name]; !given && in.Required() {
			missing = append(missing, in)
		}
	}
	if missing == nil {
		return []*Engine{e}
	}
	engines := make([]*Engine, len(sampleTexts))
	for i, text := range sampleTexts {
		inputs := map[string]any{}
		maps.Copy(inputs, e.options.run.Inputs)
		for _, in := range missing {
			inputs[in.Name] = sampleInput(in, text)
			for _, t := range e.cfg.Tests {
				if v, set := t.Inputs[in.Name]; set {
					inputs[in.Name] = v
					break
				}
			}
		}
		if _, err := e.baseURL(inputs); err != nil { // an input may be the whole address
			for _, in := range missing {
				if e.jobs[0].Analysis().BaseReads(in.Name) {
					inputs[in.Name] = sampleAddress
				}
			}
		}
		engines[i] = e.With(WithInputs(inputs))
	}
	return engines
}

// sampleInput returns a value for an input: a text that matches its pattern if it has a pattern,
// and the given text otherwise.
func sampleInput(in rules.Input, text string) string {
	if in.Pattern == "" {
		return text
	}
	parsed, err := syntax.Parse(in.Pattern, syntax.Perl)
	if err != nil {
		return text
	}
	return matching(parsed.Simplify())
}

// matching returns a short text that matches a regular expression, unless assertions in it
// contradict each other.
func matching(re *syntax.Regexp) string {
	b := &strings.Builder{}
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		if len(re.Rune) > 0 {
			return string(likelyIn(re.Rune))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpAlternate, syntax.OpCapture, syntax.OpPlus, syntax.OpStar:
		return matching(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			b.WriteString(matching(sub))
		}
	}
	return b.String()
}

// likelyIn returns a character of a class, which is given as pairs of first and last characters:
// a letter or a digit if possible.
func likelyIn(ranges []rune) rune {
	for _, c := range "a1A" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= c && c <= ranges[i+1] {
				return c
			}
		}
	}
	return ranges[0]
}

// Simulate runs one job against a model of its API, like [Engine.Stress], and returns the pages
// with their requests and the verdicts of all rules. The spec has the sizes of the pages, as in
// "10,10,3", or the name of a behaviour, or two names joined by "+".
func (e *Engine) Simulate(ctx context.Context, job, spec string) (*stress.Simulation, error) {
	parsed, err := stress.ParseSpec(spec)
	if err != nil {
		return nil, err
	}
	var simulation *stress.Simulation
	for _, sampled := range e.With(WithVerdictValues()).withSamples() {
		simulation, err = sampled.stressSuite(&runtime.Pool{}).Simulate(ctx, job, parsed)
		if err != nil || simulation.Unknown == "" {
			return simulation, err
		}
	}
	return simulation, nil
}
