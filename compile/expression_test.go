package compile

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// one compiles a single source in a role.
func one(t *testing.T, role rules.Role, source string) (*Expression, diag.Diagnostics) {
	t.Helper()
	faults := diag.NewCollector(nil)
	c := &compilation{set: &rules.Ruleset{Variables: []string{"offset"}}, faults: faults}
	return c.expression(rules.Rule{ID: "test", Role: role, Source: source}), faults.Diagnostics().Errors()
}

// eval evaluates a source on a page whose body is given as JSON.
func eval(t *testing.T, body, source string) (any, error) {
	t.Helper()
	e, faults := one(t, rules.Param, source)
	require.Empty(t, faults, "%v", faults)
	page := &rules.Context{Page: 2, Body: decoded(t, body), Count: 7, Limit: 10, State: map[string]any{"offset": 20}}
	page.Total.Pages = 2
	return e.Eval(&Machine{}, page)
}

// decoded turns JSON into values as the page reader does.
func decoded(t *testing.T, text string) any {
	t.Helper()
	root, err := rules.ParseJSON(diag.NewSource("", text))
	require.NoError(t, err)
	return plain(root)
}

func plain(v any) any {
	switch v := v.(type) {
	case rules.Object:
		out := map[string]any{}
		for _, m := range v {
			out[m.Name] = plain(m.Value)
		}
		return out
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	}
	return v
}

func TestMissingValuesNeverAbortARule(t *testing.T) {
	const body = `{"a": {"n": 5, "nil": null, "s": "x"}, "list": [1, 2, 3]}`
	for source, want := range map[string]any{
		`body.x.y.z`:                 nil,
		`body.a.n.y`:                 nil,
		`body?.x?.y`:                 nil,
		`body.list[7]`:               nil,
		`body.list[-1]`:              3,
		`body.x[0]`:                  nil,
		`body.x > 3`:                 false,
		`body.x < 3`:                 false,
		`body.x == nil`:              true,
		`body.x != 3`:                true,
		`body.x + 1`:                 nil,
		`1 - body.x * 2`:             nil,
		`-body.x`:                    nil,
		`not body.x`:                 true,
		`body.x and true`:            false,
		`body.x or count == 7`:       true,
		`body.x ? 1 : 2`:             2,
		`body.x ?? 4`:                4,
		`body.x in [1, 2]`:           false,
		`1 in body.x`:                false,
		`"n" in body.a`:              true,
		`body.x contains "a"`:        false,
		`body.x startsWith "a"`:      false,
		`body.x matches "a"`:         false,
		`body.x[1:3]`:                nil,
		`len(body.x)`:                nil,
		`len(body.x) > 2`:            false,
		`upper(body.x)`:              nil,
		`max(body.x, 3)`:             nil,
		`first(body.x)`:              nil,
		`filter(body.x, .id > 2)`:    []any{},
		`any(body.list, # > body.x)`: false,
		`all(body.x, # > 1)`:         true,
		`count(body.list, # > 1)`:    2,
		`sum(body.list)`:             6,
		`prev.body.x`:                nil,
		`prev.count > 3`:             false,
		`first.body.x == nil`:        true,
		`at("a.nil")`:                nil,
		`has("a.nil")`:               true,
		`has("a.nope")`:              false,
		`job.params["limit"]`:        nil,
		`state.offset + limit`:       30,
		`count < limit`:              true,
		`total.pages * 2`:            4,
		`let n = body.a.n; n + 1`:    6,
		`body.list[1:]`:              []any{2, 3},
	} {
		got, err := eval(t, body, source)
		require.NoError(t, err, source)
		require.Equal(t, want, got, source)
	}
}

func TestIntegersKeepAllTheirDigits(t *testing.T) {
	const body = `{"a": 9007199254740993, "b": 9007199254740992, "big": 123456789012345678901234567890, "max": 9223372036854775807, "f": 9007199254740992.0}`
	for source, want := range map[string]any{
		`body.a == body.b`:     false,
		`body.a > body.f`:      true,
		`body.big > body.max`:  true,
		`body.big == body.big`: true,
		`body.max + 1`:         json.Number("9223372036854775808"),
		`body.big + 1`:         json.Number("123456789012345678901234567891"),
		`body.big - body.big`:  0,
		`text(body.big)`:       "123456789012345678901234567890",
		`text(body.a)`:         "9007199254740993",
		`number("123456789012345678901234567890") == body.big`:                 true,
		`greatest([{"id": 9007199254740993}, {"id": 9007199254740992}], "id")`: 9007199254740993,
	} {
		got, err := eval(t, body, source)
		require.NoError(t, err, source)
		require.Equal(t, want, got, source)
	}
}

func TestKindsThatDoNotGoTogetherAreAnErrorThatSaysHow(t *testing.T) {
	for source, want := range map[string]string{
		`body.s > 3`:                      `> does not go with a string ("x") and a number (3); number(…) turns text into a number`,
		`body.s + 1`:                      `+ does not go with a string ("x") and a number (1)`,
		`body.s and true`:                 `want true or false, got a string ("x"); truthy(…) turns any value into a boolean`,
		`number(body.s)`:                  `want a number, got a string ("x")`,
		`text(body.list)`:                 `want a text or a number to send, got a list`,
		`body.n / 0`:                      `5 / 0 is not a number`,
		`body.n % 0`:                      `division by zero`,
		`greatest([{"id": 1}, {}], "id")`: `item 2 of the page: id is absent`,
		`greatest([{"id": 1}, {"id": "x"}], "id")`: `cannot be compared`,
		`phpGreatest([{"id": "abc"}], "id")`:       `item 1 of the page: id is a string, not a number`,
		`query(body.n)`:                            `want a URL or a query string, got a number`,
	} {
		_, err := eval(t, `{"s": "x", "n": 5, "list": []}`, source)
		require.ErrorContains(t, err, want, source)
	}
}

func TestEveryFunctionDoesWhatItsExampleSays(t *testing.T) {
	const body = `{"meta": {"next": "p2", "total": 25}, "done": "no", "flags": []}`
	for _, f := range rules.Functions {
		if f.Name == "jsonpath" { // an object's members have no order
			got, err := eval(t, body, f.Example)
			require.NoError(t, err)
			require.ElementsMatch(t, []any{"p2", 25}, got)
			continue
		}
		got, err := eval(t, body, f.Example)
		require.NoError(t, err, f.Name)
		text, err := json.Marshal(got)
		require.NoError(t, err)
		require.Equal(t, f.Result, string(text), f.Name)
		require.Contains(t, functions, f.Name)
		require.True(t, strings.HasPrefix(f.Signature, f.Name+"("))
	}
}

func TestFaultsOfAnExpressionShowACaretAndACure(t *testing.T) {
	for source, want := range map[string]struct{ message, hint, snippet string }{
		`cuont == 0`:              {"unknown name cuont", `did you mean "count"?`, " | cuont == 0\n | ^"},
		`total.page > 1`:          {"unknown name page; there are pages, items, bytes, seconds", `did you mean "pages"?`, " | total.page > 1\n |       ^"},
		`prev.cout > 1`:           {"unknown name cout", `did you mean "count"?`, " | prev.cout > 1\n |      ^"},
		`state.ofset > 1`:         {"unknown variable state.ofset", `declared in "state"`, " | state.ofset > 1\n |       ^"},
		`count ==`:                {"unexpected token EOF", "", " | count ==\n |        "},
		`count`:                   {"want true or false, the expression gives a number", "truthy(…)", " | count\n | ^"},
		`"yes"`:                   {"want true or false, the expression gives a string", "truthy(…)", ""},
		`isLast`:                  {"unknown name isLast", "body.isLast", ""},
		`jsonpath(body.x) == nil`: {"jsonpath takes its path as a text", "", ""},
		`at(3) == nil`:            {"not enough arguments to call at", `it is at([v, ]"a.b"): the value at a path of the body`, " | at(3) == nil\n | ^"},
	} {
		_, faults := one(t, rules.Stop, source)
		require.Len(t, faults, 1, source)
		require.Contains(t, faults[0].Message, want.message)
		require.Contains(t, faults[0].Hint, want.hint)
		require.Contains(t, faults[0].Snippet, want.snippet)
	}
}

func TestASourceThatIsTooLongIsRefusedBeforeItIsParsed(t *testing.T) {
	_, faults := one(t, rules.Stop, strings.Repeat("(", 1<<20))
	require.Len(t, faults, 1)
	require.Contains(t, faults[0].Message, "the limit is 16384")
}

func TestAConditionThatOnlyTheResponseDecidesIsCheckedWhenItRuns(t *testing.T) {
	e, faults := one(t, rules.Stop, `body.done`)
	require.Empty(t, faults)
	for body, want := range map[string]any{`{"done": true}`: true, `{"done": false}`: false, `{}`: false, `{"done": null}`: false} {
		met, err := e.EvalBool(&Machine{}, &rules.Context{Body: decoded(t, body)})
		require.NoError(t, err)
		require.Equal(t, want, met, body)
	}
	_, err := e.EvalBool(&Machine{}, &rules.Context{Body: decoded(t, `{"done": "no"}`)})
	require.EqualError(t, err, "want true or false, got a string; truthy(…) turns any value into a boolean")
}

func TestReadsAreWhatTheExpressionLooksAt(t *testing.T) {
	for source, want := range map[string][]string{
		`count < limit`: {"count", "limit"},
		`body.meta.next == nil and total.pages > 3`: {"body.meta.next", "total.pages"},
		`at("a\\.b.0") == nil`:                      {`body["a.b"][0]`},
		`has("a") ? at("a") : true`:                 {"has(body.a)", "body.a"},
		`items[-1].id`:                              {"items"},
		`prev.body.id == body.id`:                   {"prev.body.id", "body.id"},
		`let x = body.a; x.b > count`:               {"body.a", "count"},
		`filter(items, .id > body.min)`:             {"items", "body.min"},
		`jsonpath("$..x")[0].y`:                     {"body"},
		`at(job.id).y`:                              {"body"},
		`at("a").b[0]`:                              {"body.a.b[0]"},
		`link("next").x`:                            {`link("next")`},
		`jsonpath("$..x")`:                          {"body"},
		`header("X-Total") == "3"`:                  {`header("X-Total")`},
		`sent.params.page`:                          {"sent.params.page"},
	} {
		e, faults := one(t, rules.Param, source)
		require.Empty(t, faults, "%s: %v", source, faults)
		var reads []string
		for _, r := range e.Reads {
			reads = append(reads, r.String())
		}
		require.Equal(t, want, reads, source)
	}
}

func TestBecauseShowsTheValuesThatDecided(t *testing.T) {
	page := &rules.Context{Count: 7, Limit: 10, Body: decoded(t, `{"meta": {"total": 25}, "items": [1, 2]}`), Header: func(string) any { return "3" }}
	page.Total.Seconds = 1.5
	for source, want := range map[string]string{
		`count < limit`:                      `count(7) < limit(10)`,
		`body.meta.totl > 3`:                 `body.meta.totl(absent) > 3`,
		`total.seconds >= 60`:                `total.seconds(1.500) >= 60`,
		`len(body.items) == 2`:               `len(body.items(list of 2)) == 2`,
		`has("meta") ? at("meta.total") : 0`: `has(body.meta)(true) ? body.meta.total(25) : 0`,
		`header("X") == "3"`:                 `header("X")("3") == "3"`,
		`prev.count == 3`:                    `prev.count(absent) == 3`,
	} {
		e, faults := one(t, rules.Param, source)
		require.Empty(t, faults)
		require.Equal(t, want, e.Because(page), source)
	}
	e, _ := one(t, rules.Param, `body.meta.totl > 3 or prev.body.x == 1`)
	require.Equal(t, []string{"body.meta.totl"}, e.Missing(page), "on the first page there is no previous one to miss")
}

func TestTheFunctionsOfAPageAreCalledLikeAnyOther(t *testing.T) {
	page := &rules.Context{
		Body:   map[string]any{"at": "1970-01-01T00:10:00Z"},
		Now:    func() time.Time { return time.Unix(1000, 0) },
		Header: func(name string) any { return map[string]any{"X-Total": "3"}[name] },
		Link:   func(rel string, param ...string) any { return append([]string{rel}, param...)[len(param)] },
	}
	for source, want := range map[string]any{
		`now().Unix() - 360`:                     int64(640),
		`number(header("X-Total")) + 1`:          4,
		`header("X-None") == nil`:                true,
		`date(body.at) < now()`:                  true,
		`now() - date(body.at) > duration("5m")`: true,
		`date(body.at) + duration("1h") > now()`: true,
		`date(body.none) < now()`:                false,
		`link("next")`:                           "next",
		`link("next", "results")`:                "results",
		`len(items) + 1`:                         1,
	} {
		e, faults := one(t, rules.Param, source)
		require.Empty(t, faults, "%s: %v", source, faults)
		got, err := e.Eval(&Machine{}, page)
		require.NoError(t, err)
		require.EqualValues(t, want, got, source)
	}
}

func TestMessagesHoldExpressions(t *testing.T) {
	c := &compilation{set: &rules.Ruleset{}, faults: diag.NewCollector(nil)}
	page := &rules.Context{Count: 7, Job: rules.JobFacts{ID: "users"}}
	for text, want := range map[string]string{
		`Job '{job.id}' has {count} items`: "Job 'users' has 7 items",
		`no {nonsense here} and {`:         "no {nonsense here} and {",
		`plain`:                            "plain",
	} {
		require.Equal(t, want, c.message(rules.Rule{Message: text}).Text(&Machine{}, page))
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
				v, _ = e.Eval(m, &rules.Context{Body: body, Count: n})
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
	for _, seed := range []string{`count < limit`, `body.a[0]?.b ?? 1`, `filter(items, .id > 2)[0]`, `at("a") in [1, nil]`, `{"a": body.x}.a`, `let x = 1; x + body`, `"a" matches "b"`, `1..3 | map(# * 2)`, `repeat("a", 1..9 | len())`, `join(map(1..9, string(#)), "-") matches "^1"`} {
		f.Add(seed, `{"a": [1, {"b": null}], "x": "y"}`)
	}
	f.Fuzz(func(t *testing.T, source, body string) {
		root, err := rules.ParseJSON(diag.NewSource("", body))
		if err != nil {
			return
		}
		c := &compilation{set: &rules.Ruleset{}, faults: diag.NewCollector(nil)}
		e := c.expression(rules.Rule{ID: "fuzz", Role: rules.Stop, Source: source})
		if e == nil {
			require.NotEmpty(t, c.faults.Diagnostics().Errors())
			return
		}
		page := &rules.Context{Body: plain(root)}
		began := time.Now()
		_, _ = e.EvalBool(&Machine{}, page)
		require.Less(t, time.Since(began), 5*time.Second, "a second is meant")
		_ = e.Because(page)
		_ = e.Missing(page)
	})
}
