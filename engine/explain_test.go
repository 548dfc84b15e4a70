package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/explain"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// golden compares a text with a file that -update rewrites.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestExplainOfAConfigurationThatUsesEveryOption(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	e, err := engine.LoadFile("testdata/everything.json")
	require.NoError(t, err)
	explanation := e.Explain()
	golden(t, "testdata/everything.explain.txt", explanation.String())
	text, err := json.MarshalIndent(explanation, "", "  ")
	require.NoError(t, err)
	golden(t, "testdata/everything.explain.json", string(text)+"\n")
	golden(t, "testdata/everything.explain.mmd", explanation.Mermaid())
	require.NotContains(t, explanation.String()+string(text)+explanation.Mermaid(), "never-printed")
}

// explainedRun is what a case did, and what explain says about it.
type explainedRun struct {
	explanation *explain.Explanation
	result      *engine.Result
	pages       map[string][]engine.Record // by job
	neutral     func(string) string
	err         error
}

// explainedRuns has the cases that were explained, by name, since several tests look at them. The configuration
// of a nil run is invalid.
var explainedRuns = map[string]*explainedRun{}

// explainAndRun explains a case, and then runs it. It reports false if its configuration
// is invalid.
func explainAndRun(t *testing.T, c *fixtures.Case) (*explainedRun, bool) {
	t.Helper()
	run, known := explainedRuns[c.Name]
	if known {
		return run, run != nil
	}
	server := fixtures.Play(c)
	if e, err := loadCase(c, server, &strings.Builder{}); err == nil {
		run = &explainedRun{explanation: e.Explain(), pages: map[string][]engine.Record{}, neutral: server.Neutral}
		e = e.With(engine.WithTransport(transport.Negotiated(server)))
		run.result, run.err = e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
			run.pages[page.Job] = append(run.pages[page.Job], page.Record)
			return nil
		})
	}
	explainedRuns[c.Name] = run
	return run, run != nil
}

// TestExplainHasTheRuleThatEndsEveryCase requires the id of every rule that ended a job, or
// failed the run, to be in each form of explain.
func TestExplainHasTheRuleThatEndsEveryCase(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	ends := map[string]int{}
	for _, c := range allCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			run, ok := explainAndRun(t, c)
			if !ok {
				return
			}
			deciding := decidingRules(run)
			for _, id := range deciding {
				ends[id]++
			}
			requireIDs(t, run.explanation, deciding)
			requireMeaning(t, run)
		})
	}
	for _, id := range []string{"end", "nextRequest", "onError[0]", "samePage", "repeatedExchange", "sameItems", "maxPages", "stopRules[0]"} {
		require.NotZero(t, ends[id], "no case ends by %s", id)
	}
}

// requireMeaning requires the outcome of every list, and the exit status of a run that a rule has
// failed, to be those that explain tells of the rule.
func requireMeaning(t *testing.T, run *explainedRun) {
	t.Helper()
	rule := func(job, id string) (found explain.RuleExplanation, ok bool) {
		for _, x := range run.explanation.Jobs {
			for _, r := range x.Stops {
				if x.Job == job && r.ID == id {
					return r, true
				}
			}
		}
		return explain.RuleExplanation{}, false
	}
	for _, job := range run.result.Jobs {
		if r, ok := rule(job.Job, job.Reason); ok && job.Outcome != rules.Failed {
			require.Equal(t, job.Outcome, r.Outcome, job.Reason)
		}
	}
	if failed, ok := errors.AsType[*engine.Error](run.err); ok {
		if r, ok := rule(failed.Job, strings.TrimPrefix(failed.Op, "rule ")); ok && r.Outcome == rules.Failed {
			require.Equal(t, failure.ExitStatus(run.err), r.Status, r.ID)
		}
	}
}

// decidingRules returns the ids of the rules that ended the jobs of a run, and of the rule
// that failed it.
func decidingRules(run *explainedRun) []string {
	var ids []string
	for _, job := range run.result.Jobs {
		ids = append(ids, job.StoppedBy...)
	}
	if failed, ok := errors.AsType[*engine.Error](run.err); ok {
		if id, ok := strings.CutPrefix(failed.Op, "rule "); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func requireIDs(t *testing.T, x *explain.Explanation, ids []string) {
	t.Helper()
	if len(ids) == 0 {
		return
	}
	text, narrow, diagram := x.String(), x.Text(explain.TextOptions{Width: 40, Full: true}), x.Mermaid()
	document, err := json.Marshal(x)
	require.NoError(t, err)
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		word := regexp.MustCompile(`(^|[^\w.])` + regexp.QuoteMeta(id) + `($|[^\w])`)
		require.Regexp(t, word, text, "text")
		require.Regexp(t, word, narrow, "text")
		if !isComputed(x, id) { // a diagram has the values of requests, and not their rules
			require.Regexp(t, word, diagram, "Mermaid")
		}
		quoted, _ := json.Marshal(id)
		require.Contains(t, string(document), `"id":`+string(quoted), "JSON")
	}
}

func isComputed(x *explain.Explanation, id string) bool {
	return slices.ContainsFunc(x.Jobs, func(j explain.JobExplanation) bool {
		return slices.ContainsFunc(j.Computed, func(r explain.RuleExplanation) bool { return r.ID == id })
	})
}

// TestExplainShowsTheFirstTwoRequestsOfEveryCase compares the requests that explain shows
// with those that the run makes. A phrase in braces is for what the response decides.
func TestExplainShowsTheFirstTwoRequestsOfEveryCase(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	second, concrete := 0, 0
	for _, c := range allCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			run, ok := explainAndRun(t, c)
			if !ok {
				return
			}
			for _, job := range run.explanation.Jobs {
				pages := run.pages[job.Job]
				if first := job.First; len(pages) > 0 {
					if c.Kept != nil && job.FirstKept != nil { // keepFor: the values depend on the partition
						first = *job.FirstKept
					}
					requireRequest(t, run, first, pages[0].Request)
				}
				if len(pages) > 1 && pages[1].Page == 1 { // of the next partition
					continue
				}
				if len(pages) < 2 || slices.ContainsFunc(job.OnError, func(r explain.RuleExplanation) bool { return r.MaxRestarts > 0 }) {
					continue
				}
				second++
				require.NotNil(t, job.Second, "explain shows no second request, but one is made: %s", pages[1].Request.URL)
				if !strings.ContainsAny(job.Second.URL, "{}") {
					concrete++
				}
				requireRequest(t, run, *job.Second, pages[1].Request)
			}
		})
	}
	require.Greater(t, second, 250)
	require.Greater(t, concrete, 100)
}

var (
	phrase    = regexp.MustCompile(`\\\{.*?\\\}`)            // in a quoted address
	queryPart = regexp.MustCompile(`(=|[?&])\\\{|\\\} and `) // a phrase decides about the query
)

// requireRequest requires an address to be the one that was shown. If a phrase decides about
// its query, only what is before the query is compared, since a value that is missing is left
// out, an object becomes several parameters, and a query overrides parameters.
func requireRequest(t *testing.T, run *explainedRun, shown explain.RequestExplanation, sent trace.Request) {
	t.Helper()
	require.Equal(t, sent.Method, shown.Method)
	want := regexp.QuoteMeta(run.neutral(shown.URL))
	if queryPart.MatchString(want) {
		want = regexp.MustCompile(`(\\\?| and ).*`).ReplaceAllString(want, ".*")
	} else { // a trace hides what explain shows, since it is in the configuration
		want = regexp.QuoteMeta(redact.Parameters(run.neutral(shown.URL)))
	}
	require.Regexp(t, "^"+phrase.ReplaceAllString(want, ".*")+"$", run.neutral(sent.URL))
	requireBody(t, run.neutral(shown.Body), run.neutral(string(sent.Body)))
}

// requireBody requires a body to be the one that was shown, in which a phrase may be any value.
// The body of a form is a JSON string.
func requireBody(t *testing.T, shown, sent string) {
	t.Helper()
	form := ""
	switch {
	case sent == "":
		require.Empty(t, shown)
		return
	case json.Unmarshal([]byte(sent), &form) == nil:
		require.Regexp(t, "^"+phrase.ReplaceAllString(regexp.QuoteMeta(shown), ".*")+"$", form)
		return
	}
	var want, got any
	require.NoError(t, json.Unmarshal([]byte(shown), &want), "%s", shown)
	require.NoError(t, json.Unmarshal([]byte(sent), &got), "%s", sent)
	require.Equal(t, got, filled(want, got))
}

// filled returns a value with the values of another in place of its phrases.
func filled(v, from any) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "{") && strings.HasSuffix(v, "}") {
			return from
		}
	case []any:
		if list, ok := from.([]any); ok && len(list) == len(v) {
			for i := range v {
				v[i] = filled(v[i], list[i])
			}
		}
	case map[string]any:
		object, _ := from.(map[string]any)
		for name := range v {
			if _, has := object[name]; !has && mayBeNil(v[name]) {
				delete(v, name)
				continue
			}
			v[name] = filled(v[name], object[name])
			if strings.HasPrefix(name, "{") { // several members
				delete(v, name)
				for name := range object {
					v[name] = object[name]
				}
			}
		}
	}
	return v
}

// mayBeNil reports whether a value of a body is unknown, or an object of nothing but unknown values.
func mayBeNil(v any) bool {
	object, ok := v.(map[string]any)
	if !ok {
		text, _ := v.(string)
		return strings.HasPrefix(text, "{")
	}
	for _, member := range object {
		if !mayBeNil(member) {
			return false
		}
	}
	return len(object) > 0
}

// flaws are signs of an expression that was lost, of a value that is unknown, or of a rule
// without words.
var flaws = regexp.MustCompile(`= *[;,.]|= nil\b|\blimit of nil|nil (page|item)|\(\)\.|%!|  |\.\.|when [.,;]|when or|, \.| or \.`)

func TestTheSummaryOfEveryCaseIsRight(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	jobs := 0
	for _, c := range allCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			run, ok := explainAndRun(t, c)
			if !ok {
				return
			}
			for _, job := range run.explanation.Jobs {
				jobs++
				if strings.HasPrefix(job.Summary, "The run fails before") { // then no rule ends the list
					continue
				}
				require.NotRegexp(t, flaws, withoutSources(job))
				requireLiveRules(t, run, job)
				requireBounds(t, run, job)
			}
		})
	}
	require.Greater(t, jobs, 500)
}

// withoutSources returns the summary of a job without expressions and addresses, which may have
// any characters.
func withoutSources(job explain.JobExplanation) string {
	text := strings.ReplaceAll(job.Summary, job.First.URL, "URL")
	for _, list := range [][]explain.RuleExplanation{job.Stops, job.OnError, job.Next, job.State} {
		for _, r := range list {
			text = strings.ReplaceAll(text, r.Source, "SOURCE")
		}
	}
	return text
}

// requireLiveRules requires the summary to have every rule that can end the job, and none that
// cannot. A rule that cannot be met, or not be the reason, is not.
func requireLiveRules(t *testing.T, run *explainedRun, job explain.JobExplanation) {
	t.Helper()
	never := map[string]string{}
	var live []string
	for _, r := range slices.Concat(job.Stops, job.OnError) {
		never[r.ID] = r.Never
		if r.Never == "" {
			live = append(live, r.Clause)
		}
	}
	for _, r := range job.Stops {
		switch {
		case r.Never != "" && !slices.Contains(live, r.Clause):
			require.NotContains(t, job.Summary, r.Clause, r.ID)
		case r.Never == "" && !r.Guard && r.Outcome != "guarded" && r.Outcome != "split":
			require.Contains(t, job.Summary, r.Clause, r.ID)
		}
		if strings.HasSuffix(r.ID, ".short") && r.Never == "" {
			limit, err := json.Marshal(job.Limit)
			require.NoError(t, err)
			want := `fewer items than the limit of ` + string(limit) + `\b`
			if job.Limit == nil { // it is computed
				want = `fewer items than the limit that the job's parameter \w+ sets`
			}
			require.Regexp(t, want, r.Clause)
		}
	}
	for _, page := range run.pages[job.Job] {
		for _, v := range page.Met() {
			require.NotContains(t, []string{"it is never true", "no page size is set (limit)"}, never[v.Rule], v.Rule)
		}
	}
	for _, result := range run.result.Jobs {
		if result.Job == job.Job {
			require.Empty(t, never[result.Reason], "%s ended the job", result.Reason)
		}
	}
}

// requireBounds requires the bounds of a job to name the least number of pages, and each
// partition of the run to have kept to it.
func requireBounds(t *testing.T, run *explainedRun, job explain.JobExplanation) {
	t.Helper()
	if job.Method == "" {
		require.Equal(t, "one request", job.Bounds.Says)
		require.Contains(t, job.Summary, "once: the job is not paged.")
		return
	}
	require.Contains(t, job.Summary, job.Bounds.Says)
	require.Regexp(t, "^(one page: |cannot run forever: (at most|stops after) \\d|UNBOUNDED)", job.Bounds.Says)
	require.Equal(t, job.Bounds.Unbounded, strings.Contains(job.Bounds.Says, "UNBOUNDED"))
	least := 0.0
	for _, r := range job.Stops {
		if r.Bound != nil && r.Bound.Unit == "pages" && (least == 0 || r.Bound.Most < least) {
			least = r.Bound.Most
		}
	}
	for _, l := range job.Bounds.Limits {
		if l.Unit == "pages" {
			require.Equal(t, least, l.Most)
			restarts := slices.ContainsFunc(job.OnError, func(r explain.RuleExplanation) bool { return r.MaxRestarts > 0 })
			require.True(t, restarts || lastPage(run.pages[job.Job]) <= int(l.Most))
			least = 0
		}
	}
	require.Zero(t, least, "the bounds leave out that of the pages")
}

// lastPage returns the highest number of a page. Each partition of a job counts its own pages.
func lastPage(pages []engine.Record) int {
	last := 0
	for _, p := range pages {
		last = max(last, p.Page)
	}
	return last
}

// TestExplainOfEveryCaseMatchesItsSchema validates the JSON of explain with an independent
// reader. The schema is closed for this, so that it must describe every key.
func TestExplainOfEveryCaseMatchesItsSchema(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	text, err := json.Marshal(explain.ExplanationSchema())
	require.NoError(t, err)
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	for _, definition := range parsed.(map[string]any)["definitions"].(map[string]any) {
		definition.(map[string]any)["additionalProperties"] = false
	}
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("explain.schema.json", parsed))
	schema, err := compiler.Compile("explain.schema.json")
	require.NoError(t, err)
	for _, c := range allCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			run, ok := explainAndRun(t, c)
			if !ok {
				return
			}
			text, err := json.Marshal(run.explanation)
			require.NoError(t, err)
			document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
			require.NoError(t, err)
			require.NoError(t, schema.Validate(document))
		})
	}
}

// TestTheTextOfExplainFitsItsWidth requires lines that are longer than the width to be one word.
func TestTheTextOfExplainFitsItsWidth(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	widths := []int{40, 72, 100, 120}
	for i, c := range allCases(t) {
		run, ok := explainAndRun(t, c)
		if !ok {
			continue
		}
		for _, width := range []int{widths[i%len(widths)], widths[(i+2)%len(widths)]} { // two for each case
			for line := range strings.Lines(run.explanation.Text(explain.TextOptions{Width: width, Full: true})) {
				line = strings.TrimRight(line, "\n")
				words := strings.Fields(line)
				if utf8.RuneCountInString(line) > width && !strings.HasPrefix(line, "   |") {
					require.LessOrEqual(t, len(words), 2, "case %s at %d columns: %s", c.Name, width, line)
				}
			}
		}
	}
}

func TestExplainPrintsOnceWhatJobsHaveInCommon(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	const config = `{"api": {"baseUrl": "https://x.example/", "pagination": {"method": "multiple", "default": "a", "scrollers": {
		"a": {"method": "pagenum"}, "b": {"method": "pagenum", "guards": {"samePage": "fail"}}}}},
		"config": {"jobs": [{"endpoint": "u"}, {"endpoint": "v"}, {"endpoint": "w", "scroller": "b"}]}}`
	e, err := engine.Load("c.json", []byte(config))
	require.NoError(t, err)
	x := e.Explain()
	text := x.String()
	require.Equal(t, 2, strings.Count(text, "safety limit of 100000 pages"), "once for u and v, once for w")
	require.Contains(t, text, `see "jobs u, v" below`)
	require.Contains(t, text, "\njobs u, v\n")
	require.Equal(t, 3, strings.Count(x.Text(explain.TextOptions{Full: true}), "safety limit of 100000 pages"))
}

func TestExplainShowsTheKeptValuesThatTheFirstRequestSends(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	const config = `{"api": {"baseUrl": "https://x.example/", "pagination": {"method": "pagenum",
		"nextRequest": {"params": {"since": "kept.since"}, "applyToFirst": true}, "keep": {"since": "items[-1].id"}}},
		"config": {"jobs": [{"endpoint": "u"}]}}`
	e, err := engine.Load("c.json", []byte(config))
	require.NoError(t, err)
	job := e.Explain().Jobs[0]
	require.Equal(t, "https://x.example/u?page=1", job.First.URL)
	require.Equal(t, "https://x.example/u?page=1&since={kept.since}", job.FirstKept.URL)
	job = e.With(engine.WithKept(map[string]map[string]any{"u": {"since": json.Number("17")}})).Explain().Jobs[0]
	require.Equal(t, "https://x.example/u?page=1&since=17", job.First.URL)
	require.Equal(t, "https://x.example/u?page=2&since=17", job.Second.URL)
	require.Nil(t, job.FirstKept)
}
