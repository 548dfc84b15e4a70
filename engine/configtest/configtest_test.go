package configtest_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/configtest"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// offline fails the test if a request is made: tests of a configuration make none.
type offline struct{ t *testing.T }

func (o offline) RoundTrip(r *http.Request) (*http.Response, error) {
	o.t.Errorf("a request reached the network: %s", r.URL)
	return nil, http.ErrNotSupported
}

// tested runs the tests of a configuration.
func tested(t *testing.T, name, config string) *configtest.Report {
	t.Helper()
	e, err := engine.Load(name, []byte(config), engine.WithTransport(offline{t}), engine.WithFormat(".yaml", yaml.Parse))
	require.NoError(t, err)
	return e.Test(context.Background())
}

// usersTest is a configuration of one job with one test.
func usersTest(pagination, pages, expect string) string {
	return fmt.Sprintf(`{"api": {"baseUrl": "https://api.test/v1/", "pagination": %s},
 "config": {"jobs": [{"endpoint": "users", "dataField": "data"}]},
 "tests": [{"name": "it", "pages": %s, "expect": %s}]}`, pagination, pages, expect)
}

func TestTestsOfAConfigurationPass(t *testing.T) {
	for _, c := range []struct{ name, pagination, pages, expect string }{
		{"every expectation", `{"method": "offset", "limit": 2}`,
			`[{"data": [{"id": 1}, {"id": 2}]}, {"data": [{"id": 3}], "total": 5}]`,
			`{"stoppedBy": "offset.short", "reason": "offset.short", "outcome": "complete", "message": "page 2 is short: 1 of 2 items", "pages": 2, "items": 3,
			  "requests": ["GET /v1/users?limit=2&offset=0", "GET /v1/users?limit=2&offset=2"], "exit": 9, "findings": ["audit.total"]}`},
		{"evidence that only findings mentions", `{"method": "offset", "limit": 2}`, `[{"data": [{"id": 1}, {"id": 2}]}, {"data": [{"id": 3}], "total": 5}]`, `{"findings": ["audit.total"]}`},
		{"evidence in an expected error", `{"method": "pagenum"}`, `[{"error": "denied"}]`, `{"error": "(audit.errorBody)"}`},
		{"a hint", `{"method": "pagenum"}`, `[{"data": [], "ready": false}]`, `{"exit": 0, "findings": ["audit.errorBody"]}`},
		{"several rules", `{"method": "offset", "limit": 2}`, `[{"data": []}]`, `{"stoppedBy": ["offset.empty", "offset.short"], "items": [], "findings": []}`},
		{"items with long numbers, in order of their keys", `{"method": "pagenum"}`,
			`[{"data": [{"z": 12345678901234567890, "a": 1.50}]}, {"data": []}]`, `{"items": [{"z": 12345678901234567890, "a": 1.50}]}`},
		{"a link", `{"method": "header.link"}`,
			`[{"body": {"data": [1]}, "headers": {"Link": "<https://api.test/v1/users?after=12345678901234567890>; rel=\"next\""}}, {"data": [2]}]`,
			`{"requests": ["GET /v1/users", "GET /v1/users?after=12345678901234567890"], "items": [1, 2]}`},
		{"another origin", `{"method": "response.url", "urlKey": "next"}`,
			`[{"data": [1], "next": "https://other.test/x"}]`, `{"exit": 6, "error": "other.test", "outcome": "failed", "pages": 1, "requests": ["GET /v1/users"]}`},
		{"a redirect is a page of the test", `{"method": "pagenum"}`,
			`[{"status": 302, "headers": {"Location": "/v2/users?page=1"}}, {"data": []}]`, `{"pages": 1, "requests": ["GET /v1/users?page=1", "GET /v2/users?page=1"]}`},
		{"state", `{"method": "expression", "state": {"after": {"init": "''", "next": "items[-1].id"}}, "nextRequest": {"params": {"after": "state.after"}, "applyToFirst": true}, "stopRules": [{"name": "last", "when": "count < 2"}]}`,
			`[{"data": [{"id": "a"}, {"id": "b"}]}, {"data": []}]`, `{"stoppedBy": "last", "requests": ["GET /v1/users?after=", "GET /v1/users?after=b"]}`},
		{"saved values", `{"method": "pagenum", "keep": {"seen": "total.items", "gone": "body.gone"}}`,
			`[{"data": [1, 2]}, {"data": []}]`, `{"kept": {"seen": 2, "gone": null}}`},
		{"retries", `{"method": "pagenum"}`,
			`[{"status": 503, "body": {"error": "busy"}}, {"data": [1]}, {"status": 429, "headers": {"Retry-After": 60}}, {"data": []}]`,
			`{"pages": 2, "items": 1, "requests": ["GET /v1/users?page=1", "GET /v1/users?page=1", "GET /v1/users?page=2", "GET /v1/users?page=2"]}`},
		{"retries that are exhausted", `{"method": "pagenum"}`, `[{"status": 503}, {"status": 503}, {"status": 503}, {"status": 503}, {"status": 503}]`,
			`{"exit": 4, "error": "after 5 attempts", "reason": "error", "stoppedBy": []}`},
		{"delays and waits advance the clock", `{"method": "pagenum", "forceStop": {"time": 33}}`,
			`[{"status": 503}, {"status": 503}, {"body": {"data": [1]}, "after": "20s"}, {"body": {"data": [2]}, "after": 10}]`, // 1 + 2 + 20, then 10: 33
			`{"stoppedBy": "forceStop.time", "outcome": "limited", "message": "33 seconds", "pages": 2}`},
		{"an error that ends the list", `{"method": "pagenum", "onError": [{"when": "status == 404 and body.code == 123456789012345678", "do": "stop", "message": "none"}]}`,
			`[{"data": [1]}, {"status": 404, "body": {"code": 123456789012345678}}]`, `{"stoppedBy": "onError[0]", "exit": 0, "message": "none", "pages": 1}`},
		{"an error that fails", `{"method": "pagenum"}`, `[{"status": 403, "body": {"error": "no"}}]`, `{"exit": 3, "error": "status 403 Forbidden", "requests": ["GET /v1/users?page=1"], "items": 0}`},
		{"a guard that fails", `{"method": "pagenum", "guards": {"samePage": "fail"}}`, `[{"data": [1]}, {"data": [1]}]`, `{"stoppedBy": "samePage", "exit": 6, "items": [1]}`},
		{"a response that is not a page", `{"method": "pagenum"}`, `[{"body": 5}]`, `{"exit": 5, "error": "page 1"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := tested(t, "users.json", usersTest(c.pagination, c.pages, c.expect))
			require.Empty(t, report.Tests[0].Differences)
			require.True(t, report.Tests[0].OK)
			require.Zero(t, report.Failed())
		})
	}
}

func TestTestsOfAConfigurationFail(t *testing.T) {
	const offset = `{"method": "offset", "limit": 2}`
	const two, one = `{"data": [{"id": 1}, {"id": 2}]}`, `{"data": [{"id": 3}]}`
	const notFound = "job users, page 1: GET https://api.test/v1/users?limit=2&offset=0: status 404"
	const incomplete = "job users: the list is incomplete: "
	for _, c := range []struct {
		name, pagination, pages, expect string
		differences                     []string // how each begins
	}{
		{"a request without a page", offset, `[` + two + `]`, `{"items": 2}`,
			[]string{"requests page 2 (GET /v1/users?limit=2&offset=2), but the test has 1 page"}},
		{"a page that is not requested", offset, `[` + one + `, ` + two + `]`, `{"items": 1}`,
			[]string{"stopped after page 1; page 2 was never requested"}},
		{"pages that are not requested", `{"method": "pagenum"}`, `[` + strings.Repeat(one+",", 10) + one + `]`, `{"pages": 1}`,
			[]string{"stopped after page 2; pages 3 to 11 were never requested", "pages want 1 got 2"}},
		{"stoppedBy", offset, `[` + one + `]`, `{"stoppedBy": "offset.empty"}`,
			[]string{"stoppedBy want offset.empty got offset.short"}},
		{"one rule of several", offset, `[{"data": []}]`, `{"stoppedBy": "offset.empty"}`,
			[]string{`stoppedBy want offset.empty got offset.empty, offset.short: stoppedBy lists every rule that is met; write "reason": "offset.empty" for the first`}},
		{"an unknown rule", offset, `[` + one + `]`, `{"stoppedBy": "offset.shrt"}`,
			[]string{`stoppedBy want offset.shrt got offset.short: job users has no rule offset.shrt; did you mean "offset.short"?`}},
		{"reason", offset, `[` + one + `]`, `{"reason": "offset.empty"}`, []string{"reason want offset.empty got offset.short"}},
		{"outcome", offset, `[` + one + `]`, `{"outcome": "limited"}`, []string{"outcome want limited got complete"}},
		{"message", offset, `[` + one + `]`, `{"message": "enough"}`,
			[]string{`message want one that contains "enough" got "page 1 is short: 1 of 2 items"`}},
		{"pages", offset, `[` + one + `]`, `{"pages": 2}`, []string{"pages want 2 got 1"}},
		{"items", offset, `[` + one + `]`, `{"items": 0}`, []string{"items want 0 got 1"}},
		{"exit", offset, `[{"status": 404}]`, `{"exit": 0}`, []string{"exit want 0 got 3: " + notFound}},
		{"evidence", offset, `[{"data": [{"id": 3}], "total": 5}]`, `{"exit": 0, "items": 1}`, []string{"exit want 0 got 9: " + incomplete}},
		{"an exit of evidence", offset, `[` + one + `]`, `{"exit": 9}`, []string{"exit want 9 got 0: "}},
		{"evidence, and how a rule ended the list", offset, `[{"data": [{"id": 3}], "total": 5}]`, `{"outcome": "complete", "stoppedBy": "offset.short"}`,
			[]string{"the run ends with status 9: " + incomplete}},
		{"a misspelt dataField", offset, `[{"users": [{"id": 1}]}]`, `{"items": 1}`,
			[]string{"the run ends with status 9: job users: the list is incomplete: ", "items want 1 got 0"}},
		{"error", offset, `[{"status": 404}]`, `{"error": "status 410"}`, []string{`error want one that contains "status 410" got "` + notFound}},
		{"no error", offset, `[` + one + `]`, `{"error": "status 410"}`, []string{`error want one that contains "status 410" got none`}},
		{"an unexpected error", offset, `[{"status": 404}]`, `{"pages": 1}`, []string{"the run failed: " + notFound}},
		{"findings", offset, `[` + one + `]`, `{"findings": ["audit.total"]}`, []string{"findings want audit.total got nothing"}},
		{"an item", offset, `[` + one + `]`, `{"items": [{"id": 4}]}`, []string{`items[0] want {"id":4} got {"id":3}`}},
		{"a missing item", offset, `[` + one + `]`, `{"items": [{"id": 3}, {"id": 4}]}`,
			[]string{"items want 2 got 1", `items[1] want {"id":4} got nothing`}},
		{"a long number", offset, `[{"data": [12345678901234567890]}]`, `{"items": [12345678901234567891]}`,
			[]string{"items[0] want 12345678901234567891 got 12345678901234567890"}},
		{"the order of keys", offset, `[{"data": [{"a": 1, "b": 2}]}]`, `{"items": [{"b": 2, "a": 1}]}`,
			[]string{`items[0] want {"b":2,"a":1} got {"a":1,"b":2}: the values are equal, but`}},
		{"a request", offset, `[` + one + `]`, `{"requests": ["GET /v1/users?limit=2"]}`,
			[]string{"requests[0] want GET /v1/users?limit=2 got GET /v1/users?limit=2&offset=0"}},
		{"an additional request", offset, `[` + one + `]`, `{"requests": []}`,
			[]string{"requests want 0 got 1", "requests[0] want nothing got GET /v1/users?limit=2&offset=0"}},
		{"saved values", `{"method": "pagenum", "keep": {"n": "total.items", "m": "1"}}`, `[{"data": []}]`, `{"kept": {"n": 5, "o": 6}}`,
			[]string{"kept.m want nothing got 1", "kept.n want 5 got 0", "kept.o want 6 got nothing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := tested(t, "users.json", usersTest(c.pagination, c.pages, c.expect))
			require.Equal(t, 1, report.Failed())
			require.False(t, report.Tests[0].OK)
			require.Equal(t, "users.json:3:12", report.Tests[0].Place)
			require.Len(t, report.Tests[0].Differences, len(c.differences), "%+v", report.Tests[0].Differences)
			for i, d := range report.Tests[0].Differences {
				text := d.Message
				if d.Of != "" {
					text = fmt.Sprintf("%s want %s got %s: %s", d.Of, d.Want, d.Got, d.Message)
				}
				require.True(t, strings.HasPrefix(text, c.differences[i]), text)
			}
		})
	}
}

func TestATestAcceptsTheEndingsThatItsRunAccepts(t *testing.T) {
	const pages = `[{"data": [1], "total": 5}, {"data": []}]`
	config := usersTest(`{"method": "pagenum"}`, pages, `{"exit": 0}`)
	report := tested(t, "users.json", strings.Replace(config, `"api": {`, `"api": {"dialect": "keboola", `, 1))
	require.Empty(t, report.Tests[0].Differences, "dialect keboola warns")
	require.NotEmpty(t, report.Tests[0].Result.Evidence())
	require.False(t, report.Tests[0].Result.Refused)

	report = tested(t, "users.json", config)
	require.Equal(t, 1, report.Failed())
	require.Equal(t, 9, report.Tests[0].Exit)
	require.True(t, report.Tests[0].Result.Refused)

	e, err := engine.Load("users.json", []byte(config), engine.WithAccept(engine.JobResult.Ended))
	require.NoError(t, err)
	require.Zero(t, e.Test(context.Background()).Failed())
}

func TestATestNeedsTheInputsOfItsConfiguration(t *testing.T) {
	report := tested(t, "c.json", `{"inputs": {"shop": {}, "year": {"default": 2026, "pattern": "2[0-9]{3}"}},
	  "api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [{"endpoint": "shops/{input.shop}"}]},
	  "tests": [{"name": "it", "pages": [[]], "inputs": {"year": 99, "month": 1}, "expect": {"items": 0}}]}`)
	require.Equal(t, 1, report.Failed())
	require.Equal(t, 1, report.Coverage[0].Tests, "the job has a test, although it did not run")
	var messages []string
	for _, d := range report.Tests[0].Differences {
		messages = append(messages, d.Message)
	}
	require.Equal(t, []string{
		"input shop: not set (see the key inputs of the test)",
		"input year: 99 does not match the pattern 2[0-9]{3} (see the key inputs of the test)",
		"input month: the configuration does not declare it (see the key inputs of the test)",
	}, messages)
}

func TestAFailedTestShowsWhatDecided(t *testing.T) {
	report := tested(t, "users.json", usersTest(`{"method": "offset", "limit": 2}`, `[{"data": [1]}]`, `{"items": 0}`))
	require.Equal(t, []string{"stopped on page 1 by offset.short: count(1) < limit(2)"}, report.Tests[0].Because)
	report = tested(t, "users.json", usersTest(`{"method": "offset", "limit": 2}`, `[{"data": [1, 2]}]`, `{"items": 0}`))
	require.Equal(t, []string{"no rule stopped the list on page 1:", "  offset.empty is not met: count(2) == 0", "  offset.short is not met: count(2) < limit(2)"}, report.Tests[0].Because)
}

// gaps returns the rules that the tests of a job do not show completely.
func gaps(c configtest.JobCoverage) map[string]configtest.Gap {
	out := map[string]configtest.Gap{}
	for _, r := range c.Gaps() {
		out[r.Rule] = r.Gap
	}
	return out
}

func TestCoverageNamesWhatNoTestShows(t *testing.T) {
	config := `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "multiple", "default": "a", "scrollers": {
	    "a": {"method": "offset", "limit": 2, "forceStop": {"pages": 9}, "stopRules": [{"name": "always", "when": "count >= 0"}],
	          "onError": [{"when": "status == 404", "do": "stop"}, {"when": "status == 410", "do": "stop"}]},
	    "b": {"method": "pagenum"}}}},
	  "config": {"jobs": [{"endpoint": "users"}, {"endpoint": "groups", "scroller": "b"}, {"endpoint": "roles", "scroller": "b"}]},
	  "tests": [
	    {"name": "users", "job": "users", "pages": [[1]], "expect": {"stoppedBy": ["offset.short", "always"]}},
	    {"name": "groups", "job": "groups", "pages": [[1], []], "expect": {"stoppedBy": "pagenum.empty"}},
	    {"name": "no users", "job": "users", "pages": [{"status": 404}], "expect": {"stoppedBy": "onError[0]"}}]}`
	report := tested(t, "c.json", config)
	require.Zero(t, report.Failed())
	require.Len(t, report.Coverage, 3)
	users, groups, roles := report.Coverage[0], report.Coverage[1], report.Coverage[2]

	require.Equal(t, 2, users.Tests)
	require.Equal(t, map[string]configtest.Gap{
		"forceStop.pages": configtest.NeverTrue, "offset.empty": configtest.NeverTrue, "offset.short": configtest.NeverFalse, "always": configtest.NeverFalse,
		"onError[0]": configtest.NeverFalse, "onError[1]": configtest.NeverEvaluated, "state.offset.next": configtest.NeverEvaluated,
	}, gaps(users), "the parts of the request were evaluated for the first request; guards are never gaps")
	both, all := users.Both()
	require.Equal(t, [2]int{0, 6}, [2]int{both, all})

	require.Empty(t, gaps(groups), "one page that continues and one that stops show every rule")
	both, all = groups.Both()
	require.Equal(t, [2]int{1, 1}, [2]int{both, all})
	for _, r := range groups.Rules {
		if r.Rule == "samePage" {
			require.True(t, r.Guard)
			require.Equal(t, 2, r.Evaluated)
		}
	}
	require.Zero(t, roles.Tests)
}

func TestTestsInYAML(t *testing.T) {
	report := tested(t, "c.yaml", `
parameters:
  api:
    baseUrl: https://api.test/
    pagination: {method: cursor, idKey: id, param: since}
  config:
    jobs:
      - {endpoint: users, method: POST, dataField: data}
      - {endpoint: find, method: FORM, dataField: data}
  tests:
    - name: users
      job: users
      pages:
        - data: [{id: 12345678901234567890}]
        - data: []
      expect:
        items: [{id: 12345678901234567890}]
        requests:
          - 'POST /users {}'
          - 'POST /users {"since":12345678901234567890}'
    - name: the body of a request may be left out
      job: users
      pages: [{data: []}]
      expect: {requests: [POST /users]}
    - name: find
      job: find
      pages: [{data: [{id: 1}]}, {data: []}]
      expect: {requests: [POST /find, POST /find since=1]}
`)
	require.Zero(t, report.Failed(), "%+v", report.Tests)
}

func TestATestNeedsAndShowsNoCredentials(t *testing.T) {
	const secret = "marker-7f3a"
	report := tested(t, "c.json", `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "pagenum"}, "authentication": {"type": "query", "name": "key", "#value": "`+secret+`"}},
	  "config": {"jobs": [{"endpoint": "users", "params": {"#tenant": "`+secret+`"}}]},
	  "tests": [{"name": "a", "pages": [[{"echo": "`+secret+`"}], []], "expect": {"requests": ["GET /users?tenant=***&page=1", "GET /users?tenant=***&page=2"]}},
	            {"name": "b", "pages": [[{"echo": "`+secret+`"}]], "expect": {"items": [1]}},
	            {"name": "c", "pages": [{"status": 400, "body": "`+secret+`"}], "expect": {"items": [1]}},
	            {"name": "d", "pages": [[{"echo": "`+secret+`"}], []], "expect": {"items": [1]}}]}`)
	require.True(t, report.Tests[0].OK, "%+v", report.Tests[0])
	require.Equal(t, 3, report.Failed())
	require.NotContains(t, fmt.Sprintf("%+v", report), secret)
}

func TestATestReadsTheValuesOfAnEarlierRun(t *testing.T) {
	report := tested(t, "c.json", `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "expression", "keep": {"since": "body.until"},
	    "nextRequest": {"params": {"since": "kept?.since"}, "applyToFirst": true}, "stopRules": ["true"]}},
	  "config": {"jobs": [{"endpoint": "users", "dataField": "data"}]},
	  "tests": [{"name": "again", "kept": {"since": 12345678901234567890}, "pages": [{"data": [], "until": 5}], "expect": {"requests": ["GET /users?since=12345678901234567890"], "kept": {"since": 5}}}]}`)
	require.Empty(t, report.Tests[0].Differences)
}

// TestEveryTestBeginsAtTheSameTime, which the reference and the guide name; only delays move it on.
func TestEveryTestBeginsAtTheSameTime(t *testing.T) {
	report := tested(t, "c.json", `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "pagenum"}},
	  "config": {"jobs": [{"endpoint": "users", "dataField": "data", "filter": "date(item.at) < now()", "fields": {"at": "item.at", "now": "now()"}}]},
	  "tests": [{"name": "now", "pages": [{"data": [{"at": "2025-12-31T23:59:59Z"}, {"at": "2026-01-01T00:00:01Z"}]},
	      {"body": {"data": [{"at": "2025-12-31"}]}, "after": "1m"}, {"data": [{"at": "2026-01-01T00:00:59Z"}]}, {"data": []}],
	    "expect": {"items": [{"at": "2025-12-31T23:59:59Z", "now": "2026-01-01T00:00:00Z"}, {"at": "2025-12-31", "now": "2026-01-01T00:00:00Z"},
	      {"at": "2026-01-01T00:00:59Z", "now": "2026-01-01T00:01:00Z"}]}}]}`)
	require.Empty(t, report.Tests[0].Differences)
}

func TestATestWithoutPagesOrExpectationsIsRefused(t *testing.T) {
	_, err := engine.Load("c.json", []byte(`{"api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [{"endpoint": "users"}]},
	  "tests": [{"name": "x", "pages": [], "expect": {}}]}`))
	require.ErrorContains(t, err, "tests[0].pages: want at least one page")
	require.ErrorContains(t, err, "tests[0].expect: want at least one expectation")
}

func TestTheSampleTestPasses(t *testing.T) {
	for _, c := range []struct{ name, api, jobs string }{
		{"not paged", ``, `{"endpoint": "users"}`},
		{"items below a path", `"pagination": {"method": "offset", "limit": 2}`, `{"endpoint": "users", "dataField": "data.users"}`},
		{"items in the root", `"pagination": {"method": "offset", "limit": 1}`, `{"endpoint": "users", "dataField": "."}`},
		{"two jobs", `"pagination": {"method": "pagenum"}`, `{"endpoint": "users"}, {"endpoint": "groups"}`},
		{"ids of another name", `"pagination": {"method": "cursor", "idKey": "key", "param": "since"}`, `{"endpoint": "users"}`},
		{"a link in the response", `"pagination": {"method": "response.url", "urlKey": "next"}`, `{"endpoint": "users", "method": "POST"}`},
		{"no rule that ends the list", `"pagination": {"method": "expression", "nextRequest": {"params": {"page": "page + 1"}}}`,
			`{"endpoint": "users", "dataField": "d"}`},
		{"a flag in the response", `"pagination": {"method": "pagenum", "stopRules": ["body.last"]}`, `{"endpoint": "users", "dataField": "d"}`},
		{"dialect keboola", `"dialect": "keboola", "pagination": {"method": "pagenum"}`, `{"endpoint": "users"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := strings.TrimSuffix(`"baseUrl": "https://api.test/", `+c.api, ", ")
			config := fmt.Sprintf(`{"api": {%s}, "config": {"jobs": [%s]}`, api, c.jobs)
			e, err := engine.Load("c.json", []byte(config+"}"))
			require.NoError(t, err)
			sample := e.SampleTest()
			report := tested(t, "c.json", config+",\n"+sample+"}")
			require.Zero(t, report.Failed(), "%s\n%+v", sample, report.Tests)
		})
	}
}
