package output

import (
	"bytes"
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
	root      *place         // of the items

	raw   []byte // the current item
	row   []cell // cells of the current item, by column
	items int    // number of the current item
	limit int    // on the columns
}

// A place is where values stand: the item, or a member of the objects at another place.
type place struct {
	name    string // of the column
	column  int    // -1 until the column has a value
	key     string // the key before the value, with the colon, as it was written first
	members []*place
	index   map[string]int // index of each member, by its name
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
	t.columns, t.index, t.root = slices.Clone(columns), map[string]int{}, &place{}
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
	t.raw = raw
	known := len(t.columns)
	var err error
	if t.isNested(0) {
		_, err = t.object(t.root, 0)
	} else {
		err = t.set(&place{name: valueColumn, column: -1}, scan.Span{Start: 0, End: len(raw)}, 0)
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
func (t *table) object(at *place, offset int) (end int, err error) {
	next := 0 // the member that probably comes next, as in the items before
	for end = scan.Next(t.raw, offset+1); t.raw[end] != '}'; end = scan.Next(t.raw, end) {
		var start int
		if next < len(at.members) && bytes.HasPrefix(t.raw[end:], []byte(at.members[next].key)) {
			start = scan.SkipSpace(t.raw, end+len(at.members[next].key))
		} else {
			next, start = t.member(at, end)
		}
		member := at.members[next]
		next++
		if t.isNested(start) {
			end, err = t.object(member, start)
		} else {
			end = scan.ValueEnd(t.raw, start)
			err = t.set(member, scan.Span{Start: start, End: end}, offset)
		}
		if err != nil {
			return end, err
		}
	}
	return end + 1, nil
}

// member returns the index of the member of a place whose key is at an offset, and the offset of its value.
func (t *table) member(at *place, offset int) (index, start int) {
	key, start := scan.Key(t.raw, offset)
	name := scan.Unquote(key.Of(t.raw))
	index, known := at.index[string(name)]
	if !known {
		if at.index == nil {
			at.index = map[string]int{}
		}
		index = len(at.members)
		at.index[string(name)] = index
		added := &place{name: string(name), column: -1, key: string(t.raw[offset:start])}
		if at != t.root {
			added.name = at.name + t.separator + added.name
		}
		at.members = append(at.members, added)
	}
	return index, start
}

// isNested reports whether the value at an offset is an object whose members have columns of their own.
func (t *table) isNested(start int) bool { return t.raw[start] == '{' && t.raw[start+1] != '}' }

// set sets the cell of the column of a place. If an object has a name twice, the last value
// counts, as in other JSON readers.
func (t *table) set(at *place, value scan.Span, object int) error {
	if at.column < 0 {
		if err := t.addColumn(at); err != nil {
			return err
		}
	}
	c := &t.row[at.column]
	if c.item == t.items && c.object != object {
		return (&engine.Error{
			Class: failure.IO, Op: string(t.format), Message: fmt.Sprintf("two members of an item have the column %q", at.name),
		}).WithRemedy("names of nested members are joined by %q: choose another text with %s", t.separator, remedy.Nested)
	}
	*c = cell{value, t.items, object}
	return nil
}

// addColumn finds the column of a place, or adds it.
func (t *table) addColumn(at *place) error {
	column, known := t.index[at.name]
	if !known {
		if column = len(t.columns); column >= t.limit {
			return &engine.Error{
				Class: failure.IO, Op: string(t.format),
				Message: fmt.Sprintf("the items have more than %d columns; the next one is %q", t.limit, at.name),
				Hint:    "if names of members are data, remove or rename them with fields, or write ndjson",
			}
		}
		t.columns, t.index[at.name], t.row = append(t.columns, at.name), column, append(t.row, cell{})
	}
	at.column = column
	return nil
}
