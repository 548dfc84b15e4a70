package compile

import (
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/value"
)

// The widths of a sheet, in columns.
const (
	defaultWidth  = 100
	minWidth      = 40
	maxWidth      = 120
	twoColumns    = 72 // from here on sources are next to ids
	sourceColumn  = 32 // where sources begin
	factColumn    = 20 // where facts begin
	narrowColumn  = 6  // where both begin on a narrow sheet
	sectionIndent = 4
)

// A sheet is text that is wrapped to a width. Words are never broken, so that addresses
// and paths can be copied.
type sheet struct {
	strings.Builder
	width int
}

// newSheet returns a sheet of a width; 0 is the default.
func newSheet(width int) sheet {
	if width == 0 {
		width = defaultWidth
	}
	return sheet{width: min(max(width, minWidth), maxWidth)}
}

func (s *sheet) blank() { s.WriteString("\n") }

// line writes one line as it is.
func (s *sheet) line(indent int, text string) {
	s.WriteString(strings.Repeat(" ", indent) + text + "\n")
}

// paragraph writes a text, wrapped.
func (s *sheet) paragraph(indent int, text string) {
	for _, line := range value.Wrap(text, s.width-indent) {
		s.line(indent, line)
	}
}

// heading writes the title of a section.
func (s *sheet) heading(title string) {
	s.blank()
	s.paragraph(2, title)
}

// row writes a name and a text next to it, or below it on a narrow sheet.
func (s *sheet) row(name, text string) {
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

// entry writes a rule: its id, next to it its source, and below the source further texts,
// unless they are empty.
func (s *sheet) entry(id, source string, texts ...string) {
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
func (s *sheet) columns(indent int, name string, column int, text string) {
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
