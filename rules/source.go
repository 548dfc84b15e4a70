package rules

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Source is the text of a configuration, and where in it every value stands.
type Source struct {
	Name string // file name, for messages
	Text string

	values map[string]int // config path -> byte offset of the value
	keys   map[string]int // config path -> byte offset of the key
}

// NewSource returns a source without positions; a parser adds them by [Source.Mark].
func NewSource(name, text string) *Source {
	return &Source{Name: name, Text: text, values: map[string]int{}, keys: map[string]int{}}
}

// Mark records that the value of the config path begins at byte offset value,
// and its key at byte offset key (-1 for the root and the elements of a list).
func (s *Source) Mark(path string, value, key int) {
	s.values[path] = value
	if key >= 0 {
		s.keys[path] = key
	}
}

// Position is a place in a [Source]: line and column from 1, the column in
// characters. The zero Position is no place.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// Position turns a byte offset into line and column.
func (s *Source) Position(offset int) Position {
	offset = min(max(offset, 0), len(s.Text))
	before := s.Text[:offset]
	start := strings.LastIndexByte(before, '\n') + 1
	return Position{
		Line:   strings.Count(before, "\n") + 1,
		Column: utf8.RuneCountInString(before[start:]) + 1,
	}
}

// ValueAt is the byte offset of the value at a config path; of the nearest
// value around it where the path is absent; -1 when nothing is known.
func (s *Source) ValueAt(path string) int {
	if s == nil {
		return -1
	}
	for {
		if offset, ok := s.values[path]; ok {
			return offset
		}
		if path == "" {
			return -1
		}
		path = ParentPath(path)
	}
}

// KeyAt is the byte offset of the key at a config path, or of its value where
// it has no key.
func (s *Source) KeyAt(path string) int {
	if s != nil {
		if offset, ok := s.keys[path]; ok {
			return offset
		}
	}
	return s.ValueAt(path)
}

// ParentPath drops the last key or index of a config path.
func ParentPath(path string) string {
	return path[:max(strings.LastIndexAny(path, ".["), 0)]
}

// JoinPath adds a key to a config path.
func JoinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// IndexPath adds a list index to a config path.
func IndexPath(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// Place is file:line:column of the value at a config path, as far as it is known.
func (s *Source) Place(path string) string {
	offset := s.ValueAt(path)
	if offset < 0 {
		return ""
	}
	return place(s.Name, s.Position(offset))
}

// raw is the JSON text that begins at the value of a config path, if there is one.
func (s *Source) raw(path string) json.RawMessage {
	if s == nil {
		return nil
	}
	offset, ok := s.values[path]
	if !ok {
		return nil
	}
	var raw json.RawMessage
	if json.NewDecoder(strings.NewReader(s.Text[offset:])).Decode(&raw) != nil {
		return nil
	}
	return raw
}

// Line is the text of a line, numbered from 1.
func (s *Source) Line(n int) string {
	lines := strings.Split(s.Text, "\n")
	if n < 1 || n > len(lines) {
		return ""
	}
	return strings.TrimSuffix(lines[n-1], "\r")
}

// Snippet shows the line of a position with a caret under the column, cut to a
// window around it when the line is long.
func (s *Source) Snippet(p Position) string {
	line := []rune(strings.ReplaceAll(s.Line(p.Line), "\t", " "))
	if len(line) == 0 {
		return ""
	}
	const width = 100
	at := min(max(p.Column-1, 0), len(line))
	from := 0
	if at > width-20 {
		from = at - width/2
	}
	to := min(len(line), from+width)
	return " | " + string(line[from:to]) + "\n | " + strings.Repeat(" ", at-from) + "^"
}
