package cluster

import (
	"context"
	"errors"
	"fmt"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// errAlone means that the worker runs no other task while a suspect task runs alone.
var errAlone = errors.New("another task has to run alone")

// runAlone runs a task alone that workers have lost several times without storing a page,
// because it may have killed them. The worker hands back its other tasks, which does not count as a
// delivery, and fetches no tasks until this task has stored a page. Only workers lost while the
// task ran alone count towards setting it aside: otherwise another task may have been the cause.
func (a *attempt) runAlone(ctx context.Context, lost int) error {
	starts := a.head.StartsAlone
	if lost <= 0 && starts > 0 { // the task was handed back or ended with its run
		starts--
	}
	if starts >= maxStartsAlone {
		err := &engine.Error{Class: failure.Internal, Job: a.task.Job, Op: "task", Message: fmt.Sprintf(
			"%d workers have had the task and died, or fell silent, before they stored a page", suspectAfter+starts),
			Hint: "look for the cause where they ran, such as a lack of memory"}
		return a.storeEnd(ctx, a.session.FailedEnding(ctx, a.task, err))
	}
	if err := a.beAlone(ctx); err != nil {
		return err
	}
	defer a.letOthers()
	a.worker.cluster.log.Warn(fmt.Sprintf("run %s: task %s was lost %d times; it runs alone until it has stored a page",
		a.work.Run, a.task.ID, suspectAfter+starts),
		"event", "task_suspect", "run", a.work.Run, "task", a.task.ID)
	head := a.nextHead(a.session.Label(ctx, a.task), nil)
	head.StartsAlone = starts + 1
	body, err := record.EncodeStep(&partition.Step{Position: a.position}, nil)
	if err != nil {
		return err
	}
	place, err := a.worker.cluster.store.Append(ctx, a.key, a.after, head, body, engine.Items{})
	if err != nil {
		return err
	}
	if t := &a.work.Trouble; t.Times > 0 && t.Page == a.after.Sequence {
		t.Page = place.Sequence // otherwise the marker would count as a page, and reset the count of failures
	}
	a.head, a.after = head, place
	return a.runTask(ctx)
}

// beAlone hands back the other tasks of the worker, and takes their slots once they have ended.
func (a *attempt) beAlone(ctx context.Context) error {
	another := false
	a.locked(func() {
		if another = a.worker.alone != nil; another {
			return
		}
		a.worker.alone = a
		for other := range a.worker.running {
			if other != a {
				other.cancel(errAlone)
			}
		}
	})
	if another {
		return errAlone
	}
	var err error
	a.heldSlots, err = hold(ctx, a.worker.slots, cap(a.worker.slots)-1) // it has a slot itself
	if err == nil {
		a.heldStoring, err = hold(ctx, a.worker.storing, cap(a.worker.storing))
	}
	if err != nil {
		a.letOthers()
	}
	return err
}

// hold takes n places as they become free. It returns the number of places that it has taken, which is smaller if
// the context ends; the error is the cause of that.
func hold(ctx context.Context, places chan<- struct{}, n int) (held int, err error) {
	for ; held < n; held++ {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return held, context.Cause(ctx)
		}
	}
	return held, nil
}

// letOthers allows the worker to run other tasks again.
func (a *attempt) letOthers() {
	a.locked(func() {
		if a.worker.alone == a {
			a.worker.alone = nil
		}
	})
	for ; a.heldSlots > 0; a.heldSlots-- {
		<-a.worker.slots
	}
	for ; a.heldStoring > 0; a.heldStoring-- {
		<-a.worker.storing
	}
}
