package rules_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// decodeTests reads a configuration with tests.
func decodeTests(t *testing.T, jobs, tests string) (*rules.Config, diag.Diagnostics) {
	t.Helper()
	cfg, _, found := load(t, `{"api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [`+jobs+`]},
"tests": `+tests+`}`, rules.Options{})
	return cfg, found
}

const oneJob, twoJobs = `{"endpoint": "users"}`, `{"endpoint": "users"}, {"endpoint": "groups"}`

func TestMistakesInTestsAreReportedWithPlaceAndFix(t *testing.T) {
	for _, c := range []struct{ name, jobs, tests, fault, hint string }{
		{"no list", oneJob, `{}`, "tests: want a list of objects, got an object", ""},
		{"no object", oneJob, `[1]`, "tests[0]: want an object, got 1", ""},
		{"unknown key", oneJob, `[{"name": "x", "page": [], "pages": [[]], "expect": {"pages": 1}}]`,
			`tests[0].page: unknown key "page"`, `did you mean "pages"?`},
		{"no name", oneJob, `[{"pages": [[]], "expect": {"pages": 1}}]`, "tests[0]: name is missing", ""},
		{"no pages", oneJob, `[{"name": "x", "expect": {"pages": 1}}]`, "tests[0]: pages is missing", ""},
		{"empty pages", oneJob, `[{"name": "x", "pages": [], "expect": {"pages": 1}}]`, "tests[0].pages: want at least one page",
			"a page is at least {} or []"},
		{"no expect", oneJob, `[{"name": "x", "pages": [[]]}]`, "tests[0]: expect is missing", ""},
		{"expects nothing", oneJob, `[{"name": "x", "pages": [[]], "expect": {}}]`, "tests[0].expect: want at least one expectation",
			`"stoppedBy"`},
		{"unknown expect", oneJob, `[{"name": "x", "pages": [[]], "expect": {"stopedBy": "a"}}]`,
			`tests[0].expect.stopedBy: unknown key "stopedBy"`, `did you mean "stoppedBy"?`},
		{"same name", oneJob,
			`[{"name": "x", "pages": [[]], "expect": {"pages": 1}}, {"name": "x", "pages": [[]], "expect": {"pages": 1}}]`,
			`tests[1].name: duplicate test name "x"`, ""},
		{"which job", twoJobs, `[{"name": "x", "pages": [[]], "expect": {"pages": 1}}]`, "tests[0]: job is missing",
			"known here: users, groups"},
		{"unknown job", twoJobs, `[{"name": "x", "job": "gruops", "pages": [[]], "expect": {"pages": 1}}]`,
			`tests[0].job: unknown job "gruops"`, `did you mean "groups"?`},
		{"page is a number", oneJob, `[{"name": "x", "pages": [5], "expect": {"pages": 1}}]`,
			"tests[0].pages[0]: want an object or a list, got 5", "a response is the body itself"},
		{"misspelt page", oneJob, `[{"name": "x", "pages": [{"status": 503, "header": {"A": "b"}}], "expect": {"pages": 1}}]`,
			`tests[0].pages[0].header: unknown key "header"`,
			`did you mean "headers"? if this is the response's body, write {"body": …} around it`},
		{"status is a text", oneJob, `[{"name": "x", "pages": [{"status": "ok"}], "expect": {"pages": 1}}]`,
			`tests[0].pages[0].status: want an HTTP status, got "ok"`, `write {"body": …} around it`},
		{"status too small", oneJob, `[{"name": "x", "pages": [{"status": 20}], "expect": {"pages": 1}}]`,
			"tests[0].pages[0].status: want an HTTP status, got 20", ""},
		{"after", oneJob, `[{"name": "x", "pages": [{"body": [], "after": "soon"}], "expect": {"pages": 1}}]`,
			"tests[0].pages[0].after: want seconds above 0", ""},
		{"header", oneJob, `[{"name": "x", "pages": [{"body": [], "headers": {"Link": {}}}], "expect": {"pages": 1}}]`,
			"tests[0].pages[0].headers.Link: want a header value, got an object", ""},
		{"outcome", oneJob, `[{"name": "x", "pages": [[]], "expect": {"outcome": "done"}}]`,
			`tests[0].expect.outcome: want complete, limited, guarded or failed, got "done"`, ""},
		{"stoppedBy", oneJob, `[{"name": "x", "pages": [[]], "expect": {"stoppedBy": 1}}]`,
			"tests[0].expect.stoppedBy: want the id of a rule, or a list of ids, got 1", ""},
		{"stoppedBy of", oneJob, `[{"name": "x", "pages": [[]], "expect": {"stoppedBy": ["a", 1]}}]`,
			"tests[0].expect.stoppedBy[1]: want a non-empty string, got 1", ""},
		{"items", oneJob, `[{"name": "x", "pages": [[]], "expect": {"items": "many"}}]`,
			`tests[0].expect.items: want a whole number, or a list of items, got "many"`, ""},
		{"pages", oneJob, `[{"name": "x", "pages": [[]], "expect": {"pages": "many"}}]`,
			`tests[0].expect.pages: want a whole number, got "many"`, ""},
		{"request", oneJob, `[{"name": "x", "pages": [[]], "expect": {"requests": ["/v1/users"]}}]`,
			`tests[0].expect.requests[0]: not a request: "/v1/users"`, "write it like GET /v1/users?page=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, diags := decodeTests(t, c.jobs, c.tests)
			require.Len(t, diags, 1, "%v", diags)
			require.Contains(t, diags[0].Error(), c.fault)
			require.Contains(t, diags[0].Hint, c.hint)
			require.GreaterOrEqual(t, diags[0].Pos.Line, 2, "the place is in the tests")
		})
	}
}

func TestAPageOfATestIsABodyOrACompleteResponse(t *testing.T) {
	for _, c := range []struct {
		page string
		want rules.TestResponse
	}{
		{`{"data": [1, 2]}`, rules.TestResponse{Body: []byte(`{"data":[1,2]}`)}},
		{`[]`, rules.TestResponse{Body: []byte(`[]`)}},
		{`{}`, rules.TestResponse{Body: []byte(`{}`)}},
		{`{"status": "ok", "data": []}`, rules.TestResponse{Body: []byte(`{"status":"ok","data":[]}`)}},
		{`{"body": [], "comment": 1}`, rules.TestResponse{Body: []byte(`{"body":[],"comment":1}`)}},
		{`{"headers": {"A": "b"}}`, rules.TestResponse{Body: []byte(`{"headers":{"A":"b"}}`)}},
		{`{"status": 503}`, rules.TestResponse{Status: 503}},
		{`{"body": {"status": "ok"}}`, rules.TestResponse{Status: 200, Body: []byte(`{"status":"ok"}`)}},
		{`{"body": [1], "after": "1m"}`, rules.TestResponse{Status: 200, Body: []byte(`[1]`), After: time.Minute}},
		{`{"body": [1], "after": 1.5}`, rules.TestResponse{Status: 200, Body: []byte(`[1]`), After: 1500 * time.Millisecond}},
		{`{"body": null}`, rules.TestResponse{Status: 200, Body: []byte(`null`)}},
		{`{"body": "gone", "status": 410}`, rules.TestResponse{Status: 410, Body: []byte(`"gone"`)}},
		{`{"z": 1, "a": 12345678901234567890, "e": 1.50e3, "é": "\u00e9<"}`,
			rules.TestResponse{Body: []byte(`{"z":1,"a":12345678901234567890,"e":1.50e3,"é":"\u00e9<"}`)}},
	} {
		t.Run(c.page, func(t *testing.T) {
			cfg, found := decodeTests(t, oneJob, `[{"name": "x", "pages": [`+c.page+`], "expect": {"pages": 1}}]`)
			require.NoError(t, found.Err())
			got := cfg.Tests[0].Pages[0]
			require.Equal(t, string(c.want.Body), string(got.Body))
			got.Body, got.Headers, c.want.Body = nil, nil, nil
			require.Equal(t, c.want, got)
		})
	}
}

func TestHeadersOfAPageMayComeSeveralTimes(t *testing.T) {
	cfg, found := decodeTests(t, oneJob, `[{"name": "x", "pages": [{"body": [], "headers": {"link": ["a", "b"], "Retry-After": 30}}], "expect": {"pages": 1}}]`)
	require.NoError(t, found.Err())
	headers := cfg.Tests[0].Pages[0].Headers
	require.Equal(t, []string{"a", "b"}, headers.Values("Link"))
	require.Equal(t, "30", headers.Get("Retry-After"))
}

func TestATestWithoutJobIsOfTheOnlyOne(t *testing.T) {
	cfg, found := decodeTests(t, oneJob, `[{"name": "x", "pages": [[]], "expect": {"pages": 1}}]`)
	require.NoError(t, found.Err())
	require.Equal(t, "users", cfg.Tests[0].Job)
}

func TestYAMLPagesKeepDigitsAndOrder(t *testing.T) {
	source := diag.NewSource("users.yaml", `
api: {baseUrl: "https://api.test/"}
config:
  jobs: [{endpoint: users}]
tests:
  - name: block style
    pages:
      - &page
        data:
          - {id: 12345678901234567890, name: O'Neil, b: 1, a: [yes, 1.50]}
          - plain text
      - {"data": [{"id": 12345678901234567890, "e": 1.50}]}
      - *page
    expect:
      items: [{id: 98765432109876543210}]
`)
	root, err := yaml.Parse(source)
	require.NoError(t, err)
	cfg, found := rules.Decode(source, root, rules.Options{})
	require.NoError(t, found.Err())
	pages := cfg.Tests[0].Pages
	const block = `{"data":[{"id":12345678901234567890,"name":"O'Neil","b":1,"a":["yes",1.50]},"plain text"]}`
	require.Equal(t, block, string(pages[0].Body))
	require.Equal(t, `{"data":[{"id":12345678901234567890,"e":1.50}]}`, string(pages[1].Body), "JSON in YAML is kept as it is written")
	require.Equal(t, block, string(pages[2].Body))
	require.Equal(t, `{"id":98765432109876543210}`, string(cfg.Tests[0].Expect.List[0]))
}
