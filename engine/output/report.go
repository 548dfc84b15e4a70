package output

import (
	"cmp"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A FileReport describes the result for a file of items.
type FileReport struct {
	File     string   `json:"file"`
	Jobs     []string `json:"jobs"`
	Rows     int64    `json:"rows"`              // number of rows, including the rows of the runs that it resumed
	Complete bool     `json:"complete"`          // whether the file is published
	Partial  string   `json:"partial,omitempty"` // path of the file that holds the rows until they are complete
	Why      string   `json:"-"`                 // why the file is not published, such as "the list is incomplete"; "" if it is
	Repeated bool     `json:"-"`                 // whether the rows are published, and the next run adds them again
	Replaces int64    `json:"-"`                 // number of rows in the file of an earlier run that the rows would have replaced

	Withheld    bool `json:"-"` // whether a warning has said why the rows are not published, although their jobs ended
	AsNDJSON    bool `json:"-"` // whether the rows of the partial file are NDJSON, although the file has another format
	LateColumns int  `json:"-"` // number of columns missing in the header of the partial file
}

// Files returns a report for each file of items, given the result of the run after [Publisher.End].
func (p *Publisher) Files(result *engine.Result) []FileReport {
	var reports []FileReport
	for _, t := range p.targets.all {
		if t.file == nil {
			continue
		}
		rows := t.file.rows
		r := FileReport{
			File: rows.Name(), Jobs: t.jobs, Rows: rows.RowCount(), Complete: rows.Published(),
			Repeated: rows.Published() && p.groups.addsAgain(t.jobs) && rows.RowCount() > 0,
			Withheld: t.withheld || rows.Released() || rows.PublicationDue(),
		}
		if !r.Complete {
			r.Why = incompleteness(t.jobs, p.groups.waitsForAll(t, &p.results), result)
		}
		if !r.Complete && rows.Created() && !(rows.PublicationDue() && !files.Exists(rows.Path())) {
			r.Partial, r.LateColumns, r.Replaces = rows.Path(), t.file.lateColumns(), t.file.replaces()
			r.AsNDJSON = t.file.waitsAsNDJSON()
		}
		reports = append(reports, r)
	}
	return reports
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
