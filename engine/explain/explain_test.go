package explain

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile/compiletest"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
)

func explained(t *testing.T, pagination string) JobExplanation {
	t.Helper()
	return explainedIn(t, pagination, nil)
}

func explainedIn(t *testing.T, pagination string, l *language.Language) JobExplanation {
	t.Helper()
	return explainedConfig(t, `{"api": {"baseUrl": "https://x.example/", "pagination": `+pagination+`},
		"config": {"jobs": [{"endpoint": "users", "params": {"sort": "id"}}]}}`, l).Jobs[0]
}

func explainedConfig(t *testing.T, config string, l *language.Language) *Explanation {
	t.Helper()
	cfg, jobs := compiletest.Config(t, config, l)
	return Explain(cfg, jobs, RunDetails{Redact: func(s string) string { return s }})
}

func TestTheSummarySaysHowRequestsAreMade(t *testing.T) {
	const expression = `{"method": "expression", "stopRules": ["count == 0"], "nextRequest": `
	for _, c := range []struct{ name, pagination, want string }{
		{"a page number", `{"method": "pagenum"}`, "Sends GET https://x.example/users?sort=id&page=1 (no api.authentication), then increments page. Ends normally when"},
		{"a page number that the first request does not have", `{"method": "pagenum", "firstPage": 0, "firstPageParams": false, "limit": 20}`,
			"then sends page (increasing by 1), limit = 20. Ends"},
		{"another verb", `{"method": "response.param", "responseParam": "next", "queryParam": "cursor", "scrollRequest": {"endpoint": "scroll", "method": "POST"}}`,
			"then requests scroll with method POST and sends cursor = the value at next, without the job's own params. Ends"},
		{"values that may be empty", `{"method": "response.params", "responseParams": {"after": "next"}}`,
			"then sends after = the value at next if there is one. Ends"},
		{"a limit that the last page may exceed", `{"method": "pagenum", "limitStop": {"count": 500}}`,
			"cannot run forever: stops after 500 items (limitStop.count) or 100000 pages, where the run fails (maxPages)."},
		{"an offset", `{"method": "offset", "limit": 10}`, "then adds 10 to offset. Ends"},
		{"a limit that only the requests after the first have", expression + `{"params": {"limit": "limit"}}, "limit": 20}`,
			"then sends limit = 20. Ends"},
		{"a variable", `{"method": "keyset", "idKey": "id", "param": "after"}`, `then sends after = the id of the last item. Ends`},
		{"an address", expression + `{"url": "body.next"}}`, "then requests body.next, without the job's own params. Ends"},
		{"an address that is the only end", `{"method": "expression", "nextRequest": {"url": "body.next"}}`,
			"Ends normally when there is no next request: body.next is missing, null or \"\"; or"},
		{"nothing that changes", expression + `{"params": {"limit": "limit"}}}`, "then sends the same request again. Ends"},
		{"a parameter of the first request only", expression + `{"url": "page == 0 ? nil : body.next", "applyToFirst": true,
			"params": {"full": "page == 0 ? true : nil"}}}`, "then requests body.next, without the job's own params. Ends"},
		{"a limit of one page", `{"method": "pagenum", "forceStop": {"pages": 1}}`,
			"&page=1 (no api.authentication) once. Is cut off when the limit of 1 page is reached"},
		{"no address", `{"method": "expression", "nextRequest": {"url": "nil"}}`,
			"Sends GET https://x.example/users?sort=id (no api.authentication) once. Ends normally when there is no next request: nextRequest.url is nil. Bounds: one page: nextRequest.url is nil."},
		{"no address, in parentheses", `{"method": "expression", "nextRequest": {"url": "(nil)"}}`,
			"once. Ends normally when there is no next request: nextRequest.url is nil. Bounds: one page: nextRequest.url is nil."},
		{"a rule about pages", `{"method": "pagenum", "onError": [{"on": "success", "when": "body.error != nil", "do": "fail"}]}`,
			"Fails when a response with status 200, 201, 203 or 204 matches body.error is present."},
		{"a rule about any response", `{"method": "pagenum", "onError": [{"on": "any", "when": "body.error != nil", "do": "fail"}]}`,
			"Fails when a response of any status matches body.error is present."},
		{"a wait that a response decides", `{"method": "expression", "nextRequest": {"after": "body.wait"}, "stopRules": ["body.done"]}`,
			"or a response has the same body as the previous one, unless the request is a poll."},
		{"a poll", `{"method": "expression", "nextRequest": {"after": "5"}, "stopRules": ["body.done"]}`, "Ends normally when body.done is true. Bounds:"},
		{"only a guard", `{"method": "pagenum", "guards": {"maxPages": 50}}`, "at most 50 pages, where the run fails (maxPages)."},
		{"a user's rule that fails", `{"method": "pagenum", "stopRules": [{"when": "body.error != nil", "outcome": "failed"}]}`,
			"Fails when body.error is present."},
		{"a user's rule that fails, and a flag", `{"method": "pagenum", "hasMore": "more", "stopRules": [{"when": "body.error != nil", "outcome": "failed"}]}`,
			"Fails when body.error is present."},
		{"a flag that may end the list before a rule of the method fails",
			`{"method": "graphql.relay", "connection": "data.users", "hasMore": "more", "forceStop": {"pages": 5}}`,
			"Fails when the response has errors, which GraphQL sends with status 200, unless forceStop.pages or hasMore ends the list first; or"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Contains(t, explained(t, c.pagination).Summary, c.want)
		})
	}
}

func TestARuleOnAnyResponseIsOneRule(t *testing.T) {
	x := explained(t, `{"method": "pagenum", "onError": [{"on": "any", "when": "status == 410", "do": "stop"}]}`)
	require.Len(t, x.OnError, 1)
	require.Equal(t, rules.OnAny, x.OnError[0].On)
}

func TestExplainSaysWhatOnErrorRulesDo(t *testing.T) {
	for _, c := range []struct{ do, want string }{
		{"stop", "the list ends (complete)"},
		{"retry", "the request is retried, as one without a response is"},
		{"restart", "the list starts again from the first request, at most 3 times, and then the run fails (exit status 6); items that were written come again, so that they are there twice; a run that continues has only the restarts that are left"},
		{"fail", "the run fails (exit status 3)"},
		{"continue", "the error body is read as a page, in which the audit sees no error; the rules decide as after any page, and an object without the list, or a body that is not JSON, is an empty page; any other body is read as on a page"},
	} {
		t.Run(c.do, func(t *testing.T) {
			x := explained(t, `{"method": "pagenum", "onError": [{"when": "status == 410", "do": "`+c.do+`"}]}`)
			require.Equal(t, c.want, x.OnError[0].action())
		})
	}
}

func TestTheDiagramHasTheRestartAndTheEndWithoutAnAddress(t *testing.T) {
	x := explained(t, `{"method": "response.url", "onError": [{"when": "status == 410", "do": "restart"}, {"when": "status == 404", "do": "stop"},
		{"when": "status == 409", "do": "retry"}, {"when": "status == 403", "do": "fail"}, {"when": "status == 400", "do": "continue"}]}`)
	diagram := (&Explanation{Jobs: []JobExplanation{x}}).Mermaid()
	for _, arrow := range []string{
		`j0_next -- "nextRequest: no address" --> j0_complete`,
		`j0_page -- "onError[0]<br/>status == 410" --> j0_x0[/"the list starts again`,
		"j0_x0 --> j0_first\n", "j0_x1 --> j0_complete(", "j0_x2 --> j0_page\n", "j0_x3 --> j0_failed(", "j0_x4 --> j0_s0\n",
	} {
		require.Contains(t, diagram, arrow)
	}
}

// A reader of the text alone can answer these questions.
func TestExplainSaysWhatAReaderAsks(t *testing.T) {
	for _, c := range []struct{ question, pagination, want string }{
		{"which fields are ignored?", `{"method": "pagenum", "guards": {"ignore": ["meta.took"]}}`, "previous one, ignoring body.meta.took"},
		{"what is logged?", `{"method": "pagenum", "stopRules": [{"when": "count < 3", "message": "few: {count}"}]}`, "message: few: {count}"},
		{"what happens at a 500?", `{"method": "pagenum"}`, "A request that gets no complete response, or status 429, 500 or 503, or status 403 with headers that say when to retry or that no requests are left is retried up to 2 times; then the run fails (exit status 4). All requests share 20 retries: 5 successes give one back, and a retry whose time the API sets takes 1/5 of one; with none left, the run fails (exit status 4)."},
		{"how often does it restart?", `{"method": "pagenum", "onError": [{"when": "status == 410", "do": "restart"}]}`,
			"starts again from the first request, at most 3 times, and then the run fails (exit status 6); items that were written come again, so that they are there twice; a run that continues has only the restarts that are left"},
		{"why is there no guard?", `{"method": "pagenum", "guards": {"sameItems": "ignore"}}`, "sameItems: guards.sameItems is ignore [guards.sameItems"},
		{"why is there no audit rule?", `{"method": "pagenum", "audit": {"ignore": ["audit.token"]}}`, "audit.token: audit.ignore has it"},
		{"which finding fails the run?", `{"method": "pagenum"}`,
			"audit, at the end of a list: evidence fails the run (exit status 9) when audit.begin page 1 says that pages are before it only warns if it is a link that names no lower position, or a page 0, which may not exist audit.total"},
		{"and which does not?", `{"method": "pagecount", "pagesField": "meta.pages"}`,
			"or if it is one that rules read (meta.pages), unless samePage has ended the list and the token or link differs from the one that was sent"},
		{"from where does page count?", `{"method": "pagenum", "stopRules": ["page == 4"]}`, "page number of this page, from 1; 0 before the first"},
		{"why has the first request an offset?", `{"method": "offset", "limit": 5}`, "state.offset also in the first request [method offset]"},
		{"and why not?", `{"method": "offset", "limit": 5, "firstPageParams": false}`, "not in the first request (firstPageParams at"},
		{"who wrote a rule?", `{"method": "keyset", "idKey": "id", "param": "after"}`, "[method keyset, param at c.json:"},
		{"is the page size sent? (--full)", `{"method": "pagenum"}`, "left out, since no page size is set"},
		{"where are the items?", `{"method": "pagenum"}`, "otherwise the only list in its root"},
		{"what is sent second?", `{"method": "pagenum", "firstPage": 0}`, "second request    GET https://x.example/users?sort=id&page=1\n"},
		{"what ends it?", `{"method": "expression", "nextRequest": {"url": "body.next"}}`, "nextRequest                 empty(body.next)"},
		{"from which page is it kept?", `{"method": "pagenum", "keep": {"next": "body.next", "from": "first.body.at", "last": "items[-1].id"}}`,
			"The last page gives the value of next."},
		{"what if it is missing?", `{"method": "pagenum", "stopRules": ["body.left < 1"]}`, "nil a value that is missing or null, such as items[-1] of an empty page, or a member of a text: a comparison with it is false"},
		{"which parameter wins?", `{"method": "response.url", "urlKey": "next", "includeParams": true}`,
			"next request: the job's params, which override those of a link in their places, or follow them, with"},
		{"what is left of the job's request?", `{"method": "expression", "stopRules": ["count == 0"], "nextRequest": {"endpoint": "'next'"}}`,
			"next request: the job's params, with nextRequest.endpoint 'next'"},
		{"and without its params?", `{"method": "expression", "stopRules": ["count == 0"], "nextRequest": {"endpoint": "'next'", "includeParams": false}}`,
			"next request: without the job's endpoint and params, with nextRequest.endpoint 'next'"},
		{"and does the audit say so?", `{"method": "response.url", "urlKey": "next", "includeParams": true}`, "since a parameter of the job overrides its own"},
		{"is a missing path evidence?", `{"method": "pagenum"}`, "audit.missing no response has the list of items only if the last page has a sign of more that no rule reads, such as a greater total, or has a list of objects in another place: in its root, or as its only one"},
		{"what does a rule mean?", `{"method": "pagenum", "stopRules": ["body.paging == nil"]}`, "body.paging is missing or null"},
	} {
		t.Run(c.question, func(t *testing.T) {
			x := &Explanation{Retries: RetryExplanation{Max: 2, Statuses: []int{429, 500, 503}, Limited: []int{403}, Header: "Retry-After"}, Jobs: []JobExplanation{explained(t, c.pagination)}}
			x.Terms = x.terms()
			full := strings.HasSuffix(c.question, "(--full)")
			require.Contains(t, strings.Join(strings.Fields(x.Text(TextOptions{Width: 120, Full: full})), " "), strings.Join(strings.Fields(c.want), " "))
		})
	}
}

func TestTheAuditOnlyWarnsInDialectKeboola(t *testing.T) {
	text := (&Explanation{Dialect: rules.Keboola, Jobs: []JobExplanation{explained(t, `{"method": "pagenum"}`)}}).Text(TextOptions{})
	require.Contains(t, strings.Join(strings.Fields(text), " "), "warns (without --fail-on suspect, outcome and exit status are unchanged) if it finds a sign of missing or repeated items, also")
	require.NotContains(t, text, "(exit status 9)")
}

func TestABoundIsNamedForEveryJob(t *testing.T) {
	for _, c := range []struct{ name, pagination, want string }{
		{"the smaller of two", `{"method": "pagenum", "guards": {"maxPages": 5}, "forceStop": {"pages": 20}}`,
			"cannot run forever: at most 5 pages, where the run fails (maxPages)"},
		{"the smaller of two, the other way round", `{"method": "pagenum", "guards": {"maxPages": 50}, "forceStop": {"pages": 20}}`,
			"cannot run forever: at most 20 pages (forceStop.pages)"},
		{"of each kind", `{"method": "pagenum", "forceStop": {"pages": 20, "time": 60, "volume": 1000}}`,
			"cannot run forever: stops after 20 pages (forceStop.pages), 60 seconds (forceStop.time) or 1000 bytes (forceStop.volume)"},
		{"one page", `{"method": "pagenum", "stopRules": ["page >= 1"]}`, "one page: stopRules[0] stops after it"},
		{"a restart with a time limit", `{"method": "pagenum", "forceStop": {"time": 60}, "onError": [{"when": "status == 410", "do": "restart"}]}`,
			"cannot run forever: stops after 60 seconds (forceStop.time) or 100000 pages, where the run fails (maxPages); " +
				"onError may restart the list, at most 3 times, without a wait; after each restart, every guard and every limit except the time limit starts over"},
		{"a restart", `{"method": "pagenum", "onError": [{"when": "status == 410", "do": "restart"}]}`,
			"cannot run forever: at most 100000 pages, where the run fails (maxPages); " +
				"onError may restart the list, at most 3 times, without a wait; after each restart, every guard and every limit starts over"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, explained(t, c.pagination).Bounds.Says)
		})
	}
}

func TestARuleThatCannotBeMetSaysWhy(t *testing.T) {
	for _, c := range []struct{ name, pagination, id, want string }{
		{"without a page size", `{"method": "keyset", "idKey": "id", "param": "after", "shortPageEnds": true}`,
			"keyset.short", "no page size is set (limit)"},
		{"with one", `{"method": "keyset", "idKey": "id", "param": "after", "shortPageEnds": true, "limit": 5}`, "keyset.short", ""},
		{"after another limit", `{"method": "pagenum", "guards": {"maxPages": 5}, "forceStop": {"pages": 20}}`,
			"forceStop.pages", "maxPages stops at 5 pages already"},
		{"the same rule as one before", `{"method": "pagenum", "stopRules": ["count == 0"]}`,
			"stopRules[0]", "pagenum.empty says the same and comes first"},
		{"with an alternative", `{"method": "pagenum", "guards": {"maxPages": 5}, "stopRules": ["page >= 20 or count == 0"]}`,
			"stopRules[0]", ""},
		{"always false", `{"method": "pagenum", "stopRules": ["count < 0"]}`, "stopRules[0]", "it is never true"},
		{"a comparison with nil", `{"method": "pagenum", "stopRules": ["limit != nil and count < limit"]}`,
			"stopRules[0]", "no page size is set (limit)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range explained(t, c.pagination).Stops {
				if r.ID == c.id {
					require.Equal(t, c.want, r.Never)
				}
			}
		})
	}
}

func TestExplainListsTheFunctionsOfTheProgramThatAJobCalls(t *testing.T) {
	l, err := language.Builtin().WithFunction(language.Function{Name: "unused", Func: func() int { return 1 }})
	require.NoError(t, err)
	l, err = l.WithFunction(language.Function{Name: "isStale", Func: func(any) bool { return true }})
	require.NoError(t, err)
	x := explainedIn(t, `{"method": "pagenum", "stopRules": ["isStale(items[-1])", "isStale(items[0])"]}`, l)
	require.Equal(t, []FunctionExplanation{{"isStale", "isStale(any) boolean"}}, x.Functions)
	text := (&Explanation{Jobs: []JobExplanation{x}}).String()
	require.Contains(t, text, "\n  functions of this program\n    isStale(any) boolean\n")

	x = explainedIn(t, `{"method": "pagenum"}`, l)
	raw, err := json.Marshal(x)
	require.NoError(t, err)
	require.NotContains(t, string(raw), `"functions"`)
}
