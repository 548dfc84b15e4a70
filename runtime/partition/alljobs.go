package partition

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// An allJobsRun is the task that runs all jobs of the run in order, with the limit on partitions.
type allJobsRun struct {
	walk     Walk
	store    func(context.Context, *Step) error
	storeErr error                      // error that store returned
	saved    map[string]json.RawMessage // position of the task: the checkpoint of each job
	skipped  []trace.Record             // records since the last step
	ending   *Ending
}

// runAll runs the task of all jobs, from a position unless it is nil.
func (s *Tasks) runAll(ctx context.Context, position json.RawMessage, store func(context.Context, *Step) error) (*Ending, error) {
	a := &allJobsRun{walk: s.walk, store: store, saved: map[string]json.RawMessage{}, ending: &Ending{}}
	if position != nil {
		if err := json.Unmarshal(position, &a.saved); err != nil {
			return nil, &failure.Error{Class: failure.State, Op: "task", Message: "the position cannot be read: " + err.Error(), Err: err}
		}
	}
	a.walk.Quota = NewQuota(a.walk.Quota.left)
	a.walk.Resume = a.saved
	a.walk.Skipped = func(page *runtime.Page) { a.skipped = append(a.skipped, page.Record) }
	for _, root := range s.roots {
		results, err := a.walk.run(ctx, root, a.storePage)
		switch {
		case a.storeErr != nil && !isFailure(a.storeErr):
			return nil, a.storeErr
		case errors.Is(err, failure.ErrCancelled):
			return nil, err
		}
		a.ending.Results = append(a.ending.Results, results...)
		for _, r := range results {
			a.ending.Failed = cmp.Or(r.FailedPage, a.ending.Failed)
		}
		if err != nil {
			return a.ending, err
		}
	}
	if err := store(ctx, &Step{Skipped: a.skipped, Position: position, Ending: a.ending}); err != nil {
		return nil, err
	}
	return a.ending, nil
}

// storePage stores a page.
func (a *allJobsRun) storePage(ctx context.Context, page *runtime.Page) error {
	checkpoint, err := page.Checkpoint()
	if err != nil {
		return err
	}
	if checkpoint != nil {
		a.saved[page.Root] = checkpoint
	}
	step := &Step{Page: page, Skipped: a.skipped}
	a.skipped = nil
	if step.Position, err = json.Marshal(a.saved); err != nil {
		return err
	}
	a.storeErr = a.store(ctx, step)
	return a.storeErr
}
