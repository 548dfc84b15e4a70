package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"text/template"

	"github.com/stopwhen/stopwhen/rules/value"
)

// narrow is the width in columns from which on tables have all columns.
const narrow = 72

// A textTemplate writes texts for people. Its functions are:
//
//	lines BEGIN TEXT  the text, wrapped; lines after the first are indented like the first
//	table NAME DATA   the lines of a template, in columns that end with tabs
//	right NAME DATA   likewise, with the columns aligned to the right
//	render NAME DATA  the text of a template
//	more ALL SHOWN    the line that says how many are not shown, if any
//	wide              whether tables have all columns
type textTemplate struct{ *template.Template }

// newTextTemplate parses a template for lines of a width; if it is 0, they are not wrapped.
func newTextTemplate(text string, width int, funcs template.FuncMap) textTemplate {
	t := textTemplate{template.New("text")}
	lines := func(begin, text string) string { return hanging(begin, text, width) }
	template.Must(t.Funcs(common).Funcs(funcs).Funcs(template.FuncMap{
		"lines":  lines,
		"render": t.render,
		"table":  t.columns(0),
		"right":  t.columns(tabwriter.AlignRight),
		"more": func(all, shown int) string {
			if all <= shown {
				return ""
			}
			return lines("  ", fmt.Sprintf("… and %d more", all-shown))
		},
		"wide": func() bool { return width == 0 || width >= narrow },
	}).Parse(text))
	return t
}

// render executes the template of a name.
func (t textTemplate) render(name string, data any) (string, error) {
	b := &strings.Builder{}
	err := t.ExecuteTemplate(b, name, data)
	return b.String(), err
}

// columns returns a function that renders the template of a name as a table.
func (t textTemplate) columns(flags uint) func(name string, data any) (string, error) {
	return func(name string, data any) (string, error) {
		b := &strings.Builder{}
		w := tabwriter.NewWriter(b, 0, 8, 2, ' ', flags)
		err := t.ExecuteTemplate(w, name, data)
		_ = w.Flush() // a strings.Builder does not fail
		return b.String(), err
	}
}

// write executes the template of a name and writes its text at once.
func (t textTemplate) write(w io.Writer, name string, data any) error {
	text, err := t.render(name, data)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	return err
}

// hanging wraps a text at a width. Its first line begins with a text, and the others are
// indented as much.
func hanging(begin, text string, width int) string {
	room := 1 << 20
	if width > 0 {
		room = max(20, width-len(begin))
	}
	indent := strings.Repeat(" ", len(begin))
	return begin + strings.Join(value.Wrap(text, room), "\n"+indent) + "\n"
}
