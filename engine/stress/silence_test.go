package stress_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/stress"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/value"
)

// stressedJob puts the first job of a configuration under stress.
func stressedJob(t *testing.T, config string, options stress.Options) stress.JobReport {
	t.Helper()
	e, err := engine.Load("config.json", []byte(config))
	require.NoError(t, err)
	report, err := e.Stress(t.Context(), options)
	require.NoError(t, err)
	require.Empty(t, report.Jobs[0].Unknown)
	return report.Jobs[0]
}

// TestAKeyHidesNoLoss has keys that no item of the model has by itself.
func TestAKeyHidesNoLoss(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	const config = `{"api": {"baseUrl": "https://api.example.com/", "pagination": {"method": "offset", "limit": 10}},
		"config": {"jobs": [{"endpoint": "items", "dataField": "data", "key": KEY}]}}`
	like := stress.Recorded{Pages: map[string][]stress.Sample{"items": {{Body: []byte(`{"data": [{"id": 1, "sku": "A", "order": {"id": 2}}]}`)}}}}
	for _, key := range []string{`"sku"`, `"uuid"`, `["order.id", "line"]`, `"id"`} {
		for _, recording := range []stress.Recorded{{}, like} {
			job := stressedJob(t, strings.Replace(config, "KEY", key, 1), stress.Options{WithoutFixes: true, Recording: recording})
			require.Empty(t, row(t, job, "ordinary").Findings, key)
			require.Equal(t, stress.Silent, row(t, job, "cappedPages").Verdict, key)
			require.Contains(t, row(t, job, "insertedAtTheStart").Findings, "audit.shift")
		}
	}
}

// TestAFindingThatEveryListHasHidesNoLoss has a key within the member that numbers the items of the model.
func TestAFindingThatEveryListHasHidesNoLoss(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	job := stressedJob(t, `{"api": {"baseUrl": "https://api.example.com/", "pagination": {"method": "offset", "limit": 10}},
		"config": {"jobs": [{"endpoint": "items", "dataField": "data", "key": "row.x"}]}}`,
		stress.Options{WithoutFixes: true})
	require.Equal(t, []string{"audit.noKey"}, row(t, job, "ordinary").Findings)
	require.Equal(t, stress.Silent, row(t, job, "cappedPages").Verdict)
}

// TestAKeyHidesNoLossInAPartition has a key whose members come from the job's fields.
func TestAKeyHidesNoLossInAPartition(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	job := stressedJob(t, `{"api": {"baseUrl": "https://api.example.com/",
		"pagination": {"method": "offset", "limit": 2, "onError": [{"when": "status == 404", "do": "stop"}]}},
		"config": {"jobs": [{"id": "orders", "endpoint": "orders", "emit": false, "dataField": "orders"},
			{"id": "lines", "endpoint": "orders/{order.id}/lines", "for": {"order": {"items": "orders", "when": "order.active"}},
				"dataField": "lines", "fields": {"order": "order.id", "line": "item.line"}, "key": ["order", "line"]}]}}`,
		stress.Options{WithoutFixes: true})
	require.Equal(t, stress.Silent, row(t, job, "partitionNotFound").Verdict)
}

// TestItemsMayDecideByANumberWhetherTheyHaveAPartition has values that must differ from item to item.
func TestItemsMayDecideByANumberWhetherTheyHaveAPartition(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	job := stressedJob(t, `{"api": {"baseUrl": "https://api.example.com/", "dialect": "keboola", "pagination": {"method": "offset", "limit": 10}},
		"config": {"jobs": [{"endpoint": "users", "dataField": "users", "dataType": "users", "children": [
			{"endpoint": "users/{uid}/posts", "placeholders": {"uid": "id"}, "recursionFilter": "id<4", "dataField": "posts", "dataType": "posts"}]}]}}`,
		stress.Options{WithoutFixes: true})
	require.Equal(t, stress.Complete, row(t, job, "partitions").Verdict)
	for _, when := range []string{"order.total > 100", "order.total < 5", `order.state == \"open\"`} {
		job := stressedJob(t, `{"api": {"baseUrl": "https://api.example.com/", "pagination": {"method": "offset", "limit": 2}},
			"config": {"jobs": [{"id": "orders", "endpoint": "orders", "emit": false, "dataField": "orders"},
				{"endpoint": "orders/{order.total}", "for": {"order": {"items": "orders", "when": "`+when+`"}}, "dataField": "lines"}]}}`,
			stress.Options{WithoutFixes: true})
		require.Equal(t, stress.Complete, row(t, job, "partitions").Verdict, when)
	}
}

// TestATextMayBeAFlag has flags as XML has them.
func TestATextMayBeAFlag(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	for _, rule := range []string{`body.truncated != \"true\"`, `body.truncated != \"yes\"`, `body.state == \"done\"`} {
		job := stressedJob(t, paged(`{"method": "response.param", "responseParam": "next", "queryParam": "cursor", "stopRules": ["`+rule+`"]}`),
			stress.Options{})
		require.Empty(t, row(t, job, "ordinary").Findings, rule)
		require.Equal(t, stress.Silent, row(t, job, "emptyAnswer").Verdict, "%s: %+v\n%v", rule, row(t, job, "emptyAnswer"), job.Model)
		require.Contains(t, strings.Join(job.Model, "\n"), "on the last one", rule)
	}
	job := stressedJob(t, paged(`{"method": "offset", "limit": 10, "stopRules": ["body.truncated == \"false\""], "audit": {"ignore": ["audit.more"]}}`),
		stress.Options{})
	require.Contains(t, job.Model, `body.truncated is "true" while there is another page, and "false" on the last one.`)
}

// TestARecordingSaysWhichTextIsTheFlag has a last page with another text than the rule.
func TestARecordingSaysWhichTextIsTheFlag(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	config := paged(`{"method": "response.param", "responseParam": "next", "queryParam": "cursor", "stopRules": ["body.state != \"yes\""]}`)
	says := func(second string) []string {
		pages := []stress.Sample{{Body: []byte(`{"data": [{"id": 1}], "next": "a", "state": "yes"}`)}, {Body: []byte(second)}}
		like := stress.Recorded{Pages: map[string][]stress.Sample{"items": pages}}
		return stressedJob(t, config, stress.Options{WithoutFixes: true, Recording: like}).Model
	}
	require.Contains(t, says(`{"data": [{"id": 2}], "state": "no"}`), `body.state is "yes" while there is another page, and "no" on the last one.`)
	require.Contains(t, says(`{"data": [{"id": 2}], "state": "finished"}`), `body.state is "yes" while there is another page, and "finished" on the last one.`)
}

// TestATotalThatLacksTheLastPageEndsTheList has 25 items on pages of 10, and totals of 20 and null.
func TestATotalThatLacksTheLastPageEndsTheList(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	job := stressedJob(t, paged(`{"method": "offset", "limit": 10, "limitStop": {"field": "total"}}`), stress.Options{})
	low := row(t, job, "totalTooLow")
	require.Equal(t, []any{stress.Silent, 5, 2}, []any{low.Verdict, low.Missing, low.Requests})
	require.Equal(t, stress.Complete, row(t, job, "totalOneLess").Verdict, "the third page has both")
	null := row(t, job, "totalNull")
	require.Equal(t, []any{stress.Reported, 15, []string{"audit.missing"}}, []any{null.Verdict, null.Missing, null.Findings})
	job = stressedJob(t, paged(`{"method": "pagecount", "limit": 10, "pagesField": "pages"}`), stress.Options{WithoutFixes: true})
	require.Equal(t, 5, row(t, job, "totalTooLow").Missing, "page 2 of 2")
	require.False(t, slices.ContainsFunc(job.Rows, func(r stress.Row) bool { return r.Behaviour == "totalOneLess" }), "it would be the same row")
}

// TestAPageSizeInAParameterOrARuleIsALimit has no setting limit.
func TestAPageSizeInAParameterOrARuleIsALimit(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	const config = `{"api": {"baseUrl": "https://api.example.com/", "pagination": {"method": "pagenum", "stopRules": [RULE]}},
		"config": {"jobs": [{"endpoint": "items", "dataField": "data", "params": PARAMS}]}}`
	for _, tt := range []struct{ rule, params string }{
		{`"count < 10"`, `{"per_page": 10}`}, {`"count < 10"`, `{}`}, {`"count < 20"`, `{"size": "20"}`},
	} {
		job := stressedJob(t, strings.NewReplacer("RULE", tt.rule, "PARAMS", tt.params).Replace(config), stress.Options{WithoutFixes: true})
		require.Equal(t, stress.Silent, row(t, job, "cappedPages").Verdict, tt)
	}
	job := stressedJob(t, strings.NewReplacer("RULE", "", "PARAMS", `{"per_page": 10}`).Replace(config), stress.Options{WithoutFixes: true})
	require.Equal(t, stress.Complete, row(t, job, "cappedPages").Verdict, "pages end with an empty one")
}

// TestAStatusIsNoPageSize has a rule about errors.
func TestAStatusIsNoPageSize(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for _, rule := range []string{
		`"forceStop": {"pages": 7}`, `"limitStop": {"count": 700}`, `"stopRules": ["total.items >= 70"]`, `"stopRules": ["7 < page"]`,
	} {
		job := stressedJob(t, paged(`{"method": "pagenum", `+rule+`}`), stress.Options{WithoutFixes: true})
		require.Equal(t, 25, row(t, job, "ordinary").Served, "%s is a limit on the run", rule)
	}
	for _, when := range []string{"status == 403", "status in [403, 404]", "404 == status"} {
		job := stressedJob(t, paged(`{"method": "pagenum", "onError": [{"when": "`+when+`", "do": "stop"}]}`), stress.Options{WithoutFixes: true})
		require.Equal(t, 25, row(t, job, "ordinary").Served, when)
	}
}

// TestTheFixOfCappedPagesHelpsAgain puts the fixed configuration under stress once more.
func TestTheFixOfCappedPagesHelpsAgain(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs every case in one goroutine, as other tests do")
	for _, pagination := range []string{
		`{"method": "offset", "limit": 10}`, `{"method": "pagenum", "stopRules": ["count < 10"]}`,
	} {
		fix := row(t, stressedJob(t, paged(pagination), stress.Options{}), "cappedPages").Fix
		require.NotEmpty(t, fix.Changes, pagination)
		root, err := jsonObject(paged(pagination))
		require.NoError(t, err)
		text, err := value.Marshal(stress.Apply(root, fix.Changes))
		require.NoError(t, err)
		for _, r := range stressedJob(t, string(text), stress.Options{WithoutFixes: true}).Rows { // without a page size there is no such row
			require.False(t, r.Behaviour == "cappedPages" && r.Verdict == stress.Silent, pagination)
		}
	}
}

// TestALostTokenIsFoundOnTheFirstPageIfThePageSizeIsKnown has a page size in a parameter.
func TestALostTokenIsFoundOnTheFirstPageIfThePageSizeIsKnown(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	const config = `{"api": {"baseUrl": "https://api.example.com/", "pagination": {"method": "response.param", "responseParam": "next",
		"queryParam": "cursor", "audit": {"ignore": ["audit.bareEnd"]}}}, "config": {"jobs": [{"endpoint": "items", "dataField": "data", "params": PARAMS}]}}`
	known := row(t, stressedJob(t, strings.Replace(config, "PARAMS", `{"per_page": 10}`, 1), stress.Options{}), "tokenLost").Fix
	require.Contains(t, textsOf(known.Changes), `api.pagination.stopRules: add {"name": "lostToken", "when": "count >= 10 and empty(body.next)", "outcome": "failed"}`)
	require.NotContains(t, known.Says, "first page")
	unknown := row(t, stressedJob(t, strings.Replace(config, "PARAMS", `{}`, 1), stress.Options{}), "tokenLost").Fix
	require.Contains(t, unknown.Says, "If that happens on the first page, it is not found")
}
