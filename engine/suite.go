package engine

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/stopwhen/stopwhen/engine/configtest"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// tests returns the tests of the selected jobs.
func (e *Engine) tests() []rules.Test {
	jobs := e.options.run.jobs
	if len(jobs) == 0 {
		return e.cfg.Tests
	}
	return slices.DeleteFunc(slices.Clone(e.cfg.Tests), func(t rules.Test) bool { return !slices.Contains(jobs, t.Job) })
}

// Test runs the tests in the configuration. They make no requests, use no credentials, and ignore
// the engine's transport, clock, logger and observer.
func (e *Engine) Test(ctx context.Context) *configtest.Report { return e.suite().Run(ctx) }

// SampleTest returns a test of the first job to start from, as the key `tests` of a configuration.
func (e *Engine) SampleTest() string { return e.suite().Sample() }

// suiteBase returns the base address of the tests.
func (e *Engine) suiteBase() *url.URL {
	inputs, _ := e.cfg.BindInputs(e.options.run.Inputs)
	text, err := e.baseURL(inputs)
	if base, invalid := url.Parse(text); err == nil && invalid == nil {
		return base
	}
	return &url.URL{Scheme: "https", Host: "api.invalid", Path: "/"}
}

func (e *Engine) suite() *configtest.Suite {
	base := e.suiteBase()
	return &configtest.Suite{
		Tests: e.tests(), Jobs: e.selected(), Source: e.cfg.Source, BaseURL: base, Redact: e.Redactor().Text, ExitStatus: failure.ExitStatus,
		CheckInputs: func(values map[string]any) diag.Diagnostics {
			_, found := e.cfg.BindInputs(values)
			return found
		},
		Judge: func(job *runtime.Result) error {
			job.Refused = job.Ended() && !e.Auditor().Accepts(*job)
			return NewResult([]JobResult{*job}).Err()
		},
		Loop: func(env configtest.Environment) runtime.Loop {
			return e.offline(env.Transport, env.Clock, WithVerdictValues(), WithKept(env.Kept), WithInputs(env.Inputs))
		},
	}
}

// offline returns the loop of a run whose API is served by this process.
func (e *Engine) offline(api http.RoundTripper, clock transport.Clock, options ...RunOption) runtime.Loop {
	alone := e.With(WithTransport(api), WithClock(clock), WithLogger(nil), WithObserver(nil),
		WithResume(nil), WithKept(nil), WithPrefetch(0), WithAuth(nil)).With(options...)
	loop, _ := alone.loop() // cannot fail without credentials
	return loop
}
