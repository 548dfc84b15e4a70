package document

import (
	"fmt"

	"github.com/stopwhen/stopwhen/rules"
)

// DecodePaths decodes the values of a body at paths, in the shape of [Reading.Body].
// The body must not be nested more than depth levels deep; 0 is 10,000. DecodePaths
// reads error responses, so a body of more than 8 MiB is an error.
func DecodePaths(body []byte, paths [][]string, depth int) (any, error) {
	if err := checkErrorSize(body); err != nil {
		return nil, err
	}
	doc, err := newDocument(body, paths, depth)
	if err != nil {
		return nil, err
	}
	return project(doc, doc.tree, newAllowance(0))
}

// project returns the body as rules see it: nested objects that have only the
// values at the paths of a tree, as far as the document has them. A list on a path is
// decoded completely, and so is the value at the end of a path. The result is nil
// if the root is not an object and the paths select nothing from it.
func project(doc *document, tree *pathTree, left *allowance) (any, error) {
	if !tree.adopt(doc.tree) {
		doc.locate(tree)
	}
	if !tree.tracked && len(tree.children) == 0 && doc.rootKind() != kindObject {
		return nil, nil
	}
	tree.span = doc.facts.root
	body, _, err := tree.project(doc.raw, left)
	return body, err
}

// adopt copies the spans of another tree. It reports whether that tree has all
// paths of this one.
func (t *pathTree) adopt(from *pathTree) bool {
	if from == nil || t.names != nil {
		return false
	}
	t.span = from.span
	for _, child := range t.children {
		if !child.adopt(from.child(child.key)) {
			return false
		}
	}
	return true
}

// project decodes the tracked values here and below. It reports false if there
// is nothing here.
func (t *pathTree) project(data []byte, left *allowance) (any, bool, error) {
	if !t.span.present() {
		return nil, false, nil
	}
	raw := t.span.of(data)
	kind := kindOf(raw)
	if t.tracked || kind == kindList {
		v, err := decode(raw, left)
		if err != nil {
			err = fmt.Errorf("%s: %w", rules.PathOf(t.path()...), err)
		}
		return v, true, err
	}
	if kind != kindObject {
		return nil, false, nil
	}
	object := map[string]any{} // most paths may be absent
	for _, child := range t.children {
		v, present, err := child.project(data, left)
		if err != nil {
			return nil, false, err
		}
		if present {
			object[child.key] = v
		}
	}
	return object, true, nil
}

// visit calls f with the tracked values below that are in objects, and their paths, in the
// order of the paths. A value that is tracked is not entered.
func (t *pathTree) visit(data []byte, left *allowance, f func(path []string, v any)) error {
	for _, child := range t.children {
		switch {
		case !child.span.present():
		case child.tracked:
			v, err := decode(child.span.of(data), left)
			if err != nil {
				return err
			}
			f(child.path(), v)
		case kindOf(child.span.of(data)) == kindObject:
			if err := child.visit(data, left, f); err != nil {
				return err
			}
		}
	}
	return nil
}
