package runtime

import (
	"bytes"
	"errors"
)

// Document is a validated response body: one JSON document (RFC 8259) of which
// nothing is decoded yet. It keeps the body and does not change it.
type Document struct {
	raw   []byte // the body without its byte order mark
	limit int    // of nesting
	facts *scanner
	tree  *pathTree
}

// DocumentLimits is what a document may be.
type DocumentLimits struct {
	Depth int // of nesting; 0 is [DefaultDepth], never above [MaxDepth]
}

func (l DocumentLimits) depth() int {
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

// ParseDocument validates a body and finds the values of the paths (each as
// rules.SplitPath gives it, none of them for the root). A UTF-8 byte order mark
// is passed over. The error is a [*SyntaxError] or a [*DepthError].
func ParseDocument(body []byte, paths [][]string, limits DocumentLimits) (*Document, error) {
	if bytes.HasPrefix(body, []byte{0xFE, 0xFF}) || bytes.HasPrefix(body, []byte{0xFF, 0xFE}) {
		return nil, &SyntaxError{Message: "the document is UTF-16, not UTF-8"}
	}
	d := &Document{raw: bytes.TrimPrefix(body, byteOrderMark), limit: limits.depth(), tree: newPathTree(paths)}
	var err error
	if d.facts, err = scan(d.raw, d.tree, d.limit); err != nil {
		return nil, moved(err, len(body)-len(d.raw))
	}
	return d, nil
}

// moved is the error of a scan that began so many bytes into the body.
func moved(err error, by int) error {
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
func (d *Document) Minified() int { return len(d.raw) - d.facts.spaces }

// InvalidUTF8 tells whether a string of the document is not valid UTF-8.
func (d *Document) InvalidUTF8() bool { return d.facts.invalid }

// Lookup returns the value at a path as it was sent, and whether the document
// has it: null is present. A number also indexes a list. Of duplicate keys the
// last counts. A path that was not tracked costs a pass over the document.
func (d *Document) Lookup(path []string) (raw []byte, present bool) {
	node := d.tree.at(path)
	if node == nil {
		tree := newPathTree([][]string{path})
		d.fill(tree)
		node = tree.at(path)
	}
	if !node.span.present() {
		return nil, false
	}
	return node.span.of(d.raw), true
}

// fill finds further paths in the document, which is known to be valid.
func (d *Document) fill(tree *pathTree) { _, _ = scan(d.raw, tree, d.limit) }

// RootArray is a member of the root object whose value is a list.
type RootArray struct {
	Name string
	Raw  []byte
}

// RootArrays lists the members of the root object that are lists, in order:
// the places where the items may be. Of duplicate names the last value decides.
func (d *Document) RootArrays() []RootArray {
	var out []RootArray
	for _, list := range d.facts.lists.found {
		if list.span.present() {
			out = append(out, RootArray{list.name, list.span.of(d.raw)})
		}
	}
	return out
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
