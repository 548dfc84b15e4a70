package recording_test

import (
	"bytes"
	"context"
	"fmt"
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
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// TestAModelResemblesARecording records an API with a total that no rule reads. With it, the
// audit sees what the model of the rules alone cannot show.
func TestAModelResemblesARecording(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
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
	require.JSONEq(t, `{"data": [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}], "meta": {"total": 3}}`, string(samples.Pages["users"][0].Body))
	require.Len(t, samples.Pages["users"], 2)
	require.Equal(t, "GET "+api.URL+"/users?limit=2&offset=0", samples.Pages["users"][0].Request)
	require.Empty(t, samples.Missing)

	verdict := func(like stress.Recorded) stress.Verdict {
		report, err := e.Stress(t.Context(), stress.Options{Recording: like})
		require.NoError(t, err)
		for _, r := range report.Jobs[0].Rows {
			if r.Behaviour == "emptyPageInTheMiddle" {
				return r.Verdict
			}
		}
		return ""
	}
	require.Equal(t, stress.Silent, verdict(stress.Recorded{}))
	require.Equal(t, stress.Reported, verdict(samples), "the total exceeds the items that were read")
}

// TestPagesAfterTheEndOfTheRunContradictAModel has a rule that takes the number of items on a page for a
// total, and ends the list after the first page.
func TestPagesAfterTheEndOfTheRunContradictAModel(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
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
	require.Len(t, samples.Pages["users"], 3)
	require.Equal(t, []bool{false, true, true}, lists.Map(samples.Pages["users"], func(s stress.Sample) bool { return s.Other }),
		"the rules request the first page only")
	for name, like := range map[string]stress.Recorded{"not contradicted": {}, "contradicted": samples} {
		report, err := e.Stress(t.Context(), stress.Options{Recording: like})
		require.NoError(t, err)
		require.Equal(t, like.Pages == nil, slices.Contains(report.Jobs[0].Model, "body.n is the number of items in the list."), name)
		require.Equal(t, like.Pages != nil, strings.Contains(report.Jobs[0].Unknown, "it is not clear what body.n means"), "%s: %v", name, report.Jobs[0])
	}
}

// TestSamplesEndAtAMissingBody: a page after it would be in the wrong place, whether the rules request it or not.
func TestSamplesEndAtAMissingBody(t *testing.T) {
	for _, method := range []string{"pagenum", "single"} {
		e, err := engine.Load("config.json", fmt.Appendf(nil, `{"api": {"baseUrl": "https://api.example.com/",
			"pagination": {"method": %q}}, "config": {"jobs": [{"endpoint": "users", "params": {"page": 1}}]}}`, method))
		require.NoError(t, err)
		var r recording.Recording
		for i, body := range []string{`[{"id": 1}, {"id": 2}]`, "", `[{"id": 5}, {"id": 6}]`} {
			r.Exchanges = append(r.Exchanges, recording.Exchange{
				Method: "GET", URL: fmt.Sprintf("https://api.example.com/users?page=%d", i+1), Status: 200, ResponseBody: []byte(body),
				Started: time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC), BodyMissing: body == "",
			})
		}
		r.Exchanges[1].Error = "the recording does not have the body of this response"
		samples := recording.Samples(t.Context(), e, &r)
		require.Len(t, samples.Pages["users"], 1, "%s: %v", method, samples)
	}
}

// TestSamplesSayWhyAJobHasNone has a recording for each reason.
func TestSamplesSayWhyAJobHasNone(t *testing.T) {
	const config = `{"inputs": {%s}, "api": {"baseUrl": "https://api.example.com/", "pagination": {"method": "offset", "limit": 2}},
		"config": {"jobs": [{"endpoint": "users", "dataField": "data"},
			{"id": "posts", "endpoint": "users/{user.id}/posts", "for": {"user": {"items": "users"}}}]}}`
	const first = "GET https://api.example.com/users?limit=2&offset=0"
	page := func(address string, status int, body string) recording.Exchange {
		return recording.Exchange{Method: "GET", URL: address, Status: status, ResponseBody: []byte(body),
			ResponseHeader: http.Header{"Content-Type": {"application/json"}}, Started: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	}
	broken := page("https://api.example.com/users?limit=2&offset=0", 0, "")
	broken.Error = "connection reset"
	bare := page("https://api.example.com/users?limit=2&offset=0", 200, "")
	bare.BodyMissing, bare.Error = true, "the recording does not have the body of this response"
	for _, tt := range []struct {
		name, inputs string
		exchange     recording.Exchange
		users, posts string // empty if there are pages
	}{
		{
			"another request", "", page("https://api.example.com/users?limit=5&offset=0", 200, `{"data": []}`),
			"it does not have the request " + first +
				"; the nearest recorded request is GET https://api.example.com/users?limit=5&offset=0, where limit is 5",
			"its first request was not made: ",
		},
		{"a status", "", page("https://api.example.com/users?limit=2&offset=0", 404, "{}"), first + " was answered with status 404", "its first request was not made: "},
		{"an error", "", broken, first + " failed: connection reset", "its first request was not made: "},
		{"a missing body", "", bare, first + ": the recording does not have the body of this response", "its first request was not made: "},
		{"an empty body", "", page("https://api.example.com/users?limit=2&offset=0", 200, ""), first + " was answered without a body", "its first request was not made: "},
		{
			"a large body", "", page("https://api.example.com/users?limit=2&offset=0", 200, `{"data": []`+strings.Repeat(" ", 1<<20)+`}`),
			"the response to " + first + " is larger than 1.0 MB", "the pages of the other jobs lead to no request of it",
		},
		{"no parent", "", page("https://api.example.com/users?limit=2&offset=0", 200, `{"data": []}`), "", "the pages of the other jobs lead to no request of it"},
		{
			"no child", "", page("https://api.example.com/users?limit=2&offset=0", 200, `{"data": [{"id": 7}]}`), "",
			"it does not have the request GET https://api.example.com/users/7/posts?limit=2&offset=0; the nearest recorded request is " + first +
				", where the path is /users",
		},
		{
			"an input without a value", `"tenant": {}`, page("https://api.example.com/users?limit=2&offset=0", 200, `{"data": []}`),
			"its first request was not made: ", "its first request was not made: ",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e, err := engine.Load("config.json", fmt.Appendf(nil, config, tt.inputs))
			require.NoError(t, err)
			got := recording.Samples(t.Context(), e, &recording.Recording{Exchanges: []recording.Exchange{tt.exchange}})
			for job, why := range map[string]string{"users": tt.users, "posts": tt.posts} {
				require.Equal(t, why == "", len(got.Pages[job]) > 0, job)
				if strings.HasSuffix(why, ": ") { // the error of the run follows
					require.Greater(t, len(got.Missing[job]), len(why))
					require.Equal(t, why, got.Missing[job][:len(why)])
				} else {
					require.Equal(t, why, got.Missing[job])
				}
			}
		})
	}
}
