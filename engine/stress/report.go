package stress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime"
)

// reportVersion is the version of a [Report] as JSON.
const reportVersion = 1

// Options control the extent of the stress test.
type Options struct {
	Seed  int // varies where behaviours happen; the same seed gives the same runs
	Depth int // number of behaviours combined at the same time: 1 (also for 0) or 2 (also for more)

	WithoutFixes bool // do not try fixes; trying them takes most of the time

	// Recording holds recorded pages. The model of a job takes over the shape of the first page of its list:
	// the members of the response and of an item. A model that the pages contradict is not tried.
	Recording Recorded
}

// depth returns the maximum number of combined behaviours.
func (o Options) depth() int { return min(max(o.Depth, 1), 2) }

// A Report describes how a configuration copes with all behaviours.
type Report struct {
	Version int         `json:"version"` // version of the JSON; keys may be added to a version
	Seed    int         `json:"seed"`
	Depth   int         `json:"depth"`
	Jobs    []JobReport `json:"jobs"`
}

// A JobReport describes how one job copes with all behaviours.
type JobReport struct {
	Job     string    `json:"job"`
	Model   []string  `json:"model,omitempty"`   // sentences that describe the API
	Unknown string    `json:"unknown,omitempty"` // reason why there is no model and the job was not tested
	Rows    []Row     `json:"rows"`
	Left    []LeftOut `json:"leftOut,omitempty"`

	modelled *modelledJob // the job with its model; nil if it has no model
	fixer    *fixer       // tries changes of the job; nil if it has no model
	tree     *tree        // the job and the jobs below it; nil if no row is about them
}

// A Row describes how the job copes with one behaviour.
type Row struct {
	Behaviour  string   `json:"behaviour"` // name of the behaviour; two names are joined by "+"
	Group      string   `json:"group,omitempty"`
	Says       string   `json:"says"`
	Requests   int      `json:"requests"`
	Served     int      `json:"served"`   // number of items in the list
	Obtained   int      `json:"obtained"` // number of these items that the job obtained
	Missing    int      `json:"missing"`
	Duplicated int      `json:"duplicated"`
	Outcome    string   `json:"outcome"`
	Reason     string   `json:"reason,omitempty"` // ID of the rule that ended the list
	Exit       int      `json:"exit"`
	Findings   []string `json:"findings,omitempty"`
	Verdict    Verdict  `json:"verdict"`
	Why        string   `json:"why"` // how the run ended, in one sentence
	Fix        *Fix     `json:"fix,omitempty"`
}

// LeftOut is a behaviour that does not apply.
type LeftOut struct {
	Behaviour string `json:"behaviour"`
	Why       string `json:"why"`
}

// A Verdict is the effect of a behaviour on the list.
type Verdict string

// Verdicts.
const (
	Complete Verdict = "complete" // every item was obtained once, and the run says so
	Reported Verdict = "reported" // items are missing or occur twice, or the run failed, and it says so
	Silent   Verdict = "SILENT"   // items are missing or occur twice, and the run says nothing
	Endless  Verdict = "endless"  // only a guard ended the run
)

// Count counts the rows of a verdict.
func (r *Report) Count(v Verdict) int {
	n := 0
	for _, j := range r.Jobs {
		for _, row := range j.Rows {
			if row.Verdict == v {
				n++
			}
		}
	}
	return n
}

// Summary says in one line how many rows have each verdict.
func (r *Report) Summary() string {
	text := strings.Join(lists.Map(verdicts, func(v Verdict) string { return fmt.Sprintf("%d %s", r.Count(v), v) }), ", ")
	if n := len(r.Unknown()); n > 0 {
		text += fmt.Sprintf("; %s without a model", wording.Counted(n, "job"))
	}
	return text
}

// Unknown returns the jobs that have no model, and were not put under stress.
func (r *Report) Unknown() []string {
	var ids []string
	for _, j := range r.Jobs {
		if j.Unknown != "" {
			ids = append(ids, j.Job)
		}
	}
	return ids
}

// verdicts are all verdicts, the worst first.
var verdicts = []Verdict{Silent, Endless, Reported, Complete}

// Verdicts returns all verdicts, the worst first.
func Verdicts() []Verdict { return slices.Clone(verdicts) }

// Sorted returns the rows of the verdicts, in the order of the verdicts.
func (j *JobReport) Sorted(of ...Verdict) (rows []Row) {
	for _, v := range of {
		for _, row := range j.Rows {
			if row.Verdict == v {
				rows = append(rows, row)
			}
		}
	}
	return rows
}

// Uncovered returns the rows of [JobReport.Sorted] without the covered rows, and the number of covered rows.
// A row is covered if it combines behaviours, and one of them alone has the same or a worse verdict.
func (j *JobReport) Uncovered(of ...Verdict) (rows []Row, covered int) {
	alone := map[string]int{}
	for _, row := range j.Rows {
		alone[row.Behaviour] = slices.Index(verdicts, row.Verdict)
	}
	rows = j.Sorted(of...)
	total := len(rows)
	rows = slices.DeleteFunc(rows, func(row Row) bool {
		return slices.ContainsFunc(row.parts(), func(name string) bool {
			n, known := alone[name]
			return known && n <= slices.Index(verdicts, row.Verdict)
		})
	})
	return rows, total - len(rows)
}

// parts returns the names of the combined behaviours, or nil for a single behaviour.
func (r *Row) parts() []string {
	names := strings.Split(r.Behaviour, "+")
	if len(names) == 1 {
		return nil
	}
	return names
}

// A GroupCount is the number of complete rows of a group.
type GroupCount struct {
	Group         string
	Complete, All int
}

// Groups counts the rows of each group, in the order of the rows. Rows of several behaviours
// are a group of their own.
func (j *JobReport) Groups() []GroupCount {
	var groups []GroupCount
	for _, row := range j.Rows {
		name := row.Group
		if row.parts() != nil {
			name = "combined"
		}
		i := slices.IndexFunc(groups, func(g GroupCount) bool { return g.Group == name })
		if i < 0 {
			i, groups = len(groups), append(groups, GroupCount{Group: name})
		}
		groups[i].All++
		if row.Verdict == Complete {
			groups[i].Complete++
		}
	}
	return groups
}

// A Reason is why behaviours were left out.
type Reason struct {
	Why        string
	Behaviours []string
}

// Reasons returns the behaviours that were left out, by reason.
func (j *JobReport) Reasons() []Reason {
	var reasons []Reason
	for _, left := range j.Left {
		i := slices.IndexFunc(reasons, func(r Reason) bool { return r.Why == left.Why })
		if i < 0 {
			i, reasons = len(reasons), append(reasons, Reason{Why: left.Why})
		}
		reasons[i].Behaviours = append(reasons[i].Behaviours, left.Behaviour)
	}
	return reasons
}

// Ending says how a run ended: by which rule, or by which error.
func (r *Row) Ending() string {
	switch {
	case r.Reason == "":
		return r.Why
	case r.Reason == runtime.ReasonError:
		return "failed: " + r.Why
	case r.Reason == runtime.ReasonEnd || r.Reason == runtime.ReasonNextRequest:
		return "ended: " + r.Why
	}
	return fmt.Sprintf("was stopped by %s: %s", r.Reason, r.Why)
}
