package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nuid"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// storeOutcome stores a step and queues the tasks that it announces.
func (a *attempt) storeOutcome(ctx context.Context, step *partition.Step) error {
	state := store.More
	if step.Ending != nil {
		state = store.Done
	}
	err := a.storeStep(ctx, step, state, nil)
	if err == nil || errors.Is(err, failure.ErrPolicy) { // the page is too large for the server
		return err
	}
	return &storeError{err}
}

// A storeError is the error of a step that could not be stored: the task has not failed.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

func (e *storeError) Is(target error) bool { return errors.Is(e.err, target) }

// storeStep stores a step together with the resulting state of the task. If the task has failed,
// failed holds it for a retry.
func (a *attempt) storeStep(ctx context.Context, step *partition.Step, state store.State, failed *partition.Task) error {
	children, err := a.session.run.items(step.Children) // encoded before they are announced
	if err != nil {
		return err
	}
	body, err := record.EncodeStep(step, failed)
	if err != nil {
		return err
	}
	if step.Ending != nil {
		a.leaveSlot()
	}
	head := a.nextHead(step.Label, step.Children)
	head.State = state
	var items engine.Items
	if page := step.Page; page != nil {
		items = page.Items
		head.Pages++
		head.Items += items.Len()
		head.Count = items.Len()
		head.Bytes += int64(page.Bytes)
		head.Findings += len(page.Findings)
	}
	if step.Ending != nil {
		setEnd(&head, step.Ending)
	}
	place, err := a.worker.cluster.store.Append(ctx, a.key, a.after, head, body, items)
	if err != nil {
		return err
	}
	a.head, a.after, a.stored, a.position = head, place, true, step.Position
	a.letOthers()
	if step.Page != nil {
		a.worker.noteServed(a)
	}
	if err = a.worker.cluster.store.Enqueue(ctx, children...); err == nil && len(children) > 0 {
		a.worker.checkRunNow(a.work.Run)
	}
	return err
}

// storeEnd stores how the task ended if no stored step says so, because the task failed. A failed
// partition that may be skipped counts as done.
func (a *attempt) storeEnd(ctx context.Context, ending *partition.Ending) error {
	state := store.Failed
	if len(ending.Results) > 0 && !slices.ContainsFunc(ending.Results, func(r partition.EndedResult) bool { return !r.Skipped }) {
		state = store.Done
	}
	for _, r := range ending.Results {
		if r.Outcome == rules.Failed && r.Error != nil {
			a.worker.cluster.log.Error(fmt.Sprintf("run %s: %s", a.work.Run, r.Error.Message),
				"event", "task_failed", "run", a.work.Run, "task", a.task.ID)
		}
	}
	return a.storeStep(ctx, &partition.Step{Label: ending.Label, Position: a.position, Ending: ending}, state, &a.task)
}

// nextHead returns the head of the next page.
func (a *attempt) nextHead(label string, children []partition.Task) store.Head {
	head := a.head
	head.Reopens = head.State == store.Failed
	head.State, head.Attempt, head.Delivery, head.Label = store.More, nuid.Next(), a.work.Deliveries, label
	head.Page++
	head.Children += len(children)
	head.Parts, head.Count, head.StartsAlone, head.Outcome, head.Reason = 0, 0, 0, "", ""
	a.countTasks(&head, children)
	return head
}

// countTasks sets the kind of the task, and adds tasks to the tasks it has announced.
func (a *attempt) countTasks(head *store.Head, announced []partition.Task) {
	switch {
	case a.task.Job == "":
		head.Kind = store.ListsAll
	case a.session.run.record.IsSearch(a.task):
		head.Kind = store.Searches
	}
	for _, task := range announced {
		if a.session.run.record.IsSearch(task) {
			head.Searches = increased(head.Searches, task.Job)
		} else {
			head.Partitions = increased(head.Partitions, task.Job)
		}
	}
}

// increased returns counts with one more task of a job.
func increased(counts map[string]int, job string) map[string]int {
	if counts == nil {
		counts = map[string]int{}
	}
	counts[job]++
	return counts
}

// setEnd sets how a task ended. The results of a task that runs all jobs are in its envelope.
func setEnd(head *store.Head, ending *partition.Ending) {
	if ending.Split {
		head.Kind = store.Splits
	}
	if len(ending.Results) != 1 {
		return
	}
	r := ending.Results[0]
	head.Outcome, head.Reason = string(r.Outcome), cmp.Or(r.Reason, runtime.ReasonEnd)
	if r.Skipped {
		head.Outcome = store.Skipped
		if r.Error != nil {
			head.Reason = r.Error.Class
		}
	}
}
