package stress

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// A tree is a tree of jobs that can be put under stress as a whole.
type tree struct {
	suite *Suite
	root  *compile.Job
	plans map[string]*plan
	usual []string // findings about the partitions of an ordinary API
}

// stressTree puts a tree of jobs under stress. It returns the tree with rows about its partitions. If there
// are none, the tree is nil and why has the reason.
func (s *Suite) stressTree(ctx context.Context, root *compile.Job, plans map[string]*plan) (t *tree, rows []Row, why string) {
	if !root.HasPartitions() {
		return nil, nil, ""
	}
	copied := copyOf(root, nil, plans)
	if copied == nil {
		return nil, nil, "a job of the tree has no model"
	}
	t = &tree{suite: s, root: copied}
	if why := t.fit(ctx, plans); why != "" {
		return nil, nil, why
	}
	for _, b := range treeBehaviours {
		if b.trees != nil && !b.trees(t) {
			continue
		}
		r := t.row(ctx, b)
		if r.Verdict == Silent {
			r.Fix = t.fix(ctx, b)
		}
		rows = append(rows, r)
	}
	return t, rows, ""
}

// branches reports whether a job of the tree has jobs for its items.
func (t *tree) branches() bool { return len(t.root.Children) > 0 }

// repeats reports whether the list of a job may have an item for other jobs on two pages.
func (t *tree) repeats() bool {
	return slices.ContainsFunc(t.root.WithDescendants(), func(j *compile.Job) bool { return t.plans[j.ID()].canRepeat() })
}

// windowed reports whether a job of the tree has windows.
func (t *tree) windowed() bool { return t.hasWindow(func(*rules.Window) bool { return true }) }

// timed reports whether a job of the tree has windows of times.
func (t *tree) timed() bool {
	return t.hasWindow(func(w *rules.Window) bool { return w.Step.IsTime() })
}

func (t *tree) hasWindow(like func(*rules.Window) bool) bool {
	return slices.ContainsFunc(t.root.WithDescendants(), func(j *compile.Job) bool {
		return slices.ContainsFunc(j.For, func(v compile.ForVariable) bool { return v.Window != nil && like(v.Window) })
	})
}

// row judges a run of the tree with a behaviour.
func (t *tree) row(ctx context.Context, b *Behaviour) Row {
	return t.suite.judge(t.runWith(ctx, b).run, combination{b}, t.usual)
}

// fix tries to split windows, or gives advice.
func (t *tree) fix(ctx context.Context, b *Behaviour) *Fix {
	advice := &Fix{Says: cmp.Or(b.advice, "No setting finds this. Remove duplicates by the identifiers of the items, "+
		"and sort the list of the parent by a key that is unique.")}
	if !b.splits {
		return advice
	}
	var changes []Change
	text := ""
	for _, job := range t.root.WithDescendants() {
		if n := len(job.For); n > 0 && job.For[n-1].Window != nil && job.Analysis().SplitVariable() == nil {
			p := t.plans[job.ID()]
			path := append(keysOf(job.Spec().Path()), "for", job.For[n-1].Name, "splitWhen")
			most := (&api{plan: p, apiPartition: apiPartition{job: job}}).capacity()
			changes = append(changes, Change{Path: path, Value: fmt.Sprintf("total.items >= %d", most)})
			text = fmt.Sprintf("Split a window that has as many items as the API returns for one, here %d.", most)
		}
	}
	if changes == nil {
		return advice
	}
	suite, err := t.suite.changed(changes)
	if err != nil {
		return advice
	}
	i := slices.IndexFunc(suite.Jobs, func(j *compile.Job) bool { return j.ID() == t.root.ID() })
	changed := &tree{suite: suite, root: copyOf(suite.Jobs[i], nil, t.plans), plans: t.plans, usual: t.usual}
	if changed.row(ctx, ordinaryTree).Verdict != Complete {
		return advice
	}
	if v := changed.row(ctx, b).Verdict; v == Complete || v == Reported {
		return &Fix{Says: text, Changes: changes, Verdict: v}
	}
	return advice
}

// copyOf returns a tree of jobs as the model needs them, or nil if one has no model.
func copyOf(job, parent *compile.Job, plans map[string]*plan) *compile.Job {
	p := plans[job.ID()]
	if p == nil {
		return nil
	}
	changed := p.jobOf(job)
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

// fit finds values for the members that children read of their parents' items, such that every
// job has partitions and the tree is complete.
func (t *tree) fit(ctx context.Context, plans map[string]*plan) string {
	var last *treeRun
	for _, literal := range append([]any{nil}, t.literals()...) {
		for _, text := range []bool{true, false} {
			t.plans = map[string]*plan{}
			t.prepare(t.root, plans, text, literal)
			r := t.runWith(ctx, ordinaryTree)
			if len(r.count) == len(t.plans) && t.suite.judge(r.run, combination{ordinaryTree}, nil).Verdict == Complete {
				t.usual = r.findings()
				return ""
			}
			if last == nil || r.requests > last.requests {
				last = r
			}
		}
	}
	switch {
	case last.stopped:
		return fmt.Sprintf("the tree makes more than %d requests", maxTreeRequests)
	case last.err != nil:
		return "the partitions of the model fail: " + message(last.err)
	}
	if served, missing, duplicated := last.tally(); len(last.count) == len(t.plans) && missing+duplicated > 0 {
		return fmt.Sprintf("in the model, %d of %d items are obtained once", served-missing-duplicated, served)
	}
	if len(last.count) == len(t.plans) {
		return "the tree is not complete: " + last.why()
	}
	return "the items of the model have no partitions"
}

// prepare adds the members that children read to the items of their parents, in the plans of a tree. text
// says whether the members are texts. A literal that is not nil gives the members that decide
// whether an item has a partition their value.
func (t *tree) prepare(job *compile.Job, plans map[string]*plan, text bool, literal any) {
	p := *plans[job.ID()]
	p.parent = len(job.Children) > 0
	for _, child := range job.Children {
		decides := decisive(child)
		for _, path := range child.ItemPaths {
			if !slices.ContainsFunc(p.keyPaths, func(had []string) bool { return slices.Equal(had, path) }) {
				only := literal != nil && slices.ContainsFunc(decides, func(d []string) bool { return slices.Equal(d, path) })
				p.references = append(p.references, reference{path, text, only, literal})
			}
		}
		t.prepare(child, plans, text, literal)
	}
	t.plans[job.ID()] = &p
}

// A reference is a member of an item that other jobs read.
type reference struct {
	path    []string
	text    bool
	literal bool // whether all items have the same value
	value   any
}

func (r reference) of(item row) any {
	near, isNear := r.value.(nearby)
	switch {
	case r.literal && isNear:
		return near.number + near.step*(item.number%partitionOffset)
	case r.literal:
		return r.value
	case r.text:
		return fmt.Sprintf("k%d", item.number)
	}
	return item.number
}

// nearby stands for values that differ from item to item, all less or all greater than a number, in steps of -1 or 1.
type nearby struct{ number, step int }

// decisive returns the paths that decide whether an item has a partition of a job.
func decisive(job *compile.Job) (paths [][]string) {
	for _, s := range job.For {
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

// literals returns the constants in the conditions on the items of others, and numbers near them.
func (t *tree) literals() (literals []any) {
	for _, j := range t.root.WithDescendants() {
		for _, s := range j.For {
			if s.When != nil {
				literals = append(append(literals, s.When.Literals()...), true)
			}
		}
	}
	for _, v := range slices.Clone(literals) {
		if n, isNumber := numberIn(v); isNumber {
			literals = append(literals, nearby{n, -1}, nearby{n, 1})
		}
	}
	return literals
}

// newRun returns a run of the tree with a behaviour.
func (t *tree) newRun(b *Behaviour) *treeRun {
	r := &treeRun{run: newRun(maxTreeRequests), plans: t.plans, known: map[string]*api{}, latest: map[string]*api{},
		count: map[string]int{}, build: b.build}
	r.apiOf, r.rowOf = r.partition, treeRowOf
	return r
}

// runWith runs the tree with a behaviour.
func (t *tree) runWith(ctx context.Context, b *Behaviour) *treeRun {
	r := t.newRun(b)
	walk := t.suite.Walk(Environment{Transport: r, Clock: r})
	walk.Jobs = nil
	enough := walk.Quota == nil // the model, not the configuration, ends the run after some partitions
	if enough {
		walk.Quota = partition.NewQuota(maxPartitions)
	}
	r.results, r.err = walk.Run(ctx, t.root, r.receive)
	delete(r.obtained, 0) // an empty response that is a single item has no row
	r.end = runtime.Result{Outcome: rules.Complete, Message: "complete: " + wording.Counted(len(r.apis), "partition")}
	for _, result := range r.results {
		ended := enough && result.Outcome == rules.Limited && result.Reason == runtime.ReasonPartitionLimit
		if result.Outcome != rules.Complete && result.Outcome != "" && !ended {
			r.end = result
		}
	}
	return r
}

// A treeRun is a run of a tree of jobs. Each partition has an API of its own.
type treeRun struct {
	*run
	plans  map[string]*plan // plans by job
	known  map[string]*api  // models by partition
	latest map[string]*api  // models of the latest windows by scope, or by scope and request
	count  map[string]int   // number of partitions by job
	build  func(*treeRun, *api, int)

	partitions []runtime.Partition // partitions of the models that have answered

	overflown *span
	scope     string // scope of the window that overflows: the values of the other variables
	dense     []row  // rows of the window that overflows
}

// A span is a window.
type span struct{ from, to float64 }

// The limits of the run of a tree. A run that exceeds them is ended, and judged by the partitions
// that began.
const (
	maxTreeRequests = 1500
	maxPartitions   = 40
)

// partitionOffset is the difference between the numbers of the rows of two partitions.
const partitionOffset = 10_000

// treeRows is the number of items in a list whose items are variables of other jobs, and
// maxTreePage the size of a page up to which a list of a tree has several.
const (
	treeRows    = 3
	maxTreePage = 100
)

// partition returns the API of a partition.
func (r *treeRun) partition(p runtime.Partition) *api {
	id := p.Job.ID()
	key := id + "\n" + p.Label()
	if a := r.known[key]; a != nil {
		return a
	}
	n := r.plans[id].rowsOfPartition()
	a := r.plans[id].api(0)
	a.job, a.base, a.offset = p.Job, "", partitionOffset*(len(r.apis)+1) // the links of a partition lead to it
	a.window, a.scope = windowOf(p), scopeOf(p)
	a.rows = a.newRows(n)
	if p.Job.Analysis().SplitVariable() != nil {
		a.rows = a.rows[:min(n, a.capacity()-1)]
	}
	a.truth = slices.Clone(a.rows)
	r.count[id]++
	if r.build != nil {
		r.build(r, a, r.count[id])
	}
	if !a.paged {
		a.size = max(1, len(a.rows))
	}
	if !p.Job.Spec().Emits {
		a.truth = nil
	}
	r.known[key] = a
	r.apis, r.partitions = append(r.apis, a), append(r.partitions, p)
	return a
}

// rowsOfPartition returns the number of rows of a list that is one of several.
func (p *plan) rowsOfPartition() int {
	switch {
	case p.parent:
		return treeRows
	case p.single && !p.paged:
		return 1
	case p.paged:
		return min(p.pageSize, maxTreePage) + 1
	}
	return 2
}

// windowOf returns the last window among the variables of a partition, or nil.
func windowOf(p runtime.Partition) *span {
	for _, s := range slices.Backward(p.Job.For) {
		if s.Window == nil {
			continue
		}
		members, _ := value.Members(p.Binding[s.Name])
		from, _ := members.Get("from")
		to, _ := members.Get("to")
		a, ok := numberOf(from)
		b, toIsNumber := numberOf(to)
		if end, isTime := to.(time.Time); isTime && s.Window.Granularity != (times.Span{}) { // the windows of the model are half open
			b, _ = numberOf(s.Window.Granularity.After(end, 1))
		} else if unit, isNumber := numberOf(s.Window.Granularity.Number); isNumber {
			b += unit
		}
		if ok && toIsNumber {
			return &span{a, b}
		}
	}
	return nil
}

// scopeOf returns the values of the variables that are not windows.
func scopeOf(p runtime.Partition) string {
	binding := maps.Clone(p.Binding)
	for _, s := range p.Job.For {
		if s.Window != nil {
			delete(binding, s.Name)
		}
	}
	return p.Job.ID() + "\n" + runtime.Partition{Job: p.Job, Binding: binding}.Label()
}

func numberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case time.Time:
		return float64(v.UnixMilli()), true
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
