package explain

import (
	"strings"
	"unicode/utf8"

	"github.com/stopwhen/stopwhen/rules/wording"
)

// The widths of a layout, in columns.
const (
	defaultWidth      = 100
	minWidth          = 40
	maxWidth          = 120
	minTwoColumnWidth = 72 // minimum width for sources next to IDs
	sourceColumn      = 32 // column of sources
	valueColumn       = 20 // column of the values of the overview
	narrowColumn      = 6  // column of sources and of values in a narrow layout
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

func (l *layout) writeBlank() { l.WriteString("\n") }

// writeLine writes one line as it is.
func (l *layout) writeLine(indent int, text string) {
	l.WriteString(strings.Repeat(" ", indent) + text + "\n")
}

// writeParagraph writes a text, wrapped.
func (l *layout) writeParagraph(indent int, text string) {
	for _, line := range wording.Wrap(text, l.width-indent) {
		l.writeLine(indent, line)
	}
}

// writeHeading writes the title of a section.
func (l *layout) writeHeading(title string) {
	l.writeBlank()
	l.writeParagraph(2, title)
}

// writeRow writes a name and a text next to it, or below it if the layout is narrow.
func (l *layout) writeRow(name, text string) {
	column := valueColumn
	if l.width < minTwoColumnWidth {
		if name != "" {
			l.writeLine(2, name)
		}
		l.writeParagraph(narrowColumn, text)
		return
	}
	l.writeColumns(2, name, column, text)
}

// writeDefinition writes a rule: its id, next to it its source, then further texts, unless they are empty.
// A text follows the one before it if it fits on the line, so that places can be copied.
func (l *layout) writeDefinition(id, source string, texts ...string) {
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
		l.writeLine(sectionIndent, id)
		l.writeParagraph(narrowColumn, lines[0])
	} else {
		l.writeColumns(sectionIndent, id, column, lines[0])
	}
	for _, text := range lines[1:] {
		l.writeParagraph(column, text)
	}
}

// writeColumns writes a name and, from a column on, a text. A name that reaches beyond the column
// is on a line of its own if the text does not fit after it.
func (l *layout) writeColumns(indent int, name string, column int, text string) {
	lines := wording.Wrap(text, l.width-column)
	start := strings.Repeat(" ", indent) + name
	used := max(column, utf8.RuneCountInString(start)+2)
	if used > column && used+utf8.RuneCountInString(lines[0]) > l.width {
		l.writeLine(0, start)
		start = ""
	}
	for _, line := range lines {
		l.WriteString(start + strings.Repeat(" ", max(column-utf8.RuneCountInString(start), 2)) + line + "\n")
		start = ""
	}
}
