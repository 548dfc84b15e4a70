package report

import (
	_ "embed" // the template
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

//go:embed report.txt
var runTXT string

var runText = sync.OnceValue(func() textTemplate { return newTextTemplate(runTXT, 0, runFuncs) })

// Text writes the run as tables: for each job its pages, then its rules; with
// [Run.Verdicts], also every verdict. A job with variables has a table of its partitions,
// and then these tables for some of them.
func (r *Run) Text(w io.Writer) error { return runText().write(w, "text", r.view()) }

// truncatedText is what both forms of a report say of a truncated trace.
const truncatedText = "The trace ends in the middle of a line: the run that wrote it was killed."

// String returns the totals as a phrase.
func (t Totals) String() string {
	return fmt.Sprintf("%s, %s, %s, %s in %s", value.Counted(t.Fetched, "page"), value.Counted(t.Requests, "request"),
		value.Counted(t.Items, "item"), value.Size(t.Bytes), duration(t.Took.Milliseconds()))
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

// word says what a verdict meant for its page.
func word(page engine.Record, v engine.Verdict) string {
	switch {
	case v.Met && page.Decision == trace.Stop && v.Rule == reason(page):
		return "met, decided"
	case v.Met:
		return "met"
	}
	return "not met"
}
