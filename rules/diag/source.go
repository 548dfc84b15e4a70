package diag

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/secret"
)

// Source is the text of a configuration and the offset of every value in it.
type Source struct {
	Name string // file name, for messages
	Text string

	lines  []int          // byte offsets at which lines begin
	values map[string]int // config path -> byte offset of the value
	keys   map[string]int // config path -> byte offset of the key

	masked func() (text string, secrets []string) // Text without its secrets, which are as long
}

// NewSource returns a source without offsets. Parsers add them with [Source.Mark].
func NewSource(name, text string) *Source {
	s := &Source{Name: name, Text: text, lines: []int{0}, values: map[string]int{}, keys: map[string]int{}}
	s.masked = sync.OnceValues(func() (string, []string) { return secret.Mask(text) })
	for i := range len(text) {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// Mark records that the value at a config path begins at byte offset value and
// its key at byte offset key. The root and list elements have no key; their
// key is -1.
func (s *Source) Mark(path string, value, key int) {
	s.values[path] = value
	if key >= 0 {
		s.keys[path] = key
	}
}

// ValueAt returns the byte offset of the value at a config path. If the path is
// missing it returns the offset of the nearest value around it, and -1 if there
// is none. A nil source has no offsets.
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
		path = parent(path)
	}
}

// KeyAt returns the byte offset of the key at a config path, or that of the
// value if it has no key.
func (s *Source) KeyAt(path string) int {
	if s != nil {
		if offset, ok := s.keys[path]; ok {
			return offset
		}
	}
	return s.ValueAt(path)
}

// Raw returns the JSON text of the value at a config path, or nil if the path
// is missing or its text is not JSON.
func (s *Source) Raw(path string) json.RawMessage {
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

// Position converts a byte offset to line and column.
func (s *Source) Position(offset int) Position {
	offset = min(max(offset, 0), len(s.Text))
	line, found := slices.BinarySearch(s.lines, offset)
	if !found {
		line-- // the offset is within the line before
	}
	return Position{Line: line + 1, Column: utf8.RuneCountInString(s.Text[s.lines[line]:offset]) + 1}
}

// Location returns file:line:column of the value at a config path, or "" if its
// position is unknown.
func (s *Source) Location(path string) string {
	offset := s.ValueAt(path)
	if offset < 0 {
		return ""
	}
	return s.Position(offset).In(s.Name)
}

// Secrets returns the texts that look like secrets: see [secret.Mask].
func (s *Source) Secrets() []string {
	if s == nil {
		return nil
	}
	_, secrets := s.masked()
	return secrets
}

// line returns the text of a line, numbered from 1, with its secrets masked.
func (s *Source) line(n int) string {
	if n < 1 || n > len(s.lines) {
		return ""
	}
	text, _ := s.masked()
	for range n - 1 {
		_, text, _ = strings.Cut(text, "\n")
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSuffix(line, "\r")
}

// Snippet returns the line of a position, with its secrets masked, and a caret below
// the column. It shows only a part of a long line.
func (s *Source) Snippet(p Position) string {
	line := []rune(strings.ReplaceAll(s.line(p.Line), "\t", " "))
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
