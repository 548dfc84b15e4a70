package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// list runs the partition, or what is left of it after a position. A window of which pages
// are stored is not divided.
func (r *taskRun) list(ctx context.Context, position json.RawMessage, window bool) (*Ending, error) {
	r.position = position
	run := newRun(ctx, r.Loop, r.partition, func(ctx context.Context, page *Page) error {
		token, err := page.Checkpoint()
		if err != nil {
			return err
		}
		return r.page(ctx, page, token, page.after)
	})
	run.hasSiblings, run.unsplittable = len(r.job.Sources) > 0, window
	run.isParent = len(r.tree.children(r.job)) > 0
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

// window runs a partition whose window may have to be divided: into two tasks. Its pages are
// stored when it is known that it does not.
func (r *taskRun) window(ctx context.Context, first, second any) (*Ending, error) {
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
