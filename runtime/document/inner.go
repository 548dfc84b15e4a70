package document

import "math/bits"

// inner reads an object in which no path of the body goes on. Most are items, or parts of
// one. Paths of items go on at a node of the tree of fields, or nowhere if it is nil; the
// cells of the item begin at cell.
func (s *scanner) inner(i, depth int, at *fieldTree, cell int) int {
	data := s.data
	last := s.prefixes.start(depth)
	for first := true; ; first = false {
		next := last.next[0]
		if i >= 0 && i < len(data)-15 && next.begins((*[16]byte)(data[i:i+16])) {
			i += next.size
		} else {
			if !first && byteAt(data, i) == '}' {
				return i + 1
			}
			if i, next = s.member(i, depth, last, first, at); next == nil {
				return i
			}
		}
		last = next
		if at != nil {
			if child := next.field(at); child != nil {
				child.clear(s.cells[cell : cell+s.width]) // the last of duplicate keys counts
				if i = s.field(s.gap(data, i), depth, child, cell); i < 0 {
					return i
				}
				continue
			}
		}
		if c := byteAt(data, i); c != '"' {
			if isDigit(c) {
				i = s.number(i)
			} else {
				i = s.innerValue(i, depth)
			}
			if i < 0 {
				return i
			}
			continue
		}
		i++
		if at := uint(i - s.block.start); at < blockBytes { // most strings end here, without a call
			if stops := s.block.after(at); stops != 0 {
				i += bits.TrailingZeros64(stops)
				if byteAt(data, i) == '"' {
					i++
					continue
				}
			}
		}
		if i = s.textRest(i); i < 0 {
			return i
		}
	}
}

// innerValue reads a value in which nothing is looked for.
func (s *scanner) innerValue(i, depth int) int {
	switch byteAt(s.data, i) {
	case '"':
		return s.textRest(i + 1)
	case '{':
		if depth++; depth > s.limit {
			return s.tooDeep(i)
		}
		return s.inner(i, depth, nil, 0)
	case '[':
		return s.innerList(i, depth+1)
	case 't':
		return s.word(i, "true")
	case 'f':
		return s.word(i, "false")
	case 'n':
		return s.word(i, "null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return s.number(i)
	case ' ', '\n', '\r', '\t': // after a prefix that was expected with less whitespace
		return s.innerValue(s.space(i), depth)
	}
	return s.unexpected(i, "where a value should begin")
}

// innerList reads a list in which nothing is looked for.
func (s *scanner) innerList(i, depth int) int {
	if depth > s.limit {
		return s.tooDeep(i)
	}
	data := s.data
	i = s.space(i + 1)
	if byteAt(data, i) == ']' {
		return i + 1
	}
	for {
		if i = s.innerValue(i, depth); i < 0 {
			return i
		}
		i = s.gap(data, i)
		s.window.Pass(i, s.writePos)
		switch byteAt(data, i) {
		case ',':
			i = s.gap(data, i+1)
		case ']':
			return i + 1
		default:
			return s.unexpected(i, "after a list element")
		}
	}
}

// member reads the prefix after another one, and returns the offset of the value. There is
// none, and next is nil, at the end of the object, and if it fails. Paths go on at a node of
// the tree of fields, or nowhere if it is nil.
func (s *scanner) member(i, depth int, last *prefix, first bool, at *fieldTree) (end int, next *prefix) {
	if next = s.prefixes.follow(s.data, i, depth, last); next != nil {
		if next.blanks > 0 {
			s.squeeze(i, next)
		}
		return i + next.size, next
	}
	key, closed := s.key(i, first)
	if key < 0 || closed {
		return key, nil
	}
	if end = s.text(key); end < 0 {
		return end, nil
	}
	next = s.prefixes.unknown()
	if at != nil {
		next.parent, next.child = at, at.member(s.data, key, end)
	}
	if end = s.colon(end); end < 0 {
		return end, nil
	}
	return end, next
}

// key returns the offset of the next key of an object, or, if there is none, the offset
// after the object.
func (s *scanner) key(i int, first bool) (end int, closed bool) {
	data := s.data
	if first {
		i++
	}
	i = s.gap(data, i)
	if byteAt(data, i) == '}' {
		return i + 1, true
	}
	if !first {
		if byteAt(data, i) != ',' {
			return s.unexpected(i, "after an object member"), false
		}
		i = s.gap(data, i+1)
	}
	if byteAt(data, i) != '"' {
		return s.unexpected(i, "where an object key should begin"), false
	}
	return i, false
}

// colon reads the colon after a key, and the whitespace around it.
func (s *scanner) colon(i int) int {
	i = s.gap(s.data, i)
	if byteAt(s.data, i) != ':' {
		return s.unexpected(i, "after an object key")
	}
	return s.gap(s.data, i+1)
}
