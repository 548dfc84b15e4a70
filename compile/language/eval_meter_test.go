package language

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
)

// bombs are expressions that would spend unlimited time or memory.
var bombs = []struct{ name, source string }{
	{"steps in three nested lists", `all(items, all(items, all(items, true)))`},
	{"steps that do something", `count(items, count(items, .id % 7 == 0) > 1) > 0`},
	{"a text that doubles", `len(reduce(1..36, #acc + #acc, "x")) > 0`},
	{"a list that doubles", `len(reduce(1..30, concat(#acc, #acc), [1])) > 0`},
	{"a text repeated", `len(repeat(body.big, 1000000)) > 0`},
	{"a text repeated with no end", `len(repeat(body.big, 9223372036854775807)) > 0`},
	{"replacements in replacements", `len(replace(replace(body.big, "a", repeat("b", 1000)), "b", repeat("c", 1000))) > 0`},
	{"strings joined with a long text", `join(split(repeat("a", 100000), ""), repeat("x", 1000000)) == ""`},
	{"strings as JSON", `toJSON(split(body.big + body.big, "")) == ""`},
	{"groups as a string", `len(map(1..900, string(groupBy([body.big], # == "")))) > 0`},
	{"an object of the context as JSON", `len(map(1..900, toJSON(sent))) > 0`},
	{"joined with a long text", `join(map(1..900, "x"), body.big) == ""`},
	{"JSON of JSON", `reduce(1..40, toJSON([#acc, #acc]), "x") == ""`},
	{"base64 of base64", `reduce(1..60, toBase64(#acc), body.big) == ""`},
	{"large texts by the hundred", `len(map(1..900, body.big + body.big)) > 0`},
	{"a range", `len(1..1000000000) > 0`},
	{"ranges in ranges", `len(map(1..1000, map(1..1000, #))) > 0`},
	{"a long range without repetitions", `len(uniq(1..500000)) > 0`},
	{"patterns one after another", "body.x6k matches '(x?){500}(x){500}y'" + strings.Repeat(" or body.x6k matches '(x?){500}(x){500}y'", 300)},
	{"a pattern on every element", `any(1..100000, body.kilobyte matches "(x+x+)+y{1,99}")`},
	{"a JSONPath on every element", `any(1..100000, len(jsonpath("$..id")) > 1e9)`},
	{"a JSONPath with a pattern", `any(1..100000, len(jsonpath("$.list[?(@.name =~ /(x+x+)+y{1,99}/)]")) > 0)`},
	{"trimming on every element", `all(1..500000, trim(body.big, "aé") == "")`},
	{"trimming many characters", `len(trim(body.big, body.big)) > 0`},
	{"searching backwards on every element", `all(1..500000, lastIndexOf(body.big, "b") == -1)`},
	{"searching on every element", `all(1..500000, not (body.big contains "b"))`},
	{"objects compared on every element", `all(1..100000, body.wide == body.wide2)`},
	{"objects without repetitions on every element", `all(1..100000, len(uniq([body.wide, body.wide2])) == 1)`},
	{"long lists compared", `all(items, items == map(items, #))`},
	{"a long list of lists searched", `none(items, concat([.id], [-1]) in body.pairs)`},
	{"sorting on every element", `all(1..100000, len(sort(body.texts)) > 0)`},
	{"sorting by a key on every element", `all(1..100000, len(sortBy(items, .id)) > 0)`},
	{"grouping on every element", `all(1..100000, len(groupBy(items, .id)) > 0)`},
	{"an extreme on every element", `all(1..500000, max(body.texts) != "")`},
	{"groups as JSON", `any(1..1000, toJSON(groupBy(items, .id)) == "")`},
	{"deep JSON, whose indentation is large", `len(toJSON(body.deep)) > 0`},
	{"escapes in JSON", `len(toJSON(body.control)) > 0`},
	{"extremes on every element", `all(1..100000, greatest(body.objects, "id") > 0)`},
	{"queries of a long text", `len(query(body.big)) > 0`},
	{"queries on every element", `all(1..100000, query(body.kilobyte, "a") == nil)`},
	{"a long path", `at(body, body.big) == nil`},
	{"layouts of dates", `all(1..500000, date("2024-01-01").Format(body.kilobyte) != "")`},
	{"a pattern that is slow", `body.big matches "(a?){500}(a){500}b"`},
	{"splitting", `len(map(1..900, split(body.big, ""))) > 0`},
}

// hostilePage returns a page on which everything is slow.
func hostilePage(items []any) *rules.Context {
	big := strings.Repeat("a", 1<<20)
	wide, wide2 := map[string]any{}, map[string]any{}
	var texts, list, pairs, objects []any
	for i := range 100_000 {
		name := strings.Repeat("k", 20) + strconv.Itoa(i)
		wide[name], wide2[name] = i, i
		objects = append(objects, map[string]any{"id": i})
		texts, pairs = append(texts, name), append(pairs, []any{0, i})
	}
	for range 100 {
		list = append(list, map[string]any{"name": strings.Repeat("x", 1000)})
	}
	var deep any = texts[:10_000]
	for range 500 {
		deep = []any{deep}
	}
	return &rules.Context{
		Page: 1, Items: items, Count: len(items), Sent: rules.Sent{URL: big},
		Body: map[string]any{
			"big": big, "x6k": strings.Repeat("x", 6000), "kilobyte": strings.Repeat("x", 1<<10), "wide": wide, "wide2": wide2, "texts": texts, "list": list, "objects": objects, "pairs": pairs,
			"deep": deep, "control": strings.Repeat("\x01", 2<<20),
		},
	}
}

func TestHostileExpressionsEndInABudget(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	items := make([]any, 3000)
	for i := range items {
		items[i] = map[string]any{"id": i}
	}
	page := hostilePage(items)
	for _, c := range bombs {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e, faults := one(t, rules.RoleStop, c.source)
			require.Empty(t, faults)
			m := &Machine{}
			var err error
			took := cost(t, func() { _, err = e.EvalBool(m, page) })
			require.ErrorIs(t, err, ErrBudget)
			require.Less(t, took, 30*time.Second, "3 s are the most on a quiet machine")
			t.Log(took, err)

			after, faults := one(t, rules.RoleStop, `len(filter(items, .id >= 10)) == 2990`)
			require.Empty(t, faults)
			met, err := after.EvalBool(m, page)
			require.NoError(t, err, "the machine can be used again")
			require.True(t, met)
		})
	}
}

func TestExpressionsWithoutABoundAreRefusedBeforeAnyRequest(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	deep := strings.Repeat("(", 8000) + "true" + strings.Repeat(")", 8000) + " and " + strings.Repeat("!", 8000) + "true"
	for _, c := range []struct{ name, source, want string }{
		{"nested predicates", `all(items, all(items, all(items, all(items, true))))`, "predicates are nested more than 3 deep"},
		{"a pattern from the page", `body.a matches body.b`, "matches takes its pattern as a string literal"},
		{"a long pattern", `body.a matches "` + strings.Repeat("a", 257) + `"`, "the pattern has 257 bytes; the limit is 256"},
		{"a pattern that is expensive to compile", `body.a matches "(a{1000}){1000}"`, "invalid repeat count"},
		{"a JSONPath that is quadratic", `len(jsonpath("$..a..b")) > 0`, "a JSONPath has at most one .."},
		{"the environment as a value", `len(toJSON($env)) > 0`, "unknown name $env"},
		{"a field of the environment", `len(string($env.page)) > 0`, "unknown name $env"},
		{"a source that is nested deeply", deep, "the expression has"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, faults := one(t, rules.RoleStop, c.source)
			require.NotEmpty(t, faults)
			require.Contains(t, faults[0].Error(), c.want)
		})
	}
}

// TestTheLongestSourceDoesNotExhaustTheStack parses sources that nest as deeply as
// their length allows.
func TestTheLongestSourceDoesNotExhaustTheStack(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for _, nested := range []string{"(", "[", "!", "-"} {
		t.Run(nested, func(t *testing.T) {
			_, faults := one(t, rules.RoleStop, strings.Repeat(nested, maxSource))
			require.Len(t, faults, 1)
		})
	}
}

func TestNestedCallsAreEvaluatedOnce(t *testing.T) {
	e, faults := one(t, rules.RoleParam, strings.Repeat("upper(", 2000)+"body.x"+strings.Repeat(")", 2000))
	require.Empty(t, faults)
	for _, c := range []struct {
		name string
		x    any
		want any
	}{{"a value", "a", "A"}, {"nothing", nil, nil}} {
		t.Run(c.name, func(t *testing.T) {
			v, err := e.Eval(&Machine{}, &rules.Context{Body: map[string]any{"x": c.x}})
			require.NoError(t, err)
			require.Equal(t, c.want, v)
		})
	}
}

func TestNumbersNeverWrapSilently(t *testing.T) {
	page := &rules.Context{Page: 1, Count: 10}
	for _, c := range []struct{ source, want string }{
		{`9223372036854775807 + count`, "9223372036854775817"},
		{`count * 9223372036854775807`, "92233720368547758070"},
		{`fromJSON("{\"id\": 9007199254740993}").id`, "9007199254740993"},
		{`fromJSON("[123456789012345678901234567890]")[0] + 1`, "123456789012345678901234567891"},
		{`int("9007199254740993")`, "9007199254740993"},
		{`9007199254740993 == 9007199254740992`, "false"},
		{`number("9007199254740993") == number("9007199254740992.0")`, "false"},
		{`fromJSON("9007199254740993") == fromJSON("9007199254740992.0e0")`, "false"},
	} {
		t.Run(c.source, func(t *testing.T) {
			e, faults := one(t, rules.RoleParam, c.source)
			require.Empty(t, faults)
			v, err := e.Eval(&Machine{}, page)
			require.NoError(t, err)
			require.Equal(t, c.want, preview(v))
		})
	}
	for _, c := range []struct{ source, want string }{
		{`int(1e300)`, "too large"},
		{`1 / 0`, "is not a number"},
		{`count % 0`, "division by zero"},
		{`2 ** 5000`, "is not a number"},
	} {
		t.Run(c.source, func(t *testing.T) {
			e, faults := one(t, rules.RoleParam, c.source)
			require.Empty(t, faults)
			_, err := e.Eval(&Machine{}, page)
			require.ErrorContains(t, err, c.want)
			require.NotErrorIs(t, err, ErrBudget)
		})
	}
}

func TestHonestExpressionsOnManyItemsAreFast(t *testing.T) {
	const n = 10_000
	items, seen := make([]any, n), make([]any, n)
	for i := range items {
		id := strconv.Itoa(i)
		items[i] = map[string]any{"id": id, "n": i, "at": map[string]any{"day": id}}
		seen[i] = id
	}
	page := &rules.Context{Page: 1, Items: items, Count: n, Body: map[string]any{"seen": seen}}
	for _, source := range []string{
		`len(uniq(map(items, .id))) == count`,
		`len(uniq(map(items, .n))) == count`,
		`len(uniq(items)) == count`,
		`len(uniq(map(items, .at))) == count`,
		`len(groupBy(items, .id)) == count`,
		`all(items, .id in body.seen)`,
		`len(filter(items, .n in body.seen)) == count`,
		`max(map(items, .n)) == count - 1`,
		`len(sortBy(items, .n, "desc")) == count`,
		`sort(map(items, .n))[0] == 0`,
		`sum(items, .n) > count`,
	} {
		t.Run(source, func(t *testing.T) {
			e, faults := one(t, rules.RoleStop, source)
			require.Empty(t, faults)
			m := &Machine{}
			met, err := e.EvalBool(m, page)
			require.NoError(t, err)
			require.True(t, met)
			require.Less(t, m.meter.work, maxWork/50, "a unit of work is about a nanosecond")
		})
	}
}

// TestACancelledRunEndsItsEvaluation evaluates what takes a second otherwise.
func TestACancelledRunEndsItsEvaluation(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	items := make([]any, 3000)
	for i := range items {
		items[i] = map[string]any{"id": i}
	}
	page := hostilePage(items)
	reason := errors.New("interrupted")
	for _, c := range bombs {
		t.Run(c.name, func(t *testing.T) {
			e, faults := one(t, rules.RoleStop, c.source)
			require.Empty(t, faults)
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(reason)
			_, err := e.EvalBool(&Machine{Context: ctx}, page)
			if !errors.Is(err, ErrBudget) { // some are refused before they begin
				require.ErrorIs(t, err, reason)
			}
		})
	}
}
