package report

import (
	_ "embed" // the template
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"text/template"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// minWideWidth is the length of lines from which on tables have all their columns.
const minWideWidth = 72

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
		"wide": func() bool { return width == 0 || width >= minWideWidth },
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

// hanging wraps a text at a width, with a hanging indent: the first line begins with begin, and the
// others are indented by its length.
func hanging(begin, text string, width int) string {
	room := 1 << 20
	if width > 0 {
		room = max(20, width-len(begin))
	}
	indent := strings.Repeat(" ", len(begin))
	return begin + strings.Join(wording.Wrap(text, room), "\n"+indent) + "\n"
}

//go:embed report.txt
var runTXT string

var runText = sync.OnceValue(func() textTemplate { return newTextTemplate(runTXT, 0, runFuncs) })

// Text writes the run as tables: for each job its pages, then its rules; with
// [Run.ShowVerdicts], also every verdict. A job with variables has a table of its partitions,
// and then these tables for some of them.
func (r *Run) Text(w io.Writer) error { return runText().write(w, "text", r.view()) }

// truncatedText is the note on a truncated trace, in text and in HTML.
const truncatedText = "The trace ends in the middle of a line: the run that wrote it was killed."

// String returns the totals as a phrase.
func (t Totals) String() string {
	return fmt.Sprintf("%s, %s, %s, %s in %s", wording.Counted(t.Fetched, "page"), wording.Counted(t.Requests, "request"),
		wording.Counted(t.Items, "item"), wording.Size(t.Bytes), duration(t.Took.Milliseconds()))
}

// errorText returns an error with its class and its hint.
func errorText(f *trace.Fault) string {
	text := f.Message
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	if f.Class != "" {
		text = "error of class " + f.Class + ": " + text
	}
	return text
}

// statusText returns the HTTP status of a page, or a dash if there was no response.
func statusText(page engine.Record) string {
	if page.Status == 0 {
		return "-"
	}
	return strconv.Itoa(page.Status)
}

// word returns the meaning of a verdict for its page.
func word(page engine.Record, v engine.Verdict) string {
	switch {
	case v.Met && page.Decision == trace.Stop && v.Rule == reason(page):
		return "met, decided"
	case v.Met:
		return "met"
	}
	return "not met"
}
