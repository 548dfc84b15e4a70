package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// requireLocated compares what paths select of a document when they are looked for outside of
// its items with what a scan finds.
func requireLocated(t *testing.T, d *document) {
	t.Helper()
	paths := [][]string{{"a"}, {"a", "b"}, {"data"}, {"data", "y"}, {"data", "a"}, {"c", "a"}, {"c", "data", "a"}, {"l"}, {"m", "0"}, {"é"}, {""}, {"k", "", "a"}}
	for i := range paths {
		scanned, err := newDocument(bytes.Clone(d.raw), paths[i:], 0)
		require.NoError(t, err)
		want, wantErr := scanned.selected(newAllowance(0))
		got, err := selectFrom(d, paths[i:])
		require.Equal(t, []any{want, wantErr}, []any{got, err}, "%v of %s", paths[i:], d.raw)
	}
}

// FuzzRead compares what is read from a body with what encoding/json finds in it:
// the items without insignificant whitespace, the minified size, and a digest that
// ignores insignificant whitespace only.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2,{"b":null}],"é":"x\/y\u00e9"}`, ` [ "\ud83d\ude00" , [ 1 , 2 ] ] `, "[\"\xff\\n\"]",
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
		targets := scan.Targets{Body: scan.NewTree(append(paths, []string{"data"}), nil), Compact: true, Detect: detect, MaxDepth: 512}
		if !detect {
			targets.Items = targets.Body.Root.At("data")
		}
		d := &document{scanner: scan.New(targets)}
		plain := bytes.Clone(bytes.TrimPrefix(body, byteOrderMark))
		err := d.parse(bytes.Clone(body))
		if errors.As(err, new(*DepthError)) {
			return
		}
		if err == nil || isUnicode(plain) { // encoding/json replaces text that is not Unicode
			require.Equal(t, json.Valid(plain), err == nil, "%q: %v", body, err)
		}
		if err != nil {
			return
		}
		var compact bytes.Buffer
		require.NoError(t, json.Compact(&compact, plain))
		require.Equal(t, compact.String(), string(d.raw))
		require.Equal(t, compact.Len(), d.scanner.Size)
		require.Equal(t, content(t, compact.String()), content(t, string(plain)))

		list := d.find([]string{"data"})
		if detect {
			list = d.scanner.Root
			if d.rootKind() == scan.Object {
				list = scan.Span{}
				for _, l := range d.rootLists() {
					list = l.at
				}
			}
		}
		if !list.Present() || scan.KindOf(list.Of(d.raw)) != scan.List {
			return
		}
		var elements []json.RawMessage
		require.NoError(t, json.Unmarshal(bytes.Clone(list.Of(d.raw)), &elements))
		requireItems(t, elements, d.elements(list))
		d.withCommas(func() {
			require.Equal(t, compact.String(), string(d.raw))
			requireLocated(t, d)
		})
		requireItems(t, elements, d.elements(list))
	})
}

// A reader takes the place of another one only if all options but the functions are the same.
func TestAReaderReadsAsItsOptionsSay(t *testing.T) {
	field := func() *rules.DataField { return &rules.DataField{Text: "data", Keys: []string{"data"}} }
	base := func() Options {
		return Options{
			Paths: [][]string{{"next"}}, Items: [][]string{{"id"}}, Places: [][]string{{"at"}}, Ignore: [][]string{{"time"}}, Key: [][]string{{"id"}},
			DataField: field(),
			Decode:    true, Members: true, Switches: rules.Switches{PHPVolume: true}, MaxDepth: 3, MaxItems: 4, MaxValueBytes: 5,
		}
	}
	reader := NewReader(base())
	require.True(t, reader.Suits(base()), "equal options, at other places in memory")
	warned := base()
	warned.Warn, warned.Arriving = func(string, string) {}, func() {}
	require.True(t, reader.Suits(warned))

	for field := range reflect.TypeFor[Options]().Fields() {
		if field.Type.Kind() == reflect.Func {
			continue
		}
		changed := base()
		option := reflect.ValueOf(&changed).Elem().FieldByIndex(field.Index)
		require.False(t, option.IsZero(), "%s is not set above", field.Name)
		option.SetZero()
		require.False(t, reader.Suits(changed), field.Name)
	}
	other := base()
	other.DataField.Text = "rows"
	require.False(t, reader.Suits(other))
	other = base()
	other.Items = [][]string{{"id", "x"}}
	require.False(t, reader.Suits(other))
}

// What a list leaves behind in its reader does not change how the next list is read.
func TestAReaderReadsAnotherListAfterClose(t *testing.T) {
	options := Options{DataField: &rules.DataField{Text: "data", Keys: []string{"data"}}, Items: [][]string{{"id"}}}
	large := `{"data":[` + strings.Repeat(`{"id":1,"name":"a"},`, 2*scan.KeptElements) + `{"id":2}]}`
	keys := `{"data":[{"id":0`
	for i := range 2 * 1024 {
		keys += fmt.Sprintf(`,"key%d":%d`, i, i)
	}
	keys += `}]}`
	shared := NewReader(options)
	for _, body := range []string{`{"data":[{"id":1},{"id":2}]}`, large, `{"data": [ {"id": 3} ]}`, keys, `{"data":[]}`, large, `{"data":[{"id":4,"key9":5}]}`} {
		own, err := NewReader(options).Read(Response{Status: 200, Body: []byte(body)})
		require.NoError(t, err)
		got, err := shared.Read(Response{Status: 200, Body: []byte(body)})
		require.NoError(t, err)
		require.Equal(t, slices.Collect(own.Items.All()), slices.Collect(got.Items.All()))
		require.Equal(t, own.Bytes, got.Bytes)
		require.Equal(t, own.ItemsDigest, got.ItemsDigest)
		require.Equal(t, own.Content, got.Content)
		wantIDs, _, err := own.Values.Column([]string{"id"})
		require.NoError(t, err)
		gotIDs, _, err := got.Values.Column([]string{"id"})
		require.NoError(t, err)
		require.Equal(t, wantIDs, gotIDs)
		shared.Close()
		require.Nil(t, shared.doc.raw, "the body is given up")
		require.LessOrEqual(t, cap(shared.doc.scanner.Breaks), scan.KeptElements)
	}
}
