package output

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
)

// drawItems draws items and returns them as NDJSON.
func drawItems(t *rapid.T, atMost int) []json.RawMessage {
	texts := rapid.SampledFrom([]string{"", "a", "1", "x,y", `"`, `"",`, "two\nlines", " blank ", "\r", "é", "{}", "=1+1", "null"})
	names := rapid.SampledFrom([]string{"id", "name", "é", "a,b", `q"`, "", "x y", "long\nname"})
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		all := []*rapid.Generator[any]{
			texts.AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
			rapid.SampledFrom([]json.Number{"0", "-1", "1.50", "1e400", "12345678901234567890"}).AsAny(),
		}
		if depth > 0 {
			all = append(all, rapid.SliceOfN(value(depth-1), 0, 3).AsAny(), rapid.MapOfN(names, value(depth-1), 0, 3).AsAny())
		}
		return rapid.OneOf(all...)
	}
	items := make([]json.RawMessage, rapid.IntRange(0, atMost).Draw(t, "count"))
	for i := range items {
		item := any(rapid.MapOfN(names, value(2), 0, 5).Draw(t, "item"))
		if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
			item = value(1).Draw(t, "value")
		}
		text, err := json.Marshal(item)
		require.NoError(t, err)
		items[i] = text
	}
	return items
}

// writeParts writes items as NDJSON in parts of any size.
func writeParts(t *rapid.T, w io.Writer, items []json.RawMessage) {
	var all []byte
	for _, item := range items {
		all = append(append(all, item...), '\n')
	}
	for len(all) > 0 {
		n := rapid.IntRange(1, len(all)).Draw(t, "part")
		_, err := w.Write(all[:n])
		require.NoError(t, err)
		all = all[n:]
	}
}

// cells returns the values of an item by column, read by encoding/json.
func cells(t require.TestingT, item []byte) map[string]string {
	dec := json.NewDecoder(bytes.NewReader(item))
	dec.UseNumber()
	var v any
	require.NoError(t, dec.Decode(&v))
	found := map[string]string{}
	var visit func(path string, v any)
	visit = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if len(v) == 0 {
				found[path] = "{}"
			}
			for name, member := range v {
				visit(strings.TrimPrefix(path+"/"+name, "\x00/"), member)
			}
		case string:
			found[path] = v
		case nil:
			found[path] = ""
		case []any:
			found[path] = "list"
		default:
			found[path] = fmt.Sprint(v)
		}
	}
	if object, ok := v.(map[string]any); !ok || len(object) == 0 {
		visit(valueColumn, v)
	} else {
		visit("\x00", v)
	}
	return found
}

func TestATableHasEveryValueOfEveryItem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		items := drawItems(t, 12)
		var b bytes.Buffer
		s := encoding{Options: Options{Format: Format{Kind: CSV}, Nested: "/"}}.newStream(&b)
		writeParts(t, s.items("users"), items)
		require.NoError(t, s.close())

		requireTable(t, b.Bytes(), items)
	})
}

// requireTable reads a table with encoding/csv.
func requireTable(t *rapid.T, table []byte, items []json.RawMessage) {
	records, err := csv.NewReader(bytes.NewReader(table)).ReadAll() // all records have the fields of the header
	require.NoError(t, err, "%s", table)
	if len(items) == 0 {
		require.Empty(t, records)
		return
	}
	require.Len(t, records, len(items)+1, "%s", table)
	used := map[string]bool{}
	for i, item := range items {
		want := cells(t, item)
		for column, name := range records[0] {
			got := strings.ReplaceAll(records[i+1][column], "\r\n", "\n")
			if want[name] == "list" {
				require.True(t, json.Valid([]byte(got)), "%s", got)
				got = "list"
			}
			require.Equal(t, want[name], got, "item %d, column %q of %s", i, name, table)
		}
		for name := range want {
			used[name] = true
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(used)), records[0], "columns, each once")
}

// TestRowsAreAddedToATable adds items to a table that another program has written, or an
// earlier run.
func TestRowsAreAddedToATable(t *testing.T) {
	dir, table := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		table++
		path := filepath.Join(dir, fmt.Sprintf("%d.csv", table))
		options := Options{Format: Format{Kind: CSV, Compression: rapid.SampledFrom([]Compression{Plain, Gzip, Zstd}).Draw(t, "compression")}, Nested: "/"}
		var all []json.RawMessage
		for range 3 {
			items := drawItems(t, 6)
			all = append(all, items...)
			store := checkpoint.Stateless()
			file, err := encoding{Options: options}.openFile(store, path, "users")
			require.NoError(t, err)
			_, err = file.append()
			require.NoError(t, err)
			writeParts(t, file, items)
			part, err := file.part(nil)
			require.NoError(t, err)
			require.NoError(t, store.Publish(checkpoint.Publication{Parts: []checkpoint.Part{part}}))
			require.NoError(t, store.Close())
		}
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		r := io.ReadCloser(f)
		if c := options.Format.compression(); c != nil {
			r, err = c.NewReader(f)
			require.NoError(t, err)
		}
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		requireTable(t, text, all)
	})
}

// messageFormat is what the Singer specification 0.3 says of messages.
const messageFormat = `{"oneOf": [
	{"required": ["type", "stream", "schema", "key_properties"], "additionalProperties": false, "properties": {
		"type": {"const": "SCHEMA"}, "stream": {"type": "string"}, "schema": {"type": "object", "required": ["properties"], "properties": {
			"type": {"const": "object"}}},
		"key_properties": {"type": "array", "items": {"type": "string"}}, "bookmark_properties": {"type": "array", "items": {"type": "string"}}}},
	{"required": ["type", "stream", "record"], "additionalProperties": false, "properties": {
		"type": {"const": "RECORD"}, "stream": {"type": "string"}, "record": {"type": "object"},
		"time_extracted": {"type": "string", "format": "date-time"}}},
	{"required": ["type", "value"], "additionalProperties": false, "properties": {"type": {"const": "STATE"}, "value": {}}}]}`

// TestRecordsConformToTheirSchemas checks messages with a validator of JSON Schema that is
// not ours: each against the format of messages, and each record against the last schema
// of its stream.
func TestRecordsConformToTheirSchemas(t *testing.T) {
	format := compileSchema(t, messageFormat)
	rapid.Check(t, func(t *rapid.T) {
		var b bytes.Buffer
		s := encoding{Options: Options{Format: Format{Kind: Singer}}}.newStream(&b)
		want := map[string][]json.RawMessage{}
		for range 3 {
			stream := rapid.SampledFrom([]string{"users", "é\"\n", ""}).Draw(t, "stream")
			items := drawItems(t, 5)
			want[stream] = append(want[stream], items...)
			writeParts(t, s.items(stream), items)
		}
		require.NoError(t, s.state(map[string]json.RawMessage{"users": json.RawMessage(`{"since":1}`)}))
		require.NoError(t, s.close())

		schemas, got := map[string]*jsonschema.Schema{}, map[string][]json.RawMessage{}
		for line := range bytes.Lines(b.Bytes()) {
			validate(t, format, line)
			var m struct {
				Type, Stream   string
				Schema, Record json.RawMessage
			}
			require.NoError(t, json.Unmarshal(line, &m))
			switch m.Type {
			case "SCHEMA":
				schemas[m.Stream] = compileSchema(t, string(m.Schema))
			case "RECORD":
				require.Contains(t, schemas, m.Stream, "a schema comes first")
				validate(t, schemas[m.Stream], m.Record)
				got[m.Stream] = append(got[m.Stream], m.Record)
			}
		}
		for stream, items := range want {
			require.Len(t, got[stream], len(items))
			for i, item := range items {
				if item[0] != '{' {
					item = fmt.Appendf(nil, `{"value":%s}`, item)
				}
				require.Equal(t, string(item), string(got[stream][i]), "a record keeps its bytes")
			}
		}
	})
}

func compileSchema(t require.TestingT, text string) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("schema.json", doc))
	schema, err := c.Compile("schema.json")
	require.NoError(t, err, "%s", text)
	return schema
}

func validate(t require.TestingT, schema *jsonschema.Schema, text []byte) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err, "%s", text)
	require.NoError(t, schema.Validate(doc), "%s", text)
}

func TestMoreColumnsThanATableMayHave(t *testing.T) {
	var wide strings.Builder
	for i := range maxColumns + 1 {
		fmt.Fprintf(&wide, `,"id%d":1`, i)
	}
	for _, kind := range []Kind{CSV, Singer, Parquet} {
		var b bytes.Buffer
		s := encoding{Options: Options{Format: Format{Kind: kind}}}.newStream(&b)
		_, err := s.items("users").Write([]byte("{\"id0\":7}\n"))
		require.NoError(t, err)
		_, err = s.items("users").Write([]byte("{" + wide.String()[1:] + "}\n"))
		limit := 10_000
		if kind == Parquet {
			limit = maxParquetColumns
		}
		require.ErrorContains(t, err, fmt.Sprintf(`the next one is "id%d"`, limit))
		require.NoError(t, s.close())
		if kind == Parquet {
			require.EqualValues(t, 7, readParquet(t, b.Bytes()).rows[0]["id0"].Int64())
			continue
		}
		require.Contains(t, b.String(), "7", "what came before is written")
	}
}
