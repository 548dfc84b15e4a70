package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

func parse(t *testing.T, body string, paths ...string) *Document {
	t.Helper()
	doc, err := Parse([]byte(body), split(paths...), Limits{})
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
	doc, err := Parse([]byte(`{"":{"":7}}`), [][]string{{"", ""}}, Limits{})
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

// RootArray is a member of the root object whose value is a list.
type RootArray struct {
	Name string
	Raw  []byte
}

// RootArrays lists them in order, as the page reader finds them.
func (d *Document) RootArrays() []RootArray {
	var out []RootArray
	for _, list := range d.facts.lists.present() {
		out = append(out, RootArray{list.name, list.span.of(d.raw)})
	}
	return out
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

// content is the digest of a body's content, as the same-page check has it.
func content(t *testing.T, body string, ignore ...[]string) Digest {
	t.Helper()
	d := &Document{limit: DefaultDepth, facts: &scanner{compact: true}, tree: newPathTree(ignore)}
	require.NoError(t, d.parse([]byte(body)))
	var gaps []span
	for _, path := range ignore {
		if at := d.find(path); at.present() {
			gaps = append(gaps, at)
		}
	}
	slices.SortFunc(gaps, func(a, b span) int { return a.start - b.start })
	digest, _ := d.digests(span{}, gaps)
	return digest
}

func TestContentsThatDifferInSpaceAreTheSame(t *testing.T) {
	for _, group := range [][]string{
		{`{"a":[1,2],"é":"x y"}`, "\ufeff { \"a\" : [ 1 ,\t2 ] ,\r\n\"é\":\"x y\" } ", "{\"a\":[1,2],\"é\":\"x y\"\n}"},
		{`[]`, ` [ ] `}, {`1`, ` 1`},
	} {
		for _, body := range group {
			require.Equal(t, content(t, group[0]), content(t, body), body)
		}
	}
	seen := map[Digest]string{}
	for _, body := range []string{
		`{"a":1,"b":2}`, `{"b":2,"a":1}`, `{"a":1.0,"b":2}`, `{"a":1,"b":2,"b":2}`, `{"a":"1","b":2}`,
		`["\ud800"]`, `["\ufffd"]`, "[\"\xff\"]", "[\"\xed\xa0\x80\"]", `["\\ud800"]`,
		`["a b"]`, `["ab"]`, `["\u0000"]`, `["a\"b"]`, `[]`, `{}`, `[1,2]`, `[12]`, `null`, `"null"`,
	} {
		digest := content(t, body)
		require.Empty(t, seen[digest], body)
		seen[digest] = body
	}
}

func TestIgnoredValuesAreLeftOut(t *testing.T) {
	const one = `{"took":1,"data":[{"id":1,"at":"x"},{"id":2}],"meta":{"at":{"s":1}}}`
	const two = `{"t\u006fok": 25,"data":[{"id":1,"at":[]},{"id":2}],"meta":{"at":null}}`
	ignore := split("took", "data.0.at", "meta.at", "not.there")
	require.NotEqual(t, content(t, one), content(t, two))
	require.NotEqual(t, content(t, one, ignore...), content(t, two, ignore...), "the key is spelt otherwise")
	const same = ` {"took": 25, "data":[{"id":1,"at":[]},{"id":2}],"meta":{"at":null}}`
	require.Equal(t, content(t, one, ignore...), content(t, same, ignore...))
	require.NotEqual(t, content(t, one, ignore[:1]...), content(t, same, ignore[:1]...))
	require.Equal(t, content(t, one, append(ignore, []string{"data", "0"})...), content(t, same, append(ignore, []string{"data", "0"})...), "one inside another")
	const three = `{"took":1,"data":[{"id":1,"at":"x"},{"id":3}],"meta":{"at":{"s":1}}}`
	require.NotEqual(t, content(t, one, ignore...), content(t, three, ignore...))
}

// TestDigestsTellEveryByte changes each bit of texts of every length up to four
// blocks: no digest comes twice.
func TestDigestsTellEveryByte(t *testing.T) {
	seen := map[Digest]bool{}
	add := func(text []byte, seed Digest) {
		d := DigestOf(text, seed)
		require.False(t, seen[d])
		require.NotEqual(t, none, d)
		seen[d] = true
	}
	for n := range 257 {
		text := make([]byte, n)
		add(text, none)
		add(text, Digest{1, 0})
		add(text, Digest{0, 1})
		for bit := range 8 * n {
			text[bit/8] ^= 1 << (bit % 8)
			add(text, none)
			text[bit/8] ^= 1 << (bit % 8)
		}
	}
}

func TestDigestsAreFixed(t *testing.T) {
	// The value is that of an implementation of its own, in Python: what another
	// process has written down is compared with it.
	require.Equal(t, Digest{0xe35391001c33d5a4, 0xeff690ba88288ad0}, DigestOf([]byte("a page"), none))
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

// FuzzRead shows that the page reader takes from a body exactly what encoding/json
// finds in it: the items byte for byte but for insignificant whitespace, the
// minified size, and a digest that passes over whitespace and nothing else.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2,{"b":null}],"é":"x\/y\u00e9"}`, ` [ "\ud83d\ude00\ud800" , [ 1 , 2 ] ] `, "[\"\xff\\n\"]", `{"data": [ {"a" : [ 1 ]} , 2 ], "data": [3]}`, `{"x": 1, "data": {"y": []}}`, `{"l": [], "l": 1, "m": [ 1 ]}`,
		`[{"id":1,"n":{"a":2}},{"id":2,"n":{"a":3}},{"idx":2,"n":{}},{"i":1,"a long key of more than sixteen":2, "k" : 3,"k":4,"l":5,"m":6},{"i":1}]`,
		`{"data":[{"a":1,"b":{"a":1}},{"a":1,"b":{"a":1}},{"a":1}],"c":{"a":1}}`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, detect bool) {
		paths := [][]string{{"a", "b"}}
		d := &Document{limit: DefaultDepth, facts: &scanner{compact: true, detect: detect, keys: make([]foretold, 4)}, tree: newPathTree(append(paths, []string{"data"}))}
		d.tree.at([]string{"data"}).items = !detect
		plain := bytes.Clone(bytes.TrimPrefix(body, byteOrderMark))
		err := d.parse(bytes.Clone(body))
		if errors.As(err, new(*DepthError)) {
			return
		}
		require.Equal(t, json.Valid(plain), err == nil, "%q: %v", body, err)
		if err != nil {
			return
		}
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, plain))
		require.Equal(t, compact.String(), string(d.raw))
		require.Equal(t, compact.Len(), d.Minified())
		require.Equal(t, content(t, compact.String()), content(t, string(plain)))

		list := d.find([]string{"data"})
		if detect {
			list = d.facts.root
			if d.RootKind() == KindObject {
				list = span{}
				for _, l := range d.facts.lists.present() {
					list = l.span
				}
			}
		}
		if !list.present() || KindOf(list.of(d.raw)) != KindList {
			return
		}
		var elements []json.RawMessage
		require.NoError(t, json.Unmarshal(bytes.Clone(list.of(d.raw)), &elements))
		requireItems(t, elements, d.elements(list))
		d.restored(func() { require.Equal(t, compact.String(), string(d.raw)) })
		requireItems(t, elements, d.elements(list))
	})
}

func TestContentsThatDifferInEscapesAloneAreTold(t *testing.T) {
	spelled := func(body string) Spelling {
		d := &Document{limit: DefaultDepth, facts: &scanner{compact: true}, tree: newPathTree(nil)}
		require.NoError(t, d.parse([]byte(body)))
		return d.spelling()
	}
	groups := [][]string{
		{`{"a":[1,2],"é":"x/y"}`, ` {"a":[1,2],"\u00e9":"x\/y"}`, `{"a":[1,2],"\u00E9":"x\u002fy"}`},
		{`["\n\"\\"]`, `["\u000a\u0022\u005C"]`}, {`["\u001f\u0000"]`, `["\u001F\u0000"]`},
		{`["😀"]`, `["\ud83d\ude00"]`, `["\uD83D\uDE00"]`}, {`["€é"]`, `["\u20ac\u00e9"]`},
		{`["\ud800"]`, `[ "\uD800" ]`}, {"[\"\xff\"]"}, {`["\ufffd"]`, "[\"\ufffd\"]"}, {`["a\",\"b"]`}, {`["a","b"]`}, {`["\\u00e9"]`}, {`["a\"b"]`, `["a\u0022b"]`},
	}
	for i, group := range groups {
		for j, other := range groups {
			for _, a := range group {
				for _, b := range other {
					x, y := spelled(a), spelled(b)
					want := i == j && (x.respelt || y.respelt) // else the digests tell
					require.Equal(t, want, x.Same(y), "%s %s", a, b)
				}
			}
		}
	}
}
