package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// parquetWriter writes items as Parquet. The types of the columns are known when the last item has
// arrived, so the items wait as NDJSON, and rewrite encodes them. The columns are the same as in CSV.
type parquetWriter struct {
	lineWriter
	table
	to   rowWriter
	seen []shape.Types // types of the values in each column
	note string        // note that holds the columns

	before []shape.Types // types of the columns of the file that rows are added to
}

// parquetNote is the information that a writer needs to continue.
type parquetNote struct {
	Columns []string `json:"columns"`
	Types   []int    `json:"types"`
	Nested  string   `json:"nested"`
}

func noteOf(h head, nested string) parquetNote {
	n := parquetNote{Columns: h.columns, Types: make([]int, len(h.types)), Nested: nested}
	for i, t := range h.types {
		n.Types[i] = int(t)
	}
	return n
}

// head returns the columns and types of a note.
func (n *parquetNote) head() (head, error) {
	h := head{columns: n.Columns, types: make([]shape.Types, len(n.Types))}
	for i, t := range n.Types {
		h.types[i] = shape.Types(t)
	}
	if len(n.Types) != len(n.Columns) {
		return h, fmt.Errorf("want the types of %d columns, got %d", len(n.Columns), len(n.Types))
	}
	return h, nil
}

// maxParquetColumns limits the columns of a Parquet file, whose writer needs memory for each.
const maxParquetColumns = 800

func newParquet(e encoding, to rowWriter, dataType string, before head) encoder {
	before = before.merge(headOf(e.known[dataType], e.nested(), maxParquetColumns))
	w := &parquetWriter{to: to, table: newTable(Parquet, maxParquetColumns, e.nested(), before.columns), before: before.types}
	w.seen = slices.Clone(before.types)
	w.lines = w.write
	return w
}

// resume continues after existing output, either from an earlier run or before a rollback.
func (w *parquetWriter) resume() error {
	note := w.to.Note()
	if note == w.note {
		return nil
	}
	found := head{w.initial, w.before}
	if note != "" {
		var saved parquetNote
		err := json.Unmarshal([]byte(note), &saved)
		if err == nil {
			err = w.checkNested(saved.Nested)
		}
		if err == nil {
			found, err = saved.head()
		}
		if err != nil {
			return fmt.Errorf("columns of the state: %w", err)
		}
	}
	w.setColumns(found.columns)
	w.seen = slices.Clone(found.types)
	w.note = note
	return nil
}

// write writes some items as they are, and takes note of their columns and types.
func (w *parquetWriter) write(block []byte) error {
	if err := w.resume(); err != nil {
		return err
	}
	rows, learned := 0, false
	for line := range bytes.Lines(block) {
		if err := w.read(line[:len(line)-1]); err != nil {
			return err
		}
		learned = w.learn() || learned
		rows++
	}
	if err := w.to.WriteRows(block, rows); err != nil {
		return err
	}
	if learned {
		return w.saveNote()
	}
	return nil
}

// learn adds the types of the cells of the current item. It reports whether one of them is new.
func (w *parquetWriter) learn() (learned bool) {
	for len(w.seen) < len(w.columns) {
		w.seen, learned = append(w.seen, 0), true
	}
	for i := range w.row {
		value := w.cell(i)
		if value == nil {
			continue
		}
		if t := shape.TypeOf(value) &^ shape.Null; w.seen[i]|t != w.seen[i] {
			w.seen[i] |= t
			learned = true
		}
	}
	return learned
}

func (w *parquetWriter) saveNote() error {
	text, err := json.Marshal(noteOf(head{w.columns, w.seen}, w.separator))
	w.note = string(text)
	w.to.SetNote(w.note)
	return err
}

func (*parquetWriter) state(map[string]json.RawMessage) error { return nil }

// rewrite returns a function that encodes the items, after the rows of the existing file.
func (w *parquetWriter) rewrite(io.Reader) (rewriteFunc, error) {
	if err := w.resume(); err != nil {
		return nil, err
	}
	known := w.known()
	return func(to io.Writer, before, rows io.Reader) error {
		return encodeParquet(to, known, w.separator, before, rows, nil)
	}, nil
}

func (w *parquetWriter) merge(m *merger, to io.Writer, before, rows io.Reader) error {
	return encodeParquet(to, w.known(), w.separator, before, rows, &parquetMerge{merger: m})
}

// known returns the columns of the items that were written. An item that could not be written may have
// added other columns to the table.
func (w *parquetWriter) known() head {
	return head{slices.Clone(w.columns[:len(w.seen)]), slices.Clone(w.seen)}
}

// mixed describes the columns that hold texts because no type of Parquet holds all of their values.
func (w *parquetWriter) mixed() []string {
	var columns []string
	for i, t := range w.seen {
		if i < len(w.before) && kindOf(w.before[i]) == textKind {
			continue // it was before
		}
		if isMixed(t) {
			columns = append(columns, fmt.Sprintf("column %q has %s", w.columns[i], t))
		}
	}
	return columns
}

// A head has the columns of a table, and the types of the values in each.
type head struct {
	columns []string
	types   []shape.Types // without null
}

// A kind is the type of a column.
type kind int

const (
	textKind kind = iota
	booleanKind
	integerKind
	numberKind
)

// kindOf returns the kind of a column that holds values of the given types. It is text if no other kind
// holds all values without a change, and if the column has no value. Lists are text, too: readers that
// follow Apache Arrow return columns of the type JSON as bytes.
func kindOf(t shape.Types) kind {
	switch t &^= shape.Null; {
	case t == 0:
		return textKind
	case t == shape.Boolean:
		return booleanKind
	case t&^(shape.Integer|shape.BigInt) == 0:
		return integerKind
	case t&^(shape.Integer|shape.Number) == 0:
		return numberKind
	}
	return textKind
}

// isMixed reports whether a column is text because no other type holds all of its values.
func isMixed(t shape.Types) bool {
	t &^= shape.Null
	return kindOf(t) == textKind && t&^(shape.Text|shape.LongText) != 0 && t&^(shape.List|shape.Empty) != 0
}

// plainText returns a value as a text: a text without its quotes, and the JSON of any other value.
func plainText(value []byte) []byte {
	if value[0] == '"' {
		return scan.Unquote(value)
	}
	return value
}
