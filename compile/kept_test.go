package compile

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/compile/language"
)

// jobsOf compiles jobs that page by number. The second may be for the items of the first.
func jobsOf(t *testing.T, inputs, jobs string) []*Job {
	t.Helper()
	cfg, low, _ := loweredText(t, fmt.Sprintf(`{"inputs": %s, "api": {"baseUrl": "https://x.example/", "pagination": {"method": "pagenum"}},
		"config": {"jobs": [%s]}}`, inputs, jobs))
	all, found := Jobs(cfg, low, nil)
	require.NoError(t, found.Err())
	return all
}

func TestKeptValuesAreUsedWhereTheyAreRead(t *testing.T) {
	const keep = `"keep": {"since": "greatest(items, \"id\", kept.since)"}`
	const pagenum = `"pagination": {"method": "pagenum", ` + keep + `}`
	for _, c := range []struct {
		name, job string
		want      KeptUse
	}{
		{"only by keep itself", `{"endpoint": "a", ` + pagenum + `}`, KeptUnused},
		{"by a parameter of the job", `{"endpoint": "a", "params": {"s": {"expr": "kept.since"}}, ` + pagenum + `}`, KeptFromFirst},
		{"by the filter", `{"endpoint": "a", "filter": "item.id > kept.since", ` + pagenum + `}`, KeptFromFirst},
		{"by later requests", `{"endpoint": "a", "pagination": {"method": "expression", "stopRules": ["count == 0"],
			"nextRequest": {"params": {"s": "kept.since", "page": "page + 1"}}, ` + keep + `}}`, KeptAfterFirst},
		{"by a stopping rule", `{"endpoint": "a", "pagination": {"method": "pagenum", "stopRules": ["items[-1].id < kept.since"], ` + keep + `}}`,
			KeptFromFirst},
		{"by a rule that fails the run", `{"endpoint": "a", "pagination": {"method": "pagenum",
			"stopRules": [{"when": "items[-1].id < kept.since", "outcome": "failed"}], ` + keep + `}}`, KeptUnused},
	} {
		require.Equal(t, c.want, jobsOf(t, "{}", c.job)[0].KeptUse(), c.name)
	}
	tree := jobsOf(t, "{}", `{"id": "a", "endpoint": "a", "params": {"s": {"expr": "kept.since"}}, `+pagenum+`},
		{"endpoint": "b/{x.id}", "for": {"x": {"items": "a"}}}`)
	child := tree[slices.IndexFunc(tree, func(j *Job) bool { return j.Parent != nil })]
	require.Equal(t, KeptFromFirst, child.KeptUse(), "it runs for the new items of its parent")
	require.True(t, child.Parent.ListDependsOnKept())
	tree = jobsOf(t, "{}", `{"id": "a", "endpoint": "a", "filter": "item.id > kept.since", `+pagenum+`},
		{"endpoint": "b/{x.id}", "for": {"x": {"items": "a"}}}`)
	child = tree[slices.IndexFunc(tree, func(j *Job) bool { return j.Parent != nil })]
	require.Equal(t, KeptUnused, child.KeptUse(), "it runs for all items of its parent, also those that the filter leaves out")
	require.False(t, child.Parent.ListDependsOnKept())
}

func TestAnInputMayMoveTheEndOfWindows(t *testing.T) {
	const windows = `{"endpoint": "a", "params": {"from": {"expr": "w.from"}, "to": {"expr": "w.to"}%s}, "for": {"w": {"from": %s, "to": "input.end", "step": "1d"}}%s}`
	for _, c := range []struct {
		name, job              string
		endsWindows, elsewhere bool
	}{
		{"nowhere", `{"endpoint": "a"}`, false, false},
		{"in a parameter", `{"endpoint": "a", "params": {"e": {"expr": "input.end"}}}`, false, true},
		{"as the end of windows that begin anew", fmt.Sprintf(windows, "", `"2026-01-01"`, ""), true, true},
		{"as the end of windows that continue", fmt.Sprintf(windows, "", `"kept.end ?? \"2026-01-01\""`, `, "pagination": {"method": "pagenum", "keep": {"end": "w.to"}}`), true, false},
		{"both", fmt.Sprintf(windows, `, "e": {"expr": "input.end"}`, `"kept.end ?? \"2026-01-01\""`, `, "pagination": {"method": "pagenum", "keep": {"end": "w.to"}}`), true, true},
	} {
		endsWindows, elsewhere := jobsOf(t, `{"end": {"default": "2026-02-01"}}`, c.job)[0].InputUse("end")
		require.Equal(t, c.endsWindows, endsWindows, c.name)
		require.Equal(t, c.elsewhere, elsewhere, c.name)
	}
}

func TestAValueOfAnItemIsExpectedInEveryPartition(t *testing.T) {
	for source, want := range map[string]bool{
		"x.id": true, "x.id ?? 1": false, "1": false, "x.id == nil ? nil : x.id": false,
	} {
		tree := jobsOf(t, "{}", fmt.Sprintf(`{"id": "a", "endpoint": "a"},
			{"endpoint": "b", "params": {"p": {"expr": %q}}, "for": {"x": {"items": "a"}}}`, source))
		child := tree[slices.IndexFunc(tree, func(j *Job) bool { return j.Parent != nil })]
		if computed := slices.IndexFunc(child.Computed, func(e *language.Expression) bool { return e.Rule.Target == "p" }); computed >= 0 {
			require.Equal(t, want, child.ExpectsValue(child.Computed[computed]), source)
		} else {
			require.False(t, want, source)
		}
	}
}
