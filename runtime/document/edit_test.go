package document

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/keypath"
)

func TestEditor(t *testing.T) {
	for _, c := range []struct {
		name  string
		edits string // path=value, separated by spaces; a path without a value is removed
		raw   string
		want  string // or the error
	}{
		{"replaced in its place", `b=9`, `{"a":1,"b":[2,{"b":3}],"c":1.50}`, `{"a":1,"b":9,"c":1.50}`},
		{"added in the order of the edits", `z=1 y=2`, `{"a":1}`, `{"a":1,"z":1,"y":2}`},
		{"added to an empty object", `z=1`, `{}`, `{"z":1}`},
		{"removed first", `a`, `{"a":1,"b":2}`, `{"b":2}`},
		{"removed last", `b`, `{"a":1,"b":2}`, `{"a":1}`},
		{"removed only", `a`, `{"a":{"b":"}"}}`, `{}`},
		{"removed but absent", `x`, `{"a":1}`, `{"a":1}`},
		{"a key with an escape", `é=2`, `{"\u00e9":1}`, `{"\u00e9":2}`},
		{"a key that needs an escape", `a"b=2`, `{}`, `{"a\"b":2}`},
		{"duplicates are one", `a=7`, `{"a":1,"b":2,"a":3,"b":4}`, `{"a":7,"b":2,"b":4}`},
		{"duplicates are removed", `a`, `{"a":1,"b":2,"a":3}`, `{"b":2}`},
		{"nested in its place", `a.b=7 a.c`, `{"x":0,"a":{"c":1,"b":2,"d":3},"y":0}`, `{"x":0,"a":{"b":7,"d":3},"y":0}`},
		{"nested in all duplicates", `a.b=7`, `{"a":{"b":1},"a":{}}`, `{"a":{"b":7},"a":{"b":7}}`},
		{"nested and absent", `a.b.c=1 a.d=2`, `{}`, `{"a":{"b":{"c":1},"d":2}}`},
		{"nested in null", `a.b=1`, `{"a":null,"c":2}`, `{"a":{"b":1},"c":2}`},
		{"nested in null, removed", `a.b`, `{"a":null}`, `{"a":null}`},
		{"nested in a scalar, removed", `a.b`, `{"a":"text"}`, `{"a":"text"}`},
		{"nested in a scalar", `a.b=1`, `{"a":"text"}`, `a is a string, want an object`},
		{"nested in a list", `a.b=1`, `{"a":[{"b":2}]}`, `a is a list, want an object`},
		{"nested in a list, removed", `a.b.c`, `{"a":{"b":[{"c":2}]}}`, `a.b is a list, want an object`},
		{"a scalar", `a=1`, `"text"`, `{"value":"text","a":1}`},
		{"a scalar under another name", `a=1 value`, `1.50`, `{"a":1}`},
		{"a list", `a`, `[1,2]`, `{"value":[1,2]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var paths [][]string
			var values [][]byte
			for edit := range strings.SplitSeq(c.edits, " ") {
				path, value, set := strings.Cut(edit, "=")
				paths, values = append(paths, keypath.Split(path)), append(values, nil)
				if set {
					values[len(values)-1] = []byte(value)
				}
			}
			editor := NewEditor(paths, paths)
			for range 2 { // nothing may remain of an earlier item
				for item := range placed(t, c.raw, paths) {
					got, err := editor.Append([]byte("before"), item, values)
					if err != nil {
						require.EqualError(t, err, c.want)
						continue
					}
					require.Equal(t, "before"+c.want, string(got))
				}
			}
		})
	}
}

// placed yields an item twice: with the places that a scan has noted, and with those of a search.
func placed(t testing.TB, raw string, paths [][]string) iter.Seq[*LocatedItem] {
	t.Helper()
	return func(yield func(*LocatedItem) bool) {
		reading, err := NewReader(Options{Places: paths}).Read(Response{Status: 200, Body: []byte("[" + raw + "]")})
		require.NoError(t, err)
		for _, items := range []Items{reading.Items, {block: []byte(raw + "\n"), count: 2}} { // the count is another than that of the page
			for item := range reading.Values.Located(items) {
				if !yield(item) {
					return
				}
			}
		}
	}
}

func TestFind(t *testing.T) {
	raw := []byte(`{"a":{"b":1.50,"b":2.50},"\u00e9":{},"n":null}`)
	require.Equal(t, `2.50`, string(Find(raw, []string{"a", "b"})))
	require.Equal(t, `{}`, string(Find(raw, []string{"é"})))
	require.Equal(t, `null`, string(Find(raw, []string{"n"})))
	require.Nil(t, Find(raw, []string{"n", "x"}))
	require.Nil(t, Find(raw, []string{"x"}))
	require.Nil(t, Find([]byte(`[1]`), []string{"0"}))
}

// spelled is a member of an object as it is spelled.
type spelled struct{ key, name, value string }

// membersOf splits an object with encoding/json.
func membersOf(t *testing.T, raw []byte) (members []spelled) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	_, err := dec.Token()
	require.NoError(t, err)
	for dec.More() {
		before := dec.InputOffset()
		token, err := dec.Token()
		require.NoError(t, err)
		var value json.RawMessage
		key := strings.TrimLeft(string(raw[before:dec.InputOffset()]), ",")
		require.NoError(t, dec.Decode(&value))
		members = append(members, spelled{key, token.(string), string(value)})
	}
	return members
}

// FuzzEditor checks that members which no path names keep their bytes and their order, and
// that those at paths have the values that were set.
func FuzzEditor(f *testing.F) {
	f.Add(`{"a":{"b":[1,{"c":2}]},"a.b":"x\"]}","n":1.50}`, "a.b|n", uint8(1))
	f.Add(`{"\u0061":null,"b":{"":{}},"b":3}`, "a|b.c", uint8(3))
	f.Add(`[1,2]`, "a|value", uint8(2))
	f.Add(`{"x":{}}`, "x.y.z|x.w", uint8(0))
	f.Fuzz(func(t *testing.T, text, list string, sets uint8) {
		var compact bytes.Buffer
		if !utf8.ValidString(text) || !utf8.ValidString(list) || json.Compact(&compact, []byte(text)) != nil {
			return
		}
		raw := compact.Bytes()
		if _, err := newDocument(raw, nil, 500); err != nil {
			return
		}
		var paths [][]string
		var values [][]byte
		named := map[string]bool{}
		for path := range strings.SplitSeq(list, "|") {
			keys := keypath.Split(path)
			if len(keys) == 0 || named[keys[0]] {
				continue
			}
			named[keys[0]] = true
			var v []byte
			if sets>>(len(paths)%8)&1 == 1 {
				v = []byte(`{"set":[1]}`)
			}
			paths, values = append(paths, keys), append(values, v)
		}
		var got []byte
		var err error
		first := true
		for item := range placed(t, string(raw), paths) {
			one, failed := NewEditor(paths, paths).Append(nil, item, values)
			if !first {
				require.Equal(t, string(got), string(one))
				require.Equal(t, err, failed)
			}
			got, err, first = one, failed, false
		}
		if err != nil {
			return
		}
		if raw[0] != '{' {
			raw = []byte(`{"value":` + string(raw) + `}`)
		}
		require.True(t, json.Valid(got), "%s", got)
		require.NotContains(t, string(got), "\n")
		untouched := func(all []spelled) (out []spelled) {
			for _, m := range all {
				if !named[m.name] {
					out = append(out, m)
				}
			}
			return out
		}
		require.Equal(t, untouched(membersOf(t, raw)), untouched(membersOf(t, got)))
		for i, path := range paths {
			require.Equal(t, string(values[i]), string(Find(got, path)), "%q", path)
		}
	})
}
