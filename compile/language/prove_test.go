package language

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

func TestBoundsArePrintedInTheRightNumber(t *testing.T) {
	require.Equal(t, "1 page", Bound{"pages", 1}.String())
	require.Equal(t, "20 pages", Bound{"pages", 20}.String())
	require.Equal(t, "1.5 seconds", Bound{"seconds", 1.5}.String())
	require.Equal(t, "1 byte", Bound{"bytes", 1}.String())
}

// sourceOf compiles an expression.
func sourceOf(t *testing.T, source string) *Expression {
	t.Helper()
	e, err := compileRule(Builtin(), rules.Rule{ID: "r", Role: rules.RoleNext, Source: source})
	require.NoError(t, err, source)
	return e
}

func TestAConditionIsProvenWithoutAPage(t *testing.T) {
	limited, unlimited := &rules.Ruleset{Limit: 10}, &rules.Ruleset{}
	empty, early := map[string]rules.Range{"count": {}}, map[string]rules.Range{"page": {Low: 1, High: 2}, "sameItems": {High: 2}}
	for _, c := range []struct {
		name, source string
		prover       Prover
		want         Truth
	}{
		{"page >= 1", "page >= 1", Prover{Set: unlimited}, Always},
		{"page + 1 < 2", "page + 1 < 2", Prover{Set: unlimited}, Never},
		{"page > 1", "page > 1", Prover{Set: unlimited}, Sometimes},
		{"not (page >= 1)", "not (page >= 1)", Prover{Set: unlimited}, Never},
		{"page >= 1 and count < 5", "page >= 1 and count < 5", Prover{Set: unlimited}, Sometimes},
		{"page >= 1 or body.last", "page >= 1 or body.last", Prover{Set: unlimited}, Always},
		{"body.last", "body.last", Prover{Set: unlimited}, Sometimes},
		{"limit == nil without a limit", "limit == nil", Prover{Set: unlimited}, Always},
		{"limit == nil with a limit", "limit == nil", Prover{Set: limited}, Never},
		{"limit == nil with a limit that a parameter of the job may set", "limit == nil", Prover{Set: &rules.Ruleset{LimitParam: "size"}}, Sometimes},
		{"count < limit with a limit", "count < limit", Prover{Set: limited}, Sometimes},
		{"count < limit with a limit on an empty page", "count < limit", Prover{Set: limited, Assume: empty}, Always},
		{"count < limit without a limit on an empty page", "count < limit", Prover{Set: unlimited, Assume: empty}, Never},
		{"count > 0 on an empty page", "count > 0", Prover{Set: unlimited, Assume: empty}, Never},
		{"sameItems >= 3 on the first two pages", "sameItems >= 3", Prover{Set: unlimited, Assume: early}, Never},
		{"sameItems >= 2 on the first two pages", "sameItems >= 2", Prover{Set: unlimited, Assume: early}, Sometimes},
		{"page == 3 on the first two pages", "page == 3", Prover{Set: unlimited, Assume: early}, Never},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, c.prover.Condition(sourceOf(t, c.source)))
		})
	}
}

func TestABoundIsTheNumberAtWhichAListEnds(t *testing.T) {
	p := Prover{Set: &rules.Ruleset{}}
	bound, ok := p.Bound(sourceOf(t, "total.pages >= 20"))
	require.True(t, ok)
	require.Equal(t, Bound{"pages", 20}, bound)
	_, ok = p.Bound(sourceOf(t, "count >= 20"))
	require.False(t, ok, "the items of one page do not grow from page to page")
}

func TestAnIncrementIsAWholeNumberThatIsAdded(t *testing.T) {
	p := Prover{Set: &rules.Ruleset{Limit: 10}}
	for source, want := range map[string]int{"state.offset + limit": 10, "state.offset + 3": 3} {
		t.Run(source, func(t *testing.T) {
			by, ok := p.Increment(sourceOf(t, source), "offset")
			require.True(t, ok)
			require.Equal(t, want, by)
		})
	}
	for _, source := range []string{"state.offset + count", "page + 1", "state.offset * 2", "state.offset + 0.5"} {
		t.Run(source, func(t *testing.T) {
			_, ok := p.Increment(sourceOf(t, source), "offset")
			require.False(t, ok)
		})
	}
}

func TestALaterValueIsTheAlternativeThatIsLeft(t *testing.T) {
	p := Prover{Set: &rules.Ruleset{}}
	require.Equal(t, "body.next", p.Later(sourceOf(t, "page > 0 ? body.next : body.first")))
	require.Empty(t, p.Later(sourceOf(t, "body.next")), "the words would be the source")
}
