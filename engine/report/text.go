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

// Text writes a run as tables: of each job its pages, then its rules.
func (r *Run) Text(w io.Writer) error {
	b := &strings.Builder{}
	for i, j := range r.Jobs {
		if i > 0 {
			b.WriteString("\n")
		}
		j.text(b)
	}
	if r.Truncated {
		b.WriteString("\nThe trace ends in the middle of a line: the run that wrote it was killed.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (j *Job) text(b *strings.Builder) {
	fmt.Fprintf(b, "job %s: %s\n", j.ID, j.Sentence())
	last := j.Last()
	for _, v := range last.Met() {
		fmt.Fprintf(b, "    %s: %s\n", v.Rule, v.Because)
	}
	for _, f := range last.Findings {
		fmt.Fprintf(b, "    may not be whole: %s (%s)\n", f.Message, f.ID)
	}
	fmt.Fprintf(b, "    %s, %s, %s in %s", value.Counted(len(j.Pages), "page"), value.Counted(j.Items(), "item"), value.Size(j.Bytes()), duration(j.Took().Milliseconds()))
	if j.Ended() {
		fmt.Fprintf(b, "; %s", last.Outcome)
	}
	b.WriteString("\n\n")

	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "page\tat\ttook\tstatus\titems\tsize\t request\n")
	for _, p := range j.Pages {
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%d\t%s\t %s\n", p.Page, duration(p.At), duration(p.Millis), p.Status, p.Count, value.Size(p.Bytes), j.told(p))
	}
	_ = t.Flush() // to a string
	j.textRules(b)
}

// told is a page's request, and what is to be said of it.
func (j *Job) told(p engine.Record) string {
	parts := append([]string{p.Request.Method + " " + j.target(p)}, notes(p)...)
	if p.Decision == runtime.Stop {
		parts = append(parts, "stops by "+strings.Join(p.StoppedBy, ", "))
	}
	return strings.Join(parts, "; ")
}

// notes are what is out of the ordinary about a page.
func notes(p engine.Record) []string {
	var out []string
	if p.Attempts > 1 {
		out = append(out, value.Counted(p.Attempts, "attempt"))
	}
	if p.Dropped {
		out = append(out, "not emitted")
	}
	return out
}

func (j *Job) textRules(b *strings.Builder) {
	if len(j.Rules) == 0 {
		return
	}
	b.WriteString("\nrules, with their values on the last page\n")
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', 0)
	for _, r := range j.Rules {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", r.turns(), r.ID, r.values())
	}
	_ = t.Flush()
}

// turns says where a rule was met.
func (r Rule) turns() string {
	if r.Turned == nil {
		return "never met"
	}
	pages := make([]string, 0, 3)
	for i, n := range r.Turned {
		if i == 3 {
			pages = append(pages, "…")
			break
		}
		pages = append(pages, strconv.Itoa(n))
	}
	return "met on page " + strings.Join(pages, ", ")
}

func (r Rule) values() string {
	if len(r.Absent) == 0 {
		return r.Last
	}
	return r.Last + " (absent: " + strings.Join(r.Absent, ", ") + ")"
}
