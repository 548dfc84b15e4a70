package language

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// one compiles a single source in a role.
func one(t *testing.T, role rules.Role, source string) (*Expression, diag.Diagnostics) {
	t.Helper()
	return oneIn(t, Builtin(), role, source)
}

// oneIn compiles a single source in a role and a language.
func oneIn(t *testing.T, l *Language, role rules.Role, source string) (*Expression, diag.Diagnostics) {
	t.Helper()
	e, err := compileRule(l, rules.Rule{ID: "test", Role: role, Source: source})
	if err != nil {
		f := AsFault(err)
		return nil, diag.Diagnostics{{Message: f.Message, Hint: f.Hint, Snippet: f.Snippet(source)}}
	}
	return e, nil
}

// compileRule compiles a rule.
func compileRule(l *Language, rule rules.Rule) (*Expression, error) {
	return NewCompiler(l).Expression(rule, &rules.Ruleset{StateNames: []string{"offset"}}, rule.Role.Scope())
}

// eval evaluates a source on a page whose body is given as JSON. The error is that without the rule.
func eval(t *testing.T, body, source string) (any, error) {
	t.Helper()
	e, faults := one(t, rules.RoleParam, source)
	require.Empty(t, faults)
	page := &rules.Context{Page: 2, Body: decoded(t, body), Count: 7, Limit: 10, State: map[string]any{"offset": 20}}
	page.Total.Pages = 2
	v, err := e.Eval(&Machine{}, page)
	return v, errors.Unwrap(err)
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
	case json.Number:
		if n, err := value.Decoded(v); err == nil {
			return n
		}
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

func TestLongFractionsKeepAllTheirDigits(t *testing.T) {
	const body = `{"a": 1735689600.123456860, "b": 1735689600.1234568601, "c": 1735689600.12345686010, "n": -12345678901234567890.5,
		"half": 0.5, "big": 123456789012345678901234567890}`
	for _, c := range []struct {
		source string
		want   any
	}{
		{`text(body.a)`, "1735689600.123456860"},
		{`text(body.b)`, "1735689600.1234568601"},
		{`body.a < body.b`, true},
		{`body.a == body.b`, false},
		{`body.b == body.c`, true},
		{`uniq([body.b, body.c, body.a])`, []any{json.Number("1735689600.1234568601"), json.Number("1735689600.123456860")}},
		{`body.a > 1735689600`, true},
		{`body.a < 1735689600.5`, true},
		{`body.n < body.half`, true},
		{`body.big > body.a and body.n < body.big`, true},
		{`greatest([{"id": body.a}, {"id": body.b}], "id")`, json.Number("1735689600.1234568601")},
		{`body.a + 1`, 1735689600.123456860 + 1},
		{`-body.n`, 12345678901234567890.5},
		{`int(body.a)`, 1735689600},
		{`floor(body.n)`, -12345678901234567890.0},
		{`type(body.a)`, "float"},
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
	e, faults := one(t, rules.RoleStop, `body.done`)
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
	require.EqualError(t, errors.Unwrap(err), "want true or false, got a string; truthy(…) converts any value to a boolean")
}

func TestEveryErrorOfAnEvaluationNamesItsRuleOnce(t *testing.T) {
	e, faults := one(t, rules.RoleStop, `at("x")`)
	require.Empty(t, faults)
	failing, faults := one(t, rules.RoleStop, `bitshl(1, body.n) == 2`)
	require.Empty(t, faults)
	page := &rules.Context{Body: decoded(t, `{"x": "long", "n": -1}`)}
	m := &Machine{}
	_, evalErr := failing.Eval(m, page)
	_, boolErr := failing.EvalBool(m, page)
	_, kindErr := e.EvalBool(m, page)
	_, valueErr := failing.Value(m, page, MaxValueBytes)
	_, lengthErr := e.Value(m, page, 1)
	for _, err := range []error{evalErr, boolErr, kindErr, valueErr, lengthErr} {
		var failed *RuleError
		require.ErrorAs(t, err, &failed)
		require.Same(t, failed, err)
		require.Contains(t, []string{e.Rule.Source, failing.Rule.Source}, failed.Rule.Source)
		require.NotErrorAs(t, failed.Err, new(*RuleError))
	}
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
		{`body.at < "1970-01-01T00:10:00.5Z"`, true},
		{`body.at <= "1970-01-01T00:09:59.999999Z"`, false},
		{`body.at < "1970-01-01T02:10:00.001+02:00"`, true},
		{`"1970-01-01T02:10:00+02:00" >= body.at and "1970-01-01T02:10:00+02:00" <= body.at`, true},
		{`body.at > "1970-01-01T01:09:59+01:00" and body.at > "1970-01-01T00:09:59-00:00"`, true},
		{`max(body.at, "1970-01-01T00:10:00.5Z")`, "1970-01-01T00:10:00.5Z"},
		{`body.at > "1970-01-01T00:10:00.5"`, false}, // without a time zone, a time is in UTC
		{`body.at < "1970-01-01T00:10:00.x5Z"`, false},
		{`"2026-10-25T02:10:00.000+0100" > "2026-10-25T02:50:00.000+0200"`, true},
		{`"2026-03-01 09:00:00" >= "2026-03-01T00:00:00Z"`, true},
		{`"2026-03-01T00:00:00.5" > "2026-03-01T00:00:00Z"`, true},
		{`"2026/3/10" > "2026/3/9" and "2026-1-10" > "2026-01-09"`, true},
		{`"2026-03-01 12:30 AM" < "2026-03-01 01:00 AM" and "2026-03-01 01:00 PM" > "2026-03-01 11:00 AM"`, true},
		{`"01 Jan 2026" > "31 Dec 2025" and "Jan 1, 2026" > "Dec 31, 2025"`, true},
		{`"Sun, 01 Mar 2026 10:00:00 GMT" < "Mon, 02 Mar 2026 10:00:00 GMT"`, true},
		{`"2026-9-lot" > "2026-10-lot"`, true}, // no times
		{`"N/A" > "2026-01-01" or "2026-01-01" > "never" or "N/A" <= "2026-01-01" or "" < "2026-01-01"`, false},
		{`"" < "a" and "N/A" > "A"`, true},
		{`"2026-03-01t01:00:00z" > "2026-03-01T00:59:59.5Z"`, true},
		{`"2026-03-01t01:00:00+01:00" > "2026-03-01t00:00:00z"`, false},
		{`"01/02/2026" < "02/01/2026"`, true}, // of an unknown form, with a note
		{`greatest([{"at": "2026-03-01T08:00:00Z"}, {"at": "2026-03-01 09:00:00"}], "at")`, "2026-03-01 09:00:00"},
		{`least([{"at": "2026-03-01T08:00:00Z"}, {"at": "2026-03-01T08:00:00.5Z"}], "at")`, "2026-03-01T08:00:00Z"},
		{`link("next")`, "next"},
		{`link("next", "results")`, "results"},
		{`len(items) + 1`, 1},
	} {
		t.Run(c.source, func(t *testing.T) {
			e, faults := one(t, rules.RoleParam, c.source)
			require.Empty(t, faults)
			got, err := e.Eval(&Machine{}, page)
			require.NoError(t, err)
			require.EqualValues(t, c.want, got)
		})
	}
}

func TestAProgramMayBeSharedByGoroutines(t *testing.T) {
	e, _ := one(t, rules.RoleParam, `greatest(body.list, ".") + count`)
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

func TestFunctionsOfTheLanguageTakeWhatAPIsSend(t *testing.T) {
	const body = `{"s": "a;b", "n": 5, "day": "2024-02-01", "mixed": [1, "2", null, 3.0], "o": {"b": 1, "a": 2},
		"days": ["2024-02-01", null, "2023-05-01"], "kinds": [{"k": 1, "v": "x"}, {"k": "b"}, {"v": "y"}, {"k": 1}], "none": [], "text": "abc"}`
	for _, c := range []struct {
		source string
		want   any
	}{
		{`split(body.s, ";")[0]`, "a"},
		{`split(body.s, ";")[-1] + "!"`, "b!"},
		{`split(body.x, ";")[0] ?? 1`, 1},
		{`(1..3)[1]`, 2},
		{`len(3..1)`, 0},
		{`[5, findLast(body.kinds, .k == 1).k, 6]`, []any{5, 1, 6}},
		{`[5, findLastIndex(body.kinds, .k == 1), 6]`, []any{5, 3, 6}},
		{`findLastIndex(body.kinds, .v == "y") - 1`, 1},
		{`findLast(body.kinds, .v != nil).v == "y"`, true},
		{`findLastIndex(body.kinds, .k == 7)`, nil},
		{`findLast(body.missing, true)`, nil},
		{`map([1, "b"], let k = #; findLastIndex(body.kinds, .k == k))`, []any{3, 1}},
		{`findLastIndex(body.kinds, .k == findLast(body.kinds, .v == "x").k)`, 3},
		{`groupBy(body.kinds, .k)["1"][1].k`, 1},
		{`groupBy(body.kinds, .k).b[0].k`, "b"},
		{`groupBy(body.kinds, .k).null[0].v`, "y"},
		{`keys(groupBy(body.kinds, .k))`, []any{"1", "b", "null"}},
		{`min(body.days)`, "2023-05-01"},
		{`max(body.days)`, "2024-02-01"},
		{`max(map(body.kinds, .v))`, "y"},
		{`max(body.day, "2024-05-01")`, "2024-05-01"},
		{`min(date(body.day), date("2023-01-01")).Year()`, 2023},
		{`date("2024-02-01T03:04:05.000+0000").Unix()`, 1706756645},
		{`date("2024-02-01T03:04:05+01").Unix()`, 1706753045},
		{`date("2024-02-01 03:04:05.123456+00:00").Nanosecond()`, 123456000},
		{`date("2024-02-01 03:04:05.123456").Nanosecond()`, 123456000},
		{`date("2024-02-01 03:04:05+0100").Unix()`, 1706753045},
		{`date("2024-02-01 03:04:05 +0100").Unix()`, 1706753045},
		{`date("2024-02-01 03:04:05 UTC").Unix()`, 1706756645},
		{`date("2024-02-01 03:04").Unix()`, 1706756640},
		{`date("20240201").Unix()`, 1706745600},
		{`date(1706745600).Format("2006-01-02")`, "2024-02-01"},
		{`date(1706745600500).UnixMilli()`, 1706745600500},
		{`date(20240201, "20060102").Format("2006-01-02")`, "2024-02-01"},
		{`date("20240201T030405Z").Unix()`, 1706756645},
		{`date("20240201T030405+0100").Unix()`, 1706753045},
		{`date("Thu Feb  1 03:04:05 2024").Unix()`, 1706756645},
		{`date("20240201T030405").Hour()`, 3},
		{`latestOf([{"id": "20240201"}, {"id": "9"}], "id")`, "20240201"},
		{`latestOf([{"at": "N/A"}], "at", nil, "time")`, nil},
		{`latestOf([{"at": 20240201}, {"at": 20231231}], "at", nil, "20060102")`, "2024-02-01T00:00:00Z"},
		{`earlier("0000004715", 20)`, "0000004695"},
		{`earlier("0015", 20)`, "0000"},
		{`earlier("4715", 20)`, 4695},
		{`earlier("0.5", 0.25)`, 0.25},
		{`earlier(20240201, "1d", "20060102")`, "20240131"},
		{`latestOf(["2024-02-01", "N/A"], ".", nil, "time")`, "2024-02-01"},
		{`latestOf([{"at": "2026-02"}, {"at": "N/A"}], "at", "2026-01")`, "2026-02"},
		{`latestOf([{"at": "unknown"}, {"at": "2026-Q2"}], "at", "N/A")`, "2026-Q2"},
		{`latestOf([{"at": "N/A"}], "at", "n/a")`, nil},
		{`toJSON({"a": [1, "<&>", nil], "at": date("2024-02-01")})`, `{"a":[1,"<&>",null],"at":"2024-02-01T00:00:00Z"}`},
		{`date("")`, nil},
		{`date("", "2006").Year() ?? 0`, 0},
		{`date(timezone("UTC"), "") ?? 1`, 1},
		{`max(duration("1h"), duration("90m")).Minutes()`, 90.0},
		{`max(body.mixed)`, 3.0},
		{`min(body.mixed)`, 1},
		{`min(body.none)`, nil},
		{`max(body.x, 3)`, nil},
		{`sum(body.mixed)`, 6.0},
		{`sum(body.kinds, .k == 1 ? 1 : 0)`, 2},
		{`median(body.mixed)`, 2.0},
		{`mean(body.none)`, 0.0},
		{`sort(body.mixed)`, []any{1, "2", 3.0, nil}},
		{`sort(body.days, "desc")`, []any{nil, "2024-02-01", "2023-05-01"}},
		{`map(sortBy(body.kinds, .v), .k)`, []any{1, nil, "b", 1}},
		{`len(uniq([1, 1.0, "1", nil, nil, {"a": 1}, {"a": 1.0}, [1], [1]]))`, 5},
		{`uniq([nil, prev])`, []any{nil}},
		{`uniq(map(1..300000, 1))`, []any{1}}, // only what is kept counts as a list that is made
		{`join(body.mixed, "-")`, "1-2-3"},
		{`keys(body.o)`, []any{"a", "b"}},
		{`keys({"b": 1, "a": 2})`, []any{"b", "a"}},
		{`values(body.o)`, []any{2, 1}},
		{`toPairs(body.o)[0]`, []any{"a", 2}},
		{`fromPairs([["x", 1]]).x`, 1},
		{`first(body.text)`, "a"},
		{`last(body.mixed)`, 3.0},
		{`take(body.mixed, 2)`, []any{1, "2"}},
		{`reduce(body.x, #acc + #)`, nil},
		{`reduce(body.none, #acc + #)`, nil},
		{`reduce([1, 2], #acc + #)`, 3},
		{`reduce(body.none, #acc + #, 7)`, 7},
		{`date(nil).Unix()`, nil},
		{`date(body.x).Unix()`, nil},
		{`date(body.day).Unix()`, 1706745600},
		{`date("2024-02-01T10:00:00").Hour()`, 10},
		{`date(body.day).Format("02.01.2006")`, "01.02.2024"},
		{`date(body.day).Format(body.x)`, nil},
		{`date(body.day).AddDate(0, 1, 0).Month()`, 3},
		{`body.n == "5"`, true},
		{`"5.0" == body.n`, true},
		{`"5" == " 5"`, false},
		{`body.n in ["4", "5"]`, true},
		{`text(5) in [4, 5]`, true},
		{`body.n == null`, false},
		{`body.x == null`, true},
		{`body.n > "4.5"`, true},
		{`body.o == {"a": "2", "b": 1}`, true},
		{`body.o == {"a": 2, "c": 1}`, false},
		{`date("2024-01-01T00:00:00Z") == date("2024-01-01T01:00:00+01:00")`, true},
		{`type(groupBy(body.kinds, .k))`, "map"},
		{`ceil(2.2)`, 3.0},
		{`text(abs(-9223372036854775807 - 2))`, "9223372036854775809"},
	} {
		t.Run(c.source, func(t *testing.T) {
			got, err := eval(t, body, c.source)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestAValueOfTheWrongKindIsNamed(t *testing.T) {
	const body = `{"n": 5, "s": "abc", "o": {"a": 1}, "l": [1, "x"]}`
	for _, c := range []struct{ source, want string }{
		{`split(body.n, "=")`, `argument 1 of split must be a string, got a number (5); text(…) converts a number to a string`},
		{`take(body.l, -1)`, `take cannot take -1 elements; list[-1:] has the last ones`},
		{`repeat(body.s, number("2.5"))`, `argument 2 of repeat must be an integer, got a number (2.5)`},
		{`repeat(body.s, -1)`, `repeat cannot repeat a string -1 times`},
		{`all(body.n, true)`, `want a list, got a number (5)`},
		{`all(body.s, true)`, `want a list, got a string ("abc")`},
		{`count(body.o, true)`, `want a list, got an object with 1 member`},
		{`sum(body.l)`, `sum: want a number, got a string ("x")`},
		{`max(body.l)`, `max orders numbers, but element 1 is a string ("x")`},
		{`sort([true, false])`, `sort cannot order element 0, a boolean (true), and a boolean (true)`},
		{`groupBy(body.l, [#])`, `groupBy: the key of element 0 is a list; a key is a string, a number or a boolean`},
		{`reverse(body.s)`, `argument 1 of reverse must be a list, got a string ("abc")`},
		{`join([[1]], "-")`, `join takes strings and numbers; element 0 is a list of 1 element`},
		{`body.n.Unix()`, `Unix is a function of a time, and is called on a number (5)`},
		{`date(body.s)`, `date: "abc" is not a date in a usual form; date(text, layout) reads any other`},
		{`date(20240201)`, `date: the number 20240201 may be a day or seconds since 1970: write date(text(v)) for the day`},
		{`date(body.l)`, `date takes a string or a number, got a list of 2 elements`},
		{`duration(body.s)`, `duration: want text like 90s, 5m or 1h30m, got "abc"`},
		{`timezone(body.s)`, `timezone: want a name like Europe/Prague, got "abc"`},
		{`fromJSON("1e999")`, `the number 1e999 is too large to compute with`},
		{`number("inf")`, `want a number, got a string ("inf")`},
		{`bitshl(1, -1)`, `bitshl cannot shift by -1 bits; the number must not be negative`},
		{`body.s > date("2024-01-01")`, `> cannot be applied to a string ("abc") and a time ("2024-01-01T00:00:00Z"); date(…) converts a string to a time`},
		{`body.s > 3`, `> cannot be applied to a string ("abc") and a number (3); number(…) converts a string to a number`},
		{`"a" in body.s`, `in cannot be applied to a string ("a") and a string ("abc"); contains looks for a part of a string`},
	} {
		t.Run(c.source, func(t *testing.T) {
			_, err := eval(t, body, c.source)
			require.EqualError(t, err, c.want)
		})
	}
}

func TestNumbersInStringsDrawANote(t *testing.T) {
	for _, c := range []struct {
		source string
		want   []string
	}{
		{`body.a >= body.b`, []string{`"2" and "10" are compared as text, because both are strings; number(…) makes them numbers`}},
		{`body.a == "2.0"`, []string{`"2" and "2.0" are different strings, but the same number; number(…) makes them numbers`}},
		{`max(body.a, body.b) == body.a`, []string{`"2" and "10" are compared as text, because both are strings; number(…) makes them numbers`}},
		{`body.a == body.b`, nil},
		{`body.a == 2`, nil},
		{`number(body.a) >= number(body.b)`, nil},
		{`body.day >= "2024-01-01"`, nil},
		{`body.day > "2024-1-1"`, nil}, // compared as times
		{`body.v > "v10"`, []string{`"v9" and "v10" are compared as text, although they differ in numbers alone; compare number(…) of a part`}},
		{`body.v > "v8" or body.v > "w10"`, nil},
		{`body.none > body.day`, []string{`"N/A" is no time, so a comparison of it with "2024-02-01" is false`}},
		{`body.empty <= body.day`, nil},
		{`max(body.day, body.none) == body.none`, []string{
			`"N/A" is no time, but max orders it as text beside times; leave it out, as latestOf does`,
		}},
		{`body.day < body.unix`, []string{`"2024-02-01" is a time and "1772360188" is not one that date(…) reads, so they are compared as text`}},
		{`body.date < "02/01/2026"`, []string{`"01/02/2026" and "02/01/2026" are compared as text, although they are dates whose text does not sort ` +
			`by time; date(…, "02/01/2006") reads times in a form that shows how 2 January 2006 would look`}},
		{`body.groups < "10,000"`, []string{
			`"9,500" and "10,000" are compared as text, although they differ in numbers alone; compare number(…) of a part`,
		}},
	} {
		t.Run(c.source, func(t *testing.T) {
			e, faults := one(t, rules.RoleStop, c.source)
			require.Empty(t, faults)
			var notes []string
			m := &Machine{Note: func(_ *Expression, text string) { notes = append(notes, text) }}
			_, err := e.EvalBool(m, &rules.Context{Body: map[string]any{
				"a": "2", "b": "10", "day": "2024-02-01", "v": "v9", "groups": "9,500", "date": "01/02/2026", "none": "N/A", "empty": "",
				"unix": "1772360188",
			}})
			require.NoError(t, err)
			require.Equal(t, c.want, notes)
		})
	}
}

func FuzzExpression(f *testing.F) {
	for _, seed := range []string{
		`count < limit`, `body.a[0]?.b ?? 1`, `filter(items, .id > 2)[0]`, `at("a") in [1, nil]`, `{"a": body.x}.a`, `let x = 1; x + body`,
		`"a" matches "b"`, `1..3 | map(# * 2)`, `repeat("a", 1..9 | len())`, `join(map(1..9, string(#)), "-") matches "^1"`,
		`header(body.x) == link("next", body.a[0])`, `(prev ?? first).body.x == nil`, `upper(upper(upper(body.x)))`,
		`jsonpath("$..[?(@.b)]")`, `date(body.x).Unix()`, `items.length`, `reduce(body.a, #acc) == null`, `groupBy(body.a, type(#)).map[0]`,
	} {
		f.Add(seed, `{"a": [1, {"b": null}], "x": "y"}`)
	}
	f.Fuzz(func(t *testing.T, source, body string) {
		root, err := rules.ParseJSON(diag.NewSource("", body))
		if err != nil {
			return
		}
		e, faults := one(t, rules.RoleStop, source)
		if e == nil {
			require.NotEmpty(t, faults)
			return
		}
		page := &rules.Context{Body: unordered(root)}
		began := time.Now()
		_, _ = e.EvalBool(&Machine{}, page)
		require.Less(t, time.Since(began), time.Minute, "the budget is a second or two; the machine may be busy")
		_ = e.Because(page)
		_ = e.Missing(page)
	})
}

func TestALanguageMayBeSharedByGoroutines(t *testing.T) {
	l := withF(t, func(n int) int { return n })
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 20 {
				e, faults := oneIn(t, l, rules.RoleStop, `f(total.pages) > 3 and header("X") == nil and sent.url != prev.sent.url`)
				assert.Empty(t, faults)
				assert.NotEmpty(t, e.Because(&rules.Context{}))
			}
		})
	}
	all.Wait()
}
