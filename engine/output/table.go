package output

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// maxColumns limits the columns of a CSV file and the properties of a Singer schema. Names that
// are data, such as IDs, would each need a column.
const maxColumns = 10_000

// valueColumn is the column of items without members: texts, numbers, lists and {}.
const valueColumn = "value"

// A table finds the columns of items, in order of appearance: nested members have columns of their
// own. It holds the cells of one item at a time.
type table struct {
	format    Kind     // in errors
	separator string   // joins the names of nested members
	initial   []string // columns of the file that rows are added to
	columns   []string
	index     map[string]int // index of each column

	raw   []byte // the current item
	row   []cell // cells of the current item, by column
	items int    // number of the current item
	path  []byte // path of the visited member
	limit int    // on the columns
	next  int    // the column that probably comes next, as in the items before
}

// cell is a cell of a row.
type cell struct {
	value  scan.Span
	item   int // number of the item that the cell belongs to
	object int // offset of the object that contains the value
}

func newTable(format Kind, limit int, nested string, columns []string) table {
	t := table{format: format, separator: nested, initial: columns, limit: limit}
	t.setColumns(columns)
	return t
}

func (t *table) setColumns(columns []string) {
	t.columns, t.index = slices.Clone(columns), map[string]int{}
	for i, name := range columns {
		t.index[name] = i
	}
	t.row = make([]cell, len(columns))
}

// checkNested returns an error if the rows that are continued have other names for nested members.
func (t *table) checkNested(before string) error {
	if before == t.separator {
		return nil
	}
	return (&engine.Error{
		Class: failure.State, Op: string(t.format),
		Message: fmt.Sprintf("names of nested members are joined by %q in the rows before, and by %q now", before, t.separator),
	}).WithRemedy("use the same %s; %s", remedy.Nested, remedy.StartOver)
}

// read reads an item. Its cells are valid until the next item is read.
func (t *table) read(raw []byte) error {
	t.items++
	t.raw, t.path, t.next = raw, t.path[:0], 0
	known := len(t.columns)
	var err error
	if t.isNested(0) {
		_, err = t.object(0)
	} else {
		t.path = append(t.path, valueColumn...)
		err = t.set(scan.Span{Start: 0, End: len(raw)}, 0)
	}
	for i := known; err == nil && i < len(t.columns); i++ {
		err = t.checkLate(t.columns[i])
	}
	return err
}

// cell returns the value of the current item in a column, or nil if the item has no such value.
func (t *table) cell(column int) []byte {
	if c := &t.row[column]; c.item == t.items {
		return c.value.Of(t.raw)
	}
	return nil
}

// checkLate returns an error for a new column that the file probably has under another name. Names of
// nested members may have been joined by another text when the file was written.
func (t *table) checkLate(name string) error {
	path := strings.Split(name, t.separator)
	if len(path) < 2 {
		return nil
	}
	for i, column := range t.initial {
		rest, found := strings.CutPrefix(column, path[0])
		index := strings.Index(rest, path[1])
		if !found || index < 1 || t.row[i].item == t.items ||
			strings.Join(path, rest[:index]) != column || !joinsNames(rest[:index], t.separator) {
			continue
		}
		return (&engine.Error{
			Class: failure.Config, Op: string(t.format),
			Message: fmt.Sprintf("the file has the column %q, and the rows to add have %q: names of nested members are joined by %q there, "+
				"and by %q now", column, name, rest[:index], t.separator),
		}).WithRemedy("use the same %s, or move the file away", remedy.Nested)
	}
	return nil
}

// joinsNames reports whether a text may have joined names in a file, instead of the text other: it has
// no letter, digit, space or quote, and does not contain other.
func joinsNames(text, other string) bool {
	named := func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsSpace(c) || c == '"' }
	return !strings.ContainsFunc(text, named) && !strings.Contains(text, other)
}

// object sets the cells of the members of the object at an offset, each of which is read once. It returns the offset after
// the object.
func (t *table) object(offset int) (end int, err error) {
	outer := len(t.path)
	for end = scan.Next(t.raw, offset+1); t.raw[end] != '}'; end = scan.Next(t.raw, end) {
		name, start := scan.Key(t.raw, end)
		t.path = append(t.path[:outer], scan.Unquote(name.Of(t.raw))...)
		if t.isNested(start) {
			t.path = append(t.path, t.separator...)
			end, err = t.object(start)
		} else {
			end = scan.ValueEnd(t.raw, start)
			err = t.set(scan.Span{Start: start, End: end}, offset)
		}
		if err != nil {
			return end, err
		}
	}
	return end + 1, nil
}

// isNested reports whether the value at an offset is an object whose members have columns of their own.
func (t *table) isNested(start int) bool { return t.raw[start] == '{' && t.raw[start+1] != '}' }

// set sets the cell of the column named by path. If an object has a name twice, the last value
// counts, as in other JSON readers.
func (t *table) set(value scan.Span, object int) error {
	i, known := t.next, t.next < len(t.columns) && t.columns[t.next] == string(t.path)
	if !known {
		i, known = t.index[string(t.path)]
	}
	if !known {
		if len(t.columns) >= t.limit {
			return &engine.Error{
				Class: failure.IO, Op: string(t.format),
				Message: fmt.Sprintf("the items have more than %d columns; the next one is %q", t.limit, t.path),
				Hint:    "if names of members are data, remove or rename them with fields, or write ndjson",
			}
		}
		i = len(t.columns)
		name := string(t.path)
		t.columns, t.index[name], t.row = append(t.columns, name), i, append(t.row, cell{})
	}
	t.next = i + 1
	c := &t.row[i]
	if c.item == t.items && c.object != object {
		return (&engine.Error{
			Class: failure.IO, Op: string(t.format), Message: fmt.Sprintf("two members of an item have the column %q", t.path),
		}).WithRemedy("names of nested members are joined by %q: choose another text with %s", t.separator, remedy.Nested)
	}
	*c = cell{value, t.items, object}
	return nil
}
