package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireLocated compares what paths select of a document when they are looked for outside of
// its items with what a scan finds.
func requireLocated(t *testing.T, d *document) {
	t.Helper()
	paths := [][]string{{"a"}, {"a", "b"}, {"data"}, {"data", "y"}, {"data", "a"}, {"c", "a"}, {"c", "data", "a"}, {"l"}, {"m", "0"}, {"é"}, {""}, {"k", "", "a"}}
	for i := range paths {
		scanned, located := newPathTree(paths[i:]), newPathTree(paths[i:])
		d.fill(scanned)
		located.locate(d.raw, d.facts.root.start, d.items)
		scanned.span, located.span = d.facts.root, d.facts.root
		want, hasWant, err := scanned.project(d.raw, newAllowance(0))
		got, hasGot, gotErr := located.project(d.raw, newAllowance(0))
		require.Equal(t, []any{want, hasWant, err}, []any{got, hasGot, gotErr}, "%v of %s", paths[i:], d.raw)
	}
}

// FuzzRead compares what is read from a body with what encoding/json finds in it:
// the items without insignificant whitespace, the minified size, and a digest that
// ignores insignificant whitespace only.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2,{"b":null}],"é":"x\/y\u00e9"}`, ` [ "\ud83d\ude00\ud800" , [ 1 , 2 ] ] `, "[\"\xff\\n\"]",
		`{"data": [ {"a" : [ 1 ]} , 2 ], "data": [3]}`, `{"x": 1, "data": {"y": []}}`, `{"l": [], "l": 1, "m": [ 1 ]}`,
		`[{"id":1,"n":{"a":2}},{"id":2,"n":{"a":3}},{"idx":2,"n":{}},` +
			`{"i":1,"a long key of more than sixteen":2, "k" : 3,"k":4,"l":5,"m":6},{"i":1}]`,
		`{"data":[{"a":1,"b":{"a":1}},{"a":1,"b":{"a":1}},{"a":1}],"c":{"a":1}}`,
		`[{"a":1,"b":"c"},{"a": 1,"b": "c"},{"a":1,"b":  "c"},{"a":  1, "b":"c"}]`,
	} {
		f.Add([]byte(seed), true)
		f.Add([]byte(seed), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, detect bool) {
		paths := [][]string{{"a", "b"}}
		d := &document{
			limit: 512, facts: &scanner{compact: true, detect: detect},
			tree: newPathTree(append(paths, []string{"data"})),
		}
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
		require.Equal(t, compact.Len(), d.minified())
		require.Equal(t, content(t, compact.String()), content(t, string(plain)))

		list := d.find([]string{"data"})
		if detect {
			list = d.facts.root
			if d.rootKind() == kindObject {
				list = span{}
				for _, l := range d.facts.lists.present() {
					list = l.span
				}
			}
		}
		if !list.present() || kindOf(list.of(d.raw)) != kindList {
			return
		}
		var elements []json.RawMessage
		require.NoError(t, json.Unmarshal(bytes.Clone(list.of(d.raw)), &elements))
		requireItems(t, elements, d.elements(list))
		d.restored(func() {
			require.Equal(t, compact.String(), string(d.raw))
			requireLocated(t, d)
		})
		requireItems(t, elements, d.elements(list))
	})
}
