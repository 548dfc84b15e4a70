package rules_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// load parses, decodes and lowers a configuration.
func load(t *testing.T, text string, options rules.Options) (*rules.Config, *rules.Lowered, diag.Diagnostics) {
	t.Helper()
	source := diag.NewSource("c.json", text)
	root, err := rules.ParseJSON(source)
	if err != nil {
		var found diag.Diagnostics
		require.ErrorAs(t, err, &found)
		return nil, nil, found
	}
	cfg, found := rules.Decode(source, root, options)
	if found.Err() != nil {
		return cfg, nil, found
	}
	lowered, more := cfg.Lower()
	return cfg, lowered, append(found, more...)
}

// paged is a configuration of one job with a pagination object.
func paged(pagination string) string {
	return `{"api": {"baseUrl": "https://api.test/", "pagination": ` + pagination + `},
 "config": {"jobs": [{"endpoint": "users", "params": {"limit": "3"}}]}}`
}

func TestEveryMistakeIsReportedWithItsPlaceAndFix(t *testing.T) {
	const offset = `"method": "offset", "limit": 2`
	var methods []string
	for _, m := range rules.Builtin().Methods(rules.Spec) {
		methods = append(methods, m.Name)
	}
	for _, c := range []struct{ name, config, path, message, hint string }{
		{"no method", paged(`{}`), "api.pagination", "method is missing",
			"one of " + strings.Join(methods, ", ")},
		{"unknown method", paged(`{"method": "ofset"}`), "api.pagination.method", `unknown method "ofset"`, `did you mean "offset"?`},
		{"misspelt option", paged(`{` + offset + `, "offsetParm": "o"}`), "api.pagination.offsetParm", `unknown key "offsetParm"`,
			`did you mean "offsetParam"?`},
		{"misspelt inner option", paged(`{` + offset + `, "forceStop": {"page": 3}}`), "api.pagination.forceStop.page",
			`unknown key "page"`, `did you mean "pages"?`},
		{"option of another method", paged(`{` + offset + `, "urlKey": "next"}`), "api.pagination.urlKey", `unknown key "urlKey"`,
			"it is a setting of method response.url; known here:"},
		{"key of the pagination in a job",
			strings.Replace(paged(`{`+offset+`}`), `"endpoint"`, `"keep": {}, "endpoint"`, 1), "config.jobs[0].keep", `unknown key "keep"`, "it belongs in api.pagination"},
		{"pagination in config", strings.Replace(paged(`{`+offset+`}`), `"jobs"`, `"pagination": {}, "jobs"`, 1), "config.pagination",
			`unknown key "pagination"`, "it belongs in api or, for a job that pages in its own way, in the job"},
		{"empty pagination of a job", strings.Replace(paged(`{`+offset+`}`), `"endpoint"`, `"pagination": {}, "endpoint"`, 1),
			"config.jobs[0].pagination", "method is missing", "one of "},
		{"pagination of a job that is no object", strings.Replace(paged(`{`+offset+`}`), `"endpoint"`, `"pagination": "offset", "endpoint"`, 1),
			"config.jobs[0].pagination", `want an object, got "offset"`, ""},
		{"key of a method in api", strings.Replace(paged(`{`+offset+`}`), `"baseUrl"`, `"urlKey": "next", "baseUrl"`, 1), "api.urlKey",
			`unknown key "urlKey"`, "it belongs in api.pagination"},
		{"key of a job in the pagination", paged(`{` + offset + `, "dataField": "data"}`), "api.pagination.dataField",
			`unknown key "dataField"`, "it belongs in a job, config.jobs[0]"},
		{"limit is not a number", paged(`{"method": "offset", "limit": "abc"}`), "api.pagination.limit",
			`want a whole number above 0, got "abc"`, ""},
		{"limit is zero", paged(`{"method": "offset", "limit": 0}`), "api.pagination.limit", "want a whole number above 0, got 0", ""},
		{"limit is missing", strings.Replace(paged(`{"method": "offset"}`), `"limit": "3"`, "", 1), "api.pagination",
			"limit is missing", ""},
		{"job limit is not a number", strings.Replace(paged(`{`+offset+`}`), `"3"`, `"x"`, 1), "config.jobs[0].params.limit",
			`want a whole number above 0, got "x"`, "overrides the limit"},
		{"count and field", paged(`{` + offset + `, "limitStop": {"count": 1, "field": "a"}}`), "api.pagination.limitStop",
			"count and field are mutually exclusive", ""},
		{"neither count nor field", paged(`{` + offset + `, "limitStop": {}}`), "api.pagination.limitStop", "count or field is missing",
			""},
		{"stopOn is a word", paged(`{` + offset + `, "nextPageFlag": {"field": "last", "stopOn": "yes"}}`),
			"api.pagination.nextPageFlag.stopOn", `want true or false, got "yes"`, ""},
		{"stopOn is missing", paged(`{` + offset + `, "nextPageFlag": {"field": "last"}}`), "api.pagination.nextPageFlag",
			"stopOn is missing", ""},
		{"force stop of nothing", paged(`{` + offset + `, "forceStop": {"pages": 0}}`), "api.pagination.forceStop.pages",
			"want a whole number above 0, got 0", ""},
		{"time in other words", paged(`{` + offset + `, "forceStop": {"time": "soon"}}`), "api.pagination.forceStop.time",
			`want seconds above 0`, ""},
		{"unknown scroller",
			strings.Replace(paged(`{"method": "multiple", "scrollers": {"pages": {"method": "pagenum"}}}`), `"endpoint"`, `"scroller": "page", "endpoint"`, 1),
			"config.jobs[0].scroller", `unknown scroller "page"`, `did you mean "pages"?`},
		{"unknown default scroller", paged(`{"method": "multiple", "default": "b", "scrollers": {"a": {"method": "pagenum"}}}`),
			"api.pagination.default", `unknown scroller "b"`, `did you mean "a"?`},
		{"fault in unused scroller", paged(`{"method": "multiple", "scrollers": {"a": {"method": "cursor", "param": "p"}}}`),
			"api.pagination.scrollers.a", "idKey is missing", ""},
		{"empty expression rule", paged(`{` + offset + `, "stopRules": [{"name": "x"}]}`), "api.pagination.stopRules[0]",
			"when is missing", ""},
		{"unknown outcome", paged(`{` + offset + `, "stopRules": [{"when": "true", "outcome": "done"}]}`),
			"api.pagination.stopRules[0].outcome", "want complete, limited, guarded or failed", ""},
		{"expression without next", paged(`{"method": "expression"}`), "api.pagination", "method expression needs nextRequest", "page + 1"},
		{"url and endpoint", paged(`{"method": "expression", "nextRequest": {"url": "a", "endpoint": "b"}}`),
			"api.pagination.nextRequest", "url and endpoint are mutually exclusive", ""},
		{"unknown guard policy", paged(`{` + offset + `, "guards": {"samePage": "warn"}}`), "api.pagination.guards.samePage",
			`want stop, fail or ignore, got "warn"`, ""},
		{"unknown error action", paged(`{` + offset + `, "onError": [{"when": "status == 404", "do": "halt"}]}`),
			"api.pagination.onError[0].do", "want stop, retry, restart, fail or continue", ""},
		{"unknown key of a job", `{"api": {"baseUrl": "https://a.test"}, "config": {"jobs": [{"endpoint": "x", "dataFeild": "x"}]}}`,
			"config.jobs[0].dataFeild", `unknown key "dataFeild"`, `did you mean "dataField"?`},
		{"child jobs", `{"api": {"baseUrl": "https://a.test"}, "config": {"jobs": [{"endpoint": "x", "children": []}]}}`,
			"config.jobs[0].children", "children is a key of dialect keboola", ""},
		{"no jobs", `{"api": {"baseUrl": "https://a.test"}, "config": {"jobs": []}}`, "config.jobs", "want at least one job", ""},
		{"unknown http method", `{"api": {"baseUrl": "https://a.test"}, "config": {"jobs": [{"endpoint": "x", "method": "PUT"}]}}`,
			"config.jobs[0].method", `want GET, POST or FORM, got "PUT"`, ""},
		{"base address", `{"api": {"baseUrl": "api.test"}, "config": {"jobs": [{"endpoint": "x"}]}}`, "api.baseUrl",
			"not an http or https address", "https://"},
		{"unknown dialect", `{"api": {"baseUrl": "https://a.test", "dialect": "kebola"}, "config": {"jobs": [{"endpoint": "x"}]}}`,
			"api.dialect", `want spec or keboola, got "kebola"`, `did you mean "keboola"?`},
		{"environment not passed",
			`{"api": {"baseUrl": "https://a.test", "authentication": {"type": "bearer", "#token": {"env": "T"}}}, "config": {"jobs": [{"endpoint": "x"}]}}`,
			"api.authentication.#token", "environment variable T is not set, or not passed to this configuration", "WithEnv T"},
		{"key twice", `{"api": {"baseUrl": "https://a.test", "baseUrl": "x"}}`, "api.baseUrl", `duplicate key "baseUrl"`, ""},
		{"two jobs of one id",
			`{"api": {"baseUrl": "https://a.test"}, "config": {"jobs": [{"id": "a", "endpoint": "x"}, {"id": "a", "endpoint": "y"}]}}`,
			"config.jobs[1].id", `duplicate job id "a"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, found := load(t, c.config, rules.Options{})
			diags := found.Errors()
			require.Len(t, diags, 1, "%v", found)
			require.Equal(t, c.path, diags[0].Path)
			require.Contains(t, diags[0].Message, c.message)
			require.Contains(t, diags[0].Hint, c.hint)
			require.Equal(t, "c.json", diags[0].File)
			require.NotZero(t, diags[0].Pos.Line)
			require.Contains(t, diags[0].Snippet, "^")
		})
	}
}

func TestMistakesAreReportedTogetherInOrderOfPosition(t *testing.T) {
	_, _, diags := load(t, `{"api": {"baseUrl": "https://a.test", "http": {"headrs": {}}}, "config": {"jobs": [{"endpoint": 7}], "x": 1}}`, rules.Options{})
	var paths []string
	for _, f := range diags {
		paths = append(paths, f.Path)
	}
	require.Equal(t, []string{"api.http.headrs", "config.jobs[0].endpoint", "config.x"}, paths)
}

func TestPositionsAreLineAndColumnOfTheValueOrKey(t *testing.T) {
	_, _, found := load(t, "{\"api\": {\"baseUrl\": \"https://ä.test\",\n  \"pagination\": {\"method\": \"offset\",\n    \"limit\": \"x\", \"oops\": 1}}, \"config\": {\"jobs\": [{\"endpoint\": \"x\"}]}}", rules.Options{})
	require.EqualError(t, found.Err(), `api.pagination.limit: want a whole number above 0, got "x" (c.json:3:14)
 |     "limit": "x", "oops": 1}}, "config": {"jobs": [{"endpoint": "x"}]}}
 |              ^
api.pagination.oops: unknown key "oops" (c.json:3:19)
 |     "limit": "x", "oops": 1}}, "config": {"jobs": [{"endpoint": "x"}]}}
 |                   ^
   known here: limit, offsetParam, firstPageParams, offsetFromJob, method, limitParam, nextPageFlag, forceStop, limitStop, hasMore, stopRules, state, keep, nextRequest, guards, audit, onError`)
}

func TestSyntaxErrorsShowTheirPlace(t *testing.T) {
	for _, c := range []struct {
		name, text string
		at         diag.Position
	}{
		{"a comma", "{\"api\":\n  {,}}", diag.Position{Line: 2, Column: 4}},
		{"a missing brace", "{\"api\": 1", diag.Position{Line: 1, Column: 10}},
		{"a second value", "{\"api\": 1}\n {}", diag.Position{Line: 2, Column: 2}},
		{"nothing", "", diag.Position{Line: 1, Column: 1}},
		{"an unknown escape", "{\"a\": \"\\x\"}", diag.Position{Line: 1, Column: 9}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := rules.ParseJSON(diag.NewSource("c.json", c.text))
			var diags diag.Diagnostics
			require.ErrorAs(t, err, &diags)
			require.Equal(t, c.at, diags[0].Pos)
		})
	}
}

func TestKeysThatOnlyChangeTheOutputDrawAWarning(t *testing.T) {
	_, _, found := load(t, `{"parameters": {"api": {"baseUrl": "https://a.test"}, "config": {"outputBucket": "b", "jobs": [{"endpoint": "x", "responseFilter": "a"}]}}}`, rules.Options{})
	require.NoError(t, found.Err())
	require.Len(t, found, 2)
	require.Equal(t, "parameters.config.outputBucket", found[0].Path)
	require.Equal(t, "parameters.config.jobs[0].responseFilter", found[1].Path)
}

func TestDialectKeboolaReadsWhatTheReferenceReads(t *testing.T) {
	_, lowered, found := load(t, paged(`{"method": "offset", "limit": "2.7", "limitParam": "", "firstPageParams": "false", "unheardOf": 1, "forceStop": {"pages": 0}, "nextPageFlag": {}}`), rules.Options{Dialect: "keboola"})
	require.NoError(t, found.Err())
	sets := lowered.Jobs
	require.Equal(t, 3, sets[0].Limit, "the job's own limit is in force")
	first := 0
	for _, r := range lowered.Jobs[0].Rules {
		if r.Sending.First {
			first++
		}
	}
	require.Equal(t, 2, first, `the string "false" is true`)
	require.Equal(t, `unknown key "unheardOf"`, found[0].Message)
	for _, r := range lowered.Jobs[0].Rules {
		require.NotEqual(t, "forceStop.pages", r.ID, "0 pages are no limit")
	}
	_, lowered, found = load(t, paged(`{"method": ""}`), rules.Options{Dialect: "keboola"})
	require.NoError(t, found.Err())
	require.Empty(t, lowered.Jobs[0].Method, "an empty method is no pagination")
}

func TestJobsGetReadableIDs(t *testing.T) {
	cfg, _, found := load(t, `{"api": {"baseUrl": "https://a.test"}, "config": {"jobs": [{"endpoint": "x"}, {"endpoint": "y"}, {"endpoint": "x", "params": {"a": 1}}]}}`, rules.Options{})
	require.NoError(t, found.Err())
	require.Equal(t, []string{"x#1", "y", "x#3"}, []string{cfg.Jobs[0].ID, cfg.Jobs[1].ID, cfg.Jobs[2].ID})
}

func TestSecretsAreCollectedFromHashKeysAndTheEnvironment(t *testing.T) {
	env := func(name string) (string, bool) { return "from-" + name, name == "KEY" }
	cfg, _, found := load(t, `{"api": {"baseUrl": "https://a.test", "http": {"headers": {"#X-Key": "s1", "X-Env": {"env": "KEY"}}},
		"authentication": {"type": "basic", "username": "u", "#password": "s2"}}, "config": {"jobs": [{"endpoint": "x", "params": {"a": {"#deep": "s3"}}}]}}`, rules.Options{Env: env})
	require.NoError(t, found.Err())
	require.ElementsMatch(t, []string{"s1", "from-KEY", "s2", "u:s2", "s3"}, cfg.Secrets)
	require.Equal(t, rules.Object{{Name: "X-Key", Value: "s1"}, {Name: "X-Env", Value: "from-KEY"}}, cfg.HTTP.Headers)
	require.Equal(t, rules.Object{{Name: "a", Value: rules.Object{{Name: "deep", Value: "s3"}}}}, cfg.Jobs[0].Params)
}

func TestWhatLooksLikeASecretIsHiddenAndWarnedOf(t *testing.T) {
	cfg, _, found := load(t, `{"api": {"baseUrl": "https://user:p%40ss@a.test/v1/",
		"http": {"headers": {"X-Api-Key": "header-1", "Authorization": "Bearer header-2", "X-Trace": "plain"}, "defaultOptions": {"params": {"api_key": "param-1"}}}},
		"config": {"jobs": [{"endpoint": "x?access_token=query-1&page=1",
			"params": {"filter": {"password": "deep-1"}, "key": "updated_at", "token": "t0ken-abc", "secret": 12}}]}}`, rules.Options{})
	require.NoError(t, found.Err())
	require.Equal(t, "https://a.test/v1/", cfg.BaseURL)
	require.Equal(t, "user:p%40ss", cfg.User.String())
	require.Equal(t, "x", cfg.Jobs[0].ID, "the id of a job is printed")
	require.Equal(t, "x", cfg.Jobs[0].DataType)
	require.ElementsMatch(t, []string{
		"user", "p@ss", "user:p@ss", "user:p%40ss", "header-1", "Bearer header-2", "header-2", "param-1", "query-1", "deep-1", "t0ken-abc",
	}, cfg.Secrets)
	var warned []string
	for _, d := range found.Warnings() {
		warned = append(warned, d.Path+": "+d.Message+"; "+d.Hint)
	}
	require.ElementsMatch(t, []string{
		`api.baseUrl: an address with a user name and a password; write them under api.authentication, with type "basic", "username" and "#password"`,
		`api.http.headers.X-Api-Key: X-Api-Key looks like a secret under a key without #; write it as "#X-Api-Key", or as {"env": "NAME"}`,
		`api.http.headers.Authorization: Authorization looks like a secret under a key without #; write it as "#Authorization", or as {"env": "NAME"}`,
		`api.http.defaultOptions.params.api_key: api_key looks like a secret under a key without #; write it as "#api_key", or as {"env": "NAME"}`,
		`config.jobs[0].endpoint: access_token looks like a secret in an address; write it under params, as "#access_token"`,
		`config.jobs[0].params.filter.password: password looks like a secret under a key without #; write it as "#password", or as {"env": "NAME"}`,
		`config.jobs[0].params.token: token looks like a secret under a key without #; write it as "#token", or as {"env": "NAME"}`,
	}, warned)
}

// An API may repeat a token without its scheme, a password, one cookie, or one parameter
// of an address that is a secret as a whole.
func TestCredentialsWithinASecretAreSecrets(t *testing.T) {
	const part = "Qk7vT0ken"
	for _, c := range []struct{ name, job, env string }{
		{"bearer", `"headers": {"#Authorization": "Bearer Qk7vT0ken"}`, ""},
		{"password of basic", `"headers": {"#Authorization": "Basic dTpRazd2VDBrZW4="}`, ""},
		{"cookie", `"headers": {"#Cookie": "a=b; sid=Qk7vT0ken"}`, ""},
		{"cookie from the environment", `"headers": {"Cookie": {"env": "VALUE"}}`, "sid=Qk7vT0ken; a=b"},
		{"parameter of an endpoint", `"endpoint": {"env": "VALUE"}`, "users?page=1&u=Qk7vT0ke%6e"},
		{"parameter of an address", `"endpoint": {"env": "VALUE"}`, "https://api.example.com/users?u=Qk7vT0ken&page=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			job := c.job
			if !strings.Contains(job, "endpoint") {
				job += `, "endpoint": "users"`
			}
			cfg, _, found := load(t, `{"api": {"baseUrl": "https://api.example.com/"}, "config": {"jobs": [{`+job+`}]}}`,
				rules.Options{Env: func(string) (string, bool) { return c.env, true }})
			require.NoError(t, found.Err())
			require.Contains(t, cfg.Secrets, part)
			require.NotContains(t, cfg.Secrets, "b", "short values occur in other words")
		})
	}
}

func TestSecretsInScrollRequestsAreReadAsInJobs(t *testing.T) {
	scroll := `"method": "response.param", "responseParam": "next", "queryParam": "cursor", "scrollRequest": {"params": {"#key": "s1", "a": {"#b": "s2"}}}`
	for _, pagination := range []string{`{` + scroll + `}`, `{"method": "multiple", "default": "a", "scrollers": {"a": {` + scroll + `}}}`} {
		cfg, lowered, found := load(t, paged(pagination), rules.Options{})
		require.NoError(t, found.Err())
		require.ElementsMatch(t, []string{"s1", "s2"}, cfg.Secrets)
		var targets []string
		for _, r := range lowered.Jobs[0].Rules {
			if r.Role == rules.RoleParam {
				targets = append(targets, r.Target)
				require.NotContains(t, r.Source, "#")
			}
		}
		require.Equal(t, []string{"key", "a", "cursor"}, targets)
	}
}

func TestANameOfAnExpressionHasNoHash(t *testing.T) {
	_, _, found := load(t, paged(`{"method": "expression", "nextRequest": {"params": {"#key": "1"}}}`), rules.Options{})
	require.ErrorContains(t, found.Err(), `api.pagination.nextRequest.params.#key: # marks a secret, but this is an expression`)
	require.ErrorContains(t, found.Err(), `write the name without #; declare the secret as an input with "secret": true and read it as input.NAME`)
}

func FuzzDecode(f *testing.F) {
	f.Add(paged(`{"method": "offset", "limit": "2", "nextPageFlag": {"field": "a", "stopOn": true}}`))
	f.Add(paged(`{"method": "multiple", "scrollers": {"a": {"method": "expression", "nextRequest": {"params": "x"}}}}`))
	f.Add(`{"parameters": {"api": {"dialect": "keboola", "baseUrl": "http://a", "http": {"headers": {"#x": {"env": "Y"}}}}, "config": {"jobs": [{"endpoint": "x", "dataField": {"path": "."}}]}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		_, lowered, found := load(t, text, rules.Options{})
		for _, d := range found {
			require.NotEmpty(t, d.Message)
		}
		if lowered == nil {
			return
		}
		for _, set := range lowered.Jobs {
			for _, rule := range set.Rules {
				require.NotEmpty(t, rule.ID)
				if rule.Origin.By.Kind == rules.AuthorMethod && !strings.Contains(text, "${") {
					require.NotContains(t, rule.Source, "${", "every setting is bound")
				}
			}
		}
	})
}

func TestMistakesUnderNamesWithDotsAndBracketsShowTheirPlace(t *testing.T) {
	const config = `{"api": {"baseUrl": "https://api.test/"},
 "config": {"jobs": [{"endpoint": "x", "headers": {"a.b[0]": [], "a": {"b[0]": 1}, "é\u002e": {}}}]}}`
	for name, parse := range map[string]func(*diag.Source) (any, error){"c.json": rules.ParseJSON, "c.yaml": yaml.Parse} {
		source := diag.NewSource(name, strings.TrimSuffix(config, "}")+map[string]string{"c.json": "}", "c.yaml": "} # YAML"}[name])
		root, err := parse(source)
		require.NoError(t, err)
		_, found := rules.Decode(source, root, rules.Options{})
		var places []string
		for _, d := range found {
			places = append(places, fmt.Sprintf("%s: %d:%d", d.Path, d.Pos.Line, d.Pos.Column))
		}
		// Two values have the second path. The place is that of the later one.
		require.Equal(t, []string{
			"config.jobs[0].headers.a: 2:71", "config.jobs[0].headers.a.b[0]: 2:80", "config.jobs[0].headers.é.: 2:95",
		}, places, name)
	}
}

func TestAnEmptyElementIsAnEmptyObjectInDialectKeboola(t *testing.T) {
	const begin = `{"api": {"baseUrl": "https://api.test/", "dialect": "keboola"`
	for _, c := range []struct{ name, config, want string }{
		{"a job", begin + `}, "config": {"jobs": [[]]}}`, "endpoint is missing"},
		{"a test", begin + `}, "config": {"jobs": [{"endpoint": "x"}]}, "tests": [{"name": "a", "pages": [[]], "expect": {"pages": 1}}, null]}`, "name is missing"},
		{"an input", begin + `}, "config": {"jobs": [{"endpoint": "x"}]}, "inputs": {"x": []}}`, ""},
		{"a variable", begin + `, "pagination": {"method": "expression", "nextRequest": {"params": "x"}, "state": {"x": []}}},
			"config": {"jobs": [{"endpoint": "x"}]}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, found := load(t, c.config, rules.Options{})
			if c.want == "" {
				require.NoError(t, found.Err())
			} else {
				require.ErrorContains(t, found.Err(), c.want)
			}
		})
	}
}

// TestAFileIsNamedAfterTheIDOfItsJob reads what jobs call their items, which is the name of their file.
func TestAFileIsNamedAfterTheIDOfItsJob(t *testing.T) {
	for _, c := range []struct{ dialect, job, want string }{
		{"spec", `"endpoint": "incremental/tickets/cursor.json"`, "incremental/tickets/cursor.json"},
		{"spec", `"id": "tickets", "endpoint": "incremental/tickets/cursor.json"`, "tickets"},
		{"spec", `"id": "tickets", "endpoint": "t", "dataType": "all_tickets"`, "all_tickets"},
		{"keboola", `"id": "tickets", "endpoint": "incremental/tickets/cursor.json"`, "incremental/tickets/cursor.json"},
	} {
		source := diag.NewSource("c.json", `{"api": {"baseUrl": "https://api.test/"}, "config": {"jobs": [{`+c.job+`}]}}`)
		root, err := rules.ParseJSON(source)
		require.NoError(t, err)
		cfg, found := rules.Decode(source, root, rules.Options{Dialect: rules.Dialect(c.dialect)})
		require.NoError(t, found.Err())
		require.Equal(t, c.want, cfg.Jobs[0].DataType, "%s: %s", c.dialect, c.job)
	}
}

// A response in an encoding that the configuration asks for, and that cannot be decoded, fails a run.
func TestAnEncodingThatCannotBeReadDrawsAWarning(t *testing.T) {
	for value, want := range map[string]string{
		"br": "br", "gzip, deflate, br": "deflate", "*": "*", "GZIP, Br;q=0.5": "br",
		"": "", "gzip": "", "zstd, gzip;q=0.8, identity": "", "gzip, br;q=0, *; q=0.0": "",
	} {
		_, _, found := load(t, `{"api": {"baseUrl": "https://api.test/", "http": {"headers": {"accept-encoding": "`+value+`"}}},
			"config": {"jobs": [{"endpoint": "users"}]}}`, rules.Options{})
		warnings := found.Warnings()
		require.Equal(t, want != "", len(warnings) == 1, value)
		if want != "" {
			require.Contains(t, warnings[0].Message, "such as "+want+", cannot be read", value)
		}
	}
}
