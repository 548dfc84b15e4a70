package document

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

func TestPathsDecodeWhatTheySelect(t *testing.T) {
	for _, c := range []struct {
		name  string
		paths [][]string
		raw   string
		want  any
	}{
		{"no paths", nil, `{"a":1}`, nil},
		{"one member", [][]string{{"a"}}, `{"b":[1,"]"],"a":1,"c":"}"}`, map[string]any{"a": 1}},
		{"the whole value", [][]string{{}}, `{"a":{"b":[1.50]}}`, map[string]any{"a": map[string]any{"b": []any{1.5}}}},
		{"nested members", [][]string{{"a", "b"}, {"a", "d", "e"}}, `{"a":{"b":1,"c":2,"d":{"e":null,"f":3}}}`,
			map[string]any{"a": map[string]any{"b": 1, "d": map[string]any{"e": nil}}}},
		{"a list on the path is complete", [][]string{{"a", "0", "b"}}, `{"a":[{"b":1,"c":2}]}`,
			map[string]any{"a": []any{map[string]any{"b": 1, "c": 2}}}},
		{"an absent member", [][]string{{"a"}}, `{"b":1}`, map[string]any{}},
		{"a scalar on the path", [][]string{{"a", "b"}}, `{"a":1}`, map[string]any{}},
		{"of a scalar", [][]string{{"a"}}, `"text"`, nil},
		{"all of a scalar", [][]string{{}}, `"text"`, "text"},
		{"a key with an escape", [][]string{{"é"}}, `{"\u00e9":1}`, map[string]any{"é": 1}},
		{"the last of duplicate keys", [][]string{{"a", "b"}}, `{"a":{"b":1},"a":{"c":2}}`, map[string]any{"a": map[string]any{}}},
		{"an empty object", [][]string{{"a"}}, `{}`, map[string]any{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			paths := NewPaths(c.paths)
			for range 2 { // nothing may remain of an earlier value
				got, err := paths.Decode([]byte(c.raw))
				require.NoError(t, err)
				require.Equal(t, c.want, got)
				_, err = paths.Decode([]byte(`{"a":{"b":7,"d":{"e":8}},"é":9}`))
				require.NoError(t, err)
			}
		})
	}
}

func TestPathsNameTheValueThatCannotBeDecoded(t *testing.T) {
	_, err := NewPaths([][]string{{"a", "b.c"}}).Decode([]byte(`{"a":{"b.c":1e400}}`))
	require.ErrorContains(t, err, `a.b\.c: the number 1e400 is too large to compute with`)
}

func TestPathsAreSafeForConcurrentUse(t *testing.T) {
	paths := NewPaths([][]string{{"id"}})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			raw := []byte(`{"id":` + strings.Repeat("1", i+1) + `}`)
			want, err := Decode(raw)
			for range 200 {
				got, failed := paths.Decode(raw)
				if err != nil || failed != nil || got.(map[string]any)["id"] != want.(map[string]any)["id"] {
					t.Errorf("got %v, %v; want %v", got, failed, want)
				}
			}
		})
	}
	group.Wait()
}

func TestPathsAllocateOnlyTheResult(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	paths := NewPaths([][]string{{"state"}, {"owner", "id"}})
	raw := []byte(`{"id":1,"tags":["a","b"],"state":true,"owner":{"name":"x","id":2}}`)
	allocations := testing.AllocsPerRun(1000, func() { _, _ = paths.Decode(raw) })
	require.Less(t, allocations, 6.0, "two objects, and nothing for the members that no path selects")
}

// Paths that were used on one value find in the next what paths do that were used on none.
func TestPathsFindNothingOfAnEarlierValue(t *testing.T) {
	paths := [][]string{{"a"}, {"b", "c"}, {"b", "d", "e"}, {"l", "1", "x"}, {"m", "n"}}
	values := []string{
		`{}`, `[]`, `{"a":1}`, `{"b":{"c":1,"d":{"e":2}}}`, `{"b":{"d":{"e":3}}}`, `{"b":4}`, `{"b":{},"m":{"n":5}}`,
		`{"l":[0,{"x":6}]}`, `{"l":[{"x":7}]}`, `{"l":8,"a":{"c":9}}`, `{"b":{"c":10},"b":{"d":{}}}`, `{"b":{"d":{"e":11}},"b":12}`,
	}
	lookup := func(raw string, paths *Paths) any {
		reading, err := NewReader(Options{Paths: [][]string{{"b", "d"}}}).Read(Response{Status: 200, Body: []byte(raw)})
		require.NoError(t, err)
		body, err := reading.Lookup(paths)
		require.NoError(t, err)
		return body
	}
	for _, earlier := range values {
		for _, raw := range values {
			used := NewPaths(paths)
			_, err := used.Decode([]byte(earlier))
			require.NoError(t, err)
			got, err := used.Decode([]byte(raw))
			require.NoError(t, err)
			want, err := NewPaths(paths).Decode([]byte(raw))
			require.NoError(t, err)
			require.Equal(t, want, got, "%s after %s", raw, earlier)

			used = NewPaths(paths)
			lookup(earlier, used)
			require.Equal(t, lookup(raw, NewPaths(paths)), lookup(raw, used), "lookup in %s after %s", raw, earlier)
		}
	}
}

// FuzzPaths compares what paths decode of a value without validating it with what they
// decode of a document.
func FuzzPaths(f *testing.F) {
	f.Add(`{"a":{"b":[1,{"c":2}]},"a.b":"x\"]}","a":{"c":1e5}}`, "a.b|a.c")
	f.Add(`[{"a":1},{"b":2}]`, "0.a|1")
	f.Add(`{"\u0061":null,"b":{"":{}}}`, "a|b.")
	f.Add(`"text"`, "")
	f.Fuzz(func(t *testing.T, raw, list string) {
		var paths [][]string
		for path := range strings.SplitSeq(list, "|") {
			paths = append(paths, keypath.Split(path))
		}
		doc, err := newDocument([]byte(raw), nil, 500)
		if err != nil {
			return
		}
		value := doc.rootValue()
		want, wantErr := DecodePaths(value, paths, 0)
		got, err := NewPaths(paths).Decode(value)
		require.Equal(t, wantErr == nil, err == nil)
		require.Equal(t, want, got)
		places := slices.DeleteFunc(paths, func(path []string) bool {
			return len(path) == 0 || slices.ContainsFunc(path, func(key string) bool { _, err := strconv.Atoi(key); return err == nil })
		})
		want, wantErr = NewPaths(places).Decode(value)
		decoder := NewItemDecoder(places, places, 0)
		for item := range placed(t, string(value), places) {
			got, err := decoder.Decode(item)
			require.Equal(t, wantErr == nil, err == nil)
			for _, path := range places {
				want, has := within(want, path)
				got, hasToo := within(got, path)
				require.Equal(t, has, hasToo)
				require.Equal(t, want, got)
			}
		}
	})
}

func TestVisitFindsWhatPathsSelect(t *testing.T) {
	containers, names := []string{"m", "a", "l"}, []string{"a", "n", "c"}
	want := func(path []string) (value, members bool) {
		return slices.Contains(names, path[len(path)-1]), len(path) == 1 && slices.Contains(containers, path[0])
	}
	paths := [][]string{{"a"}, {"n"}, {"c"}}
	for _, container := range []string{"m", "l"} { // all of a is looked up
		for _, name := range names {
			paths = append(paths, []string{container, name})
		}
	}
	for _, raw := range []string{
		`{}`, `[]`, `{"a":1,"b":2}`, `{"m":{"a":1,"b":2,"n":{"c":3}},"n":[4]}`, `{"m":{},"l":{"c":5}}`, `{"m":6,"l":[{"c":7}],"a":{"c":8,"x":9}}`,
		`{"m":{"a":1},"m":{"c":2}}`, `{"m":{"c":1},"m":2}`, `{"m":{"c":1,"a":2,"c":3}}`, `{"\u006d":{"\u0063":1}}`, ` { "m" : { "c" : null } } `,
		`{"items":[{"a":1}],"m":{"items":[{"a":1}],"n":2}}`,
	} {
		reading, err := NewReader(Options{Paths: [][]string{{"m", "c"}}}).Read(Response{Status: 200, Body: []byte(raw)})
		require.NoError(t, err)
		expected, got := map[string]any{}, map[string]any{}
		body, err := reading.Lookup(NewPaths(paths))
		require.NoError(t, err)
		members, _ := body.(map[string]any)
		for name, v := range members {
			inner, isObject := v.(map[string]any)
			entered := isObject && slices.Contains(containers, name) // even if all of it is wanted, too
			if slices.Contains(names, name) && !entered {
				expected[name] = v
			}
			for key, v := range inner {
				if entered && slices.Contains(names, key) {
					expected[name+"."+key] = v
				}
			}
		}
		require.NoError(t, reading.Visit(want, func(path []string, v any) { got[strings.Join(path, ".")] = v }))
		require.Equal(t, expected, got, raw)
	}
}
