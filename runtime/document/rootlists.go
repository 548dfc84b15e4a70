package document

import "slices"

// rootLists are the members of the root object that are lists, in order. Of
// duplicate names the last value counts.
type rootLists struct {
	found []rootList
	index map[string]int // from name to index of found; nil while a linear search is fast
}

// maxRootLists bounds the lists that are remembered. Two are already an error.
const maxRootLists = 1000

// A rootList is a member of the root object that is a list, or was one before a
// duplicate with another value.
type rootList struct {
	name string
	span span // absent if the last value is not a list
}

// present returns those that are lists.
func (l *rootLists) present() []rootList {
	return slices.DeleteFunc(slices.Clone(l.found), func(list rootList) bool { return !list.span.present() })
}

// member adds a member of the root object, if it is a list or replaces one.
func (l *rootLists) member(quoted []byte, isList bool, value span) {
	name := unquote(quoted)
	at := l.search(name)
	switch {
	case at >= 0 && isList:
		l.found[at].span = value
	case at >= 0:
		l.found[at].span = span{}
	case isList && len(l.found) < maxRootLists:
		if l.index != nil {
			l.index[string(name)] = len(l.found)
		}
		l.found = append(l.found, rootList{string(name), value})
	}
}

// search returns the index of a name in found, or -1.
func (l *rootLists) search(name []byte) int {
	const few = 16
	if l.index == nil && len(l.found) > few {
		l.index = make(map[string]int, 2*few)
		for at, list := range l.found {
			l.index[list.name] = at
		}
	}
	if l.index != nil {
		if at, ok := l.index[string(name)]; ok {
			return at
		}
		return -1
	}
	for at, list := range l.found {
		if list.name == string(name) {
			return at
		}
	}
	return -1
}
