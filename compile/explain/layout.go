package explain

import (
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/value"
)

// The widths of a layout, in columns.
const (
	defaultWidth  = 100
	minWidth      = 40
	maxWidth      = 120
	twoColumns    = 72 // minimum width for sources next to IDs
	sourceColumn  = 32 // column of sources
	factColumn    = 20 // column of facts
	narrowColumn  = 6  // column of both in a narrow layout
	sectionIndent = 4
)

// A layout is text that is wrapped to a width. Words are never broken, so that addresses
// and paths can be copied.
type layout struct {
	strings.Builder
	width int
}

// newLayout returns a layout of a width; 0 is the default.
func newLayout(width int) layout {
	if width == 0 {
		width = defaultWidth
	}
	return layout{width: min(max(width, minWidth), maxWidth)}
}

func (s *layout) blank() { s.WriteString("\n") }

// line writes one line as it is.
func (s *layout) line(indent int, text string) {
	s.WriteString(strings.Repeat(" ", indent) + text + "\n")
}

// paragraph writes a text, wrapped.
func (s *layout) paragraph(indent int, text string) {
	for _, line := range value.Wrap(text, s.width-indent) {
		s.line(indent, line)
	}
}

// heading writes the title of a section.
func (s *layout) heading(title string) {
	s.blank()
	s.paragraph(2, title)
}

// row writes a name and a text next to it, or below it if the layout is narrow.
func (s *layout) row(name, text string) {
	column := factColumn
	if s.width < twoColumns {
		if name != "" {
			s.line(2, name)
		}
		s.paragraph(narrowColumn, text)
		return
	}
	s.columns(2, name, column, text)
}

// definition writes a rule: its id, next to it its source, and below the source further texts,
// unless they are empty.
func (s *layout) definition(id, source string, texts ...string) {
	column := sourceColumn
	if s.width < twoColumns {
		s.line(sectionIndent, id)
		s.paragraph(narrowColumn, source)
		column = narrowColumn
	} else {
		s.columns(sectionIndent, id, column, source)
	}
	for _, text := range texts {
		if text != "" {
			s.paragraph(column, text)
		}
	}
}

// columns writes a name and, from a column on, a text. A name that reaches beyond the column
// is on a line of its own if the text does not fit after it.
func (s *layout) columns(indent int, name string, column int, text string) {
	lines := value.Wrap(text, s.width-column)
	left := strings.Repeat(" ", indent) + name
	used := max(column, utf8.RuneCountInString(left)+2)
	if used > column && used+utf8.RuneCountInString(lines[0]) > s.width {
		s.line(0, left)
		left = ""
	}
	for _, line := range lines {
		s.WriteString(left + strings.Repeat(" ", max(column-utf8.RuneCountInString(left), 2)) + line + "\n")
		left = ""
	}
}
