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
	valueColumn   = 20 // column of the values of the overview
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
	if l.width < twoColumns {
		if name != "" {
			l.line(2, name)
		}
		l.paragraph(narrowColumn, text)
		return
	}
	l.columns(2, name, column, text)
}

// definition writes a rule: its id, next to it its source, and below the source further texts,
// unless they are empty. The first of them follows the source if both fit on a line.
func (l *layout) definition(id, source string, texts ...string) {
	column := sourceColumn
	if len(texts) > 0 && source != "" && texts[0] != "" {
		line := source + "   " + texts[0]
		if room := l.width - max(column, sectionIndent+utf8.RuneCountInString(id)+2); utf8.RuneCountInString(line) <= room {
			source, texts = line, texts[1:]
		}
	}
	if l.width < twoColumns {
		l.line(sectionIndent, id)
		l.paragraph(narrowColumn, source)
		column = narrowColumn
	} else {
		l.columns(sectionIndent, id, column, source)
	}
	for _, text := range texts {
		if text != "" {
			l.paragraph(column, text)
		}
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
