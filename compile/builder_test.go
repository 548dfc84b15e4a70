package compile

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
)

// firstTwo makes the first request of a job, and the one after a page with the
// body.
func firstTwo(t *testing.T, j *Job, body string) (first, next requests.Request, parts PartValues, more bool) {
	t.Helper()
	m, page := &language.Machine{}, &rules.Context{Limit: j.Ruleset.Limit}
	builder := builderOf(t, j)
	state, first, err := builder.Begin(m, page)
	require.NoError(t, err)
	require.Nil(t, page.State, "Begin does not change the page")
	page.Page, page.State, page.Body = 1, state, decoded(t, body)
	before := *page
	_, parts, more, err = j.Advance(m, page)
	require.NoError(t, err)
	require.Equal(t, before.State, page.State, "Advance does not change the page")
	if more {
		next, err = builder.Apply(parts, "https://x.example/v1/users?page=1")
		require.NoError(t, err)
	}
	return first, next, parts, more
}

// builderOf returns the builder of a job without computed values.
func builderOf(t *testing.T, j *Job) *Builder {
	t.Helper()
	builder, err := j.Builder(nil)
	require.NoError(t, err)
	return builder
}

// decoded turns JSON into values as the page reader does.
func decoded(t *testing.T, text string) any {
	t.Helper()
	e, err := language.NewCompiler(language.Builtin()).Expression(rules.Rule{Source: "fromJSON(body)"}, &rules.Ruleset{}, rules.ScopePage)
	require.NoError(t, err)
	v, err := e.Eval(&language.Machine{}, &rules.Context{Body: text})
	require.NoError(t, err)
	return v
}

func address(t *testing.T, r requests.Request) string {
	t.Helper()
	a, err := r.URL()
	require.NoError(t, err)
	return r.Verb() + " " + a
}

func TestPartsAreAppliedToTheJobsOwnRequest(t *testing.T) {
	const expression = `{"method": "expression", "stopRules": ["count == 0"], `
	for _, c := range []struct {
		name, pagination, body string
		first, next            string // next is empty: the list has ended
		parts                  PartValues
	}{
		{"parts of the first request and of those after it", `{"method": "offset", "limit": 10}`, `{}`,
			"GET https://x.example/users?sort=id&limit=10&offset=0", "GET https://x.example/users?sort=id&limit=10&offset=10", PartValues{10, 10}},
		{"parts of the requests after the first", expression + `"nextRequest": {"params": {"after": "body.id"}}}`, `{"id": 7}`,
			"GET https://x.example/users?sort=id", "GET https://x.example/users?sort=id&after=7", PartValues{7}},
		{"a nil param is left out", expression + `"nextRequest": {"params": {"sort": "body.none", "after": "body.id"}}}`, `{"id": 7}`,
			"GET https://x.example/users?sort=id", "GET https://x.example/users?after=7", PartValues{nil, 7}},
		{"an object is merged", expression + `"nextRequest": {"params": "body"}}`, `{"sort": "name", "after": 7}`,
			"GET https://x.example/users?sort=id", "GET https://x.example/users?sort=name&after=7",
			PartValues{map[string]any{"sort": "name", "after": 7}}},
		{"a url drops the job's params", expression + `"nextRequest": {"url": "body.next"}}`, `{"next": "users?page=2"}`,
			"GET https://x.example/users?sort=id", "GET https://x.example/v1/users?page=2", PartValues{"users?page=2"}},
		{"a url with the job's params", expression + `"nextRequest": {"url": "body.next", "includeParams": true}}`, `{"next": "/p/2"}`,
			"GET https://x.example/users?sort=id", "GET https://x.example/p/2?sort=id", PartValues{"/p/2"}},
		{"an endpoint is resolved against the base address", expression + `"nextRequest": {"endpoint": "body.next"}}`, `{"next": "more"}`,
			"GET https://x.example/users?sort=id", "GET https://x.example/more?sort=id", PartValues{"more"}},
		{"an address is evaluated first", expression + `"nextRequest": {"params": {"a": "number(body.x)"}, "url": "body.next"}}`,
			`{"x": "no number"}`,
			"GET https://x.example/users?sort=id", "", PartValues{nil}},
		{"an empty address ends the list", expression + `"nextRequest": {"endpoint": "body.next"}}`, `{"next": ""}`,
			"GET https://x.example/users?sort=id", "", PartValues{""}},
		{"before the first page a missing address is the job's own", expression + `"nextRequest": {"url": "body.next", "applyToFirst": true}}`,
			`{"next": "p2"}`, "GET https://x.example/users?sort=id", "GET https://x.example/v1/p2", PartValues{"p2"}},
		{"a method", expression + `"nextRequest": {"method": "body.verb"}}`, `{"verb": "post"}`,
			"GET https://x.example/users?sort=id", "POST https://x.example/users", PartValues{"post"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, next, parts, more := firstTwo(t, job(t, c.pagination), c.body)
			require.Equal(t, c.first, address(t, first))
			require.Equal(t, c.parts, parts)
			require.Equal(t, c.next != "", more)
			if more {
				require.Equal(t, c.next, address(t, next))
			}
		})
	}
}

func TestAPartOfTheWrongKindFailsTheRequest(t *testing.T) {
	for _, c := range []struct{ name, next, body, want string }{
		{"an address", `{"url": "body.x"}`, `{"x": 3}`, "rule nextRequest.url: want an address, got a number (3)"},
		{"a method", `{"method": "body.x"}`, `{"x": "PATCH"}`, `rule nextRequest.method: want GET, POST or FORM, got "PATCH"`},
		{"params", `{"params": "body.x"}`, `{"x": 3}`, "rule nextRequest.params: want an object, got a number (3)"},
		{"a header", `{"headers": {"X": "body.x"}}`, `{"x": [1]}`, "rule nextRequest.headers.X: want a header value for X, got list of 1"},
		{"a header of two lines", `{"headers": {"X": "body.x"}}`, `{"x": "a\nb"}`, "want a header value for X"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := job(t, `{"method": "expression", "stopRules": ["count == 0"], "nextRequest": `+c.next+`}`)
			_, parts, more, err := j.Advance(&language.Machine{}, &rules.Context{Page: 1, Body: decoded(t, c.body)})
			require.NoError(t, err)
			require.True(t, more)
			_, err = builderOf(t, j).Apply(parts, "")
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestBodyPartsAreMergedByPath(t *testing.T) {
	j := job(t, `{"method": "expression", "stopRules": ["count == 0"], "nextRequest": {"method": "\"POST\"",
		"body": {"variables.after": "body.cursor", "variables.first": "10", "none": "body.none"}, "headers": {"X-Page": "page"}}}`)
	_, next, _, more := firstTwo(t, j, `{"cursor": "abc"}`)
	require.True(t, more)
	body, _, err := next.Payload()
	require.NoError(t, err)
	require.JSONEq(t, `{"sort": "id", "variables": {"after": "abc", "first": 10}}`, string(body))
	require.Equal(t, rules.Object{{Name: "X-Page", Value: "1"}}, next.Headers)
}

func TestAllVariablesAdvanceAtOnce(t *testing.T) {
	j := job(t, `{"method": "expression", "stopRules": ["count == 0"], "nextRequest": {"params": {"a": "state.a", "b": "state.b"}},
		"state": {"a": {"init": "1", "next": "state.b"}, "b": {"init": "2", "next": "state.a"}, "c": {"init": "page"}}}`)
	m, page := &language.Machine{}, &rules.Context{}
	state, _, err := builderOf(t, j).Begin(m, page)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"a": 1, "b": 2, "c": 0}, state)
	page.Page, page.State = 1, state
	state, parts, more, err := j.Advance(m, page)
	require.NoError(t, err)
	require.True(t, more)
	require.Equal(t, map[string]any{"a": 2, "b": 1, "c": 0}, state)
	require.Equal(t, PartValues{2, 1}, parts, "parts see the new state")
}

func TestSavedPartsMustBeThoseOfTheJob(t *testing.T) {
	j := job(t, `{"method": "offset", "limit": 10}`)
	_, err := builderOf(t, j).Apply(PartValues{1}, "")
	require.EqualError(t, err, "the next request has 2 parts, but 1 are given")
}

func TestKeepReplacesValuesThatAreNotNil(t *testing.T) {
	j := job(t, `{"method": "pagenum", "keep": {"since": "body.since", "count": "count"}}`)
	page := &rules.Context{Page: 1, Count: 3, Body: decoded(t, `{}`), Kept: map[string]any{"since": "2026", "count": 9}}
	kept, lacking, err := j.KeptValues(&language.Machine{}, page, nil, page.Page)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"since": "2026", "count": 3}, kept)
	require.Equal(t, "keep.since", lacking[0].Rule.ID)

	page.Kept = nil
	kept, _, err = j.KeptValues(&language.Machine{}, page, nil, page.Page)
	require.NoError(t, err)
	require.Equal(t, map[string]any{"count": 3}, kept, "nil is not a value to continue from")

	kept, _, err = job(t, `{"method": "pagenum"}`).KeptValues(&language.Machine{}, page, nil, page.Page)
	require.NoError(t, err)
	require.Nil(t, kept)
}

func TestSequentialNamesWhatReadsTheResponse(t *testing.T) {
	const expression = `{"method": "expression", "stopRules": ["count == 0"], `
	for _, c := range []struct{ name, pagination, want string }{
		{"a variable that counts", `{"method": "offset", "limit": 10}`, ""},
		{"the number of pages", expression + `"nextRequest": {"params": {"page": "total.pages + 1"}}}`, ""},
		{"values of the job", expression + `"nextRequest": {"params": {"page": "page + 1", "id": "job.id"}}}`, ""},
		{"a variable that reads items", `{"method": "cursor", "idKey": "id", "param": "since"}`, "state.id.next reads items"},
		{"a part that reads the body", expression + `"nextRequest": {"params": {"page": "body.next"}}}`,
			"nextRequest.params.page reads body.next"},
		{"the number of items", expression + `"nextRequest": {"params": {"skip": "total.items"}}}`, "nextRequest.params.skip reads total.items"},
		{"the first response", expression + `"nextRequest": {"params": {"t": "first.body.t"}}}`, "nextRequest.params.t reads first.body.t"},
		{"a header", expression + `"nextRequest": {"params": {"t": "header(\"T\")"}}}`, `nextRequest.params.t reads header("T")`},
		{"a constant address", expression + `"nextRequest": {"url": "\"more\""}}`,
			"nextRequest.url is resolved against the address of the response"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, job(t, c.pagination).Analysis().WhySequential())
		})
	}
}

func TestRulesThatCountBoundThePages(t *testing.T) {
	for _, c := range []struct {
		name, pagination string
		want             int
	}{
		{"no limit but a guard", `{"method": "offset", "limit": 10}`, 100000},
		{"a limit of pages", `{"method": "offset", "limit": 10, "forceStop": {"pages": 20}}`, 20},
		{"a limit of items", `{"method": "offset", "limit": 10, "limitStop": {"count": 95}}`, 10},
		{"the least of them", `{"method": "offset", "limit": 10, "limitStop": {"count": 95}, "forceStop": {"pages": 3}}`, 3},
		{"a rule of the user", `{"method": "pagenum", "stopRules": ["4 < page or count == 0"]}`, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, job(t, c.pagination).Analysis().MaxPages())
		})
	}
}

func TestAJobNeedsWhatTheArgumentsOfCallsRead(t *testing.T) {
	job := job(t, `{"method": "expression", "stopRules": ["count == 0"],
		"nextRequest": {"params": {"x": "header(body.name) ?? at(prev.body.key)"}}}`)
	require.Equal(t, [][]string{{"name"}, nil, {"key"}}, job.Needs.Body)
	require.True(t, job.Analysis().Reads("prev"))
	require.False(t, job.Analysis().Reads("first"))
}
