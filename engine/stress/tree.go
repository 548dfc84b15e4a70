package stress

import (
	"context"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
)

// A forest is a tree of jobs that can be put under stress as a whole.
type forest struct {
	suite *Suite
	root  *compile.Job
	plans map[string]*plan
}

// tree returns rows about the partitions of a tree of jobs, or why there are none.
func (s *Suite) tree(ctx context.Context, root *compile.Job, plans map[string]*plan) (rows []Row, why string) {
	if !root.Partitioned() {
		return nil, ""
	}
	copied := copyOf(root, nil, plans)
	if copied == nil {
		return nil, "a job of the tree has no model"
	}
	f := &forest{suite: s, root: copied}
	if why := f.grow(ctx, plans); why != "" {
		return nil, why
	}
	for _, b := range treeBehaviours {
		if !f.suits(b) {
			continue
		}
		r := f.row(b, f.under(ctx, b))
		if r.Verdict == Silent {
			r.Fix = f.fix(ctx, b)
		}
		rows = append(rows, r)
	}
	return rows, ""
}

// suits reports whether a behaviour can apply to the tree.
func (f *forest) suits(b treeBehaviour) bool {
	paged := func(j *compile.Job) bool { return f.plans[j.Set.Job.ID].canRepeat() }
	return (!b.windows || f.has(windowed)) && (!b.children || len(f.root.Children) > 0) && (!b.paged || f.has(paged))
}

// fix tries to split windows, or gives advice.
func (f *forest) fix(ctx context.Context, b treeBehaviour) *Fix {
	if !b.windows {
		return &Fix{Says: "No setting finds this. Remove duplicates by the identifiers of the items, " +
			"and sort the list of the parent by a key that is unique."}
	}
	var changes []Change
	says := ""
	for _, job := range f.jobs() {
		if n := len(job.Sources); n > 0 && job.Sources[n-1].Window != nil && job.Splits() == nil {
			p := f.plans[job.Set.Job.ID]
			path := append(keysOf(job.Set.Job.Path()), "for", job.Sources[n-1].Name, "splitWhen")
			most := (&api{plan: p, job: job}).capacity()
			changes = append(changes, Change{Path: path, Value: fmt.Sprintf("total.items >= %d", most)})
			says = fmt.Sprintf("Split a window that has as many items as the API returns for one, here %d.", most)
		}
	}
	advice := &Fix{Says: "Set splitWhen to a rule that is met when a window has as many items as the API returns for one, " +
		"or make the windows smaller."}
	if changes == nil {
		return advice
	}
	suite, err := f.suite.changed(changes)
	if err != nil {
		return advice
	}
	i := slices.IndexFunc(suite.Jobs, func(j *compile.Job) bool { return j.Set.Job.ID == f.root.Set.Job.ID })
	changed := &forest{suite: suite, root: copyOf(suite.Jobs[i], nil, f.plans), plans: f.plans}
	if changed.row(treeBehaviours[0], changed.under(ctx, treeBehaviours[0])).Verdict != Complete {
		return advice
	}
	if v := changed.row(b, changed.under(ctx, b)).Verdict; v == Complete || v == Reported {
		return &Fix{Says: says, Changes: changes, Verdict: v}
	}
	return advice
}

// jobs returns the jobs of the tree.
func (f *forest) jobs() (all []*compile.Job) {
	f.has(func(j *compile.Job) bool { all = append(all, j); return false })
	return all
}

func windowed(j *compile.Job) bool {
	return slices.ContainsFunc(j.Sources, func(s compile.Source) bool { return s.Window != nil })
}

func (f *forest) has(is func(*compile.Job) bool) bool {
	var visit func(*compile.Job) bool
	visit = func(j *compile.Job) bool { return is(j) || slices.ContainsFunc(j.Children, visit) }
	return visit(f.root)
}

// copyOf returns a tree of jobs as the model needs them, or nil if one has no model.
func copyOf(job, parent *compile.Job, plans map[string]*plan) *compile.Job {
	p := plans[job.Set.Job.ID]
	if p == nil {
		return nil
	}
	changed := listed(job, p.unlimited)
	changed.Parent, changed.Children = parent, nil
	for _, child := range job.Children {
		c := copyOf(child, changed, plans)
		if c == nil {
			return nil
		}
		changed.Children = append(changed.Children, c)
	}
	return changed
}

// grow finds values for what jobs read of the items of others, with which every job has
// partitions and the tree is complete.
func (f *forest) grow(ctx context.Context, plans map[string]*plan) string {
	var last *world
	var why string
	for _, literal := range append([]any{nil}, f.literals()...) {
		for _, text := range []bool{true, false} {
			f.plans = map[string]*plan{}
			f.plant(f.root, plans, text, literal)
			w := f.under(ctx, treeBehaviours[0])
			if r := f.row(treeBehaviours[0], w); r.Verdict == Complete && len(w.count) == len(f.plans) {
				return ""
			}
			if last == nil || w.requests > last.requests {
				last, why = w, f.row(treeBehaviours[0], w).Why
			}
		}
	}
	switch {
	case last.stopped:
		return fmt.Sprintf("the tree makes more than %d requests", maxTreeRequests)
	case last.err != nil:
		return "the partitions of the model fail: " + message(last.err)
	}
	if len(last.count) == len(f.plans) {
		return "the tree is not complete: " + why
	}
	return "the items of the model have no partitions"
}

// plant prepares the plans of a tree: what jobs read of the items of others is a part of
// these items.
func (f *forest) plant(job *compile.Job, plans map[string]*plan, text bool, literal any) {
	p := *plans[job.Set.Job.ID]
	p.parent = len(job.Children) > 0
	for _, child := range job.Children {
		decides := decisive(child)
		for _, path := range child.ItemPaths {
			if !slices.ContainsFunc(p.keyPaths, func(had []string) bool { return slices.Equal(had, path) }) {
				only := literal != nil && slices.ContainsFunc(decides, func(d []string) bool { return slices.Equal(d, path) })
				p.grafts = append(p.grafts, graft{path, text, only, literal})
			}
		}
		f.plant(child, plans, text, literal)
	}
	f.plans[job.Set.Job.ID] = &p
}

// A graft is a member of an item that other jobs read.
type graft struct {
	path    []string
	text    bool
	literal bool // all items have the same value
	value   any
}

func (g graft) of(r row) any {
	switch {
	case g.literal:
		return g.value
	case g.text:
		return fmt.Sprintf("k%d", r.number)
	}
	return r.number
}

// decisive returns the paths that decide whether an item has a partition of a job.
func decisive(job *compile.Job) (paths [][]string) {
	for _, s := range job.Sources {
		if s.When == nil {
			continue
		}
		for _, r := range s.When.Reads {
			if len(r.Path) > 1 {
				paths = append(paths, r.Path[1:])
			}
		}
	}
	return paths
}

// literals returns the constants in the conditions on the items of others.
func (f *forest) literals() (all []any) {
	var visit func(*compile.Job)
	visit = func(j *compile.Job) {
		for _, s := range j.Sources {
			if s.When != nil {
				all = append(all, s.When.Literals()...)
				all = append(all, true)
			}
		}
		for _, c := range j.Children {
			visit(c)
		}
	}
	visit(f.root)
	return all
}

// under runs the tree with a behaviour.
func (f *forest) under(ctx context.Context, b treeBehaviour) *world {
	w := &world{
		suite: f.suite, plans: f.plans, apis: map[string]*api{}, count: map[string]int{}, build: b.build,
		clock: newClock(), obtained: map[int]int{},
	}
	w.run(ctx, f.root)
	return w
}

// row judges a run of a tree.
func (f *forest) row(b treeBehaviour, w *world) Row {
	r := Row{
		Behaviour: b.name, Group: "partitions", Says: b.says, Requests: w.requests, Obtained: len(w.obtained),
		Exit: f.suite.ExitStatus(w.err),
	}
	for _, a := range w.order {
		missing, duplicated := tally(a.truth, w.obtained)
		r.Served, r.Missing, r.Duplicated = r.Served+len(a.truth), r.Missing+missing, r.Duplicated+duplicated
	}
	r.Outcome = string(rules.Complete)
	said, guarded := w.err != nil, w.stopped
	for _, one := range w.results {
		if w.enough && one.Outcome == rules.Limited && one.Reason == runtime.LimitPartitions {
			continue
		}
		if one.Outcome != rules.Complete && one.Outcome != "" {
			r.Outcome, r.Reason, r.Why, said = string(one.Outcome), one.Reason, one.Message, true
		}
		guarded = guarded || one.Outcome == rules.Guarded
		for _, finding := range withoutCeiling(one.Findings) {
			r.Findings, said = append(r.Findings, finding.ID), true
		}
	}
	switch {
	case w.err != nil:
		r.Why = message(w.err)
	case r.Why == "":
		r.Why = fmt.Sprintf("complete: %s", value.Counted(len(w.order), "partition"))
	}
	r.Verdict = judge(r.Missing+r.Duplicated > 0, said, guarded, w.err != nil || r.Outcome != string(rules.Complete))
	return r
}
