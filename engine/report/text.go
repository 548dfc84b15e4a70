package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
)

// truncatedText is what both forms of a report say of a truncated trace.
const truncatedText = "The trace ends in the middle of a line: the run that wrote it was killed."

// Text writes the run as tables: for each job its pages, then its rules.
func (r *Run) Text(w io.Writer) error {
	b := &strings.Builder{}
	for i, j := range r.Jobs {
		if i > 0 {
			b.WriteString("\n")
		}
		j.writeSummary(b)
		j.writePages(b)
		j.writeRules(b)
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
	for _, v := range last.Met() {
		fmt.Fprintf(b, "    %s: %s\n", v.Rule, v.Because)
	}
	for _, f := range last.Findings {
		fmt.Fprintf(b, "    may be incomplete: %s (%s)\n", f.Message, f.ID)
	}
	fmt.Fprintf(b, "    %s, %s, %s in %s", value.Counted(len(j.Pages), "page"), value.Counted(j.Items(), "item"),
		value.Size(j.Bytes()), duration(j.Took().Milliseconds()))
	if j.Ended() {
		fmt.Fprintf(b, "; %s", last.Outcome)
	}
	b.WriteString("\n\n")
}

func (j *Job) writePages(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "page\tat\ttook\tstatus\titems\tsize\t request\n")
	for _, p := range j.Pages {
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%d\t%s\t %s\n",
			p.Page, duration(p.At), duration(p.Millis), p.Status, p.Count, value.Size(p.Bytes), j.describe(p))
	}
	_ = t.Flush() // a strings.Builder does not fail
}

// describe returns the request of a page with remarks about the page.
func (j *Job) describe(p engine.Record) string {
	parts := append([]string{p.Request.Method + " " + j.target(p)}, remarks(p)...)
	if p.Decision == runtime.Stop {
		parts = append(parts, "stopped by "+strings.Join(p.StoppedBy, ", "))
	}
	return strings.Join(parts, "; ")
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
