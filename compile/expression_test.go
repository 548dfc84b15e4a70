package compile

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// one compiles a single source in a role.
func one(t *testing.T, role rules.Role, source string) (*Expression, diag.Diagnostics) {
	t.Helper()
	return oneIn(t, Builtin(), role, source)
}

// oneIn compiles a single source in a role and a language.
func oneIn(t *testing.T, language *Language, role rules.Role, source string) (*Expression, diag.Diagnostics) {
	t.Helper()
	c := newCompilation(language)
	rule := rules.Rule{ID: "test", Role: role, Source: source}
	e, err := c.expression(rule, false)
	if err != nil {
		c.report(rule, err)
	}
	return e, c.found.Diagnostics().Errors()
}

func newCompilation(language *Language) *compilation {
	return &compilation{sources: newSources(language), set: &rules.Ruleset{Variables: []string{"offset"}}, found: diag.NewCollector(nil)}
}

// eval evaluates a source on a page whose body is given as JSON.
func eval(t *testing.T, body, source string) (any, error) {
	t.Helper()
	e, faults := one(t, rules.Param, source)
	require.Empty(t, faults)
	page := &rules.Context{Page: 2, Body: decoded(t, body), Count: 7, Limit: 10, State: map[string]any{"offset": 20}}
	page.Total.Pages = 2
	return e.eval(&Machine{}, page)
}

// decoded turns JSON into values as the page reader does.
func decoded(t *testing.T, text string) any {
	t.Helper()
	root, err := rules.ParseJSON(diag.NewSource("", text))
	require.NoError(t, err)
	return unordered(root)
}

func unordered(v any) any {
	switch v := v.(type) {
	case rules.Object:
		out := map[string]any{}
		for _, m := range v {
			out[m.Name] = unordered(m.Value)
		}
		return out
	case []any:
		for i := range v {
			v[i] = unordered(v[i])
		}
	}
	return v
}

func TestMissingValuesNeverAbortARule(t *testing.T) {
	const body = `{"a": {"n": 5, "nil": null, "s": "x"}, "list": [1, 2, 3]}`
	for _, c := range []struct {
		source string
		want   any
	}{
		{`body.x.y.z`, nil},
		{`body.a.n.y`, nil},
		{`body?.x?.y`, nil},
		{`body.list[7]`, nil},
		{`body.list[-1]`, 3},
		{`body.x[0]`, nil},
		{`body.x > 3`, false},
		{`body.x < 3`, false},
		{`body.x == nil`, true},
		{`body.x != 3`, true},
		{`body.x + 1`, nil},
		{`1 - body.x * 2`, nil},
		{`-body.x`, nil},
		{`not body.x`, true},
		{`body.x and true`, false},
		{`body.x or count == 7`, true},
		{`body.x ? 1 : 2`, 2},
		{`body.x ?? 4`, 4},
		{`body.x in [1, 2]`, false},
		{`1 in body.x`, false},
		{`"n" in body.a`, true},
		{`body.x contains "a"`, false},
		{`body.x startsWith "a"`, false},
		{`body.x matches "a"`, false},
		{`body.x[1:3]`, nil},
		{`len(body.x)`, nil},
		{`len(body.x) > 2`, false},
		{`upper(body.x)`, nil},
		{`max(body.x, 3)`, nil},
		{`first(body.x)`, nil},
		{`filter(body.x, .id > 2)`, []any{}},
		{`any(body.list, # > body.x)`, false},
		{`all(body.x, # > 1)`, true},
		{`count(body.list, # > 1)`, 2},
		{`sum(body.list)`, 6},
		{`prev.body.x`, nil},
		{`prev.count > 3`, false},
		{`first.body.x == nil`, true},
		{`at("a.nil")`, nil},
		{`has("a.nil")`, true},
		{`has("a.nope")`, false},
		{`job.params["limit"]`, nil},
		{`state.offset + limit`, 30},
		{`count < limit`, true},
		{`total.pages * 2`, 4},
		{`let n = body.a.n; n + 1`, 6},
		{`body.list[1:]`, []any{2, 3}},
	} {
		t.Run(c.source, func(t *testing.T) {
			got, err := eval(t, body, c.source)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestIntegersKeepAllTheirDigits(t *testing.T) {
	const body = `{"a": 9007199254740993, "b": 9007199254740992, "big": 123456789012345678901234567890,
		"max": 9223372036854775807, "f": 9007199254740992.0}`
	for _, c := range []struct {
		source string
		want   any
	}{
		{`body.a == body.b`, false},
		{`body.a > body.f`, true},
		{`body.big > body.max`, true},
		{`body.big == body.big`, true},
		{`body.max + 1`, json.Number("9223372036854775808")},
		{`body.big + 1`, json.Number("123456789012345678901234567891")},
		{`body.big - body.big`, 0},
		{`text(body.big)`, "123456789012345678901234567890"},
		{`text(body.a)`, "9007199254740993"},
		{`number("123456789012345678901234567890") == body.big`, true},
		{`greatest([{"id": 9007199254740993}, {"id": 9007199254740992}], "id")`, 9007199254740993},
	} {
		t.Run(c.source, func(t *testing.T) {
			got, err := eval(t, body, c.source)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestKindsThatDoNotGoTogetherAreAnErrorThatSaysHow(t *testing.T) {
	for _, c := range []struct {
		source string
		want   string
	}{
		{`body.s > 3`, `> cannot be applied to a string ("x") and a number (3); number(…) converts a string to a number`},
		{`body.s + 1`, `+ cannot be applied to a string ("x") and a number (1)`},
		{`body.s and true`, `want true or false, got a string ("x"); truthy(…) converts any value to a boolean`},
		{`number(body.s)`, `want a number, got a string ("x")`},
		{`text(body.list)`, `want a string or a number to send, got a list`},
		{`body.n / 0`, `5 / 0 is not a number`},
		{`body.n % 0`, `division by zero`},
		{`greatest([{"id": 1}, {}], "id")`, `item 2 of the page: id is absent`},
		{`greatest([{"id": 1}, {"id": "x"}], "id")`, `cannot be compared`},
		{`phpGreatest([{"id": "abc"}], "id")`, `item 1 of the page: id is a string, not a number`},
		{`query(body.n)`, `want a URL or a query string, got a number`},
	} {
		t.Run(c.source, func(t *testing.T) {
			_, err := eval(t, `{"s": "x", "n": 5, "list": []}`, c.source)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestAConditionThatOnlyTheResponseDecidesIsCheckedWhenItRuns(t *testing.T) {
	e, faults := one(t, rules.Stop, `body.done`)
	require.Empty(t, faults)
	for _, c := range []struct {
		body string
		want bool
	}{
		{`{"done": true}`, true},
		{`{"done": false}`, false},
		{`{}`, false},
		{`{"done": null}`, false},
	} {
		t.Run(c.body, func(t *testing.T) {
			met, err := e.EvalBool(&Machine{}, &rules.Context{Body: decoded(t, c.body)})
			require.NoError(t, err)
			require.Equal(t, c.want, met)
		})
	}
	_, err := e.EvalBool(&Machine{}, &rules.Context{Body: decoded(t, `{"done": "no"}`)})
	require.EqualError(t, err, "want true or false, got a string; truthy(…) converts any value to a boolean")
}

func TestTheFunctionsOfAPageAreCalledLikeAnyOther(t *testing.T) {
	page := &rules.Context{
		Body:   map[string]any{"at": "1970-01-01T00:10:00Z"},
		Now:    func() time.Time { return time.Unix(1000, 0) },
		Header: func(name string) any { return map[string]any{"X-Total": "3"}[name] },
		Link:   func(rel string, param ...string) any { return append([]string{rel}, param...)[len(param)] },
	}
	for _, c := range []struct {
		source string
		want   any
	}{
		{`now().Unix() - 360`, int64(640)},
		{`number(header("X-Total")) + 1`, 4},
		{`header("X-None") == nil`, true},
		{`date(body.at) < now()`, true},
		{`now() - date(body.at) > duration("5m")`, true},
		{`date(body.at) + duration("1h") > now()`, true},
		{`date(body.none) < now()`, false},
		{`link("next")`, "next"},
		{`link("next", "results")`, "results"},
		{`len(items) + 1`, 1},
	} {
		t.Run(c.source, func(t *testing.T) {
			e, faults := one(t, rules.Param, c.source)
			require.Empty(t, faults)
			got, err := e.eval(&Machine{}, page)
			require.NoError(t, err)
			require.EqualValues(t, c.want, got)
		})
	}
}

func TestAProgramMayBeSharedByGoroutines(t *testing.T) {
	e, _ := one(t, rules.Param, `greatest(body.list, ".") + count`)
	body := decoded(t, `{"list": [1, 5, 3]}`)
	done := make(chan any)
	for n := range 8 {
		go func() {
			m := &Machine{}
			var v any
			for range 200 {
				v, _ = e.eval(m, &rules.Context{Body: body, Count: n})
			}
			done <- v
		}()
	}
	sum := 0
	for range 8 {
		sum += (<-done).(int)
	}
	require.Equal(t, 8*5+28, sum)
}

func FuzzExpression(f *testing.F) {
	for _, seed := range []string{
		`count < limit`, `body.a[0]?.b ?? 1`, `filter(items, .id > 2)[0]`, `at("a") in [1, nil]`, `{"a": body.x}.a`, `let x = 1; x + body`,
		`"a" matches "b"`, `1..3 | map(# * 2)`, `repeat("a", 1..9 | len())`, `join(map(1..9, string(#)), "-") matches "^1"`,
		`header(body.x) == link("next", body.a[0])`, `(prev ?? first).body.x == nil`, `upper(upper(upper(body.x)))`,
	} {
		f.Add(seed, `{"a": [1, {"b": null}], "x": "y"}`)
	}
	f.Fuzz(func(t *testing.T, source, body string) {
		root, err := rules.ParseJSON(diag.NewSource("", body))
		if err != nil {
			return
		}
		e, faults := one(t, rules.Stop, source)
		if e == nil {
			require.NotEmpty(t, faults)
			return
		}
		page := &rules.Context{Body: unordered(root)}
		began := time.Now()
		_, _ = e.EvalBool(&Machine{}, page)
		require.Less(t, time.Since(began), 5*time.Second, "the budget is a second")
		_ = e.Because(page)
		_ = e.Missing(page)
	})
}

func TestALanguageMayBeSharedByGoroutines(t *testing.T) {
	l := with(t, "f", func(n int) int { return n })
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				e, faults := oneIn(t, l, rules.Stop, `f(total.pages) > 3 and header("X") == nil and sent.url != prev.sent.url`)
				assert.Empty(t, faults)
				assert.NotEmpty(t, e.Because(&rules.Context{}))
			}
		})
	}
	all.Wait()
}
