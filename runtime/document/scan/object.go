package scan

import (
	"math/bits"
	"slices"
)

// object reads an object, which most often is an item or a part of one. Paths go on at a
// node, or nowhere if it is nil; at the root object there is always one.
func (s *Scanner) object(i, depth int, at *Node) int {
	if depth > s.MaxDepth {
		return s.tooDeep(i)
	}
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
			if child := next.child(at); child != nil || depth == 1 {
				if i = s.memberField(s.gap(data, i), depth, child); i < 0 {
					return i
				}
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

// memberField reads the value of a member to which a path leads, or of any member of the
// root object, whose lists are noted.
func (s *Scanner) memberField(i, depth int, at *Node) int {
	if at != nil {
		at.clear(s.row)
	}
	if depth > 1 || !s.Detect {
		return s.field(i, depth, at)
	}
	start, isList := i-s.shift, byteAt(s.data, i) == '['
	place := s.Lists.place(s.rootKey, isList)
	i = s.field(i, depth, at)
	if place >= 0 {
		s.Lists.found[place].Span = Span{}
		if isList {
			s.Lists.found[place].Span = Span{start, i - s.shift}
		}
	}
	return i
}

// member reads the prefix after another one, and returns the offset of the value. There is
// none, and next is nil, at the end of the object, and if it fails. Paths go
// on at a node, or nowhere if it is nil.
func (s *Scanner) member(i, depth int, last *prefix, first bool, at *Node) (end int, next *prefix) {
	if depth > 1 {
		if next = s.prefixes.follow(s.data, i, depth, last); next != nil {
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
	if end = s.text(key); end < 0 {
		return end, nil
	}
	next = s.prefixes.unknown()
	if at != nil {
		name := Unquote(s.data[key:end])
		next.parent, next.to = at, at.child(name)
		if depth == 1 && s.Detect {
			s.rootKey = append(s.rootKey[:0], name...)
		}
	}
	if end = s.colon(end); end < 0 {
		return end, nil
	}
	return end, next
}

// key returns the offset of the next key of an object, or, if there is none, the offset
// after the object.
func (s *Scanner) key(i int, first bool) (end int, closed bool) {
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
func (s *Scanner) colon(i int) int {
	i = s.gap(s.data, i)
	if byteAt(s.data, i) != ':' {
		return s.unexpected(i, "after an object key")
	}
	return s.gap(s.data, i+1)
}

// Lists are the members of the root object that are lists, in order. Of duplicate names
// the last value counts.
type Lists struct {
	found []ListMember
	index map[string]int // from name to index of found
}

// maxLists bounds the lists that are remembered. Two are already an error.
const maxLists = 1000

// A ListMember is a member of the root object that is a list, or was one before a
// duplicate with another value.
type ListMember struct {
	Name string
	Span Span // absent if the last value is not a list
}

// Present returns those that are lists.
func (l *Lists) Present() []ListMember {
	return slices.DeleteFunc(slices.Clone(l.found), func(list ListMember) bool { return !list.Span.Present() })
}

// reset forgets all lists.
func (l *Lists) reset() {
	l.found = nil
	clear(l.index)
}

// place returns the index of a member of the root object, or -1 if it neither is a list nor
// replaces one.
func (l *Lists) place(name []byte, isList bool) int {
	if at, known := l.index[string(name)]; known {
		return at
	}
	if !isList || len(l.found) >= maxLists {
		return -1
	}
	if l.index == nil {
		l.index = map[string]int{}
	}
	l.found = append(l.found, ListMember{Name: string(name)})
	l.index[l.found[len(l.found)-1].Name] = len(l.found) - 1
	return len(l.found) - 1
}
