package document

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

func parse(t *testing.T, body string, paths ...string) *document {
	t.Helper()
	doc := &document{scanner: scan.New(scan.Targets{Body: scan.NewTree(split(paths...), nil), Detect: true})}
	require.NoError(t, doc.parse([]byte(body)))
	return doc
}

func split(paths ...string) [][]string {
	var out [][]string
	for _, path := range paths {
		out = append(out, keypath.Split(path))
	}
	return out
}

// lookupRaw returns the value at a path as it was sent.
func lookupRaw(doc *document, path []string) (raw []byte, present bool) {
	at := doc.find(path)
	return at.Of(doc.raw), at.Present()
}

const absent = "absent"

func lookup(doc *document, path string) string {
	raw, present := lookupRaw(doc, keypath.Split(path))
	if !present {
		return absent
	}
	return string(raw)
}

func TestLookup(t *testing.T) {
	for _, c := range []struct{ name, body, path, want string }{
		{"root", ` {"a":1} `, ".", `{"a":1}`},
		{"member", `{"a":1}`, "a", `1`},
		{"raw text is kept", `{"a": {"b" : [1.10, -0]} }`, "a", `{"b" : [1.10, -0]}`},
		{"null is present", `{"a":{"b":null}}`, "a.b", `null`},
		{"absent key", `{"a":{"c":1}}`, "a.b", absent},
		{"absent parent", `{"c":1}`, "a.b", absent},
		{"through a scalar", `{"a":5}`, "a.b", absent},
		{"through null", `{"a":null}`, "a.b", absent},
		{"empty key", `{"":{"":1}}`, `a`, absent},
		{"key with a dot", `{"@odata.nextLink":"u"}`, `@odata\.nextLink`, `"u"`},
		{"through a list", `{"a":[{"b":1},{"b":2}]}`, "a.1.b", `2`},
		{"list index too large", `{"a":[1]}`, "a.1", absent},
		{"index with a leading zero", `{"a":[1,2]}`, "a.01", absent},
		{"negative index", `{"a":[1,2]}`, "a.-1", absent},
		{"number key of an object", `{"a":{"1":"x"}}`, "a.1", `"x"`},
		{"root list", `[[1],[2,3]]`, "1.0", `2`},
		{"last duplicate", `{"a":1,"b":2,"a":3}`, "a", `3`},
		{"last duplicate is null", `{"a":1,"a":null}`, "a", `null`},
		{"duplicate below", `{"a":{"b":1,"b":2}}`, "a.b", `2`},
		{"later duplicate lacks the path", `{"a":{"b":1},"a":{"c":2}}`, "a.b", absent},
		{"later duplicate is a scalar", `{"a":{"b":1},"a":2}`, "a.b", absent},
		{"later duplicate is a shorter list", `{"a":[1,2],"a":[3]}`, "a.1", absent},
		{"later duplicate has it", `{"a":{"b":1},"a":{"b":2}}`, "a.b", `2`},
		{"escaped key", `{"\u0061":{"\u00e9":1}}`, "a.é", `1`},
		{"escaped duplicate", `{"a":1,"\u0061":2}`, "a", `2`},
		{"escaped slash", `{"a\/b":1}`, "a/b", `1`},
		{"escaped controls", `{"\b\f\n\r\t\"\\":1}`, "\b\f\n\r\t\"\\\\", `1`},
		{"surrogate pair in a key", `{"\ud83d\ude00":1}`, "😀", `1`},
		{"byte order mark", "\ufeff{\"a\":1}", "a", `1`},
		{"string with brackets", `{"x":"}]\"{","a":"\\"}`, "a", `"\\"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, lookup(parse(t, c.body, c.path), c.path), "tracked")
			require.Equal(t, c.want, lookup(parse(t, c.body), c.path), "not tracked")
			require.Equal(t, c.want, lookup(parse(t, c.body, c.path, ".", "zz", "a", "a.b.c"), c.path), "among others")
		})
	}
}

func TestLookupOfTheEmptyKey(t *testing.T) {
	doc, err := newDocument([]byte(`{"":{"":7}}`), [][]string{{"", ""}}, 0)
	require.NoError(t, err)
	raw, present := lookupRaw(doc, []string{"", ""})
	require.True(t, present)
	require.Equal(t, "7", string(raw))
}

func TestRootKind(t *testing.T) {
	for _, c := range []struct {
		body string
		want scan.Kind
	}{
		{`{}`, scan.Object}, {` []`, scan.List}, {`"x"`, scan.String}, {`-1`, scan.Number}, {`0`, scan.Number},
		{`true`, scan.Boolean}, {`false `, scan.Boolean}, {"\ufeffnull", scan.Null},
	} {
		t.Run(c.body, func(t *testing.T) { require.Equal(t, c.want, parse(t, c.body).rootKind()) })
	}
}

// A member is a member of the root object.
type member struct{ name, raw string }

// rootListsOf returns the members of the root object that are lists, in order.
func rootListsOf(d *document) []member {
	if d.rootKind() != scan.Object {
		return nil
	}
	var out []member
	for _, list := range d.rootLists() {
		out = append(out, member{list.name, string(list.at.Of(d.raw))})
	}
	return out
}

func TestRootListsAreTheListsOfTheRootObject(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []member
	}{
		{"not lists below", `{"data":[1,2],"meta":{"list":[3]}}`, []member{{"data", `[1,2]`}}},
		{"several", `{"a":[],"b":1,"c":[ 1 ]}`, []member{{"a", `[]`}, {"c", `[ 1 ]`}}},
		{"duplicate list", `{"a":[1],"a":[2]}`, []member{{"a", `[2]`}}},
		{"duplicate that is not a list", `{"a":[1],"b":[2],"a":3}`, []member{{"b", `[2]`}}},
		{"escaped duplicate", `{"a":[1],"a":3,"\u0061":[4]}`, []member{{"a", `[4]`}}},
		{"duplicate that becomes a list", `{"a":3,"a":[1]}`, []member{{"a", `[1]`}}},
		{"root list", `[[1],[2]]`, nil},
		{"root list of objects", `[{"a":[1]}]`, nil},
		{"empty object", `{}`, nil},
		{"scalar", `"x"`, nil},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, rootListsOf(parse(t, c.body))) })
	}
}

func TestManyRootListsAreFoundInLinearTime(t *testing.T) {
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
	lists := rootListsOf(parse(t, "{"+b.String()+`"k9":["last"]}`))
	require.Equal(t, []member{{"k7", "[7]"}, {"k9", `["last"]`}}, lists)
}

func TestNamesAreTheKeysOfAnObject(t *testing.T) {
	doc := parse(t, ` { "a" : {"x":1 , "y":{"z":"}"}, "\u0078":[2,"]"]}, "b":"\"}" , "c\/d":null } `)
	require.Equal(t, []string{"a", "b", "c/d"}, doc.names(nil))
	require.Equal(t, []string{"x", "y"}, doc.names([]string{"a"}))
	require.Empty(t, doc.names([]string{"b"}))
	require.Empty(t, doc.names([]string{"nowhere"}))
	require.Empty(t, parse(t, `{ }`).names(nil))
}

func TestMinifiedCountsNothingButInsignificantSpace(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"object", `{"a": [1, 2] }`, `{"a":[1,2]}`},
		{"byte order mark", "\ufeff [ ]\r\n", `[]`},
		{"space in strings", "{\n          \"a b\":\t\" c\\u0020 \"}", `{"a b":" c\u0020 "}`},
		{"number", ` 1 `, `1`},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, len(c.want), parse(t, c.body).scanner.Size) })
	}
}

// writes counts the calls of Write.
type writes int

func (w *writes) Write(p []byte) (int, error) {
	*w++
	return len(p), nil
}

func TestAPageWithoutItemsIsWritten(t *testing.T) {
	var w writes

	_, err := Items{}.WriteTo(&w)

	require.NoError(t, err)
	require.EqualValues(t, 1, w)
}
