package partition

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// allRun is the task that runs all jobs of the run in their order, with the limit on partitions.
type allRun struct {
	walk    Walk
	store   func(context.Context, *Step) error
	stored  error                      // of store
	saved   map[string]json.RawMessage // the position: the checkpoint of each job
	skipped []trace.Record             // since the last step
	ending  *Ending
}

// runAll runs the task, or what is left of it after a position.
func (s *Tasks) runAll(ctx context.Context, position json.RawMessage, store func(context.Context, *Step) error) (*Ending, error) {
	a := &allRun{walk: s.walk, store: store, saved: map[string]json.RawMessage{}, ending: &Ending{}}
	if position != nil {
		if err := json.Unmarshal(position, &a.saved); err != nil {
			return nil, &failure.Error{Class: failure.State, Op: "task", Message: "the position cannot be read: " + err.Error(), Err: err}
		}
	}
	a.walk.Limit = NewQuota(a.walk.Limit.left)
	a.walk.Resume = a.saved
	a.walk.Skipped = func(page *runtime.Page) { a.skipped = append(a.skipped, page.Record) }
	for _, root := range s.roots {
		results, err := a.walk.run(ctx, root, a.page)
		switch {
		case a.stored != nil && !isFailure(a.stored):
			return nil, a.stored
		case errors.Is(err, failure.ErrCancelled):
			return nil, err
		}
		a.add(results)
		if err != nil {
			return a.ending, err
		}
	}
	if err := store(ctx, &Step{Skipped: a.skipped, Position: position, Ending: a.ending}); err != nil {
		return nil, err
	}
	return a.ending, nil
}

// page stores a page. One on which the run ends is not stored, since it is requested again.
func (a *allRun) page(ctx context.Context, page *runtime.Page) error {
	token, err := page.Checkpoint()
	if err != nil {
		return err
	}
	if token == nil && !page.Skipped {
		record := page.Record
		a.ending.Failed = &record
		runtime.Omit(page)
		return nil
	}
	if token != nil {
		a.saved[page.Root] = token
	}
	step := &Step{Page: page, Skipped: a.skipped}
	a.skipped = nil
	if step.Position, err = json.Marshal(a.saved); err != nil {
		return err
	}
	a.stored = a.store(ctx, step)
	return a.stored
}

// add adds the results of a job, and of those for its items, to the ending.
func (a *allRun) add(results []EndedResult) {
	for _, r := range results {
		a.ending.Results = append(a.ending.Results, r)
		if r.FailedPage() != nil {
			a.ending.Failed = r.FailedPage()
		}
	}
}
