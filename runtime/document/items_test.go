package document

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSplitKeepsEveryByteOfAnItem(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		want      []string
	}{
		{"empty list", `[]`, []string{}},
		{"empty list with whitespace", "[ \r\n]", []string{}},
		{"kinds", `[1,"a",null,true,{},[]]`, []string{`1`, `"a"`, `null`, `true`, `{}`, `[]`}},
		{"long integers", `[9007199254740993,9223372036854775808,123456789012345678901234567890]`,
			[]string{"9007199254740993", "9223372036854775808", "123456789012345678901234567890"}},
		{"spellings of numbers", `[1.10,-0,1e400,1E+2]`, []string{"1.10", "-0", "1e400", "1E+2"}},
		{"duplicate keys", `[{"b":1,"a":2,"b":3}]`, []string{`{"b":1,"a":2,"b":3}`}},
		{"whitespace", "[\n  {\n    \"a b\" : [ 1,\t2 ]\r\n  } , [ ]\n]", []string{`{"a b":[1,2]}`, `[]`}},
		{"escapes and brackets in strings", `["\u000a\n\/", "a , ] } \" \\"]`, []string{`"\u000a\n\/"`, `"a , ] } \" \\"`}},
		{"nested lists", `[[[1,2],[3]],{"a":{"b":[4,5]}}]`, []string{`[[1,2],[3]]`, `{"a":{"b":[4,5]}}`}},
		{"an object is one item", `{"a" : 1}`, []string{`{"a":1}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			body := compacted(t, c.raw).rootValue()
			before := string(body)
			items := splitItems(body)
			got := []string{}
			for item := range items.All() {
				got = append(got, string(item))
			}
			require.Equal(t, c.want, got)
			require.Equal(t, len(c.want), items.Len())
			require.Equal(t, before, string(body), "the body is not changed")
			var written bytes.Buffer
			n, err := items.WriteTo(&written)
			require.NoError(t, err)
			require.EqualValues(t, len(items.Bytes()), n)
			require.Equal(t, string(items.Bytes()), written.String())
			require.Equal(t, len(c.want), strings.Count(written.String(), "\n"))
		})
	}
}

func TestOneIsOneLine(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"object", "{ \"a\" :\n [1, 2] }", `{"a":[1,2]}`},
		{"list", `[1, 2]`, `[1,2]`},
		{"empty list", `[]`, `[]`},
		{"string", `"a, b"`, `"a, b"`},
		{"number", `0`, `0`},
		{"null", `null`, `null`},
	} {
		t.Run(c.name, func(t *testing.T) {
			items := oneItem(compacted(t, c.raw).rootValue())
			require.Equal(t, c.want+"\n", string(items.Bytes()))
			require.Equal(t, 1, items.Len())
		})
	}
}

func TestAnIterationOverItemsMayEndEarly(t *testing.T) {
	for item := range splitItems([]byte(`[1,2,3]`)).All() {
		require.Equal(t, "1", string(item))
		break
	}
	require.Empty(t, slices.Collect(Items{}.All()))
}

func TestMarksRestoreTheListsOfAPage(t *testing.T) {
	ends := []ListEnd{{DataType: "a", End: 2, Count: 1}, {DataType: "b", End: 2, Count: 1}, {DataType: "c", End: 6, Count: 3}}
	_, lists := Lists([]byte("1\n2\n3\n"), nil, ends)
	require.Equal(t, ends, ListEnds(lists))
	require.Empty(t, ListEnds(nil))
}
