package output

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// csvWriter writes items as CSV (RFC 4180, with lines that end in LF). The columns are in order of
// appearance. A row has the columns that were known when it was written, and the header has the
// columns of the first block of rows: rewrite adds the others.
type csvWriter struct {
	lineWriter
	table
	to   rowWriter
	note string // note that holds the columns
	head int    // number of columns in the header; 0 if it is not written
	out  []byte
}

// csvNote is the information that a writer needs to continue.
type csvNote struct {
	Columns []string `json:"columns"`
	Head    int      `json:"head"`
	Nested  string   `json:"nested"`
}

func newCSV(e encoding, to rowWriter, dataType string, before head) encoder {
	if before.columns == nil {
		before = headOf(e.known[dataType], e.nested(), maxColumns)
	}
	w := &csvWriter{to: to, table: newTable(CSV, maxColumns, e.nested(), before.columns)}
	w.lines = w.write
	return w
}

// resume continues after existing output, either from an earlier run or before a rollback.
func (w *csvWriter) resume() error {
	note := w.to.Note()
	if note == w.note {
		return nil
	}
	found := csvNote{Columns: w.initial, Nested: w.separator}
	if note != "" {
		if err := json.Unmarshal([]byte(note), &found); err != nil {
			return fmt.Errorf("columns of the state: %w", err)
		}
	}
	if err := w.checkNested(found.Nested); err != nil {
		return err
	}
	w.setColumns(found.Columns)
	w.head, w.note = found.Head, note
	return nil
}

// write writes the rows of some items.
func (w *csvWriter) write(block []byte) error {
	if err := w.resume(); err != nil {
		return err
	}
	before := len(w.columns)
	rows, err := w.encode(block)
	if err == nil && len(w.columns) > before {
		rows, err = w.encode(block) // again, so that all of these rows have the new columns
	}
	if err != nil {
		return err
	}
	headless := w.head == 0
	if headless {
		w.head = len(w.columns)
		if err := w.to.WriteHeader(appendHeader(nil, w.columns)); err != nil {
			return err
		}
	}
	if err := w.to.WriteRows(w.out, rows); err != nil {
		return err
	}
	if !headless && before == len(w.columns) {
		return nil
	}
	text, err := json.Marshal(csvNote{w.columns, w.head, w.separator})
	w.note = string(text)
	w.to.SetNote(w.note)
	return err
}

// encode encodes items as rows with the known columns.
func (w *csvWriter) encode(block []byte) (rows int, err error) {
	w.out = w.out[:0]
	for line := range bytes.Lines(block) {
		if err := w.item(line[:len(line)-1]); err != nil {
			return 0, err
		}
		rows++
	}
	return rows, nil
}

// item adds the row of an item to the output.
func (w *csvWriter) item(raw []byte) error {
	if err := w.read(raw); err != nil {
		return err
	}
	start := len(w.out)
	for i := range w.columns {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if value := w.cell(i); value != nil {
			w.out = appendCell(w.out, value)
		}
	}
	if len(w.out) == start {
		w.out = append(w.out, `""`...) // an empty line is not a row
	}
	w.out = append(w.out, '\n')
	return nil
}

func (*csvWriter) state(map[string]json.RawMessage) error { return nil }

// appendHeader appends the line with the names of the columns.
func appendHeader(line []byte, columns []string) []byte {
	for i, name := range columns {
		if i > 0 {
			line = append(line, ',')
		}
		if strings.HasPrefix(name, byteOrderMark) || strings.ContainsRune(name, 0) { // so that no reader takes it for an encoding
			line = appendQuoted(line, []byte(name))
			continue
		}
		line = appendText(line, []byte(name))
	}
	return append(line, '\n')
}

// appendCell appends a value: null is empty, numbers keep their spelling, and lists are JSON.
func appendCell(line, value []byte) []byte {
	switch value[0] {
	case 'n':
		return line
	case '"':
		text := value[1 : len(value)-1]
		switch {
		case bytes.IndexByte(text, '\\') >= 0:
			return appendText(line, scan.Unquote(value))
		case len(text) == 0 || bytes.IndexByte(text, ',') >= 0 || isBlank(text[0]) || isBlank(text[len(text)-1]):
			return append(line, value...) // with the same quotes
		}
		return append(line, text...)
	case '[', '{':
		return appendText(line, value)
	}
	return append(line, value...)
}

// appendText appends a text. An empty text is quoted to distinguish it from null.
func appendText(line, s []byte) []byte {
	if len(s) > 0 && !bytes.ContainsAny(s, ",\"\r\n") && !isBlank(s[0]) && !isBlank(s[len(s)-1]) {
		return append(line, s...)
	}
	return appendQuoted(line, s)
}

// appendQuoted appends a text in quotes.
func appendQuoted(line, s []byte) []byte {
	line = append(line, '"')
	for i := bytes.IndexByte(s, '"'); i >= 0; i = bytes.IndexByte(s, '"') {
		line = append(append(line, s[:i+1]...), '"')
		s = s[i+1:]
	}
	return append(append(line, s...), '"')
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func (w *csvWriter) lateColumns() int {
	return len(w.columns) - cmp.Or(w.head, len(w.columns)) // there is no header without rows
}

// rewrite returns a function that adds late columns to earlier rows and to the rows of the
// existing file.
func (w *csvWriter) rewrite(before io.Reader) (rewriteFunc, error) {
	if err := w.resume(); err != nil {
		return nil, err
	}
	if w.head == 0 { // no rows
		return nil, nil
	}
	columns, head := w.columns, w.head
	if before != nil {
		earlier, err := readHeader(before)
		if err != nil {
			return nil, err
		}
		if len(earlier) > len(columns) || !slices.Equal(earlier, columns[:len(earlier)]) {
			return nil, &engine.Error{
				Class: failure.IO, Op: "csv", Message: "the columns of the file were changed while rows were being obtained for it",
				Hint: "move the file away, then run the same command",
			}
		}
		head = len(earlier)
	}
	if head == len(columns) {
		return nil, nil
	}
	return func(to io.Writer, before, rows io.Reader) error {
		return rewriteCSV(to, columns, before, rows, nil, nil)
	}, nil
}
