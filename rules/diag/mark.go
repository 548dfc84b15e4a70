package diag

import (
	"strconv"
	"strings"
)

// A Mark says where a value is in a text, and where the values in it are.
type Mark struct {
	Name  string // its key; empty for the root and in a list
	Value int    // byte offset of the value
	Key   int    // byte offset of the key; -1 for the root and in a list

	inner *marks // nil if it is neither a list nor an object, or empty
}

// marks are the marks of the values in a list or an object.
type marks struct {
	list  []Mark
	index map[string]int // the positions in list, by name; nil for a list or a small object
}

// Inner returns the marks of the values in a list or an object, in their order.
func (m *Mark) Inner() []Mark {
	if m.inner == nil {
		return nil
	}
	return m.inner.list
}

// largeObject is the number of members from which on an index finds them faster.
const largeObject = 32

// Contain sets the marks of the values in a list or an object, in their order.
func (m *Mark) Contain(inner []Mark) {
	if len(inner) == 0 {
		return
	}
	m.inner = &marks{list: inner}
	if len(inner) < largeObject || m.inner.isList() {
		return
	}
	m.inner.index = make(map[string]int, len(inner))
	for i := range inner {
		m.inner.index[inner[i].Name] = i
	}
}

func (m *marks) isList() bool { return m.list[0].Key < 0 }

// find returns the mark at a path in the value: ".limit", "[0].name". Paths of members of
// the root begin with the name. Names may contain dots and brackets, so several values may have the
// same path: find returns the last mark for which wanted reports true, or nil.
func (m *Mark) find(path string, isRoot bool, wanted func(*Mark) bool) *Mark {
	found, last := (*Mark)(nil), -1
	for end := 0; end <= len(path) && m.inner != nil; end++ {
		if end > 0 && end < len(path) && path[end] != '.' && path[end] != '[' {
			continue
		}
		i := m.inner.position(path[:end], isRoot)
		if i <= last {
			continue
		}
		if inner := m.inner.list[i].find(path[end:], end == 0, wanted); inner != nil {
			found, last = inner, i
		}
	}
	if found == nil && path == "" && wanted(m) {
		return m
	}
	return found
}

// position returns the position of the value that the first step of a path leads to: ".name"
// or "[0]". It is -1 if there is none.
func (m *marks) position(step string, isRoot bool) int {
	if m.isList() {
		return m.element(step)
	}
	name, isMember := strings.CutPrefix(step, ".")
	if isRoot {
		name, isMember = step, true
	}
	if !isMember {
		return -1
	}
	if m.index != nil {
		if i, ok := m.index[name]; ok {
			return i
		}
		return -1
	}
	for i := range m.list {
		if m.list[i].Name == name {
			return i
		}
	}
	return -1
}

// element returns the position of a list's element. It is -1 if there is none.
func (m *marks) element(step string) int {
	if len(step) < len("[0]") || step[len(step)-1] != ']' {
		return -1
	}
	i, err := strconv.Atoi(step[1 : len(step)-1])
	if err != nil || i >= len(m.list) || step != Index("", i) {
		return -1
	}
	return i
}

// each calls f with every mark in the value and the path of each.
func (m *Mark) each(path string, f func(path string, m *Mark)) {
	f(path, m)
	if m.inner == nil {
		return
	}
	for i := range m.inner.list {
		inner := &m.inner.list[i]
		if inner.Key < 0 {
			inner.each(Index(path, i), f)
		} else {
			inner.each(Join(path, inner.Name), f)
		}
	}
}

// A config path names a value in a configuration: api.pagination.stopRules[0].

// Join adds a key to a config path.
func Join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// Index adds a list index to a config path.
func Index(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// Parent drops the last key or index of a config path.
func Parent(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}
