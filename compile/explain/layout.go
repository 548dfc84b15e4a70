package explain

import (
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/value"
)

// The widths of a layout, in columns.
const (
	defaultWidth      = 100
	minWidth          = 40
	maxWidth          = 120
	minTwoColumnWidth = 72 // minimum width for sources next to IDs
	sourceColumn      = 32 // column of sources
	valueColumn       = 20 // column of the values of the overview
	narrowColumn      = 6  // column of both in a narrow layout
	sectionIndent     = 4
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

func (l *layout) blank() { l.WriteString("\n") }

// line writes one line as it is.
func (l *layout) line(indent int, text string) {
	l.WriteString(strings.Repeat(" ", indent) + text + "\n")
}

// paragraph writes a text, wrapped.
func (l *layout) paragraph(indent int, text string) {
	for _, line := range value.Wrap(text, l.width-indent) {
		l.line(indent, line)
	}
}

// heading writes the title of a section.
func (l *layout) heading(title string) {
	l.blank()
	l.paragraph(2, title)
}

// row writes a name and a text next to it, or below it if the layout is narrow.
func (l *layout) row(name, text string) {
	column := valueColumn
	if l.width < minTwoColumnWidth {
		if name != "" {
			l.line(2, name)
		}
		l.paragraph(narrowColumn, text)
		return
	}
	l.columns(2, name, column, text)
}

// definition writes a rule: its id, next to it its source, then further texts, unless they are empty.
// A text follows the one before it if it fits on the line, so that places can be copied.
func (l *layout) definition(id, source string, texts ...string) {
	column, room := sourceColumn, l.width-max(sourceColumn, sectionIndent+utf8.RuneCountInString(id)+2)
	if l.width < minTwoColumnWidth {
		column, room = narrowColumn, l.width-narrowColumn
	}
	lines := []string{source}
	for _, text := range texts {
		last := len(lines) - 1
		joined := lines[last] + "   " + text
		switch {
		case text == "":
		case lines[last] == "":
			lines[last] = text
		case utf8.RuneCountInString(joined) <= room:
			lines[last] = joined
		default:
			lines = append(lines, text)
		}
		room = l.width - column
	}
	if l.width < minTwoColumnWidth {
		l.line(sectionIndent, id)
		l.paragraph(narrowColumn, lines[0])
	} else {
		l.columns(sectionIndent, id, column, lines[0])
	}
	for _, text := range lines[1:] {
		l.paragraph(column, text)
	}
}

// columns writes a name and, from a column on, a text. A name that reaches beyond the column
// is on a line of its own if the text does not fit after it.
func (l *layout) columns(indent int, name string, column int, text string) {
	lines := value.Wrap(text, l.width-column)
	left := strings.Repeat(" ", indent) + name
	used := max(column, utf8.RuneCountInString(left)+2)
	if used > column && used+utf8.RuneCountInString(lines[0]) > l.width {
		l.line(0, left)
		left = ""
	}
	for _, line := range lines {
		l.WriteString(left + strings.Repeat(" ", max(column-utf8.RuneCountInString(left), 2)) + line + "\n")
		left = ""
	}
}
