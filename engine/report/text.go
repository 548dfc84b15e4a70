package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
)

// truncatedText is what both forms of a report say of a truncated trace.
const truncatedText = "The trace ends in the middle of a line: the run that wrote it was killed."

// Text writes the run as tables: for each job its pages, then its rules; with
// [Run.Verdicts], also every verdict.
func (r *Run) Text(w io.Writer) error {
	b := &strings.Builder{}
	for i, j := range r.Jobs {
		if i > 0 {
			b.WriteString("\n")
		}
		j.writeSummary(b)
		j.writePages(b)
		j.writeRules(b)
		if r.Verdicts {
			j.writeVerdicts(b)
		}
	}
	if r.Truncated {
		fmt.Fprintf(b, "\n%s\n", truncatedText)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (j *Job) writeSummary(b *strings.Builder) {
	fmt.Fprintf(b, "job %s: %s\n", j.ID, j.Ending())
	last := j.Last()
	if last.Error != nil {
		fmt.Fprintf(b, "    %s\n", errorText(last.Error))
	}
	for _, v := range last.Met() {
		fmt.Fprintf(b, "    %s: %s\n", v.Rule, v.Because)
	}
	for _, f := range last.Findings {
		fmt.Fprintf(b, "    may be incomplete: %s (%s)\n", f.Message, f.ID)
	}
	fmt.Fprintf(b, "    %s, %s, %s, %s in %s", value.Counted(j.Fetched(), "page"), value.Counted(j.Requests(), "request"),
		value.Counted(j.Items(), "item"), value.Size(j.Bytes()), duration(j.Took().Milliseconds()))
	if j.Ended() {
		fmt.Fprintf(b, "; %s", last.Outcome)
	}
	b.WriteString("\n\n")
}

// errorText returns an error with its class and its hint.
func errorText(f *runtime.Fault) string {
	text := f.Message
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	if f.Class != "" {
		text = "error of class " + f.Class + ": " + text
	}
	return text
}

func (j *Job) writePages(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "page\tat\ttook\tstatus\titems\tsize\t request\n")
	for _, p := range j.Pages {
		status, items, size := statusText(p), strconv.Itoa(p.Count), value.Size(p.Bytes)
		if missing(p) {
			items, size = "-", "-"
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t %s\n", p.Page, duration(p.At), duration(p.Millis), status, items, size, j.describe(p))
	}
	_ = t.Flush() // a strings.Builder does not fail
}

// statusText returns the HTTP status of a page, or a dash if there was no response.
func statusText(p engine.Record) string {
	if p.Status == 0 {
		return "-"
	}
	return strconv.Itoa(p.Status)
}

// describe returns the request of a page with remarks about the page.
func (j *Job) describe(p engine.Record) string {
	parts := append([]string{j.request(p)}, remarks(p)...)
	switch {
	case p.Error != nil:
		parts = append(parts, "failed")
	case p.Decision == runtime.Stop:
		parts = append(parts, "stopped by "+strings.Join(p.StoppedBy, ", "))
	}
	return strings.Join(parts, "; ")
}

func (j *Job) request(p engine.Record) string {
	return strings.TrimSpace(p.Request.Method + " " + j.target(p))
}

func (j *Job) writeRules(b *strings.Builder) {
	if len(j.Rules) == 0 {
		return
	}
	b.WriteString("\nwhere each rule became true, and its values on the last page\n")
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	for _, r := range j.Rules {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", r.PagesText(), r.ID, r.Values())
	}
	_ = t.Flush() // a strings.Builder does not fail
}

// writeVerdicts lists what every rule said of every page.
func (j *Job) writeVerdicts(b *strings.Builder) {
	for _, p := range j.Pages {
		fmt.Fprintf(b, "\npage %d  %s\n", p.Page, j.describe(p))
		t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
		for _, v := range p.Verdicts {
			rule := Rule{Because: v.Because, Missing: v.Missing}
			fmt.Fprintf(t, "  %s\t%s\t%s\n", word(p, v), v.Rule, strings.Join(append([]string{rule.Values()}, v.Notes...), "; "))
		}
		_ = t.Flush() // a strings.Builder does not fail
		if p.Error != nil {
			fmt.Fprintf(b, "  %s\n", errorText(p.Error))
		}
	}
}

// word says what a verdict meant for its page.
func word(p engine.Record, v engine.Verdict) string {
	switch {
	case v.Met && p.Decision == runtime.Stop && v.Rule == reason(p):
		return "met, decided"
	case v.Met:
		return "met"
	}
	return "not met"
}
