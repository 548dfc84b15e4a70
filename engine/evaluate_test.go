package engine_test

import (
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// The configuration has a warning of its pagination, which each compilation of an expression finds again.
func TestAnEngineEvaluatesSeveralExpressionsAtOnce(t *testing.T) {
	e := load(t, []byte(`{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "pagenum"}},
		"config": {"jobs": [{"endpoint": "users", "pagination": {"method": "single"}}]}}`),
		engine.WithClock(instant{}), engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
			return respond(r, `[{"id": 7}]`)
		})))
	require.NotEmpty(t, e.Warnings())
	var running sync.WaitGroup
	for range 4 {
		running.Go(func() {
			found, err := e.Evaluate(t.Context(), "items[0].id + 1", trace.Place{Job: "users", Page: 1})
			if err != nil || found.Err != nil || found.Value != 8.0 && found.Value != 8 {
				t.Errorf("%v, %v", found, err)
			}
		})
	}
	running.Wait()
}
