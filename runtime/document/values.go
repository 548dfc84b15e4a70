package document

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// Values are the items of a page for rules: a [rules.ItemReader]. The scan notes the locations of
// the values that rules read. For a page in a file or with several lists, one pass over the items
// finds them when a rule first reads one. Each path is decoded when it is read. The buffers are
// reused for the next page.
type Values struct {
	items Items
	left  *allowance
	err   error // first error

	whole   bool // whether rules read whole items
	decoded []any
	single  map[int]any // items that were decoded individually

	tree      *scan.Tree
	columns   []column
	places    []int // for each path of Options.Places, the index of its cell
	located   bool
	unique    bool        // whether the scan has located them, and no key on their paths occurs twice in its object
	cells     []scan.Span // locations for all items, item by item
	base      int         // offset of the items, from which cells count
	own       []scan.Span // buffer of locate
	lazyItems []lazyItem
	handles   []any // pointers to the lazyItems
}

// newValues returns the values for rules that read paths of items, with the places of other paths.
func newValues(paths, places [][]string) *Values {
	v := &Values{whole: slices.ContainsFunc(paths, func(path []string) bool { return len(path) == 0 })}
	ends := outermostPaths(paths)
	v.tree = scan.NewColumns(slices.Concat(ends, places))
	for _, path := range ends {
		v.columns = append(v.columns, column{path: path, cell: v.tree.Root.At(path...).Cell()})
	}
	for _, path := range places {
		v.places = append(v.places, v.tree.Root.At(path...).Cell())
	}
	return v
}

// A column holds the values at a path of all items.
type column struct {
	path    []string
	cell    int   // index in the row of an item
	decoded []any // nil until it is decoded
}

// outermostPaths returns the paths that do not begin with another path, without duplicates. The
// values at all other paths are parts of the values at these.
func outermostPaths(paths [][]string) (outermost [][]string) {
	for _, path := range paths {
		within := func(other []string) bool { return len(other) < len(path) && slices.Equal(other, path[:len(other)]) }
		same := func(other []string) bool { return slices.Equal(other, path) }
		if !slices.ContainsFunc(paths, within) && !slices.ContainsFunc(outermost, same) {
			outermost = append(outermost, path)
		}
	}
	return outermost
}

// errPassed is the error for reading values after the next page.
var errPassed = errors.New("the items of an earlier page can no longer be read")

// reset prepares the values for the items of another page.
func (v *Values) reset(items Items, left *allowance, err error) {
	v.items, v.left, v.err = items, left, err
	v.decoded, v.located, v.unique, v.cells, v.base = nil, false, false, nil, 0
	clear(v.single)
	for c := range v.columns {
		v.columns[c].decoded = nil
	}
}

// trim drops buffers that grew with a large page.
func (v *Values) trim() {
	if v.own = scan.Trimmed(v.own); cap(v.handles) > scan.KeptElements {
		v.lazyItems, v.handles = nil, nil
	}
}

// Len returns the number of items.
func (v *Values) Len() int { return v.items.Len() }

// Items returns the items: their values or, if rules read only some of their paths, pointers to a lazyItem.
func (v *Values) Items() ([]any, error) {
	if v.err != nil {
		return nil, v.err
	}
	if !v.whole {
		return v.lazyItemsOf(v.items.Len()), nil
	}
	if v.decoded == nil {
		v.decoded, v.err = decodeItems(v.items, v.left)
	}
	return v.decoded, v.err
}

// Item returns the value of an item. If it cannot be decoded, Item returns the part at a path, in the shape of the item.
func (v *Values) Item(i int, path []string) (any, error) {
	switch {
	case v.err != nil:
		return nil, v.err
	case v.decoded != nil:
		return v.decoded[i], nil
	}
	item, known := v.single[i]
	if known {
		return item, nil
	}
	item, err := decode(v.items.item(i), v.left)
	if err != nil {
		if part, failed := NewPaths([][]string{path}).Decode(v.items.item(i)); failed == nil {
			return part, nil
		}
		return nil, itemError(i, err)
	}
	if v.single == nil {
		v.single = map[int]any{}
	}
	v.single[i] = item
	return item, nil
}

func itemError(i int, err error) error { return fmt.Errorf("item %d: %w", i+1, err) }

// Column returns the values at a path of all items.
func (v *Values) Column(path []string) ([]any, bool, error) {
	if v.whole || v.err != nil {
		return nil, false, v.err
	}
	for c := range v.columns {
		if slices.Equal(v.columns[c].path, path) {
			values, err := v.decodeColumn(&v.columns[c])
			return values, err == nil, err
		}
	}
	out := make([]any, v.items.Len()) // another path, or a part of a column
	for i := range out {
		field, _, err := v.field(i, path)
		if err != nil {
			return nil, false, err
		}
		out[i] = field
	}
	return out, true, nil
}

// decodeColumn decodes the values of a column once.
func (v *Values) decodeColumn(c *column) ([]any, error) {
	if c.decoded != nil || v.err != nil {
		return c.decoded, v.err
	}
	v.locate()
	n := v.items.Len()
	if v.err = v.left.spend(n * elementBytes); v.err != nil {
		return nil, v.err
	}
	out := make([]any, n)
	v.items.mapping.Rewind()
	d, texts := decoder{left: v.left}, shortTexts{to: out}
	for i := range out {
		cell := v.cells[i*v.tree.Width+c.cell]
		if !cell.Present() {
			continue
		}
		if d.raw = v.items.block[cell.Start-v.base : cell.End-v.base]; d.raw[0] == '"' && len(d.raw) <= shortText {
			d.spend(textWeight * len(d.raw))
			texts.add(i, scan.Unquote(d.raw))
		} else {
			out[i], _ = d.value(0)
		}
		if d.err != nil {
			v.err = itemError(i, fmt.Errorf("%s: %w", keypath.Join(c.path...), d.err))
			return nil, v.err
		}
		v.items.release(v.items.block[cell.End-v.base:])
	}
	texts.flush()
	c.decoded = out
	return out, nil
}

// locate finds the values of all columns.
func (v *Values) locate() {
	if v.located {
		return
	}
	v.located = true
	width, block := v.tree.Width, v.items.block
	v.own = slices.Grow(v.own[:0], v.items.Len()*width)[:v.items.Len()*width]
	clear(v.own)
	v.cells = v.own
	v.items.mapping.Rewind()
	for i, at := 0, 0; i < v.items.Len(); i++ {
		at = scan.Walk{Data: block}.Locate(at, v.tree, v.cells[i*width:(i+1)*width]) + 1 // the newline
		v.items.release(block[at:])
	}
}

// field returns the value at a path of an item, and whether the item has it.
func (v *Values) field(i int, path []string) (any, bool, error) {
	for n := range v.columns {
		c := &v.columns[n]
		if len(c.path) > len(path) || !slices.Equal(c.path, path[:len(c.path)]) {
			continue
		}
		values, err := v.decodeColumn(c)
		if err != nil || !v.cells[i*v.tree.Width+c.cell].Present() {
			return nil, false, err
		}
		field, present := within(values[i], path[len(c.path):])
		return field, present, nil
	}
	item, err := v.Item(i, path)
	if err != nil {
		return nil, false, err
	}
	item, present := within(item, path)
	return item, present, nil
}

// within returns the value at a path of a decoded value, and whether there is one.
func within(v any, path []string) (any, bool) {
	for _, key := range path {
		var present bool
		switch container := v.(type) {
		case map[string]any:
			v, present = container[key]
		case []any:
			if i, err := strconv.Atoi(key); err == nil && i < len(container) && i >= -len(container) {
				v, present = container[(i+len(container))%len(container)], true
			}
		}
		if !present {
			return nil, false
		}
	}
	return v, true
}

// A lazyItem represents an item if rules read only some of its paths: each is decoded when it is read. Every
// page uses the same ones.
type lazyItem struct {
	values *Values
	index  int
}

// Field returns the value at a path of the item.
func (l *lazyItem) Field(path []string) (any, bool, error) { return l.values.field(l.index, path) }

// lazyItemsOf returns n items.
func (v *Values) lazyItemsOf(n int) []any {
	if n > len(v.handles) || v.handles == nil {
		v.lazyItems, v.handles = make([]lazyItem, n), make([]any, n)
		for i := range v.lazyItems {
			v.lazyItems[i] = lazyItem{v, i}
			v.handles[i] = &v.lazyItems[i]
		}
	}
	return slices.Clip(v.handles[:n])
}

// The short texts of a column share an allocation, since most are too short for their own. A text
// that a rule keeps retains its whole group, so a group is small, too.
const (
	shortText  = 64      // longest short text, in bytes
	groupBytes = 1 << 10 // size of a group
)

// A shortTexts collects texts for a column.
type shortTexts struct {
	to     []any
	joined [groupBytes]byte
	size   int                           // used bytes of joined
	ends   [groupBytes / 8]shortTextsEnd // ends of the texts in joined
	texts  int                           // number of ends
}

// A shortTextsEnd is the end of an item's text.
type shortTextsEnd struct{ item, end int }

// add adds the text of an item.
func (t *shortTexts) add(item int, text []byte) {
	if t.size+len(text) > len(t.joined) || t.texts == len(t.ends) {
		t.flush()
	}
	t.size += copy(t.joined[t.size:], text)
	t.ends[t.texts] = shortTextsEnd{item, t.size}
	t.texts++
}

// flush stores the texts in the column.
func (t *shortTexts) flush() {
	all, start := string(t.joined[:t.size]), 0
	for _, text := range t.ends[:t.texts] {
		t.to[text.item] = all[start:text.end]
		start = text.end
	}
	t.size, t.texts = 0, 0
}
