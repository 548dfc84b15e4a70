package document

import "bytes"

// MaxDepth is the highest limit for levels of nesting, that is lists and objects
// around a value, because reading is recursive.
const MaxDepth = 10_000

// Limits restrict a document.
type Limits struct {
	Depth int // levels of nesting, at most [MaxDepth]; 0 is MaxDepth
}

func (l Limits) depth() int {
	if l.Depth <= 0 {
		return MaxDepth
	}
	return min(l.Depth, MaxDepth)
}

// A Kind is the kind of a JSON value, as messages name it.
type Kind string

// The kinds of JSON values.
const (
	KindObject  Kind = "an object"
	KindList    Kind = "a list"
	KindString  Kind = "a string"
	KindNumber  Kind = "a number"
	KindBoolean Kind = "a boolean"
	KindNull    Kind = "null"
)

// KindOf returns the kind of a valid JSON value without whitespace before it.
func KindOf(raw []byte) Kind {
	switch raw[0] {
	case '{':
		return KindObject
	case '[':
		return KindList
	case '"':
		return KindString
	case 't', 'f':
		return KindBoolean
	case 'n':
		return KindNull
	}
	return KindNumber
}

// A Document is a validated response body: one JSON document (RFC 8259), not yet
// decoded. It refers to the body.
type Document struct {
	raw   []byte // the body without its byte order mark
	limit int    // of nesting
	facts *scanner
	tree  *pathTree

	separators []int // offsets of the commas between items, and of the closing bracket, while newlines replace them
}

// Parse validates a body and finds the values at the paths (see
// rules.SplitPath; a path without keys is the root). It ignores a UTF-8 byte
// order mark. The error is a [*SyntaxError] or a [*DepthError].
func Parse(body []byte, paths [][]string, limits Limits) (*Document, error) {
	d := &Document{limit: limits.depth(), facts: &scanner{}, tree: newPathTree(paths)}
	if err := d.parse(body); err != nil {
		return nil, err
	}
	return d, nil
}

var byteOrderMark = []byte("\ufeff")

// parse reads a body, which replaces the one before. If the scanner compacts, it
// removes insignificant whitespace from the body in place.
func (d *Document) parse(body []byte) error {
	if bytes.HasPrefix(body, []byte{0xFE, 0xFF}) || bytes.HasPrefix(body, []byte{0xFF, 0xFE}) {
		return &SyntaxError{Message: "the document is UTF-16, not UTF-8"}
	}
	d.raw, d.separators = bytes.TrimPrefix(body, byteOrderMark), nil
	d.tree.reset()
	if err := d.facts.scan(d.raw, d.tree, d.limit); err != nil {
		return addOffset(err, len(body)-len(d.raw))
	}
	d.raw = d.facts.data
	return nil
}

// Raw returns the root value without whitespace around it. It is not a copy.
func (d *Document) Raw() []byte { return d.facts.root.of(d.raw) }

// RootKind returns the kind of the root value.
func (d *Document) RootKind() Kind { return KindOf(d.Raw()) }

// Minified returns the length of the document in bytes without insignificant
// whitespace (specification 2.3).
func (d *Document) Minified() int { return len(d.raw) - d.facts.spaces + d.facts.shift }

// InvalidUTF8 reports whether a string of the document is not valid UTF-8.
func (d *Document) InvalidUTF8() bool { return d.facts.invalid }

// Lookup returns the value at a path as it was sent, and whether the document
// has one; null is one. A number is also the index of a list element. Of
// duplicate keys the last counts. A path that Parse was not given costs a pass
// over the document.
func (d *Document) Lookup(path []string) (raw []byte, present bool) {
	at := d.find(path)
	if !at.present() {
		return nil, false
	}
	return at.of(d.raw), true
}

// find returns the location of the value at a path.
func (d *Document) find(path []string) span {
	node := d.tree.at(path)
	if node == nil {
		tree := newPathTree([][]string{path})
		d.fill(tree)
		node = tree.at(path)
	}
	return node.span
}

// fill finds the paths of another tree in the document.
func (d *Document) fill(tree *pathTree) {
	s := &scanner{window: d.facts.window}
	_ = s.scan(d.raw, tree, d.limit) // the document is known to be valid
}

// Names returns the keys of the object at a path, each once and in order; nil if
// there is no object. It costs a pass over the object.
func (d *Document) Names(path []string) []string {
	raw, present := d.Lookup(path)
	if !present || KindOf(raw) != KindObject {
		return nil
	}
	var names []string
	seen := map[string]bool{}
	for i := skipSpace(raw, 1); raw[i] == '"'; {
		end := textEnd(raw, i)
		if name := string(unquote(raw[i:end])); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
		i = skipSpace(raw, skipSpace(raw, end)+1)
		i = skipSpace(raw, valueEnd(raw, i))
		if raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return names
}
