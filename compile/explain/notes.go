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

// A Note says what a part of the configuration does.
type Note struct {
	Path string // config path of the part; it need not be written
	Text string
	Last bool // it is about something that the object at Path does not have
}

// Notes returns what the parts of the configuration do: which rules they have become, what the
// jobs do with them, and which rules are in force by default. written returns the text at a
// config path, or "": an expression that is there already is not repeated.
func (e *Explanation) Notes(written func(path string) string) []Note {
	n := &notes{explanation: e, written: written, jobs: map[Note][]int{}, effects: map[string][]string{}}
	n.scopes = scopesOf(e.Jobs)
	n.locations = regexp.MustCompile(`(, | at )?` + regexp.QuoteMeta(e.Config) + `:\d+:\d+`)
	n.of = noJob
	for _, w := range e.Warnings {
		text := "warning: " + w.Message
		if w.Hint != "" {
			text += "; " + w.Hint
		}
		n.add(Note{Path: w.Path, Text: text})
	}
	if x := e.Auth; x != nil {
		n.add(Note{Path: x.path, Text: fmt.Sprintf("Credentials: %s.", x.Says)})
		for i := range x.Rules {
			r := &x.Rules[i]
			n.add(Note{Path: r.Origin.Path, Text: strings.TrimSuffix("rule "+r.ID+": "+n.source(r, r.Origin.Path), ": ")})
		}
	}
	for i := range e.Jobs {
		n.of = i
		n.job(&e.Jobs[i])
	}
	return n.list()
}

// notes collects notes. One that several jobs have is kept once.
type notes struct {
	explanation *Explanation
	written     func(path string) string
	all         []Note
	jobs        map[Note][]int      // that have the note
	effects     map[string][]string // the rules that a setting has an effect on, by its path
	scopes      scopes
	locations   *regexp.Regexp // of places in the file, whose lines change
	of          int            // the job that notes are made for
}

// noJob is the job of notes that are about none.
const noJob = -1

func (n *notes) add(note Note) {
	if n.jobs[note] == nil {
		n.all = append(n.all, note)
	}
	if had := n.jobs[note]; len(had) == 0 || had[len(had)-1] != n.of { // one job after another
		n.jobs[note] = append(had, n.of)
	}
}

// jobsInWords names jobs: "jobs users, orders", or the first of very many.
func jobsInWords(names []string) string {
	const most = 20
	switch n := len(names); {
	case n == 1:
		return "job " + names[0]
	case n > most:
		return fmt.Sprintf("jobs %s and %d others", strings.Join(names[:most], ", "), n-most)
	}
	return "jobs " + strings.Join(names, ", ")
}

// list returns the notes. One that only some of the jobs have names them.
func (n *notes) list() []Note {
	for i, note := range n.all {
		n.all[i].Text = n.locations.ReplaceAllString(note.Text, "")
		if jobs := n.jobs[note]; jobs[0] != noJob && !n.concernsAll(note.Path, len(jobs)) {
			var names []string
			for _, job := range jobs {
				names = append(names, n.explanation.Jobs[job].Job)
			}
			n.all[i].Text = jobsInWords(names) + ": " + n.all[i].Text
		}
	}
	for _, path := range slices.Sorted(maps.Keys(n.effects)) {
		n.all = append(n.all, Note{Path: path, Text: "has an effect on " + strings.Join(n.effects[path], ", ")})
	}
	return n.all
}

// scopes are the parts of a configuration that are about some of the jobs.
type scopes struct {
	jobs   map[string]bool // config paths of jobs
	paging map[string]int  // how many jobs a pagination, or a scroller, is for, by its path
}

func scopesOf(jobs []JobExplanation) scopes {
	s := scopes{jobs: map[string]bool{}, paging: map[string]int{}}
	for i := range jobs {
		s.jobs[jobs[i].path] = true
		for path := jobs[i].paging; path != ""; path = diag.Parent(path) { // what is around it is for them, too
			s.paging[path]++
		}
	}
	return s
}

// concernsAll reports whether so many jobs are all that a part of the configuration is about.
func (n *notes) concernsAll(path string, jobs int) bool {
	for ; path != ""; path = diag.Parent(path) {
		if n.scopes.jobs[path] {
			return true
		}
		if about, known := n.scopes.paging[path]; known {
			return jobs >= about
		}
	}
	return jobs >= len(n.explanation.Jobs)
}

// job adds what a job does.
func (n *notes) job(x *JobExplanation) {
	n.add(Note{Path: x.path, Text: fmt.Sprintf("Job %s. %s", x.Job, x.Summary)})
	if x.Method != "" && x.Sequential != "" {
		n.add(Note{Path: x.path, Text: "Pages cannot be requested ahead (--prefetch): " + x.Sequential + "."})
	}
	n.items(x)
	if x.Limit != nil {
		n.add(Note{Path: x.LimitFrom.Path, Text: "the page size is " + value.Preview(x.Limit)})
	}
	if p := x.Partitions; p != nil {
		n.add(Note{Path: diag.Join(x.path, "for"), Text: fmt.Sprintf("The job is run %s. How many times: %s. "+
			"What may run at the same time, with --jobs: %s.", p.Says, p.Bounds, p.Together)})
		n.rules(x.variables())
	}
	for _, list := range [][]RuleExplanation{x.Computed, x.State, x.Next, x.Shape, x.Stops, x.OnError, x.Keep} {
		n.rules(list)
	}
	if x.NoNext != nil && x.paging != "" && x.NoNext.Origin.Path != "" {
		n.add(Note{Path: place(x.NoNext), Text: x.NoNext.ends()})
	}
	n.byDefault(x)
}

// items says where the items are.
func (n *notes) items(x *JobExplanation) {
	if x.Items.From.Path != "" {
		n.add(Note{Path: x.Items.From.Path, Text: "the items are " + x.Items.Where})
		return
	}
	n.add(Note{Path: x.path, Text: "dataField: the items are " + x.Items.Where, Last: true})
}

// rules adds what rules do at the places where they come from.
func (n *notes) rules(list []RuleExplanation) {
	for i := range list {
		r := &list[i]
		n.rule(r, place(r))
		for _, u := range r.Settings {
			n.setting(u, r.ID)
		}
	}
}

// place returns the config path that a rule is noted at; "" is none.
func place(r *RuleExplanation) string {
	switch r.Origin.By.Kind {
	case rules.AuthorMethod:
		return diag.Join(r.Origin.Path, "method")
	case rules.AuthorDefault:
		return ""
	}
	return r.Origin.Path
}

// setting says which rules a setting of a method has an effect on.
func (n *notes) setting(u rules.Use, id string) {
	path := u.Origin.Path
	if u.Origin.By.Kind != rules.AuthorDefault && path != "" && !slices.Contains(n.effects[path], id) {
		n.effects[path] = append(n.effects[path], id)
	}
}

// rule adds what a rule does, at a path or, if that is empty, where it comes from.
func (n *notes) rule(r *RuleExplanation, path string) {
	if path == "" {
		if path = r.Origin.Path; path == "" || r.Origin.By.Kind == rules.AuthorDefault {
			return
		}
	}
	n.add(Note{Path: path, Text: n.sentence(r, path)})
}

// sentence says what a rule is and does: "rule offset.empty: count == 0; the list ends …".
func (n *notes) sentence(r *RuleExplanation, path string) string {
	var parts []string
	if source := n.source(r, path); source != "" {
		parts = append(parts, source)
	}
	for _, says := range r.does() {
		if says != n.written(path) {
			parts = append(parts, says)
		}
	}
	return "rule " + r.ID + ": " + strings.Join(parts, "; ")
}

// source returns the expression of a rule, or "" if it is written at a path already.
func (n *notes) source(r *RuleExplanation, path string) string {
	if n.written(path) == r.rule.Source || r.rule.Role == rules.Remove {
		return ""
	}
	return r.Source
}

// byDefault adds the rules that are in force although the configuration does not have them, and
// those that are not in force.
func (n *notes) byDefault(x *JobExplanation) {
	if x.paging == "" {
		return
	}
	outer, _, _ := strings.Cut(x.paging, ".scrollers.") // where one text is enough for all
	for i := range x.Stops {
		if r := &x.Stops[i]; r.Origin.By.Kind == rules.AuthorDefault {
			n.add(Note{Path: diag.Join(outer, "guards"), Text: "by default " + n.sentence(r, ""), Last: true})
		}
	}
	for _, u := range x.Unused {
		if u.Origin.By.Kind != rules.AuthorDefault && u.Origin.At.Line > 0 {
			n.add(Note{Path: u.Origin.Path, Text: fmt.Sprintf("not in effect: rule %s: %s", u.ID, u.Why)})
		}
	}
	var warns []string
	for _, r := range x.Audit {
		if r.Never == "" {
			warns = append(warns, r.ID)
		}
	}
	if warns != nil {
		n.add(Note{Path: outer, Last: true,
			Text: "by default these rules warn at the end of a complete list, if they find signs of missing or repeated items: " +
				strings.Join(warns, ", ")})
	}
}

// DefaultsInEffect returns a function that reports of a setting without a value, by its config
// path, whether its default has an effect on requests or rules. Settings of a pagination that no
// rule depends on have none.
func (e *Explanation) DefaultsInEffect() func(path string) bool {
	used, paging := map[string]bool{}, map[string]bool{}
	for i := range e.Jobs {
		x := &e.Jobs[i]
		paging[x.paging] = x.paging != ""
		for _, list := range [][]RuleExplanation{x.Stops, x.State, x.Next} {
			for _, r := range list {
				for _, u := range r.Settings {
					used[u.Origin.Path] = true
				}
				if r.FirstBy != nil {
					used[r.FirstBy.Origin.Path] = true
				}
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
