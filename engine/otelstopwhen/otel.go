// Package otelstopwhen reports the runs of an engine to OpenTelemetry.
//
// Each job is a span, or each partition of a job with variables. Each HTTP request is a client span below it, with the
// attributes and the duration metric of the semantic conventions for HTTP
// clients. Pages, findings, retries and waits are events of the job's span, and
// counters.
//
// It is a separate module, so that programs without OpenTelemetry do not link it.
package otelstopwhen

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/stopwhen/stopwhen/engine"
)

const scope = "github.com/stopwhen/stopwhen/engine/otelstopwhen"

// Attributes of a job's span and of the metrics.
const (
	jobKey     = attribute.Key("stopwhen.job")
	valuesKey  = attribute.Key("stopwhen.partition") // values of the variables, such as "order.id=1001"
	pageKey    = attribute.Key("stopwhen.page")
	itemsKey   = attribute.Key("stopwhen.items")
	bytesKey   = attribute.Key("stopwhen.bytes")
	pagesKey   = attribute.Key("stopwhen.pages")
	outcomeKey = attribute.Key("stopwhen.outcome")
	reasonKey  = attribute.Key("stopwhen.reason")
	findingKey = attribute.Key("stopwhen.finding")
	messageKey = attribute.Key("stopwhen.message")
	waitKey    = attribute.Key("stopwhen.wait.seconds")
	sourceKey  = attribute.Key("stopwhen.wait.source")
)

// An Observer reports events to OpenTelemetry. One Observer serves any number of
// engines and concurrent runs.
type Observer struct {
	tracer  trace.Tracer
	metrics instruments

	mu   sync.Mutex
	jobs map[jobID]openJob
}

// A jobID identifies a job of a run, or a partition of it.
type jobID struct{ run, job, partition string }

func idOf(e engine.Event) jobID { return jobID{e.Run, e.Job, e.Partition} }

// openJob is a job whose end has not been observed yet.
type openJob struct {
	ctx  context.Context
	span trace.Span
}

type instruments struct {
	duration metric.Float64Histogram
	pages    metric.Int64Counter
	items    metric.Int64Counter
	findings metric.Int64Counter
	retries  metric.Int64Counter
	waits    metric.Float64Counter
}

// An Option configures an [Observer].
type Option func(*config)

type config struct {
	tracers trace.TracerProvider
	meters  metric.MeterProvider
}

// WithTracerProvider overrides the global provider of tracers.
func WithTracerProvider(p trace.TracerProvider) Option { return func(c *config) { c.tracers = p } }

// WithMeterProvider overrides the global provider of meters.
func WithMeterProvider(p metric.MeterProvider) Option { return func(c *config) { c.meters = p } }

// New returns an observer for engine.WithObserver.
func New(options ...Option) (*Observer, error) {
	c := config{tracers: otel.GetTracerProvider(), meters: otel.GetMeterProvider()}
	for _, o := range options {
		o(&c)
	}
	metrics, err := newInstruments(c.meters.Meter(scope))
	if err != nil {
		return nil, fmt.Errorf("otelstopwhen: %w", err)
	}
	return &Observer{tracer: c.tracers.Tracer(scope), metrics: metrics, jobs: map[jobID]openJob{}}, nil
}

func newInstruments(m metric.Meter) (instruments, error) {
	var out instruments
	var errs [6]error
	// The semantic conventions define the boundaries.
	out.duration, errs[0] = m.Float64Histogram("http.client.request.duration",
		metric.WithUnit("s"), metric.WithDescription("Duration of HTTP client requests."),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10))
	out.pages, errs[1] = m.Int64Counter("stopwhen.pages",
		metric.WithUnit("{page}"), metric.WithDescription("Pages that were delivered."))
	out.items, errs[2] = m.Int64Counter("stopwhen.items",
		metric.WithUnit("{item}"), metric.WithDescription("Items that the API sent."))
	out.findings, errs[3] = m.Int64Counter("stopwhen.findings",
		metric.WithUnit("{finding}"), metric.WithDescription("Evidence that a list may be incomplete."))
	out.retries, errs[4] = m.Int64Counter("stopwhen.retries",
		metric.WithUnit("{retry}"), metric.WithDescription("Requests that were repeated."))
	out.waits, errs[5] = m.Float64Counter("stopwhen.wait.duration",
		metric.WithUnit("s"), metric.WithDescription("Time spent waiting before requests."))
	return out, errors.Join(errs[:]...)
}

// Observe reports one event.
func (o *Observer) Observe(ctx context.Context, e engine.Event) {
	job := o.open(ctx, e)
	attributes := metric.WithAttributes(jobKey.String(e.Job))
	switch e.Kind {
	case engine.EventRequest:
		o.request(job.ctx, e)
	case engine.EventRetry, engine.EventWait:
		seconds := e.Exchange.Duration.Seconds()
		addEvent(job.span, e, pageKey.Int(e.Page), waitKey.Float64(seconds), sourceKey.String(e.Exchange.Source))
		o.metrics.waits.Add(ctx, seconds, attributes)
		if e.Kind == engine.EventRetry {
			o.metrics.retries.Add(ctx, 1, attributes)
		}
	case engine.EventPage:
		addEvent(job.span, e, pageKey.Int(e.Page), itemsKey.Int(e.Record.Count), bytesKey.Int(e.Record.Bytes))
		o.metrics.pages.Add(ctx, 1, attributes)
		o.metrics.items.Add(ctx, int64(e.Record.Count), attributes)
	case engine.EventFinding:
		addEvent(job.span, e, findingKey.String(e.Finding.ID), messageKey.String(e.Finding.Message))
		o.metrics.findings.Add(ctx, 1, attributes, metric.WithAttributes(findingKey.String(e.Finding.ID)))
	case engine.EventEnd:
		o.end(e, job.span)
	}
}

func addEvent(span trace.Span, e engine.Event, attributes ...attribute.KeyValue) {
	span.AddEvent(string(e.Kind), trace.WithTimestamp(e.Time), trace.WithAttributes(attributes...))
}

// open returns the job of an event, and begins its span with its first event.
func (o *Observer) open(ctx context.Context, e engine.Event) openJob {
	o.mu.Lock()
	defer o.mu.Unlock()
	id := idOf(e)
	job, ok := o.jobs[id]
	if !ok {
		job.ctx, job.span = o.tracer.Start(ctx, "stopwhen "+e.Job, trace.WithTimestamp(e.Time), trace.WithAttributes(jobKey.String(e.Job)))
		if e.Partition != "" {
			job.span.SetAttributes(valuesKey.String(e.Partition))
		}
		o.jobs[id] = job
	}
	return job
}

// request reports one HTTP request, after it was made.
func (o *Observer) request(ctx context.Context, e engine.Event) {
	x := e.Exchange
	attributes := []attribute.KeyValue{semconv.HTTPRequestMethodKey.String(x.Method)}
	if u, err := url.Parse(x.URL); err == nil {
		attributes = append(attributes, semconv.ServerAddress(u.Hostname()), semconv.ServerPort(port(u)))
	}
	failed := ""
	if x.Status > 0 {
		attributes = append(attributes, semconv.HTTPResponseStatusCode(x.Status))
		if x.Status >= 400 {
			failed = strconv.Itoa(x.Status)
		}
	}
	if x.Err != nil {
		failed = errorType(x.Err)
	}
	if failed != "" {
		attributes = append(attributes, semconv.ErrorTypeKey.String(failed))
	}
	o.metrics.duration.Record(ctx, x.Duration.Seconds(), metric.WithAttributes(attributes...))

	attributes = append(attributes, semconv.URLFull(x.URL), pageKey.Int(e.Page))
	if x.Attempt > 1 {
		attributes = append(attributes, semconv.HTTPRequestResendCount(x.Attempt-1))
	}
	_, span := o.tracer.Start(ctx, x.Method,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(x.Time), trace.WithAttributes(attributes...))
	if failed != "" {
		description := ""
		if x.Err != nil {
			description = x.Err.Error()
		}
		span.SetStatus(codes.Error, description)
	}
	span.End(trace.WithTimestamp(x.Time.Add(x.Duration)))
}

// end ends the span of a job.
func (o *Observer) end(e engine.Event, span trace.Span) {
	r := e.Result
	span.SetAttributes(
		outcomeKey.String(string(r.Outcome)), reasonKey.String(r.Reason), messageKey.String(r.Message),
		pagesKey.Int(r.Pages), itemsKey.Int(r.Items),
	)
	if e.Err != nil {
		span.SetAttributes(semconv.ErrorTypeKey.String(errorType(e.Err)))
		span.SetStatus(codes.Error, r.Message)
	}
	span.End(trace.WithTimestamp(e.Time))
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.jobs, idOf(e))
}

// errorType is the class of an error of a run.
func errorType(err error) string {
	if failed, ok := errors.AsType[*engine.Error](err); ok {
		return string(failed.Class)
	}
	return semconv.ErrorTypeOther.Value.AsString()
}

func port(u *url.URL) int {
	if p, err := strconv.Atoi(u.Port()); err == nil {
		return p
	}
	if u.Scheme == "https" {
		return 443
	}
	return 80
}
