package document

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
)

// columns reads a body, and returns what rules read at the paths of its items.
func columns(t *testing.T, body string, paths ...[]string) [][]any {
	t.Helper()
	r := NewReader(Options{Items: paths, DataField: &rules.DataField{Keys: []string{"data"}, Text: "data"}})
	defer r.Close()
	reading, err := r.Read(Response{Status: 200, Body: []byte(body)})
	require.NoError(t, err)
	var all [][]any
	for _, path := range paths {
		values, found, err := reading.Values.Column(path)
		require.NoError(t, err)
		require.True(t, found)
		all = append(all, values)
	}
	return all
}

func TestFieldsAreFoundHoweverTheirKeysAreWritten(t *testing.T) {
	long := strings.Repeat("long", 20)
	for _, c := range []struct{ name, items string }{
		{"minified", `{"id":1,"n":{"a":10}},{"id":2,"n":{"a":20}}`},
		{"indented", "{\n  \"id\": 1,\n  \"n\": {\n    \"a\": 10\n  }\n},\n{\n  \"id\": 2,\n  \"n\": {\n    \"a\": 20\n  }\n}"},
		{"space before the colon", `{ "id" : 1 , "n" : { "a" : 10 } } , { "id" : 2 , "n" : { "a" : 20 } }`},
		{"much space", `{ "id"` + strings.Repeat(" ", 100) + `: 1, "n":{"a":` + strings.Repeat("\n", 100) + `10}},{"id":2,"n":{"a":20}}`},
		{"escaped keys", `{"\u0069d":1,"n":{"\u0061":10}},{"i\u0064":2,"\u006e":{"a":20}}`},
		{"other order", `{"id":1,"n":{"a":10,"b":5}},{"n":{"b":5,"a":20},"id":2}`},
		{"long keys", `{"` + long + `":0,"id":1,"n":{"a":10}},{"id":2,"` + long + `":0,"n":{"` + long + `":1,"a":20}}`},
		{"duplicate keys", `{"id":0,"n":{"a":0},"id":1,"n":{"a":10}},{"id":2,"n":1,"n":{"a":20}}`},
		{"the same keys below", `{"id":1,"n":{"a":10},"x":{"id":5,"n":{"a":50}}},{"x":[{"id":5,"n":{"a":50}}],"id":2,"n":{"a":20}}`},
		{"many keys", `{"id":1,` + manyMembers(600) + `,"n":{"a":10}},{"id":2,"n":{` + manyMembers(600) + `,"a":20}}`},
		{"more and less space", `{"id":1,"n": {"a": 10}}, {"id": 2, "n":  {"a":  20}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := columns(t, `{"data":[`+c.items+`]}`, []string{"id"}, []string{"n", "a"})
			require.Equal(t, [][]any{{1, 2}, {10, 20}}, got)
		})
	}
}

// A path of the body leads into the second list, so the scan notes no fields of it. Those of
// the first one, which is replaced by a duplicate key, are not its own.
func TestFieldsOfAListThatIsReplacedAreForgotten(t *testing.T) {
	for _, first := range []string{`[{"id":100}]`, `[{"x":1}]`, `[{"a rather long key":"and a long text, too","id":7}]`} {
		r := NewReader(Options{Paths: [][]string{{"b", "0", "id"}}, Items: [][]string{{"id"}}})
		reading, err := r.Read(Response{Status: 200, Body: []byte(`{"a":` + first + `,"a":0,"b":[{"x":"yyyyyyyyyyyyyyyyyyyyyyy","id":2}]}`)})
		require.NoError(t, err)
		values, _, err := reading.Values.Column([]string{"id"})
		require.NoError(t, err)
		require.Equal(t, []any{2}, values)
		r.Close()
	}
}

func manyMembers(n int) string {
	var members []string
	for i := range n {
		members = append(members, fmt.Sprintf(`"key %d":%d,"key%d":{"id":7}`, i, i, i))
	}
	return strings.Join(members, ",")
}

func TestItemsMayDifferInTheirWhitespace(t *testing.T) {
	item := `{"id":1,"a rather long key":{"x":"y"}}`
	spaced := strings.NewReplacer(":", ":%", ",", "%,%", "{", "{%", "}", "%}").Replace(item)
	var items []string
	for _, space := range []string{"", " ", "", "  ", "\n", " ", strings.Repeat(" ", 80), "\n\t"} {
		for _, one := range []string{spaced, strings.Replace(spaced, "%", "", 5), strings.ReplaceAll(item, ":", ":%")} {
			items = append(items, strings.ReplaceAll(one, "%", space))
		}
	}
	r := NewReader(Options{})
	reading, err := r.Read(Response{Status: 200, Body: []byte(`[` + strings.Join(items, ",") + `]`)})
	require.NoError(t, err)
	require.Equal(t, strings.Repeat(item+"\n", len(items)), string(reading.Items.Bytes()))
}

func TestWhitespaceOfAnyKindLeavesTheItemsAsTheyAre(t *testing.T) {
	spaces := []string{"", " ", "\n", "\r\n\t  ", strings.Repeat(" ", 70)}
	var items, want []string
	for i := range 200 {
		item := `{"id":1,"name":"a \" b","a rather long key of an item":{"x":[1,{"y":null}],"":true},"end":[]}`
		want = append(want, item)
		var out strings.Builder
		for k, c := range []byte(item) {
			space := spaces[(i+k)%len(spaces)]
			quoted := strings.Count(strings.ReplaceAll(item[:k], `\"`, ""), `"`)%2 == 1
			if !quoted && strings.IndexByte("{}[],:", c) >= 0 {
				out.WriteString(space)
				out.WriteByte(c)
				out.WriteString(spaces[(i*3+k)%len(spaces)])
			} else {
				out.WriteByte(c)
			}
		}
		items = append(items, out.String())
	}
	r := NewReader(Options{DataField: &rules.DataField{Keys: []string{"data"}, Text: "data"}})
	body := []byte(`{"data":[` + strings.Join(items, " , ") + `]}`)
	require.True(t, json.Valid(body))
	reading, err := r.Read(Response{Status: 200, Body: body})
	require.NoError(t, err)
	require.Equal(t, strings.Join(want, "\n")+"\n", string(reading.Items.Bytes()))
	require.Equal(t, len(`{"data":[]}`)+len(strings.Join(want, ",")), reading.Bytes)
}

// FuzzFields compares what the scan notes of the items with the items themselves.
func FuzzFields(f *testing.F) {
	for _, seed := range []string{
		`{"a":1,"b":{"a":2}},{"a":3,"b":{"a":[4]}}`, `{ "a" : 1 , "b" : { "a" : 2 , "a" : 3 } } , { "b" : [ 5 ] }`, `1,[2],"\u0061",{"a":{"b":{"a":1}}}`,
		`{"\u0061":1,"c":{"a":2},"b":{"c":{"a":1},"a":3}},{"c":{},"\u0061":1}`, `{"b":{"a":1},"b":0},{"a":0,"b":{"b":{"a":1}},"a":2}`,
	} {
		f.Add(seed)
	}
	paths := [][]string{{"a"}, {"b", "a"}, {"b", "0"}}
	field := &rules.DataField{Keys: []string{"d"}, Text: "d"}
	f.Fuzz(func(t *testing.T, items string) {
		compareFields(t, Options{Items: paths, DataField: field}, `{"d":[`+items+`]}`)
		compareFields(t, Options{Items: paths, Paths: [][]string{{"d", "a"}}}, `{"c":[`+items+`],"c":0,"d":[`+items+`]}`)
		compareFields(t, Options{Items: paths, Paths: [][]string{{"d", "a"}}}, items)
	})
}

// compareFields compares the columns of the items of a body with the items.
func compareFields(t *testing.T, o Options, body string) {
	t.Helper()
	r := NewReader(o)
	defer r.Close()
	reading, err := r.Read(Response{Status: 200, Body: []byte(body)})
	if err != nil || reading.Lists == nil || reading.Items.Len() == 0 {
		return
	}
	var whole []any
	for item := range reading.Items.All() {
		value, err := Decode(item)
		if err != nil {
			return // more than rules may hold
		}
		whole = append(whole, value)
	}
	for _, path := range o.Items {
		column, found, err := reading.Values.Column(path)
		require.NoError(t, err)
		require.True(t, found)
		for i, item := range whole {
			want, _ := within(item, path)
			require.Equal(t, want, column[i], "%s of item %d", path, i)
		}
	}
}
