package document

import "bytes"

// maxDepth is the highest limit for levels of nesting, that is lists and objects
// around a value, because reading is recursive.
const maxDepth = 10_000

// depthLimit returns the limit for levels of nesting that an option sets; 0 is
// [maxDepth].
func depthLimit(option int) int {
	if option <= 0 {
		return maxDepth
	}
	return min(option, maxDepth)
}

// A kind is the kind of a JSON value, as messages name it.
type kind string

// The kinds of JSON values.
const (
	kindObject  kind = "an object"
	kindList    kind = "a list"
	kindString  kind = "a string"
	kindNumber  kind = "a number"
	kindBoolean kind = "a boolean"
	kindNull    kind = "null"
)

// kindOf returns the kind of a valid JSON value without whitespace before it.
func kindOf(raw []byte) kind {
	switch raw[0] {
	case '{':
		return kindObject
	case '[':
		return kindList
	case '"':
		return kindString
	case 't', 'f':
		return kindBoolean
	case 'n':
		return kindNull
	}
	return kindNumber
}

// A document is a validated response body: one JSON document (RFC 8259), not yet
// decoded. It refers to the body.
type document struct {
	raw   []byte // the body without its byte order mark
	limit int    // of nesting
	facts *scanner
	tree  *pathTree

	items      span  // the list that the scan has divided into items; absent if there is none
	separators []int // offsets of the commas between items, and of the closing bracket, while newlines replace them
}

// newDocument validates a body and finds the values at the paths (see
// rules.SplitPath; a path without keys is the root). It ignores a UTF-8 byte
// order mark. The error is a [*syntaxError] or a [*DepthError].
func newDocument(body []byte, paths [][]string, depth int) (*document, error) {
	d := &document{limit: depthLimit(depth), facts: &scanner{}, tree: newPathTree(paths)}
	if err := d.parse(body); err != nil {
		return nil, err
	}
	return d, nil
}

// A Checker checks values one after another. The zero Checker is ready for use.
type Checker struct{ scanner scanner }

// Check returns nil if text is one JSON value that is nested at most depth levels deep (0
// is 10,000). Otherwise the error is a [*DepthError], or says at which byte the value is wrong.
func (c *Checker) Check(text []byte, depth int) error {
	return c.scanner.scan(text, nil, depthLimit(depth))
}

var byteOrderMark = []byte("\ufeff")

// parse reads a body, which replaces the one before. If the scanner compacts, it
// removes insignificant whitespace from the body in place.
func (d *document) parse(body []byte) error {
	if bytes.HasPrefix(body, []byte{0xFE, 0xFF}) || bytes.HasPrefix(body, []byte{0xFF, 0xFE}) {
		return &syntaxError{message: "the document is UTF-16, not UTF-8"}
	}
	d.raw, d.separators = bytes.TrimPrefix(body, byteOrderMark), nil
	d.items = span{}
	d.tree.reset()
	if err := d.facts.scan(d.raw, d.tree, d.limit); err != nil {
		return addOffset(err, len(body)-len(d.raw))
	}
	d.raw = d.facts.data
	return nil
}

// forget gives up the references to the body.
func (d *document) forget() { d.raw, d.facts.data, d.facts.window = nil, nil, nil }

// rootValue returns the root value without whitespace around it. It is not a copy.
func (d *document) rootValue() []byte { return d.facts.root.of(d.raw) }

// rootKind returns the kind of the root value.
func (d *document) rootKind() kind { return kindOf(d.rootValue()) }

// minified returns the length of the document in bytes without insignificant
// whitespace (specification 2.3).
func (d *document) minified() int { return len(d.raw) - d.facts.spaces + d.facts.shift }

// invalidUTF8 reports whether a string of the document is not valid UTF-8.
func (d *document) invalidUTF8() bool { return d.facts.invalid }

// lookup returns the value at a path as it was sent, and whether the document
// has one; null is one. A number is also the index of a list element. Of
// duplicate keys the last counts. A path that newDocument was not given costs a
// pass over the document.
func (d *document) lookup(path []string) (raw []byte, present bool) {
	at := d.find(path)
	if !at.present() {
		return nil, false
	}
	return at.of(d.raw), true
}

// find returns the location of the value at a path.
func (d *document) find(path []string) span {
	node := d.tree.at(path)
	if node == nil {
		tree := newPathTree([][]string{path})
		d.fill(tree)
		node = tree.at(path)
	}
	return node.span
}

// fill finds the paths of another tree in the document.
func (d *document) fill(tree *pathTree) {
	s := &scanner{window: d.facts.window}
	_ = s.scan(d.raw, tree, d.limit) // the document is known to be valid
}

// smallBytes is the size of the documents in which finding paths without a scan is faster, also
// if all values have to be passed over.
const smallBytes = 4 << 10

// locate is fill for paths of objects. It passes over the items without reading them.
func (d *document) locate(tree *pathTree) {
	if d.facts.window == nil && (d.items.present() || len(d.raw) < smallBytes) {
		tree.locate(d.raw, d.facts.root.start, d.items)
	} else {
		d.fill(tree)
	}
}

// The names that document.names returns are for hints: more, or longer ones, do not
// help.
const (
	maxNames = 1000
	maxName  = 256 // bytes
)

// Names returns the first keys of the object at a path of a JSON value, for hints; nil if
// there is none.
func Names(raw []byte, path []string) []string {
	doc, err := newDocument(raw, [][]string{path}, 0)
	if err != nil {
		return nil
	}
	return doc.names(path)
}

// names returns the first keys of the object at a path that are not too long, each once
// and in order; nil if there is no object. It costs a pass over the object.
func (d *document) names(path []string) []string {
	at := d.find(path)
	if !at.present() || kindOf(d.raw[at.start:]) != kindObject {
		return nil
	}
	raw, window := d.raw, d.facts.window
	window.Rewind()
	var names []string
	seen := map[string]bool{}
	for i := skipSpace(raw, at.start+1); raw[i] == '"' && len(names) < maxNames; {
		end := textEnd(raw, i)
		if end-i <= maxName {
			if name := string(unquote(raw[i:end])); !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
		i = skipSpace(raw, skipSpace(raw, end)+1)
		i = skipSpace(raw, valueEndIn(raw, i, window))
		if raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return names
}
