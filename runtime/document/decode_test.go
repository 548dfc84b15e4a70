package document

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		raw  string
		want any
	}{
		{`null`, nil},
		{`true`, true},
		{`false`, false},
		{`""`, ""},
		{`0`, 0},
		{`-1`, -1},
		{`-0`, 0},
		{`9007199254740993`, 9007199254740993},
		{`9223372036854775807`, math.MaxInt64},
		{`-9223372036854775808`, math.MinInt64},
		{`9223372036854775808`, json.Number("9223372036854775808")},
		{`-9223372036854775809`, json.Number("-9223372036854775809")},
		{`123456789012345678901234567890`, json.Number("123456789012345678901234567890")},
		{`1.10`, 1.1},
		{`1.0`, 1.0},
		{`1e0`, 1.0},
		{`5E-0`, 5.0},
		{`1e5`, 1e5},
		{`-1.5e-7`, -1.5e-7},
		{`-0.0`, 0.0},
		{`-0e5`, 0.0},
		{`-0.00000000000000000000`, 0.0},
		{`1e-400`, 0.0},
		{`1.7976931348623157e308`, math.MaxFloat64},
		{`0.1234567890123456789`, json.Number("0.1234567890123456789")},
		{`1735689600.123456860`, json.Number("1735689600.123456860")},
		{`0.30000000000000004`, 0.30000000000000004},
		{`52.520006599999990000`, 52.52000659999999},
		{`-0.50000000000000000000`, -0.5},
		{`12345678901234567890e-5`, 12345678901234567890e-5},
		{`0.1234567890123456789e-10`, 0.1234567890123456789e-10},
		{`12345678901234567890.5`, json.Number("12345678901234567890.5")},
		{`1234567890123456.0`, 1234567890123456.0},
		{`"é\u00e9\/\b\f\n\r\t\"\\"`, "éé/\b\f\n\r\t\"\\"},
		{`"\ud83d\ude00!"`, "😀!"},
		{`"\uD83D\uDE00"`, "😀"},
		{`"\\ud83d\\ude00"`, `\ud83d\ude00`},
		{`"\u0000\u007f"`, "\x00\x7f"},
		{`[]`, []any{}},
		{`{}`, map[string]any{}},
		{` [ 1 , [ ] , { "a" : null } ] `, []any{1, []any{}, map[string]any{"a": nil}}},
		{`{"a":1,"b":2,"a":3}`, map[string]any{"a": 3, "b": 2}},
		{`{"a":{"b":1},"a":{"c":2}}`, map[string]any{"a": map[string]any{"c": 2}}},
		{`{"\ud83d\ude00":[1e1]}`, map[string]any{"😀": []any{10.0}}},
	} {
		t.Run(c.raw, func(t *testing.T) {
			got, err := Decode([]byte(c.raw))
			require.NoError(t, err)
			require.Equal(t, c.want, got)
			if f, ok := got.(float64); ok {
				require.False(t, f == 0 && math.Signbit(f), "negative zero")
			}
		})
	}
}

func TestDecodeRefusesNumbersBeyondFloat(t *testing.T) {
	for _, raw := range []string{`1e400`, `-1e400`, `[1,{"a":1E+400}]`, `1e99999`, `1` + strings.Repeat("0", 400) + `.5`} {
		t.Run(wording.Clip(raw, 40), func(t *testing.T) {
			v, err := Decode([]byte(raw))
			require.ErrorContains(t, err, "too large to compute with")
			require.Nil(t, v)
		})
	}
	_, err := Decode([]byte(`{"a":1e400}`))
	require.EqualError(t, err, "the number 1e400 is too large to compute with")
}

func TestDecodeRefusesInvalidDocuments(t *testing.T) {
	for _, c := range []struct{ name, raw string }{
		{"empty", ``}, {"whitespace", ` `}, {"truncated number", `1.`}, {"truncated list", `[1,2`}, {"byte order mark", "\ufeff1"},
		{"a million levels", strings.Repeat("[", 1_000_000)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Decode([]byte(c.raw))
			require.Error(t, err)
		})
	}
}

func TestDecodeItems(t *testing.T) {
	items, err := decodeItems(splitItems([]byte(`[ {"id": 1}, 9223372036854775808, "\ud83d\ude00" ]`)), newAllowance(0))
	require.NoError(t, err)
	require.Equal(t, []any{map[string]any{"id": 1}, json.Number("9223372036854775808"), "😀"}, items)

	items, err = decodeItems(Items{}, newAllowance(0))
	require.NoError(t, err)
	require.Equal(t, []any{}, items)

	_, err = decodeItems(splitItems([]byte(`[1,{"a":1e400}]`)), newAllowance(0))
	require.EqualError(t, err, "item 2: the number 1e400 is too large to compute with")
}

func TestProject(t *testing.T) {
	type object = map[string]any
	type list = []any
	for _, c := range []struct {
		name, body string
		paths      []string
		want       any
	}{
		{"only what is tracked", `{"a":1,"b":{"c":2,"d":3},"big":[1e400]}`, []string{"b.c"}, object{"b": object{"c": 2}}},
		{"several paths", `{"a":1,"b":{"c":2,"d":3}}`, []string{"a", "b.c", "b.d"}, object{"a": 1, "b": object{"c": 2, "d": 3}}},
		{"absent path", `{"a":1}`, []string{"a", "b", "c.d"}, object{"a": 1}},
		{"absent member of an object", `{"a":{"x":1}}`, []string{"a.b"}, object{"a": object{}}},
		{"null is present", `{"a":null}`, []string{"a"}, object{"a": nil}},
		{"through null", `{"a":null}`, []string{"a.b"}, object{}},
		{"through a scalar", `{"a":5}`, []string{"a.b"}, object{}},
		{"a path and one below it", `{"a":{"b":1,"c":2}}`, []string{"a.b", "a"}, object{"a": object{"b": 1, "c": 2}}},
		{"a list on the path", `{"a":{"l":[{"b":1},{"b":2,"c":3}],"x":1}}`, []string{"a.l.1.b"},
			object{"a": object{"l": list{object{"b": 1}, object{"b": 2, "c": 3}}}}},
		{"number key of an object", `{"a":{"0":{"b":1},"1":2}}`, []string{"a.0.b"}, object{"a": object{"0": object{"b": 1}}}},
		{"root list", `[{"a":1},2]`, []string{"0.a"}, list{object{"a": 1}, 2}},
		{"root list, key of no element", `[1]`, []string{"meta.next"}, list{1}},
		{"the root", `{"a":1,"b":[2]}`, []string{".", "b"}, object{"a": 1, "b": list{2}}},
		{"the root, a scalar", `7`, []string{"."}, 7},
		{"nothing tracked", `{"a":1}`, nil, object{}},
		{"nothing tracked in a list", `[1e400]`, nil, nil},
		{"path into a scalar root", `7`, []string{"a"}, nil},
		{"duplicates", `{"a":{"b":1},"a":{"c":2}}`, []string{"a.b", "a.c"}, object{"a": object{"c": 2}}},
		{"escaped keys", `{"\u0061":{"é":1}}`, []string{"a.é"}, object{"a": object{"é": 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			paths := split(c.paths...)
			for _, tracked := range [][]string{c.paths, nil, append([]string{"other", "a"}, c.paths...)} {
				got, err := selectFrom(parse(t, c.body, tracked...), paths)
				require.NoError(t, err)
				require.Equal(t, c.want, got, "tracked: %v", tracked)
			}
		})
	}
}

func TestProjectNamesTheFaultyPath(t *testing.T) {
	_, err := selectFrom(parse(t, `{"a":{"x.y":1e400}}`), split(`a.x\.y`))
	require.EqualError(t, err, `a.x\.y: the number 1e400 is too large to compute with`)
}

// selectFrom returns what paths select of a document, whatever its scanner has looked for.
func selectFrom(d *document, paths [][]string) (v any, err error) {
	selecting := NewPaths(paths)
	selecting.use(d.raw, 0, func(s *selection) {
		d.newWalk(d.items).Locate(d.scanner.Root.Start, selecting.tree, s.row)
		v, _, err = s.project(selecting.tree.Root)
	})
	return v, err
}

// FuzzDecode compares values with those that encoding/json decodes.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5,-0,1e5,null,true,"x\u00e9\ud83d\ude00"]}`,
		`9223372036854775807`, `-9223372036854775808`, `18446744073709551616`,
		`0.1234567890123456789e-10`, `12345678901234567890e-5`, `1e400`,
		`{"a":1,"a":2}`, `1.000000000000000000000`, `100000000000000000000.0e-20`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := Decode(raw)
		s := scan.New(scan.Targets{})
		invalid := s.Scan(raw)
		if invalid != nil {
			require.Equal(t, invalid, err)
			return
		}
		decoder := json.NewDecoder(strings.NewReader(string(raw)))
		decoder.UseNumber()
		var want any
		require.NoError(t, decoder.Decode(&want))
		want, valid := expected(want)
		require.Equal(t, valid, err == nil, "%v", err)
		if valid {
			require.Equal(t, want, got)
		}
	})
}

// expected turns a value that encoding/json decoded, with json.Number, into the
// one that Decode promises. It reports false if a number is too large.
func expected(v any) (any, bool) {
	valid := true
	switch v := v.(type) {
	case json.Number:
		if !strings.ContainsAny(string(v), ".eE") {
			if i, err := v.Int64(); err == nil {
				return int(i), true
			}
			return v, true
		}
		f, err := v.Float64()
		return f + 0, err == nil
	case []any:
		for i := range v {
			inner, ok := expected(v[i])
			v[i], valid = inner, valid && ok
		}
	case map[string]any:
		for key := range v {
			inner, ok := expected(v[key])
			v[key], valid = inner, valid && ok
		}
	}
	return v, valid
}
