package otelstopwhen_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/engine/otelstopwhen"
)

// telemetry is an observer whose reports can be read.
type telemetry struct {
	observer *otelstopwhen.Observer
	tracers  *sdktrace.TracerProvider
	spans    *tracetest.InMemoryExporter
	metrics  *sdkmetric.ManualReader
}

func newTelemetry(t *testing.T) telemetry {
	t.Helper()
	out := telemetry{spans: tracetest.NewInMemoryExporter(), metrics: sdkmetric.NewManualReader()}
	out.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(out.spans))
	var err error
	out.observer, err = otelstopwhen.New(otelstopwhen.WithTracerProvider(out.tracers),
		otelstopwhen.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(out.metrics))))
	require.NoError(t, err)
	return out
}

// value is the sum of a counter, or the count of a histogram.
func (t telemetry) value(test *testing.T, name string) float64 {
	test.Helper()
	var collected metricdata.ResourceMetrics
	require.NoError(test, t.metrics.Collect(context.Background(), &collected))
	sum := 0.0
	for _, scope := range collected.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != name {
				continue
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, point := range data.DataPoints {
					sum += float64(point.Value)
				}
			case metricdata.Sum[float64]:
				for _, point := range data.DataPoints {
					sum += point.Value
				}
			case metricdata.Histogram[float64]:
				for _, point := range data.DataPoints {
					sum += float64(point.Count)
				}
			}
		}
	}
	return sum
}

func attributes(span tracetest.SpanStub) map[string]any {
	out := map[string]any{}
	for _, a := range span.Attributes {
		out[string(a.Key)] = a.Value.AsInterface()
	}
	return out
}

func users(api string) *engine.Engine {
	e, err := engine.New(config.Config{
		BaseURL: api, Pagination: config.Pagination{Method: config.Offset{}, Limit: 2}, HTTP: config.HTTP{MaxRetries: new(0)},
		Jobs: []config.Job{{Endpoint: "users", DataField: "data"}},
	})
	if err != nil {
		panic(err)
	}
	return e
}

func TestARunIsASpanWithItsRequestsBelow(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, map[string]string{"0": `{"data":[1,2],"total":9}`, "2": `{"data":[3],"total":9}`}[r.URL.Query().Get("offset")])
	}))
	defer api.Close()
	telemetry := newTelemetry(t)
	ctx, parent := telemetry.tracers.Tracer("test").Start(t.Context(), "parent")
	_, err := users(api.URL).With(engine.WithObserver(telemetry.observer), engine.WithAccept(engine.JobResult.Ended)).
		Run(ctx, func(context.Context, *engine.Page) error { return nil })
	require.NoError(t, err)

	spans := telemetry.spans.GetSpans()
	require.Len(t, spans, 3)
	job := spans[2]
	require.Equal(t, "stopwhen users", job.Name)
	require.Equal(t, parent.SpanContext().SpanID(), job.Parent.SpanID())
	require.Equal(t, codes.Unset, job.Status.Code)
	require.Subset(t, attributes(job), map[string]any{"stopwhen.outcome": "complete", "stopwhen.reason": "offset.short", "stopwhen.pages": int64(2), "stopwhen.items": int64(3)})
	var events []string
	for _, e := range job.Events {
		events = append(events, e.Name)
	}
	require.Equal(t, []string{"page", "finding", "page"}, events)

	at, err := url.Parse(api.URL)
	require.NoError(t, err)
	port, err := strconv.Atoi(at.Port())
	require.NoError(t, err)
	request := spans[1]
	require.Equal(t, "GET", request.Name)
	require.Equal(t, trace.SpanKindClient, request.SpanKind)
	require.Equal(t, job.SpanContext.SpanID(), request.Parent.SpanID())
	require.False(t, request.EndTime.Before(request.StartTime))
	require.Equal(t, map[string]any{
		"http.request.method": "GET", "server.address": at.Hostname(), "server.port": int64(port), "http.response.status_code": int64(200),
		"url.full": api.URL + "/users?limit=2&offset=2", "stopwhen.page": int64(2),
	}, attributes(request))

	require.InDelta(t, 2, telemetry.value(t, "http.client.request.duration"), 0)
	require.InDelta(t, 2, telemetry.value(t, "stopwhen.pages"), 0)
	require.InDelta(t, 3, telemetry.value(t, "stopwhen.items"), 0)
	require.InDelta(t, 1, telemetry.value(t, "stopwhen.findings"), 0)
}

func TestAFailedRequestIsAnError(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer api.Close()
	telemetry := newTelemetry(t)
	_, err := users(api.URL).With(engine.WithObserver(telemetry.observer)).Run(t.Context(), func(context.Context, *engine.Page) error { return nil })
	require.ErrorIs(t, err, engine.ErrAPI)
	spans := telemetry.spans.GetSpans()
	require.Len(t, spans, 2)
	require.Equal(t, codes.Error, spans[0].Status.Code)
	require.Equal(t, "403", attributes(spans[0])["error.type"])
	require.Equal(t, codes.Error, spans[1].Status.Code)
	require.Equal(t, "api", attributes(spans[1])["error.type"])
}

func TestConcurrentRunsOfOneEngineHaveSpansOfTheirOwn(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data":[]}`) }))
	defer api.Close()
	telemetry := newTelemetry(t)
	e := users(api.URL).With(engine.WithObserver(telemetry.observer))
	done := make(chan error)
	const runs = 5
	for range runs {
		go func() {
			_, err := e.Run(t.Context(), func(context.Context, *engine.Page) error { return nil })
			done <- err
		}()
	}
	for range runs {
		require.NoError(t, <-done)
	}
	jobs := 0
	for _, span := range telemetry.spans.GetSpans() {
		if span.Name == "stopwhen users" {
			jobs++
			require.Contains(t, span.Attributes, attribute.String("stopwhen.outcome", "complete"))
		}
	}
	require.Equal(t, runs, jobs)
}

func TestPartitionsThatRunAtTheSameTimeHaveSpansOfTheirOwn(t *testing.T) {
	var arrived sync.WaitGroup
	arrived.Add(2)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("offset") == "0" { // both partitions have begun
			arrived.Done()
			arrived.Wait()
			fmt.Fprint(w, `{"data":[1,2]}`)
			return
		}
		fmt.Fprint(w, `{"data":[3]}`)
	}))
	defer api.Close()
	telemetry := newTelemetry(t)
	e, err := engine.Load("c.json", fmt.Appendf(nil, `{"api": {"baseUrl": %q, "pagination": {"method": "offset", "limit": 2}},
		"config": {"jobs": [{"endpoint": "users", "dataField": "data", "for": {"team": {"values": ["a", "b"]}}, "params": {"team": {"expr": "team"}}}]}}`,
		api.URL+"/"), engine.WithObserver(telemetry.observer), engine.WithParallelJobs(2))
	require.NoError(t, err)
	_, err = e.Run(t.Context(), func(context.Context, *engine.Page) error { return nil })
	require.NoError(t, err)
	teams, requests := map[trace.SpanID]string{}, map[string]int{}
	for _, span := range telemetry.spans.GetSpans() {
		if of, is := attributes(span)["stopwhen.partition"].(string); is {
			teams[span.SpanContext.SpanID()] = of
		}
	}
	for _, span := range telemetry.spans.GetSpans() {
		if address, is := attributes(span)["url.full"].(string); is {
			sent, err := url.Parse(address)
			require.NoError(t, err)
			require.Equal(t, "team="+sent.Query().Get("team"), teams[span.Parent.SpanID()])
			requests[teams[span.Parent.SpanID()]]++
		}
	}
	require.Equal(t, map[string]int{"team=a": 2, "team=b": 2}, requests)
}

func TestSecretsAreNotReported(t *testing.T) {
	const secret = "7f3aMARK/é"
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page") == "2" {
			w.WriteHeader(http.StatusForbidden)
		}
		fmt.Fprintf(w, `{"data": [1], "next": "users?page=2&echo=%s"}`, url.QueryEscape(secret))
	}))
	defer api.Close()
	out := newTelemetry(t)
	e, err := engine.Load("c.json", fmt.Appendf(nil, `{"api": {"baseUrl": "http://u:%s@%s/", "pagination": {"method": "response.url", "urlKey": "next"}},
		"config": {"jobs": [{"endpoint": "users", "dataField": "data", "params": {"#key": %q}}]}}`,
		url.QueryEscape(secret), api.Listener.Addr(), secret), engine.WithObserver(out.observer))
	require.NoError(t, err)
	_, err = e.Run(t.Context(), func(context.Context, *engine.Page) error { return nil })
	require.ErrorIs(t, err, engine.ErrAPI)
	reported := fmt.Sprintf("%+v", out.spans.GetSpans())
	require.Contains(t, reported, "***")
	require.NotContains(t, reported, "7f3aMARK")
}
