package partition

import (
	"cmp"
	"context"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

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

func newTree(w Walk, root *compile.Job, sink runtime.Sink) *tree {
	t := &tree{
		walk: w, root: root, tally: newTally(w, root), sink: sink,
		paths: map[*compile.Job]*document.Paths{}, kept: map[*compile.Job]map[string]any{},
		limited: map[*compile.Job]bool{},
		slots:   w.Slots, quota: w.Quota, started: cmp.Or(w.Started, w.Clock.Now()),
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
	return t.newFrame(nil, root).run(ctx)
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
	if p.Job.KeepFor == nil || !e.ReadsAny(rules.ContextKept) {
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
	return runtime.CompleteError(ctx, t.walk.Redactor, &failure.Error{
		Class: p.Blame(), Job: p.Job.ID(), Partition: t.walk.Redactor.Shown(p.Label()), Op: "for", Err: err, CauseBefore: p.Job.Parent != nil,
	})
}
