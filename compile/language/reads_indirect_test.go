package language

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

func TestPathsAreReadThroughVariablesAndFunctions(t *testing.T) {
	for source, want := range map[string][]string{
		`let m = body.meta; page < m.pages`:                        {"body.meta.pages"},
		`let b = body; let m = b.meta; m.a == m.b.c`:               {"body.meta", "body.meta.a", "body.meta.b.c"},
		`let m = body.meta; let m2 = m ?? {}; m2.pages == 1`:       nil, // a default may have it
		`get(body, "more") != true`:                                {"body.more"},
		`(body | get("more")) != true`:                             {"body.more"},
		`get(body.meta, "a").b == 1`:                               {"body.meta.a.b"},
		`at(body, "meta.pages") > page`:                            {"body.meta.pages"},
		`at("meta.pages") > page and body.meta.next == nil`:        nil, // both are direct
		`any(jsonpath("$.meta.more"), # == true)`:                  {"body.meta.more"},
		`any(jsonpath("$..more"), # == true)`:                      nil,
		`jsonpath("$.meta.next")[0] == nil`:                        {"body.meta.next"},
		`get(jsonpath("$.meta.next"), 0) == nil`:                   {"body.meta.next"},
		`let j = jsonpath("$.meta"); j[-1].next == nil`:            {"body.meta", "body.meta"},
		`let f = first; f.body.meta.pages > page`:                  {"first.body.meta.pages"},
		`let m = prev.body; m.more == true`:                        {"prev.body.more"},
		`any(items, let i = #; i.id > 7)`:                          nil,
		`let m = body.meta; any(items, .id > m.last) and m == nil`: {"body.meta.last"},
	} {
		t.Run(source, func(t *testing.T) {
			e, faults := one(t, rules.RoleStop, source)
			require.Empty(t, faults)
			var reads []string
			for _, r := range e.code.indirect() {
				reads = append(reads, r.String())
			}
			require.Equal(t, want, reads)
		})
	}
}

func TestAPathThatIsReadThroughAFunctionMayHaveADefault(t *testing.T) {
	for source, want := range map[string]bool{
		`get(body, "cur") ?? "EUR"`: true, `at(body, "meta.cur") ?? "EUR"`: true, `let m = body.meta; m.cur ?? "EUR"`: true,
		`first(jsonpath("$.cur")) ?? "EUR"`: true, `get(body, "cur")`: false,
	} {
		e, faults := one(t, rules.RoleStop, "("+source+`) == "x"`)
		require.Empty(t, faults)
		require.Equal(t, want, e.code.indirect()[0].Defaulted, source)
	}
}
