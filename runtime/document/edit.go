package document

import (
	"fmt"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// ValueKey is the key of an item that is not an object, such as a number, in the object
// that an [Editor] makes of it.
const ValueKey = "value"

// An Editor changes members of items. The bytes of all other members stay as they are,
// and so does their order. An Editor serves one goroutine.
type Editor struct {
	root *edit
	len  int
}

// edit is a member on the path of a change.
type edit struct {
	key      string
	quoted   []byte  // the key as JSON
	change   int     // the index of the change that ends here; -1 if none does
	sets     bool    // a change that ends here or below sets a value
	seen     bool    // in the object that is being written
	children []*edit // in the order of the changes
}

// NewEditor returns an editor of the members at paths (see rules.SplitPath). No path may
// be empty, or the beginning of another.
func NewEditor(paths [][]string) *Editor {
	e := &Editor{root: &edit{change: -1}, len: len(paths)}
	for i, path := range paths {
		node := e.root
		for _, key := range path {
			node = node.child(key)
		}
		node.change = i
	}
	return e
}

// child returns the edit of a member, which it adds if there is none.
func (e *edit) child(key string) *edit {
	for _, c := range e.children {
		if c.key == key {
			return c
		}
	}
	quoted, _ := value.Marshal(key) // a string can always be encoded
	c := &edit{key: key, quoted: quoted, change: -1}
	e.children = append(e.children, c)
	return c
}

// Append appends a changed item to b. values are the new values of the members, as JSON, in
// the order of the paths; nil removes a member. A member that is set keeps its place; one
// that the item does not have is added at the end, in an object that is also added if it
// is absent or null. Of duplicate keys one remains. An item that is not an object becomes
// {"value": ITEM} before it is changed.
//
// raw is valid JSON without insignificant whitespace, such as an item. The error says
// which value on a path is neither an object nor null.
func (e *Editor) Append(b, raw []byte, values [][]byte) ([]byte, error) {
	e.root.prepare(values)
	if scan.KindOf(raw) != scan.Object {
		raw = append(append([]byte(`{"`+ValueKey+`":`), raw...), '}')
	}
	w := editing{raw: raw, values: values, out: b}
	w.object(0, e.root)
	return w.out, w.err
}

// prepare notes which edits set a value.
func (e *edit) prepare(values [][]byte) bool {
	e.sets = e.change >= 0 && values[e.change] != nil
	for _, c := range e.children {
		if c.prepare(values) {
			e.sets = true
		}
	}
	return e.sets
}

// editing writes one item. Its methods take the offset at which a value begins, and
// return the offset after it.
type editing struct {
	raw    []byte
	values [][]byte
	out    []byte
	path   []string // of the member that is being written
	err    error    // the first one
}

// object writes an object with its changes.
func (w *editing) object(i int, at *edit) int {
	for _, c := range at.children {
		c.seen = false
	}
	w.out = append(w.out, '{')
	empty := len(w.out)
	for i++; w.raw[i] != '}'; i = scan.Next(w.raw, i) {
		key, value := scan.Key(w.raw, i)
		i = w.member(key.Of(w.raw), value, at.member(key.Of(w.raw)), empty)
	}
	for _, c := range at.children {
		if !c.seen && c.sets {
			w.key(c.quoted, empty)
			w.added(c)
		}
	}
	w.out = append(w.out, '}')
	return i + 1
}

// member returns the edit of a key as the item has it, with quotes and escapes.
func (e *edit) member(quoted []byte) *edit {
	name := scan.Unquote(quoted)
	for _, c := range e.children {
		if c.key == string(name) {
			return c
		}
	}
	return nil
}

// key writes a key and what comes before and after it. empty is where the first key of
// the object is written.
func (w *editing) key(quoted []byte, empty int) {
	if len(w.out) > empty {
		w.out = append(w.out, ',')
	}
	w.out = append(append(w.out, quoted...), ':')
}

// member writes the member with a key whose value begins at start, as its edit says; nil
// leaves it as it is.
func (w *editing) member(quoted []byte, start int, at *edit, empty int) int {
	if at == nil {
		w.key(quoted, empty)
		end := scan.ValueEnd(w.raw, start)
		w.out = append(w.out, w.raw[start:end]...)
		return end
	}
	if at.change < 0 {
		w.key(quoted, empty)
		return w.inner(start, at)
	}
	if at.sets && !at.seen {
		w.key(quoted, empty)
		w.out = append(w.out, w.values[at.change]...)
	}
	at.seen = true
	return scan.ValueEnd(w.raw, start)
}

// inner writes a value whose members change.
func (w *editing) inner(start int, at *edit) int {
	at.seen = true
	w.path = append(w.path, at.key)
	defer func() { w.path = w.path[:len(w.path)-1] }()
	end := scan.ValueEnd(w.raw, start)
	switch kind := scan.KindOf(w.raw[start:end]); {
	case kind == scan.Object:
		return w.object(start, at)
	case kind == scan.Null && at.sets:
		w.added(at)
		return end
	case (at.sets || kind == scan.List) && w.err == nil:
		w.err = fmt.Errorf("%s is %s, want an object", rules.PathOf(w.path...), kind)
	}
	w.out = append(w.out, w.raw[start:end]...)
	return end
}

// added writes the value of a member that the item does not have.
func (w *editing) added(at *edit) {
	if at.change >= 0 {
		w.out = append(w.out, w.values[at.change]...)
		return
	}
	w.out = append(w.out, '{')
	empty := len(w.out)
	for _, c := range at.children {
		if c.sets {
			w.key(c.quoted, empty)
			w.added(c)
		}
	}
	w.out = append(w.out, '}')
}

// Find returns the value at a path of a valid JSON value, as it is spelled; nil if there is
// none. Of duplicate keys the last counts.
func Find(raw []byte, path []string) []byte {
	for _, key := range path {
		if scan.KindOf(raw) != scan.Object {
			return nil
		}
		if raw = memberOf(raw, key); raw == nil {
			return nil
		}
	}
	return raw
}

// memberOf returns the value of a key of an object.
func memberOf(raw []byte, key string) (found []byte) {
	for name, value := range scan.Members(raw) {
		if string(scan.Unquote(name.Of(raw))) == key {
			found = value.Of(raw)
		}
	}
	return found
}
