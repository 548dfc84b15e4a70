package output

import "github.com/stopwhen/stopwhen/engine/files"

// A FileReport describes the result for a file of items.
type FileReport struct {
	File     string   `json:"file"`
	Jobs     []string `json:"jobs"`
	Rows     int64    `json:"rows"`              // number of rows, including the rows of the runs that it resumed
	Complete bool     `json:"complete"`          // whether the file is published
	Partial  string   `json:"partial,omitempty"` // path of the file that holds the rows until they are complete
	Waits    bool     `json:"-"`                 // whether the jobs are complete, and the rows are not added because the run has failed
	Repeated bool     `json:"-"`                 // whether the rows are published, and the next run adds them again
	Replaces int64    `json:"-"`                 // number of rows in the file of an earlier run that the rows would have replaced

	Withheld    bool `json:"-"` // whether a warning has said why the rows are not published, although their jobs ended
	AsNDJSON    bool `json:"-"` // whether the rows of the partial file are NDJSON, although the file has another format
	LateColumns int  `json:"-"` // number of columns missing in the header of the partial file
}

// Files returns a report for each file of items.
func (p *Publisher) Files() []FileReport {
	var reports []FileReport
	for _, t := range p.targets.all {
		if t.file == nil {
			continue
		}
		rows := t.file.rows
		r := FileReport{
			File: rows.Name(), Jobs: t.jobs, Rows: rows.RowCount(), Complete: rows.Published(),
			Repeated: rows.Published() && p.groups.addsAgain(t.jobs) && rows.RowCount() > 0,
			Waits:    p.groups.waitsForAll(t, &p.results),
			Withheld: t.withheld || rows.Released() || rows.PublicationDue(),
		}
		if !r.Complete && rows.Created() && !(rows.PublicationDue() && !files.Exists(rows.Path())) {
			r.Partial, r.LateColumns, r.Replaces = rows.Path(), t.file.lateColumns(), t.file.replaces()
			r.AsNDJSON = t.file.waitsAsNDJSON()
		}
		reports = append(reports, r)
	}
	return reports
}
