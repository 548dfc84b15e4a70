package engine_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/yaml"
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

// TestEveryServerOfTheZooHasAModel derives a model for each job of the real APIs and for
// each method, and requires of it what makes its verdicts worth reading: the ordinary list
// is obtained, and whatever loses items without a word comes with a fix or with advice.
func TestEveryServerOfTheZooHasAModel(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	for _, c := range allCases(t) {
		topic, _, _ := strings.Cut(c.Name, "/")
		if !slices.Contains([]string{"zoo", "methods", "cookbook"}, topic) || c.Exit == 2 {
			continue
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
		{offset, "pagingIgnored", stress.Endless, 15, 0},   // the second page equals the first
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
			"The parameter offset is the index of the first item of a page.", "emptyBody", stress.Silent,
		},
		{
			"a request in whose parts nothing is found", // other requests are for other pages, but the job pages
			`{"method": "expression", "nextRequest": {"headers": {"Range": "'items=' + text(total.items) + '-'"}, "applyToFirst": true},
				"stopRules": ["count < 25"]}`, `"dataField": "data"`,
			"Every request that is a new one is for the next page: the model does not know what it asks for.", "limit", stress.Complete,
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
	e, err := engine.Load("config.json", []byte(paged(`{"method": "offset", "limit": 10}`)))
	require.NoError(t, err)
	report, err := e.Stress(t.Context(), stress.Options{})
	require.NoError(t, err)
	fix := row(t, report.Jobs[0], "cappedPages").Fix
	require.Equal(t, []stress.Change{{Path: []string{"api", "pagination", "limit"}, Value: 5}}, fix.Changes)
	require.Equal(t, stress.Complete, fix.Verdict)

	fixed, err := engine.Load("config.json", []byte(paged(`{"method": "offset", "limit": 5}`)))
	require.NoError(t, err)
	again, err := fixed.Stress(t.Context(), stress.Options{})
	require.NoError(t, err)
	require.Equal(t, stress.Complete, row(t, again.Jobs[0], "ordinary").Verdict)
}

// TestTheFixForALostListKnowsOnlyTheNamesOfTheConfiguration has jobs of which a rule with the list of one
// would end the other one, and a job whose list has a name that only the API knows.
func TestTheFixForALostListKnowsOnlyTheNamesOfTheConfiguration(t *testing.T) {
	const config = `{"api": {"baseUrl": "https://api.example.com/",
		"pagination": {"method": "response.param", "responseParam": "next", "queryParam": "cursor"}}, "config": {"jobs": [%s]}}`
	tests := []struct{ name, jobs, changes string }{
		{"one job", `{"endpoint": "a", "dataField": "data"}`, `api.pagination.stopRules: add ` +
			`{"name": "noList", "when": "not has(\"data\")", "outcome": "failed"}`},
		{"jobs with other lists", `{"endpoint": "a", "dataField": "data"}, {"endpoint": "b", "dataField": "rows"}`,
			`api.pagination.stopRules: add {"name": "noList", "when": "job.id == \"a\" and not has(\"data\")", "outcome": "failed"}`},
		{"jobs with the same list", `{"endpoint": "a", "dataField": "data"}, {"endpoint": "b", "dataField": "data"}`,
			`api.pagination.stopRules: add {"name": "noList", "when": "not has(\"data\")", "outcome": "failed"}`},
		{"no dataField", `{"endpoint": "a"}`, `config.jobs[0].dataField: "items"; ` +
			`api.pagination.stopRules: add {"name": "noList", "when": "not has(\"items\")", "outcome": "failed"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := engine.Load("config.json", fmt.Appendf(nil, config, tt.jobs))
			require.NoError(t, err)
			report, err := e.Stress(t.Context(), stress.Options{})
			require.NoError(t, err)
			fix := row(t, report.Jobs[0], "emptyBody").Fix
			changes := make([]string, len(fix.Changes))
			for i, c := range fix.Changes {
				changes[i] = c.String()
			}
			require.Equal(t, tt.changes, strings.Join(changes, "; "))
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
			if r.Verdict == stress.Silent {
				require.Equal(t, stress.Complete, r.Fix.Verdict, "%+v", r.Fix)
			}
		})
	}
}

// TestAFixLeavesOtherSettingsAsTheyAre has a pagination with settings that have nothing to do with the end of
// a list, and a rule of the user that fails the run.
func TestAFixLeavesOtherSettingsAsTheyAre(t *testing.T) {
	const kept = `"limitStop":{"count":100000},"keep":{"last":"count"},"onError":[{"when":"status == 404","do":"stop"}],` +
		`"forceStop":{"pages":500},"guards":{"ignore":["time"]},"audit":{"ignore":["audit.token"]}`
	const denied = `{"name":"denied","when":"truthy(body.denied)","outcome":"failed"}`
	e, err := engine.Load("config.json", []byte(paged(`{"method":"offset","offsetParam":"from","limit":10,`+kept+`,"stopRules":[`+denied+`]}`)))
	require.NoError(t, err)
	report, err := e.Stress(t.Context(), stress.Options{})
	require.NoError(t, err)
	for behaviour, advance := range map[string]string{"emptyPageInTheMiddle": "limit", "shortPageInTheMiddle": "count"} {
		fix := row(t, report.Jobs[0], behaviour).Fix
		require.Len(t, fix.Changes, 1)
		require.Equal(t, []string{"api", "pagination"}, fix.Changes[0].Path)
		text, err := json.Marshal(fix.Changes[0].Value)
		require.NoError(t, err)
		require.Contains(t, string(text), kept)
		require.Contains(t, string(text), `"stopRules":[`+denied+`,{"name":"empty","when":`)
		require.Contains(t, string(text), `"next":"state.offset + `+advance+`"`)
		require.NotContains(t, string(text), "offsetParam")
	}
}

// TestAFixTakesOnlyTheRuleAwayThatEndedTheList has a rule of the user that ends the list at a short page.
func TestAFixTakesOnlyTheRuleAwayThatEndedTheList(t *testing.T) {
	e, err := engine.Load("config.json", []byte(paged(`{"method": "pagenum", "limit": 10, "firstPage": 2,
		"stopRules": ["count < limit", "body.state == 'closed'"]}`)))
	require.NoError(t, err)
	report, err := e.Stress(t.Context(), stress.Options{})
	require.NoError(t, err)
	fix := row(t, report.Jobs[0], "shortPageInTheMiddle").Fix
	require.Len(t, fix.Changes, 1)
	require.Equal(t, `api.pagination: {"method": "pagenum", "limit": 10, "firstPage": 2, "stopRules": ["body.state == 'closed'", `+
		`{"name": "empty", "when": "count == 0"}]}`, fix.Changes[0].String())
	require.Equal(t, stress.Complete, fix.Verdict)
}

// TestAnEmptyListDoesNotChange combines an empty list with changes of it, for a job that does not stop at an
// empty page.
func TestAnEmptyListDoesNotChange(t *testing.T) {
	e, err := engine.Load("config.json", []byte(paged(`{"method": "expression", "limit": 2,
		"nextRequest": {"params": {"page": "page + 1"}}, "stopRules": ["count < 2 and page > 2"]}`)))
	require.NoError(t, err)
	for _, spec := range []string{"noItems+deletedFromTheStart", "noItems+movedToTheEnd", "noItems+insertedAtTheStart"} {
		simulation, err := e.Simulate(t.Context(), "items", spec)
		require.NoError(t, err)
		require.Equal(t, stress.Complete, simulation.Result.Verdict, spec)
	}
}
