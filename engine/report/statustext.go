package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/rules/value"
)

// StatusText writes how far a run on many machines is, for people. Lines have at most width
// columns where texts can be wrapped; 0: they are not wrapped.
func StatusText(w io.Writer, s *status.Run, width int) error {
	t := &statusWriter{width: width}
	t.head(s)
	for _, warning := range s.Warnings {
		t.paragraph("! ", warning.Message+" ("+warning.Hint+")")
	}
	t.jobs(s)
	t.ends(s.Jobs)
	t.failed(s)
	t.findings(s.Findings)
	t.running(s)
	t.workers(s.Workers)
	_, err := io.WriteString(w, t.String())
	return err
}

// A statusWriter writes a status as text.
type statusWriter struct {
	strings.Builder
	width int
}

// paragraph writes a text whose lines after the first are indented like the first one.
func (t *statusWriter) paragraph(begin, text string) {
	width := 1 << 20
	if t.width > 0 {
		width = max(20, t.width-len(begin))
	}
	for _, line := range value.Wrap(text, width) {
		t.WriteString(begin + line + "\n")
		begin = strings.Repeat(" ", len(begin))
	}
}

func (t *statusWriter) head(s *status.Run) {
	t.paragraph("", fmt.Sprintf("run %s: %s", s.Summary.Run, s.Phase))
	c := s.Total
	known := value.Counted(c.Partitions, "partition")
	if s.Growing {
		known += " so far"
	}
	t.paragraph("    ", fmt.Sprintf("%s: %d done%s, %d failed, %d running, %d waiting",
		known, c.Done, skippedText(c), c.Failed, c.Running, c.Waiting))
	stored := value.Size(int(s.Stored.Bytes))
	if s.Stored.Limit > 0 {
		stored += " of " + value.Size(int(s.Stored.Limit))
	}
	t.paragraph("    ", fmt.Sprintf("%s, %s, %s on the server", value.Counted(c.Pages, "page"), value.Counted(c.Items, "item"), stored))
	for _, r := range []struct {
		name string
		rate *status.Rate
	}{{"lately", s.Rates.Recent}, {"in all", s.Rates.Overall}} {
		if r.rate != nil {
			t.paragraph("    ", fmt.Sprintf("%s: %s pages/s, %s items/s", r.name, rateText(r.rate.Pages), rateText(r.rate.Items)))
		}
	}
	if left := leftText(s); left != "" {
		t.paragraph("    ", "left: "+left)
	}
	started := "started " + timeText(s.Started)
	if s.Last != nil {
		started += ", last change " + ago(s.At.Sub(*s.Last))
	}
	t.paragraph("    ", started+", configuration "+s.Config)
}

// ago writes how long something is ago.
func ago(d time.Duration) string {
	if d < time.Second {
		return "just now"
	}
	return d.Round(time.Second).String() + " ago"
}

// narrow is the width in columns from which on tables have all columns.
const narrow = 72

func (t *statusWriter) jobs(s *status.Run) {
	wide := t.width == 0 || t.width >= narrow
	t.table("", func(w io.Writer) {
		if wide {
			fmt.Fprintln(w, "job\tpartitions\tdone\tfailed\trunning\twaiting\tpages\titems")
		} else {
			fmt.Fprintln(w, "job\tknown\tdone\tfailed\titems")
		}
		for _, j := range s.Jobs {
			c, known := j.Counts, knownText(j.Counts, j.Growing)
			if wide {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d\n", jobName(j.Job), known, doneText(c), c.Failed, c.Running, c.Waiting, c.Pages, c.Items)
			} else {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%d\n", jobName(j.Job), known, doneText(c), c.Failed, c.Items)
			}
		}
	})
}

// knownText says how many partitions are known, with a plus sign if more may be found.
func knownText(c status.Counts, growing bool) string {
	if growing {
		return fmt.Sprintf("%d+", c.Partitions)
	}
	return fmt.Sprint(c.Partitions)
}

// doneText says how many partitions are done, and how many of these were skipped.
func doneText(c status.Counts) string { return fmt.Sprint(c.Done) + skippedText(c) }

func skippedText(c status.Counts) string {
	if c.Skipped == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d skipped)", c.Skipped)
}

// jobName returns the id of a job, or what stands for all jobs.
func jobName(id string) string { return cmp.Or(id, "all jobs") }

// table writes a table with its title.
func (t *statusWriter) table(title string, rows func(io.Writer)) {
	t.WriteString("\n")
	if title != "" {
		t.paragraph("", title)
	}
	table(&t.Builder, 0, rows)
}

func (t *statusWriter) ends(jobs []status.Job) {
	none := true
	for _, j := range jobs {
		none = none && len(j.Ends) == 0
	}
	if none {
		return
	}
	t.table("where partitions ended", func(w io.Writer) {
		for _, j := range jobs {
			for _, e := range j.Ends {
				reason := e.Reason
				if e.Suspect > 0 {
					reason += fmt.Sprintf(" (%d suspect)", e.Suspect)
				}
				fmt.Fprintf(w, "  %d\t%s\t%s\t%s\n", e.Partitions, jobName(j.Job), e.Outcome, reason)
			}
		}
	})
}

// endText says how partitions ended, and how many of them may be incomplete nevertheless.
func endText(e status.End) string {
	switch e.Suspect {
	case 0:
		return e.Outcome
	case e.Partitions:
		return e.Outcome + ", may be incomplete"
	}
	return fmt.Sprintf("%s, %d may be incomplete", e.Outcome, e.Suspect)
}

func (t *statusWriter) failed(s *status.Run) {
	if len(s.Failed) == 0 {
		return
	}
	t.paragraph("", "\nfailed; stopwhen retry continues all of them, or those that are named by their ids")
	for _, p := range s.Failed {
		t.paragraph("  ", partitionName(p)+", id "+p.Task+", "+value.Counted(p.Pages, "page"))
		if e := p.Error; e != nil {
			text := e.Message
			if e.Hint != "" {
				text += " (" + e.Hint + ")"
			}
			t.paragraph("    ", "class "+e.Class+": "+text)
		}
	}
	if more := s.Total.Failed - len(s.Failed); more > 0 {
		t.paragraph("  ", fmt.Sprintf("… and %d more", more))
	}
}

// partitionName names a partition by its job and its values.
func partitionName(p status.Partition) string {
	name := "job " + p.Job
	if p.Job == "" {
		name = "all jobs"
	}
	if p.Partition != "" {
		name += " (" + p.Partition + ")"
	}
	if p.Search {
		name += ": values of a variable"
	}
	return name
}

func (t *statusWriter) findings(found []status.Finding) {
	if len(found) == 0 {
		return
	}
	t.paragraph("", "\nmay be incomplete")
	for _, f := range found {
		name := partitionName(status.Partition{Job: f.Job, Partition: f.Partition}) + othersText(f)
		t.paragraph("  ", fmt.Sprintf("%s: %s (%s)", name, f.Message, f.ID))
	}
}

// othersText says how many other partitions have a finding.
func othersText(f status.Finding) string {
	if f.Partitions < 2 {
		return ""
	}
	return " and " + value.Counted(f.Partitions-1, "other partition")
}

func (t *statusWriter) running(s *status.Run) {
	if len(s.Running) == 0 {
		return
	}
	t.table("running", func(w io.Writer) {
		for _, p := range s.Running {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", value.Counted(p.Pages, "page"), p.Worker, partitionName(p))
		}
	})
	if more := s.Total.Running - len(s.Running); more > 0 {
		t.paragraph("  ", fmt.Sprintf("… and %d more", more))
	}
}

func (t *statusWriter) workers(all status.Workers) {
	if len(all.List) == 0 {
		return
	}
	workers, slots := value.Counted(all.Count, "worker"), value.Counted(all.Slots, "slot")
	t.paragraph("", fmt.Sprintf("\n%s: %d of %s in use, by all runs", workers, all.Running, slots))
	for _, w := range all.List {
		text := fmt.Sprintf("%s on %s: %d of %s in use, %s done", w.Name, w.Host, w.Running,
			value.Counted(w.Slots, "slot"), value.Counted(w.Done, "task"))
		if w.Silent {
			text += "; silent since " + timeText(w.Heard)
		}
		t.paragraph("  ", text)
		if w.Problem != "" {
			t.paragraph("    ", w.Problem)
		}
	}
}

// OverviewText writes a table of all runs, for people.
func OverviewText(w io.Writer, o *status.Overview, width int) error {
	t := &statusWriter{width: width}
	if len(o.Runs) == 0 {
		t.paragraph("", "There are no runs. stopwhen submit CONFIG adds one.")
	} else {
		t.runs(o.Runs)
	}
	for _, one := range o.Unreadable {
		t.paragraph("", one.Problem)
	}
	t.workers(o.Workers)
	_, err := io.WriteString(w, t.String())
	return err
}

func (t *statusWriter) runs(runs []status.Summary) {
	wide := t.width == 0 || t.width >= narrow
	table(&t.Builder, 0, func(w io.Writer) {
		if wide {
			fmt.Fprintln(w, "run\tphase\tpartitions\tdone\tfailed\titems\tstored\tstarted")
		} else {
			fmt.Fprintln(w, "run\tphase\tdone\tfailed")
		}
		for _, r := range runs {
			c, known := r.Total, knownText(r.Total, r.Growing)
			if wide {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", r.Run, r.Phase, known, doneText(c), c.Failed, c.Items,
					value.Size(int(r.Stored.Bytes)), r.Started.UTC().Format("01-02 15:04"))
			} else {
				fmt.Fprintf(w, "%s\t%s\t%s of %s\t%d\n", r.Run, r.Phase, doneText(c), known, c.Failed)
			}
		}
	})
}

// PartitionText returns the line of a partition in a list, for people.
func PartitionText(p status.Partition) string {
	text := fmt.Sprintf("%s: %s", partitionName(p), p.State)
	if p.Outcome != "" {
		text += ", " + p.Outcome + " by " + p.Reason
	}
	text += fmt.Sprintf(", %s, %s", value.Counted(p.Pages, "page"), value.Counted(p.Items, "item"))
	if p.Findings > 0 {
		text += ", " + value.Counted(p.Findings, "finding")
	}
	if p.Queued {
		text += ", queued again after a failure"
	}
	if p.Error != nil {
		text += ": " + p.Error.Message
	}
	return text + " [" + p.Task + "]"
}
