package document

import "sync"

// Paths are paths into JSON values (see rules.SplitPath), compiled once to decode what
// they select of many values, such as the items of a list. A path without keys selects
// the whole value. Paths are safe for concurrent use.
type Paths struct {
	empty bool
	trees sync.Pool // of *projector
}

// NewPaths compiles paths.
func NewPaths(paths [][]string) *Paths {
	p := &Paths{empty: len(paths) == 0}
	p.trees.New = func() any { return &projector{tree: newPathTree(paths)} }
	return p
}

// NewNestedPaths compiles the paths of names in the root and in each of some objects there,
// the containers. Unlike with [NewPaths], a container that no value has costs nothing.
func NewNestedPaths(containers, names []string) *Paths {
	p := &Paths{}
	p.trees.New = func() any {
		var paths [][]string
		for _, name := range names {
			paths = append(paths, []string{name})
		}
		tree := newPathTree(paths)
		for _, container := range containers {
			tree.add(container).names = names
		}
		return &projector{tree: tree}
	}
	return p
}

// Decode decodes what the paths select of a value, in the shape of [Reading.Body] and
// by the rules of [Decode]. It is nil if there are no paths, or if the value is not an
// object and no path selects all of it. raw is valid JSON without whitespace around it,
// such as an item; it is not validated again.
func (p *Paths) Decode(raw []byte) (v any, err error) {
	if p.empty {
		return nil, nil
	}
	p.use(0, func(tree *pathTree, left *allowance) {
		tree.forget()
		if !tree.tracked {
			tree.locate(raw, 0, span{})
		}
		tree.span = span{0, len(raw)}
		v, _, err = tree.project(raw, left)
	})
	return v, err
}

// A projector is a tree and an allowance that one goroutine uses at a time.
type projector struct {
	tree *pathTree
	left allowance
}

// use calls f with a tree of the paths, which has the spans of an earlier use, and with an
// allowance.
func (p *Paths) use(limit int, f func(tree *pathTree, left *allowance)) {
	t := p.trees.Get().(*projector)
	t.left = *newAllowance(limit)
	f(t.tree, &t.left)
	p.trees.Put(t)
}

// locate sets the spans below the tree for the value that begins at i, and returns the
// offset after it. Unlike a scan, it does not validate, and does not read a value whose span
// is known.
func (t *pathTree) locate(raw []byte, i int, known span) int {
	if raw[i] == '{' {
		t.grow()
	}
	if len(t.children) == 0 || raw[i] != '{' {
		return known.endOf(raw, i) // a list on a path is decoded completely
	}
	for i = skipSpace(raw, i+1); raw[i] != '}'; {
		key := i
		i = textEnd(raw, i)
		child := t.member(raw[key:i])
		i = skipSpace(raw, skipSpace(raw, i)+1) // the colon
		if child == nil {
			i = known.endOf(raw, i)
		} else {
			child.reset()
			start := i
			i = child.locate(raw, i, known)
			child.span = span{start, i}
		}
		if i = skipSpace(raw, i); raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return i + 1
}

// endOf returns the offset after the value at i, which may be that of the span.
func (s span) endOf(raw []byte, i int) int {
	if s.present() && i == s.start {
		return s.end
	}
	return valueEnd(raw, i)
}
