package session_test

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/workbench"
	"github.com/stopwhen/stopwhen/engine/workbench/session"
	"github.com/stopwhen/stopwhen/fixtures"
)

// A page makes calls, and keeps the configuration and the recording that it shows.
type page struct {
	t *testing.T
	*session.Session
	about map[string]any
}

func newPage(t *testing.T) *page {
	t.Helper()
	return &page{t, session.New(workbench.New(), session.Live(http.DefaultTransport)), map[string]any{}}
}

// open shows a configuration.
func (p *page) open(c *session.OpenedCase) {
	p.about = map[string]any{"name": c.Name, "text": c.Text, "recording": c.Recording.ID, "case": c.Case}
}

// edit replaces a part of the text.
func (p *page) edit(old, text string) {
	p.t.Helper()
	require.Contains(p.t, p.about["text"], old)
	p.about["text"] = strings.Replace(p.about["text"].(string), old, text, 1)
}

// try makes a call about the configuration, with more arguments.
func (p *page) try(method string, more map[string]any, into any) error {
	p.t.Helper()
	params := maps.Clone(p.about)
	maps.Copy(params, more)
	encoded, err := json.Marshal(params)
	require.NoError(p.t, err)
	result, err := p.Call(p.t.Context(), method, encoded)
	if err != nil {
		return err
	}
	text, err := json.Marshal(result)
	require.NoError(p.t, err)
	require.NoError(p.t, json.Unmarshal(text, into))
	return nil
}

func (p *page) call(method string, more map[string]any, into any) {
	p.t.Helper()
	require.NoError(p.t, p.try(method, more, into))
}

// A run is what the page shows of a run.
type run struct {
	ID    string
	Pages []struct {
		Number, Page, Count int
		Decision            string
		Met                 []struct{ Rule, Because string }
		Verdicts            []any
		Items               []any
	}
	Jobs []struct {
		Job, Outcome, Reason string
		Items, Pages         int
		Findings             []struct{ ID, Weight string }
	}
	Played struct {
		Unplayed []string
		Missing  string
	}
	More bool
}

func TestAnEditShowsWhereTheListEndsNow(t *testing.T) {
	p := newPage(t)
	example, err := p.OpenExample(t.Context())
	require.NoError(t, err)
	p.open(example)
	require.Equal(t, 5, example.Recording.Exchanges)

	var before run
	p.call("replay", nil, &before)
	require.Equal(t, 1, before.Jobs[0].Pages)
	require.Equal(t, "nextPageFlag", before.Jobs[0].Reason)
	require.Len(t, before.Played.Unplayed, 4)
	require.Equal(t, "nextPageFlag", before.Pages[0].Met[0].Rule)
	require.Equal(t, "audit.missing", before.Jobs[0].Findings[1].ID)
	require.Equal(t, "evidence", before.Jobs[0].Findings[1].Weight)
	var left struct{ URL, Body string }
	p.call("unplayed", map[string]any{"run": before.ID, "number": 4}, &left)
	require.Contains(t, left.URL, "offset=40")
	require.Contains(t, left.Body, `"isLast": true`, "the last page shows what ends the list")

	p.edit("stopOn: true", "stopOn: true, ifNotSet: false")
	var after run
	p.call("replay", nil, &after)
	require.Equal(t, 5, after.Jobs[0].Pages)
	require.Equal(t, 43, after.Jobs[0].Items)
	require.Empty(t, after.Jobs[0].Findings)
	require.Empty(t, after.Played.Unplayed)
	require.Nil(t, after.Pages[0].Verdicts, "a page asks for these when it shows them")
	require.Nil(t, after.Pages[0].Items)

	var detail struct {
		Page struct {
			Verdicts []struct{ Rule string }
		}
		Response struct{ Body string }
		Guards   []string
	}
	p.call("page", map[string]any{"run": after.ID, "number": 5}, &detail)
	require.Contains(t, detail.Response.Body, `"Dorothy"`)
	require.Contains(t, detail.Guards, "samePage")
	require.NotContains(t, detail.Guards, "offset.short")
	p.call("page", map[string]any{"run": before.ID, "number": 1}, &detail)
	require.Contains(t, detail.Response.Body, `"Ada"`, "an earlier run can still be asked about")
}

func TestARecordingThatDoesNotFitSaysWhere(t *testing.T) {
	p := newPage(t)
	example, err := p.OpenExample(t.Context())
	require.NoError(t, err)
	p.open(example)
	p.edit("limit: 10", "limit: 20")
	var r run
	p.call("replay", nil, &r)
	require.Equal(t, "GET http://127.0.0.1:8080/v1/orders?limit=20&offset=0", r.Played.Missing)

	p.edit("8080", "9090")
	p.call("replay", nil, &r)
	require.Contains(t, r.Played.Missing, "9090")
}

func TestARunAsksAndRecords(t *testing.T) {
	requests := 0
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		_, _ = w.Write([]byte(`[{"id": ` + strings.Repeat("1", requests) + `}]`))
	}))
	defer api.Close()
	p := newPage(t)
	text := "api: {baseUrl: " + api.URL + "/, pagination: {method: pagenum}}\nconfig: {jobs: [{endpoint: users}]}\n"
	p.about = map[string]any{"name": "users.yml", "text": text}
	var made struct {
		Run       run
		Recording session.Recording
	}
	p.call("run", map[string]any{"limits": map[string]any{"pages": 3}}, &made)
	require.True(t, made.Run.More)
	require.Equal(t, 3, requests)
	require.Equal(t, "users.har", made.Recording.Name)

	p.about["recording"] = made.Recording.ID
	p.edit("method: pagenum", `method: pagenum, forceStop: {pages: 2}`)
	var r run
	p.call("replay", nil, &r)
	require.Equal(t, "forceStop.pages", r.Jobs[0].Reason)
	require.Equal(t, 3, requests, "an edit makes no request")

	api.Close()
	p.call("run", map[string]any{"limits": map[string]any{"pages": 1}}, &made)
	require.Equal(t, "failed", made.Run.Jobs[0].Outcome, "a dead API is a result")
}

func TestACaseAnswersARunInTheProcess(t *testing.T) {
	p := newPage(t)
	example, err := p.OpenExample(t.Context())
	require.NoError(t, err)
	p.open(example)
	p.edit("stopOn: true", "stopOn: true, ifNotSet: false")
	var made struct {
		Run       run
		Recording session.Recording
	}
	p.call("run", nil, &made)
	require.Equal(t, 43, made.Run.Jobs[0].Items)
	require.Equal(t, 5, made.Recording.Exchanges)
}

func TestWithoutAnAPIARunSaysWhatToDo(t *testing.T) {
	p := newPage(t)
	p.Session = session.New(workbench.New(), nil)
	p.about = map[string]any{"name": "a.json", "text": "{}"}
	err := p.try("run", nil, nil)
	failed, ok := errors.AsType[*workbench.Error](err)
	require.True(t, ok)
	require.Equal(t, "this page makes no requests", failed.Message)
}

func TestFixesAndTestsAreChangesOfTheText(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	p := newPage(t)
	opened, err := p.OpenCase(t.Context(), "zoo/24-google-drive")
	require.NoError(t, err)
	p.open(opened)
	p.about["recording"] = "" // the model is that of the rules alone
	var report struct {
		Jobs []struct {
			Rows []struct {
				Behaviour, Verdict string
				Fix                *struct{ Changes []any }
			}
		}
	}
	p.call("stress", nil, &report)
	fixed := ""
	for _, row := range report.Jobs[0].Rows {
		if row.Verdict == "SILENT" && row.Fix != nil && row.Fix.Changes != nil {
			fixed = row.Behaviour
		}
	}
	require.NotEmpty(t, fixed)
	var changed struct{ Text string }
	p.call("mend", map[string]any{"fixes": []string{fixed}}, &changed)
	p.about["text"] = changed.Text
	p.call("stress", nil, &report)
	for _, row := range report.Jobs[0].Rows {
		require.False(t, row.Behaviour == fixed && row.Verdict == "SILENT")
	}

	p.call("sampleTest", nil, &changed)
	p.about["text"] = changed.Text
	var tests struct{ Tests []struct{ OK bool } }
	p.call("tests", nil, &tests)
	require.Len(t, tests.Tests, 1)
	require.True(t, tests.Tests[0].OK)
}

func TestItemsAreATable(t *testing.T) {
	p := newPage(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`[{"id": 12345678901234567890, "name": "a\"b"}, {"tags": ["x"], "name": null}, "alone"]`))
	}))
	defer server.Close()
	text := `{"api": {"baseUrl": "` + server.URL + `/"}, "config": {"jobs": [{"endpoint": "users"}]}}`
	p.about = map[string]any{"name": "users.json", "text": text}
	var made struct{ Run run }
	p.call("run", nil, &made)
	var table struct {
		Columns []string
		Rows    [][]string
		Count   int
	}
	p.call("items", map[string]any{"run": made.Run.ID, "job": made.Run.Jobs[0].Job}, &table)
	require.Equal(t, []string{"id", "name", "tags", ""}, table.Columns)
	require.Equal(t, [][]string{{"12345678901234567890", `a"b`, "", ""}, {"", "null", `["x"]`, ""}, {"", "", "", "alone"}}, table.Rows)
}

func TestCallsWithUnknownNamesAreErrors(t *testing.T) {
	p := newPage(t)
	for method, more := range map[string]map[string]any{
		"nothing": {}, "replay": {"recording": "recording-7"}, "page": {"run": "run-1", "number": 1}, "items": {"run": "../run-1"},
		"case": {"case": "demo/nothing"}, "record": {"name": "a.har", "archive": "<script>"},
	} {
		require.Error(t, p.try(method, more, nil), method)
	}
	_, err := p.Call(t.Context(), "replay", json.RawMessage("["))
	require.ErrorContains(t, err, "malformed")
}

func TestCallsTakeAndReturnJSON(t *testing.T) {
	p := newPage(t)
	p.about = map[string]any{"name": "users.json",
		"text": `{"api": {"baseUrl": "https://api.example.com/"}, "config": {"jobs": [{"endpoint": "users", "limt": 2}]}}`}
	var found []workbench.Diagnostic
	p.call("diagnostics", nil, &found)
	require.Contains(t, found[0].Message, `unknown key "limt"`)
	require.ErrorContains(t, p.try("explain", map[string]any{"width": 80}, nil), "the configuration has a mistake")
	require.ErrorContains(t, p.try("diagnostic", nil, nil), "unknown call")
	for _, name := range session.Calls() {
		var result any
		_ = p.try(name, map[string]any{"at": map[string]any{"line": -1, "character": 1_000_000}}, &result)
		_ = p.try(name, map[string]any{"text": ""}, &result)
	}
}

func TestALinkHasNoSecrets(t *testing.T) {
	p := newPage(t)
	var changed struct{ Text string }
	p.about = map[string]any{"name": "a.json", "text": `{"api": {"baseUrl": "https://a.example.com/"},
  "config": {"jobs": [{"endpoint": "a", "params": {"#key": "the-secret"}}]}}`}
	p.call("withoutSecrets", nil, &changed)
	require.Equal(t, strings.Replace(p.about["text"].(string), "the-secret", "***", 1), changed.Text)
}
