package rules_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// stops returns the stopping rules of the first job, each as id and outcome.
func stops(t *testing.T, pagination string) []string {
	t.Helper()
	_, lowered, found := load(t, paged(pagination), rules.Options{})
	require.NoError(t, found.Err())
	var out []string
	for _, r := range lowered.Jobs[0].Rules {
		if r.Role == rules.RoleStop {
			out = append(out, r.ID+" "+string(r.Outcome))
		}
	}
	return out
}

func TestAGuardInAScrollerOverridesTheOneBesideIt(t *testing.T) {
	const multiple = `{"method": "multiple", "default": "a", "guards": %s, "scrollers": {"a": {"method": "pagenum", "guards": %s}}}`
	for _, c := range []struct{ name, outer, inner, want string }{
		{"default", `{}`, `{}`, "samePage complete"},
		{"next to the scroller", `{"samePage": "fail"}`, `{}`, "samePage failed"},
		{"in the scroller", `{}`, `{"samePage": "fail"}`, "samePage failed"},
		{"in the scroller, too", `{"samePage": "fail"}`, `{"samePage": "stop"}`, "samePage complete"},
		{"ignored next to the scroller", `{"samePage": "ignore"}`, `{}`, ""},
		{"ignored in the scroller", `{"samePage": "fail"}`, `{"samePage": "ignore"}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := stops(t, fmt.Sprintf(multiple, c.outer, c.inner))
			if c.want == "" {
				require.NotContains(t, strings.Join(got, "\n"), "samePage")
				return
			}
			require.Equal(t, c.want, got[0])
			require.Equal(t, 1, strings.Count(strings.Join(got, "\n"), "samePage"))
		})
	}
}

func TestRulesAreOrdered(t *testing.T) {
	var want []string
	for _, g := range rules.Builtin().Guards() {
		switch g.Policy {
		case rules.PolicyStop:
			want = append(want, g.ID+" "+string(g.Outcome))
		case rules.PolicyFail:
			want = append(want, g.ID+" failed")
		}
	}
	require.Equal(t, append(want,
		"limitStop.count limited", "forceStop.pages limited", "stopRules[0] complete",
		"a.forceStop.pages limited", "pagenum.empty complete", "a.stopRules[0] complete", "own guarded",
	), stops(t, `{"method": "multiple", "default": "a", "forceStop": {"pages": 9}, "limitStop": {"count": 5}, "stopRules": ["count == 1"],
		"scrollers": {"a": {"method": "pagenum", "forceStop": {"pages": 8}, "stopRules": ["count == 2", {"name": "own", "when": "count == 3", "outcome": "guarded"}]}}}`),
		"guards, then what is next to the scroller, then the scroller's: shared rules, the method's, the user's")
}

func TestARuleThatSplitsAWindowComesBeforeGuardsThatEndNoList(t *testing.T) {
	for guards, want := range map[string][]string{
		`{}`:                     {"samePage", "for.w.splitWhen", "repeatedExchange"},
		`{"samePage": "fail"}`:   {"for.w.splitWhen", "samePage", "repeatedExchange"},
		`{"samePage": "ignore"}`: {"for.w.splitWhen", "repeatedExchange", "sameItems"},
	} {
		_, lowered, found := load(t, `{"api": {"baseUrl": "https://x.example/", "pagination": {"method": "pagenum", "guards": `+guards+`}},
			"config": {"jobs": [{"endpoint": "a", "params": {"from": {"expr": "w.from"}},
				"for": {"w": {"from": "2026-01-01", "to": "2026-02-01", "splitWhen": "count == 100"}}}]}}`, rules.Options{})
		require.NoError(t, found.Err())
		var ids []string
		for _, r := range lowered.Jobs[0].Rules {
			if r.Role == rules.RoleStop {
				ids = append(ids, r.ID)
			}
		}
		require.Equal(t, want, ids[:3], guards)
	}
}

func TestClausesSayNumbersAndPathsAsTheyApply(t *testing.T) {
	for _, c := range []struct{ name, pagination, id, clause string }{
		{"singular", `{"method": "pagenum", "forceStop": {"pages": 1}}`, "forceStop.pages", "the limit of 1 page is reached"},
		{"plural", `{"method": "pagenum", "forceStop": {"pages": 2}}`, "forceStop.pages", "the limit of 2 pages is reached"},
		{"a fraction", `{"method": "pagenum", "forceStop": {"time": 1.5}}`, "forceStop.time", "the time limit of 1.5 seconds is reached"},
		{"the limit in force", `{"method": "offset", "limit": 10}`, "offset.short", "a page has fewer items than the limit of 3, which the job's parameter limit sets"},
		{"a flag that stops when it is missing", `{"method": "pagenum", "nextPageFlag": {"field": "last", "stopOn": true}}`,
			"nextPageFlag", "last is missing or counts as true"},
		{"a flag that does not", `{"method": "pagenum", "nextPageFlag": {"field": "last", "stopOn": true, "ifNotSet": false}}`,
			"nextPageFlag", "last counts as true"},
		{"no ignored paths", `{"method": "pagenum"}`, "samePage",
			"a response has the same body as the previous one"},
		{"ignored paths", `{"method": "pagenum", "guards": {"ignore": ["meta.took", "at"]}}`, "samePage",
			"a response has the same body as the previous one, ignoring body.meta.took, body.at"},
		{"a path as it is written", `{"method": "response.url", "urlKey": "a/b", "delimiter": "/", "hasMore": "x\\.y"}`, "hasMore",
			`x\.y is missing or counts as false`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, lowered, found := load(t, paged(c.pagination), rules.Options{})
			require.NoError(t, found.Err())
			require.Equal(t, c.clause, ruleOf(t, lowered.Jobs[0], c.id).Clause)
		})
	}
}

func TestAParameterOfAllRequestsIsThePageSize(t *testing.T) {
	for _, c := range []struct{ name, limit, params, clause string }{
		{"of all requests", "", "", "the limit of 7, which the parameter size of all requests sets"},
		{"of the pagination", `"limit": 5, `, "", "the limit of 5"},
		{"of the job", "", `, "params": {"size": 3}`, "the limit of 3, which the job's parameter size sets"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, lowered, found := load(t, `{"api": {"baseUrl": "https://x.example/", "http": {"defaultOptions": {"params": {"size": 7}}},
				"pagination": {"method": "keyset", "idKey": "id", "param": "after", `+c.limit+`"limitParam": "size", "shortPageEnds": true}},
				"config": {"jobs": [{"endpoint": "a"`+c.params+`}]}}`, rules.Options{})
			require.NoError(t, found.Err())
			require.Equal(t, "a page has fewer items than "+c.clause, ruleOf(t, lowered.Jobs[0], "keyset.short").Clause)
		})
	}
}

func TestSettingsCannotInjectOtherSettings(t *testing.T) {
	_, lowered, found := load(t, paged(`{"method": "response.params", "responseParams": {"a": "x${limit}", "b": "y"}, "guards": {"ignore": ["${limit}"]}}`), rules.Options{})
	require.NoError(t, found.Err())
	set := lowered.Jobs[0]
	require.Equal(t, `empty(at("x${limit}")) and empty(at("y"))`, ruleOf(t, set, "response.params.end").Source)
	require.Contains(t, ruleOf(t, set, "samePage").Clause, `ignoring body["${limit}"]`)
}

func TestTheMessageOfAUserRuleHasItsSource(t *testing.T) {
	_, lowered, found := load(t, paged(`{"method": "pagenum", "stopRules": ["count == 2", "all(items, {.id > 3})"]}`), rules.Options{})
	require.NoError(t, found.Err())
	require.Equal(t, "stopRules[0] is met: count == 2", ruleOf(t, lowered.Jobs[0], "stopRules[0]").Message)
	require.Equal(t, "stopRules[1] is met", ruleOf(t, lowered.Jobs[0], "stopRules[1]").Message, "its braces would be an expression of the message")
}

func TestUserPartsReplaceTheMethods(t *testing.T) {
	for _, c := range []struct{ name, pagination, want string }{
		{"a parameter of all requests", `{"method": "pagenum", "nextRequest": {"params": {"page": "page + 5"}}}`,
			"params.page=state.page first only, params.page=page + 5, params.limit=limit both"},
		{"and of the first", `{"method": "pagenum", "nextRequest": {"params": {"page": "page + 5"}, "applyToFirst": true}}`,
			"params.page=page + 5 both, params.limit=limit both"},
		{"an address", `{"method": "response.url", "nextRequest": {"endpoint": "body.next"}}`, "endpoint=body.next"},
		{"another parameter", `{"method": "cursor", "idKey": "id", "param": "since", "nextRequest": {"params": {"x": 1}, "method": "post"}}`,
			`params.since=state.id, method="POST", params.x=1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, lowered, found := load(t, paged(c.pagination), rules.Options{})
			require.NoError(t, found.Err())
			var parts []string
			for _, r := range lowered.Jobs[0].Rules {
				if !r.Role.Builds() {
					continue
				}
				text := strings.TrimPrefix(r.ID, "nextRequest.") + "=" + r.Source
				if r.Sending.First && r.Sending.Subsequent {
					text += " both"
				} else if r.Sending.First {
					text += " first only"
				}
				parts = append(parts, text)
			}
			require.Equal(t, c.want, strings.Join(parts, ", "))
		})
	}
}

func TestScrollersThatNoJobUsesAreLoweredOnce(t *testing.T) {
	nested := `{"method": "pagenum"}`
	for range 20 { // in the dialect that allows it
		nested = `{"method": "multiple", "default": "a", "scrollers": {"a": ` + nested + `, "b": {"method": "pagenum"}}}`
	}
	_, lowered, found := load(t, paged(nested), rules.Options{Dialect: rules.Keboola})
	require.NoError(t, found.Err())
	require.Equal(t, "pagenum", lowered.Jobs[0].Method)
	require.Len(t, lowered.UnusedScrollers, 20, "one for each level")
}

func TestAScrollerCannotHaveScrollers(t *testing.T) {
	nested := `{"method": "pagenum"}`
	for range 20 {
		nested = `{"method": "multiple", "default": "a", "scrollers": {"a": ` + nested + `, "b": {"method": "pagenum"}}}`
	}
	for _, c := range []struct{ name, pagination, path string }{
		{"in use", nested, "api.pagination.scrollers.a.method"},
		{"not in use", `{"method": "multiple", "default": "b", "scrollers": {"a": ` + nested + `, "b": {"method": "pagenum"}}}`,
			"api.pagination.scrollers.a.method"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, found := load(t, paged(c.pagination), rules.Options{})
			require.Len(t, found.Errors(), 1)
			require.Equal(t, c.path, found[0].Path)
			require.Contains(t, found[0].Error(), "a scroller cannot have method multiple itself")
		})
	}
}

func TestAPaginationThatNoJobUsesIsMentioned(t *testing.T) {
	const own = `"endpoint": "a", "pagination": {"method": "offset", "limit": 10}`
	for _, c := range []struct{ name, jobs, pagination, want string }{
		{"every job has its own", `{` + own + `}`, `{"method": "pagenum"}`,
			"no job uses this pagination: each has its own"},
		{"another job has none", `{` + own + `}, {"endpoint": "b"}`, `{"method": "pagenum"}`, ""},
		{"with scrollers its rules are for every job", `{` + own + `}`,
			`{"method": "multiple", "forceStop": {"pages": 5}, "scrollers": {"a": {"method": "pagenum"}}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := `{"api": {"baseUrl": "https://api.test/", "pagination": ` + c.pagination + `}, "config": {"jobs": [` + c.jobs + `]}}`
			_, lowered, found := load(t, text, rules.Options{})
			if c.want == "" {
				require.Empty(t, found)
			} else {
				require.Len(t, found, 1)
				require.Equal(t, diag.SeverityWarning, found[0].Severity)
				require.Contains(t, found[0].Error(), c.want)
			}
			for _, r := range lowered.Jobs[0].Rules {
				if r.ID == "offset.short" {
					require.Equal(t, "a page has fewer items than the limit of 10", r.Clause)
				}
			}
		})
	}
}

func TestLowerDoesNotChangeTheConfiguration(t *testing.T) {
	cfg, first, found := load(t, paged(`{"method": "multiple", "unheardOf": 1, "scrollers": {"a": {"method": "pagenum"}}}`), rules.Options{Dialect: rules.Keboola})
	require.Len(t, found, 1)
	second, again := cfg.Lower()
	require.Equal(t, first, second)
	require.Equal(t, found, again)
}

func TestLoweringFindsMistakesBetweenSettings(t *testing.T) {
	for _, c := range []struct{ name, pagination, path, message, hint string }{
		{"a key that belongs in a scroller", `{"method": "multiple", "limit": 5, "scrollers": {"a": {"method": "pagenum"}}}`,
			"api.pagination.limit", "limit belongs in a scroller", "move it"},
		{"no scrollers", `{"method": "multiple", "scrollers": {}}`, "api.pagination.scrollers", "want at least one scroller", ""},
		{"both alternatives", `{"method": "pagecount", "pagesField": "a", "pagesHeader": "b"}`,
			"api.pagination", "pagesField and pagesHeader are mutually exclusive", ""},
		{"neither alternative", `{"method": "pagecount"}`, "api.pagination", "pagesField or pagesHeader is missing", ""},
		{"an invalid alternative", `{"method": "pagecount", "pagesField": 5}`, "api.pagination.pagesField",
			"want a non-empty string, got 5", ""},
		{"an invalid count", `{"method": "pagenum", "limitStop": {"count": "many"}}`, "api.pagination.limitStop.count",
			"want a whole number above 0", ""},
		{"the root is ignored", `{"method": "pagenum", "guards": {"ignore": ["."]}}`, "api.pagination.guards.ignore[0]",
			`want a path in the response, got "."`, ""},
		{"a rule id twice", `{"method": "pagenum", "stopRules": [{"name": "pagenum.empty", "when": "true"}]}`,
			"api.pagination.stopRules[0]", `duplicate rule id "pagenum.empty"`, "another name"},
		{"an unknown finding", `{"method": "pagenum", "audit": {"ignore": ["audit.tokn"]}}`,
			"api.pagination.audit.ignore[0]", `got "audit.tokn"`, `did you mean "audit.token"?`},
		{"a value to keep", `{"method": "pagenum", "keep": {"since": 5}}`, "api.pagination.keep.since", "want an expression, got 5", ""},
		{"a list of parameters", `{"method": "pagenum", "nextRequest": {"params": [1]}}`,
			"api.pagination.nextRequest.params", "want an expression, or an object of expressions, got a list", ""},
		{"a list as a value", `{"method": "pagenum", "nextRequest": {"params": {"a": [1]}}}`,
			"api.pagination.nextRequest.params.a", "want an expression, got a list", `"{a: 1}"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, found := load(t, paged(c.pagination), rules.Options{})
			require.Len(t, found.Errors(), 1, "%v", found)
			require.Equal(t, c.path, found[0].Path)
			require.Contains(t, found[0].Message, c.message)
			require.Contains(t, found[0].Hint, c.hint)
		})
	}
}

func TestHintsForNestedFlagsKeepTheMeaning(t *testing.T) {
	for _, c := range []struct{ name, stopOn, hint string }{
		{"stops on true", "true", `"stopRules": ["not has('meta.flag') or truthy(body.meta.flag)"]`},
		{"stops on false", "false", `"hasMore": "meta.flag"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, found := load(t, paged(`{"method": "pagenum", "nextPageFlag": {"field": "meta.flag", "stopOn": `+c.stopOn+`}}`), rules.Options{})
			require.Len(t, found, 1)
			require.Equal(t, diag.SeverityWarning, found[0].Severity)
			require.Contains(t, found[0].Hint, c.hint)
		})
	}
}

func TestAFlagMayBeTheRoot(t *testing.T) {
	_, _, found := load(t, paged(`{"method": "pagenum", "hasMore": "."}`), rules.Options{})
	require.Empty(t, found)
}

func TestOriginsSayWhoWroteARule(t *testing.T) {
	_, lowered, found := load(t, paged(`{"method": "pagenum", "stopRules": ["count == 1"]}`), rules.Options{})
	require.NoError(t, found.Err())
	for _, c := range []struct{ id, json, text string }{
		{"samePage", `{"by":"default"}`, "default"},
		{"pagenum.empty", `{"by":"method pagenum","path":"api.pagination","file":"c.json","at":{"line":1,"column":56}}`,
			"method pagenum"},
		{"stopRules[0]", `{"by":"config","path":"api.pagination.stopRules[0]","file":"c.json","at":{"line":1,"column":92}}`,
			"stopRules[0], c.json:1:92"},
	} {
		t.Run(c.id, func(t *testing.T) {
			origin := ruleOf(t, lowered.Jobs[0], c.id).Origin
			text, err := json.Marshal(origin)
			require.NoError(t, err)
			require.JSONEq(t, c.json, string(text))
			require.Equal(t, c.text, origin.String())
		})
	}
}

// Jobs share the rules of the audit where they have no others, and none gets those that are
// added to another job.
func TestJobsDoNotShareTheRulesThatAreAddedToOne(t *testing.T) {
	ids := func(http string) (all [][]string) {
		t.Helper()
		_, lowered, found := load(t, `{"api": {"baseUrl": "https://api.test/"`+http+`}, "config": {"jobs": [{"endpoint": "a"},
			{"endpoint": "b", "for": {"n": {"values": [1, 2]}}, "params": {"n": {"expr": "n"}}}, {"endpoint": "c"}]}}`, rules.Options{})
		require.NoError(t, found.Err())
		var first []string
		for i, set := range lowered.Jobs {
			var own, audit []string
			for _, r := range set.Rules {
				if r.Role == rules.RoleAudit {
					audit = append(audit, r.ID)
				} else {
					own = append(own, r.ID)
				}
			}
			if i == 0 {
				first = audit
			}
			require.Equal(t, first, audit)
			require.Contains(t, audit, "audit.total")
			require.NotContains(t, audit, "audit.window", "no job splits windows")
			all = append(all, own)
		}
		return all
	}
	plain := ids("")
	require.Empty(t, plain[0])
	require.Len(t, plain[1], 1, "the parameter")
	require.Empty(t, plain[2])
	require.Equal(t, []string{"ignoreErrors.404"}, ids(`, "http": {"ignoreErrors": [404]}`)[0])
	require.Equal(t, plain, ids(""))
}
