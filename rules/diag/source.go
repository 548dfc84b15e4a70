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

	lines  []int // byte offsets at which lines begin
	marks  []characterMark
	values map[string]int // config path -> byte offset of the value
	keys   map[string]int // config path -> byte offset of the key

	masked func() (text string, secrets []string) // Text without its secrets, which are as long
}

// NewSource returns a source without offsets. Parsers add them with [Source.Mark].
func NewSource(name, text string) *Source {
	s := &Source{Name: name, Text: text, lines: []int{0}, values: map[string]int{}, keys: map[string]int{}}
	s.masked = sync.OnceValues(func() (string, []string) { return secret.Mask(text) })
	count := 0
	for i, c := range text {
		if i >= len(s.marks)*markDistance {
			s.marks = append(s.marks, characterMark{i, count})
		}
		count++
		if c == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// A characterMark says how many characters are before an offset. With a mark every
// [markDistance] bytes, a column in a line of a megabyte is found without reading the
// line.
type characterMark struct{ offset, count int }

const markDistance = 1024

// characters returns the number of characters before an offset.
func (s *Source) characters(offset int) int {
	at := min(offset/markDistance, len(s.marks)-1)
	if at > 0 && s.marks[at].offset > offset {
		at-- // the mark is at the end of the character that the offset is in
	}
	if at < 0 {
		return 0
	}
	return s.marks[at].count + utf8.RuneCountInString(s.Text[s.marks[at].offset:offset])
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
		path = Parent(path)
	}
}

// PathAt returns the config path of the innermost value that begins at a byte offset or
// before it. It is empty if there is none.
func (s *Source) PathAt(offset int) string {
	found, at := "", -1
	for path, begin := range s.values {
		if begin <= offset && (begin > at || begin == at && len(path) > len(found)) {
			found, at = path, begin
		}
	}
	return found
}

// Has reports whether there is a value at a config path.
func (s *Source) Has(path string) bool {
	if s == nil {
		return false
	}
	_, ok := s.values[path]
	return ok
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
	return Position{Line: line + 1, Column: s.characters(offset) - s.characters(s.lines[line]) + 1}
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
	line := s.line(p.Line)
	if line == "" {
		return ""
	}
	const width = 100
	at, from := max(p.Column-1, 0), 0
	if at > width-20 {
		from = at - width/2
	}
	shown := []rune(strings.ReplaceAll(characters(line, from, width), "\t", " "))
	return " | " + string(shown) + "\n | " + strings.Repeat(" ", min(at-from, len(shown))) + "^"
}

// characters returns up to n characters of a text, from one on.
func characters(text string, from, n int) string {
	start, count := len(text), 0
	for i := range text {
		switch count {
		case from:
			start = i
		case from + n:
			return text[start:i]
		}
		count++
	}
	return text[start:]
}
