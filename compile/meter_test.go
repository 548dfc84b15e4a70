package compile

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

// bombs are expressions of people whom one does not trust (FAULTS C11 to C16):
// each asks for time or memory without end.
var bombs = map[string]string{
	"steps in three nested lists":     `all(items, all(items, all(items, true)))`,
	"steps that do something":         `count(items, count(items, .id % 7 == 0) > 1) > 0`,
	"a text that doubles":             `len(reduce(1..36, #acc + #acc, "x")) > 0`,
	"a list that doubles":             `len(reduce(1..30, concat(#acc, #acc), [1])) > 0`,
	"a text repeated":                 `len(repeat(body.big, 1000000)) > 0`,
	"a text repeated with no end":     `len(repeat(body.big, 9223372036854775807)) > 0`,
	"replacements in replacements":    `len(replace(replace(body.big, "a", repeat("b", 1000)), "b", repeat("c", 1000))) > 0`,
	"joined with a long text":         `join(map(1..900, "x"), body.big) == ""`,
	"JSON of JSON":                    `reduce(1..40, toJSON([#acc, #acc]), "x") == ""`,
	"base64 of base64":                `reduce(1..60, toBase64(#acc), body.big) == ""`,
	"large texts by the hundred":      `len(map(1..900, body.big + body.big)) > 0`,
	"a range":                         `len(1..1000000000) > 0`,
	"ranges in ranges":                `len(map(1..1000, map(1..1000, #))) > 0`,
	"lists compared with one another": `len(uniq(map(items, [#]))) > 0`,
	"a pattern that is slow":          `body.big matches "(a?){500}(a){500}b"`,
	"splitting":                       `len(map(1..900, split(body.big, ""))) > 0`,
}

func TestHostileExpressionsEndInABudgetWithinASecond(t *testing.T) {
	items := make([]any, 3000)
	for i := range items {
		items[i] = map[string]any{"id": i}
	}
	page := &rules.Context{Page: 1, Items: items, Count: len(items), Body: map[string]any{"big": strings.Repeat("a", 1<<20)}}
	for name, source := range bombs {
		t.Run(name, func(t *testing.T) {
			e, faults := one(t, rules.Stop, source)
			require.Empty(t, faults)
			m := &Machine{}
			began := time.Now()
			_, err := e.EvalBool(m, page)
			took := time.Since(began)
			require.ErrorIs(t, err, ErrBudget)
			require.Less(t, took, 3*time.Second, "a second is meant; the machine may be busy and the race detector on")
			t.Log(took, err)

			after, faults := one(t, rules.Stop, `len(filter(items, .id >= 10)) == 2990`)
			require.Empty(t, faults)
			met, err := after.EvalBool(m, page)
			require.NoError(t, err, "the machine goes on")
			require.True(t, met)
		})
	}
}

func TestWhatCannotBeBoundedIsRefusedBeforeAnyRequest(t *testing.T) {
	for source, want := range map[string]string{
		`all(items, all(items, all(items, all(items, true))))`: "predicates are nested more than 3 deep",
		`body.a matches body.b`:                                "matches takes its pattern as a text that stands in the expression",
		`body.a matches "` + strings.Repeat("a", 257) + `"`:    "a pattern of 257 bytes; the limit is 256",
		`body.a matches "(a{1000}){1000}"`:                     "invalid repeat count",
		`len(jsonpath("$..a..b")) > 0`:                         "a JSONPath has at most one ..",
		`len(toJSON($env)) > 0`:                                "unknown name $env",
		`len(string($env.page)) > 0`:                           "unknown name $env",
		strings.Repeat("(", 8000) + "true" + strings.Repeat(")", 8000) + " and " + strings.Repeat("!", 8000) + "true": "an expression of",
	} {
		_, faults := one(t, rules.Stop, source)
		require.NotEmpty(t, faults, source)
		require.Contains(t, faults[0].Error(), want)
	}
	for _, nested := range []string{"(", "[", "!", "-"} { // as deep as a source can nest: no fault of the process
		_, _ = one(t, rules.Stop, strings.Repeat(nested, MaxSource-10))
	}
}

func TestNumbersNeverWrapSilently(t *testing.T) {
	page := &rules.Context{Page: 1, Count: 10}
	for source, want := range map[string]string{
		`9223372036854775807 + count`:                                      "9223372036854775817",
		`count * 9223372036854775807`:                                      "92233720368547758070",
		`fromJSON("{\"id\": 9007199254740993}").id`:                        "9007199254740993",
		`fromJSON("[123456789012345678901234567890]")[0] + 1`:              "123456789012345678901234567891",
		`int("9007199254740993")`:                                          "9007199254740993",
		`9007199254740993 == 9007199254740992`:                             "false",
		`number("9007199254740993") == number("9007199254740992.0")`:       "false",
		`fromJSON("9007199254740993") == fromJSON("9007199254740992.0e0")`: "false",
	} {
		e, faults := one(t, rules.Param, source)
		require.Empty(t, faults, source)
		v, err := e.Eval(&Machine{}, page)
		require.NoError(t, err, source)
		require.Equal(t, want, preview(v), source)
	}
	for source, want := range map[string]string{`int(1e300)`: "too large", `1 / 0`: "is not a number", `count % 0`: "division by zero", `2 ** 5000`: "is not a number"} {
		e, faults := one(t, rules.Param, source)
		require.Empty(t, faults, source)
		_, err := e.Eval(&Machine{}, page)
		require.ErrorContains(t, err, want, source)
		require.False(t, errors.Is(err, ErrBudget))
	}
}
