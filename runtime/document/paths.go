package document

import (
	"fmt"
	"sync"

	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// Paths are paths into JSON values (see keypath.Split), compiled to decode the selected parts of
// many values, such as the items of a list. A path without keys selects the whole value. Paths are
// safe for concurrent use.
type Paths struct {
	tree       *scan.Tree
	selections sync.Pool // holds *selection
}

// NewPaths compiles paths to decode.
func NewPaths(paths [][]string) *Paths {
	p := &Paths{tree: scan.NewTree(paths, nil)}
	p.selections.New = func() any { return &selection{row: make([]scan.Span, p.tree.Width)} }
	return p
}

// Decode decodes the parts of a value that the paths select, in the shape of [Reading.Body] and by
// the rules of [Decode]. The result is nil if there are no paths, or if the value is not an object
// and no path selects all of it. raw is valid JSON without surrounding whitespace; it is not
// validated again.
func (p *Paths) Decode(raw []byte) (v any, err error) {
	if !p.tree.Root.Leads {
		return nil, nil
	}
	p.use(raw, 0, func(s *selection) {
		scan.Walk{Data: raw}.Locate(0, p.tree, s.row)
		v, _, err = s.project(p.tree.Root)
	})
	return v, err
}

// use calls f with a selection of the values in raw, with an empty row.
func (p *Paths) use(raw []byte, limit int, f func(s *selection)) {
	s := p.selections.Get().(*selection)
	s.raw, s.own = raw, *newAllowance(limit)
	s.left = &s.own
	clear(s.row)
	f(s)
	s.raw = nil
	p.selections.Put(s)
}

// DecodePaths decodes the values of a body at paths, in the shape of [Reading.Body]. depth is the
// deepest allowed nesting of the body; 0 means 10,000. DecodePaths is for error responses, so a
// body larger than 8 MiB is an error.
func DecodePaths(body []byte, paths [][]string, depth int) (any, error) {
	if err := checkErrorSize(body); err != nil {
		return nil, err
	}
	doc, err := newDocument(body, paths, depth)
	if err != nil {
		return nil, err
	}
	return doc.selected(newAllowance(0))
}

// selected returns the values that the tree of the scanner selects, in the shape of [Reading.Body].
func (d *document) selected(left *allowance) (any, error) {
	s := selection{raw: d.raw, row: d.scanner.Row, left: left}
	body, _, err := s.project(d.scanner.Body.Root)
	return body, err
}

// A selection holds the values of a document at the paths of a tree.
type selection struct {
	raw  []byte
	row  []scan.Span // locations of the values
	left *allowance
	own  allowance
}

// project returns a value as rules see it: nested objects that hold only the values selected at and
// below the node, if the document has them. It decodes a list on a path completely, and also the
// value at the end of a path. It reports false if there is nothing at the node.
func (s *selection) project(node *scan.Node) (any, bool, error) {
	span := node.In(s.row)
	if !span.Present() {
		return nil, false, nil
	}
	raw := span.Of(s.raw)
	kind := scan.KindOf(raw)
	if node.Selected || kind == scan.List && node.Leads {
		v, err := decode(raw, s.left)
		if err != nil {
			err = fmt.Errorf("%s: %w", keypath.Join(node.Path...), err)
		}
		return v, true, err
	}
	if kind != scan.Object {
		return nil, false, nil
	}
	object := map[string]any{} // small, since most paths may be absent
	for _, child := range node.Children {
		if !child.Leads {
			continue
		}
		v, present, err := s.project(child)
		if err != nil {
			return nil, false, err
		}
		if present {
			object[child.Key] = v
		}
	}
	return object, true, nil
}
