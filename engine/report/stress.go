package report

import (
	_ "embed" // the template
	"html/template"
	"io"
	"strings"

	"github.com/stopwhen/stopwhen/engine/stress"
)

//go:embed stress.html
var stressHTML string

var stressPage = page(stressHTML, template.FuncMap{
	"lower": func(v stress.Verdict) string { return strings.ToLower(string(v)) },
})

// StressHTML writes how a configuration of a name fares as a self-contained HTML page. Like
// the page of [Run.HTML], it loads nothing and runs no script, and its content security policy
// forbids both.
func StressHTML(w io.Writer, name string, r *stress.Report) error {
	view := stressView{Report: r, Name: name}
	for i := range r.Jobs {
		view.Jobs = append(view.Jobs, newStressJob(i, &r.Jobs[i]))
	}
	return stressPage().Execute(w, view)
}

// stressView is a report as the template shows it.
type stressView struct {
	*stress.Report
	Name string
	Jobs []stressJob
}

// stressJob is a job as the template shows it.
type stressJob struct {
	*stress.JobReport
	Anchor   string
	Counts   []verdictCount
	Worst    stress.Verdict // of all rows
	Rows     []stress.Row   // that are not complete, the worst first
	Covered  int            // combinations that are left out, since one of their behaviours has the same verdict alone
	Complete []stress.Row
	Parts    []stress.GroupCount
	Left     []stress.Reason
}

// verdictCount is the number of rows that have a verdict.
type verdictCount struct {
	Verdict stress.Verdict
	N       int
}

func newStressJob(n int, j *stress.JobReport) stressJob {
	v := stressJob{JobReport: j, Anchor: anchor(n), Parts: j.Groups(), Left: j.Reasons(), Worst: stress.Complete}
	var bad []stress.Verdict
	for _, verdict := range stress.Verdicts() {
		rows := j.Sorted(verdict)
		v.Counts = append(v.Counts, verdictCount{verdict, len(rows)})
		if verdict == stress.Complete {
			v.Complete = rows
			continue
		}
		if len(rows) > 0 && v.Worst == stress.Complete {
			v.Worst = verdict
		}
		bad = append(bad, verdict)
	}
	v.Rows, v.Covered = j.Uncovered(bad...)
	return v
}
