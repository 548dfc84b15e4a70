package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
)

// singerWriter writes items as messages of the Singer specification, version 0.3. A
// SCHEMA precedes the first RECORD, and again those to which the one before does not
// apply. It is that of the catalog, or derived from the items.
type singerWriter struct {
	lineWriter
	to     rowWriter
	stream []byte          // its name as JSON
	keys   []byte          // a list of names
	given  json.RawMessage // schema of the catalog; nil: none
	schema *schema         // of the items
	left   int             // properties that may still appear
	note   string          // the schema that was written
	out    []byte
}

func newSinger(to rowWriter, stream string, catalog *Catalog) *singerWriter {
	known := catalog.stream(stream)
	name, _ := value.Marshal(stream) // a text
	keys, _ := value.Marshal(append([]string{}, known.KeyProperties...))
	w := &singerWriter{to: to, stream: name, keys: keys, given: known.Schema, schema: &schema{}, left: maxColumns}
	w.lines = w.write
	return w
}

// resume continues after what was written: by an earlier run, or before rows were taken
// back.
func (w *singerWriter) resume() {
	note := w.to.Note()
	if note == w.note {
		return
	}
	w.note, w.schema = note, &schema{}
	if w.given == nil && note != "" && !strings.HasPrefix(note, givenNote) {
		w.schema = parseSchema([]byte(note))
	}
	w.left = maxColumns - w.schema.size()
}

// write writes the messages of some items.
func (w *singerWriter) write(block []byte) error {
	w.resume()
	rows, widened, records := 0, false, w.out[:0]
	for line := range bytes.Lines(block) {
		record := line[:len(line)-1]
		if record[0] != '{' {
			record = fmt.Appendf(nil, `{%q:%s}`, valueColumn, record)
		}
		if w.given == nil {
			more, err := w.schema.learn(record, &w.left)
			if err != nil {
				return err
			}
			widened = widened || more
		}
		records = append(records, `{"type":"RECORD","stream":`...)
		records = append(records, w.stream...)
		records = append(append(records, `,"record":`...), record...)
		records = append(records, "}\n"...)
		rows++
	}
	w.out = records
	if widened || w.note == "" || w.given != nil != strings.HasPrefix(w.note, givenNote) {
		if err := w.writeSchema(); err != nil {
			return err
		}
	}
	return w.to.WriteRows(records, rows)
}

// writeSchema writes a SCHEMA with all properties that are known.
func (w *singerWriter) writeSchema() error {
	text := w.given
	if text == nil {
		text = bytes.Replace(w.schema.text(), []byte(`["null","object"]`), []byte(`"object"`), 1) // a record is not null
	}
	message := fmt.Appendf(nil, `{"type":"SCHEMA","stream":%s,"schema":%s,"key_properties":%s}`+"\n", w.stream, text, w.keys)
	if err := w.to.WriteRows(message, 0); err != nil {
		return err
	}
	if w.note = string(w.schema.text()); w.given != nil {
		w.note = givenNote + string(w.given)
	}
	w.to.SetNote(w.note)
	return nil
}

// givenNote begins the note of a schema of the catalog.
const givenNote = "given "

// state writes a STATE message. Its value is the content of a file of --kept.
func (w *singerWriter) state(kept map[string]json.RawMessage) error {
	w.resume()
	if w.note == "" && w.given != nil { // the stream is known to the target, also if it is empty
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
