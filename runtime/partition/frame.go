package partition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A node is a task of a [Walk], with its values. [Task] is the form of a task that machines exchange.
type node struct {
	job   *compile.Job
	level int       // number of variables of the job that have values
	value any       // value of the last of these variables
	from  *progress // progress of an earlier run; nil for a new task

	backlog *backlog // its pages, if it runs ahead of its turn; otherwise nil
	begun   bool     // whether it has begun, ahead or in its turn
	slot    bool     // whether it holds a slot
	split   bool     // whether its window must be split
	saved   savedValue
}

// searches reports whether the task searches for values of a variable.
func (n *node) searches() bool { return n.level < len(n.job.For) }

// A progress is the state of a task after a step: its position and the remaining tasks before the
// next step.
type progress struct {
	position position      // position in the list, after the last page
	last     bool          // whether the step was the last
	todo     []*node       // remaining tasks; the first may be running, the others may run ahead
	windows  *windowSeries // further tasks, or nil
}

// A frame is a running node on the stack of the walk. Its parent is the frame of the node that found
// it.
type frame struct {
	tree           *tree
	parent         *frame // nil for the root
	node           *node
	partition      runtime.Partition
	pageCheckpoint func() (position, error) // returns the position after the latest page; nil before the first one
	err            error                    // error of the sink, or of a task for an item

	// mu guards the fields below, and begun and slot of the children, against the goroutines of beginAhead.
	// These run only during runChildren; before it and after it, the fields are used without mu.
	mu       sync.Mutex
	changed  sync.Cond // signals changes of todo to the task that begins others ahead
	ahead    []*node   // tasks that began ahead of their turn and still have pages to forward
	progress progress
}

// newFrame returns the frame of a node.
func (t *tree) newFrame(parent *frame, child *node) *frame {
	f := &frame{tree: t, parent: parent, node: child, partition: runtime.Partition{Job: child.job}}
	f.changed.L = &f.mu
	if parent != nil {
		f.partition = parent.partition.With(child.job, child.job.For[child.level-1].Name, child.value)
	}
	if child.from != nil {
		f.progress = *child.from
	}
	return f
}

// run runs the task to its end, with all tasks that it finds.
func (f *frame) run(ctx context.Context) error {
	switch {
	case f.node.searches():
		return f.search(ctx)
	case f.node.from == nil && f.node.level > 0 && !f.tree.quota.take():
		f.leaveOut()
		return nil
	case len(f.progress.todo) > 0: // tasks of an earlier run
		if err := f.runChildren(ctx); err != nil {
			f.forwardEnd(f.partition, EndedResult{Result: f.tree.walk.failed(resultAt(f.node.job.ID(), f.progress.position), err)})
			return err
		}
	}
	result, err := f.tree.runList(ctx, f.partition, f.progress.position, f.runPage)
	if err == nil && result.Outcome == rules.Split {
		f.node.split = true
		f.tree.quota.giveBack()
		return nil
	}
	return f.endPartition(result, err)
}

// search runs a task for each value of the next variable.
func (f *frame) search(ctx context.Context) error {
	if f.node.from == nil {
		list, windows, err := f.tree.valuesOf(ctx, f.partition, f.node.level)
		if err != nil {
			return err
		}
		f.progress.windows, f.progress.last = windows, true
		for _, v := range list {
			f.progress.todo = append(f.progress.todo, f.nodeFor(v))
		}
	}
	return f.runChildren(ctx)
}

// nodeFor returns the task for a value of the next variable.
func (f *frame) nodeFor(v any) *node {
	return &node{job: f.node.job, level: f.node.level + 1, value: v}
}

// runPage forwards a page of the list, and runs the tasks for its items.
func (f *frame) runPage(ctx context.Context, d *runtime.Delivery) (delivered bool, err error) {
	defer func() { f.err = err }()
	page := d.Page
	f.pageCheckpoint, f.progress.last, f.progress.todo = d.Checkpoint, page.Decision == trace.Stop, nil
	err = f.tree.eachChildItem(ctx, f.partition, d.SentItems(), f.tree.tally.missing, func(job *compile.Job, _, _ int, v any) error {
		f.progress.todo = append(f.progress.todo, &node{job: job, level: 1, value: v})
		return nil
	})
	if err != nil {
		return false, err
	}
	page.Skipped = skipsOn(f.partition.Job, page)
	last := f.progress.last && len(f.progress.todo) == 0
	err = f.forward(ctx, outgoingPage{page: page, emits: f.tree.emits(f.partition.Job), last: last, stack: f.stack})
	if err != nil {
		return false, err
	}
	if page.Outcome == rules.Failed && !page.Skipped || len(f.progress.todo) == 0 { // the run ends, or there are no tasks
		return true, nil
	}
	return true, f.runChildren(ctx)
}

// runChildren runs the remaining tasks one after another. Meanwhile others run ahead, if there are
// slots.
func (f *frame) runChildren(ctx context.Context) error {
	ctx, stop := f.beginAhead(ctx)
	defer stop()
	for {
		child := f.currentChild()
		switch {
		case ctx.Err() != nil:
			return cancelled(ctx, f.partition.Job.ID(), 0)
		case child == nil:
			return nil
		}
		if err := f.runChild(ctx, child); err != nil {
			return err
		}
		f.popChild(child)
	}
}

// runChild runs a task in its turn. If the task already runs ahead, runChild forwards its pages so
// far, and lets the task forward the rest itself.
func (f *frame) runChild(ctx context.Context, child *node) error {
	if f.beginInTurn(child) {
		return f.tree.newFrame(f, child).run(ctx)
	}
	f.releaseSlot(child)
	if err := child.backlog.drain(ctx, f); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead = slices.DeleteFunc(f.ahead, func(n *node) bool { return n == child })
	child.backlog.discard()
	return nil
}

// currentChild returns the task whose turn it is, or nil after the last one.
func (f *frame) currentChild() *node {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.progress.todo) == 0 && !f.pullWindow() {
		return nil
	}
	return f.progress.todo[0]
}

// pullWindow adds the task for the next window. It reports false if there is no further window.
func (f *frame) pullWindow() bool {
	if f.progress.windows == nil {
		return false
	}
	v, more := f.progress.windows.next()
	if more {
		f.progress.todo = append(f.progress.todo, f.nodeFor(v))
	}
	return more
}

// popChild removes a task that has ended. If its window must be split, the tasks for its halves
// come next. If the limit on partitions left out a task, popChild removes the other tasks of the
// same job.
func (f *frame) popChild(child *node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress.todo[0] = nil // free the memory of the task
	f.progress.todo = f.progress.todo[1:]
	if child.split {
		first, second, _ := divide(child.job, child.value)
		f.progress.todo = slices.Concat([]*node{f.nodeFor(first), f.nodeFor(second)}, f.progress.todo)
	}
	if f.tree.limited[child.job] {
		f.progress.windows = nil
		f.progress.todo = slices.DeleteFunc(f.progress.todo, func(other *node) bool { return other.job == child.job })
	}
	f.changed.Broadcast()
}

// An outgoingPage is a page on its way to the sink.
type outgoingPage struct {
	page  *runtime.Page
	sent  *document.Items // the items as the API sent them; nil if the children have seen the page, or nothing was changed
	emits bool            // whether its items are written
	last  bool            // whether no page follows from the tasks that have forwarded the page so far

	// stack returns the stack after the page, or nil if the page must be requested again.
	stack func() (stack, error)
}

// forward passes a page to the sink, or to the backlog of a task that runs ahead of its turn.
func (f *frame) forward(ctx context.Context, d outgoingPage) error {
	if f.node.backlog != nil {
		if kept, err := f.node.backlog.keep(ctx, d); kept || err != nil {
			return err
		}
	}
	if f.parent == nil {
		return f.tree.deliver(ctx, d)
	}
	return f.parent.forwardFromChild(ctx, d)
}

// forwardFromChild forwards a page of the task whose turn it is.
func (f *frame) forwardFromChild(ctx context.Context, d outgoingPage) error {
	childStack := d.stack
	d.last = d.last && f.endsAfterThis()
	d.stack = func() (stack, error) {
		s, err := childStack()
		if err != nil || s == nil {
			return nil, err
		}
		return f.appendTo(s)
	}
	return f.forward(ctx, d)
}

// endsAfterThis reports whether nothing follows the task whose turn it is.
func (f *frame) endsAfterThis() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.progress.last && len(f.progress.todo) == 1 && f.progress.windows.done()
}

// forwardEnd forwards the end of a partition.
func (f *frame) forwardEnd(p runtime.Partition, result EndedResult) {
	switch {
	case f.node.backlog != nil && f.node.backlog.keepEnd(p, result):
	case f.parent != nil:
		f.parent.forwardEnd(p, result)
	default:
		f.tree.recordEnd(p, result)
	}
}

// endPartition ends the partition. A failed partition may be skipped.
func (f *frame) endPartition(result runtime.ListResult, err error) error {
	skipped := false
	switch {
	case f.err != nil: // the partition itself has not failed
		result.Result = f.tree.walk.failed(result.Result, f.err)
	case Skips(f.partition.Job, err):
		f.tree.walk.Log.Error(fmt.Sprintf("%v; the partition is skipped", err), "event", "partition_skipped",
			"job", result.Job, "partition", f.partition.Label())
		skipped, err = true, nil
	}
	end := endOf(result)
	end.Skipped = skipped
	f.forwardEnd(f.partition, end)
	return err
}

// leaveOut ends a partition that the limit on partitions does not allow.
func (f *frame) leaveOut() {
	f.tree.leftOut = true
	if job := f.partition.Job; !f.tree.limited[job] {
		f.tree.limited[job] = true
		f.forwardEnd(f.partition, EndedResult{NoList: true, Result: f.partition.LeftOut()})
	}
}

// deliver passes a page to the sink.
func (t *tree) deliver(ctx context.Context, d outgoingPage) error {
	page := d.page
	page.Root, page.Final = t.root.ID(), d.last
	if !d.emits {
		items, lists := page.Items, page.Lists
		page.Items, page.Lists = document.Items{}, nil
		defer func() { page.Items, page.Lists = items, lists }()
	}
	return t.sink.Pass(ctx, page, func() (position, error) {
		s, err := d.stack()
		if err != nil || s == nil {
			return nil, err
		}
		return t.checkpoint(ctx, s, d.last)
	})
}

// recordEnd adds the end of a partition to the results.
func (t *tree) recordEnd(p runtime.Partition, result EndedResult) {
	if failed := result.FailedPage; failed != nil && result.Skipped && t.walk.Skipped != nil {
		failed.Skipped = true
		t.walk.Skipped(&runtime.Page{Record: *failed, Root: t.root.ID()})
	}
	t.tally.end(p, result)
}

// skipsOn reports whether a partition of a job fails on a page and is skipped.
func skipsOn(job *compile.Job, page *runtime.Page) bool {
	return page.Outcome == rules.Failed && job.Spec().OnFailure == rules.PartitionSkip &&
		page.Error != nil && skippableClass(failure.Class(page.Error.Class))
}

// Skips reports whether a partition of a job that failed with an error is skipped.
func Skips(job *compile.Job, err error) bool {
	known, ok := errors.AsType[*failure.Error](err)
	return ok && job.Spec().OnFailure == rules.PartitionSkip && skippableClass(known.Class)
}

// skippableClass reports whether a run may continue after a partition failed with an error of the
// class.
func skippableClass(class failure.Class) bool {
	return slices.Contains([]failure.Class{failure.API, failure.Response, failure.Transient, failure.Policy}, class)
}
