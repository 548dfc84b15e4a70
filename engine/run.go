package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/credential"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/partition"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// Run runs all jobs in order and passes every page to sink. It returns when all jobs have ended or
// at the first error, which is an [*Error] that names its class, job and page, or the error of
// sink. If [Engine.Check] finds mistakes, the [*Error] has class config, and its cause is these
// [Diagnostics]. With [WithKeepGoing] an error of one job does not end the others. The result
// describes how far each job came; the pages that the sink received are complete, whatever the
// error.
//
// A panic of the sink, or of any other function of the program that the run calls, ends the run
// with an error of class internal, whose cause has a method Stack() []byte.
func (e *Engine) Run(ctx context.Context, sink SinkFunc) (*Result, error) {
	if sink == nil {
		return e.RunTo(ctx, nil)
	}
	return e.RunTo(ctx, sink)
}

func (e *Engine) run(ctx context.Context, gate *sinkGate) (_ *Result, err error) {
	defer func() { err = e.redact(err) }()
	if d := e.options.run.timeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, &Error{
			Class: failure.Policy, Op: "run", Message: fmt.Sprintf("the run took longer than %s", d),
			Hint: "raise the timeout, or limit the list with forceStop",
		})
		defer cancel()
	}
	if err := e.Check(); err != nil {
		return NewResult(nil), errorOfRun(err)
	}
	loop, err := e.loop()
	if err != nil {
		return NewResult(nil), err
	}
	if e.options.run.transport == nil {
		defer loop.Client.Close()
	}
	return e.runJobs(ctx, loop, gate)
}

// errorOfRun returns an error of [Engine.Check] as a run returns it: mistakes in options or inputs are the cause of an [*Error].
func errorOfRun(err error) error {
	if errors.As(err, new(*Error)) {
		return err
	}
	return &Error{Class: failure.Config, Op: "run", Message: err.Error(), Err: err}
}

// runJobs runs the trees of jobs, one after another or several at once. The result has the jobs
// that were begun, in order.
func (e *Engine) runJobs(ctx context.Context, loop runtime.Loop, gate *sinkGate) (*Result, error) {
	jobsCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	walk := e.walk(loop)
	walk.Skipped = gate.deliverSkipped
	walk.Started = startOf(loop.WithDefaults().Clock)
	jobs := e.roots()
	results := make([][]JobResult, len(jobs))
	gate.left = len(jobs)
	walk.RunAll(jobs, func() bool { return gate.stopReason() != nil }, func(i int) {
		job, err := jobs[i], failure.Exited()
		defer func() {
			if !gate.yielding { // a panic there belongs to the caller of Pages
				err = failure.Recovered(job.ID(), recover(), err)
			}
			if ended := gate.end(ctx, i, job.ID(), blameTimeout(ctx, results[i], err)); ended != nil {
				cancel(ended)
			}
		}()
		results[i], err = walk.Run(jobsCtx, job, gate.deliver)
	})
	result := NewResult(slices.Concat(results...))
	return result, join(gate.err(), result.Err())
}

// startOf returns the start of a run, by its clock.
func startOf(clock transport.Clock) time.Time {
	if c, ok := clock.(interface{ Started() time.Time }); ok {
		return c.Started()
	}
	return clock.Now()
}

// blameTimeout returns the timeout as the error of a tree of jobs if it ended one of them, and says so in
// the result of that job. It returns any other error unchanged.
func blameTimeout(ctx context.Context, results []JobResult, err error) error {
	limited := timeoutOf(ctx, err)
	if limited == nil {
		return err
	}
	for i := range results {
		if results[i].Job == limited.Job || len(results) == 1 {
			results[i].Message = limited.Error()
		}
	}
	return limited
}

// timeoutOf returns the timeout of the run if it caused an error, and nil otherwise.
func timeoutOf(ctx context.Context, err error) *Error {
	cause, ok := errors.AsType[*Error](context.Cause(ctx))
	if err == nil || ctx.Err() == nil || !ok {
		return nil
	}
	limited := *cause
	limited.Err = err
	if cancelled, ok := errors.AsType[*Error](err); ok && cancelled.Class == failure.Cancelled {
		limited.Job, limited.Page, limited.Method, limited.URL = cancelled.Job, cancelled.Page, cancelled.Method, cancelled.URL
	} else if !errors.Is(err, ctx.Err()) { // the run failed for another reason
		return nil
	}
	return &limited
}

// Pages runs all jobs in order and yields every page after it is complete and judged. Breaking out
// of the loop stops the run. An error is yielded with a nil page and ends the sequence.
func (e *Engine) Pages(ctx context.Context) iter.Seq2[*Page, error] {
	return func(yield func(*Page, error) bool) {
		sequential := e.With(WithParallelJobs(1)) // yield belongs to this goroutine
		gate := sequential.newSinkGate(nil)
		gate.sink = func(_ context.Context, page *Page) error {
			gate.yielding = true
			if !yield(page, nil) {
				return errLeft
			}
			gate.yielding = false
			return nil
		}
		_, err := sequential.run(ctx, gate)
		if err != nil && !errors.Is(err, errLeft) {
			yield(nil, err)
		}
	}
}

// PageAt runs the engine up to a page of a job, counted from 1 over all partitions of the job, and
// returns the page with items of its own. If the list ends before that page, the page is nil and
// pages is the number of pages that the job has.
func (e *Engine) PageAt(ctx context.Context, job string, number int) (page *Page, pages int, err error) {
	for page, err := range e.Pages(ctx) {
		if err != nil {
			return nil, pages, err
		}
		if page.Job != job {
			continue
		}
		if pages++; pages == number {
			page.Items = page.Items.Clone()
			return page, pages, nil
		}
	}
	return nil, pages, nil
}

// errLeft ends the run of an iteration that its caller has left.
var errLeft = errors.New("the caller stopped the iteration")

// loop returns the loop of one run.
func (e *Engine) loop() (runtime.Loop, error) { return e.bind(inRun(e.options.run.Observer)) }

// bind returns a loop with the inputs, the credentials and the options of a run. The observer may be nil.
func (e *Engine) bind(observer Observer) (runtime.Loop, error) {
	s, cfg := e.options.run, e.cfg
	inputs, _ := cfg.BindInputs(s.Inputs) // checked by Run
	base, _ := e.baseURL(inputs)          // checked by Run
	origin, err := url.Parse(base)
	if err != nil {
		return runtime.Loop{}, e.redact(err)
	}
	origin.User = cfg.User
	secrets := e.namedSecrets()
	options := e.transportOptions(origin)
	auth, err := e.credentials(credential.Options{
		Options: options, Expressions: e.auth, Inputs: inputs, Secrets: secrets, BaseURL: base, Store: s.tokens, Offline: s.offline,
	})
	if err != nil {
		return runtime.Loop{}, err
	}
	allowed, _ := e.allowedOrigins(inputs) // checked by Run
	options.Origin, options.AllowedOrigins, options.AnyOrigin = origin, allowed, cfg.Dialect.Switches().FollowAnyOrigin
	options.Auth, options.SecretHeaders = auth, secretHeaders(cfg)
	options.RateLimit = transport.RateLimit{Remaining: cfg.HTTP.RateRemaining, Reset: cfg.HTTP.RateReset}
	loop := s.Loop
	loop.Observer, loop.Pool = observer, &runtime.Pool{}
	options.MaxBody, options.Observe = int64(cfg.HTTP.MaxBodyBytes), loop.OfTransport()
	loop.Client = transport.New(options)
	loop.Log, loop.Redactor = options.Log, options.Redactor
	loop.Inputs, loop.Secrets = inputs, secrets
	loop.MaxDepth, loop.MaxItems, loop.MaxValueBytes = cfg.HTTP.MaxDepth, cfg.HTTP.MaxItems, cfg.HTTP.MaxValueBytes
	loop.MaxBody = options.MaxBody
	return loop, nil
}

// transportOptions returns the options that all requests of a run have, including the requests that obtain
// credentials.
func (e *Engine) transportOptions(origin *url.URL) transport.Options {
	s, http := e.options.run, e.cfg.HTTP
	if s.transport == nil && e.cfg.TLS != nil {
		s.transport = transport.WithCertificates(origin, e.cfg.TLS)
	} else if s.transport == nil {
		s.transport = transport.Default()
	}
	pace := transport.Pace{PerSecond: http.Pace.PerSecond, Burst: http.Pace.Burst, Parallel: http.Pace.Parallel}
	return transport.Options{
		Transport: s.transport, Clock: s.Clock, UserAgent: cmp.Or(s.userAgent, "stopwhen"), Log: e.log(), Redactor: e.Redactor(),
		Retry: transport.RetryPolicy{
			MaxAttempts: http.MaxRetries + 1, Statuses: http.RetryCodes, Limited: http.LimitCodes, Header: http.RetryHeader,
		},
		Pacer: transport.NewSharedPacer(pace, s.pace), Timeout: http.Pace.Timeout,
	}
}

// log returns the logger of the engine's runs, which hides secrets, or nil.
func (e *Engine) log() *slog.Logger {
	log := e.options.run.Log
	if log == nil {
		return nil
	}
	return slog.New(redact.Handler(log.Handler(), e.Redactor().Text))
}

// redact returns an error for the caller of a run, without the secrets of the engine.
func (e *Engine) redact(err error) error { return failure.Redact(err, e.Redactor().Text) }

// join joins errors; a single one stays as it is.
func join(errs ...error) error {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// walk returns the walk of a run over its jobs and their partitions.
func (e *Engine) walk(loop runtime.Loop) partition.Walk {
	s := e.options.run
	return partition.Walk{
		Loop: loop, Jobs: s.selection(), Slots: partition.NewSlots(max(1, s.parallel)), Quota: partition.NewQuota(e.cfg.MaxPartitions),
		Accept: e.Auditor().Accepts,
	}
}

func secretHeaders(cfg *rules.Config) []string {
	names := append([]string(nil), cfg.HTTP.SecretHeaders...)
	for _, j := range cfg.Jobs {
		names = append(names, j.SecretHeaders...)
	}
	return names
}

// runObserver marks the events of one run.
type runObserver struct {
	Observer
	run    string
	worker string
}

// inRun returns an observer of a new run that passes its events to o, or nil.
func inRun(o Observer) Observer {
	if o == nil {
		return nil
	}
	return runObserver{Observer: o, run: rand.Text()}
}

// Observe passes an event on with the id of the run.
func (o runObserver) Observe(ctx context.Context, e Event) {
	e.Run, e.Worker = o.run, o.worker
	o.Observer.Observe(ctx, e)
}

// A Sink receives the results of a run: see [Engine.RunTo]. Its methods are not called
// concurrently.
type Sink interface {
	// Page receives a page. The pages of a job come in order; the pages of concurrent jobs are
	// interleaved. The items are valid until Page returns. An error of Page ends the run.
	Page(ctx context.Context, page *Page) error

	// Commit is called after the run for each job of [Result.Completed]. An error of Commit becomes
	// an error of the run, and does not prevent other jobs from being committed.
	Commit(ctx context.Context, job JobResult) error
}

// A SinkFunc is a [Sink] that receives pages and commits nothing.
type SinkFunc func(ctx context.Context, page *Page) error

// Page calls the function.
func (f SinkFunc) Page(ctx context.Context, page *Page) error { return f(ctx, page) }

// Commit does nothing.
func (SinkFunc) Commit(context.Context, JobResult) error { return nil }

// RunTo is like [Engine.Run] with a sink that also learns which jobs are complete, even if another
// job has failed or the context has ended.
func (e *Engine) RunTo(ctx context.Context, sink Sink) (*Result, error) {
	if sink == nil {
		return NewResult(nil), &Error{Class: failure.Config, Op: "run", Message: "the sink is nil"}
	}
	result, err := e.run(ctx, e.newSinkGate(sink.Page))
	errs := []error{err}
	for _, job := range result.Completed() {
		errs = append(errs, e.redact(commit(context.WithoutCancel(ctx), sink, job)))
	}
	return result, join(errs...)
}

func commit(ctx context.Context, sink Sink, job JobResult) (err error) {
	defer func() { err = failure.Recovered(job.Job, recover(), err) }()
	return sink.Commit(ctx, job)
}
