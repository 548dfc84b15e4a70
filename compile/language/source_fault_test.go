package language

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
)

func TestErrorsInAnExpressionShowACaretAndHowToFixIt(t *testing.T) {
	for _, c := range []struct{ name, source, message, hint, snippet string }{
		{"a field of the context is misspelt", `cuont == 0`, "unknown name cuont", `did you mean "count"?`, " | cuont == 0\n | ^"},
		{"a function is misspelt", `truty(body.x)`, "unknown name truty", `did you mean "truthy"?`, " | truty(body.x)\n | ^"},
		{"a function of the expression language is misspelt", `filtr(items, true) == []`, "unknown name filtr", `did you mean "filter"?`, ""},
		{"a key of the response is not a field", `isLast`, "unknown name isLast", "a key of the response is body.isLast", ""},
		{"an object has no such field", `total.page > 1`,
			"unknown name page; known names: pages, items, bytes, seconds", `did you mean "pages"?`, " | total.page > 1\n |       ^"},
		{"an earlier page has no such field", `prev.cout > 1`, "unknown name cout", `did you mean "count"?`, " | prev.cout > 1\n |      ^"},
		{"an object of an earlier page has no such field", `prev.total.itms > 1`, "unknown name itms", `did you mean "items"?`, ""},
		{"an object in a variable has no such field", `let t = total; t.page > 1`, "unknown name page", `did you mean "pages"?`, ""},
		{"one of two objects has no such field", `(prev ?? first).cout > 1`, "unknown name cout", `did you mean "count"?`, ""},
		{"a variable is misspelt", `state.ofset > 1`, "unknown name state.ofset", `did you mean "offset"?`, " | state.ofset > 1\n |       ^"},
		{"a variable is not declared", `state.cursor == 1`, "unknown name state.cursor", `declare it in "state"`, ""},
		{"a saved value is not declared", `kept.since == 1`,
			"unknown name kept.since", `declare it in "keep"`, " | kept.since == 1\n |      ^"},
		{"only the audit sees signs", `signs.total > 1`, "unknown name signs", "", " | signs.total > 1\n | ^"},
		{"the environment has no name", `len(toJSON($env)) > 0`, "unknown name $env", "", ""},
		{"the source ends too early", `count ==`, "unexpected token EOF", "", " | count ==\n |        "},
		{"a condition is a number", `count`, "want true or false, got an integer", "truthy(…)", " | count\n | ^"},
		{"a condition is a month", `now().Month()`, "want true or false, got an integer", "truthy(…)", ""},
		{"a condition is a string", `"yes"`, "want true or false, got a string", "truthy(…)", ""},
		{"a condition is a function", `at`, "at is a function, which is not called", "write at(…)", ""},
		{"a JSONPath depends on the page", `jsonpath(body.x) == nil`, "jsonpath takes its path as a string literal", "", ""},
		{"an argument is missing", `at() == nil`,
			"not enough arguments in call to at", `usage: at([v, ]"a.b"): the value at a path of the body`, " | at() == nil\n | ^"},
		{"there are too many arguments", `1 == number(1, 2)`,
			"too many arguments in call to number", "usage: number(v): v as a number", " | 1 == number(1, 2)\n |      ^"},
		{"an argument is of another kind", `at(3) == nil`,
			"argument 1 of at must be a string, got an integer", `usage: at([v, ]"a.b")`, " | at(3) == nil\n |    ^"},
		{"one of many arguments is of another kind", `query("?a=1",
			"a", 3) == nil`, "argument 3 of query must be a string, got an integer", "usage: query(url[, name])", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, faults := one(t, rules.RoleStop, c.source)
			require.Len(t, faults, 1)
			require.Contains(t, faults[0].Message, c.message)
			require.Contains(t, faults[0].Hint, c.hint)
			require.Contains(t, faults[0].Snippet, c.snippet)
		})
	}
}

func TestASourceThatIsTooLongIsRefusedBeforeItIsParsed(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	_, faults := one(t, rules.RoleStop, strings.Repeat("(", 1<<20))
	require.Len(t, faults, 1)
	require.Contains(t, faults[0].Message, "the limit is 16384")
}

func TestRulesOfTheAuditSeeSigns(t *testing.T) {
	e, err := compileRule(Builtin(), rules.Rule{ID: "audit.more", Role: rules.RoleAudit, Source: `signs.more == true`})
	require.NoError(t, err)
	met, err := e.EvalBool(&Machine{}, &rules.Context{Signs: &rules.Signs{More: true}})
	require.NoError(t, err)
	require.True(t, met)
}
