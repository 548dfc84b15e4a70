package output

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A FileReport describes the result for a file of items.
type FileReport struct {
	File     string   `json:"file"`
	Jobs     []string `json:"jobs"`
	Rows     int64    `json:"rows"`              // number of rows, including the rows of the runs that it resumed
	Complete bool     `json:"complete"`          // whether the file is published
	Partial  string   `json:"partial,omitempty"` // path of the file that holds the rows until they are complete
	Repeated bool     `json:"-"`                 // whether the rows are published, and the next run adds them again
	Replaces int64    `json:"-"`                 // number of rows in the file of an earlier run that the rows would have replaced
}

// Files returns a report for each file of items.
func (p *Publisher) Files() []FileReport {
	var reports []FileReport
	for _, t := range p.targets.all {
		if t.file != nil {
			reports = append(reports, p.report(t))
		}
	}
	return reports
}

func (p *Publisher) report(t *target) FileReport {
	rows := t.file.rows
	r := FileReport{
		File: rows.Name(), Jobs: t.jobs, Rows: rows.RowCount(), Complete: rows.Published(),
		Repeated: rows.Published() && p.groups.addsAgain(t.jobs) && rows.RowCount() > 0,
	}
	if !r.Complete && rows.Created() && !(rows.PublicationDue() && !files.Exists(rows.Path())) {
		r.Partial, r.Replaces = rows.Path(), t.file.replaces()
	}
	return r
}

// logPartial logs why the rows of a file are not complete, and where they are, unless a warning has said it.
func (p *Publisher) logPartial(t *target, result *engine.Result) {
	f, rows, late := p.report(t), t.file.rows, 0
	if f.Partial != "" {
		late = t.file.lateColumns()
	}
	if f.Complete || late == 0 && (t.withheld || rows.Released() || rows.PublicationDue()) {
		return
	}
	message := unpublished(rows) + ": this run has written no page of job " + wording.OrList(t.jobs)
	switch {
	case f.Partial != "":
		why := incompleteness(t.jobs, p.groups.waitsForAll(t, &p.results), result)
		message = fmt.Sprintf("%s: %s, and what was obtained (%s) is in %s", unpublished(rows),
			why, wording.Counted(int(f.Rows), "row"), filepath.Base(f.Partial))
		if t.file.waitsAsNDJSON() {
			message += ", as NDJSON"
		}
	case p.options.Received:
		message = unpublished(rows) + ": no page for it has been collected"
	}
	if late > 0 {
		message += fmt.Sprintf("; its header does not have %s that appeared late", wording.Counted(late, "column"))
	}
	p.log.Warn(message, "event", "partial", "file", f.File, "partial", f.Partial, "rows", f.Rows)
}

// unpublished says whether an earlier file has the name of an output that is not published.
func unpublished(o *checkpoint.Output) string {
	if files.Exists(o.Name()) {
		return o.Name() + " is unchanged"
	}
	return o.Name() + " does not exist"
}

// incompleteness says why the rows of jobs are not complete, or why they are not added although they are: they wait for
// all jobs. The rows of a file's own jobs may be complete, while another job of their tree has failed or is refused. In
// a tree that has not ended, the result of a job with partitions does not say whether all of them have ended, so a job
// that failed is named first.
func incompleteness(jobs []string, waits bool, result *engine.Result) string {
	const incomplete = "the list is incomplete"
	if waits {
		i := slices.IndexFunc(result.Jobs, func(job engine.JobResult) bool { return !job.Ended() || job.Refused })
		if i < 0 {
			return "the run has failed"
		}
		return "job " + result.Jobs[i].Job + " is incomplete"
	}
	roots, ended := map[string]bool{}, true
	for _, job := range result.Jobs {
		if !slices.Contains(jobs, job.Job) {
			continue
		}
		roots[job.Root] = true
		ended = ended && job.Ended()
		differs := func(f engine.Finding) bool { return f.ID == trace.FindingContract }
		switch {
		case job.Ended() && job.Refused && slices.ContainsFunc(job.Findings, differs):
			return "the data differ from the contract"
		case job.Refused, job.Error != nil, !job.Ended() && job.Partitions == nil:
			return incomplete
		}
	}
	failed, other := "", ""
	for _, job := range result.Jobs {
		switch {
		case job.Root == "" || !roots[job.Root]:
		case job.Error != nil:
			failed = cmp.Or(failed, job.Job)
		case job.Refused, ended && !job.Ended():
			other = cmp.Or(other, job.Job)
		}
	}
	if other = cmp.Or(failed, other); other == "" {
		return incomplete
	}
	return "job " + other + " of the same tree is incomplete"
}
