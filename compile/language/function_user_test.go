package language

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

// withF returns the built-in language with one more function, f.
func withF(t *testing.T, f any) *Language {
	t.Helper()
	l, err := Builtin().WithFunction(Function{Name: "f", Func: f})
	require.NoError(t, err)
	return l
}

// call evaluates a source that calls a function of an embedder.
func call(t *testing.T, l *Language, source string) (any, error) {
	t.Helper()
	e, faults := oneIn(t, l, rules.RoleParam, source)
	require.Empty(t, faults)
	page := &rules.Context{Page: 2, Count: 7, Body: map[string]any{"n": 5, "s": "x", "list": []any{1, "a"}, "object": map[string]any{"a": 1}}}
	page.Job.Params = rules.Object{{Name: "b", Value: []any{rules.Object{{Name: "c", Value: 1}}}}}
	return e.Eval(&Machine{}, page)
}

func TestAFunctionOfAProgramIsCalledWithGoValues(t *testing.T) {
	for _, c := range []struct {
		name     string
		function any
		source   string
		want     any
	}{
		{"no arguments", func() int { return 3 }, `f()`, 3},
		{"a boolean", func(b bool) bool { return !b }, `f(count == 7)`, false},
		{"a string", func(s string) string { return s + "!" }, `f(body.s)`, "x!"},
		{"an integer", func(n int) int { return n + 1 }, `f(body.n)`, 6},
		{"an integral number as an integer", func(n int) int { return n + 1 }, `f(5.0)`, 6},
		{"an integer as a number", func(n float64) float64 { return n / 2 }, `f(body.n)`, 2.5},
		{"any value", func(v any) any { return v }, `f(body.object)`, map[string]any{"a": 1}},
		{"a list", func(l []any) int { return len(l) }, `f(body.list)`, 2},
		{"a range as a list", func(l []any) int { return len(l) }, `f(1..9)`, 9},
		{"strings as a list", func(l []any) any { return l[1] }, `f(split("a,b", ","))`, "b"},
		{"an object", func(m map[string]any) any { return m["a"] }, `f(body.object)`, 1},
		{"ordered params as an object", func(m map[string]any) any { return m["b"] }, `f(job.params)`, []any{map[string]any{"c": 1}}},
		{"an object literal", func(m map[string]any) any { return m["x"] }, `f({"x": body.n})`, 5},
		{"groups as an object", func(m map[string]any) int { return len(m) }, `f(groupBy(body.list, # == 1))`, 2},
		{"a time and a duration", func(t time.Time, d time.Duration) time.Time { return t.Add(d) },
			`f(date("2026-01-01"), duration("1h")).Hour()`, 1},
		{"variadic arguments", func(s string, more ...int) int { return len(s) + len(more) }, `f("ab", 1, 2, 3)`, 5},
		{"no variadic arguments", func(s string, more ...int) int { return len(s) + len(more) }, `f("ab")`, 2},
		{"a result and no error", func() (string, error) { return "ok", nil }, `f()`, "ok"},
		{"a long integer", func() any { return json.Number("9007199254740993000") }, `f() + 1`, 9007199254740993001},
		{"a nil list is empty", func() []any { return nil }, `len(f())`, 0},
		{"a nil value is absent", func() any { return nil }, `f() > 3`, false},
		{"its result in an operator", func(n int) int { return n }, `f(2) + f(3) == 5 and not (f(1) > 1)`, true},
		{"its result in a predicate", func(n int) bool { return n > 1 }, `filter(1..3, f(#))`, []any{2, 3}},
		{"with a pipe", func(n, m int) int { return n - m }, `body.n | f(2)`, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := call(t, withF(t, c.function), c.source)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestAnAbsentArgumentGivesNilWhereTheFunctionNeedsAValue(t *testing.T) {
	for _, c := range []struct {
		name     string
		function any
		want     any
	}{
		{"a boolean", func(bool) int { return 1 }, nil},
		{"a string", func(string) int { return 1 }, nil},
		{"an integer", func(int) int { return 1 }, nil},
		{"a number", func(float64) int { return 1 }, nil},
		{"a time", func(time.Time) int { return 1 }, nil},
		{"a duration", func(time.Duration) int { return 1 }, nil},
		{"a variadic string", func(...string) int { return 1 }, nil},
		{"a list", func([]any) int { return 1 }, nil},
		{"an object", func(map[string]any) int { return 1 }, nil},
		{"any value", func(any) int { return 1 }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := withF(t, c.function)
			for _, source := range []string{`f(body.none)`, `f(nil)`} {
				got, err := call(t, l, source)
				require.NoError(t, err)
				require.Equal(t, c.want, got)
			}
			met, err := call(t, l, `f(body.none) > 3 or false`)
			require.NoError(t, err)
			require.Equal(t, false, met)
		})
	}
}

func TestAFunctionThatFailsFailsTheRule(t *testing.T) {
	broken := errors.New("broken")
	cyclic := map[string]any{}
	cyclic["self"] = cyclic
	for _, c := range []struct {
		name     string
		function any
		source   string
		want     string
	}{
		{"an error", func() (int, error) { return 0, broken }, `f()`, "f: broken"},
		{"a panic", func() int { panic("no") }, `f()`, "f: panic: no"},
		{"a panic with an error", func(l []any) any { return l[9] }, `f([1])`, "f: panic: runtime error: index out of range"},
		{"a string for an integer", func(int) int { return 1 }, `f(body.s)`, "argument 1 of f must be an integer, got a string"},
		{"a fraction for an integer", func(int) int { return 1 }, `f(body.n / 2)`, "argument 1 of f must be an integer, got a number"},
		{"a list for an object", func(map[string]any) int { return 1 }, `f(body.list)`, "argument 1 of f must be an object, got a list"},
		{"a Go value", func() any { return struct{}{} }, `f()`, "f returned a Go value of the type struct {}, which expressions cannot use"},
		{"a Go value in a list", func() []any { return []any{make(chan int)} }, `f()`, "f returned a Go value of the type chan int"},
		{"a value that contains itself", func() any { return cyclic }, `f()`, "f returned a value that is nested too deeply"},
		{"no number", func(a, b float64) float64 { return a / b }, `f(0, 0)`, "f returned NaN, which is not a number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := call(t, withF(t, c.function), c.source)
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := call(t, withF(t, func() (int, error) { return 0, broken }), `f()`)
	require.ErrorIs(t, err, broken)
}

func TestCallsOfAProgramsFunctionsAreMetered(t *testing.T) {
	large := func() any { return make([]any, 1<<20) }
	for _, c := range []struct {
		name     string
		function any
		source   string
		want     string
	}{
		{"the result counts", large, `len(f()) > 0`, "more than 8 MiB"},
		{"results add up", func() string { return string(make([]byte, 1<<20)) }, `len(map(1..9, f())) > 0`, "more than 8 MiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := call(t, withF(t, c.function), c.source)
			require.ErrorIs(t, err, ErrBudget)
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "returned")
		})
	}
}

func TestEachCallOfAProgramsFunctionIsAStep(t *testing.T) {
	f, m := withF(t, func() int { return 1 }).function("f"), &meter{steps: maxSteps - 1}
	_, err := f.metered(m, nil)
	require.NoError(t, err)
	require.PanicsWithError(t, "the expression exceeds its budget: more than 1000000 steps through lists", func() { _, _ = f.metered(m, nil) })
}

func TestTheTimeOfAProgramsFunctionCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func() int {
			time.Sleep(maxTime + time.Millisecond)
			return 1
		}
		began := time.Now()
		_, err := call(t, withF(t, slow), `f() + f() > 0`)
		require.ErrorIs(t, err, ErrBudget)
		require.ErrorContains(t, err, "more than 1s in the functions of the program")
		require.Equal(t, maxTime+time.Millisecond, time.Since(began), "it is not called again")
	})
}

func TestMistakesInCallsOfAProgramsFunctionsAreFoundBeforeTheyRun(t *testing.T) {
	l, err := Builtin().WithFunction(Function{
		Name: "isStale", Signature: "isStale(item[, hours])", Doc: "whether an item is old",
		Func: func(item map[string]any, hours ...int) bool { return false },
	})
	require.NoError(t, err)
	for _, c := range []struct{ name, source, message, hint string }{
		{"the name is misspelt", `isStael(items[-1])`, "unknown name isStael", `did you mean "isStale"?`},
		{"an argument is missing", `isStale()`, "not enough arguments in call to isStale",
			"usage: isStale(item[, hours]): whether an item is old"},
		{"an argument is of another kind", `isStale("x")`, "argument 1 of isStale must be an object, got a string", "usage: isStale"},
		{"a variadic argument is of another kind", `isStale(items[-1], 1, "x")`, "argument 3 of isStale must be an integer, got a string",
			"usage: isStale"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, faults := oneIn(t, l, rules.RoleStop, c.source)
			require.Len(t, faults, 1)
			require.Equal(t, c.message, faults[0].Message)
			require.Contains(t, faults[0].Hint, c.hint)
		})
	}
	_, faults := one(t, rules.RoleStop, `isStale(items[-1])`)
	require.Len(t, faults, 1, "the built-in language has not changed")
}

func TestAFunctionOfAProgramMustFitTheLanguage(t *testing.T) {
	f := func() int { return 1 }
	type text string
	for _, c := range []struct {
		name     string
		function Function
		want     string
	}{
		{"no name", Function{Func: f}, `function "": the name must consist of letters, digits and underscores`},
		{"a name with a dot", Function{Name: "a.b", Func: f}, `function "a.b": the name must consist of`},
		{"a name that begins with a digit", Function{Name: "1a", Func: f}, `function "1a": the name must consist of`},
		{"a word of the language", Function{Name: "let", Func: f}, "function let: the name is taken by the expression language"},
		{"an operator", Function{Name: "not", Func: f}, "function not: the name is taken by the expression language"},
		{"a constant", Function{Name: "nil", Func: f}, "function nil: the name is taken by the expression language"},
		{"a function with a predicate", Function{Name: "filter", Func: f}, "function filter: the name is taken by the expression language"},
		{"a function of the language", Function{Name: "upper", Func: f}, "function upper: the name is taken by the expression language"},
		{"a field of the context", Function{Name: "count", Func: f}, "function count: the name is taken by a field of the page context"},
		{"a field of the audit", Function{Name: "signs", Func: f}, "function signs: the name is taken by a field of the page context"},
		{"a built-in function", Function{Name: "truthy", Func: f}, "function truthy: the name is taken by another function"},
		{"no Go function", Function{Name: "f"}, "function f: want a Go function, got <nil>"},
		{"a value", Function{Name: "f", Func: 3}, "function f: want a Go function, got int"},
		{"a parameter that no expression has", Function{Name: "f", Func: func(string, chan int) int { return 1 }},
			"function f: parameter 2 has the type chan int; the supported types are []any, any, bool, float64, int, map[string]any, string, " +
				"time.Duration, time.Time"},
		{"a variadic parameter that no expression has", Function{Name: "f", Func: func(...int64) int { return 1 }},
			"parameter 1 has the type int64"},
		{"a named type", Function{Name: "f", Func: func(text) int { return 1 }}, "parameter 1 has the type language.text"},
		{"no result", Function{Name: "f", Func: func() {}}, "function f: it must return a value, or a value and an error"},
		{"two results", Function{Name: "f", Func: func() (int, int) { return 1, 2 }}, "it must return a value, or a value and an error"},
		{"three results", Function{Name: "f", Func: func() (int, int, error) { return 1, 2, nil }},
			"it must return a value, or a value and an error"},
		{"only an error", Function{Name: "f", Func: func() error { return nil }}, "function f: the result has the type error"},
		{"a signature of another function", Function{Name: "f", Signature: "g(x)", Func: f},
			`function f: the signature must begin with "f(", got "g(x)"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Builtin().WithFunction(c.function)
			require.ErrorContains(t, err, c.want)
		})
	}
	l := withF(t, f)
	_, err := l.WithFunction(Function{Name: "f", Func: f})
	require.EqualError(t, err, "function f: the name is taken by another function")
}

func TestTheSignatureOfAFunctionIsDerivedFromItsTypes(t *testing.T) {
	l := withF(t, func(any, []any, map[string]any, time.Time, time.Duration, float64, ...string) (bool, error) {
		return true, nil
	})
	list := l.Functions()
	require.Equal(t, "f(any, list, object, time, duration, number, string...) boolean", list[len(list)-1].Signature)
}

func TestATextForAFunctionOfAProgramIsNoPathInTheItems(t *testing.T) {
	l := withF(t, func([]any, string) any { return nil })
	e, faults := oneIn(t, l, rules.RoleStop, `f(items, "label") == 1`)
	require.Empty(t, faults)
	require.Empty(t, e.ItemKeys())
	e, faults = oneIn(t, l, rules.RoleStop, `greatest(items, "id") == 1`)
	require.Empty(t, faults)
	require.Equal(t, [][]string{{"id"}}, e.ItemKeys())
}
