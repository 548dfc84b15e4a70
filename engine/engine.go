package engine

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime"
)

// Engine is a compiled configuration. It never changes and may be used by many
// goroutines at once; each run has its own state and connections.
type Engine struct {
	cfg      *rules.Config
	jobs     []*compile.Job
	warnings diag.Diagnostics
	settings settings
}

// Load reads and compiles a configuration: the specification's JSON, with or
// without the outer `parameters` object. The name appears in messages, and its
// ending picks the format (see [WithFormat]). Every fault is found before any
// request; the error is then [diag.Diagnostics], with the place of each.
func Load(name string, text []byte, options ...Option) (*Engine, error) {
	settings := newSettings(options)
	source := diag.NewSource(name, string(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))))
	parse, ok := settings.formats[strings.ToLower(filepath.Ext(name))]
	if !ok {
		parse = rules.ParseJSON
	}
	root, err := parse(source)
	if err != nil {
		return nil, err
	}
	cfg, found := rules.Decode(source, root, settings.decode)
	return compiled(cfg, found, settings)
}

// LoadFile is [Load] of a file.
func LoadFile(path string, options ...Option) (*Engine, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, diag.Diagnostics{{Message: "cannot read the configuration: " + err.Error()}}
	}
	return Load(path, text, options...)
}

// New compiles a configuration that was built in Go.
func New(cfg rules.Config, options ...Option) (*Engine, error) {
	settings := newSettings(options)
	if settings.decode.Dialect != "" {
		cfg.Dialect = settings.decode.Dialect
	}
	if settings.decode.BaseURL != "" {
		cfg.BaseURL = settings.decode.BaseURL
	}
	cfg.Jobs = append([]rules.Job(nil), cfg.Jobs...)
	found := cfg.Check()
	return compiled(&cfg, found, settings)
}

// compiled lowers a configuration to rules and compiles them. What is wrong with
// either is reported together with what was found before.
func compiled(cfg *rules.Config, found diag.Diagnostics, settings settings) (*Engine, error) {
	if len(cfg.Jobs) == 0 && found.Err() != nil {
		return nil, hidden(found.Errors(), cfg.Secrets)
	}
	lowered, more := cfg.Lower()
	found = append(found, more...)
	jobs, more := compile.Rulesets(cfg, lowered, nil)
	found = append(found, more...)
	found.Sort()
	if errs := found.Errors(); len(errs) > 0 {
		return nil, hidden(errs, cfg.Secrets)
	}
	return &Engine{cfg: cfg, jobs: jobs, warnings: found.Warnings(), settings: settings}, nil
}

// hidden puts stars in the place of the configuration's secrets in what faults
// show, one for each character, so that carets stay where they point.
func hidden(faults diag.Diagnostics, secrets []string) diag.Diagnostics {
	redactor := runtime.NewRedactor(secrets)
	for _, f := range faults {
		for _, secret := range secrets {
			f.Snippet = strings.ReplaceAll(f.Snippet, secret, strings.Repeat("*", utf8.RuneCountInString(secret)))
		}
		f.Message, f.Snippet = redactor.String(f.Message), redactor.String(f.Snippet)
	}
	return faults
}

// With returns the same compiled configuration, run in another way: transport,
// clock, logger. Options about reading a configuration come too late here.
func (e *Engine) With(options ...Option) *Engine {
	changed := *e
	for _, o := range options {
		o(&changed.settings)
	}
	return &changed
}

// Warnings are what is odd about the configuration, though it is used.
func (e *Engine) Warnings() diag.Diagnostics { return e.warnings }

// Jobs lists the ids of the jobs, in the order in which they run.
func (e *Engine) Jobs() []string {
	ids := make([]string, len(e.jobs))
	for i, job := range e.jobs {
		ids[i] = job.Set.Job.ID
	}
	return ids
}

// DataType is the name of the type of a job's items: its `dataType`, else its
// endpoint.
func (e *Engine) DataType(job string) string {
	for _, j := range e.jobs {
		if j.Set.Job.ID == job {
			return j.Set.Job.DataType
		}
	}
	return ""
}

// Ended tells whether every job had ended by the positions of [WithResume]: a run
// makes no request then, and gives the result of the run before.
func (e *Engine) Ended() bool {
	for _, job := range e.jobs {
		if !runtime.Ended(e.settings.resume[job.Set.Job.ID]) {
			return false
		}
	}
	return true
}

// Debug tells whether the configuration asks for detailed logs.
func (e *Engine) Debug() bool { return e.cfg.Debug }

// Redactor hides the configuration's secrets in whatever is printed.
func (e *Engine) Redactor() *runtime.Redactor { return runtime.NewRedactor(e.cfg.Secrets) }

// Explain describes the compiled rules of every job. It makes no request.
func (e *Engine) Explain() *compile.Explanation {
	return compile.Explain(e.cfg, e.jobs, e.Redactor().String)
}

// Run runs all jobs in their order and hands every page to the sink. It ends
// when all jobs have, or with the first error: an [*Error] that names its class,
// job and page, or the sink's own. The result tells how far each job came; the
// pages that the sink was given are complete, whatever the error.
func (e *Engine) Run(ctx context.Context, sink Sink) (*Result, error) {
	loop := e.loop()
	if e.settings.transport == nil {
		defer loop.Client.Close()
	}
	if e.settings.parallel > 1 && len(e.jobs) > 1 {
		return e.runParallel(ctx, loop, sink)
	}
	result := &Result{}
	for _, job := range e.jobs {
		one, err := loop.Run(ctx, job, runtime.Sink(sink))
		result.Jobs = append(result.Jobs, one)
		if err != nil {
			return result, err
		}
	}
	return result, nil
}

// runParallel runs several jobs at once. The first error ends all; the result
// has the jobs that were begun, in their order.
func (e *Engine) runParallel(ctx context.Context, loop runtime.Loop, sink Sink) (*Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var turn sync.Mutex // of the sink, and of first
	var first error
	one := func(ctx context.Context, page *Page) error {
		turn.Lock()
		defer turn.Unlock()
		if first != nil {
			return first
		}
		return sink(ctx, page)
	}
	results := make([]*JobResult, len(e.jobs))
	slots := make(chan struct{}, e.settings.parallel)
	var all sync.WaitGroup
	for i, job := range e.jobs {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-slots }()
			result, err := loop.Run(ctx, job, one)
			results[i] = &result
			if err != nil {
				turn.Lock()
				defer turn.Unlock()
				if first == nil {
					first = err
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	result := &Result{}
	for _, r := range results {
		if r != nil {
			result.Jobs = append(result.Jobs, *r)
		}
	}
	if first == nil && context.Cause(ctx) != nil { // before any job could notice
		first = &Error{Class: runtime.ClassCancelled, Op: "run", Message: "interrupted", Err: context.Cause(ctx)}
	}
	return result, first
}

// Pages runs all jobs in their order and yields every page. A page comes when
// it is complete and judged; leaving the loop stops the run. After an error,
// which comes with a nil page, there are no more pages.
func (e *Engine) Pages(ctx context.Context) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		inTurn := e.With(WithParallelJobs(1)) // yield belongs to this goroutine
		_, err := inTurn.Run(ctx, func(_ context.Context, page *Page) error {
			if !yield(page, nil) {
				return errLeft
			}
			return nil
		})
		if err != nil && !errors.Is(err, errLeft) {
			yield(nil, err)
		}
	}
}

// errLeft ends the run of an iteration that was left.
var errLeft = errors.New("the iteration was left")

// loop is what one run is made with.
func (e *Engine) loop() runtime.Loop {
	s, cfg := e.settings, e.cfg
	redactor := e.Redactor()
	origin, _ := url.Parse(cfg.BaseURL) // checked when it was loaded
	retry := retriesOf(cfg.HTTP)
	retry.Jitter = s.jitter
	client := runtime.NewClient(runtime.ClientOptions{
		Transport: s.transport, Clock: s.clock, Log: s.log, UserAgent: s.userAgent, Redactor: redactor,
		Origin: origin, AllowedOrigins: cfg.AllowedOrigins, AnyOrigin: rules.SwitchesOf(cfg.Dialect).FollowAnyOrigin,
		Auth: authOf(cfg.Auth), SecretHeaders: secretHeaders(cfg), Retry: retry, RateLimit: runtime.RateLimit{Remaining: cfg.HTTP.RateRemaining, Reset: cfg.HTTP.RateReset}, MaxBody: int64(cfg.HTTP.MaxBodyBytes),
	})
	return runtime.Loop{Client: client, Clock: s.clock, Log: s.log, Redactor: redactor, MaxDepth: cfg.HTTP.MaxDepth, MaxItems: cfg.HTTP.MaxItems, Verdicts: s.verdicts, Kept: s.kept, Prefetch: s.prefetch, Resume: s.resume}
}

func secretHeaders(cfg *rules.Config) []string {
	names := append([]string(nil), cfg.HTTP.SecretHeaders...)
	for _, j := range cfg.Jobs {
		names = append(names, j.SecretHeaders...)
	}
	return names
}
