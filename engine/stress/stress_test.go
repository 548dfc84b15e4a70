package stress_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/yaml"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// stressed loads the configuration of a case as the command would, without its secrets.
func stressed(t *testing.T, c *fixtures.Case) *engine.Engine {
	t.Helper()
	text := strings.ReplaceAll(string(c.Config), "{base}", "https://api.example.com")
	e, err := engine.Load(c.ConfigName, []byte(text), engine.WithPlaceholders(),
		engine.WithFormat(".yaml", yaml.Parse), engine.WithFormat(".yml", yaml.Parse))
	require.NoError(t, err)
	return e
}

var everyCase = flag.Bool("every-case", false, "put every real API under stress, instead of a third of them")

// TestEveryServerOfTheZooHasAModel derives a model for each job of the real APIs, or of a third of them, and for
// each method, and requires of it what makes its verdicts worth reading: the ordinary list
// is obtained, and whatever loses items without a word comes with a fix or with advice.
func TestEveryServerOfTheZooHasAModel(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	cases, err := fixtures.All()
	require.NoError(t, err)
	number := 0
	for _, c := range cases {
		topic, _, _ := strings.Cut(c.Name, "/")
		if !slices.Contains([]string{"zoo", "methods", "cookbook"}, topic) || c.Exit == 2 {
			continue
		}
		if topic != "methods" {
			if number++; number%3 != 0 && !*everyCase {
				continue
			}
		}
		t.Run(c.Name, func(t *testing.T) {
			report, err := stressed(t, c).Stress(t.Context(), stress.Options{})
			require.NoError(t, err)
			for _, job := range report.Jobs {
				require.Empty(t, job.Unknown, job.Job)
				require.NotEmpty(t, job.Rows)
				require.Equal(t, stress.Complete, row(t, job, "ordinary").Verdict)
				for _, r := range job.Rows {
					requireSound(t, r)
				}
			}
		})
	}
}

// requireSound requires that the verdict of a row follows from its numbers.
func requireSound(t *testing.T, r stress.Row) {
	t.Helper()
	lost, said := r.Missing+r.Duplicated > 0, r.Exit != 0 || r.Outcome != "complete" || len(r.Findings) > 0
	switch r.Verdict {
	case stress.Complete:
		require.False(t, lost || r.Exit != 0, "%s: %+v", r.Behaviour, r)
	case stress.Silent:
		require.True(t, lost && !said, "%s: %+v", r.Behaviour, r)
		require.NotNil(t, r.Fix, "%s: %+v", r.Behaviour, r)
		require.Equal(t, len(r.Fix.Changes) > 0, r.Fix.Verdict != "", "a change has the verdict of its trial, advice has none")
		require.NotEqual(t, stress.Silent, r.Fix.Verdict)
	case stress.Reported:
		require.True(t, said, "%s: %+v", r.Behaviour, r)
	}
}

func row(t *testing.T, job stress.JobReport, behaviour string) stress.Row {
	t.Helper()
	i := slices.IndexFunc(job.Rows, func(r stress.Row) bool { return r.Behaviour == behaviour })
	require.GreaterOrEqual(t, i, 0, "no row %s of %s", behaviour, job.Job)
	return job.Rows[i]
}

// paged returns a configuration with a pagination.
func paged(pagination string) string {
	return fmt.Sprintf(`{"api": {"baseUrl": "https://api.example.com/", "pagination": %s},
		"config": {"jobs": [{"endpoint": "items", "dataField": "data"}]}}`, pagination)
}

// TestAnotherOrderIsReportedForPagesOfAnySize has pages of which the audit compares some items only.
func TestAnotherOrderIsReportedForPagesOfAnySize(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	for _, limit := range []int{64, 65, 100, 250, 1000} {
		for _, method := range []string{"offset", "pagenum"} {
			e, err := engine.Load("config.json", []byte(paged(fmt.Sprintf(`{"method": %q, "limit": %d}`, method, limit))))
			require.NoError(t, err)
			report, err := e.Stress(t.Context(), stress.Options{WithoutFixes: true})
			require.NoError(t, err)
			r := row(t, report.Jobs[0], "newOrder")
			require.Equal(t, stress.Reported, r.Verdict, "%s of %d items", method, limit)
			require.Contains(t, r.Findings, "audit.shift")
		}
	}
}

// TestVerdictsOfKnownWeaknesses has the verdicts that follow from the rules of a method by
// hand. Lists have 25 items and pages 10, if nothing else is said.
func TestVerdictsOfKnownWeaknesses(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	const offset, pagenum = `{"method": "offset", "limit": 10}`, `{"method": "pagenum", "limit": 10}`
	const token = `{"method": "response.param", "responseParam": "meta.next", "queryParam": "cursor"}`
	const keyset = `{"method": "keyset", "idKey": "updated_at", "param": "since"}`
	tests := []struct {
		pagination, behaviour string
		verdict               stress.Verdict
		missing, duplicated   int
	}{
		{offset, "fullPages", stress.Complete, 0, 0},
		{offset, "cappedPages", stress.Silent, 20, 0},         // the first page has 5 items, which is less than 10
		{offset, "shortPageInTheMiddle", stress.Silent, 5, 0}, // page 2 has 5 of its 10 items; page 3, with 5, is not requested
		{offset, "emptyPageInTheMiddle", stress.Silent, 5, 0}, // page 3 is not requested
		{offset, "deletedFromTheStart", stress.Silent, 1, 0},  // the eleventh item moves to the tenth place
		{offset, "insertedAtTheStart", stress.Reported, 0, 1}, // the tenth item is the first of page 2, too: audit.shift
		{offset, "end404", stress.Reported, 0, 0},             // two full pages, so the third is requested, and refused
		{offset, "endEmptyPage", stress.Complete, 0, 0},
		{offset, "pagingIgnored", stress.Reported, 15, 0},  // the second page equals the first: audit.ignoredParam
		{offset, "html", stress.Reported, 15, 0},           // no JSON
		{offset, "serverErrorOnce", stress.Complete, 0, 0}, // the request is repeated
		{offset, "serverError", stress.Reported, 15, 0},    // the retries are used up
		{pagenum, "cappedPages", stress.Complete, 0, 0},    // pages are counted, and only an empty one is the end
		{pagenum, "shortPageInTheMiddle", stress.Complete, 0, 0},
		{pagenum, "emptyPageInTheMiddle", stress.Silent, 5, 0},
		{token, "emptyPageInTheMiddle", stress.Complete, 0, 0}, // it still has a token
		{token, "tokenLost", stress.Silent, 5, 0},              // page 2 seems to be the last
		{token, "tokenExpires", stress.Reported, 5, 0},
		{token, "deletedFromTheStart", stress.Complete, 0, 0}, // a token is a place, not a number
		{token, "endPointsToItself", stress.Endless, 0, 0},
		{keyset, "equalKeys", stress.Silent, 1, 0}, // the first item of page 2 is not behind the last key
		{keyset, "deletedFromTheStart", stress.Complete, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.pagination+" "+tt.behaviour, func(t *testing.T) {
			e, err := engine.Load("config.json", []byte(paged(tt.pagination)))
			require.NoError(t, err)
			report, err := e.Stress(t.Context(), stress.Options{})
			require.NoError(t, err)
			r := row(t, report.Jobs[0], tt.behaviour)
			require.Equal(t, tt.verdict, r.Verdict, "%+v", r)
			require.Equal(t, [2]int{tt.missing, tt.duplicated}, [2]int{r.Missing, r.Duplicated}, "%+v", r)
		})
	}
}

// TestModelsFollowFromTheRules has what a request of each configuration says by hand, and the verdict
// that depends on it.
func TestModelsFollowFromTheRules(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	tests := []struct {
		name, pagination, job string
		sentence              string
		behaviour             string
		verdict               stress.Verdict
	}{
		{
			"an index that the response has and the request advances",
			`{"method": "expression", "nextRequest": {"params": {"start": "body.start + count"}},
				"stopRules": ["body.start + count >= body.totalSize"]}`, `"dataField": "data"`,
			"The parameter start is the index of the first item of a page.", "limitPlusOne", stress.Complete,
		},
		{
			"the smallest identifier, less one",
			`{"method": "cursor", "idKey": "id", "param": "max_id", "reverse": true, "increment": -1}`, `"dataField": "data"`,
			"The parameter max_id is the key with which a page begins.", "insertedAtTheStart", stress.Complete,
		},
		{
			"a request that is repeated until the export is done",
			`{"method": "expression", "nextRequest": {"after": "header('Retry-After') ?? 30"},
				"stopRules": ["body.status == 'done'", {"when": "body.status == 'failed'", "outcome": "failed"}]}`, `"dataField": "."`,
			`body.status is always "done".`, "ordinary", stress.Complete,
		},
		{
			"a wait that no header asks for",
			`{"method": "expression", "nextRequest": {"after": "header('Retry-After') ?? 30"}, "stopRules": ["body.status == 'done'"]}`,
			`"dataField": "."`,
			`header("Retry-After") is absent.`, "oneItem", stress.Complete,
		},
		{
			"several lists, of which nothing is missing", // page 2 has no token, so the third page is lost
			`{"method": "response.param", "responseParam": "next_cursor", "queryParam": "cursor"}`,
			`"dataField": [{"path": "added", "dataType": "added"}, {"path": "old.*.removed", "dataType": "removed"}]`,
			"body.next_cursor is a token of the next page.", "tokenLost", stress.Silent,
		},
		{
			"pages of a round size", // the list ends after 1000 items only since the second page is empty
			`{"method": "offset", "limit": 1000}`, `"dataField": "data"`,
			"The parameter offset is the index of the first item of a page.", "emptyAnswer", stress.Silent,
		},
		{
			"a request in whose parts nothing is found", // other requests are for other pages, but the job pages
			`{"method": "expression", "nextRequest": {"headers": {"At": "md5(text(total.items))"}, "applyToFirst": true},
				"stopRules": ["count < 25"]}`, `"dataField": "data"`,
			"A request that was not made before gets the next page: the model cannot tell which page it asks for.", "limit", stress.Complete,
		},
		{
			"a number in a header",
			`{"method": "expression", "nextRequest": {"headers": {"Range": "'items=' + text(total.items) + '-'"}, "applyToFirst": true},
				"stopRules": ["count < 25"]}`, `"dataField": "data"`,
			"Word 2 of the header Range is the index of the first item of a page.", "limit", stress.Complete,
		},
		{
			"a number in the text of a query", // the third page is short, and 20 of 45 items are missing
			`{"method": "expression", "limit": 10, "nextRequest": {"applyToFirst": true, "params": {
				"query": "'SELECT * FROM Bill STARTPOSITION ' + text(page * limit + 1) + ' MAXRESULTS ' + text(limit)"}},
				"stopRules": ["count < limit"]}`, `"dataField": "QueryResponse.Bill"`,
			"Word 5 of the parameter query is the index of the first item of a page.", "smallerPagesLater", stress.Silent,
		},
		{
			"an index and a page size that the response has", // a total does not change them
			`{"method": "expression", "nextRequest": {"params": {"startAt": "body.startAt + body.maxResults"}},
				"stopRules": ["body.startAt + body.maxResults >= body.total"]}`, `"dataField": "issues"`,
			"body.maxResults is the page size.", "totalTooHigh", stress.Complete,
		},
		{
			"pages that the response counts from 0", // with 2 pages instead of 3, the last one is not read
			`{"method": "expression", "nextRequest": {"params": {"page": "body.meta.number + 1"}},
				"stopRules": ["body.meta.number + 1 >= body.meta.totalPages"]}`, `"dataField": "data"`,
			"body.meta.number is the number of the page, from 0.", "totalTooLow", stress.Silent,
		},
		{
			"a position that the last page has, too",
			`{"method": "expression", "nextRequest": {"params": {"since": "body.next_since"}}, "stopRules": ["body.count == 0"]}`,
			`"dataField": "data", "params": {"since": 0}`,
			"body.next_since is a token of the page after, also on the last page.", "ordinary", stress.Complete,
		},
		{
			"a rule of the configuration that refuses a full last page",
			`{"method": "response.param", "responseParam": "next", "queryParam": "after", "includeParams": true,
				"stopRules": [{"when": "count >= limit and empty(body.next)", "outcome": "failed"}]}`, `"dataField": "data", "params": {"limit": 10}`,
			"body.next is a token of the next page.", "fullPages", stress.Reported,
		},
		{
			"links with all parameters of the request", // page 2 has null, and page 3 has items
			`{"method": "header.link"}`, `"dataField": "data", "params": {"per_page": 10}`,
			`link("next") is the address of the next page.`, "nullList", stress.Reported,
		},
		{
			"lines that are cut off", // 5 of 10 items of the second page, which is then a short one
			`{"method": "offset", "limit": 10}`, `"response": {"format": "ndjson"}`,
			"The parameter offset is the index of the first item of a page.", "linesCut", stress.Silent,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := engine.Load("config.json", fmt.Appendf(nil, `{"api": {"baseUrl": "https://api.example.com/", "pagination": %s},
				"config": {"jobs": [{"endpoint": "items", %s}]}}`, tt.pagination, tt.job))
			require.NoError(t, err)
			report, err := e.Stress(t.Context(), stress.Options{})
			require.NoError(t, err)
			job := report.Jobs[0]
			require.Contains(t, job.Model, tt.sentence)
			r := row(t, job, tt.behaviour)
			require.Equal(t, tt.verdict, r.Verdict, "%+v", r)
			require.Empty(t, row(t, job, "ordinary").Findings)
		})
	}
}

// TestAFixIsAConfigurationThatFaresBetter applies the first fix of a configuration by hand.
func TestAFixIsAConfigurationThatFaresBetter(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	e, err := engine.Load("config.json", []byte(paged(`{"method": "offset", "limit": 10}`)))
	require.NoError(t, err)
	report, err := e.Stress(t.Context(), stress.Options{})
	require.NoError(t, err)
	fix := row(t, report.Jobs[0], "cappedPages").Fix
	require.Equal(t, "Advance by the number of items received, and stop at an empty page only.", fix.Says)
	require.Equal(t, stress.Complete, fix.Verdict)

	root, err := jsonObject(paged(`{"method": "offset", "limit": 10}`))
	require.NoError(t, err)
	text, err := value.Marshal(stress.Apply(root, fix.Changes))
	require.NoError(t, err)
	fixed, err := engine.Load("config.json", text)
	require.NoError(t, err)
	again, err := fixed.Stress(t.Context(), stress.Options{})
	require.NoError(t, err)
	require.Equal(t, stress.Complete, row(t, again.Jobs[0], "ordinary").Verdict)
}

// TestFixesAreCombinedAfterAnInterruption combines two fixes that were not tried together before.
func TestFixesAreCombinedAfterAnInterruption(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	e, err := engine.Load("config.json", []byte(paged(`{"method": "offset", "limit": 10}`)))
	require.NoError(t, err)
	report, err := e.Stress(t.Context(), stress.Options{})
	require.NoError(t, err)
	one := row(t, report.Jobs[0], "cappedPages")
	var other stress.Row
	for _, r := range report.Jobs[0].Rows {
		if r.Fix != nil && r.Fix.Changes != nil && !slices.Equal(textsOf(r.Fix.Changes), textsOf(one.Fix.Changes)) {
			other = r
		}
	}
	require.NotEmpty(t, other.Behaviour)
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = report.Combine(ended, one.Behaviour, other.Behaviour)
	require.ErrorIs(t, err, context.Canceled)
	combined, err := report.Combine(t.Context(), one.Behaviour, other.Behaviour)
	require.NoError(t, err)
	undisturbed, err := e.Stress(t.Context(), stress.Options{})
	require.NoError(t, err)
	want, err := undisturbed.Combine(t.Context(), one.Behaviour, other.Behaviour)
	require.NoError(t, err)
	require.Equal(t, want, combined)
}

// TestTheFixForALostListKnowsOnlyTheNamesOfTheConfiguration has jobs of which a rule with the list of one
// would end the other one, and a job whose list has a name that only the API knows.
func TestTheFixForALostListKnowsOnlyTheNamesOfTheConfiguration(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	const config = `{"api": {"baseUrl": "https://api.example.com/",
		"pagination": {"method": "response.param", "responseParam": "next", "queryParam": "cursor", "audit": {"ignore": ["audit.bareEnd"]}}},
		"config": {"jobs": [%s]}}`
	tests := []struct{ name, jobs, changes string }{
		{"one job", `{"endpoint": "a", "dataField": "data"}`, `api.pagination.stopRules: add ` +
			`{"name": "noList", "when": "not has(\"data\")", "outcome": "failed"}`},
		{"jobs with other lists", `{"endpoint": "a", "dataField": "data"}, {"endpoint": "b", "dataField": "rows"}`,
			`api.pagination.stopRules: add {"name": "noList", "when": "job.id == \"a\" and not has(\"data\")", "outcome": "failed"}`},
		{"jobs with the same list", `{"endpoint": "a", "dataField": "data"}, {"endpoint": "b", "dataField": "data"}`,
			`api.pagination.stopRules: add {"name": "noList", "when": "not has(\"data\")", "outcome": "failed"}`},
		{"no dataField", `{"endpoint": "a"}`, `config.jobs[0].dataField: "items"; ` +
			`api.pagination.stopRules: add {"name": "noList", "when": "type(at(\"items\")) != \"array\"", "outcome": "failed"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := engine.Load("config.json", fmt.Appendf(nil, config, tt.jobs))
			require.NoError(t, err)
			report, err := e.Stress(t.Context(), stress.Options{})
			require.NoError(t, err)
			fix := row(t, report.Jobs[0], "emptyBody").Fix
			require.Equal(t, tt.changes, strings.Join(textsOf(fix.Changes), "; "))
			require.Equal(t, stress.Reported, fix.Verdict)
			named := strings.HasPrefix(fix.Says, "Set dataField to the path of the list, which the model calls items. ")
			require.Equal(t, tt.name == "no dataField", named)
		})
	}
}

func TestStressIsTheSameForASeed(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	e, err := engine.Load("config.json", []byte(paged(`{"method": "offset", "limit": 10}`)))
	require.NoError(t, err)
	texts := map[string]bool{}
	for range 3 {
		report, err := e.Stress(t.Context(), stress.Options{Seed: 7, Depth: 2})
		require.NoError(t, err)
		text, err := json.Marshal(report)
		require.NoError(t, err)
		texts[string(text)] = true
	}
	require.Len(t, texts, 1)
}

// TestVerdictsOfPartitions has verdicts that follow by hand. The parent has three items in
// one page, each child list two.
func TestVerdictsOfPartitions(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	const orders = `{"api": {"baseUrl": "https://api.example.com/"}, "config": {"jobs": [
		{"id": "orders", "endpoint": "orders", "dataField": "data"},
		{"id": "lines", "endpoint": "orders/{order.id}/lines", "dataField": "data", "for": {"order": {"items": "orders"}}%s}]}}`
	const windows = `{"api": {"baseUrl": "https://api.example.com/"}, "config": {"jobs": [{"endpoint": "events", "dataField": "data",
		"params": {"from": {"expr": "text(w.from)"}, "to": {"expr": "text(w.to)"}},
		"for": {"w": {"from": 0, "to": 4000, "step": 1000%s}}}]}}`
	failing, skipping := fmt.Sprintf(orders, ""), fmt.Sprintf(orders, `, "onPartitionError": "skip"`)
	whole, split := fmt.Sprintf(windows, ""), fmt.Sprintf(windows, `, "splitWhen": "count >= 10"`)
	apart := strings.ReplaceAll(whole, "text(w.to)", "text(w.to - 1)")
	days := strings.NewReplacer("text(w.to)", "w.to - duration('1s')", "text(w.from)", "w.from", `"from": 0, "to": 4000, "step": 1000`,
		`"from": "date('2026-10-22T22:00:00Z').In(timezone('Europe/Berlin'))",
			"to": "date('2026-10-27T23:00:00Z').In(timezone('Europe/Berlin'))", "step": "24h"`).Replace(whole)
	many := strings.Replace(whole, `"to": 4000`, `"to": 100000`, 1) // the model ends the run after 40 windows
	tests := []struct {
		config, behaviour string
		verdict           stress.Verdict
		served, obtained  int
		outcome           string
	}{
		{failing, "partitions", stress.Complete, 9, 9, "complete"},
		{failing, "noPartitions", stress.Complete, 0, 0, "complete"},
		{failing, "emptyPartition", stress.Complete, 7, 7, "complete"},
		{failing, "partitionNotFound", stress.Reported, 7, 5, "failed"},   // the third list is not begun
		{skipping, "partitionNotFound", stress.Reported, 9, 7, "partial"}, // it is
		{failing, "partitionFailsOnce", stress.Complete, 9, 9, "complete"},
		{failing, "parentWithoutPath", stress.Reported, 5, 5, "failed"}, // the request for it cannot be made
		{whole, "partitions", stress.Complete, 8, 8, "complete"},
		{whole, "windowOverflows", stress.Silent, 36, 16, "complete"}, // 10 of 30 items, and 2 of each other window
		{split, "windowOverflows", stress.Complete, 36, 36, "complete"},
		{whole, "windowEndIncluded", stress.Reported, 8, 8, "complete"},  // the run sees that windows share items
		{many, "windowEndIncluded", stress.Reported, 80, 80, "complete"}, // also if there are more windows
		{apart, "windowEndIncluded", stress.Complete, 8, 8, "complete"},  // to is 999
		{days, "windowEndIncluded", stress.Complete, 12, 12, "complete"}, // to is 23:59:59; 121 hours are six windows
		{days, "windowDates", stress.Reported, 12, 12, "complete"},       // the clocks go back: two windows begin on a day
	}
	for _, tt := range tests {
		t.Run(tt.behaviour, func(t *testing.T) {
			e, err := engine.Load("config.json", []byte(tt.config))
			require.NoError(t, err)
			report, err := e.Stress(t.Context(), stress.Options{})
			require.NoError(t, err)
			r := row(t, report.Jobs[0], tt.behaviour)
			require.Equal(t, tt.verdict, r.Verdict, "%+v", r)
			require.Equal(t, [2]int{tt.served, tt.obtained}, [2]int{r.Served, r.Obtained}, "%+v", r)
			require.Equal(t, tt.outcome, r.Outcome)
			if r.Verdict == stress.Silent && r.Missing > 0 { // duplicates have advice
				require.Equal(t, stress.Complete, r.Fix.Verdict, "%+v", r.Fix)
			}
		})
	}
}

// TestAValueThatOnlyFailsTheRunHasTheMeaningOfItsRule has rules as fixes write them, and a rule about an error.
func TestAValueThatOnlyFailsTheRunHasTheMeaningOfItsRule(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for rule, says := range map[string]string{
		"count == 0 and page < len(body.x)":            "body.x is a list with an element for each page.",
		"count == 0 and total.items < number(body.x)":  "body.x is the number of items in the list.",
		"count == 0 and page < number(body.x)":         "body.x is the number of pages.",
		"(count == 0 or false) and number(body.x) > 0": "body.x is the number of items after the page.",
		"len(body.x) > 0":                              "body.x is absent.",
	} {
		pagination := `{"method": "pagenum", "stopRules": [{"when": "` + rule + `", "outcome": "failed"}]}`
		e, err := engine.Load("config.json", []byte(paged(pagination)))
		require.NoError(t, err)
		report, err := e.Stress(t.Context(), stress.Options{WithoutFixes: true})
		require.NoError(t, err)
		require.Contains(t, report.Jobs[0].Model, says, rule)
	}
}

// TestAFixLeavesOtherSettingsAsTheyAre has a pagination with settings that have nothing to do with the end of
// a list, and a rule of the user that fails the run.
func TestAFixLeavesOtherSettingsAsTheyAre(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	const kept = `"limitStop":{"count":100000},"keep":{"last":"count"},"onError":[{"when":"status == 404","do":"stop"}],` +
		`"forceStop":{"pages":500},"guards":{"ignore":["time"]},"audit":{"ignore":["audit.token"]}`
	const denied = `{"name":"denied","when":"truthy(body.denied)","outcome":"failed"}`
	e, err := engine.Load("config.json", []byte(paged(`{"method":"offset","offsetParam":"from","limit":10,`+kept+`,"stopRules":[`+denied+`]}`)))
	require.NoError(t, err)
	report, err := e.Stress(t.Context(), stress.Options{})
	require.NoError(t, err)
	for behaviour, want := range map[string]struct{ advance, stop string }{
		"emptyPageInTheMiddle": {"limit", "count == 0 and prev != nil and prev.count == 0"}, "shortPageInTheMiddle": {"count", "count == 0"},
	} {
		require.Equal(t, []string{
			`api.pagination.offsetParam: remove it`,
			`api.pagination.method: "expression"`,
			`api.pagination.state: {"offset": {"init": "0", "next": "state.offset + ` + want.advance + `"}}`,
			`api.pagination.nextRequest: {"params": {"limit": "limit", "from": "state.offset"}, "includeParams": true, "applyToFirst": true}`,
			`api.pagination.stopRules: add {"name": "empty", "when": "` + want.stop + `"}`,
		}, textsOf(row(t, report.Jobs[0], behaviour).Fix.Changes))
	}
}

// textsOf returns changes as texts.
func textsOf(changes []stress.Change) []string {
	return lists.Map(changes, stress.Change.String)
}

// TestAFixTakesOnlyTheRuleAwayThatEndedTheList has a rule of the user that ends the list at a short page.
func TestAFixTakesOnlyTheRuleAwayThatEndedTheList(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	e, err := engine.Load("config.json", []byte(paged(`{"method": "pagenum", "limit": 10, "firstPage": 2,
		"stopRules": ["count < limit", "body.state == 'closed'"]}`)))
	require.NoError(t, err)
	report, err := e.Stress(t.Context(), stress.Options{})
	require.NoError(t, err)
	fix := row(t, report.Jobs[0], "shortPageInTheMiddle").Fix
	require.Equal(t, []string{
		"api.pagination.stopRules[0]: remove it", `api.pagination.stopRules: add {"name": "empty", "when": "count == 0"}`,
	}, textsOf(fix.Changes))
	require.Equal(t, stress.Complete, fix.Verdict)
}

// TestAnEmptyListDoesNotChange combines an empty list with changes of it, for a job that does not stop at an
// empty page.
func TestAnEmptyListDoesNotChange(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	e, err := engine.Load("config.json", []byte(paged(`{"method": "expression", "limit": 2,
		"nextRequest": {"params": {"page": "page + 1"}}, "stopRules": ["count < 2 and page > 2"]}`)))
	require.NoError(t, err)
	for _, spec := range []string{"noItems+deletedFromTheStart", "noItems+movedToTheEnd", "noItems+insertedAtTheStart"} {
		simulation, err := e.Simulate(t.Context(), "items", spec)
		require.NoError(t, err)
		require.Equal(t, stress.Complete, simulation.Result.Verdict, spec)
	}
}

// TestAServerIsTheAPIOfARow runs a job against rows of its report that are served over HTTP. The
// numbers are those of the rows.
func TestAServerIsTheAPIOfARow(t *testing.T) {
	e, err := engine.Load("config.json", []byte(paged(`{"method": "offset", "limit": 10}`)))
	require.NoError(t, err)
	report, err := e.Stress(t.Context(), stress.Options{WithoutFixes: true})
	require.NoError(t, err)
	for _, behaviour := range []string{"ordinary", "cappedPages", "insertedAtTheStart", "cutOnce", "errorBody"} {
		t.Run(behaviour, func(t *testing.T) {
			api := report.Jobs[0].Server(behaviour)
			server := httptest.NewServer(api)
			defer server.Close()
			text := strings.ReplaceAll(paged(`{"method": "offset", "limit": 10}`), "https://api.example.com", server.URL)
			e, err := engine.Load("config.json", []byte(text), engine.WithClock(&transport.VirtualClock{Time: time.Now()}))
			require.NoError(t, err)
			var items [][]byte
			result, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
				for item := range page.Items.All() {
					items = append(items, bytes.Clone(item))
				}
				return nil
			})
			want := row(t, report.Jobs[0], behaviour)
			require.Equal(t, want.Exit, failure.ExitStatus(err), "%v", err)
			require.Len(t, result.Jobs[0].Findings, len(want.Findings))
			obtained, missing, duplicated := api.Tally(items)
			require.Equal(t, []int{want.Obtained, want.Missing, want.Duplicated}, []int{obtained, missing, duplicated})
		})
	}
	require.Nil(t, report.Jobs[0].Server("partitions"))
	require.Nil(t, report.Jobs[0].Server("tokenLost"), "it was left out")
}

// TestAModelUnderstandsTheValuesThatRulesRead has values that could be misread: the model would still
// obtain the ordinary list, but lose items of other lists or never end one by the rule.
func TestAModelUnderstandsTheValuesThatRulesRead(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	const next = `"method": "response.param", "responseParam": "meta.next", "queryParam": "cursor"`
	tests := []struct{ name, pagination, sentence string }{
		{
			"the index of a page is not the number of pages",
			`{"method": "offset", "limit": 10, "offsetParam": "startAt", "stopRules": ["body.startAt + count >= body.total"]}`,
			"body.startAt is the index of the first item of the page.",
		},
		{"a count that ends the list is that of the page", `{` + next + `, "stopRules": ["body.count < 10"]}`, "body.count is the number of items on the page."},
		{
			"a sign of success is not a number", `{` + next + `, "stopRules": [{"when": "not body.ok", "outcome": "failed"}]}`,
			"body.ok is always true.",
		},
		{
			"a status is a word of the rule", `{` + next + `, "stopRules": [{"when": "body.status != 'ok'", "outcome": "failed"}]}`,
			`body.status is always "ok".`,
		},
		{
			"a value that is sent next to the key of an item is not a token",
			`{"method": "expression", "limit": 10, "nextRequest": {"params": {"pit": "body.pit_id", "after": "items[-1].sort"}}, "stopRules": ["count < limit"]}`,
			"body.pit_id is the same on every page.",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := engine.Load("config.json", []byte(paged(tt.pagination)))
			require.NoError(t, err)
			report, err := e.Stress(t.Context(), stress.Options{WithoutFixes: true})
			require.NoError(t, err)
			job := report.Jobs[0]
			require.Contains(t, job.Model, tt.sentence)
			for _, r := range job.Rows {
				if r.Group == "length" {
					require.Equal(t, stress.Complete, r.Verdict, "%+v", r)
				}
			}
		})
	}
}

// TestARecordingThatContradictsAModelRefusesIt has a token that the recording shows to be constant, a
// count that it shows to be that of the page, and a value that fits no meaning.
func TestARecordingThatContradictsAModelRefusesIt(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	pages := func(texts ...string) (all []stress.Sample) {
		for i, text := range texts {
			all = append(all, stress.Sample{Request: fmt.Sprintf("GET /items?page=%d", i+1), Body: []byte(text)})
		}
		return all
	}
	otherwise := func(pages []stress.Sample) []stress.Sample {
		for i := range pages[1:] {
			pages[1+i].Other = true
		}
		return pages
	}
	const expression = `{"method": "expression", "limit": 2, "nextRequest": {"params": {"session": "body.session", "page": "page + 1"}}, "stopRules": [%s]}`
	sent := paged(fmt.Sprintf(expression, `"count < limit"`))
	judged := paged(fmt.Sprintf(expression, `"count < limit", "body.n >= 100"`))
	alone := paged(`{"method": "response.param", "responseParam": "pit", "queryParam": "pit"}`)
	const stuck = `items.har contradicts the model: page 2 (GET /items?page=2) %s, but no part of the requests says which page they are for; ` +
		`body.pit is always "X". Let the next request read a value that differs from page to page`
	tests := []struct {
		name, config  string
		like          []stress.Sample
		model, reason string
	}{
		{"a constant", sent, pages(`{"data": [1, 2], "session": "s1"}`, `{"data": [3], "session": "s1"}`), `body.session is always "s1".`, ""},
		{
			"a count", judged, pages(`{"data": [1, 2], "session": "s", "n": 2}`, `{"data": [3, 4], "session": "s", "n": 2}`,
				`{"data": [5], "session": "s", "n": 1}`), "body.n is the number of items on the page.", "",
		},
		{
			"no meaning", judged, pages(`{"data": [1, 2], "session": "s", "n": {}}`, `{"data": [3], "session": "s", "n": 5}`), "",
			"items.har contradicts every meaning that body.n could have: body.n is object of 0 on page 1 (GET /items?page=1), " +
				"5 on page 2 (GET /items?page=2). Check the rules that read it",
		},
		{
			"a constant that gets the first page again", alone, pages(`{"data": [1, 2], "pit": "X"}`, `{"data": [1, 2], "pit": "X"}`), "",
			fmt.Sprintf(stuck, "has the items of page 1 (GET /items?page=1) again"),
		},
		{
			"a constant beside another way to the next page", alone, otherwise(pages(`{"data": [1, 2], "pit": "X"}`, `{"data": [3], "pit": "X"}`)), "",
			fmt.Sprintf(stuck, "was requested in another way"),
		},
		{ // as the scrolls of Elasticsearch do
			"a constant that gets the next page", alone, pages(`{"data": [1, 2], "pit": "X"}`, `{"data": [3, 4], "pit": "X"}`, `{"data": [], "pit": "X"}`),
			"The API remembers which page comes next: no part of the requests says it.", "",
		},
		{
			"a value that is not clear", paged(`{"method": "offset", "limit": 2, "stopRules": ["count + body.left < 2 or total.items > 3"]}`),
			pages(`{"data": [1, 2], "left": 1}`, `{"data": [3], "left": 0}`), "",
			"it is not clear what body.left means: in items.har, body.left is 1 on page 1 (GET /items?page=1), 0 on page 2 (GET /items?page=2)",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := engine.Load("config.json", []byte(tt.config))
			require.NoError(t, err)
			like := stress.Recorded{Name: "items.har", Pages: map[string][]stress.Sample{"items": tt.like}}
			report, err := e.Stress(t.Context(), stress.Options{WithoutFixes: true, Recording: like})
			require.NoError(t, err)
			if tt.reason != "" {
				require.Contains(t, report.Jobs[0].Unknown, tt.reason)
				require.Empty(t, report.Jobs[0].Rows)
				return
			}
			require.Empty(t, report.Jobs[0].Unknown)
			require.Contains(t, report.Jobs[0].Model, tt.model)
			require.Contains(t, report.Jobs[0].Model, "Its responses resemble those in items.har.")
		})
	}
}

// TestAJobThatWasNotRecordedSaysSo has a reason from the run that looks for its pages, and a response that
// is no JSON.
func TestAJobThatWasNotRecordedSaysSo(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for _, like := range []stress.Recorded{
		{Name: "items.har", Missing: map[string]string{"items": "the response to GET /items is not JSON"}},
		{Name: "items.har", Pages: map[string][]stress.Sample{"items": {{Request: "GET /items", Body: []byte("id,name")}}}},
	} {
		const sentence = "The model does not resemble items.har, which has no page of the job: the response to GET /items is not JSON"
		for config, unknown := range map[string]bool{
			paged(`{"method": "offset", "limit": 2}`):                                                            false,
			paged(`{"method": "offset", "limit": 2, "stopRules": ["count + body.left < 2 or total.items > 3"]}`): true,
		} {
			e, err := engine.Load("config.json", []byte(config))
			require.NoError(t, err)
			report, err := e.Stress(t.Context(), stress.Options{WithoutFixes: true, Recording: like})
			require.NoError(t, err)
			if unknown {
				require.Contains(t, report.Jobs[0].Unknown, ". "+sentence)
			} else {
				require.Contains(t, report.Jobs[0].Model, sentence+".")
			}
		}
	}
}

// TestAJobWithoutAModelNamesTheValuesThatAreNotClear has a rule that no model satisfies.
func TestAJobWithoutAModelNamesTheValuesThatAreNotClear(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	e, err := engine.Load("config.json", []byte(paged(`{"method": "offset", "limit": 2, "stopRules": ["count + body.left < 2 or total.items > 3"]}`)))
	require.NoError(t, err)
	report, err := e.Stress(t.Context(), stress.Options{})
	require.NoError(t, err)
	require.Contains(t, report.Jobs[0].Unknown, "it is not clear what body.left means: record several pages, "+
		"and let the model resemble the recording")
}

// TestAValueThatTheModelLeavesOutIsAbsent has recordings whose first page has the flag.
func TestAValueThatTheModelLeavesOutIsAbsent(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for rule, like := range map[string]string{
		`"nextPageFlag": {"field": "more", "stopOn": false}`: `{"data": [1, 2], "more": true}`,
		`"stopRules": ["not truthy(body.info[0].more)"]`:     `{"data": [1, 2], "info": [{"more": true}]}`,
	} {
		e, err := engine.Load("config.json", []byte(paged(fmt.Sprintf(`{"method": "offset", "limit": 2, %s}`, rule))))
		require.NoError(t, err)
		report, err := e.Stress(t.Context(), stress.Options{
			WithoutFixes: true, Recording: stress.Recorded{Pages: map[string][]stress.Sample{"items": {{Body: []byte(like)}}}},
		})
		require.NoError(t, err)
		lost := row(t, report.Jobs[0], "flagLostInTheMiddle")
		require.Equal(t, stress.Reported, lost.Verdict, rule) // the second page is full
		require.Equal(t, 1, lost.Missing, "the second page stops the list of five items: %s", rule)
	}
}

// TestAFlagOfSuccessIsTrueOnGoodPages has rules that stop at a page that is not a success.
func TestAFlagOfSuccessIsTrueOnGoodPages(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for _, rule := range []string{"body.ok != true", "not truthy(body.meta.success)", "body.success == false"} {
		e, err := engine.Load("config.json", []byte(paged(fmt.Sprintf(`{"method": "offset", "limit": 2, "stopRules": [%q]}`, rule))))
		require.NoError(t, err)
		report, err := e.Stress(t.Context(), stress.Options{WithoutFixes: true})
		require.NoError(t, err)
		require.Contains(t, report.Jobs[0].Model[0], " is always true.", rule)
		require.Equal(t, stress.Complete, row(t, report.Jobs[0], "ordinary").Verdict, rule)
	}
}

// TestEndlessHidesNoMissingItem has a list without an end, and no guard but maxPages: the first page comes
// again and again. Then a guard that completes the list ends it, and no finding says what is missing.
func TestEndlessHidesNoMissingItem(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	e, err := engine.Load("config.json", []byte(paged(`{"method": "pagenum", "limit": 2, "guards": {
		"samePage": "ignore", "repeatedExchange": "ignore", "sameItems": "ignore", "repeatedItems": "ignore"}}`)))
	require.NoError(t, err)
	report, err := e.Stress(t.Context(), stress.Options{WithoutFixes: true})
	require.NoError(t, err)
	ignored := row(t, report.Jobs[0], "pagingIgnored")
	require.Equal(t, 3, ignored.Missing)
	require.Equal(t, stress.Reported, ignored.Verdict)
	require.Equal(t, stress.Endless, row(t, report.Jobs[0], "endLastAgain").Verdict)
	for _, r := range report.Jobs[0].Rows {
		require.False(t, r.Verdict == stress.Endless && r.Missing > 0, r.Behaviour)
	}

	e, err = engine.Load("config.json", []byte(paged(`{"method": "pagenum", "limit": 2, "audit": {"ignore": ["audit.ignoredParam", "audit.repeated"]}}`)))
	require.NoError(t, err)
	report, err = e.Stress(t.Context(), stress.Options{WithoutFixes: true})
	require.NoError(t, err)
	ignored = row(t, report.Jobs[0], "pagingIgnored")
	require.Equal(t, []any{3, 0, "samePage"}, []any{ignored.Missing, ignored.Exit, ignored.Reason}, "two of five items, with status 0")
	require.Equal(t, stress.Silent, ignored.Verdict)
}

// TestTwoWindowsMayHaveTheSameRequest has local times without their offset from UTC.
func TestTwoWindowsMayHaveTheSameRequest(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	const config = `{"api": {"baseUrl": "https://api.example.com/"}, "config": {"jobs": [{"endpoint": "hours", "dataField": "data",
		"params": {"from": {"expr": %q}}, "for": {"w": {"from": "date('2026-10-25 01:00', '2006-01-02 15:04', 'Europe/Berlin')",
		"to": "date('2026-10-25 04:00', '2006-01-02 15:04', 'Europe/Berlin')", "step": "1h"}}}]}}`
	for from, verdict := range map[string]stress.Verdict{"w.from.Format('2006-01-02 15:04')": stress.Reported, "w.from": ""} {
		e, err := engine.Load("config.json", []byte(fmt.Sprintf(config, from)))
		require.NoError(t, err)
		report, err := e.Stress(t.Context(), stress.Options{})
		require.NoError(t, err)
		if verdict == "" {
			require.NotContains(t, lists.Map(report.Jobs[0].Rows, func(r stress.Row) string { return r.Behaviour }), "windowTwice")
			continue
		}
		twice := row(t, report.Jobs[0], "windowTwice")
		require.Equal(t, verdict, twice.Verdict)
		require.Zero(t, twice.Missing)
		require.Positive(t, twice.Duplicated, "the hour from 2 to 3 is requested twice")
	}
}

// TestTheLastItemNamesThePage has requests that name an item, in the spellings of the rule language.
func TestTheLastItemNamesThePage(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for _, key := range []string{"items[-1].id", "last(items).id", "last(body.data)?.id"} {
		e, err := engine.Load("config.json", []byte(paged(
			fmt.Sprintf(`{"method": "expression", "nextRequest": {"params": {"after": %q}}, "stopRules": ["count == 0"]}`, key))))
		require.NoError(t, err)
		report, err := e.Stress(t.Context(), stress.Options{WithoutFixes: true})
		require.NoError(t, err)
		require.Equal(t, []string{"The parameter after is the key of the item before a page."}, report.Jobs[0].Model, key)
		require.Equal(t, stress.Complete, row(t, report.Jobs[0], "deletedFromTheStart").Verdict, key)
	}
}

// TestLinksAndTokensMayBePositions has both readings of a token that nobody has recorded, and the only
// reading of one whose recording shows a position.
func TestLinksAndTokensMayBePositions(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	const token = `{"method": "response.param", "responseParam": "next", "queryParam": "cursor"}`
	const link = `{"method": "response.url", "urlKey": "next"}`
	tests := []struct {
		name, pagination string
		pages            []string
		plain, position  stress.Verdict // verdicts of deletedFromTheStart and of deletedBeforePosition
	}{
		{"nothing recorded", token, nil, stress.Complete, stress.Silent},
		{"an opaque token", token, []string{`{"data": [1, 2], "next": "x7Hq"}`, `{"data": [3], "next": ""}`}, stress.Complete, stress.Silent},
		{"a page number", link, []string{`{"data": [1, 2], "next": "/items?page=2"}`, `{"data": [3], "next": null}`}, stress.Silent, ""},
		{"an offset", link, []string{`{"data": [1, 2], "next": "/items?start=2&sort=id"}`, `{"data": [3]}`}, stress.Silent, ""},
		{"a token that hides an offset", token, []string{`{"data": [1, 2], "next": "b2Zmc2V0OjI="}`, `{"data": [3]}`}, stress.Silent, ""}, // offset:2
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := engine.Load("config.json", []byte(paged(tt.pagination)))
			require.NoError(t, err)
			var like []stress.Sample
			for _, text := range tt.pages {
				like = append(like, stress.Sample{Body: []byte(text)})
			}
			report, err := e.Stress(t.Context(), stress.Options{WithoutFixes: true, Recording: stress.Recorded{Pages: map[string][]stress.Sample{"items": like}}})
			require.NoError(t, err)
			job := report.Jobs[0]
			require.Equal(t, tt.plain, row(t, job, "deletedFromTheStart").Verdict)
			if tt.position == "" {
				require.Contains(t, job.Left, stress.LeftOut{
					Behaviour: "deletedBeforePosition", Why: "the recording shows that links and tokens are positions",
				})
				return
			}
			require.Equal(t, tt.position, row(t, job, "deletedBeforePosition").Verdict)
		})
	}
}

// TestAFixMakesNoOtherRowSilent compares each fix with a report on the changed configuration: what the fix
// says of other rows is true.
func TestAFixMakesNoOtherRowSilent(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	tests := []struct{ pagination, like string }{ // responses of both configurations have the same members
		{`{"method": "offset", "limit": 10}`, `{"data": [{"id": 1}]}`},
		{`{"method": "pagenum", "limit": 10, "limitStop": {"field": "total"}}`, `{"data": [{"id": 1}], "total": 1}`},
		{
			`{"method": "response.param", "responseParam": "next", "queryParam": "cursor", "limit": 10, "stopRules": ["not body.has_more"],
				"audit": {"ignore": ["audit.bareEnd"]}}`,
			`{"data": [{"id": 1}], "next": null, "has_more": false}`,
		},
	}
	for _, tt := range tests {
		pagination, like := tt.pagination, stress.Recorded{Pages: map[string][]stress.Sample{"items": {{Body: []byte(tt.like)}}}}
		e, err := engine.Load("config.json", []byte(paged(pagination)))
		require.NoError(t, err)
		report, err := e.Stress(t.Context(), stress.Options{Recording: like})
		require.NoError(t, err)
		before, tried := map[string]stress.Verdict{}, 0
		for _, r := range report.Jobs[0].Rows {
			before[r.Behaviour] = r.Verdict
		}
		for _, r := range report.Jobs[0].Rows {
			if r.Fix == nil || r.Fix.Changes == nil {
				continue
			}
			tried++
			root, err := jsonObject(paged(pagination))
			require.NoError(t, err)
			text, err := value.Marshal(stress.Apply(root, r.Fix.Changes))
			require.NoError(t, err)
			changed, err := engine.Load("config.json", text)
			require.NoError(t, err)
			after, err := changed.Stress(t.Context(), stress.Options{WithoutFixes: true, Recording: like})
			require.NoError(t, err)
			for _, now := range after.Jobs[0].Rows {
				if had, known := before[now.Behaviour]; known && now.Verdict == stress.Silent {
					require.Equal(t, stress.Silent, had, "%s: the fix %v makes %s SILENT", r.Behaviour, textsOf(r.Fix.Changes), now.Behaviour)
				}
				if now.Behaviour == r.Behaviour {
					require.NotEqual(t, stress.Silent, now.Verdict, "%s", r.Behaviour)
				}
			}
		}
		require.NotZero(t, tried, pagination)
	}
}

// jsonObject decodes an object, whose members stay in their order.
func jsonObject(text string) (value.Object, error) {
	v, err := document.Decode([]byte(text))
	object, _ := value.Members(v)
	return object, err
}

// TestAFixReplacesAMethodThatAProgramAdded has a key that only the added method knows.
func TestAFixReplacesAMethodThatAProgramAdded(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	method := rules.Method{
		Name:   "from",
		Doc:    "The API expects the number of items that were read.",
		Fields: []rules.Field{{Name: "param", Kind: rules.KindText, Doc: "parameter that carries it"}},
		State:  []rules.StateVariable{{Name: "read", Init: `0`, Next: `state.read + limit`}},
		Next:   rules.Overlay{Params: []rules.Part{{Name: "${param}", Value: `state.read`}}, ApplyToFirst: rules.Always()},
		Stops:  []rules.StopRule{{ID: "from.empty", When: `count == 0`, Clause: "a page is empty", Message: "page {page} is empty"}},
	}
	e, err := engine.Load("config.json", []byte(paged(`{"method": "from", "param": "begin", "limit": 10, "guards": {"samePage": "stop"}}`)),
		engine.WithMethod(method))
	require.NoError(t, err)
	report, err := e.Stress(t.Context(), stress.Options{})
	require.NoError(t, err)
	texts := textsOf(row(t, report.Jobs[0], "emptyPageInTheMiddle").Fix.Changes)
	require.Contains(t, texts, `api.pagination.param: remove it`)
	require.Contains(t, texts, `api.pagination.method: "expression"`)
	require.NotContains(t, strings.Join(texts, "\n"), "guards")
}

// TestRowsThatWereSeenOnServers has rows that servers of trials have shown, with what follows from the
// rules by hand. Lists have 25 items and pages 10, if nothing else is said.
func TestRowsThatWereSeenOnServers(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	const offset, token = `{"method": "offset", "limit": 10}`, `{"method": "response.param", "responseParam": "next", "queryParam": "cursor"}`
	const link, keyset = `{"method": "response.url", "urlKey": "next"}`, `{"method": "keyset", "idKey": "updated_at", "param": "since"}`
	tests := []struct {
		pagination, behaviour string
		verdict               stress.Verdict
		missing, duplicated   int
	}{
		{offset, "smallerPagesLater", stress.Silent, 20, 0}, // 45 items: pages of 10 and 10, and the third, of 5, is short
		{offset, "emptyAnswer", stress.Silent, 15, 0},       // page 2 is the end
		{offset, "nullList", stress.Silent, 15, 0},          // an empty page ends the list
		{offset, "cachedPage", stress.Reported, 15, 0},      // page 2 is page 1: audit.ignoredParam
		{offset, "itemTwiceOnAPage", stress.Reported, 0, 1}, // audit.twice
		{offset, "listCapped", stress.Silent, 25, 0},        // 20 of 45 items, and an empty page
		{offset, "staleReplica", stress.Silent, 10, 0},      // page 2 has 5 items, and is short
		{offset, "gzipCut", stress.Complete, 0, 0},          // the request is repeated
		{offset, "retryAfterADay", stress.Reported, 15, 0},  // the wait is longer than allowed
		{offset, "partialContent", stress.Reported, 15, 0},  // no page
		{token, "endEmptyPages", stress.Endless, 0, 0},      // guards.emptyPages
		{token, "tokenWorksOnce", stress.Reported, 15, 0},   // 400
		{link, "linkOtherHost", stress.Reported, 15, 0},     // it is not trusted
		{link, "linkOtherScheme", stress.Reported, 15, 0},   // neither is this
		{keyset, "sortedByAnotherKey", stress.Silent, 6, 0}, // the last item of page 1 is the sixteenth: those before it are skipped
	}
	for _, tt := range tests {
		t.Run(tt.pagination+" "+tt.behaviour, func(t *testing.T) {
			e, err := engine.Load("config.json", []byte(paged(tt.pagination)))
			require.NoError(t, err)
			simulation, err := e.Simulate(t.Context(), "items", tt.behaviour)
			require.NoError(t, err)
			require.NotNil(t, simulation.Result, simulation.Unknown)
			r := *simulation.Result
			require.Equal(t, tt.verdict, r.Verdict, "%+v", r)
			require.Equal(t, [2]int{tt.missing, tt.duplicated}, [2]int{r.Missing, r.Duplicated}, "%+v", r)
		})
	}
}

// TestInputsHaveTheValuesOfATest has windows whose start only the input of a test makes a time.
func TestInputsHaveTheValuesOfATest(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	const config = `{"inputs": {"day": {}},
		"api": {"baseUrl": "https://api.example.com/"},
		"config": {"jobs": [{"id": "days", "dataField": ".", "endpoint": "days",
			"for": {"window": {"from": "date(input.day, '02.01.2006')", "to": "now()", "step": "30d"}},
			"params": {"from": {"expr": "window.from.Format('2006-01-02')"}}}]}%s}`
	for tests, fails := range map[string]bool{
		"": true,
		`, "tests": [{"name": "one", "inputs": {"day": "01.10.2026"}, "partition": {"window": {"from": "2026-01-01", "to": "2026-01-31"}},
			"pages": [[{"id": 1}]], "expect": {"items": 1}}]`: false,
	} {
		e, err := engine.Load("test.json", fmt.Appendf(nil, config, tests))
		require.NoError(t, err)
		report, err := e.Stress(t.Context(), stress.Options{WithoutFixes: true})
		require.NoError(t, err)
		text, err := json.Marshal(report)
		require.NoError(t, err)
		require.Equal(t, fails, strings.Contains(string(text), "the partitions of the model fail"), "%s", text)
	}
}
