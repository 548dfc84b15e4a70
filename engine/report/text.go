package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// truncatedText is what both forms of a report say of a truncated trace.
const truncatedText = "The trace ends in the middle of a line: the run that wrote it was killed."

// Text writes the run as tables: for each job its pages, then its rules; with
// [Run.Verdicts], also every verdict. A job with variables has a table of its partitions,
// and then these tables for some of them.
func (r *Run) Text(w io.Writer) error {
	b := &strings.Builder{}
	for i, j := range r.Jobs {
		if i > 0 {
			b.WriteString("\n")
		}
		r.writeJob(b, j)
	}
	if r.Truncated {
		fmt.Fprintf(b, "\n%s\n", truncatedText)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Run) writeJob(b *strings.Builder, j *Job) {
	if !j.Partitioned() {
		r.writePartition(b, "job "+j.ID, j.Partitions[0])
		return
	}
	fmt.Fprintf(b, "job %s: %s\n    %s\n\n", j.ID, j.Ending(), j.Totals)
	j.writePartitions(b)
	if text := j.omitted(r.Name); text != "" {
		fmt.Fprintf(b, "  … and %s\n", text)
	}
	if text := j.undrawn(r.Name); text != "" {
		fmt.Fprintf(b, "\n%s\n", text)
	}
	for _, p := range j.Partitions {
		if p.Pages != nil {
			b.WriteString("\n")
			r.writePartition(b, fmt.Sprintf("job %s (%s)", j.ID, p.Label), p)
		}
	}
}

// table writes rows whose cells end with tabs, in columns.
func table(b *strings.Builder, flags uint, rows func(t io.Writer)) {
	t := tabwriter.NewWriter(b, 0, 8, 2, ' ', flags)
	rows(t)
	_ = t.Flush() // a strings.Builder does not fail
}

// writePartitions writes a row for each partition.
func (j *Job) writePartitions(b *strings.Builder) {
	table(b, 0, func(t io.Writer) {
		fmt.Fprintf(t, "  partition\tpages\titems\tended\thow\n")
		for _, p := range j.Partitions {
			fmt.Fprintf(t, "  %s\t%d\t%d\t%s\t%s\n", p.Label, p.Fetched, p.Items, p.End(), p.summary())
		}
	})
}

func (r *Run) writePartition(b *strings.Builder, name string, p *Partition) {
	p.writeSummary(b, name)
	p.writePages(b)
	p.writeRules(b)
	if r.Verdicts {
		p.writeVerdicts(b)
	}
}

func (p *Partition) writeSummary(b *strings.Builder, name string) {
	fmt.Fprintf(b, "%s: %s\n", name, p.Ending())
	if p.Last.Error != nil {
		fmt.Fprintf(b, "    %s\n", errorText(p.Last.Error))
	}
	for _, v := range p.Last.Met() {
		fmt.Fprintf(b, "    %s: %s\n", v.Rule, v.Because)
	}
	for _, f := range p.Last.Findings {
		fmt.Fprintf(b, "    may be incomplete: %s (%s)\n", f.Message, f.ID)
	}
	fmt.Fprintf(b, "    %s", p.Totals)
	if p.Ended() {
		fmt.Fprintf(b, "; %s", p.Last.Outcome)
	}
	b.WriteString("\n\n")
}

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

func (p *Partition) writePages(b *strings.Builder) {
	table(b, tabwriter.AlignRight, func(t io.Writer) {
		fmt.Fprintf(t, "page\tat\ttook\tstatus\titems\tsize\t request\n")
		for _, page := range p.Pages {
			items, size := strconv.Itoa(page.Count), value.Size(page.Bytes)
			if missing(page) {
				items, size = "-", "-"
			}
			fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%s\t%s\t %s\n",
				page.Page, duration(page.At), duration(page.Millis), statusText(page), items, size, p.describe(page))
		}
	})
}

// statusText returns the HTTP status of a page, or a dash if there was no response.
func statusText(page engine.Record) string {
	if page.Status == 0 {
		return "-"
	}
	return strconv.Itoa(page.Status)
}

// describe returns the request of a page with remarks about the page.
func (p *Partition) describe(page engine.Record) string {
	parts := append([]string{p.request(page)}, remarks(page)...)
	switch {
	case page.Error != nil:
		parts = append(parts, "failed")
	case page.Decision == trace.Stop:
		parts = append(parts, "stopped by "+strings.Join(page.StoppedBy, ", "))
	}
	return strings.Join(parts, "; ")
}

func (p *Partition) request(page engine.Record) string {
	return strings.TrimSpace(page.Request.Method + " " + p.target(page))
}

func (p *Partition) writeRules(b *strings.Builder) {
	if len(p.Rules) == 0 {
		return
	}
	b.WriteString("\nwhere each rule became true, and its values on the last page\n")
	table(b, 0, func(t io.Writer) {
		for _, r := range p.Rules {
			fmt.Fprintf(t, "  %s\t%s\t%s\n", r.PagesText(), r.ID, r.Values())
		}
	})
}

// writeVerdicts lists what every rule said of every page.
func (p *Partition) writeVerdicts(b *strings.Builder) {
	for _, page := range p.Pages {
		fmt.Fprintf(b, "\npage %d  %s\n", page.Page, p.describe(page))
		table(b, 0, func(t io.Writer) {
			for _, v := range page.Verdicts {
				rule := Rule{Because: v.Because, Missing: v.Missing}
				fmt.Fprintf(t, "  %s\t%s\t%s\n", word(page, v), v.Rule, strings.Join(append([]string{rule.Values()}, v.Notes...), "; "))
			}
		})
		if page.Error != nil {
			fmt.Fprintf(b, "  %s\n", errorText(page.Error))
		}
	}
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
