package partition

import (
	"context"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Walk runs jobs with all their partitions and their children. The order of pages does not depend
// on concurrency: each page of a partition is followed by the pages of the partitions for its
// items.
type Walk struct {
	runtime.Loop

	// Jobs holds the ids of the jobs that run; nil means all. A job outside the set that has a
	// child in it runs, but its items are not written.
	Jobs map[string]bool

	// Slots limits the partitions that run at once, across all trees. With nil or one slot, every
	// partition runs in its turn.
	Slots *Slots

	// Quota bounds the number of partitions of the run; nil means no limit. With a limit they run
	// one after another, so that it leaves out the same partitions in every run.
	Quota *Quota

	// Skipped receives the page on which a skipped partition failed, if the sink did not receive
	// that page; see [runtime.Result.FailedPage]. The page has no items and no checkpoint. Calls of
	// Skipped and of the sink come in the order of the pages. It may be nil.
	Skipped func(*runtime.Page)

	// Accept reports whether the run accepts how a rule ended a job. A job that it does not accept
	// counts as incomplete: see [runtime.Result.Refused]. If it is nil, every ending is accepted.
	Accept func(runtime.Result) bool

	omitsFailed bool // whether a page on which the run fails is left out, because another machine will request it again
}

// refuses reports whether the run does not accept how a rule ended a job.
func (w Walk) refuses(r runtime.Result) bool { return w.Accept != nil && r.Ended() && !w.Accept(r) }

// A tree holds the values that the tasks of a root job, and of the jobs below it, share while they run on
// this machine.
type tree struct {
	walk    Walk
	root    *compile.Job
	sink    runtime.Sink
	tally   *Tally
	slots   *Slots    // slots for partitions that run ahead; nil if every partition runs in its turn
	started time.Time // value of now() in the rules of variables

	// These need no lock: with a limit, no task runs ahead, so all tasks run in one goroutine.
	quota   *Quota                // nil means no limit
	leftOut bool                  // whether the limit on partitions has left one out
	limited map[*compile.Job]bool // jobs with a partition that the limit left out

	// These do not change once the first task runs.
	paths map[*compile.Job]*document.Paths // paths that each job reads of an item of its parent
	kept  map[*compile.Job]map[string]any  // values that the previous run kept, including their secrets
}

// Run runs a job with all its partitions and its children. It passes their pages to the sink in the
// order of a run without concurrency. It returns the results of the job and its children, parents
// first, even if the error is not nil.
//
// The caller holds one of [Walk.Slots] while Run runs, for the partition whose turn it is. The
// partitions that run ahead of their turn take further ones.
func (w Walk) Run(ctx context.Context, root *compile.Job, sink runtime.Sink) ([]runtime.Result, error) {
	ends, err := w.run(ctx, root, sink)
	return resultsOf(ends), err
}

func (w Walk) run(ctx context.Context, root *compile.Job, sink runtime.Sink) ([]EndedResult, error) {
	w.Loop = w.WithDefaults()
	if len(root.For) == 0 && len(w.children(root)) == 0 && root.Spec().Emits {
		tally := newTally(w, root)
		list := runtime.List{Partition: runtime.Partition{Job: root}, From: w.Resume[root.ID()], Omits: w.omits(root)}
		end, err := w.RunList(ctx, list, func(ctx context.Context, d *runtime.Delivery) (bool, error) {
			if tally.keptStays[root] {
				d.Page.Kept = w.Kept[root.ID()]
			}
			return sink.Receive(ctx, d)
		})
		tally.end(list.Partition, endOf(end))
		return tally.ordered(err), err
	}
	t := newTree(w, root, sink)
	err := t.run(ctx)
	return t.tally.ends(err), err
}

// omits returns [runtime.List.Omits] for the lists of a job.
func (w Walk) omits(job *compile.Job) func(*runtime.Page) bool {
	if !w.omitsFailed {
		return nil
	}
	return func(page *runtime.Page) bool { return !skipsOn(job, page) }
}

// selects reports whether the items of a job are written.
func (w Walk) selects(job *compile.Job) bool { return w.Jobs == nil || w.Jobs[job.ID()] }

// children returns the children of a job that run.
func (w Walk) children(job *compile.Job) []*compile.Job {
	return slices.DeleteFunc(slices.Clone(job.Children), func(child *compile.Job) bool { return len(w.below(child)) == 0 })
}

// below returns a job and the jobs below it that run, parents first.
func (w Walk) below(job *compile.Job) []*compile.Job {
	jobs := []*compile.Job{job}
	for _, child := range job.Children {
		jobs = append(jobs, w.below(child)...)
	}
	if len(jobs) == 1 && !w.selects(job) {
		return nil
	}
	return jobs
}

// leftOutOf returns a job that was not selected, so that its items are not written, and that reads
// values that the given job or one of its ancestors keeps: with new kept values, the next run would
// not read its items either. It returns nil if there is no such job.
func (w Walk) leftOutOf(job *compile.Job) *compile.Job {
	for ; job != nil; job = job.Parent {
		if len(job.Keeps) == 0 {
			continue
		}
		for _, descendant := range job.WithDescendants() {
			if !w.selects(descendant) && descendant.Spec().Emits {
				return descendant
			}
		}
	}
	return nil
}

func newTree(w Walk, root *compile.Job, sink runtime.Sink) *tree {
	t := &tree{
		walk: w, root: root, tally: newTally(w, root), sink: sink,
		paths: map[*compile.Job]*document.Paths{}, kept: map[*compile.Job]map[string]any{},
		limited: map[*compile.Job]bool{},
		slots:   w.Slots, quota: w.Quota, started: w.Clock.Now(),
	}
	if t.slots.count() < 2 || t.quota != nil { // see tree.quota
		t.slots = nil
	}
	for _, job := range t.tally.all {
		t.paths[job] = document.NewPaths(job.ItemPaths)
	}
	return t
}

// run runs the tree, or the rest of it after a checkpoint.
func (t *tree) run(ctx context.Context) error {
	root, err := t.resume(ctx)
	if err == nil {
		err = t.reveal(ctx)
	}
	if err != nil {
		return err
	}
	return t.push(nil, root).run(ctx)
}

// reveal decodes the kept values of the previous run.
func (t *tree) reveal(ctx context.Context) error {
	for _, job := range t.tally.all {
		if job.KeepFor != nil { // the values of a partition are decoded when it begins
			continue
		}
		kept, err := t.walk.RevealKept(ctx, job, "")
		if err != nil {
			return err
		}
		t.kept[job] = kept
	}
	return nil
}

// ruleContext returns the context for an expression of a variable.
func (t *tree) ruleContext(ctx context.Context, p runtime.Partition, e *language.Expression) (*rules.Context, error) {
	job := p.Job.Spec()
	c := &rules.Context{
		Limit: p.Job.Ruleset.Limit, Input: t.walk.Inputs, Partition: p.Binding, Kept: t.kept[p.Job], Now: func() time.Time { return t.started },
		Job: rules.JobFacts{ID: job.ID, Endpoint: job.Endpoint, Params: job.Constants()},
	}
	if p.Job.KeepFor == nil || !slices.ContainsFunc(e.Reads, func(r language.Read) bool { return r.Is("kept") }) {
		return c, nil
	}
	key, err := t.walk.KeepKey(&language.Machine{Context: ctx}, p.Job, c)
	if err == nil {
		c.Kept, err = t.walk.RevealKept(ctx, p.Job, key)
	}
	return c, err
}

// fault returns the error of a rule of a variable.
func (t *tree) fault(ctx context.Context, p runtime.Partition, err error) error {
	return t.walk.CompleteError(ctx, &failure.Error{
		Class: p.Blame(), Job: p.Job.ID(), Partition: t.walk.Redactor.Shown(p.Label()), Op: "for", Err: err,
	})
}

// A Quota is the number of partitions that a run may still start. A nil Quota is unlimited. A run
// with a quota runs its partitions one after another.
type Quota struct{ left int }

// NewQuota returns a quota of n partitions, or an unlimited one if n is 0.
func NewQuota(n int) *Quota {
	if n == 0 {
		return nil
	}
	return &Quota{left: n}
}

// take takes one partition from the quota. It reports false if the quota is used up.
func (q *Quota) take() bool {
	switch {
	case q == nil:
		return true
	case q.left == 0:
		return false
	}
	q.left--
	return true
}

// spend takes the n partitions of an earlier run, whose limit may have been higher.
func (q *Quota) spend(n int) {
	if q != nil {
		q.left = max(q.left-n, 0)
	}
}

// giveBack returns a partition that did not run after all.
func (q *Quota) giveBack() {
	if q != nil {
		q.left++
	}
}

// Slots are the slots of the partitions that run at once. With nil Slots, every partition runs in its
// turn, and a slot need not be taken.
type Slots struct{ taken chan struct{} }

// NewSlots returns n slots.
func NewSlots(n int) *Slots { return &Slots{make(chan struct{}, n)} }

// Take takes a slot, and waits until there is one. The caller releases it with [Slots.Release].
func (s *Slots) Take() {
	if s != nil {
		s.taken <- struct{}{}
	}
}

// tryTake takes a slot as Take does. It reports false if the context ended before there was one.
func (s *Slots) tryTake(ctx context.Context) bool {
	select {
	case s.taken <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// Release releases a slot that was taken.
func (s *Slots) Release() {
	if s != nil {
		<-s.taken
	}
}

// count returns the number of slots.
func (s *Slots) count() int {
	if s == nil {
		return 0
	}
	return cap(s.taken)
}
