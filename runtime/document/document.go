package document

import (
	"bytes"
	"errors"

	"github.com/stopwhen/stopwhen/runtime/spool"
)

// Document is a validated response body: one JSON document (RFC 8259) of which
// nothing is decoded yet. It keeps the body and does not change it.
type Document struct {
	raw   []byte // the body without its byte order mark
	limit int    // of nesting
	facts *scanner
	tree  *pathTree
	cuts  []int // where newlines stand for the commas, and the bracket, of the items; nil: nowhere
}

// Limits is what a document may be.
type Limits struct {
	Depth int // of nesting; 0 is [DefaultDepth], never above [MaxDepth]
}

func (l Limits) depth() int {
	if l.Depth <= 0 {
		return DefaultDepth
	}
	return min(l.Depth, MaxDepth)
}

// Kind is what a JSON value is, as messages name it.
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

// KindOf is the kind of a valid raw value without space before it.
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

var byteOrderMark = []byte("\ufeff")

// Parse validates a body and finds the values of the paths (each as
// rules.SplitPath gives it, none of them for the root). A UTF-8 byte order mark
// is passed over. The error is a [*SyntaxError] or a [*DepthError].
func Parse(body []byte, paths [][]string, limits Limits) (*Document, error) {
	d := &Document{limit: limits.depth(), facts: &scanner{}, tree: newPathTree(paths)}
	if err := d.parse(body); err != nil {
		return nil, err
	}
	return d, nil
}

// parse reads a body in the place of the one before. Where the scanner compacts,
// the body loses its insignificant whitespace, in place.
func (d *Document) parse(body []byte) error {
	if bytes.HasPrefix(body, []byte{0xFE, 0xFF}) || bytes.HasPrefix(body, []byte{0xFF, 0xFE}) {
		return &SyntaxError{Message: "the document is UTF-16, not UTF-8"}
	}
	d.raw, d.cuts = bytes.TrimPrefix(body, byteOrderMark), nil
	d.tree.forget()
	if err := d.facts.scan(d.raw, d.tree, d.limit); err != nil {
		return behind(err, len(body)-len(d.raw))
	}
	d.raw = d.facts.data
	return nil
}

// behind is the error of a scan that began so many bytes into the body.
func behind(err error, by int) error {
	if syntax := (*SyntaxError)(nil); errors.As(err, &syntax) {
		return &SyntaxError{Offset: syntax.Offset + by, Message: syntax.Message}
	}
	if depth := (*DepthError)(nil); errors.As(err, &depth) {
		return &DepthError{Offset: depth.Offset + by, Limit: depth.Limit}
	}
	return err
}

// Raw is the root value as it was sent.
func (d *Document) Raw() []byte { return d.facts.root.of(d.raw) }

// RootKind is the kind of the root value.
func (d *Document) RootKind() Kind { return KindOf(d.Raw()) }

// Minified is the document's length in bytes without insignificant whitespace
// (specification 2.3), nothing else being changed.
func (d *Document) Minified() int { return len(d.raw) - d.facts.spaces + d.facts.shift }

// InvalidUTF8 tells whether a string of the document is not valid UTF-8.
func (d *Document) InvalidUTF8() bool { return d.facts.invalid }

// Lookup returns the value at a path as it was sent, and whether the document
// has it: null is present. A number also indexes a list. Of duplicate keys the
// last counts. A path that was not tracked costs a pass over the document.
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

// elements makes items of the list at a place. The document holds them: until
// whole is called, newlines stand in it where commas stood.
func (d *Document) elements(list span) Items {
	if list.start != d.facts.begins {
		return Split(list.of(d.raw)) // another list than the scan told apart
	}
	d.cuts = d.facts.breaks
	d.mark('\n', '\n')
	if len(d.cuts) == 0 {
		return Items{}
	}
	return Items{d.raw[list.start+1 : list.end : list.end], len(d.cuts), d.facts.window, list.start + 1}
}

// whole runs f on the document as it was before elements changed it.
func (d *Document) restored(f func()) {
	d.mark(',', ']')
	f()
	d.mark('\n', '\n')
}

// mark writes what stands behind the items, and behind the last.
func (d *Document) mark(between, last byte) {
	if len(d.cuts) == 0 {
		return
	}
	w := d.facts.window
	w.Rewind()
	for _, at := range d.cuts[:len(d.cuts)-1] {
		d.raw[at] = between
		w.Pass(at, at)
	}
	d.raw[d.cuts[len(d.cuts)-1]] = last
}

// digests are of the document and, apart, of the list at a place. The values at
// the ignored places are left out of the first.
func (d *Document) digests(list span, ignored []span) (content, items Digest) {
	if list.present() {
		items = d.digest(list, none)
	}
	if len(ignored) == 0 && list.present() {
		content = d.digest(span{0, list.start}, items)
		return d.digest(span{list.end, len(d.raw)}, content), items
	}
	at := 0
	for _, gap := range ignored {
		if gap.start < at {
			continue // inside the one before
		}
		content = d.digest(span{at, gap.start}, content)
		at = gap.end
	}
	return d.digest(span{at, len(d.raw)}, content), items
}

// digest is of what stands at a place, a window at a time.
func (d *Document) digest(at span, seed Digest) Digest {
	w := d.facts.window
	w.Rewind()
	for at.end-at.start > spool.WindowBytes {
		seed = DigestOf(d.raw[at.start:at.start+spool.WindowBytes], seed)
		at.start += spool.WindowBytes
		w.Pass(at.start, at.start)
	}
	return DigestOf(d.raw[at.start:at.end], seed)
}

// fill finds further paths in the document, which is known to be valid.
func (d *Document) fill(tree *pathTree) {
	s := &scanner{window: d.facts.window}
	_ = s.scan(d.raw, tree, d.limit)
}

// Names lists the keys of the object at a path, each once, in order; none if
// there is no object. It is meant for messages: it passes over the object.
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
