package otelstopwhen_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/engine/otelstopwhen"
)

// One observer serves all engines and runs of a program. Without options it uses
// the global providers.
func Example() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data": [1]}`) }))
	defer api.Close()
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	c := config.Config{
		BaseURL: api.URL, Pagination: config.Pagination{Method: config.Offset{}, Limit: 2},
		Jobs: []config.Job{{Endpoint: "users", DataField: "data"}},
	}

	observer, err := otelstopwhen.New(otelstopwhen.WithTracerProvider(provider))
	if err != nil {
		panic(err)
	}
	e, err := engine.New(c, engine.WithObserver(observer))
	if err != nil {
		panic(err)
	}

	if _, err := e.Run(context.Background(), func(context.Context, *engine.Page) error { return nil }); err != nil {
		panic(err)
	}
	for _, span := range spans.GetSpans() {
		fmt.Println(span.Name)
	}
	// Output:
	// GET
	// stopwhen users
}
