package compile

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// lowered returns a configuration of one job with a pagination object, its
// rulesets, and the warnings about both.
func lowered(t *testing.T, pagination string) (*rules.Config, *rules.Lowered, diag.Diagnostics) {
	t.Helper()
	return loweredText(t, `{"api": {"baseUrl": "https://x.example/", "pagination": `+pagination+`},
		"config": {"jobs": [{"endpoint": "users", "params": {"sort": "id"}}]}}`)
}

// loweredText lowers a configuration.
func loweredText(t *testing.T, text string) (*rules.Config, *rules.Lowered, diag.Diagnostics) {
	t.Helper()
	source := diag.NewSource("c.json", text)
	root, err := rules.ParseJSON(source)
	require.NoError(t, err)
	cfg, found := rules.Decode(source, root, rules.Options{})
	require.NoError(t, found.Err())
	low, more := cfg.Lower()
	require.NoError(t, more.Err())
	return cfg, low, slices.Concat(found, more)
}

// job compiles a configuration of one job with a pagination object.
func job(t *testing.T, pagination string) *Job {
	t.Helper()
	cfg, low, _ := lowered(t, pagination)
	jobs, found := compileJobs(cfg, low, Options{})
	require.NoError(t, found.Err())
	return jobs[0]
}

// warnings compiles a pagination object and returns the warnings about it.
func warnings(t *testing.T, pagination string) []string {
	t.Helper()
	cfg, low, before := lowered(t, pagination)
	_, found := compileJobs(cfg, low, Options{})
	require.NoError(t, found.Err())
	var out []string
	for _, w := range slices.Concat(before, found) {
		out = append(out, w.Path+": "+w.Message)
	}
	return out
}

func TestRulesThatAreProbablyNotMeantDrawAWarning(t *testing.T) {
	const expression = `{"method": "expression", "nextRequest": `
	for _, c := range []struct{ name, pagination, want string }{
		{"never true", `{"method": "pagenum", "stopRules": ["count < 0"]}`, "stopRules[0]: count < 0 is never true"},
		{"a negative wait", expression + `{"params": {"p": "page"}, "after": "-5"}, "stopRules": ["body.done"]}`,
			"nextRequest.after: the run fails before the request for page 2: want a wait of 0 or more, got -5"},
		{"a wait that is too long", expression + `{"params": {"p": "page"}, "after": "25h"}, "stopRules": ["body.done"]}`,
			"nextRequest.after: the run fails before the request for page 2: want a wait of at most 24h0m0s, got \"25h0m0s\""},
		{"always true", `{"method": "pagenum", "stopRules": ["count >= 0"]}`,
			"stopRules[0]: count >= 0 is always true: stopRules[0] stops after the first page"},
		{"always true, one of two being a constant", `{"method": "pagenum", "stopRules": ["page > 0 and true"]}`, "is always true"},
		{"never true, one of two being a constant", `{"method": "pagenum", "stopRules": ["total.items - total.pages < -1 and 1 > 2"]}`,
			"is never true"},
		{"never true with this limit", `{"method": "offset", "limit": 10, "stopRules": ["limit > 20"]}`, "limit > 20 is never true"},
		{"always true with this limit", `{"method": "offset", "limit": 10, "stopRules": ["limit * 2 == 20"]}`,
			"limit * 2 == 20 is always true"},
		{"never true without a limit", `{"method": "pagenum", "stopRules": ["count < limit"]}`,
			"count < limit is never true: stopRules[0] has no effect"},
		{"a setting without effect, since there is no limit",
			`{"method": "keyset", "idKey": "id", "param": "after", "shortPageEnds": true}`,
			"api.pagination.shortPageEnds: count < limit is never true: keyset.short has no effect"},
		{"a setting with a limit", `{"method": "keyset", "idKey": "id", "param": "after", "shortPageEnds": true, "limit": 5}`, ""},
		{"the same after every page", `{"method": "pagenum", "stopRules": ["job.params.x == 1"]}`,
			"is the same after every page: stopRules[0] stops after the first page or never"},
		{"an error status may be any of two", `{"method": "pagenum", "onError": [{"when": "status < 400 and status > 500", "do": "stop"}]}`,
			""},
		{"no such error status", `{"method": "pagenum", "onError": [{"when": "status > 600", "do": "stop"}]}`,
			"onError[0].when: status > 600 is never true"},
		{"parameters of the first request alone", `{"method": "response.param", "responseParam": "next", "queryParam": "after"}`,
			"only the first request has the params of users: sort"},
		{"parameters of the first request alone, on purpose",
			`{"method": "response.param", "responseParam": "next", "queryParam": "after", "includeParams": false}`, ""},
		{"a limit of one page is meant", `{"method": "pagenum", "forceStop": {"pages": 1}}`, ""},
		{"limits of every kind",
			`{"method": "offset", "limit": 10, "forceStop": {"pages": 5, "time": 60, "volume": 9}, "limitStop": {"count": 100}}`,
			""},

		{"met later than a limit", `{"method": "pagenum", "forceStop": {"pages": 5}, "stopRules": ["page > 9"]}`,
			"stopRules[0] is never the reason to stop: forceStop.pages stops at 5 pages already"},
		{"met later than a limit of one page", `{"method": "pagenum", "forceStop": {"pages": 1}, "stopRules": ["page > 1"]}`,
			"stopRules[0] is never the reason to stop: forceStop.pages stops at 1 page already"},
		{"met later than a limit, or for another reason", `{"method": "pagenum", "forceStop": {"pages": 5},
			"stopRules": ["page > 9 or count < 3"]}`,
			""},
		{"met later than a guard", `{"method": "pagenum", "forceStop": {"pages": 500}, "guards": {"maxPages": 100}}`,
			"forceStop.pages is never the reason to stop: maxPages stops at 100 pages already"},
		{"met with a limit that comes first", `{"method": "pagenum", "forceStop": {"pages": 5}, "stopRules": ["page >= 5"]}`,
			"stopRules[0] is never the reason to stop: forceStop.pages stops at 5 pages already"},
		{"the same rule twice", `{"method": "pagenum", "stopRules": ["body.end == true", "body.end == true"]}`,
			"stopRules[1] is never the reason to stop: stopRules[0] says the same"},
		{"the same as a rule of the method", `{"method": "pagenum", "stopRules": ["count == 0"]}`,
			"stopRules[0] is never the reason to stop: pagenum.empty says the same"},

		{"one of two is always true", `{"method": "pagenum", "stopRules": ["body.more == true", "body.more != true"]}`,
			"stopRules[0] and stopRules[1] contradict each other: whatever body.more is"},
		{"a flag and its opposite", `{"method": "pagenum", "hasMore": "m", "nextPageFlag": {"field": "m", "stopOn": true}}`,
			"nextPageFlag and hasMore contradict each other"},
		{"a flag twice", `{"method": "pagenum", "hasMore": "m", "nextPageFlag": {"field": "m", "stopOn": false}}`, ""},

		{"no end", expression + `{"params": {"page": "page + 1"}}}`,
			"pagination: no rule ends this list, so it fails at 100000 pages (guards.maxPages)"},
		{"no end but a rule that is never true", expression + `{"params": {"page": "page + 1"}}, "stopRules": ["count < -1"]}`,
			"is never true"},
		{"a list of one page", expression + `{"url": "nil"}}`, ""},
		{"a missing address ends the list", expression + `{"url": "body.next"}}`, ""},
		{"a constant request", expression + `{"params": {"page": "2"}}, "stopRules": ["count == 0"]}`,
			"nextRequest.params.page: the next request never changes"},
		{"a variable that stays the same", expression + `{"params": {"page": "state.p"}},
			"state": {"p": {"init": "1", "next": "state.p"}}, "stopRules": ["count == 0"]}`,
			"the next request never changes"},
		{"a variable that grows", expression + `{"params": {"page": "state.p"}},
			"state": {"p": {"init": "1", "next": "state.p + 1"}}, "stopRules": ["count == 0"]}`,
			""},
		{"a variable that takes another's value", expression + `{"params": {"page": "state.p"}},
			"state": {"p": {"init": "1", "next": "state.q"}, "q": {"init": "1", "next": "body.q"}}, "stopRules": ["count == 0"]}`, ""},

		{"a flag whose name says the opposite", `{"method": "pagenum", "nextPageFlag": {"field": "has_more", "stopOn": true}}`,
			"nextPageFlag.stopOn: paging stops when has_more is true, although its name suggests that more pages follow"},
		{"a last flag whose name says the opposite", `{"method": "pagenum", "nextPageFlag": {"field": "isLast", "stopOn": false}}`,
			"paging stops when isLast is false"},
		{"a flag that only the last page may have", `{"method": "pagenum", "nextPageFlag": {"field": "isLast", "stopOn": true, "ifNotSet": true}}`,
			"nextPageFlag.ifNotSet: a page without isLast stops paging, too"},
		{"a last flag", `{"method": "pagenum", "nextPageFlag": {"field": "isLast", "stopOn": true}}`, ""},
		{"a last flag that may be missing", `{"method": "pagenum", "nextPageFlag": {"field": "isLast", "stopOn": true, "ifNotSet": false}}`,
			""},
		{"hasMore names a last flag", `{"method": "pagenum", "hasMore": "meta.done"}`, "hasMore: paging stops when meta.done is false"},
		{"a rule in a scroller", `{"method": "multiple", "scrollers": {"a": {"method": "pagenum", "stopRules": ["count < 0"]}}}`,
			"scrollers.a.stopRules[0]: count < 0 is never true"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := warnings(t, c.pagination)
			if c.want == "" {
				require.Empty(t, got)
				return
			}
			require.Contains(t, strings.Join(got, "\n"), c.want)
		})
	}
}

func TestAScrollerThatNoJobUsesIsCompiledToo(t *testing.T) {
	cfg, low, _ := lowered(t, `{"method": "multiple", "scrollers": {"a": {"method": "pagenum", "stopRules": ["cuont == 0"]}}}`)
	_, found := compileJobs(cfg, low, Options{})
	require.ErrorContains(t, found.Err(), "api.pagination.scrollers.a.stopRules[0]: unknown name cuont")
}

func TestAParameterThatIsNoPageSizeIsNamed(t *testing.T) {
	cfg, low, _ := loweredText(t, `{"api": {"baseUrl": "https://api.test/", "pagination":
		{"method": "keyset", "idKey": "id", "param": "after", "limit": 100, "shortPageEnds": true}},
		"config": {"jobs": [{"endpoint": "users", "params": {"limit": "max"}}]}}`)
	jobs, found := compileJobs(cfg, low, Options{})
	require.Nil(t, jobs[0].Ruleset.Limit)
	require.Len(t, found, 1)
	require.Contains(t, found[0].Message, "count < limit is never true: keyset.short has no effect")
	require.Equal(t, "config.jobs[0].params.limit overrides the limit of the pagination, and is not a number", found[0].Hint)
}

// Rows of CSV without names have no members, so a rule that needs one of every item fails the run at the first row.
func TestARuleThatNeedsAMemberOfARowWithoutNamesDrawsAWarning(t *testing.T) {
	for _, c := range []struct{ pagination, response, want string }{
		{`{"method": "cursor", "idKey": "meta.id", "param": "max_id"}`, `"format": "csv", "header": false`, "no item has meta.id: the run fails at the first row"},
		{`{"method": "cursor", "idKey": "id", "param": "max_id"}`, `"format": "csv", "header": false, "columns": ["id"]`, ""},
		{`{"method": "cursor", "idKey": "id", "param": "max_id"}`, `"format": "csv"`, ""},
		{`{"method": "pagenum"}`, `"format": "csv", "header": false`, ""},
	} {
		cfg, low, _ := loweredText(t, `{"api": {"baseUrl": "https://api.test/", "pagination": `+c.pagination+`},
			"config": {"jobs": [{"endpoint": "users", "dataField": ".", "response": {`+c.response+`}}]}}`)
		_, found := compileJobs(cfg, low, Options{})
		require.NoError(t, found.Err())
		if c.want == "" {
			require.Empty(t, found, c.response)
			continue
		}
		require.Len(t, found, 1)
		require.Contains(t, found[0].Message, c.want)
	}
}

// A link has the parameters of a query, but not those of a body.
func TestParametersInTheBodyOfTheFirstRequestAloneDrawAWarning(t *testing.T) {
	const link, expression = `"method": "response.url"`, `"method": "expression", "nextRequest": `
	for _, c := range []struct{ job, pagination, want string }{
		{`"method": "POST", "params": {"q": "a", "size": 5}`, link, "only the first request has the params of users, in its body: q, size"},
		{`"method": "FORM", "params": {"q": "a"}`, `"method": "header.link"`, "in its body: q"},
		{`"method": "POST", "params": {"q": "a"}`, expression + `{"url": "body.next"}`, "in its body: q"},
		{`"params": {"q": "a"}`, expression + `{"url": "body.next", "method": "POST"}`, "in its body: q"},
		{`"method": "POST", "params": {"q": "a"}`, link + `, "includeParams": true`, ""},
		{`"method": "POST", "params": {"q": "a"}`, link + `, "includeParams": false`, ""},
		{`"method": "POST", "params": {"q": "a"}`, expression + `{"url": "body.next", "body": {"q": "'a'"}}`, ""},
		{`"method": "POST", "params": {"q": "a"}`, expression + `{"url": "body.next", "method": "GET"}`, ""},
		{`"method": "POST", "params": {"q": "a"}`, expression + `{"url": "body.next", "method": "body.verb"}`, ""},
		{`"method": "POST", "params": {"q": "a"}, "body": {"x": 1}`, link, ""},
		{`"method": "GET", "params": {"q": "a"}`, link, ""},
	} {
		cfg, low, _ := loweredText(t, `{"api": {"baseUrl": "https://api.test/", "pagination": {`+c.pagination+`}},
			"config": {"jobs": [{"endpoint": "users", `+c.job+`}]}}`)
		requireWarning(t, cfg, low, c.want, c.job+c.pagination)
	}
}

// requireWarning compiles a configuration, and requires a single warning whose hint and message contain a text, or no warning if
// the text is empty.
func requireWarning(t *testing.T, cfg *rules.Config, low *rules.Lowered, want, name string) {
	t.Helper()
	_, found := compileJobs(cfg, low, Options{})
	require.NoError(t, found.Err())
	if want == "" {
		require.Empty(t, found, name)
		return
	}
	require.Len(t, found, 1, name)
	require.Contains(t, found[0].Hint+": "+found[0].Message, want, name)
}

// The columns of CSV have texts, so a path that leads into one is never there.
func TestAPathInARowDrawsAWarning(t *testing.T) {
	for _, c := range []struct{ pagination, job, want string }{
		{`"method": "cursor", "idKey": "meta.id", "param": "since"`, "", `item["meta.id"] in an expression: a row of CSV has nothing within its columns, so that no item has meta.id`},
		{`"method": "keyset", "idKey": "meta.id", "param": "since"`, "", "no item has meta.id"},
		{`"method": "pagenum", "stopRules": ["items[-1].meta.id == '7'"]`, "", "no item has meta.id"},
		{`"method": "pagenum"`, `, "filter": "item.meta.id == '7'"`, "no item has meta.id"},
		{`"method": "pagenum"`, `, "response": {"format": "json"}, "filter": "item.meta.id == '7'"`, ""},
		{`"method": "pagenum"`, `, "filter": "(item.meta.id ?? item['meta.id']) == '7'"`, ""},
		{`"method": "pagenum"`, `, "filter": "split(item.meta, '.')[0] == '7' and date(item.at).Unix() > 3"`, ""},
		{`"method": "cursor", "idKey": "meta\\.id", "param": "since"`, "", ""},
		{`"method": "keyset", "idKey": "id", "param": "since"`, "", ""},
	} {
		cfg, low, _ := loweredText(t, `{"api": {"baseUrl": "https://api.test/", "response": {"format": "csv"}, "pagination": {`+c.pagination+`}},
			"config": {"jobs": [{"endpoint": "users"`+c.job+`}]}}`)
		requireWarning(t, cfg, low, c.want, c.pagination+c.job)
	}
}

func TestTheLastItemOfSeveralListsDrawsAWarning(t *testing.T) {
	for _, c := range []struct{ dataField, pagination, want string }{
		{`["added", "removed"]`, `"method": "keyset", "idKey": "id", "param": "since"`, "reads the last item of the last list of dataField"},
		{`["added", "removed"]`, `"method": "cursor", "idKey": "id", "param": "since"`, ""},
		{`"added"`, `"method": "keyset", "idKey": "id", "param": "since"`, ""},
	} {
		cfg, low, _ := loweredText(t, `{"api": {"baseUrl": "https://api.test/", "pagination": {`+c.pagination+`}},
			"config": {"jobs": [{"endpoint": "feed", "dataField": `+c.dataField+`}]}}`)
		requireWarning(t, cfg, low, c.want, c.dataField+c.pagination)
	}
}

// The lines of a response in NDJSON or CSV are all that it has, so no member of its body can tell how the list goes on. In XML, the
// root element is the only member.
func TestAMemberThatNoBodyHasDrawsAWarning(t *testing.T) {
	for _, c := range []struct{ format, dataField, pagination, want string }{
		{"csv", ".", `"method": "response.param", "responseParam": "meta.next", "queryParam": "page"`, "body.meta.next is always nil"},
		{"ndjson", ".", `"method": "response.url", "urlKey": "next"`, `header("X-Next"): body.next is always nil`},
		{"ndjson", ".", `"method": "pagenum", "stopRules": ["body.done == true"]`, "body.done is always nil"},
		{"csv", ".", `"method": "pagenum", "nextRequest": {"params": {"at": "first.body.at"}}`, "first.body.at is always nil"},
		{"csv", ".", `"method": "pagenum", "stopRules": ["let b = prev.body; b.done == true"]`, "prev.body.done is always nil"},
		{"ndjson", ".", `"method": "pagenum", "stopRules": ["get(body, 'done') == true"]`, "body.done is always nil"},
		{"ndjson", ".", `"method": "pagenum", "stopRules": ["get(body[0], 'done') == true"]`, ""},
		{"ndjson", ".", `"method": "pagenum", "stopRules": ["body[-1].done == true or body[0].id == 7"]`, ""},
		{"csv", ".", `"method": "expression", "nextRequest": {"params": {"page": "header('X-Next')"}}, "stopRules": ["header('X-Next') == nil"]`, ""},
		{"xml", "feed.entry", `"method": "response.url", "urlKey": "links.next"`, "begin the path with it: feed.links.next: body.links.next is nil on every page with items"},
		{"xml", "feed.entry", `"method": "response.url", "urlKey": "feed.links.next"`, ""},
		{"json", "entry", `"method": "response.url", "urlKey": "next"`, ""},
	} {
		cfg, low, _ := loweredText(t, `{"api": {"baseUrl": "https://api.test/", "response": {"format": "`+c.format+`"}, "pagination": {`+c.pagination+`}},
			"config": {"jobs": [{"endpoint": "users", "dataField": "`+c.dataField+`"}]}}`)
		requireWarning(t, cfg, low, c.want, c.format+c.pagination)
	}
}

// greatest(items, "id") sees one page at a time, so each page replaces its value, unless it is given the value so far.
func TestAKeptValueOfTheLastPageDrawsAWarning(t *testing.T) {
	for _, c := range []struct{ method, keep, want string }{
		{"pagenum", "greatest(items, 'at')", "keep.at does not read kept.at"},
		{"pagenum", "max(map(items, .at))", "give max the value so far"},
		{"pagenum", "greatest(items, 'at', kept.at)", ""},
		{"pagenum", "max(map(items, .at)) ?? kept.at", ""},
		{"pagenum", "items[-1].at", ""},
		{"pagenum", "greatest(first.items, 'at')", ""},
	} {
		cfg, low, _ := loweredText(t, `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "`+c.method+`", "keep": {"at": "`+c.keep+`"},
			"stopRules": ["kept.at != nil and items[-1].at < kept.at"]}}, "config": {"jobs": [{"endpoint": "users"}]}}`)
		requireWarning(t, cfg, low, c.want, c.keep)
	}
}
