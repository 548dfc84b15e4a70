package diag

import (
	"encoding/json"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/secret"
)

// Source is the text of a configuration and the offset of every value in it.
type Source struct {
	Name string // file name, for messages
	Text string

	waypoints []waypoint
	root      *Mark // nil until the text is read

	masked func() (text string, secrets []string) // Text without its secrets, which are as long
}

// A waypoint is the position of an offset. With one every [waypointDistance] bytes, a position in a
// text of a megabyte is found without reading the text, even if that is one line.
type waypoint struct {
	offset int
	at     Position
}

const waypointDistance = 128

// NewSource returns a source without offsets. Parsers add them with [Source.SetMarks].
func NewSource(name, text string) *Source {
	position := Position{Line: 1, Column: 1}
	s := &Source{Name: name, Text: text, waypoints: []waypoint{{0, position}}}
	s.masked = sync.OnceValues(func() (string, []string) { return secret.Mask(text) })
	for i, c := range text {
		if i >= len(s.waypoints)*waypointDistance {
			s.waypoints = append(s.waypoints, waypoint{i, position})
		}
		position = position.after(c)
	}
	return s
}

// after returns the position after a character.
func (p Position) after(c rune) Position {
	if c == '\n' {
		return Position{Line: p.Line + 1, Column: 1}
	}
	return Position{Line: p.Line, Column: p.Column + 1}
}

// SetMarks records where the values of the text are.
func (s *Source) SetMarks(root Mark) { s.root = &root }

// find returns the mark of the value at a config path, or nil. A nil source has none.
func (s *Source) find(path string) *Mark {
	return s.findOf(path, func(*Mark) bool { return true })
}

// findOf is find among the marks that are wanted.
func (s *Source) findOf(path string, wanted func(*Mark) bool) *Mark {
	if s == nil || s.root == nil {
		return nil
	}
	return s.root.find(path, true, wanted)
}

// ValueAt returns the byte offset of the value at a config path. If the path is missing it returns the offset
// of the nearest enclosing value, and -1 if there is none. A nil source has no offsets.
func (s *Source) ValueAt(path string) int {
	for {
		if m := s.find(path); m != nil {
			return m.Value
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
	found, best := "", -1
	if s.root == nil {
		return found
	}
	s.root.each("", func(path string, m *Mark) {
		if m.Value <= offset && (m.Value > best || m.Value == best && len(path) > len(found)) {
			found, best = path, m.Value
		}
	})
	return found
}

// Has reports whether there is a value at a config path.
func (s *Source) Has(path string) bool { return s.find(path) != nil }

// KeyAt returns the byte offset of the key at a config path, or that of the
// value if it has no key.
func (s *Source) KeyAt(path string) int {
	if m := s.findOf(path, func(m *Mark) bool { return m.Key >= 0 }); m != nil {
		return m.Key
	}
	return s.ValueAt(path)
}

// Raw returns the JSON text of the value at a config path, or nil if the path
// is missing or its text is not JSON.
func (s *Source) Raw(path string) json.RawMessage {
	m := s.find(path)
	if m == nil {
		return nil
	}
	var raw json.RawMessage
	if json.NewDecoder(strings.NewReader(s.Text[m.Value:])).Decode(&raw) != nil {
		return nil
	}
	return raw
}

// Position converts a byte offset to line and column.
func (s *Source) Position(offset int) Position {
	offset = min(max(offset, 0), len(s.Text))
	i := min(offset/waypointDistance, len(s.waypoints)-1)
	if s.waypoints[i].offset > offset {
		i-- // the waypoint is at the end of the character that the offset is in
	}
	position := s.waypoints[i].at
	for _, c := range s.Text[s.waypoints[i].offset:offset] {
		position = position.after(c)
	}
	return position
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
	if n < 1 {
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
	caret, from := max(p.Column-1, 0), 0
	if caret > width-20 {
		from = caret - width/2
	}
	shown := []rune(strings.ReplaceAll(characters(line, from, width), "\t", " "))
	return " | " + string(shown) + "\n | " + strings.Repeat(" ", min(caret-from, len(shown))) + "^"
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
