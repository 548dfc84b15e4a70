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
		`let f = first; f.body.meta.pages > page`:                  {"first.body.meta.pages"},
		`let m = prev.body; m.more == true`:                        {"prev.body.more"},
		`any(items, let i = #; i.id > 7)`:                          nil,
		`let m = body.meta; any(items, .id > m.last) and m == nil`: {"body.meta.last"},
	} {
		t.Run(source, func(t *testing.T) {
			e, faults := one(t, rules.RoleStop, source)
			require.Empty(t, faults)
			var reads []string
			for _, r := range e.IndirectReads() {
				reads = append(reads, r.String())
			}
			require.Equal(t, want, reads)
		})
	}
}
