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
	all, found := compileJobs(cfg, low, Options{})
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
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, jobsOf(t, "{}", c.job)[0].Analysis().KeptUse())
		})
	}
	tree := jobsOf(t, "{}", `{"id": "a", "endpoint": "a", "params": {"s": {"expr": "kept.since"}}, `+pagenum+`},
		{"endpoint": "b/{x.id}", "for": {"x": {"items": "a"}}}`)
	child := tree[slices.IndexFunc(tree, func(j *Job) bool { return j.Parent != nil })]
	require.Equal(t, KeptFromFirst, child.Analysis().KeptUse(), "it runs for the new items of its parent")
	require.True(t, child.Parent.Analysis().ListDependsOnKept())
	tree = jobsOf(t, "{}", `{"id": "a", "endpoint": "a", "filter": "item.id > kept.since", `+pagenum+`},
		{"endpoint": "b/{x.id}", "for": {"x": {"items": "a"}}}`)
	child = tree[slices.IndexFunc(tree, func(j *Job) bool { return j.Parent != nil })]
	require.Equal(t, KeptUnused, child.Analysis().KeptUse(), "it runs for all items of its parent, also those that the filter leaves out")
	require.False(t, child.Parent.Analysis().ListDependsOnKept())
}

func TestAFilterMayNeedAKeptValue(t *testing.T) {
	const pagenum = `"pagination": {"method": "pagenum", "keep": {"since": "latestOf(items, \"at\", kept.since)"}}`
	for filter, want := range map[string]string{
		"item.at > kept.since":                                      "since",
		"kept.since <= item.at":                                     "since",
		"date(item.at) > date(kept.since) - duration('1h')":         "since",
		"item.open and item.at > kept.since":                        "since",
		"item.at > kept.since or item.id > kept.since":              "since",
		"number(item.at) >= number(kept.since) + 1":                 "since",
		"kept.since == nil or item.at > kept.since":                 "",
		"kept.since != nil and item.at > kept.since":                "",
		"item.open or item.at > kept.since":                         "",
		"item.at > (kept.since ?? '2026-01-01')":                    "",
		"date(item.at) > date(kept.since ?? '2026-01-01')":          "",
		"not (item.at <= kept.since)":                               "",
		"item.at != kept.since":                                     "",
		"item.shut != true and item.at > kept.since":                "since",
		"truthy(kept.since) and item.at > kept.since":               "",
		"not empty(kept.since) and item.at > kept.since":            "",
		"'since' in kept and item.at > kept.since":                  "",
		"len(kept) > 0 and item.at > kept.since":                    "",
		"kept.since and item.at > kept.since":                       "",
		"item.at > (kept.since == nil ? '2026-01-01' : kept.since)": "",
	} {
		t.Run(filter, func(t *testing.T) {
			job := jobsOf(t, "{}", fmt.Sprintf(`{"endpoint": "a", "filter": "%s", %s}`, filter, pagenum))[0]
			require.Equal(t, want, job.ItemRules.Filter.NeedsKept())
		})
	}

	cfg, low, _ := loweredText(t, `{"api": {"baseUrl": "https://x.example/"}, "config": {"jobs": [{"endpoint": "a",
		"incremental": {"cursor": "at", "param": "since"}, "filter": "item.at > kept.at"}]}}`)
	_, found := compileJobs(cfg, low, Options{})
	require.Len(t, found.Warnings(), 1)
	require.Equal(t, "filter lets no item pass in the first run, in which kept.at is nil: that run fails", found.Warnings()[0].Message)
	require.Equal(t, "write kept.at == nil or …, or kept.at != nil and … to leave out all items of that run", found.Warnings()[0].Hint)
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
		t.Run(c.name, func(t *testing.T) {
			endsWindows, elsewhere := jobsOf(t, `{"end": {"default": "2026-02-01"}}`, c.job)[0].Analysis().InputUse("end")
			require.Equal(t, c.endsWindows, endsWindows)
			require.Equal(t, c.elsewhere, elsewhere)
		})
	}
}

func TestAnInputMayAddKeysAlone(t *testing.T) {
	const list = `{"id": "a", "endpoint": "a/{k}", "for": {"k": {"values": "split(input.list, ',')"}}, `
	const keep = `"pagination": {"method": "pagenum", "keep": {"last": "greatest(items, 'id', kept.last)"}}, `
	for job, want := range map[string]bool{
		list + keep + `"keepFor": "k"}`:                                               true,
		list + keep + `"emit": true}`:                                                 false,
		list + keep + `"keepFor": "k[:1]"}`:                                           false,
		list + keep + `"keepFor": "k", "params": {"l": {"expr": "input.list"}}}`:      false,
		list + keep + `"keepFor": "k", "filter": "item.k in split(input.list, ',')"}`: false,
		list + keep + `"keepFor": "k"}, {"endpoint": "b", "for": {"x": {"items": "a"}}, ` +
			`"params": {"l": {"expr": "input.list"}}}`: false,
		`{"endpoint": "a/{k}/{m}", "for": {"k": {"values": ["x", "y"]}, "m": {"values": "split(input.list, ',')"}}, ` + keep + `"keepFor": "k"}`: false,
		`{"endpoint": "a/{k}", "for": {"k": {"values": ["x", "y"]}}, ` + keep + `"keepFor": "k"}`:                                                false,
	} {
		require.Equal(t, want, jobsOf(t, `{"list": {"default": "x,y"}}`, job)[0].Analysis().InputAddsKeys("list"), job)
	}
}

func TestAValueOfAnItemIsExpectedInEveryPartition(t *testing.T) {
	for source, want := range map[string]bool{
		"x.id": true, "x.id ?? 1": false, "1": false, "x.id == nil ? nil : x.id": false,
	} {
		t.Run(source, func(t *testing.T) {
			tree := jobsOf(t, "{}", fmt.Sprintf(`{"id": "a", "endpoint": "a"},
			{"endpoint": "b", "params": {"p": {"expr": %q}}, "for": {"x": {"items": "a"}}}`, source))
			child := tree[slices.IndexFunc(tree, func(j *Job) bool { return j.Parent != nil })]
			if computed := slices.IndexFunc(child.Computed, func(e *language.Expression) bool { return e.Rule.Target == "p" }); computed >= 0 {
				require.Equal(t, want, child.Analysis().ExpectsValue(child.Computed[computed]))
			} else {
				require.False(t, want)
			}
		})
	}
}
