package document

import "slices"

// A fieldTree holds the paths that rules read of every item, merged by their common
// prefixes, as columns of a table.
type fieldTree struct {
	key      string
	quoted   string // the key as it is usually spelled, with its quotes and the colon
	index    int    // the key as a list index; -1 if it is not an index
	column   int    // of the path that ends here; -1 if none does
	children []*fieldTree
}

// newFieldTree merges paths, and returns those that have a column, in order. A path that
// begins with another one has none: its values are in those of the other.
func newFieldTree(paths [][]string) (tree *fieldTree, columns [][]string) {
	tree = &fieldTree{index: -1, column: -1}
	for _, path := range paths {
		within := func(other []string) bool { return len(other) < len(path) && slices.Equal(other, path[:len(other)]) }
		same := func(other []string) bool { return slices.Equal(other, path) }
		if slices.ContainsFunc(paths, within) || slices.ContainsFunc(columns, same) {
			continue
		}
		tree.at(path).column = len(columns)
		columns = append(columns, path)
	}
	return tree, columns
}

// at returns the node of a path, which it makes if necessary.
func (t *fieldTree) at(path []string) *fieldTree {
	if len(path) == 0 {
		return t
	}
	key := path[0]
	child := t.named(key)
	if child == nil {
		child = &fieldTree{key: key, quoted: `"` + key + `":`, index: listIndex(key), column: -1}
		t.children = append(t.children, child)
	}
	return child.at(path[1:])
}

// member returns the child for the key whose text is data[i:end], with its quotes.
func (t *fieldTree) member(data []byte, i, end int) *fieldTree {
	for _, child := range t.children {
		if size := len(child.quoted); end-i+1 == size && string(data[i:i+size-1]) == child.quoted[:size-1] {
			return child
		}
	}
	if name := data[i+1 : end-1]; !slices.Contains(name, '\\') {
		return nil
	}
	return t.named(string(unquote(data[i:end])))
}

// named returns the child for a key.
func (t *fieldTree) named(key string) *fieldTree {
	for _, child := range t.children {
		if child.key == key {
			return child
		}
	}
	return nil
}

// element returns the child for an index of a list.
func (t *fieldTree) element(index int) *fieldTree {
	for _, child := range t.children {
		if child.index == index {
			return child
		}
	}
	return nil
}

// clear forgets the values of an item that were found here and below.
func (t *fieldTree) clear(cells []span) {
	if t.column >= 0 {
		cells[t.column] = span{}
	}
	for _, child := range t.children {
		child.clear(cells)
	}
}

// locate notes in cells where the values of the value at i are that have a column, and
// returns the offset after it. The data is valid JSON without insignificant whitespace.
func (t *fieldTree) locate(data []byte, i int, cells []span) int {
	start := i
	switch c := data[i]; {
	case len(t.children) == 0:
		i = itemValueEnd(data, i)
	case c == '{':
		i = t.object(data, i, cells)
	case c == '[':
		i = t.list(data, i, cells)
	default:
		i = itemValueEnd(data, i)
	}
	if t.column >= 0 {
		cells[t.column] = span{start, i}
	}
	return i
}

func (t *fieldTree) object(data []byte, i int, cells []span) int {
	for i++; data[i] != '}'; {
		key := i
		i = textEnd(data, i)
		child := t.member(data, key, i)
		i++ // the colon
		if child == nil {
			i = itemValueEnd(data, i)
		} else {
			child.clear(cells) // the last of duplicate keys counts
			i = child.locate(data, i, cells)
		}
		if data[i] == ',' {
			i++
		}
	}
	return i + 1
}

func (t *fieldTree) list(data []byte, i int, cells []span) int {
	i++
	for n := 0; data[i] != ']'; n++ {
		if child := t.element(n); child != nil {
			i = child.locate(data, i, cells)
		} else {
			i = itemValueEnd(data, i)
		}
		if data[i] == ',' {
			i++
		}
	}
	return i + 1
}

// itemValueEnd is valueEnd for the most frequent values first.
func itemValueEnd(data []byte, i int) int {
	switch c := data[i]; {
	case c == '"':
		return textEnd(data, i)
	case c != '{' && c != '[':
		for structure[data[i]] == 0 {
			i++
		}
		return i
	}
	return valueEnd(data, i)
}
