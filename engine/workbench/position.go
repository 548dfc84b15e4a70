package workbench

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// A Position is a place in a text, between two characters.
type Position struct {
	Line      int `json:"line"`      // from 0
	Character int `json:"character"` // UTF-16 code units in the line, from 0
}

// A Range is a part of a text, without its end.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// An Edit replaces a part of a text.
type Edit struct {
	Range Range  `json:"range"`
	Text  string `json:"newText"`
}

// A lineTable converts between offsets in bytes and positions.
type lineTable struct {
	text   string
	starts []int // offsets at which lines begin; a line ends with \n, \r\n or \r
	points []waypoint
}

// A waypoint is a place in a line. With one every [waypointDistance] bytes, a position in a text of a megabyte is found
// without reading the text, even if that is one line.
type waypoint struct {
	offset int
	units  int // UTF-16 code units before it in its line
}

const waypointDistance = 256

func newLineTable(text string) *lineTable {
	t := &lineTable{text: text, starts: []int{0}}
	units := 0
	for i, c := range text {
		if i >= len(t.points)*waypointDistance {
			t.points = append(t.points, waypoint{i, units})
		}
		units += utf16Length(c)
		if c == '\n' || c == '\r' && (i+1 == len(text) || text[i+1] != '\n') {
			t.starts, units = append(t.starts, i+1), 0
		}
	}
	return t
}

// line returns a line without its end.
func (t *lineTable) line(n int) (start int, text string) {
	start, end := t.starts[n], len(t.text)
	if n+1 < len(t.starts) {
		end = t.starts[n+1]
	}
	return start, strings.TrimRight(t.text[start:end], "\r\n")
}

// offset returns the offset of a position. One that is outside of the text or of its line, or within a
// character, is moved to the nearest place before it.
func (t *lineTable) offset(p Position) int {
	switch {
	case p.Line < 0:
		return 0
	case p.Line >= len(t.starts):
		return len(t.text)
	}
	start, text := t.line(p.Line)
	units := 0
	for i, c := range text {
		if units += utf16Length(c); units > p.Character {
			return start + i
		}
	}
	return start + len(text)
}

// position returns the position of an offset.
func (t *lineTable) position(offset int) Position {
	offset = min(max(offset, 0), len(t.text))
	n, found := slices.BinarySearch(t.starts, offset)
	if !found {
		n--
	}
	w := waypoint{offset: t.starts[n]}
	if i := min(offset/waypointDistance, len(t.points)-1); i >= 0 {
		if t.points[i].offset > offset {
			i-- // it is at the end of the character that the offset is in
		}
		if i >= 0 && t.points[i].offset > w.offset {
			w = t.points[i]
		}
	}
	p := Position{Line: n, Character: w.units}
	for i, c := range t.text[w.offset:] {
		if w.offset+i >= offset || c == '\n' || c == '\r' {
			break
		}
		p.Character += utf16Length(c)
	}
	return p
}

// span returns the range between two offsets.
func (t *lineTable) span(start, end int) Range { return Range{t.position(start), t.position(end)} }

// diagOffset returns the offset of a position as diagnostics have it: from 1, in characters, and with lines
// that end with \n.
func (t *lineTable) diagOffset(p diag.Position) int {
	rest, offset := t.text, 0
	if mark := len(rest) - len(strings.TrimPrefix(rest, byteOrderMark)); mark > 0 { // the engine does not see it
		rest, offset = rest[mark:], mark
	}
	for range p.Line - 1 {
		i := strings.IndexByte(rest, '\n')
		if i < 0 {
			return len(t.text)
		}
		rest, offset = rest[i+1:], offset+i+1
	}
	for range p.Column - 1 {
		_, size := utf8.DecodeRuneInString(rest)
		rest, offset = rest[size:], offset+size
	}
	return offset
}

const byteOrderMark = "\ufeff"

// utf16Length returns the number of UTF-16 code units of a character.
func utf16Length(c rune) int {
	if c > 0xffff {
		return 2
	}
	return 1
}

// Apply returns a text after edits. The edits must not overlap. Their positions are those in the text before any
// edit.
func Apply(text string, edits []Edit) string {
	t := newLineTable(text)
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return t.offset(a.Range.Start) - t.offset(b.Range.Start) })
	var b strings.Builder
	offset := 0
	for _, e := range edits {
		start, end := t.offset(e.Range.Start), t.offset(e.Range.End)
		b.WriteString(text[offset:max(offset, start)])
		b.WriteString(e.Text)
		offset = max(offset, end)
	}
	return b.String() + text[offset:]
}

// Slice returns a part of a text.
func Slice(text string, r Range) string {
	t := newLineTable(text)
	start := t.offset(r.Start)
	return text[start:max(start, t.offset(r.End))]
}
