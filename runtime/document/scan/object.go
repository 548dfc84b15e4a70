package scan

import (
	"math/bits"
)

// object reads an object. It is the innermost loop of a scan, since most objects are items or parts of
// items, so it keeps the frequent cases in its own code. It reads a member in two parts. For the text
// before the value, it expects the prefix that followed the last prefix in an earlier object; member reads
// any other text. For the value, a string or a number is read here, and field or value reads the rest.
//
// node is the node of the object in the tree of paths, or nil if no path leads here. The root object
// always has a node.
func (s *Scanner) object(i, depth int, node *Node) int {
	if depth > s.MaxDepth {
		return s.tooDeep(i)
	}
	data := s.input
	last := s.prefixes.start(depth)
	for first := true; ; first = false {
		next := last.next[0]
		if i >= 0 && i < len(data)-15 && next.begins((*[16]byte)(data[i:i+16])) {
			i += next.size
		} else {
			if !first && byteAt(data, i) == '}' {
				return i + 1
			}
			if i, next = s.member(i, depth, last, first, node); next == nil {
				return i
			}
			data = s.input
		}
		last = next
		if node != nil {
			if child := next.child(node); child != nil || depth == 1 { // the lists of the root object may be separated
				if child != nil && child.clear(s.currentRow) && s.Duplicate == nil {
					s.Duplicate = child
				}
				if i = s.field(s.gap(data, i), depth, child); i < 0 {
					return i
				}
				data = s.input
				continue
			}
		}
		if c := byteAt(data, i); c != '"' {
			if isDigit(c) {
				i = s.number(i)
			} else {
				i = s.value(i, depth)
			}
			if i < 0 {
				return i
			}
			data = s.input
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
		data = s.input
	}
}

// member reads the prefix that follows the prefix last, and returns it with the offset of the value. At
// the end of the object, next is nil, and the offset is the offset after the object. If the text is not
// valid, next is nil, and the offset is -1. node is as in [Scanner.object].
func (s *Scanner) member(i, depth int, last *prefix, first bool, node *Node) (end int, next *prefix) {
	if depth > 1 {
		if next = s.prefixes.follow(s.input, i, depth, last); next != nil {
			if next.blanks > 0 {
				s.squeeze(i, next)
			}
			return i + next.size, next
		}
	}
	key, closed := s.key(i, first)
	if key < 0 || closed {
		return key, nil
	}
	s.source.pin = key
	end = s.text(key)
	key, s.source.pin = s.source.pin, noPin
	if end < 0 {
		return end, nil
	}
	next = s.prefixes.unknown()
	if node != nil {
		next.parent, next.to = node, node.child(Unquote(s.input[key:end]))
	}
	if end = s.colon(end); end < 0 {
		return end, nil
	}
	return end, next
}

// key returns the offset of the next key of an object. If the object is closed, it returns the offset
// after the object.
func (s *Scanner) key(i int, first bool) (end int, closed bool) {
	if first {
		i++
	}
	i = s.gap(s.input, i)
	if byteAt(s.input, i) == '}' {
		return i + 1, true
	}
	if !first {
		if byteAt(s.input, i) != ',' {
			return s.unexpected(i, "after an object member"), false
		}
		i = s.gap(s.input, i+1)
	}
	if byteAt(s.input, i) != '"' {
		return s.unexpected(i, "where an object key should begin"), false
	}
	return i, false
}

// colon reads the colon after a key, and the whitespace around it.
func (s *Scanner) colon(i int) int {
	i = s.gap(s.input, i)
	if byteAt(s.input, i) != ':' {
		return s.unexpected(i, "after an object key")
	}
	return s.gap(s.input, i+1)
}
