package partition

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/saved"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A taskRun is a [Task] that runs.
type taskRun struct {
	tree      *tree
	task      Task
	job       *compile.Job
	partition runtime.Partition
	store     func(context.Context, *Step) error
	storeErr  error    // error that store returned
	position  position // position after the last step
	ended     *Ending  // ending in the last step; nil if the task continues
}

// storeList runs the rest of the list of the partition. If its window must be split, the task finds
// two tasks, for its halves.
func (r *taskRun) storeList(ctx context.Context) (*Ending, error) {
	result, err := r.tree.runList(ctx, r.partition, r.position, r.storePage)
	switch {
	case err == nil && result.Outcome == rules.Split:
		return r.split(ctx)
	case r.ended != nil: // the error belongs to a partition that is skipped
		return r.ended, nil
	case err == nil:
		return r.ending(result), nil
	case r.storeErr != nil && !isFailure(r.storeErr):
		return nil, r.storeErr
	case errors.Is(err, failure.ErrCancelled):
		return nil, err
	}
	if r.storeErr != nil { // the children read a wrong value
		result.Result = r.tree.walk.failed(result.Result, err)
	} else if Skips(r.job, err) {
		return r.skippedEnding(result), err
	}
	return r.ending(result), err
}

// storePage stores a page with the tasks of its children. The partition is skipped if its list has
// failed on the page.
func (r *taskRun) storePage(ctx context.Context, d *runtime.Delivery) (delivered bool, err error) {
	checkpoint, err := d.Checkpoint()
	if err != nil {
		return false, err
	}
	page := d.Page
	page.Root, page.Skipped = r.tree.root.ID(), page.Outcome == rules.Failed
	step := &Step{Label: r.label(), Page: page, Position: checkpoint}
	if r.storeErr = r.addChildTasks(ctx, d, step); r.storeErr != nil { // the partition is not at fault
		return false, r.storeErr
	}
	if page.Skipped {
		step.Position = r.position
	}
	if page.Decision == trace.Stop {
		result := d.Result()
		result.FailedPage = nil
		if step.Ending = r.ending(result); page.Skipped {
			step.Ending = r.skippedEnding(result)
		}
	}
	items, lists := page.Items, page.Lists
	if !r.tree.emits(r.job) {
		page.Items, page.Lists = document.Items{}, nil
	}
	r.storeErr = r.store(ctx, step)
	page.Items, page.Lists = items, lists
	if r.position = step.Position; r.storeErr == nil {
		r.ended = step.Ending
	}
	return r.storeErr == nil, r.storeErr
}

// addChildTasks adds the tasks for the items of a page to its step.
func (r *taskRun) addChildTasks(ctx context.Context, d *runtime.Delivery, step *Step) error {
	jobs := r.tree.walk.children(r.job)
	if len(jobs) == 0 {
		return nil
	}
	missing, c := &evidence.MissingPaths{}, r.tree.walk.Concealer(ctx)
	err := r.tree.eachChildItem(ctx, r.partition, d.SentItems(), missing, func(job *compile.Job, i, n int, v any) error {
		task, err := r.child(c, job, 0, fmt.Sprintf("p%dj%di%d", d.Page.Page, i, n), v)
		step.Children = append(step.Children, task)
		return err
	})
	step.Missing = missing.Save()
	return err
}

// split stores that the window was split.
func (r *taskRun) split(ctx context.Context) (*Ending, error) {
	step := &Step{Label: r.label(), Ending: &Ending{Label: r.label(), Split: true}}
	c := r.tree.walk.Concealer(ctx)
	first, second, _ := divide(r.job, lastValue(r.partition))
	for i, half := range []any{first, second} {
		task, err := r.child(c, r.job, len(r.job.For)-1, fmt.Sprintf("h%d", i), half)
		if err != nil {
			return nil, r.tree.fault(ctx, r.partition, err)
		}
		step.Children = append(step.Children, task)
	}
	if err := r.store(ctx, step); err != nil {
		return nil, err
	}
	return step.Ending, nil
}

// maxFound is the largest number of values in a step of a search.
const maxFound = 1000

// A foundState is a position in the values of a variable.
type foundState struct {
	Version int `json:"version"`
	Next    int `json:"next"` // index of the first value that is not in a step
}

// search stores the tasks for the values of the next variable of the job.
func (r *taskRun) search(ctx context.Context) (*Ending, error) {
	start := foundState{Version: runtime.CheckpointVersion}
	if r.position != nil {
		err := runtime.Checkpoint(r.position).CheckVersion()
		if err == nil {
			err = json.Unmarshal(r.position, &start)
		}
		if err != nil {
			return nil, runtime.UnusableCheckpoint(r.task.Job, err)
		}
	}
	ending, err := r.storeValues(ctx, start)
	switch {
	case r.storeErr != nil && !isFailure(r.storeErr):
		return nil, r.storeErr
	case errors.Is(err, failure.ErrCancelled):
		return nil, err
	case err != nil:
		ending = r.failedEnding(err)
		ending.Results[0].NoList = true
	}
	return ending, err
}

// storeValues stores the steps of a search from a position.
func (r *taskRun) storeValues(ctx context.Context, state foundState) (*Ending, error) {
	list, windows, err := r.tree.valuesOf(ctx, r.partition, r.task.Level)
	if err != nil {
		return nil, err
	}
	step, c := &Step{Label: r.label()}, r.tree.walk.Concealer(ctx)
	for i := 0; ; i++ {
		v, more := nextValue(&list, windows)
		if more && i < state.Next {
			continue
		}
		if !more {
			step.Ending = &Ending{Label: r.label()}
		}
		if !more || len(step.Children) == maxFound {
			state.Next += len(step.Children)
			step.Position, _ = json.Marshal(state)
			if r.storeErr = r.store(ctx, step); !more || r.storeErr != nil {
				return step.Ending, r.storeErr
			}
			step = &Step{Label: r.label()}
		}
		task, err := r.child(c, r.job, r.task.Level, fmt.Sprintf("v%d", i), v)
		if err != nil {
			return nil, r.tree.fault(ctx, r.partition, err)
		}
		step.Children = append(step.Children, task)
	}
}

// nextValue removes and returns the next value of a variable, of windows or, if w is nil, of a
// list.
func nextValue(list *[]any, w *windowSeries) (v any, more bool) {
	switch {
	case w != nil:
		return w.next()
	case len(*list) == 0:
		return nil, false
	}
	v, *list = (*list)[0], (*list)[1:]
	return v, true
}

// child returns the task for a value of a variable of a job.
func (r *taskRun) child(c *saved.Concealer, job *compile.Job, level int, step string, v any) (Task, error) {
	p := r.partition.With(job, job.For[level].Name, v)
	raw, err := c.Encode(p.Binding)
	return Task{ID: r.task.ID + "-" + step, Job: job.ID(), Level: level + 1, Binding: raw}, err
}

func (r *taskRun) label() string { return r.tree.walk.Redactor.Shown(r.partition.Label()) }

// ending returns the ending of the task, given the result of its partition.
func (r *taskRun) ending(result runtime.ListResult) *Ending {
	ended := endOf(result)
	ended.Name = r.tree.walk.Redactor.Shown(r.partition.Name())
	return &Ending{Label: r.label(), Failed: result.FailedPage, Results: []EndedResult{ended}}
}

// skippedEnding is ending for a partition that has failed and is skipped.
func (r *taskRun) skippedEnding(result runtime.ListResult) *Ending {
	e := r.ending(result)
	e.Results[0].Skipped = true
	return e
}

// failedEnding returns the ending of a task that failed before its list began.
func (r *taskRun) failedEnding(err error) *Ending {
	return r.ending(runtime.ListResult{Result: r.tree.walk.failed(runtime.Result{Job: r.task.Job}, err)})
}
