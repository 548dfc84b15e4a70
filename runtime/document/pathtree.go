package document

import "strconv"

// pathTree holds tracked paths, merged by their common beginnings, and where
// the last scan found each of them.
type pathTree struct {
	key      string
	index    int  // the key as a list index, -1 if it is none
	tracked  bool // a path ends here
	items    bool // the list here is that of the items
	span     span
	children []*pathTree
}

func newPathTree(paths [][]string) *pathTree {
	root := &pathTree{index: -1}
	for _, path := range paths {
		node := root
		for _, key := range path {
			child := node.child(key)
			if child == nil {
				child = &pathTree{key: key, index: listIndex(key)}
				node.children = append(node.children, child)
			}
			node = child
		}
		node.tracked = true
	}
	return root
}

// listIndex reads a key as a list index: digits without a leading zero.
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

// The methods below accept a nil tree: nothing is tracked there.

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

// member is the child for an object key as it stands in the document, quotes
// and escapes included.
func (t *pathTree) member(quoted []byte) *pathTree {
	if t == nil || len(t.children) == 0 {
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

func (t *pathTree) at(path []string) *pathTree {
	for _, key := range path {
		t = t.child(key)
	}
	return t
}

// forget drops what was found here and below: of a duplicate key the last
// value wins whole, so nothing of an earlier one may shine through.
func (t *pathTree) forget() {
	t.span = span{}
	for _, child := range t.children {
		child.forget()
	}
}
