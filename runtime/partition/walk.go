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

// A task is a job with values for the first of its variables. If all of them have one, the
// task is a partition, whose steps are the pages of its list. Otherwise it searches: it finds
// the values of the next variable. Each value, and each item of a page that a child is for, is
// a task that runs after the step that has found it.
type task struct {
	job   *compile.Job
	level int    // how many of the variables of the job have values
	value any    // of the last of these variables
	from  *place // where an earlier run was in it; nil for a new task

	backlog *backlog // its pages, if it runs ahead of its turn; otherwise nil
	begun   bool     // it runs, ahead or in its turn
	slot    bool     // it holds a slot
	split   bool     // its window has to be divided
	saved   savedValue
}

// searches reports whether the task finds values of a variable.
func (t *task) searches() bool { return t.level < len(t.job.Sources) }

// A place is where a task is: after a step, with the tasks that are still to come before the
// next one.
type place struct {
	position position // in the list, after the last page
	last     bool     // no step follows
	todo     []*task  // the first may be running, those after it may run ahead
	windows  *windows // further tasks, or nil
}

// A frame is a task that runs. It is on the stack of the walk: its parent is the frame of the
// task that has found it.
type frame struct {
	*tree
	parent    *frame // nil: the task is the root
	task      *task
	partition runtime.Partition
	token     func() (position, error) // the position after the page that is being delivered, if there is one; otherwise nil
	err       error                    // of the sink, or of a task for an item

	mu      sync.Mutex
	changed *sync.Cond // signals changes of todo; nil if no task runs ahead
	ahead   []*task    // the tasks that began before their turn and whose pages have not all been passed on
	place
}

// push returns the frame of a task.
func (t *tree) push(parent *frame, child *task) *frame {
	f := &frame{tree: t, parent: parent, task: child, partition: runtime.Partition{Job: child.job}}
	if parent != nil {
		f.partition = parent.partition.With(child.job, child.job.Sources[child.level-1].Name, child.value)
	}
	if child.from != nil {
		f.place = *child.from
	}
	return f
}

// run runs the task to its end, with all tasks that it finds.
func (f *frame) run(ctx context.Context) error {
	switch {
	case f.task.searches():
		return f.search(ctx)
	case f.task.from == nil && f.task.level > 0 && !f.left.take():
		f.leaveOut()
		return nil
	case len(f.todo) > 0: // of an earlier run
		if err := f.children(ctx); err != nil {
			f.ended(f.partition, endOf(f.failed(resultAt(f.task.job.Set.Job.ID, f.position), err)))
			return err
		}
	}
	result, err := f.list(ctx, f.partition, f.position, f.step)
	if err == nil && result.Outcome == rules.Split {
		f.task.split = true
		f.left.give()
		return nil
	}
	return f.end(result, err)
}

// search runs a task for each value of the next variable.
func (f *frame) search(ctx context.Context) error {
	if f.task.from == nil {
		list, windows, err := f.values(ctx, f.partition, f.task.level)
		if err != nil {
			return err
		}
		f.windows, f.last = windows, true
		for _, v := range list {
			f.todo = append(f.todo, f.valued(v))
		}
	}
	return f.children(ctx)
}

// valued returns the task for a value of the next variable.
func (f *frame) valued(v any) *task {
	return &task{job: f.task.job, level: f.task.level + 1, value: v}
}

// step passes on a page of the list, and runs the children for its items.
func (f *frame) step(ctx context.Context, page *runtime.Page) (err error) {
	defer func() { f.err = err }()
	f.token, f.last, f.todo = runtime.DeliveryOf(page).Checkpoint, page.Decision == trace.Stop, nil
	err = f.items(ctx, f.partition, page, f.found, func(job *compile.Job, _, _ int, v any) error {
		f.todo = append(f.todo, &task{job: job, level: 1, value: v})
		return nil
	})
	if err != nil {
		return err
	}
	page.Skipped = skipsOn(f.partition.Job, page)
	err = f.pass(ctx, delivery{page: page, silent: f.silent(f.partition.Job), last: f.last && len(f.todo) == 0, stack: f.stack})
	if err != nil {
		return err
	}
	runtime.DeliveryOf(page).Accepted = true
	if page.Outcome == rules.Failed && !page.Skipped || len(f.todo) == 0 { // the run ends, or there are no tasks
		return nil
	}
	return f.children(ctx)
}

// children runs the tasks that are to come, one after another. Others run ahead meanwhile, if
// there are slots.
func (f *frame) children(ctx context.Context) error {
	ctx, stop := f.beginAhead(ctx)
	defer stop()
	for {
		child := f.next()
		switch {
		case ctx.Err() != nil:
			return cancelled(ctx, f.partition.Job.Set.Job.ID, 0)
		case child == nil:
			return nil
		}
		if err := f.child(ctx, child); err != nil {
			return err
		}
		f.pop(child)
	}
}

// child runs a task in its turn or, if it runs ahead already, passes on the pages that it has
// so far, and lets it pass on the rest itself.
func (f *frame) child(ctx context.Context, child *task) error {
	if f.begin(child) {
		return f.push(f, child).run(ctx)
	}
	f.free(child)
	if err := child.backlog.drain(ctx, f); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead = slices.DeleteFunc(f.ahead, func(t *task) bool { return t == child })
	child.backlog.discard()
	return nil
}

// next returns the task whose turn it is, or nil after the last one.
func (f *frame) next() *task {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.todo) == 0 && !f.pull() {
		return nil
	}
	return f.todo[0]
}

// pull adds the task for the next window, if there is one.
func (f *frame) pull() bool {
	if f.windows == nil {
		return false
	}
	v, more := f.windows.next()
	if more {
		f.todo = append(f.todo, f.valued(v))
	}
	return more
}

// pop removes a task that has ended. If its window has to be divided, its halves are next. If
// the limit on partitions has left out one of the job, it would leave out the others, too.
func (f *frame) pop(child *task) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.todo[0] = nil // what it holds is not needed any more
	f.todo = f.todo[1:]
	if child.split {
		first, second, _ := divide(child.job, child.value)
		f.todo = slices.Concat([]*task{f.valued(first), f.valued(second)}, f.todo)
	}
	if f.limited[child.job] {
		f.windows = nil
		f.todo = slices.DeleteFunc(f.todo, func(other *task) bool { return other.job == child.job })
	}
	if f.changed != nil {
		f.changed.Broadcast()
	}
}

// A delivery is a page on its way to the sink.
type delivery struct {
	page   *runtime.Page
	silent bool                  // its items are not written
	last   bool                  // nothing follows it, as far as the tasks know that have passed it on
	stack  func() (stack, error) // where they are after the page; its result is nil if the page has to be requested again
}

// pass passes a page to the sink, or to the backlog of a task that runs ahead of its turn.
func (f *frame) pass(ctx context.Context, d delivery) error {
	if f.task.backlog != nil {
		if kept, err := f.task.backlog.keep(ctx, d); kept || err != nil {
			return err
		}
	}
	if f.parent == nil {
		return f.deliver(ctx, d)
	}
	return f.parent.fromChild(ctx, d)
}

// fromChild passes on a page of the task whose turn it is.
func (f *frame) fromChild(ctx context.Context, d delivery) error {
	below := d.stack
	d.last = d.last && f.endsAfterThis()
	d.stack = func() (stack, error) {
		s, err := below()
		if err != nil || s == nil {
			return nil, err
		}
		return f.add(s)
	}
	return f.pass(ctx, d)
}

// endsAfterThis reports whether nothing comes after the task whose turn it is.
func (f *frame) endsAfterThis() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last && len(f.todo) == 1 && f.windows.done()
}

// ended passes on the end of a partition.
func (f *frame) ended(p runtime.Partition, result EndedResult) {
	switch {
	case f.task.backlog != nil && f.task.backlog.keepEnd(p, result):
	case f.parent != nil:
		f.parent.ended(p, result)
	default:
		f.tree.ended(p, result)
	}
}

// end ends the partition. One that failed may be skipped.
func (f *frame) end(result runtime.Result, err error) error {
	skipped := false
	switch {
	case f.err != nil: // the partition itself has not failed
		result = f.failed(result, f.err)
	case skips(f.partition.Job, err):
		f.Log.Error(fmt.Sprintf("%v; the partition is skipped", err), "event", "partition_skipped",
			"job", result.Job, "partition", f.partition.Label())
		skipped, err = true, nil
	}
	end := endOf(result)
	end.Skipped = skipped
	f.ended(f.partition, end)
	return err
}

// leaveOut ends a partition that the limit on partitions does not allow.
func (f *frame) leaveOut() {
	f.leftOut = true
	if job := f.partition.Job; !f.limited[job] {
		f.limited[job] = true
		f.ended(f.partition, EndedResult{NoList: true, Result: runtime.Result{
			Job: job.Set.Job.ID, Outcome: rules.Limited, Reason: runtime.LimitPartitions, StoppedBy: []string{},
			Message: "the limit on the partitions of a run is reached",
		}})
	}
}

// deliver passes a page to the sink.
func (t *tree) deliver(ctx context.Context, d delivery) error {
	page := d.page
	page.Root, page.Final = t.root.Set.Job.ID, d.last
	if items, lists := page.Items, page.Lists; d.silent {
		page.Items, page.Lists = document.Items{}, nil
		defer func() { page.Items, page.Lists = items, lists }()
	}
	delivery := runtime.DeliveryOf(page)
	delivery.Checkpoint = func() (position, error) {
		s, err := d.stack()
		if err != nil || s == nil {
			return nil, err
		}
		return t.checkpoint(ctx, s, d.last)
	}
	defer func() { delivery.Checkpoint = nil }()
	return t.sink(ctx, page)
}

// ended adds the end of a partition to the results.
func (t *tree) ended(p runtime.Partition, result EndedResult) {
	if failed := result.FailedPage; failed != nil && result.Skipped && t.Skipped != nil {
		failed.Skipped = true
		t.Skipped(&runtime.Page{Record: *failed, Root: t.root.Set.Job.ID})
	}
	t.Tally.end(p, result)
}

// skipsOn reports whether a partition of a job fails on a page, and the others run.
func skipsOn(job *compile.Job, page *runtime.Page) bool {
	return page.Outcome == rules.Failed && job.Set.Job.OnFailure == rules.PartitionSkip &&
		page.Error != nil && skippableClass(failure.Class(page.Error.Class))
}

// skips reports whether a partition of a job that failed with an error is skipped.
func skips(job *compile.Job, err error) bool {
	known, ok := errors.AsType[*failure.Error](err)
	return ok && job.Set.Job.OnFailure == rules.PartitionSkip && skippableClass(known.Class)
}

// skippableClass reports whether the other partitions can do without one that failed.
func skippableClass(class failure.Class) bool {
	switch class {
	case failure.API, failure.Response, failure.Transient, failure.Policy:
		return true
	}
	return false
}
