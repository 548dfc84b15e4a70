package document

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// valueKey is the key that an [Editor] gives an item that is not an object, such as a number, when
// it wraps the item in an object.
const valueKey = "value"

// An Editor changes members of items. The bytes and the order of all other members stay the same.
// An Editor is for use by one goroutine.
type Editor struct {
	root    *memberEdit
	members []locatedMember // the members to change, if they are members of the item itself; else nil
}

// A locatedMember is a member of an item that is changed.
type locatedMember struct {
	prefix string // the key as canonical JSON, with the colon; an item may spell it differently
	change int    // index of the change
	place  int    // index of its path in [Options.Places]
}

// A memberEdit is a member on the path of a change.
type memberEdit struct {
	key      string
	quoted   []byte        // key as JSON
	change   int           // index of the change that ends here, or -1
	sets     bool          // whether a change that ends here or below sets a value
	seen     bool          // whether the object that is being written has the member
	children []*memberEdit // in the order of the changes
}

// NewEditor returns an editor of the members at paths (see keypath.Split), which are among the places.
// No path may be empty, or a prefix of another.
func NewEditor(paths, places [][]string) *Editor {
	e := &Editor{root: &memberEdit{change: -1}}
	nested := false
	for i, path := range paths {
		node := e.root
		for _, key := range path {
			node = node.child(key)
		}
		node.change = i
		nested = nested || len(path) > 1
		e.members = append(e.members, locatedMember{string(node.quoted) + ":", i, indexOfPath(places, path)})
	}
	if nested {
		e.members = nil
	}
	return e
}

// child returns the edit of a member, adding it if necessary.
func (e *memberEdit) child(key string) *memberEdit {
	if c := e.member([]byte(key)); c != nil {
		return c
	}
	quoted, _ := value.Marshal(key) // a string always has an encoding
	c := &memberEdit{key: key, quoted: quoted, change: -1}
	e.children = append(e.children, c)
	return c
}

// Append appends a changed item to b. values are the new values of the members, as JSON, in the
// order of the paths; nil removes a member. A member that is set keeps its position. A new member
// is added at the end; the objects on its path are added, too, if they are absent or null. If a key
// occurs twice, one member remains. An item that is not an object becomes {"value": ITEM} before it is
// changed.
//
// The error names the value on a path that is neither an object nor null.
func (e *Editor) Append(b []byte, item *LocatedItem, values [][]byte) ([]byte, error) {
	if out, done := e.splice(b, item, values); done {
		return out, nil
	}
	raw := []byte(item.Raw)
	e.root.prepare(values)
	if scan.KindOf(raw) != scan.Object {
		raw = append(append([]byte(`{"`+valueKey+`":`), raw...), '}')
	}
	w := itemWriter{raw: raw, values: values, out: b}
	w.object(0, e.root)
	return w.out, w.err
}

// splice appends an item by copying it up to each member that changes. It reports false, and appends
// nothing, if the places of the item do not say where a member begins: the item is walked through then.
func (e *Editor) splice(b []byte, item *LocatedItem, values [][]byte) (out []byte, done bool) {
	raw := item.Raw
	if e.members == nil || !item.unique || scan.KindOf(raw) != scan.Object {
		return b, false
	}
	e.order(item)
	out = b
	copied := 0
	for _, m := range e.members {
		at := item.span(m.place)
		if !at.Present() {
			continue
		}
		begin := at.Start - len(m.prefix)
		if begin <= 0 || string(raw[begin:at.Start]) != m.prefix {
			return b, false // the key has another spelling
		}
		if v := values[m.change]; v != nil {
			out = append(append(out, raw[copied:at.Start]...), v...)
			copied = at.End
			continue
		}
		out = append(out, raw[copied:begin]...)
		copied = at.End
		if raw[copied] == ',' {
			copied++
		} else if last := len(out) - 1; out[last] == ',' {
			out = out[:last]
		}
	}
	out = append(out, raw[copied:len(raw)-1]...)
	for _, m := range e.members {
		if v := values[m.change]; v != nil && !item.span(m.place).Present() {
			if out[len(out)-1] != '{' {
				out = append(out, ',')
			}
			out = append(append(out, m.prefix...), v...)
		}
	}
	return append(out, '}'), true
}

// order sorts the members by their places in an item, so that one pass from left to right writes the item.
// Members that the item lacks are first, in the order of the changes. The order is usually that of the item
// before, so it is kept.
func (e *Editor) order(item *LocatedItem) {
	compare := func(a, b locatedMember) int {
		return cmp.Or(cmp.Compare(item.span(a.place).End, item.span(b.place).End), cmp.Compare(a.change, b.change))
	}
	if !slices.IsSortedFunc(e.members, compare) {
		slices.SortFunc(e.members, compare)
	}
}

// prepare marks the edits that set a value.
func (e *memberEdit) prepare(values [][]byte) bool {
	e.sets = e.change >= 0 && values[e.change] != nil
	for _, c := range e.children {
		if c.prepare(values) {
			e.sets = true
		}
	}
	return e.sets
}

// An itemWriter writes one item. Its methods take the offset at which a value begins, and return
// the offset after it.
type itemWriter struct {
	raw    []byte
	values [][]byte
	out    []byte
	path   []string // path of the member that is being written
	err    error    // first error
}

// object writes an object with its changes.
func (w *itemWriter) object(i int, edit *memberEdit) int {
	for _, c := range edit.children {
		c.seen = false
	}
	w.out = append(w.out, '{')
	empty := len(w.out)
	for i++; w.raw[i] != '}'; i = scan.Next(w.raw, i) {
		key, span := scan.Key(w.raw, i)
		i = w.member(key.Of(w.raw), span, edit.member(scan.Unquote(key.Of(w.raw))), empty)
	}
	for _, c := range edit.children {
		if !c.seen && c.sets {
			w.key(c.quoted, empty)
			w.added(c)
		}
	}
	w.out = append(w.out, '}')
	return i + 1
}

// member returns the edit of a key, or nil.
func (e *memberEdit) member(name []byte) *memberEdit {
	for _, c := range e.children {
		if c.key == string(name) {
			return c
		}
	}
	return nil
}

// key writes a key with its punctuation. empty is the offset in the output at which the first key
// of the object is written.
func (w *itemWriter) key(quoted []byte, empty int) {
	if len(w.out) > empty {
		w.out = append(w.out, ',')
	}
	w.out = append(append(w.out, quoted...), ':')
}

// member writes the member with a key whose value begins at start, changed by its edit; a nil edit
// changes nothing.
func (w *itemWriter) member(quoted []byte, start int, edit *memberEdit, empty int) int {
	if edit == nil {
		w.key(quoted, empty)
		end := scan.ValueEnd(w.raw, start)
		w.out = append(w.out, w.raw[start:end]...)
		return end
	}
	if edit.change < 0 {
		w.key(quoted, empty)
		return w.inner(start, edit)
	}
	if edit.sets && !edit.seen {
		w.key(quoted, empty)
		w.out = append(w.out, w.values[edit.change]...)
	}
	edit.seen = true
	return scan.ValueEnd(w.raw, start)
}

// inner writes a value with changed members.
func (w *itemWriter) inner(start int, edit *memberEdit) int {
	edit.seen = true
	w.path = append(w.path, edit.key)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	end := scan.ValueEnd(w.raw, start)
	switch kind := scan.KindOf(w.raw[start:end]); {
	case kind == scan.Object:
		return w.object(start, edit)
	case kind == scan.Null && edit.sets:
		w.added(edit)
		return end
	case (edit.sets || kind == scan.List) && w.err == nil:
		w.err = fmt.Errorf("%s is %s, want an object", keypath.Join(w.path...), kind)
	}
	w.out = append(w.out, w.raw[start:end]...)
	return end
}

// added writes the value of a member that the item does not have.
func (w *itemWriter) added(edit *memberEdit) {
	if edit.change >= 0 {
		w.out = append(w.out, w.values[edit.change]...)
		return
	}
	raw := w.raw
	w.raw = emptyObject
	w.object(0, edit)
	w.raw = raw
}

var emptyObject = []byte("{}")
