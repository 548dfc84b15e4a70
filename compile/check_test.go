package compile

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// warnings compiles a pagination object and gives what is odd about it.
func warnings(t *testing.T, pagination string) []string {
	t.Helper()
	source := diag.NewSource("c.json", `{"api": {"baseUrl": "https://x.example/", "pagination": `+pagination+`}, "config": {"jobs": [{"endpoint": "users"}]}}`)
	root, err := rules.ParseJSON(source)
	require.NoError(t, err)
	cfg, decoded := rules.Decode(source, root, rules.Options{})
	require.NoError(t, decoded.Err())
	lowered, diagnostics := cfg.Lower()
	require.NoError(t, diagnostics.Err())
	_, compiled := Rulesets(cfg, lowered)
	require.NoError(t, compiled.Err())
	var out []string
	for _, w := range slices.Concat(decoded, diagnostics, compiled) {
		out = append(out, w.Path+": "+w.Message)
	}
	return out
}

func TestRulesThatAreProbablyNotMeantDrawAWarning(t *testing.T) {
	for pagination, want := range map[string]string{
		`{"method": "pagenum", "stopRules": ["count < 0"]}`:                                           "stopRules[0]: count < 0 is never true",
		`{"method": "pagenum", "stopRules": ["count >= 0"]}`:                                          "stopRules[0]: count >= 0 is always true: stopRules[0] stops after the first page",
		`{"method": "pagenum", "stopRules": ["page > 0 and true"]}`:                                   "is always true",
		`{"method": "pagenum", "stopRules": ["total.items - total.pages < -1 and 1 > 2"]}`:            "is never true",
		`{"method": "offset", "limit": 10, "stopRules": ["limit > 20"]}`:                              "limit > 20 is never true",
		`{"method": "offset", "limit": 10, "stopRules": ["limit * 2 == 20"]}`:                         "limit * 2 == 20 is always true",
		`{"method": "pagenum", "stopRules": ["job.params.x == 1"]}`:                                   "is the same after every page: stopRules[0] stops after the first page or never",
		`{"method": "pagenum", "onError": [{"when": "status < 400 and status > 500", "do": "stop"}]}`: "",
		`{"method": "pagenum", "onError": [{"when": "status > 600", "do": "stop"}]}`:                  "onError[0].when: status > 600 is never true",

		`{"method": "pagenum", "forceStop": {"pages": 5}, "stopRules": ["page > 9"]}`:              "stopRules[0] is never met: forceStop.pages stops at 5 pages, before 10 pages",
		`{"method": "pagenum", "forceStop": {"pages": 5}, "stopRules": ["page > 9 or count < 3"]}`: "",
		`{"method": "pagenum", "forceStop": {"pages": 500}, "guards": {"maxPages": 100}}`:          "forceStop.pages is never met: maxPages stops at 100 pages, before 500 pages",
		`{"method": "pagenum", "stopRules": ["body.end == true", "body.end == true"]}`:             "stopRules[1] is never the reason to stop: stopRules[0] says the same",
		`{"method": "pagenum", "stopRules": ["count == 0"]}`:                                       "stopRules[0] is never the reason to stop: pagenum.empty says the same",

		`{"method": "pagenum", "stopRules": ["body.more == true", "body.more != true"]}`:         "stopRules[0] and stopRules[1] contradict each other: whatever body.more is",
		`{"method": "pagenum", "hasMore": "m", "nextPageFlag": {"field": "m", "stopOn": true}}`:  "nextPageFlag and hasMore contradict each other",
		`{"method": "pagenum", "hasMore": "m", "nextPageFlag": {"field": "m", "stopOn": false}}`: "",

		`{"method": "expression", "nextRequest": {"params": {"page": "page + 1"}}}`:                                                                                                                     "pagination: no rule ends this scroll, so it fails at 100000 pages (guards.maxPages)",
		`{"method": "expression", "nextRequest": {"params": {"page": "page + 1"}}, "stopRules": ["count < -1"]}`:                                                                                        "is never true",
		`{"method": "expression", "nextRequest": {"url": "body.next"}}`:                                                                                                                                 "",
		`{"method": "expression", "nextRequest": {"params": {"page": "2"}}, "stopRules": ["count == 0"]}`:                                                                                               "nextRequest.params.page: the next request never changes",
		`{"method": "expression", "state": {"p": {"init": "1", "next": "state.p"}}, "nextRequest": {"params": {"page": "state.p"}}, "stopRules": ["count == 0"]}`:                                       "the next request never changes",
		`{"method": "expression", "state": {"p": {"init": "1", "next": "state.p + 1"}}, "nextRequest": {"params": {"page": "state.p"}}, "stopRules": ["count == 0"]}`:                                   "",
		`{"method": "expression", "state": {"p": {"init": "1", "next": "state.q"}, "q": {"init": "1", "next": "body.q"}}, "nextRequest": {"params": {"page": "state.p"}}, "stopRules": ["count == 0"]}`: "",

		`{"method": "pagenum", "nextPageFlag": {"field": "has_more", "stopOn": true}}`:                                       "nextPageFlag.stopOn: paging stops when has_more is true, although its name suggests that there is more then",
		`{"method": "pagenum", "nextPageFlag": {"field": "isLast", "stopOn": false}}`:                                        "paging stops when isLast is false",
		`{"method": "pagenum", "nextPageFlag": {"field": "isLast", "stopOn": true, "ifNotSet": true}}`:                       "nextPageFlag.ifNotSet: a page without isLast stops paging, too",
		`{"method": "pagenum", "nextPageFlag": {"field": "isLast", "stopOn": true}}`:                                         "",
		`{"method": "pagenum", "nextPageFlag": {"field": "isLast", "stopOn": true, "ifNotSet": false}}`:                      "",
		`{"method": "pagenum", "hasMore": "meta.done"}`:                                                                      "hasMore: paging stops when meta.done is false",
		`{"method": "pagenum", "forceStop": {"pages": 1}}`:                                                                   "",
		`{"method": "offset", "limit": 10, "forceStop": {"pages": 5, "time": 60, "volume": 9}, "limitStop": {"count": 100}}`: "",
		`{"method": "multiple", "scrollers": {"a": {"method": "pagenum", "stopRules": ["count < 0"]}}}`:                      "scrollers.a.stopRules[0]: count < 0 is never true",
	} {
		t.Run(pagination, func(t *testing.T) {
			got := warnings(t, pagination)
			if want == "" {
				require.Empty(t, got)
				return
			}
			require.NotEmpty(t, got)
			require.Contains(t, strings.Join(got, "\n"), want)
		})
	}
}

func TestAScrollerThatNoJobUsesIsCompiledToo(t *testing.T) {
	source := diag.NewSource("c.json", `{"api": {"baseUrl": "https://x.example/", "pagination": {"method": "multiple", "scrollers": {"a": {"method": "pagenum", "stopRules": ["cuont == 0"]}}}}, "config": {"jobs": [{"endpoint": "users"}]}}`)
	root, err := rules.ParseJSON(source)
	require.NoError(t, err)
	cfg, diagnostics := rules.Decode(source, root, rules.Options{})
	require.NoError(t, diagnostics.Err())
	lowered, diagnostics := cfg.Lower()
	require.NoError(t, diagnostics.Err())
	_, diagnostics = Rulesets(cfg, lowered)
	err = diagnostics.Err()
	require.ErrorContains(t, err, "api.pagination.scrollers.a.stopRules[0]: unknown name cuont")
}
