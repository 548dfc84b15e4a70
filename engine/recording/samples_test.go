package recording_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/engine/stress"
)

// TestAModelResemblesARecording records an API with a total that no rule reads. With it, the
// audit sees what the model of the rules alone cannot show.
func TestAModelResemblesARecording(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("offset") == "0" {
			_, _ = w.Write([]byte(`{"data": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "meta": {"total": 3}}`))
			return
		}
		_, _ = w.Write([]byte(`{"data": [{"id": 3, "name": "c"}], "meta": {"total": 3}}`))
	}))
	defer api.Close()
	e, err := engine.New(config.Config{
		BaseURL: api.URL, Pagination: config.Pagination{Method: config.Offset{}, Limit: 2}, Jobs: []config.Job{{ID: "users", Endpoint: "users", DataField: "data"}},
	})
	require.NoError(t, err)
	var tape bytes.Buffer
	recorder := recording.NewRecorder(&tape, recording.Options{Redactor: e.Redactor()})
	_, err = e.With(engine.WithTransport(recorder)).Run(t.Context(), func(context.Context, *engine.Page) error { return nil })
	require.NoError(t, err)
	require.NoError(t, recorder.Close())
	played, err := recording.Read(&tape)
	require.NoError(t, err)

	samples := recording.Samples(t.Context(), e, played)
	require.JSONEq(t, `{"data": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "meta": {"total": 3}}`, string(samples["users"][0].Body))
	require.Len(t, samples["users"], 2)

	verdict := func(like map[string][]stress.Sample) stress.Verdict {
		report, err := e.Stress(t.Context(), stress.Options{Like: like})
		require.NoError(t, err)
		for _, r := range report.Jobs[0].Rows {
			if r.Behaviour == "emptyPageInTheMiddle" {
				return r.Verdict
			}
		}
		return ""
	}
	require.Equal(t, stress.Silent, verdict(nil))
	require.Equal(t, stress.Reported, verdict(samples), "the total exceeds the items that were read")
}

// TestPagesAfterTheEndOfTheRunContradictAModel has a rule that takes the number of items on a page for a
// total, and ends the list after the first page.
func TestPagesAfterTheEndOfTheRunContradictAModel(t *testing.T) {
	e, err := engine.Load("config.json", []byte(`{"api": {"baseUrl": "https://api.example.com/", "pagination": {
		"method": "offset", "limit": 2, "stopRules": ["total.items >= body.n"]}},
		"config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`))
	require.NoError(t, err)
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	page := func(i int, query, body string) recording.Exchange {
		return recording.Exchange{Method: "GET", URL: "https://api.example.com/users?" + query, Status: 200,
			ResponseHeader: http.Header{"Content-Type": {"application/json"}}, ResponseBody: []byte(body), Started: began.Add(time.Duration(i) * time.Second)}
	}
	tape := &recording.Recording{Exchanges: []recording.Exchange{
		page(0, "limit=2&offset=0", `{"data": [{"id": 1}, {"id": 2}], "n": 2}`),
		page(1, "limit=2&offset=2", `{"data": [{"id": 3}, {"id": 4}], "n": 2}`),
		page(2, "limit=2&offset=0&role=admin", `{"data": [{"id": 3}], "n": 1}`), // it is of another list
		page(3, "limit=2&offset=4", `{"data": [{"id": 5}], "n": 1}`),
	}}
	samples := recording.Samples(t.Context(), e, tape)
	require.Len(t, samples["users"], 3)
	for name, like := range map[string]map[string][]stress.Sample{"not contradicted": nil, "contradicted": samples} {
		report, err := e.Stress(t.Context(), stress.Options{Like: like})
		require.NoError(t, err)
		require.Equal(t, like == nil, slices.Contains(report.Jobs[0].Model, "body.n is the number of items in the list."), name)
		require.Equal(t, like != nil, strings.Contains(report.Jobs[0].Unknown, "it is not clear what body.n means"), "%s: %v", name, report.Jobs[0])
	}
}
