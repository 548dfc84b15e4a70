package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

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
