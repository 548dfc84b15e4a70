package document

import (
	"slices"
	"strconv"
)

// A pathTree holds paths, merged by their common prefixes, and where the last
// scan found their values. Most methods accept a nil tree, which holds none.
type pathTree struct {
	key      string
	index    int  // the key as a list index; -1 if it is not an index
	tracked  bool // a path ends here
	items    bool // the list here is that of the items
	span     span // where the value is; absent if there is none
	parent   *pathTree
	children []*pathTree
	names    []string // of children that are made when the tree meets an object
}

func newPathTree(paths [][]string) *pathTree {
	root := &pathTree{index: -1}
	for _, path := range paths {
		node := root
		for _, key := range path {
			node = node.add(key)
		}
		node.tracked = true
	}
	return root
}

// path returns the path of the tree from its root.
func (t *pathTree) path() []string {
	if t.parent == nil {
		return nil
	}
	return append(t.parent.path(), t.key)
}

// listIndex returns a key as a list index: digits without a leading zero. It
// returns -1 for any other key.
func listIndex(key string) int {
	if key == "" || !isDigit(key[0]) || len(key) > 1 && key[0] == '0' {
		return -1
	}
	index, err := strconv.ParseUint(key, 10, 31)
	if err != nil {
		return -1
	}
	return int(index)
}

// at returns the tree at a path; nil if the path is not in the tree.
func (t *pathTree) at(path []string) *pathTree {
	for _, key := range path {
		t = t.child(key)
	}
	return t
}

func (t *pathTree) child(key string) *pathTree {
	if t == nil {
		return nil
	}
	for _, child := range t.children {
		if child.key == key {
			return child
		}
	}
	return nil
}

// add returns the child for a key, which it makes if there is none.
func (t *pathTree) add(key string) *pathTree {
	child := t.child(key)
	if child == nil {
		child = &pathTree{key: key, index: listIndex(key), parent: t}
		t.children = append(t.children, child)
	}
	return child
}

// member returns the child for an object key as the document has it, with quotes
// and escapes.
func (t *pathTree) member(quoted []byte) *pathTree {
	if t == nil {
		return nil
	}
	if t.grow(); len(t.children) == 0 {
		return nil
	}
	name := unquote(quoted)
	for _, child := range t.children {
		if child.key == string(name) {
			return child
		}
	}
	return nil
}

// grow makes the children that wait for an object.
func (t *pathTree) grow() {
	for _, name := range t.names {
		t.add(name).tracked = true
	}
	t.names = nil
}

// element returns the child for an index of a list.
func (t *pathTree) element(index int) *pathTree {
	if t == nil {
		return nil
	}
	for _, child := range t.children {
		if child.index == index {
			return child
		}
	}
	return nil
}

// entersList reports whether a list here has a value at one of the paths: it is one itself,
// or a path goes on with an index.
func (t *pathTree) entersList() bool {
	return t.tracked || slices.ContainsFunc(t.children, func(child *pathTree) bool { return child.index >= 0 })
}

// reset forgets the values found here and below. The last of duplicate keys
// counts, so nothing of an earlier value may remain.
func (t *pathTree) reset() {
	t.span = span{}
	for _, child := range t.children {
		child.reset()
	}
}

// forget is reset for a tree that was last used on a valid document: below a value that it
// does not have, nothing was found.
func (t *pathTree) forget() {
	for _, child := range t.children {
		if child.span.present() {
			child.forget()
		}
	}
	t.span = span{}
}
