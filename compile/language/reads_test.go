package language

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

func TestReadsListWhatAnExpressionReads(t *testing.T) {
	for _, c := range []struct {
		source string
		want   []string
	}{
		{`count < limit`, []string{"count", "limit"}},
		{`body.meta.next == nil and total.pages > 3`, []string{"body.meta.next", "total.pages"}},
		{`at("a\\.b.0") == nil`, []string{`body["a.b"][0]`}},
		{`has("a") ? at("a") : true`, []string{"has(body.a)", "body.a"}},
		{`items[-1].id`, []string{"items"}},
		{`last(items).id`, []string{"items"}},
		{`first(body.a).b + last(body.a)?.b`, []string{"body.a[0].b", "body.a"}},
		{`first(filter(body.a, .b > count)).c`, []string{"body.a", "count"}},
		{`first(jsonpath("$..x")).y`, []string{"body"}},
		{`prev.body.id == body.id`, []string{"prev.body.id", "body.id"}},
		{`let x = body.a; x.b > count`, []string{"body.a", "count"}},
		{`filter(items, .id > body.min)`, []string{"items", "body.min"}},
		{`jsonpath("$..x")[0].y`, []string{"body"}},
		{`at(job.id).y`, []string{"body", "job.id"}},
		{`header(body.name)`, []string{"header(body.name)", "body.name"}},
		{`prev == nil or first.sent.params.page == 1`, []string{"prev", "first.sent.params.page"}},
		{`has(".") or at("") == nil`, []string{"has(body)", "body"}},
		{`truthy(job.params["a b"])`, []string{`job.params["a b"]`}},
		{`at("a").b[0]`, []string{"body.a.b[0]"}},
		{`link("next").x`, []string{`link("next")`}},
		{`jsonpath("$..x")`, []string{"body"}},
		{`header("X-Total") == "3"`, []string{`header("X-Total")`}},
		{`sent.params.page`, []string{"sent.params.page"}},
	} {
		t.Run(c.source, func(t *testing.T) {
			e, faults := one(t, rules.RoleParam, c.source)
			require.Empty(t, faults)
			var reads []string
			for _, r := range e.Reads {
				reads = append(reads, r.String())
			}
			require.Equal(t, c.want, reads)
		})
	}
}

func TestReadsSayWhichValuesMayBeAbsent(t *testing.T) {
	for _, c := range []struct {
		source string
		want   []string // reads for whose absence the expression does not allow
	}{
		{`body.a ?? body.b.c ?? ""`, nil},
		{`body.a?.b`, nil},
		{`body?.a.b["c"]`, nil},
		{`(body.a ?? "") + body.b`, []string{"body.b"}},
		{`body.a == "??" ? body.b : "?."`, []string{"body.a", "body.b"}},
		{`body.a ?? ("x" + body.a)`, nil},
		{`"x" + body.a + (body.a ?? "")`, []string{"body.a"}},
		{`(body.a ?? "") + body.a`, []string{"body.a"}},
	} {
		t.Run(c.source, func(t *testing.T) {
			e, faults := one(t, rules.RoleParam, c.source)
			require.Empty(t, faults)
			var reads []string
			for _, r := range e.Reads {
				if !r.Defaulted {
					reads = append(reads, r.String())
				}
			}
			require.Equal(t, c.want, reads)
		})
	}
}

func TestBecauseShowsTheValuesThatDecided(t *testing.T) {
	page := &rules.Context{
		Count: 7, Limit: 10, Body: decoded(t, `{"meta": {"total": 25}, "items": [1, 2]}`),
		Header: func(string) any { return "3" }, Job: rules.JobFacts{ID: "users"},
	}
	page.Total.Seconds = 1.5
	for _, c := range []struct {
		source string
		want   string
	}{
		{`count < limit`, `count(7) < limit(10)`},
		{`body.meta.totl > 3`, `body.meta.totl(absent) > 3`},
		{`total.seconds >= 60`, `total.seconds(1.500) >= 60`},
		{`len(body.items) == 2`, `len(body.items(list of 2)) == 2`},
		{`has("meta") ? at("meta.total") : 0`, `has(body.meta)(true) ? body.meta.total(25) : 0`},
		{`header("X") == "3"`, `header("X")("3") == "3"`},
		{`header(job.id) == "3"`, `header(job.id("users")) == "3"`},
		{`prev.count == 3`, `prev.count(absent) == 3`},
	} {
		t.Run(c.source, func(t *testing.T) {
			e, faults := one(t, rules.RoleParam, c.source)
			require.Empty(t, faults)
			require.Equal(t, c.want, e.Because(page))
		})
	}
}

func TestMissingListsPathsThatThePageLacks(t *testing.T) {
	page := &rules.Context{Body: decoded(t, `{"meta": {"total": 25}}`)}
	e, faults := one(t, rules.RoleParam, `body.meta.totl > 3 or body.meta.total > 3 or has("x") or prev.body.y == 1`)
	require.Empty(t, faults)
	require.Equal(t, []string{"body.meta.totl"}, e.Missing(page), "on the first page there is no previous one to miss")
	page.Prev = &rules.Past{}
	require.Equal(t, []string{"body.meta.totl", "prev.body.y"}, e.Missing(page))
}

func TestFlagsAreTheValuesThatTruthyConverts(t *testing.T) {
	for _, c := range []struct {
		source string
		want   []string
	}{
		{`truthy(body.more)`, []string{"body.more"}},
		{`not truthy(body.more) and body.status == "false"`, []string{"body.more"}},
		{`truthy(has("last") ? at("last") : true) == true`, []string{"has(body.last)", "body.last"}},
		{`phpTruthy(body.more)`, nil},
		{`body.more == true`, nil},
	} {
		t.Run(c.source, func(t *testing.T) {
			e, faults := one(t, rules.RoleStop, c.source)
			require.Empty(t, faults)
			var flags []string
			for _, r := range e.Flags() {
				flags = append(flags, r.String())
			}
			require.Equal(t, c.want, flags)
		})
	}
}
