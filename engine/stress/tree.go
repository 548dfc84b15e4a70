package stress

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A treeBehaviour is one thing that an API may do to a job that runs more than once, or to
// the jobs for its items. It is a row of a table, like a [Behaviour].
type treeBehaviour struct {
	name, says string
	windows    bool                            // it needs windows
	children   bool                            // it needs jobs for the items of others
	paged      bool                            // it needs a parent with several pages
	build      func(w *world, a *api, nth int) // changes the API of a partition, which is the nth of its job, from 1
}

// treeBehaviours is the table of what an API may do to partitions.
var treeBehaviours = []treeBehaviour{
	{name: "partitions", says: "Every partition has a list of several items."},
	{name: "noPartitions", children: true, says: "The list of the parent is empty.", build: func(w *world, a *api, _ int) {
		if a.parent {
			a.rows, a.truth = nil, nil
		}
	}},
	{name: "emptyPartition", says: "The list of the second partition is empty.", build: second(func(a *api) { a.rows, a.truth = nil, nil })},
	{name: "partitionNotFound", says: "The requests of the second partition are answered with 404 Not Found.",
		build: second(func(a *api) { a.answers = append(a.answers, status(http.StatusNotFound, errorBody)) })},
	{name: "partitionForbidden", says: "The requests of the second partition are answered with 403 Forbidden.",
		build: second(func(a *api) { a.answers = append(a.answers, status(http.StatusForbidden, errorBody)) })},
	{name: "partitionFailsOnce", says: "The first request of the second partition is answered with 500 Internal Server Error.",
		build: second(func(a *api) {
			failed := false
			a.answers = append(a.answers, func(a *api, r *reply) {
				if !failed {
					failed = true
					status(http.StatusInternalServerError, errorBody)(a, r)
				}
			})
		})},
	{name: "parentTwice", children: true, paged: true, says: "The last item in the list of the parent is the first one again.",
		build: func(_ *world, a *api, _ int) {
			if a.parent {
				again := a.rows[0]
				a.rows = a.rowsOf(a.pageSize + 1)
				for i := range a.rows {
					a.rows[i].number += a.offset
				}
				a.truth = a.rows[:a.pageSize]
				again.at, again.key = a.rows[a.pageSize].at, a.rows[a.pageSize].key
				a.rows[a.pageSize] = again
			}
		}},
	{name: "parentWithoutPath", children: true, says: "An item of the parent lacks what the requests for it read.",
		build: func(_ *world, a *api, _ int) {
			if a.parent && len(a.rows) > 1 {
				a.bare = a.rows[1].number
			}
		}},
	{name: "windowOverflows", windows: true, says: "A window has more items than the API returns for one.", build: overflow},
}

// second changes the second partition of each job that has several.
func second(change func(*api)) func(*world, *api, int) {
	return func(_ *world, a *api, nth int) {
		if nth == 2 {
			change(a)
		}
	}
}

// overflow gives the second window three times as many items as the API returns for a
// window, wherever it is split.
func overflow(w *world, a *api, nth int) {
	if a.window == nil {
		return
	}
	if nth == 2 && w.overflown == nil {
		w.overflown, w.scope = a.window, a.scope
		n := 3 * a.capacity()
		a.rows = a.rowsOf(n)
		for i := range a.rows {
			a.rows[i].number += a.offset
			a.rows[i].at = a.window.from + (float64(i)+0.5)/float64(n)*(a.window.to-a.window.from)
		}
		w.dense = a.rows
		a.truth = a.rows
	} else if in := w.overflown; in != nil && w.scope == a.scope && a.window.from >= in.from && a.window.to <= in.to {
		a.rows = slices.DeleteFunc(slices.Clone(w.dense), func(r row) bool { return r.at < a.window.from || r.at >= a.window.to })
		a.truth = nil // it has been counted
	}
	a.total = len(a.rows)
	a.rows = a.rows[:min(len(a.rows), a.capacity())]
}

// capacity is how many items the API returns for a window.
func (a *api) capacity() int {
	most := a.pageSize
	if a.paged {
		most *= 2
	}
	for _, c := range a.job.Stops {
		if c.Rule.Outcome != rules.Split {
			continue
		}
		for _, v := range a.literals {
			if n, ok := v.(int); ok && n > 1 && n <= maxPageSize && strings.Contains(c.Rule.Source, fmt.Sprint(n)) {
				most = n
			}
		}
	}
	return most
}

// A world is the API of all jobs of a tree, while it runs. It is the transport and the
// clock of the run.
type world struct {
	suite *Suite
	plans map[string]*plan // by job
	apis  map[string]*api  // by partition
	count map[string]int   // partitions, by job
	order []*api
	build func(*world, *api, int)

	overflown *span
	scope     string // of the window that overflows: the values of the other variables
	dense     []row  // of the window that overflows

	now      time.Time
	requests int
	stopped  bool
	enough   bool // the model ends the run after some partitions, not the configuration
	obtained map[int]int
	results  []runtime.Result
	err      error
}

// A span is a window.
type span struct{ from, to float64 }

// The limits of the run of a tree. One that has more partitions is ended, and judged by
// those that have begun.
const (
	maxTreeRequests = 1500
	maxPartitions   = 40
)

// treeRows is the number of items in a list whose items are variables of other jobs.
const treeRows = 3

// apiOf returns the API of a partition.
func (w *world) apiOf(p runtime.Partition) *api {
	id := p.Job.Set.Job.ID
	key := id + "\n" + p.Label()
	if a := w.apis[key]; a != nil {
		return a
	}
	plan := w.plans[id]
	n := 2
	switch {
	case plan.parent:
		n = treeRows
	case plan.single && !plan.paged:
		n = 1
	case plan.paged:
		n = min(plan.pageSize, 100) + 1
	}
	a := plan.api(n)
	a.job, a.offset = p.Job, 10_000*(len(w.order)+1)
	for i := range a.rows {
		a.rows[i].number += a.offset
	}
	a.truth, a.total = slices.Clone(a.rows), -1
	a.window, a.scope = windowOf(p), scopeOf(p)
	if p.Job.Splits() != nil {
		a.rows = a.rows[:min(n, a.capacity()-1)]
		a.truth = slices.Clone(a.rows)
	}
	w.count[id]++
	if w.build != nil {
		w.build(w, a, w.count[id])
	}
	if !a.paged {
		a.size = max(1, len(a.rows))
	}
	if p.Job.Set.Job.Silent {
		a.truth = nil
	}
	w.apis[key] = a
	w.order = append(w.order, a)
	return a
}

// windowOf returns the last window among the variables of a partition, or nil.
func windowOf(p runtime.Partition) *span {
	for _, s := range slices.Backward(p.Job.Sources) {
		if s.Window == nil {
			continue
		}
		members, _ := value.Members(p.Binding[s.Name])
		from, _ := members.Get("from")
		to, _ := members.Get("to")
		a, ok := numberOf(from)
		b, also := numberOf(to)
		if ok && also {
			return &span{a, b}
		}
	}
	return nil
}

// scopeOf writes the values of the variables that are no windows.
func scopeOf(p runtime.Partition) string {
	others := maps.Clone(p.Binding)
	for _, s := range p.Job.Sources {
		if s.Window != nil {
			delete(others, s.Name)
		}
	}
	return p.Job.Set.Job.ID + "\n" + runtime.Partition{Job: p.Job, Binding: others}.Label()
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

// RoundTrip answers for the partition that a request is for.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	p, ok := runtime.PartitionOf(r.Context())
	if w.requests++; w.requests > maxTreeRequests || !ok {
		w.stopped = true
		return nil, errEnough
	}
	a := w.apiOf(p)
	q, err := requestOf(r)
	if err != nil {
		return nil, err
	}
	if a.base == "" {
		address := *r.URL
		address.RawQuery = ""
		a.base = address.String()
	}
	reply := a.answer(q)
	if a.total >= 0 {
		reply.said["total"] = a.total
	}
	body, err := a.body(reply)
	if err != nil {
		return nil, &failure.Error{Class: failure.Internal, Message: err.Error()}
	}
	response := &http.Response{
		StatusCode: reply.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: a.header(reply), Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	response.Header.Set("Date", w.now.Format(http.TimeFormat))
	return response, nil
}

// Now returns the time of the run.
func (w *world) Now() time.Time { return w.now }

// Jitter returns the bound, so that each run waits the same.
func (w *world) Jitter(bound time.Duration) time.Duration { return bound }

// Sleep advances the time and returns at once.
func (w *world) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.now = w.now.Add(max(d, 0))
	return nil
}

func (w *world) run(ctx context.Context, root *compile.Job) {
	loop := w.suite.Loop(Environment{Transport: w, Clock: w})
	loop.Jobs = nil
	if loop.Partitions == nil {
		loop.Partitions, w.enough = runtime.NewQuota(maxPartitions), true
	}
	w.results, w.err = loop.RunTree(ctx, root, func(_ context.Context, page *runtime.Page) error {
		for item := range page.Items.All() {
			w.obtained[treeRowOf(item)]++
		}
		return nil
	})
}

// treeRowOf returns the number of the row that an item was written from, or 0.
func treeRowOf(item []byte) int {
	var known struct {
		Row int `json:"row"`
	}
	if json.Unmarshal(item, &known) == nil && known.Row > 0 {
		return known.Row
	}
	var n int
	var text string
	if json.Unmarshal(item, &n) == nil {
		return n
	}
	if json.Unmarshal(item, &text) == nil {
		return max(0, leadingNumber(strings.TrimPrefix(text, "k")))
	}
	return 0
}

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
	paged := func(j *compile.Job) bool {
		p := f.plans[j.Set.Job.ID]
		return p.parent && p.paged && p.pageSize > 1 && p.pageSize <= 100
	}
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
	suite, err := f.suite.Change(changes)
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
		now: keyStart.AddDate(1, 0, 0), obtained: map[int]int{},
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
		for _, known := range a.truth {
			r.Served++
			switch n := w.obtained[known.number]; {
			case n == 0:
				r.Missing++
			case n > 1:
				r.Duplicated += n - 1
			}
		}
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
		for _, finding := range one.Findings {
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
