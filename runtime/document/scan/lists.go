package scan

import "slices"

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
