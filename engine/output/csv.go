package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// maxColumns limits the columns of a CSV file and the properties of a Singer schema. Names that
// are data, such as IDs, would each need a column.
const maxColumns = 10_000

// valueColumn is the column of items without members: texts, numbers, lists and {}.
const valueColumn = "value"

// csvWriter writes items as CSV (RFC 4180, with lines that end in LF). The columns are in order of
// appearance. A row has the columns that were known when it was written, and the header has the
// columns of the first block of rows: rewrite adds the others.
type csvWriter struct {
	lineWriter
	to     rowWriter
	nested string
	note   string // note that holds the columns

	initial []string // columns of the file that rows are added to
	columns []string
	index   map[string]int // index of each column
	head    int            // number of columns in the header; 0 if it is not written

	row   []cell // cells of the current item, by column
	items int    // number of the current item
	path  []byte // path of the visited member
	out   []byte
}

// cell is a cell of a row.
type cell struct {
	value  []byte
	item   int   // number of the item that the cell belongs to
	parent *byte // identifies the object that contains the value
}

// csvNote is the information that a writer needs to continue.
type csvNote struct {
	Columns []string `json:"columns"`
	Head    int      `json:"head"`
	Nested  string   `json:"nested"`
}

func newCSV(to rowWriter, nested string, columns []string) *csvWriter {
	w := &csvWriter{to: to, nested: nested, initial: columns}
	w.lines = w.write
	w.setColumns(columns)
	return w
}

func (w *csvWriter) setColumns(columns []string) {
	w.columns, w.index = slices.Clone(columns), map[string]int{}
	for i, name := range columns {
		w.index[name] = i
	}
	w.row = make([]cell, len(columns))
}

// resume continues after existing output, either from an earlier run or before a rollback.
func (w *csvWriter) resume() error {
	note := w.to.Note()
	if note == w.note {
		return nil
	}
	found := csvNote{Columns: w.initial, Nested: w.nested}
	if note != "" {
		if err := json.Unmarshal([]byte(note), &found); err != nil {
			return fmt.Errorf("columns of the state: %w", err)
		}
	}
	if found.Nested != w.nested {
		return &engine.Error{
			Class: failure.State, Op: "csv",
			Message: fmt.Sprintf("names of nested members are joined by %q in the rows before, and by %q now", found.Nested, w.nested),
			Hint:    "use the same output.Options.Nested, or start over with checkpoint.Restart",
		}
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
	text, err := json.Marshal(csvNote{w.columns, w.head, w.nested})
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
	w.items++
	w.path = w.path[:0]
	known := len(w.columns)
	var err error
	if isNested(raw) {
		err = w.object(raw)
	} else {
		w.path = append(w.path, valueColumn...)
		err = w.set(raw, raw)
	}
	for i := known; err == nil && i < len(w.columns); i++ {
		err = w.checkLate(w.columns[i])
	}
	if err != nil {
		return err
	}
	start := len(w.out)
	for i := range w.columns {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		if w.row[i].item == w.items {
			w.out = appendCell(w.out, w.row[i].value)
		}
	}
	if len(w.out) == start {
		w.out = append(w.out, `""`...) // an empty line is not a row
	}
	w.out = append(w.out, '\n')
	return nil
}

// checkLate returns an error for a column that the file to which rows are added has under another name,
// because its names of nested members are joined by another text.
func (w *csvWriter) checkLate(name string) error {
	path := strings.Split(name, w.nested)
	if len(path) < 2 {
		return nil
	}
	for i, had := range w.initial {
		rest, found := strings.CutPrefix(had, path[0])
		at := strings.Index(rest, path[1])
		if !found || at < 1 || w.row[i].item == w.items || strings.Join(path, rest[:at]) != had || !joinsNames(rest[:at], w.nested) {
			continue
		}
		return &engine.Error{
			Class: failure.Config, Op: "csv",
			Message: fmt.Sprintf("the file has the column %q, and the rows to add have %q: names of nested members are joined by %q there, "+
				"and by %q now", had, name, rest[:at], w.nested),
			Hint: "use the same output.Options.Nested, or move the file away",
		}
	}
	return nil
}

// joinsNames reports whether a text may be one that joins names where another one does so now: it has
// neither letters nor digits, and does not contain the other.
func joinsNames(text, other string) bool {
	named := func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsSpace(c) || c == '"' }
	return !strings.ContainsFunc(text, named) && !strings.Contains(text, other)
}

// object sets the cells of the members of an object.
func (w *csvWriter) object(raw []byte) error {
	outer := len(w.path)
	for name, span := range scan.Members(raw) {
		w.path = append(w.path[:outer], scan.Unquote(name.Of(raw))...)
		var err error
		if member := span.Of(raw); isNested(member) {
			w.path = append(w.path, w.nested...)
			err = w.object(member)
		} else {
			err = w.set(member, raw)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isNested reports whether a value is an object whose members have columns of their own.
func isNested(value []byte) bool { return value[0] == '{' && len(value) > len("{}") }

// set sets the cell of the column named by path. If an object has a name twice, the last value
// counts, as in other JSON readers.
func (w *csvWriter) set(value, object []byte) error {
	i, known := w.index[string(w.path)]
	if !known {
		if len(w.columns) == maxColumns {
			return &engine.Error{
				Class: failure.IO, Op: "csv", Message: fmt.Sprintf("the items have more than %d columns; the next one is %q", maxColumns, w.path),
				Hint: "if names of members are data, remove or rename them with fields, or write ndjson",
			}
		}
		i = len(w.columns)
		name := string(w.path)
		w.columns, w.index[name], w.row = append(w.columns, name), i, append(w.row, cell{})
	}
	c := &w.row[i]
	if c.item == w.items && c.parent != &object[0] {
		return &engine.Error{
			Class: failure.IO, Op: "csv", Message: fmt.Sprintf("two members of an item have the column %q", w.path),
			Hint: fmt.Sprintf("names of nested members are joined by %q: choose another text with output.Options.Nested", w.nested),
		}
	}
	*c = cell{value, w.items, &object[0]}
	return nil
}

func (*csvWriter) state(map[string]json.RawMessage) error { return nil }

// appendHeader appends the line with the names of the columns.
func appendHeader(line []byte, columns []string) []byte {
	for i, name := range columns {
		if i > 0 {
			line = append(line, ',')
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
		return appendText(line, scan.Unquote(value))
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
	line = append(line, '"')
	for i := bytes.IndexByte(s, '"'); i >= 0; i = bytes.IndexByte(s, '"') {
		line = append(append(line, s[:i+1]...), '"')
		s = s[i+1:]
	}
	return append(append(line, s...), '"')
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

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
