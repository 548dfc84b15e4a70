package explain

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A Note explains a part of the configuration.
type Note struct {
	Path   string // config path of the part; it need not be written
	Text   string
	Absent bool // the note is about a key that the object at Path does not have
}

// Notes returns what the parts of the configuration do: which rules they have become, what the
// jobs do with them, and which rules are in force by default. written returns the text at a
// config path, or "": a note does not repeat an expression that the text at its path has.
func (e *Explanation) Notes(written func(path string) string) []Note {
	n := &notes{explanation: e, written: written, effects: map[string][]string{}, coverage: coverageOf(e.Jobs), jobIndex: noJob}
	for _, w := range e.Warnings {
		n.add(w.Path, strings.TrimSuffix("warning: "+w.Message+"; "+w.Hint, "; "))
	}
	if x := e.Auth; x != nil {
		n.add(x.path, fmt.Sprintf("Credentials: %s.", x.Says))
		if x.Request != "" {
			n.add(x.path, "Obtained by "+x.Request)
		}
		for i := range x.Rules {
			r := &x.Rules[i]
			n.add(r.Origin.Path, strings.TrimSuffix("rule "+r.ID+": "+n.source(r, r.Origin.Path), ": "))
		}
	}
	for i := range e.Jobs {
		n.jobIndex = i
		n.addJob(&e.Jobs[i])
	}
	return n.list()
}

// notes collects notes. A note that several jobs have is collected once.
type notes struct {
	sharing[Note]
	explanation *Explanation
	written     func(path string) string
	effects     map[string][]string // the rules that a setting has an effect on, by its path
	coverage    coverage
	jobIndex    int // the job that notes are made for
}

// noJob is the jobIndex of notes that are about no job.
const noJob = -1

func (n *notes) add(path, text string) { n.sharing.add(Note{Path: path, Text: text}, n.jobIndex) }
func (n *notes) addAbsent(path, text string) {
	n.sharing.add(Note{Path: path, Text: text, Absent: true}, n.jobIndex)
}

// list returns the notes. A note that only some of the jobs have names these jobs. Places in the file
// are left out, since the notes change its lines.
func (n *notes) list() []Note {
	places := regexp.MustCompile(`(, | at )?` + regexp.QuoteMeta(n.explanation.Config) + `:\d+:\d+`)
	list := make([]Note, len(n.values))
	for i, note := range n.values {
		list[i] = note
		list[i].Text = places.ReplaceAllString(note.Text, "")
		if jobs := n.jobs[note]; jobs[0] != noJob && !n.concernsAll(note.Path, len(jobs)) {
			list[i].Text = jobsInWords(n.explanation.jobIDs(jobs)) + ": " + list[i].Text
		}
	}
	for _, path := range slices.Sorted(maps.Keys(n.effects)) {
		list = append(list, Note{Path: path, Text: "has an effect on " + strings.Join(n.effects[path], ", ")})
	}
	return list
}

// A coverage holds the parts of a configuration that concern only some of the jobs.
type coverage struct {
	jobs   map[string]bool // config paths of jobs
	paging map[string]int  // how many jobs a pagination, or a scroller, is for, by its path
}

func coverageOf(jobs []JobExplanation) coverage {
	c := coverage{jobs: map[string]bool{}, paging: map[string]int{}}
	for i := range jobs {
		c.jobs[jobs[i].path] = true
		for path := jobs[i].paging; path != ""; path = diag.Parent(path) { // the enclosing objects are for them, too
			c.paging[path]++
		}
	}
	return c
}

// concernsAll reports whether a note about a path, which a number of jobs share, holds for every job that
// the path concerns.
func (n *notes) concernsAll(path string, jobs int) bool {
	for ; path != ""; path = diag.Parent(path) {
		if n.coverage.jobs[path] {
			return true
		}
		if about, known := n.coverage.paging[path]; known {
			return jobs >= about
		}
	}
	return jobs >= len(n.explanation.Jobs)
}

// addJob adds the notes on a job.
func (n *notes) addJob(x *JobExplanation) {
	n.add(x.path, fmt.Sprintf("Job %s. %s", x.Job, x.Summary))
	if x.Method != "" && x.Sequential != "" {
		n.add(x.path, "Pages cannot be requested ahead (--prefetch): "+x.Sequential+".")
	}
	if at := x.Items.From.Path; at != "" {
		n.add(at, "the items are "+x.Items.Where)
	} else {
		n.addAbsent(x.path, "dataField: the items are "+x.Items.Where)
	}
	if x.Limit != nil {
		n.add(x.LimitFrom.Path, "the page size is "+value.Preview(x.Limit))
	}
	if p := x.Partitions; p != nil {
		n.add(diag.Join(x.path, "for"), fmt.Sprintf("The job is run %s. How many times: %s. "+
			"What may run at the same time, with --jobs: %s.", p.Says, p.Bounds, p.Together))
	}
	list := slices.Concat(x.variables(), x.Computed, x.State, x.Next, x.Shape, x.Stops, x.OnError, x.Keep)
	for i := range list {
		n.addRule(&list[i])
	}
	if x.NoNext != nil && x.paging != "" && x.NoNext.Origin.Path != "" {
		n.add(place(x.NoNext), x.NoNext.sentence())
	}
	n.addDefaults(x)
}

// addRule adds what a rule does at the place where it comes from, and which settings have an
// effect on it.
func (n *notes) addRule(r *RuleExplanation) {
	if path := place(r); path != "" {
		n.add(path, n.sentence(r, path))
	}
	for _, u := range r.Settings {
		path := u.Origin.Path
		if u.Origin.By.Kind != rules.AuthorDefault && path != "" && !slices.Contains(n.effects[path], r.ID) {
			n.effects[path] = append(n.effects[path], r.ID)
		}
	}
}

// place returns the config path for the note on a rule, or "" for a rule that is in force by default.
func place(r *RuleExplanation) string {
	switch r.Origin.By.Kind {
	case rules.AuthorMethod:
		return diag.Join(r.Origin.Path, "method")
	case rules.AuthorDefault:
		return ""
	}
	return r.Origin.Path
}

// sentence describes a rule with its effect: "rule offset.empty: count == 0; the list ends …".
func (n *notes) sentence(r *RuleExplanation, path string) string {
	var clauses []string
	if source := n.source(r, path); source != "" {
		clauses = append(clauses, source)
	}
	for _, clause := range r.clauses() {
		if clause != n.written(path) {
			clauses = append(clauses, clause)
		}
	}
	return "rule " + r.ID + ": " + strings.Join(clauses, "; ")
}

// source returns the expression of a rule, or "" if it is written at a path already.
func (n *notes) source(r *RuleExplanation, path string) string {
	if n.written(path) == r.rule.Source || r.rule.Role == rules.RoleRemove {
		return ""
	}
	return r.Source
}

// addDefaults adds notes on the rules that are in force although the configuration does not have them,
// and on the rules that are not in force.
func (n *notes) addDefaults(x *JobExplanation) {
	if x.paging == "" {
		return
	}
	outer, _, _ := strings.Cut(x.paging, ".scrollers.") // one note is enough for all scrollers
	for i := range x.Stops {
		if r := &x.Stops[i]; r.Origin.By.Kind == rules.AuthorDefault {
			n.addAbsent(diag.Join(outer, "guards"), "by default "+n.sentence(r, ""))
		}
	}
	for _, u := range x.Unused {
		if u.Origin.By.Kind != rules.AuthorDefault && u.Origin.At.Line > 0 {
			n.add(u.Origin.Path, fmt.Sprintf("not in effect: rule %s: %s", u.ID, u.Why))
		}
	}
	audits := map[string][]string{}
	for _, r := range x.Audit {
		if r.Never == "" {
			does := n.explanation.afterAudit(r)
			audits[does] = append(audits[does], r.ID)
		}
	}
	for _, does := range []string{auditFails, auditWarns} {
		if ids := audits[does]; ids != nil {
			n.addAbsent(outer, fmt.Sprintf("by default the audit at the end of a list %s if it finds %s", does, strings.Join(ids, ", ")))
		}
	}
}

// DefaultsInEffect returns a function that takes the config path of a setting without a value, and
// reports whether its default affects requests or rules. The default of a setting of a pagination
// that no rule depends on does not.
func (e *Explanation) DefaultsInEffect() func(path string) bool {
	used, paging := map[string]bool{}, map[string]bool{}
	for i := range e.Jobs {
		x := &e.Jobs[i]
		paging[x.paging] = x.paging != ""
		for _, r := range slices.Concat(x.Stops, x.State, x.Next) {
			for _, u := range r.Settings {
				used[u.Origin.Path] = true
			}
			if r.FirstBy != nil {
				used[r.FirstBy.Origin.Path] = true
			}
		}
	}
	return func(path string) bool {
		for at := diag.Parent(path); at != ""; at = diag.Parent(at) {
			if paging[at] || strings.HasSuffix(at, "api.pagination") {
				return used[path]
			}
		}
		return true
	}
}
