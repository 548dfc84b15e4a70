package runtime

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

func parse(t *testing.T, body string, paths ...string) *Document {
	t.Helper()
	doc, err := ParseDocument([]byte(body), split(paths...), DocumentLimits{})
	require.NoError(t, err)
	return doc
}

func split(paths ...string) [][]string {
	var out [][]string
	for _, path := range paths {
		out = append(out, rules.SplitPath(path))
	}
	return out
}

const absent = "absent"

func lookup(doc *Document, path string) string {
	raw, present := doc.Lookup(rules.SplitPath(path))
	if !present {
		return absent
	}
	return string(raw)
}

func TestLookup(t *testing.T) {
	for name, c := range map[string]struct{ body, path, want string }{
		"root":                              {` {"a":1} `, ".", `{"a":1}`},
		"member":                            {`{"a":1}`, "a", `1`},
		"raw text is kept":                  {`{"a": {"b" : [1.10, -0]} }`, "a", `{"b" : [1.10, -0]}`},
		"null is present":                   {`{"a":{"b":null}}`, "a.b", `null`},
		"absent key":                        {`{"a":{"c":1}}`, "a.b", absent},
		"absent parent":                     {`{"c":1}`, "a.b", absent},
		"through a scalar":                  {`{"a":5}`, "a.b", absent},
		"through null":                      {`{"a":null}`, "a.b", absent},
		"empty key":                         {`{"":{"":1}}`, `a`, absent},
		"key with a dot":                    {`{"@odata.nextLink":"u"}`, `@odata\.nextLink`, `"u"`},
		"through a list":                    {`{"a":[{"b":1},{"b":2}]}`, "a.1.b", `2`},
		"list index too large":              {`{"a":[1]}`, "a.1", absent},
		"index with a leading zero":         {`{"a":[1,2]}`, "a.01", absent},
		"negative index":                    {`{"a":[1,2]}`, "a.-1", absent},
		"number key of an object":           {`{"a":{"1":"x"}}`, "a.1", `"x"`},
		"root list":                         {`[[1],[2,3]]`, "1.0", `2`},
		"last duplicate":                    {`{"a":1,"b":2,"a":3}`, "a", `3`},
		"last duplicate is null":            {`{"a":1,"a":null}`, "a", `null`},
		"duplicate below":                   {`{"a":{"b":1,"b":2}}`, "a.b", `2`},
		"later duplicate lacks the path":    {`{"a":{"b":1},"a":{"c":2}}`, "a.b", absent},
		"later duplicate is a scalar":       {`{"a":{"b":1},"a":2}`, "a.b", absent},
		"later duplicate is a shorter list": {`{"a":[1,2],"a":[3]}`, "a.1", absent},
		"later duplicate has it":            {`{"a":{"b":1},"a":{"b":2}}`, "a.b", `2`},
		"escaped key":                       {`{"\u0061":{"\u00e9":1}}`, "a.é", `1`},
		"escaped duplicate":                 {`{"a":1,"\u0061":2}`, "a", `2`},
		"escaped slash":                     {`{"a\/b":1}`, "a/b", `1`},
		"escaped controls":                  {`{"\b\f\n\r\t\"\\":1}`, "\b\f\n\r\t\"\\\\", `1`},
		"surrogate pair in a key":           {`{"\ud83d\ude00":1}`, "😀", `1`},
		"lone surrogate in a key":           {`{"\ud83dx":1}`, "\ufffdx", `1`},
		"byte order mark":                   {"\ufeff{\"a\":1}", "a", `1`},
		"string with brackets":              {`{"x":"}]\"{","a":"\\"}`, "a", `"\\"`},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, lookup(parse(t, c.body, c.path), c.path), "tracked")
			require.Equal(t, c.want, lookup(parse(t, c.body), c.path), "not tracked")
			require.Equal(t, c.want, lookup(parse(t, c.body, c.path, ".", "zz", "a", "a.b.c"), c.path), "among others")
		})
	}
}

func TestLookupOfTheEmptyKey(t *testing.T) {
	doc, err := ParseDocument([]byte(`{"":{"":7}}`), [][]string{{"", ""}}, DocumentLimits{})
	require.NoError(t, err)
	raw, present := doc.Lookup([]string{"", ""})
	require.True(t, present)
	require.Equal(t, "7", string(raw))
}

func TestRootKind(t *testing.T) {
	for body, want := range map[string]Kind{
		`{}`: KindObject, ` []`: KindList, `"x"`: KindString, `-1`: KindNumber, `0`: KindNumber,
		`true`: KindBoolean, `false `: KindBoolean, "\ufeffnull": KindNull,
	} {
		require.Equal(t, want, parse(t, body).RootKind(), body)
	}
}

func TestRootArrays(t *testing.T) {
	for body, want := range map[string]string{
		`{"data":[1,2],"meta":{"list":[3]}}`: `data=[1,2]`,
		`{"a":[],"b":1,"c":[ 1 ]}`:           `a=[] c=[ 1 ]`,
		`{"a":[1],"a":[2]}`:                  `a=[2]`,
		`{"a":[1],"b":[2],"a":3}`:            `b=[2]`,
		`{"a":[1],"a":3,"\u0061":[4]}`:       `a=[4]`,
		`{"a":3,"a":[1]}`:                    `a=[1]`,
		`[[1],[2]]`:                          ``,
		`[{"a":[1]}]`:                        ``,
		`{}`:                                 ``,
		`"x"`:                                ``,
	} {
		var found []string
		for _, list := range parse(t, body).RootArrays() {
			found = append(found, list.Name+"="+string(list.Raw))
		}
		require.Equal(t, want, strings.Join(found, " "), body)
	}
}

func TestRootArraysOfManyMembers(t *testing.T) {
	const n = 20_000 // quadratic work would be noticed
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":[%d],`, i, i)
	}
	for i := range n {
		if i != 7 {
			fmt.Fprintf(&b, `"k%d":0,`, i)
		}
	}
	lists := parse(t, "{"+b.String()+`"k9":["last"]}`).RootArrays()
	require.Equal(t, []RootArray{{"k7", []byte("[7]")}, {"k9", []byte(`["last"]`)}}, lists)
}

func TestNames(t *testing.T) {
	doc := parse(t, ` { "a" : {"x":1 , "y":{"z":"}"}, "\u0078":[2,"]"]}, "b":"\"}" , "c\/d":null } `)
	require.Equal(t, []string{"a", "b", "c/d"}, doc.Names(nil))
	require.Equal(t, []string{"x", "y"}, doc.Names([]string{"a"}))
	require.Empty(t, doc.Names([]string{"b"}))
	require.Empty(t, doc.Names([]string{"nowhere"}))
	require.Empty(t, parse(t, `{ }`).Names(nil))
}

func TestMinifiedCountsNothingButInsignificantSpace(t *testing.T) {
	for body, want := range map[string]int{
		`{"a": [1, 2] }`:                         len(`{"a":[1,2]}`),
		"\ufeff [ ]\r\n":                         2,
		"{\n          \"a b\":\t\" c\\u0020 \"}": len(`{"a b":" c\u0020 "}`),
		` 1 `:                                    1,
	} {
		require.Equal(t, want, parse(t, body).Minified(), body)
	}
}

func TestHashPassesOverSpaceAndEscapes(t *testing.T) {
	same := [][]string{
		{`{"a":[1,2],"é":"x/y"}`, "\ufeff { \"a\" : [ 1 ,\t2 ] ,\r\n\"\\u00e9\":\"x\\/y\" } ", `{"a":[1,2],"\u00E9":"x\u002fy"}`},
		{`["\n\"\\"]`, `["\u000a\u0022\u005C"]`},
		{`["😀"]`, `["\ud83d\ude00"]`, `["\uD83D\uDE00"]`},
		{`["\ud800"]`, `[ "\uD800" ]`},
	}
	for _, group := range same {
		for _, body := range group {
			require.Equal(t, parse(t, group[0]).Hash(nil), parse(t, body).Hash(nil), body)
		}
	}
	different := []string{
		`{"a":1,"b":2}`, `{"b":2,"a":1}`, `{"a":1.0,"b":2}`, `{"a":1,"b":2,"b":2}`, `{"a":"1","b":2}`,
		`["\ud800"]`, `["\ufffd"]`, "[\"\xff\"]", "[\"\xed\xa0\x80\"]", `["\ud800\ud800"]`, `["\\ud800"]`,
		`["a b"]`, `["ab"]`, `["\u0000"]`, `["a\"b"]`, `[]`, `{}`, `[1,2]`, `[12]`, `null`, `"null"`,
	}
	seen := map[[32]byte]string{}
	for _, body := range different {
		hash := parse(t, body).Hash(nil)
		require.Empty(t, seen[hash], body)
		seen[hash] = body
	}
}

func TestHashLeavesOutIgnoredValues(t *testing.T) {
	one := parse(t, `{"took":1,"data":[{"id":1,"at":"x"},{"id":2}],"meta":{"at":{"s":1}}}`)
	two := parse(t, `{"took": 25,"took":"\u0041","data":[{"id":1,"at":[]},{"id":2}],"meta":{"at":null}}`)
	ignore := split("took", "data.0.at", "meta.at", "not.there")
	require.NotEqual(t, one.Hash(nil), two.Hash(nil))
	require.NotEqual(t, one.Hash(ignore), two.Hash(ignore), "a key more is a difference")
	two = parse(t, `{"t\u006fok": 25,"data":[{"id":1,"at":[]},{"id":2}],"meta":{"at":null}}`)
	require.Equal(t, one.Hash(ignore), two.Hash(ignore))
	require.NotEqual(t, one.Hash(ignore[:1]), two.Hash(ignore[:1]))
	three := parse(t, `{"took":1,"data":[{"id":1,"at":"x"},{"id":3}],"meta":{"at":{"s":1}}}`)
	require.NotEqual(t, one.Hash(ignore), three.Hash(ignore))
}

func TestHashIsFixed(t *testing.T) {
	// printf '{"a":1}' | sha256sum: checkpoints of other processes hold it.
	const want = "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"
	for _, body := range []string{`{"a":1}`, ` { "\u0061" : 1 } `} {
		hash := parse(t, body).Hash(nil)
		require.Equal(t, want, hex.EncodeToString(hash[:]), body)
	}
}

func TestSplitKeepsEveryByteOfAnItem(t *testing.T) {
	for raw, want := range map[string][]string{
		`[]`:                      {},
		"[ \r\n]":                 {},
		`[1,"a",null,true,{},[]]`: {`1`, `"a"`, `null`, `true`, `{}`, `[]`},
		`[9007199254740993,9223372036854775808,123456789012345678901234567890]`: {"9007199254740993", "9223372036854775808", "123456789012345678901234567890"},
		`[1.10,-0,1e400,1E+2]`:                            {"1.10", "-0", "1e400", "1E+2"},
		`[{"b":1,"a":2,"b":3}]`:                           {`{"b":1,"a":2,"b":3}`},
		"[\"\xff\",\"\\ud800\"]":                          {"\"\xff\"", `"\ud800"`},
		"[\n  {\n    \"a b\" : [ 1,\t2 ]\r\n  } , [ ]\n]": {`{"a b":[1,2]}`, `[]`},
		`["\u000a\n\/", "a , ] } \" \\"]`:                 {`"\u000a\n\/"`, `"a , ] } \" \\"`},
		`[[[1,2],[3]],{"a":{"b":[4,5]}}]`:                 {`[[1,2],[3]]`, `{"a":{"b":[4,5]}}`},
		`{"a" : 1}`:                                       {`{"a":1}`},
	} {
		t.Run(raw, func(t *testing.T) {
			before := strings.Clone(raw)
			body := []byte(raw)
			items := Split(body)
			got := []string{}
			for item := range items.All() {
				got = append(got, string(item))
			}
			require.Equal(t, want, got)
			require.Equal(t, len(want), items.Len())
			require.Equal(t, before, string(body), "the body is not touched")
			var written bytes.Buffer
			n, err := items.WriteTo(&written)
			require.NoError(t, err)
			require.EqualValues(t, len(items.Bytes()), n)
			require.Equal(t, string(items.Bytes()), written.String())
			require.Equal(t, len(want), strings.Count(written.String(), "\n"))
		})
	}
}

func TestOneIsOneLine(t *testing.T) {
	for raw, want := range map[string]string{
		"{ \"a\" :\n [1, 2] }": `{"a":[1,2]}`,
		`[1, 2]`:               `[1,2]`,
		`[]`:                   `[]`,
		`"a, b"`:               `"a, b"`,
		`0`:                    `0`,
		`null`:                 `null`,
	} {
		items := One([]byte(raw))
		require.Equal(t, want+"\n", string(items.Bytes()))
		require.Equal(t, 1, items.Len())
	}
}

func TestItemsCanBeLeftEarly(t *testing.T) {
	for item := range Split([]byte(`[1,2,3]`)).All() {
		require.Equal(t, "1", string(item))
		break
	}
	require.Empty(t, slices.Collect(Items{}.All()))
}

// FuzzHash shows that the hash passes over what the specification calls
// insignificant, and over nothing else.
func FuzzHash(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2,{"b":null}],"é":"x\/y\u00e9"}`, `["\ud83d\ude00\ud800"]`, "[\"\xff\\n\"]", `[1.0,-0,1e5]`, `{}`, `"a b"`, `[[],{}]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		doc, err := ParseDocument(body, nil, DocumentLimits{})
		if err != nil {
			return
		}
		var indented, compact bytes.Buffer
		require.NoError(t, json.Indent(&indented, doc.Raw(), " ", "\t "))
		require.NoError(t, json.Compact(&compact, doc.Raw()))
		hash := doc.Hash(nil)
		require.Equal(t, hash, parse(t, indented.String()).Hash(nil))
		require.Equal(t, hash, parse(t, compact.String()).Hash(nil))
		require.Equal(t, hash, doc.Hash(split("not.there.at.all")))

		// Written again by encoding/json, strings have other escapes, and the
		// numbers are the same: for text that is valid the hash must be too.
		if strings.Contains(compact.String(), `\ud`) || strings.Contains(compact.String(), `\uD`) || doc.InvalidUTF8() {
			return
		}
		respelt := respell(compact.Bytes())
		require.Equal(t, hash, parse(t, string(respelt)).Hash(nil), "%s", respelt)
	})
}

// respell writes every plain character of every string as an escape.
func respell(compact []byte) []byte {
	var out []byte
	for i := 0; i < len(compact); {
		if compact[i] != '"' {
			out = append(out, compact[i])
			i++
			continue
		}
		end := textEnd(compact, i)
		var text string
		if err := json.Unmarshal(compact[i:end], &text); err != nil {
			panic(err)
		}
		out = append(out, '"')
		for _, unit := range utf16Units(text) {
			out = fmt.Appendf(out, `\u%04X`, unit)
		}
		out = append(out, '"')
		i = end
	}
	return out
}

func utf16Units(text string) []uint16 { return utf16.Encode([]rune(text)) }
