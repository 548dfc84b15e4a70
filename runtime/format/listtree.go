package format

import "slices"

// A listTree has the XML elements that become lists.
type listTree struct {
	list  bool
	below map[string]*listTree
}

// anyElement in a path stands for every element of the list before it.
const anyElement = "*"

// newListTree returns the tree of paths. The last element of a path is a list, and so is
// one that anyElement follows.
func newListTree(paths [][]string) *listTree {
	root := &listTree{below: map[string]*listTree{}}
	for _, path := range paths {
		node := root
		for _, name := range path {
			if name == anyElement {
				node.list = true
				continue
			}
			if node.below[name] == nil {
				node.below[name] = &listTree{below: map[string]*listTree{}}
			}
			node = node.below[name]
		}
		node.list = true
	}
	return root
}

// at returns the tree below an element, or nil.
func (t *listTree) at(name string) *listTree {
	if t == nil {
		return nil
	}
	return t.below[name]
}

// isList reports whether an element becomes a list.
func (t *listTree) isList() bool { return t != nil && t.list }

// leads reports whether a list is below an element that is none itself.
func (t *listTree) leads() bool { return t != nil && !t.list && len(t.below) > 0 }

// absent returns the names of the lists right below an element that are not among its
// members, in order.
func (t *listTree) absent(members []*member) []string {
	if t == nil {
		return nil
	}
	var names []string
	for name, below := range t.below {
		if below.list && !slices.ContainsFunc(members, func(m *member) bool { return m.name == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
