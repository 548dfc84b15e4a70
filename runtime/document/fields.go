package document

// The scan notes where the values are that rules read of every item, since it passes them
// anyway. Of a page in a file they are found when a rule reads them, see [Values].

// collects reports whether the scan notes the fields of the elements of a list: the items,
// unless a path of the body leads into one of them.
func (s *scanner) collects(marked bool, at *pathTree) bool {
	if !marked || s.fields == nil || s.window != nil || at != nil && len(at.children) > 0 {
		return false
	}
	s.cells, s.incomplete = s.cells[:0], false
	return true
}

// item reads an item, and notes the values of its fields.
func (s *scanner) item(i, depth int) int {
	first := len(s.cells)
	for range s.width {
		s.cells = append(s.cells, span{})
	}
	return s.field(i, depth, s.fields, first)
}

// field reads a value of an item, in which paths go on or end. The cells of the item begin
// at first.
func (s *scanner) field(i, depth int, at *fieldTree, first int) int {
	start := i - s.shift
	switch {
	case len(at.children) == 0 || i >= len(s.data):
		i = s.value(i, depth, nil)
	case s.data[i] == '{':
		i = s.fieldObject(i, depth+1, at, first)
	case s.data[i] == '[':
		s.incomplete = true // its elements are found later, if necessary
		i = s.value(i, depth, nil)
	default:
		i = s.value(i, depth, nil)
	}
	if at.column >= 0 && i >= 0 {
		s.cells[first+at.column] = span{start, i - s.shift}
	}
	return i
}

// fieldObject is inner for an object in which paths go on.
func (s *scanner) fieldObject(i, depth int, at *fieldTree, first int) int {
	if depth > s.limit {
		return s.tooDeep(i)
	}
	data := s.data
	i = s.gap(data, i+1)
	if i < len(data) && data[i] == '}' {
		return i + 1
	}
	for {
		var child *fieldTree
		if child, i = s.fieldName(i, at); i < 0 {
			return i
		}
		i = s.gap(data, i)
		switch {
		case child != nil:
			child.clear(s.cells[first : first+s.width]) // the last of duplicate keys counts
			i = s.field(i, depth, child, first)
		case i < len(data) && data[i] == '"':
			i = s.text(i)
		default:
			i = s.value(i, depth, nil)
		}
		if i < 0 {
			return i
		}
		i = s.gap(data, i)
		if i < len(data) && data[i] == ',' {
			i = s.gap(data, i+1)
			continue
		}
		if i < len(data) && data[i] == '}' {
			return i + 1
		}
		return s.unexpected(i, "after an object member")
	}
}

// fieldName reads a key and its colon, and returns the node of the tree for it.
func (s *scanner) fieldName(i int, at *fieldTree) (child *fieldTree, end int) {
	data := s.data
	var key *expectedKey
	if s.key < len(s.keys) {
		key = &s.keys[s.key]
		s.key++
	}
	if key != nil && i+16 <= len(data) && key.matches(data[i:]) {
		if key.parent != at {
			key.parent, key.child = at, at.member(data, i, i+key.size-1)
		}
		return key.child, i + key.size
	}
	if end = s.name(i, key); end < 0 {
		return nil, end
	}
	return at.member(data, i, textEnd(data, i)), end
}

// takeValues returns the items of the response for rules.
func (r *Reader) takeValues(items Items, left *allowance) *Values {
	v, s := r.values, r.doc.facts
	v.reset(items, left, nil)
	if s.fields != nil && !s.incomplete && items.at == s.begins+1 && len(s.cells) == items.Len()*s.width {
		v.located, v.cells, v.base = true, s.cells, items.at
	}
	return v
}
