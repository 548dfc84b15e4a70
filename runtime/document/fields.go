package document

// The scan notes where the values are that rules read of every item, since it passes them
// anyway. Of a page in a file they are found when a rule reads them, see [Values].

// collects reports whether the scan notes the fields of the elements of a list: the items,
// unless a path of the body leads into one of them.
func (s *scanner) collects(marked bool, at *pathTree) bool {
	if !marked {
		return false
	}
	s.cells, s.incomplete = s.cells[:0], false // of a list before, which a duplicate key replaces
	return s.fields != nil && s.window == nil && (at == nil || len(at.children) == 0)
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
	switch c := byteAt(s.data, i); {
	case len(at.children) == 0:
		i = s.innerValue(i, depth)
	case c == '{' && depth < s.limit:
		i = s.inner(i, depth+1, at, first)
	default:
		s.incomplete = s.incomplete || c == '[' // the elements of the list are found later, if necessary
		i = s.innerValue(i, depth)
	}
	if at.column >= 0 && i >= 0 {
		s.cells[first+at.column] = span{start, i - s.shift}
	}
	return i
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
