package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Task is a part of a run that one machine does by itself: a partition or, if some of the
// variables of its job have no value yet, finding the values of the next one. As JSON it is
// what a queue holds; it has no secrets.
type Task struct {
	// ID names the task among those of the run. It is the path to it: "0" is the first job of
	// the run, "0-v12" the value of its variable with index 12, "0-p3j0i17" that of the first job
	// for its items, for the item with index 17 of its page 3, and "0-v12-h1" the second half of a window.
	ID string `json:"id"`

	Job     string          `json:"job"`               // empty: all jobs of the run, one after another
	Level   int             `json:"level,omitempty"`   // how many of the variables of the job have values
	Binding json.RawMessage `json:"binding,omitempty"` // these values and those of the parents, by name
}

// A Step is a part of a task that is stored as a whole: a page with the position after it,
// or values of a variable.
type Step struct {
	Label    string          // of the partition of the task: "order.id=1001"; empty: its job has no variables
	Page     *Page           // nil: none
	Skipped  []Record        // pages on which partitions failed that were skipped, before Page
	Children []Task          // that the step has found; they run when it is stored
	Position json.RawMessage // from which the task goes on after the step
	Ending   *Ending         // how the task ended, with this step; nil: it goes on

	// Missing has, by job for the items of Page, the paths that it reads and none of them had.
	Missing map[string][][]string
}

// An Ending says how a task ended.
type Ending struct {
	Results []EndedResult `json:"results,omitempty"` // one, but for a task with all jobs; none if nothing but tasks came of it
	Label   string        `json:"label,omitempty"`   // of the partition: "order.id=1001"
	Failed  *Record       `json:"failed,omitempty"`  // the page on which it failed, if no step has it
	Split   bool          `json:"split,omitempty"`   // the window was divided
}

// An EndedResult is a [Result] with what is needed to add it to others.
type EndedResult struct {
	endedState

	Name    string `json:"name,omitempty"`    // of the partition, in messages
	Skipped bool   `json:"skipped,omitempty"` // it failed, and the run goes on
	NoList  bool   `json:"noList,omitempty"`  // there was no partition: its values could not be found
	Lists   *seen  `json:"lists,omitempty"`
}

// FailureOf returns the error of a task that failed, with its class; nil if it did not.
func (e *Ending) FailureOf() error {
	var all []error
	for _, r := range e.Results {
		if f := r.Error; f != nil && !r.Skipped {
			all = append(all, &failure.Error{Class: failure.Class(f.Class), Op: "task", Message: f.Message, Hint: f.Hint})
		}
	}
	return errors.Join(all...)
}

// Tasks are the jobs of a run in parts that run independently of each other, in any order
// and on any machine. Each part runs like the same part of [Loop.RunTree].
type Tasks struct {
	loop  Loop
	roots []*compile.Job
	trees []*tree // of roots
}

// NewTasks returns the tasks of jobs that are not for the items of others. The time is the
// one that now() gives the rules of variables: the same on all machines.
func (l Loop) NewTasks(ctx context.Context, roots []*compile.Job, started time.Time) (*Tasks, error) {
	l = l.withDefaults()
	l.Slots, l.Resume = nil, nil
	s := &Tasks{loop: l, roots: roots}
	for _, root := range roots {
		t := newTree(l, root, nil)
		t.started = started
		if err := t.reveal(ctx); err != nil {
			return nil, err
		}
		s.trees = append(s.trees, t)
	}
	return s, nil
}

// RootTasks returns the tasks with which a run of jobs begins: one for each job or, if the
// partitions of the run are limited, one for all, since the limit needs one order.
func RootTasks(roots []*compile.Job, limited bool) []Task {
	if limited {
		return []Task{{ID: allJobs}}
	}
	tasks := make([]Task, len(roots))
	for i, root := range roots {
		tasks[i] = Task{ID: fmt.Sprint(i), Job: root.Set.Job.ID}
	}
	return tasks
}

// allJobs is the id of the task that runs all jobs.
const allJobs = "all"

// Run runs a task from its beginning, or from a position that a step had. It passes each
// step to a function that stores it, and ends with the error of the function, if it returns
// one. The items of a step are valid until the function returns. If the task itself fails, the
// ending says how, and the error is a [*failure.Error]; no step has this ending. A task that
// was interrupted has no ending.
func (s *Tasks) Run(ctx context.Context, task Task, position json.RawMessage, store func(context.Context, *Step) error) (*Ending, error) {
	if task.Job == "" {
		return s.runAll(ctx, position, store)
	}
	r, err := s.open(ctx, task, store)
	if err != nil {
		return nil, err
	}
	if task.Level < len(r.job.Sources) {
		return r.find(ctx, position)
	}
	if first, second, ok := r.halves(); ok && position == nil {
		return r.try(ctx, first, second)
	}
	return r.list(ctx, position)
}

// Label returns the values of the variables of a task for people, without secrets:
// "order.id=1001". It is empty for a job without variables, and for a task that cannot be run.
func (s *Tasks) Label(ctx context.Context, task Task) string {
	if task.Job == "" {
		return ""
	}
	r, err := s.open(ctx, task, nil)
	if err != nil {
		return ""
	}
	return r.label()
}

// A taskRun is a task that runs.
type taskRun struct {
	*tree
	task      Task
	job       *compile.Job
	partition Partition
	store     func(context.Context, *Step) error
	stored    error           // of store
	unstored  *Page           // on which the task failed
	position  json.RawMessage // of the last step
	ended     *Ending         // of the last step; nil: the task goes on
}

// open reads a task.
func (s *Tasks) open(ctx context.Context, task Task, store func(context.Context, *Step) error) (*taskRun, error) {
	r := &taskRun{task: task, store: store}
	for _, t := range s.trees {
		if job := t.jobs[task.Job]; job != nil {
			r.tree, r.job = t, job
		}
	}
	if r.tree == nil {
		return nil, &failure.Error{Class: failure.State, Op: "task",
			Message: fmt.Sprintf("the configuration has no job %q for task %s", task.Job, task.ID)}
	}
	r.partition.Job = r.job
	if task.Binding == nil {
		return r, nil
	}
	var binding snapshot[map[string]any]
	raw, err := r.concealer(ctx).reveal(task.Binding)
	if err == nil {
		err = json.Unmarshal(raw, &binding)
	}
	if err != nil {
		return nil, &failure.Error{Class: failure.State, Job: task.Job, Op: "task", Err: err,
			Message: fmt.Sprintf("the values of task %s cannot be read: %v", task.ID, err)}
	}
	r.partition.Binding = binding.Value
	return r, nil
}

// child returns the task for a value of a variable of a job.
func (r *taskRun) child(c *concealer, job *compile.Job, level int, step string, v any) (Task, error) {
	p := r.partition.with(job, job.Sources[level].Name, v)
	raw, err := encode(p.Binding)
	if err == nil {
		raw, err = c.concealValue(raw)
	}
	return Task{ID: r.task.ID + "-" + step, Job: job.Set.Job.ID, Level: level + 1, Binding: raw}, err
}

func (r *taskRun) label() string { return r.Redactor.String(r.partition.Label()) }

// ending returns how the task ended, given the result of its partition.
func (r *taskRun) ending(result Result) *Ending {
	one := EndedResult{
		endedState: endedState{Result: result, First: result.first}, Name: r.Redactor.String(r.partition.name()), Skipped: result.skipped,
	}
	if !result.seen.empty() {
		one.Lists = &result.seen
	}
	return &Ending{Label: r.label(), Failed: result.failed, Results: []EndedResult{one}}
}

// maxFound is how many tasks a step has at most that finds the values of a variable.
const maxFound = 1000

// foundState is the position in the values of a variable.
type foundState struct {
	Version int `json:"version"`
	Next    int `json:"next"` // index of the first value that no step had
}

// find finds the values of the next variable of the job.
func (r *taskRun) find(ctx context.Context, position json.RawMessage) (*Ending, error) {
	at := foundState{Version: checkpointVersion}
	if position != nil {
		if err := CheckVersion(r.task.Job, position); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(position, &at); err != nil {
			return nil, r.unusable(err)
		}
	}
	b, err := r.values(ctx, r.partition, r.job, r.task.Level)
	for i := 0; i < at.Next && err == nil; i++ {
		b.skip()
	}
	for err == nil {
		step := &Step{Label: r.label()}
		if step.Children, err = r.next(ctx, b, at.Next); err != nil {
			break
		}
		at.Next += len(step.Children)
		step.Position, _ = json.Marshal(at)
		if b.first() == nil {
			step.Ending = &Ending{Label: r.label()}
		}
		if r.stored = r.store(ctx, step); r.stored != nil && !isFailure(r.stored) {
			return nil, r.stored
		}
		if err = r.stored; err != nil {
			break
		}
		if step.Ending != nil {
			return step.Ending, nil
		}
	}
	if errors.Is(err, failure.ErrCancelled) {
		return nil, err
	}
	return r.notFound(err), err
}

// next returns the tasks for the next values, beginning with that of an index.
func (r *taskRun) next(ctx context.Context, b *branch, index int) ([]Task, error) {
	c := r.concealer(ctx)
	var tasks []Task
	for m := b.first(); m != nil && len(tasks) < maxFound; m = b.first() {
		one, err := r.child(c, r.job, r.task.Level, fmt.Sprintf("v%d", index+len(tasks)), m.value)
		if err != nil {
			return nil, r.fault(r.partition, err)
		}
		tasks = append(tasks, one)
		b.skip()
	}
	return tasks, nil
}

// skip removes the first member of a branch, which is not run.
func (b *branch) skip() {
	if m := b.first(); m != nil {
		b.next(m)
	}
}

// notFound returns the ending of a task whose values cannot be found.
func (r *taskRun) notFound(err error) *Ending {
	e := r.ending(r.failed(Result{Job: r.task.Job}, err))
	e.Results[0].NoList = true
	return e
}

// list runs the partition, or what is left of it after a position.
func (r *taskRun) list(ctx context.Context, position json.RawMessage) (*Ending, error) {
	r.position = position
	run := newRun(ctx, r.Loop, r.partition, func(ctx context.Context, page *Page) error {
		token, err := page.Checkpoint()
		if err != nil {
			return err
		}
		return r.page(ctx, page, token, page.after)
	})
	run.hasSiblings = len(r.job.Sources) > 0
	result, err := run.run(ctx, position)
	return r.end(result, err)
}

// halves returns the halves of the window of the partition, if it may have to be divided.
func (r *taskRun) halves() (first, second any, ok bool) {
	if len(r.job.Sources) == 0 {
		return nil, nil, false
	}
	source := &r.job.Sources[len(r.job.Sources)-1]
	b := &branch{source: source}
	return b.halves(r.partition.Binding[source.Name])
}

// try runs a partition whose window may have to be divided: into two tasks. Its pages are
// stored when it is known that it does not.
func (r *taskRun) try(ctx context.Context, first, second any) (*Ending, error) {
	kept := newBacklog(0)
	defer kept.discard()
	result, err := r.runSplittable(ctx, r.partition, func(ctx context.Context, page *Page) error {
		return kept.page(ctx, page, func() (*memberState, error) {
			token, err := page.Checkpoint()
			return &memberState{Position: token}, err
		})
	})
	if err == nil && result.Outcome == rules.Split {
		return r.split(ctx, first, second)
	}
	for {
		e, ok := kept.take(nil)
		if !ok {
			return r.end(result, err)
		}
		stored := kept.deliver(ctx, e, toStore{r, e.saved.Position, result})
		if stored != nil {
			r.stored = stored
			return r.end(result, stored)
		}
	}
}

// toStore receives the pages of a window that is not divided.
type toStore struct {
	task     *taskRun
	position json.RawMessage
	result   Result // of the partition
}

func (s toStore) page(ctx context.Context, page *Page, _ func() (*memberState, error)) error {
	return s.task.page(ctx, page, s.position, func() Result { return s.result })
}

func (toStore) ended(Partition, Result) {}

// split stores that the window was divided.
func (r *taskRun) split(ctx context.Context, halves ...any) (*Ending, error) {
	step := &Step{Label: r.label(), Ending: &Ending{Label: r.label(), Split: true}}
	c := r.concealer(ctx)
	for i, half := range halves {
		one, err := r.child(c, r.job, len(r.job.Sources)-1, fmt.Sprintf("h%d", i), half)
		if err != nil {
			return nil, r.fault(r.partition, err)
		}
		step.Children = append(step.Children, one)
	}
	if err := r.store(ctx, step); err != nil {
		return nil, err
	}
	return step.Ending, nil
}

// page stores a page with the tasks for its items. A page on which the task fails is not
// stored, since it has to be requested again, unless the partition is then skipped.
func (r *taskRun) page(ctx context.Context, page *Page, position json.RawMessage, after func() Result) error {
	job := r.job.Set.Job
	page.Root = r.root.Set.Job.ID
	failed := page.Outcome == rules.Failed
	page.Skipped = failed && job.OnFailure == rules.PartitionSkip && page.Error != nil && skippableClass(failure.Class(page.Error.Class))
	if failed && !page.Skipped {
		record := page.Record
		r.unstored, page.obtained, page.filtered = &Page{Record: record}, 0, 0
		return nil
	}
	step := &Step{Label: r.label(), Page: page, Position: position}
	var err error
	if step.Children, step.Missing, err = r.children(ctx, page); err != nil {
		r.stored = err // no fault of the partition
		return err
	}
	if failed {
		step.Position = r.position
	}
	if page.Decision == Stop {
		result := after()
		result.skipped, result.failed = page.Skipped, nil
		step.Ending = r.ending(result)
	}
	items, lists := page.Items, page.Lists
	if job.Silent || !r.selects(r.job) {
		page.Items, page.Lists = document.Items{}, nil
	}
	r.stored = r.store(ctx, step)
	page.Items, page.Lists = items, lists
	if r.position = step.Position; r.stored == nil {
		r.ended = step.Ending
	}
	return r.stored
}

// children returns the tasks for the items of a page.
func (r *taskRun) children(ctx context.Context, page *Page) (tasks []Task, missing map[string][][]string, err error) {
	jobs := r.tree.children(r.job)
	if len(jobs) == 0 {
		return nil, nil, nil
	}
	found, c := newPresence(jobs), r.concealer(ctx)
	for i, job := range jobs {
		values, err := r.items(ctx, r.partition, job, page, found)
		if err != nil {
			return nil, nil, r.fault(Partition{job, r.partition.Binding}, err)
		}
		for n, v := range values {
			one, err := r.child(c, job, 0, fmt.Sprintf("p%dj%di%d", page.Page, i, n), v)
			if err != nil {
				return nil, nil, r.fault(Partition{job, r.partition.Binding}, err)
			}
			tasks = append(tasks, one)
		}
	}
	return tasks, found.save(), nil
}

// end returns how the partition ended.
func (r *taskRun) end(result Result, err error) (*Ending, error) {
	switch {
	case r.ended != nil: // the error is that of a partition which is skipped
		return r.ended, nil
	case err == nil:
		return r.ending(result), nil
	case r.stored != nil && !isFailure(r.stored):
		return nil, r.stored
	case errors.Is(err, failure.ErrCancelled):
		return nil, err
	}
	if r.stored != nil { // what the jobs for the items read is wrong
		result = r.failed(result, err)
	}
	if r.unstored != nil {
		result.failed = &r.unstored.Record
	}
	result.skipped = r.job.Set.Job.OnFailure == rules.PartitionSkip && r.stored == nil && skippable(err)
	return r.ending(result), err
}

// runAll runs all jobs of the run in their order, with the limit on partitions.
func (s *Tasks) runAll(ctx context.Context, position json.RawMessage, store func(context.Context, *Step) error) (*Ending, error) {
	loop, saved := s.loop, map[string]json.RawMessage{}
	if position != nil {
		if err := json.Unmarshal(position, &saved); err != nil {
			return nil, &failure.Error{Class: failure.State, Op: "task", Message: "the position cannot be read: " + err.Error(), Err: err}
		}
	}
	loop.Partitions = NewQuota(loop.Partitions.left)
	loop.Resume = saved
	var skipped []Record
	loop.Skipped = func(page *Page) { skipped = append(skipped, page.Record) }
	ending, stored := &Ending{}, error(nil)
	for _, root := range s.roots {
		results, err := loop.RunTree(ctx, root, func(ctx context.Context, page *Page) error {
			token, err := page.Checkpoint()
			if err != nil {
				return err
			}
			if token == nil && !page.Skipped { // the run ends here, and requests the page again
				ending.Failed, page.obtained, page.filtered = &Record{}, 0, 0
				*ending.Failed = page.Record
				return nil
			}
			if token != nil {
				saved[page.Root] = token
			}
			step := &Step{Page: page, Skipped: skipped}
			skipped = nil
			if step.Position, err = json.Marshal(saved); err != nil {
				return err
			}
			stored = store(ctx, step)
			return stored
		})
		if stored != nil && !isFailure(stored) {
			return nil, stored
		}
		if errors.Is(err, failure.ErrCancelled) {
			return nil, err
		}
		for _, r := range results {
			ending.Results = append(ending.Results, EndedResult{endedState: endedState{Result: r, First: r.first}})
			if r.failed != nil {
				ending.Failed = r.failed
			}
		}
		if err != nil {
			return ending, err
		}
	}
	if err := store(ctx, &Step{Skipped: skipped, Position: position, Ending: ending}); err != nil {
		return nil, err
	}
	return ending, nil
}

// StoredPage returns a page that a step had, for a sink. Its checkpoint is what the function
// returns.
func StoredPage(record Record, root string, items document.Items, lists []document.List, final bool,
	checkpoint func() (json.RawMessage, error),
) *Page {
	return &Page{Record: record, Root: root, Items: items, Lists: lists, Final: final, checkpoint: checkpoint}
}

// Marks returns where the lists of a page end in its items: what [document.Lists] needs to
// restore them.
func (p *Page) Marks() []document.Mark { return marksOf(p.Lists) }

// RootOf returns the index of the job of the run that a task is below. It reports false for
// the task that runs all jobs, and for what is no id.
func RootOf(id string) (index int, ok bool) {
	first, _, _ := strings.Cut(id, "-")
	index, err := strconv.Atoi(first)
	return index, err == nil && index >= 0
}

// isFailure reports whether an error of a function that stores steps is one of the task: what
// it has found cannot be stored.
func isFailure(err error) bool { return errors.As(err, new(*failure.Error)) }

// FailedTask returns the ending of a task that failed with an error, of which the task itself
// cannot tell.
func (s *Tasks) FailedTask(ctx context.Context, task Task, err error) *Ending {
	if task.Job != "" {
		if r, openErr := s.open(ctx, task, nil); openErr == nil {
			return r.ending(r.failed(Result{Job: task.Job}, err))
		}
	}
	result := Result{Job: task.Job, Outcome: rules.Failed, Reason: reasonError, StoppedBy: []string{}, Message: err.Error()}
	result.Error = s.loop.faultOf(err)
	return &Ending{Results: []EndedResult{{endedState: endedState{Result: result}, Name: fmt.Sprintf("%s (task %s)", task.Job, task.ID)}}}
}
