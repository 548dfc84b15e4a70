package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// queue queues the first tasks of the run and, if it was submitted before, all other tasks.
func (r *Run) queue(ctx context.Context, roots []partition.Task) error {
	if r.resubmission != nil {
		if err := r.enqueueAgain(ctx, roots); err != nil {
			return err
		}
		return r.repair(ctx)
	}
	items, err := r.items(roots)
	if err != nil {
		return err
	}
	return r.cluster.store.Enqueue(ctx, items...)
}

// enqueueAgain queues tasks that may have been queued before, and may have pages.
func (r *Run) enqueueAgain(ctx context.Context, tasks []partition.Task) error {
	items, err := r.items(tasks)
	if err != nil {
		return err
	}
	for i := range items {
		items[i].MayRepeat = true
	}
	return r.cluster.store.Enqueue(ctx, items...)
}

// item returns a task in its queued form. If the task does not fit in a message, the error is of
// class policy.
func (r *Run) item(task partition.Task) (store.Item, error) {
	payload, err := json.Marshal(task)
	if most := r.cluster.store.MaxTask(); err == nil && len(payload) > most {
		err = &engine.Error{Class: failure.Policy, Job: task.Job, Op: "task",
			Message: fmt.Sprintf("the values of a partition have %d bytes, and a message of the NATS server at most %d", len(payload), most),
			Hint:    "read less of the items of the parent, or raise max_payload of the server"}
	}
	return store.Item{Key: r.record.Key(task), Origin: r.record.Origin, Payload: payload}, err
}

// items returns tasks in their queued form.
func (r *Run) items(tasks []partition.Task) (items []store.Item, err error) {
	for i := 0; i < len(tasks) && err == nil; i++ {
		var item store.Item
		item, err = r.item(tasks[i])
		items = append(items, item)
	}
	return items, err
}

// repair queues all tasks announced by the stored pages. Tasks that have ended or are already
// queued do not run again.
func (r *Run) repair(ctx context.Context) error {
	err := r.cluster.store.Heads(ctx, r.ID(), nil, func(h store.StoredHead) error {
		if h.Children == 0 {
			return nil
		}
		return r.pages(ctx, h.Key, func(e *record.Envelope) error { return r.enqueueAgain(ctx, e.Children) })
	})
	if err == nil {
		r.resubmission.Failed, err = r.cluster.survey().Failures(ctx, &r.record)
	}
	return err
}

// pages calls f for the stored pages of a task.
func (r *Run) pages(ctx context.Context, key store.Key, f func(*record.Envelope) error) error {
	for after := uint64(0); ; {
		entry, err := r.cluster.store.Next(ctx, key, after)
		if err != nil || entry == nil {
			return err
		}
		e, err := record.ReadEnvelope(entry)
		if err == nil {
			err = f(e)
		}
		entry.Release()
		if err != nil {
			return err
		}
		after = entry.Sequence
	}
}

// Retry queues failed tasks again and returns their number. They continue after their last stored
// pages. Without IDs, Retry queues all failed tasks. A task that failed for an earlier page, or for the item of its
// parent, is not queued (see [engine.Error]); if there is one, the error is of class policy.
func (r *Run) Retry(ctx context.Context, tasks ...string) (int, error) {
	if r.Phase() == Cancelled {
		return 0, &engine.Error{Class: failure.Config, Op: "retry", Message: fmt.Sprintf("the run %s is cancelled", r.ID()),
			Hint: "submit it again first"}
	}
	missing, n, stuck := tasks, 0, ""
	reset := func() { missing, n, stuck = slices.Clone(tasks), 0, "" }
	err := r.cluster.store.Heads(ctx, r.ID(), reset, func(h store.StoredHead) error {
		if h.State != store.Failed || len(tasks) > 0 && !slices.Contains(tasks, h.Task) {
			return nil
		}
		entry, err := r.cluster.store.Last(ctx, h.Key)
		if err != nil || entry == nil || entry.State != store.Failed {
			return err
		}
		missing = slices.DeleteFunc(missing, func(id string) bool { return id == h.Task })
		queued, err := r.enqueueFailed(ctx, entry)
		if queued {
			n++
		} else if err == nil {
			stuck = h.Task
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	if len(missing) > 0 {
		return n, (&engine.Error{Class: failure.Config, Op: "retry",
			Message: fmt.Sprintf("no partition %q of run %s has failed", missing[0], r.ID()),
		}).WithRemedy("%s lists those that have", remedy.Partitions.Of(r.ID()))
	}
	if stuck != "" {
		return n, &engine.Error{Class: failure.Policy, Op: "retry",
			Message: fmt.Sprintf("partition %q of run %s cannot go on: it failed for pages that are stored, or for the item of its parent",
				stuck, r.ID()),
			Hint: "submit the run under another id"}
	}
	return n, nil
}

// enqueueFailed queues the task of an entry that records a failure, unless it would fail again or leave out items.
func (r *Run) enqueueFailed(ctx context.Context, entry *store.Entry) (queued bool, err error) {
	e, err := record.ReadEnvelope(entry)
	if err == nil && e.Task == nil {
		err = entry.Damaged("it does not name the task that has failed")
	}
	if err != nil {
		return false, err
	}
	if e.Ending != nil {
		if failed, ok := errors.AsType[*engine.Error](e.Ending.Failure()); ok && failed.CauseBefore {
			return false, nil
		}
	}
	item, err := r.item(*e.Task)
	if err != nil {
		return false, err
	}
	item.RetryOf = entry.Sequence
	err = r.cluster.store.Enqueue(ctx, item)
	return err == nil, err
}
