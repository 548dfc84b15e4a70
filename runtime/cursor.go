package runtime

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
)

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
	if begun := m.saved != nil; !begun && len(p.Job.Sources) > 0 && !t.left.take(1) {
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
	divisible := m.divisible()
	if divisible && token == nil {
		return c.try(ctx, m)
	}
	r := newRun(ctx, t.Loop, p, c.page)
	r.enough, r.hasSiblings, r.unsplittable = c.enough, len(p.Job.Sources) > 0, divisible
	r.isParent = len(t.children(p.Job)) > 0
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
		out.ended(p, Result{Job: p.Job.Set.Job.ID, Outcome: rules.Limited, Reason: LimitPartitions, StoppedBy: []string{},
			Message: "the limit on the partitions of a run is reached", leftOut: true})
	}
	return nil
}

// LimitPartitions is the reason of a [Result] that [Loop.Partitions] has ended.
const LimitPartitions = "limits.partitions"

// resume runs the rest of the jobs for the items of the last page of an earlier run.
func (c *cursor) resume(ctx context.Context, saved *memberState) error {
	c.position, c.stopped = func() (json.RawMessage, error) { return saved.Position, nil }, Ended(saved.Position)
	for _, s := range saved.Children {
		c.pending = append(c.pending, c.tree.restore(c.partition, s))
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
		values, err := c.tree.items(ctx, c.partition, job, page, c.tree.found)
		if err != nil {
			return nil, c.tree.fault(Partition{job, c.partition.Binding}, err)
		}
		if len(values) > 0 {
			all = append(all, c.tree.newBranch(c.partition, job, 0, values))
		}
	}
	return all, nil
}

// items returns what a job reads of the items of a page of its parent, of those for which it
// is run. It notes in found what the items have.
func (t *tree) items(ctx context.Context, parent Partition, job *compile.Job, page *Page, found *presence) ([]any, error) {
	paths, source := t.paths[job], &job.Sources[0]
	machine := compile.Machine{Context: ctx}
	var values []any
	for raw := range page.Items.All() {
		v, err := paths.Decode(raw)
		if err != nil {
			return nil, err
		}
		found.note(job, v)
		if source.When != nil {
			met, err := source.When.EvalBool(&machine, t.context(parent.with(job, source.Name, v)))
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
		if err := c.pending[0].run(ctx, inCursor{c}); err != nil {
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

// inCursor receives what a job for an item delivers.
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
func (c *cursor) try(ctx context.Context, m *member) error {
	kept := newBacklog(0)
	defer kept.discard()
	result, err := c.tree.runSplittable(ctx, c.partition, func(ctx context.Context, page *Page) error {
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
		failed := kept.deliver(ctx, e, replayed{c})
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
