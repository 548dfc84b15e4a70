package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A tree runs a job with all its partitions and the jobs that are for its items. Pages are
// delivered in one order, with or without concurrency: after each page of a partition come
// the partitions for its items.
type tree struct {
	Loop
	root    *compile.Job
	jobs    map[string]*compile.Job
	sink    Sink
	slots   chan struct{} // of partitions that run ahead; nil: none does
	started time.Time

	all     []*compile.Job
	results map[*compile.Job]*Result         // of the partitions that have ended
	left    *Quota                           // partitions that may still be run
	leftOut bool                             // the limit on partitions has left one out
	limited map[*compile.Job]bool            // jobs of which the limit has left out a partition
	paths   map[*compile.Job]*document.Paths // what each job reads of an item of its parent
	kept    map[*compile.Job]map[string]any  // values of the previous run
	found   *presence
}

// position is the checkpoint of one partition. It is saved without being read.
type position = json.RawMessage

// treeState is the checkpoint of a tree.
type treeState struct {
	Version int          `json:"version"`
	Done    bool         `json:"done,omitempty"` // nothing is left to do
	Started time.Time    `json:"started"`        // the time that now() gives the rules of variables
	Tree    treeMembers  `json:"tree"`
	Results []endedState `json:"results"` // of the partitions that have ended, by job

	Missing map[string][][]string `json:"missing,omitempty"` // by job: paths that no item of its parent has had
}

// endedState is what a checkpoint has of the partitions of a job that have ended.
type endedState struct {
	Result
	First string `json:"first,omitempty"` // see [Result]
}

// treeMembers is where a tree is: in a branch of its root, or in its only partition.
type treeMembers struct {
	Branch *branchState `json:"branch,omitempty"`
	Member *memberState `json:"member,omitempty"`
}

// RunTree runs a job with all its partitions, and the jobs that are for its items. It
// passes their pages to the sink in the order of a run without concurrency. The results
// are those of the job and of the jobs below it, parents first; they say how far each
// came, even if the error is not nil.
func (l Loop) RunTree(ctx context.Context, root *compile.Job, sink Sink) ([]Result, error) {
	l = l.withDefaults()
	if len(root.Sources) == 0 && len(l.children(root)) == 0 && !root.Set.Job.Silent {
		result, err := l.Run(ctx, root, func(ctx context.Context, page *Page) error {
			page.Root, page.Final = page.Job, page.Decision == Stop
			return sink(ctx, page)
		})
		result.Repeats = result.Outcome != rules.Complete
		return []Result{result}, err
	}
	t := newTree(l, root, sink)
	err := t.run(ctx)
	results := t.ordered(err)
	t.log(results)
	return results, err
}

// selects reports whether a job is to be written.
func (l Loop) selects(job *compile.Job) bool { return l.Jobs == nil || l.Jobs[job.Set.Job.ID] }

// children returns the jobs for the items of a job that run.
func (l Loop) children(job *compile.Job) []*compile.Job {
	return slices.DeleteFunc(slices.Clone(job.Children), func(child *compile.Job) bool { return len(l.below(child)) == 0 })
}

// below returns a job and the jobs below it that run, parents first.
func (l Loop) below(job *compile.Job) []*compile.Job {
	all := []*compile.Job{job}
	for _, child := range job.Children {
		all = append(all, l.below(child)...)
	}
	if len(all) == 1 && !l.selects(job) {
		return nil
	}
	return all
}

func newTree(l Loop, root *compile.Job, sink Sink) *tree {
	t := &tree{
		Loop: l, root: root, sink: sink, jobs: map[string]*compile.Job{}, results: map[*compile.Job]*Result{},
		paths: map[*compile.Job]*document.Paths{}, kept: map[*compile.Job]map[string]any{},
		limited: map[*compile.Job]bool{},
		all:     l.below(root), slots: l.Slots, left: l.Partitions, started: l.Clock.Now(),
	}
	if cap(t.slots) < 2 || t.left != nil {
		t.slots = nil
	}
	t.found = newPresence(t.all)
	for _, job := range t.all {
		t.jobs[job.Set.Job.ID] = job
		t.paths[job] = document.NewPaths(job.ItemPaths)
		t.results[job] = &Result{Job: job.Set.Job.ID, Root: root.Set.Job.ID, StoppedBy: []string{}}
		if len(job.Sources) > 0 {
			t.results[job].Partitions = &Partitions{}
		}
	}
	return t
}

// run runs the tree, or what an earlier run has left of it.
func (t *tree) run(ctx context.Context) error {
	saved, err := t.saved(ctx)
	if err == nil {
		err = t.reveal(ctx)
	}
	if err != nil {
		return err
	}
	p := Partition{Job: t.root}
	if len(t.root.Sources) == 0 {
		m := &member{saved: memberOf(saved)}
		return t.partition(ctx, p, m, atRoot[memberState]{t, func(m *memberState) treeMembers { return treeMembers{Member: m} }})
	}
	b, err := t.rootBranch(ctx, p, saved)
	if err != nil {
		return err
	}
	return b.run(ctx, atRoot[branchState]{t, func(b *branchState) treeMembers { return treeMembers{Branch: b} }})
}

func memberOf(saved *treeState) *memberState {
	if saved == nil {
		return nil
	}
	return saved.Tree.Member
}

func (t *tree) rootBranch(ctx context.Context, p Partition, saved *treeState) (*branch, error) {
	if saved == nil || saved.Tree.Branch == nil {
		return t.values(ctx, p, t.root, 0)
	}
	b, err := t.restore(p, saved.Tree.Branch)
	if err != nil {
		return nil, t.unusable(err)
	}
	return b, nil
}

// saved returns the checkpoint of an earlier run, or nil if there is none.
func (t *tree) saved(ctx context.Context) (*treeState, error) {
	token := t.Resume[t.root.Set.Job.ID]
	if token == nil {
		return nil, nil
	}
	if err := CheckVersion(t.root.Set.Job.ID, token); err != nil {
		return nil, err
	}
	revealed, err := t.concealer(ctx).reveal(token)
	if err != nil {
		return nil, t.unusable(err)
	}
	saved := &treeState{}
	dec := json.NewDecoder(bytes.NewReader(revealed))
	dec.UseNumber()
	if err := dec.Decode(saved); err != nil {
		return nil, t.unusable(err)
	}
	if !saved.Started.IsZero() {
		t.started = saved.Started
	}
	t.found.restore(saved.Missing, t.jobs)
	for _, r := range saved.Results {
		job := t.jobs[r.Job]
		if job == nil || (r.Partitions == nil) != (len(job.Sources) == 0) {
			return nil, t.unusable(fmt.Errorf("it has a result of job %q, which is not in this place of the configuration", r.Job))
		}
		t.results[job] = &r.Result
		r.Result.first = r.First
		if r.Partitions != nil {
			t.left.spend(r.Partitions.Count)
		}
	}
	return saved, nil
}

// reveal reads the values of the previous run.
func (t *tree) reveal(ctx context.Context) error {
	for _, job := range t.all {
		kept, err := revealKept(t.concealer(ctx), job.Set.Job.ID, t.Carryover[job.Set.Job.ID])
		if err != nil {
			return err
		}
		t.kept[job] = kept
	}
	return nil
}

func (t *tree) concealer(ctx context.Context) *concealer {
	c := newConcealer(t.Secrets, t.Redactor)
	c.fetched = func(name string) (string, bool, error) { return t.Client.Secret(ctx, name) }
	return c
}

func (t *tree) unusable(err error) error { return unusable(t.root.Set.Job.ID, err) }

// checkpoint returns the checkpoint of the tree after a page.
func (t *tree) checkpoint(ctx context.Context, members treeMembers) (json.RawMessage, error) {
	s := treeState{Version: checkpointVersion, Done: members.done(), Started: t.started, Tree: members, Missing: t.found.save()}
	for _, job := range t.all {
		if r := t.results[job]; r.Outcome != "" {
			s.Results = append(s.Results, endedState{*r, r.first})
		}
	}
	token, err := json.Marshal(s)
	if err == nil {
		token, err = t.concealer(ctx).conceal(token)
	}
	if err != nil {
		return nil, &failure.Error{Class: failure.Config, Job: t.root.Set.Job.ID, Op: "checkpoint", Message: err.Error(), Err: err}
	}
	return token, nil
}

func (m treeMembers) done() bool {
	if m.Branch != nil {
		return m.Branch.done()
	}
	return m.Member.done()
}

// atRoot receives what a tree delivers, and passes it to the sink.
type atRoot[S any] struct {
	tree    *tree
	members func(*S) treeMembers
}

func (r atRoot[S]) page(ctx context.Context, page *Page, save func() (*S, error)) error {
	t := r.tree
	page.Root = t.root.Set.Job.ID
	page.Final = page.last
	if items, lists := page.Items, page.Lists; page.silent {
		page.Items, page.Lists = document.Items{}, nil
		defer func() { page.Items, page.Lists = items, lists }()
	}
	page.checkpoint = func() (json.RawMessage, error) {
		s, err := save()
		if err != nil || s == nil {
			return nil, err
		}
		return t.checkpoint(ctx, r.members(s))
	}
	return t.sink(ctx, page)
}

func (r atRoot[S]) ended(p Partition, result Result) {
	if total := r.tree.results[p.Job]; total.Partitions != nil {
		total.add(p, result, r.tree.Redactor.String)
	} else {
		*total = result
		total.Root = r.tree.root.Set.Job.ID
	}
}

// ordered returns the results of all jobs, parents first.
func (t *tree) ordered(err error) []Result {
	list, complete := make([]Result, len(t.all)), true
	for i, job := range t.all {
		r := t.results[job]
		if f := t.found.finding(job); f != nil && err == nil && r.Partitions.Count == 0 {
			f.Message = t.Redactor.String(f.Message)
			r.Findings = append(r.Findings, *f)
			t.Log.Warn(fmt.Sprintf("Job '%s': the list may be incomplete: %s", r.Job, f.Message), "event", "suspect", "job", r.Job, "finding", f.ID)
		}
		switch {
		case r.Outcome == "" && err == nil:
			r.Outcome, r.Reason, r.Message = rules.Complete, reasonPartitions, r.ofPartitions()
		case r.Outcome == "":
			r.Outcome, r.Reason, r.Message = rules.Failed, reasonError, "the run ended before this job"
		case err != nil && r.Outcome == rules.Complete && r.Partitions != nil:
			r.Outcome, r.Reason = rules.Failed, reasonError
			r.Message = fmt.Sprintf("the run ended after %d partitions of this job", r.Partitions.Count)
		}
		list[i], complete = *r, complete && r.Outcome == rules.Complete
	}
	for i := range list {
		if list[i].Repeats = !complete; !complete || list[i].Kept == nil {
			list[i].Kept = t.Carryover[list[i].Job]
		}
	}
	return list
}

// log logs how the jobs with partitions ended.
func (t *tree) log(results []Result) {
	for _, r := range results {
		if r.Partitions == nil || r.Outcome == rules.Failed {
			continue
		}
		t.Log.Info(fmt.Sprintf("Job '%s': %s", r.Job, t.Redactor.String(r.Message)), "event", "stop", "job", r.Job,
			"outcome", r.Outcome, "partitions", r.Partitions.Count)
	}
}

// context returns what the rules of a variable see.
func (t *tree) context(p Partition) *rules.Context {
	job := p.Job.Set.Job
	return &rules.Context{
		Limit: p.Job.Set.Limit, Input: t.Inputs, Partition: p.Binding, Kept: t.kept[p.Job], Now: func() time.Time { return t.started },
		Job: rules.JobFacts{ID: job.ID, Endpoint: job.Endpoint, Params: job.Constants()},
	}
}

// fault returns the error of a rule of a variable.
func (t *tree) fault(p Partition, err error) error {
	e := &failure.Error{
		Class: p.blame(), Job: p.Job.Set.Job.ID, Partition: t.Redactor.String(p.Label()), Op: "for",
		Message: t.Redactor.String(err.Error()), Err: err,
	}
	if failed := (*compile.RuleError)(nil); errors.As(err, &failed) {
		e.Op = "rule " + failed.Rule.ID
		e.Message = t.Redactor.String(fmt.Sprintf("%v, in %s (%s)", failed.Err, failed.Rule.Source, failed.Rule.Origin))
	}
	return e
}

// A cursor is a partition that runs: after each of its pages, the jobs for its items run.
type cursor struct {
	tree      *tree
	partition Partition
	value     any
	out       receiver[memberState]

	position func() (json.RawMessage, error) // after the last page
	stopped  bool                            // that page was the last of the partition
	pending  []*branch                       // for the items of that page; the first of them runs
	err      error                           // of the receiver, or of a job for an item
}

// partition runs one partition, or what an earlier run has left of it.
func (t *tree) partition(ctx context.Context, p Partition, m *member, out receiver[memberState]) error {
	if len(p.Job.Sources) > 0 && !t.left.take(1) {
		return t.leaveOut(p, out)
	}
	c := &cursor{tree: t, partition: p, value: m.value, out: out}
	var token json.RawMessage
	if m.saved != nil {
		token = m.saved.Position
		if err := c.resume(ctx, m.saved); err != nil {
			out.ended(p, t.failedBy(err, token))
			return err
		}
	}
	run := t.Loop
	if m.branch != nil && token == nil {
		if _, _, ok := m.branch.halves(m.value); ok {
			return c.try(ctx, run, m)
		}
	}
	r := newRun(ctx, run, p, c.page)
	r.enough = c.enough
	result, err := r.run(ctx, token)
	return c.end(result, err)
}

// failedBy returns the result of a partition that an earlier run has brought to a
// position, and that failed because a job for its items did.
func (t *tree) failedBy(err error, token position) Result {
	var saved struct{ Result Result }
	_ = json.Unmarshal(token, &saved) // it is that of a tree that was read
	return t.failed(saved.Result, err)
}

// failed returns the result of a partition that failed because a job for its items did.
func (t *tree) failed(r Result, err error) Result {
	r.Outcome, r.Reason, r.StoppedBy = rules.Failed, reasonError, []string{}
	r.Message, r.Error = t.Redactor.String(err.Error()), t.faultOf(err)
	return r
}

// enough reports whether the rest of the list need not be read: its items are not written,
// and the limit on partitions allows no job for them. Without a limit, partitions run at
// the same time, and there is nothing to read.
func (c *cursor) enough() bool {
	return c.tree.left != nil && c.tree.leftOut && c.silent()
}

// silent reports whether the items of the partition are not written.
func (c *cursor) silent() bool {
	return c.partition.Job.Set.Job.Silent || !c.tree.selects(c.partition.Job)
}

// leaveOut ends a partition that a limit does not allow.
func (t *tree) leaveOut(p Partition, out receiver[memberState]) error {
	t.leftOut = true
	if !t.limited[p.Job] {
		t.limited[p.Job] = true
		out.ended(p, Result{Job: p.Job.Set.Job.ID, Outcome: rules.Limited, Reason: limitPartitions, StoppedBy: []string{},
			Message: "the limit on the partitions of a run is reached", leftOut: true})
	}
	return nil
}

const limitPartitions = "limits.partitions"

// resume runs the rest of the jobs for the items of the last page of an earlier run.
func (c *cursor) resume(ctx context.Context, saved *memberState) error {
	c.position, c.stopped = func() (json.RawMessage, error) { return saved.Position, nil }, Ended(saved.Position)
	for _, s := range saved.Children {
		b, err := c.tree.restore(c.partition, s)
		if err != nil {
			return c.tree.unusable(err)
		}
		c.pending = append(c.pending, b)
	}
	return c.children(ctx)
}

// page delivers a page of the partition and runs the jobs for its items.
func (c *cursor) page(ctx context.Context, page *Page) error {
	c.err = c.deliver(ctx, page)
	return c.err
}

func (c *cursor) deliver(ctx context.Context, page *Page) error {
	job := c.partition.Job
	c.position, c.stopped = page.checkpoint, page.Decision == Stop
	var err error
	if c.pending, err = c.branches(ctx, page); err != nil {
		return err
	}
	page.last = c.stopped && len(c.pending) == 0
	page.Skipped = page.Outcome == rules.Failed && job.Set.Job.OnFailure == rules.PartitionSkip
	page.silent = c.silent()
	if err := c.out.page(ctx, page, func() (*memberState, error) { return c.save(nil) }); err != nil {
		return err
	}
	page.delivered = true
	if page.Outcome == rules.Failed && !page.Skipped { // the run ends
		return nil
	}
	return c.children(ctx)
}

// branches returns the partitions for the items of a page: a branch for each job.
func (c *cursor) branches(ctx context.Context, page *Page) ([]*branch, error) {
	var all []*branch
	for _, job := range c.tree.children(c.partition.Job) {
		values, err := c.items(ctx, job, page)
		if err != nil {
			return nil, c.tree.fault(Partition{job, c.partition.Binding}, err)
		}
		if len(values) > 0 {
			all = append(all, c.tree.newBranch(c.partition, job, 0, values))
		}
	}
	return all, nil
}

// items returns what a job reads of the items of a page, of those for which it is run.
func (c *cursor) items(ctx context.Context, job *compile.Job, page *Page) ([]any, error) {
	paths, source := c.tree.paths[job], &job.Sources[0]
	machine := compile.Machine{Context: ctx}
	var values []any
	for raw := range page.Items.All() {
		v, err := paths.Decode(raw)
		if err != nil {
			return nil, err
		}
		c.tree.found.note(job, v)
		if source.When != nil {
			met, err := source.When.EvalBool(&machine, c.tree.context(c.partition.with(job, source.Name, v)))
			if err != nil {
				return nil, &compile.RuleError{Rule: source.When.Rule, Err: err}
			}
			if !met {
				continue
			}
		}
		values = append(values, v)
	}
	return values, nil
}

// children runs the jobs for the items of the last page.
func (c *cursor) children(ctx context.Context) error {
	for len(c.pending) > 0 {
		if err := c.pending[0].run(ctx, c.inChild()); err != nil {
			return err
		}
		c.pending = c.pending[1:]
	}
	return nil
}

// save returns the state of the partition, in which a job for an item may be running.
func (c *cursor) save(active *branchState) (*memberState, error) {
	token, err := c.position()
	if err != nil || token == nil {
		return nil, err
	}
	s := &memberState{Value: snapshot[any]{c.value}, Position: token}
	for i, b := range c.pending {
		if i == 0 && active != nil {
			s.Children = append(s.Children, active)
			continue
		}
		s.Children = append(s.Children, b.save(nil))
	}
	return s, nil
}

// end reports the end of the partition. A partition that failed may be skipped.
func (c *cursor) end(result Result, err error) error {
	switch {
	case c.err != nil: // the partition itself has not failed
		result = c.tree.failed(result, c.err)
	case err == nil:
		c.out.ended(c.partition, result)
		return nil
	case c.partition.Job.Set.Job.OnFailure == rules.PartitionSkip && skippable(err):
		c.skip(&result, err)
		c.out.ended(c.partition, result)
		return nil
	}
	c.out.ended(c.partition, result)
	return err
}

func (c *cursor) skip(result *Result, err error) {
	result.skipped = true
	c.tree.Log.Error(fmt.Sprintf("%v; the partition is skipped", err), "event", "partition_skipped",
		"job", result.Job, "partition", c.partition.Label())
}

// inChild returns the receiver of a job for an item.
func (c *cursor) inChild() receiver[branchState] { return inCursor{c} }

type inCursor struct{ *cursor }

func (r inCursor) page(ctx context.Context, page *Page, save func() (*branchState, error)) error {
	page.last = page.last && r.stopped && len(r.pending) == 1
	return r.out.page(ctx, page, func() (*memberState, error) {
		active, err := save()
		if err != nil || active == nil {
			return nil, err
		}
		return r.save(active)
	})
}

func (r inCursor) ended(p Partition, result Result) { r.out.ended(p, result) }

// try runs a partition whose window may have to be split. Its pages are delivered when it
// is known that it does not.
func (c *cursor) try(ctx context.Context, run Loop, m *member) error {
	kept := newBacklog(0)
	defer kept.discard()
	result, err := run.runSplittable(ctx, c.partition, func(ctx context.Context, page *Page) error {
		return kept.page(ctx, page, func() (*memberState, error) {
			token, err := page.Checkpoint()
			return &memberState{Position: token}, err
		})
	})
	if err == nil && result.Outcome == rules.Split {
		m.split = true
		c.tree.left.give(1)
		return nil
	}
	var delivered position // after the last page
	for {
		e, ok := kept.take(nil)
		if !ok {
			break
		}
		failed := c.replay(ctx, kept, e)
		if failed == nil || e.page.delivered {
			delivered = e.saved.Position
		}
		if failed != nil { // the pages that follow were read in vain
			c.err = failed
			result = Result{Job: result.Job}
			if delivered != nil {
				result = c.tree.failedBy(failed, delivered)
			}
			return c.end(result, failed)
		}
	}
	return c.end(result, err)
}

// replay delivers a page that was kept.
func (c *cursor) replay(ctx context.Context, kept *backlog, e entry) error {
	return kept.deliver(ctx, e, replayed{c})
}

// replayed receives the pages of a partition that was tried.
type replayed struct{ cursor *cursor }

func (r replayed) page(ctx context.Context, page *Page, save func() (*memberState, error)) error {
	saved, err := save()
	if err != nil {
		return err
	}
	page.checkpoint = func() (json.RawMessage, error) { return saved.Position, nil }
	return r.cursor.page(ctx, page)
}

func (replayed) ended(Partition, Result) {}
