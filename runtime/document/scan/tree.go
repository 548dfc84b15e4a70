package scan

import (
	"slices"
	"strconv"
)

// A Tree holds paths into JSON values (see keypath.Split), merged by their common prefixes. The
// locations of the values in a document or an item are noted in a row: one span for each node of
// the tree that has a cell. A tree is immutable, and safe for use by several goroutines.
type Tree struct {
	Root  *Node
	Width int // number of cells in a row
}

// A Node is a key on the paths of a tree.
type Node struct {
	Key      string
	Path     []string // path from the root of the tree
	Selected bool     // whether a path that selects its value ends here
	Leads    bool     // whether Selected is set here or below
	Children []*Node

	byKey     map[string]*Node // the children, if there are many
	index     int              // the key as a list index; -1 if it is not an index
	cell, end int              // row[cell:end] belongs to the node and its descendants
	noted     bool             // whether row[cell] holds the location of the value
}

// NewTree merges two kinds of paths: selected ones, whose values are read, and noted ones, whose
// values are only located. Every node has a cell. A path without keys is the root.
func NewTree(selected, noted [][]string) *Tree {
	t := &Tree{Root: &Node{index: -1}}
	for _, path := range selected {
		t.add(path).Selected = true
	}
	for _, path := range noted {
		t.add(path)
	}
	t.Root.assignCells(&t.Width, func(*Node) bool { return true })
	return t
}

// NewColumns merges paths of items. Only the ends of paths have cells.
func NewColumns(paths [][]string) *Tree {
	t := &Tree{Root: &Node{index: -1}}
	for _, path := range paths {
		t.add(path).Selected = true
	}
	t.Root.assignCells(&t.Width, func(n *Node) bool { return n.Selected })
	return t
}

// add returns the node of a path, and creates it if necessary.
func (t *Tree) add(path []string) *Node {
	node := t.Root
	for i, key := range path {
		child := node.child([]byte(key))
		if child == nil {
			child = &Node{Key: key, Path: path[: i+1 : i+1], index: Index(key)}
			node.addChild(child)
		}
		node = child
	}
	return node
}

// assignCells assigns cells, from *next on, to the node and its descendants for which hasCell is true. It
// also sets Leads.
func (n *Node) assignCells(next *int, hasCell func(*Node) bool) {
	n.cell, n.noted, n.Leads = *next, hasCell(n), n.Selected
	if n.noted {
		*next++
	}
	for _, child := range n.Children {
		child.assignCells(next, hasCell)
		n.Leads = n.Leads || child.Leads
	}
	n.end = *next
}

// At returns the node at a path below the node, or nil.
func (n *Node) At(path ...string) *Node {
	for _, key := range path {
		if n == nil {
			return nil
		}
		n = n.child([]byte(key))
	}
	return n
}

// Cell returns the index of the node in a row.
func (n *Node) Cell() int { return n.cell }

// In returns the location of the value of the node, which must have a cell.
func (n *Node) In(row []Span) Span { return row[n.cell] }

// note notes where the value of the node is.
func (n *Node) note(row []Span, at Span) {
	if n != nil && n.noted {
		row[n.cell] = at
	}
}

// clear forgets the values that were found here and below, and reports whether there were any. If
// a key occurs twice, the last value counts, so nothing of an earlier value may remain.
func (n *Node) clear(row []Span) (found bool) {
	for i := n.cell; i < n.end; i++ {
		found = found || row[i].End > 0
		row[i] = Span{}
	}
	return found
}

// branches reports whether paths go on below the node.
func (n *Node) branches() bool { return n != nil && len(n.Children) > 0 }

// manyChildren is the number of children up to which the one for a key is searched for without a map.
const manyChildren = 16

// addChild adds a child, whose key no other child has.
func (n *Node) addChild(child *Node) {
	if n.Children = append(n.Children, child); n.byKey != nil {
		n.byKey[child.Key] = child
	} else if len(n.Children) > manyChildren {
		n.byKey = make(map[string]*Node, 2*len(n.Children))
		for _, c := range n.Children {
			n.byKey[c.Key] = c
		}
	}
}

// child returns the child for a key, or nil.
func (n *Node) child(key []byte) *Node {
	if n.byKey != nil {
		return n.byKey[string(key)]
	}
	for _, child := range n.Children {
		if child.Key == string(key) {
			return child
		}
	}
	return nil
}

// element returns the child for an index of a list, or nil.
func (n *Node) element(index int) *Node {
	if n == nil {
		return nil
	}
	for _, child := range n.Children {
		if child.index == index {
			return child
		}
	}
	return nil
}

// EntersLists reports whether a path goes on with an index.
func (n *Node) EntersLists() bool {
	return slices.ContainsFunc(n.Children, func(child *Node) bool { return child.index >= 0 })
}

// Index returns a key as a list index: digits without a leading zero. It
// returns -1 for any other key.
func Index(key string) int {
	if key == "" || !isDigit(key[0]) || len(key) > 1 && key[0] == '0' {
		return -1
	}
	index, err := strconv.ParseUint(key, 10, 31)
	if err != nil {
		return -1
	}
	return int(index)
}

// Locate notes the locations of the values of the tree below the value at i in a row, which must be
// zero, and returns the offset after the value.
func (w Walk) Locate(i int, t *Tree, row []Span) int { return w.value(i, t.Root, row) }

func (w Walk) value(i int, node *Node, row []Span) int {
	start := i
	switch c := w.Data[i]; {
	case c == '{' && node.branches():
		i = w.object(i, node, row)
	case c == '[' && node.branches() && node.EntersLists() && !w.knows(i):
		i = w.list(i, node, row)
	default:
		i = w.End(i)
	}
	node.note(row, Span{start, i})
	return i
}

func (w Walk) object(i int, node *Node, row []Span) int {
	for i = Next(w.Data, i+1); w.Data[i] != '}'; i = Next(w.Data, i) {
		key, value := Key(w.Data, i)
		child := node.child(Unquote(key.Of(w.Data)))
		if child != nil {
			child.clear(row)
		}
		i = w.value(value, child, row)
	}
	return i + 1
}

func (w Walk) list(i int, node *Node, row []Span) int {
	i = Next(w.Data, i+1)
	for n := 0; w.Data[i] != ']'; n++ {
		i = Next(w.Data, w.value(i, node.element(n), row))
	}
	return i + 1
}
