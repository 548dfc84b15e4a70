package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// singerWriter writes items as messages of the Singer specification, version 0.3. A SCHEMA
// precedes the first RECORD, and each RECORD to which the previous SCHEMA does not apply. It comes
// from the catalog or is derived from the items.
type singerWriter struct {
	lineWriter
	to      rowWriter
	stream  []byte          // name of the stream as JSON
	keys    []byte          // key names as a JSON list
	given   json.RawMessage // schema from the catalog, or nil
	shape   *shape.Shape    // shape of the items, from which the schema is derived
	earlier *shape.Shape    // shape of the items of earlier runs; nil without a contract
	reader  shape.Reader
	schema  []byte // schema that was written last
	note    string // shape of the items when it was written
	out     []byte
}

// recordStart begins the message of an item.
const recordStart = `{"type":"RECORD",`

func newSinger(e encoding, to rowWriter, stream string, _ head) encoder {
	entry := e.Catalog.stream(stream)
	if entry.KeyProperties == nil {
		entry.KeyProperties = propertiesOf(e.keys[stream])
	}
	name, _ := value.Marshal(stream) // cannot fail for a text
	keys, _ := value.Marshal(append([]string{}, entry.KeyProperties...))
	w := &singerWriter{to: to, stream: name, keys: keys, given: entry.Schema, earlier: e.known[stream]}
	w.begin(&shape.Shape{})
	w.lines = w.write
	return w
}

// propertiesOf returns the properties of a record that identify it, or nil if one of them is nested.
func propertiesOf(key []string) []string {
	var names []string
	for _, path := range key {
		keys := keypath.Split(path)
		if len(keys) != 1 {
			return nil
		}
		names = append(names, keys[0])
	}
	return names
}

// begin sets the shape of the stream: the union of s and the shape of earlier output.
func (w *singerWriter) begin(s *shape.Shape) {
	if w.earlier != nil {
		s = shape.Union(w.earlier, s)
	}
	w.shape, w.schema = s, nil
	w.reader = shape.Reader{MaxMembers: maxColumns, MaxTotal: maxColumns, Total: s.Size()}
}

// resume continues after existing output, either from an earlier run or before a rollback.
func (w *singerWriter) resume() error {
	note := w.to.Note()
	if note == w.note {
		return nil
	}
	w.note = note
	if w.given != nil || note == "" || strings.HasPrefix(note, givenNote) {
		w.begin(&shape.Shape{})
		return nil
	}
	written, err := shape.Parse("", note)
	if err != nil {
		return fmt.Errorf("schema of the state: %w", err)
	}
	w.begin(written)
	w.schema = w.schemaText()
	return nil
}

// write writes the messages of some items.
func (w *singerWriter) write(block []byte) error {
	if err := w.resume(); err != nil {
		return err
	}
	rows, records := 0, w.out[:0]
	w.reader.Widened = false
	for line := range bytes.Lines(block) {
		record := line[:len(line)-1]
		if record[0] != '{' {
			record = fmt.Appendf(nil, `{%q:%s}`, valueColumn, record)
		}
		if w.given == nil {
			if w.reader.Add(w.shape, record); w.reader.Beyond != "" {
				return w.tooMany()
			}
		}
		records = append(records, recordStart...)
		records = append(records, `"stream":`...)
		records = append(records, w.stream...)
		records = append(append(records, `,"record":`...), record...)
		records = append(records, "}\n"...)
		rows++
	}
	w.out = records
	if w.reader.Widened || w.note == "" || w.given != nil != strings.HasPrefix(w.note, givenNote) {
		if err := w.writeSchema(); err != nil {
			return err
		}
	}
	return w.to.WriteRows(records, rows)
}

// tooMany returns the error for items with too many properties.
func (w *singerWriter) tooMany() error {
	return (&engine.Error{
		Class: failure.IO, Op: "singer",
		Message: fmt.Sprintf("the items have more than %d properties; the next one is %q", maxColumns, w.reader.Beyond),
	}).WithRemedy("if names of members are data, remove or rename them with fields, or give the stream a schema with %s", remedy.Catalog)
}

// schemaText returns the schema of the stream.
func (w *singerWriter) schemaText() []byte {
	if w.given != nil {
		return w.given
	}
	text, _ := value.Marshal(w.shape.NullableSchema())                             // cannot fail for lists and texts
	return bytes.Replace(text, []byte(`["null","object"]`), []byte(`"object"`), 1) // a record is not null
}

// writeSchema writes a SCHEMA with all known properties, unless it equals the last SCHEMA.
func (w *singerWriter) writeSchema() error {
	text := w.schemaText()
	if w.note != "" && bytes.Equal(text, w.schema) {
		return nil
	}
	message := fmt.Appendf(nil, `{"type":"SCHEMA","stream":%s,"schema":%s,"key_properties":%s}`+"\n", w.stream, text, w.keys)
	if err := w.to.WriteRows(message, 0); err != nil {
		return err
	}
	w.schema, w.note = text, givenNote+string(w.given)
	if w.given == nil {
		note, err := w.shape.MarshalJSON()
		if err != nil {
			return err
		}
		w.note = string(note)
	}
	w.to.SetNote(w.note)
	return nil
}

// givenNote is the prefix of the note for a schema from the catalog.
const givenNote = "given "

// state writes a STATE message. Its value is the content of a --kept file.
func (w *singerWriter) state(kept map[string]json.RawMessage) error {
	if err := w.resume(); err != nil {
		return err
	}
	if w.note == "" && (w.given != nil || w.earlier != nil) { // announce the stream to the target even if it is empty
		if err := w.writeSchema(); err != nil {
			return err
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return writeState(w.to, kept)
}

func writeState(to rowWriter, kept map[string]json.RawMessage) error {
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return to.WriteRows(fmt.Appendf(nil, `{"type":"STATE","value":%s}`+"\n", text), 0)
}

func (*singerWriter) rewrite(io.Reader) (rewriteFunc, error) { return nil, nil }

// A Catalog holds schemas and keys of streams.
type Catalog struct{ streams map[string]catalogStream }

// catalogStream is a stream of a catalog. It can be found by either name.
type catalogStream struct {
	Stream        string          `json:"stream"`
	TapStreamID   string          `json:"tap_stream_id"`
	Schema        json.RawMessage `json:"schema"`
	KeyProperties []string        `json:"key_properties"`
	Metadata      []struct {
		Breadcrumb []string `json:"breadcrumb"`
		Metadata   struct {
			Keys []string `json:"table-key-properties"`
		} `json:"metadata"`
	} `json:"metadata"`
}

// ParseCatalog parses a catalog in the format that Singer taps write: an object with a list of
// streams, each with its name (stream, or tap_stream_id), and optionally its schema and
// key_properties.
func ParseCatalog(text []byte) (*Catalog, error) {
	var found struct {
		Streams []catalogStream `json:"streams"`
	}
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, err
	}
	if found.Streams == nil {
		return nil, errors.New("want an object with the list streams")
	}
	c := &Catalog{streams: map[string]catalogStream{}}
	for i, s := range found.Streams {
		if s.Stream == "" {
			s.Stream = s.TapStreamID
		}
		if s.Stream == "" {
			return nil, fmt.Errorf("streams[%d] has no stream, which is the dataType of a job", i)
		}
		if _, known := c.streams[s.Stream]; known {
			return nil, fmt.Errorf("streams[%d]: stream %q appears twice", i, s.Stream)
		}
		if err := s.normalize(); err != nil {
			return nil, fmt.Errorf("streams[%d]: %w", i, err)
		}
		c.streams[s.Stream] = s
	}
	return c, nil
}

// normalize checks the schema and determines the keys.
func (s *catalogStream) normalize() error {
	if schema := bytes.TrimSpace(s.Schema); len(schema) == 0 || bytes.Equal(schema, []byte("null")) {
		s.Schema = nil
	} else if schema[0] != '{' {
		return errors.New("schema: want an object")
	} else {
		var compact bytes.Buffer
		if err := json.Compact(&compact, schema); err != nil {
			return err
		}
		s.Schema = compact.Bytes()
	}
	for _, m := range s.Metadata {
		if len(m.Breadcrumb) == 0 && s.KeyProperties == nil {
			s.KeyProperties = m.Metadata.Keys
		}
	}
	return nil
}

// stream returns the entry of a stream. c may be nil.
func (c *Catalog) stream(name string) catalogStream {
	if c == nil {
		return catalogStream{}
	}
	return c.streams[name]
}

// Streams returns the names of the streams of the catalog, sorted.
func (c *Catalog) Streams() []string {
	if c == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(c.streams))
}
