package partition

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/ahead"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/saved"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A Task is a part of a run that one machine does by itself. It is a partition or, if some
// variables of its job have no value yet, the search for the values of the next variable. Queues
// hold its JSON form, which has no secrets.
type Task struct {
	// ID identifies the task within the run by its path. "0" is the first job of the run, "0-v12"
	// is the value with index 12 of its variable, and "0-v12-h1" is the second half of that window.
	// "0-p3j0i17" is the first child, for the item with index 17 on page 3.
	ID string `json:"id"`

	Job     string          `json:"job"`               // id of the job; empty for all jobs of the run, one after another
	Level   int             `json:"level,omitempty"`   // number of variables of the job that have values
	Binding json.RawMessage `json:"binding,omitempty"` // values of these variables and of the parents' variables, by name
}

// A Step is a part of a task that is stored as a whole: a page with the position after it, or
// values of a variable.
type Step struct {
	Label    string          // label of the partition, such as "order.id=1001"; empty for a job without variables
	Page     *runtime.Page   // nil for a search
	Skipped  []trace.Record  // pages on which partitions failed and were skipped, before Page
	Children []Task          // tasks that the step has found; they run after it was stored
	Position json.RawMessage // position from which the task continues after the step
	Ending   *Ending         // end of the task with this step; nil if the task continues

	// Missing holds, by job for the items of Page, the paths that the job reads and no item has.
	Missing map[string][][]string
}

// An Ending says how a task ended.
type Ending struct {
	Results []EndedResult `json:"results,omitempty"` // one result, or one per job for a task of all jobs; empty if the task only found tasks
	Label   string        `json:"label,omitempty"`   // label of the partition, such as "order.id=1001"
	Failed  *trace.Record `json:"failed,omitempty"`  // page on which the task failed, if no step has it
	Split   bool          `json:"split,omitempty"`   // whether the window was split
}

// Failure returns the error of a task that failed, with its class, or nil if it did not fail.
func (e *Ending) Failure() error {
	var errs []error
	for _, r := range e.Results {
		if f := r.Error; f != nil && !r.Skipped {
			errs = append(errs, &failure.Error{
				Class: failure.Class(f.Class), Op: "task", Message: f.Message, Hint: f.Hint, CauseBefore: f.CauseBefore,
			})
		}
	}
	return errors.Join(errs...)
}

// Tasks divides the jobs of a run into parts that run independently of each other, in any order and
// on any machine. Each part runs like the same part of [Walk.Run].
type Tasks struct {
	walk  Walk
	roots []*compile.Job
	trees []*tree // trees of roots, in the same order
}

// Tasks returns the tasks of jobs without parents. started is the value of now() in the rules of
// variables; it is the same on all machines.
func (w Walk) Tasks(ctx context.Context, roots []*compile.Job, started time.Time) (*Tasks, error) {
	w.Loop = w.WithDefaults()
	w.Started, w.Slots, w.Resume, w.omitsFailed = started, nil, nil, true
	s := &Tasks{walk: w, roots: roots}
	for _, root := range roots {
		t := newTree(w, root, nil)
		if err := t.reveal(ctx); err != nil {
			return nil, err
		}
		s.trees = append(s.trees, t)
	}
	return s, nil
}

// InTurn returns the same tasks, which request a page only after the page before it has been stored.
func (s *Tasks) InTurn() *Tasks {
	copied := *s
	copied.walk.Ahead, copied.trees = ahead.Policy{}, nil
	for _, t := range s.trees {
		tree := *t
		tree.walk.Ahead = ahead.Policy{}
		copied.trees = append(copied.trees, &tree)
	}
	return &copied
}

// RootTasks returns the first tasks of a run: one for each job or, if the run has a quota of partitions,
// one for all jobs, since the quota requires one order.
func RootTasks(roots []*compile.Job, quota *Quota) []Task {
	if quota != nil {
		return []Task{{ID: allJobs}}
	}
	tasks := make([]Task, len(roots))
	for i, root := range roots {
		tasks[i] = Task{ID: fmt.Sprint(i), Job: root.ID()}
	}
	return tasks
}

// allJobs is the id of the task that runs all jobs.
const allJobs = "all"

// Run runs a task from the position of a stored step; if position is nil, it begins with the first
// step. It passes each step to store. The items of a step are valid until store returns.
//
// The ending of a task that ends is part of its last step. If the task fails, the error is a
// [*failure.Error], and the ending, which describes the failure, is only returned. If store returns
// an error, Run returns it. A task that was interrupted has no ending.
func (s *Tasks) Run(ctx context.Context, task Task, position json.RawMessage, store func(context.Context, *Step) error) (*Ending, error) {
	if task.Job == "" {
		return s.runAll(ctx, position, store)
	}
	r, err := s.open(ctx, task)
	if err != nil {
		return nil, err
	}
	r.position, r.store = position, store
	if task.Level < len(r.job.For) {
		return r.search(ctx)
	}
	return r.storeList(ctx)
}

// Label describes the values of the variables of a task, without secrets, such as "order.id=1001".
// It is empty for a job without variables, and for a task that cannot be run.
func (s *Tasks) Label(ctx context.Context, task Task) string {
	r, err := s.open(ctx, task)
	if err != nil { // also for a task of all jobs
		return ""
	}
	return r.label()
}

// open decodes a task.
func (s *Tasks) open(ctx context.Context, task Task) (*taskRun, error) {
	r := &taskRun{task: task}
	for _, t := range s.trees {
		if job := t.tally.byID[task.Job]; job != nil {
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
	var binding saved.Value[map[string]any]
	raw, err := r.tree.walk.Concealer(ctx).RevealJSON(task.Binding)
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

// RootOf returns the index of the root job of a task, given the task's id. It reports false for the
// task that runs all jobs, and for a malformed id.
func RootOf(id string) (index int, ok bool) {
	first, _, _ := strings.Cut(id, "-")
	index, err := strconv.Atoi(first)
	return index, err == nil && index >= 0
}

// isFailure reports whether an error of a store function is a failure of the task itself: a step
// that cannot be stored.
func isFailure(err error) bool { return errors.As(err, new(*failure.Error)) }

// FailedEnding returns the ending of a task that an error outside of Run ended, such as a panic.
func (s *Tasks) FailedEnding(ctx context.Context, task Task, err error) *Ending {
	if r, openErr := s.open(ctx, task); openErr == nil {
		return r.failedEnding(err)
	}
	result := s.walk.failed(runtime.Result{Job: task.Job}, err)
	return &Ending{Results: []EndedResult{{Result: result, Name: fmt.Sprintf("%s (task %s)", task.Job, task.ID)}}}
}
