package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// An attempt is one delivery of a task to this worker.
type attempt struct {
	worker  *workerRun
	session *session
	opens   bool // whether the attempt opens the session, while the others wait
	queue   store.Queue
	work    *store.Work

	task  partition.Task
	key   store.Key
	head  store.Head // head of the last page
	after store.Tail

	position json.RawMessage // position from which the task continues; nil for a task that begins

	began    time.Time
	stored   bool // whether the attempt stored a page or the end of the task; otherwise the task had already ended
	cancel   context.CancelCauseFunc
	leftSlot bool // whether the attempt has left its slot

	// Places of other tasks that the attempt holds while its task runs alone.
	heldSlots   int
	heldStoring int // see [workerRun.storing]
}

// newAttempt returns an attempt that is a user of the session of its run. It does not wait.
func (w *workerRun) newAttempt(q store.Queue, work *store.Work) *attempt {
	a := &attempt{worker: w, queue: q, work: work, began: time.Now()}
	a.session, a.opens = w.joinSession(q.Origin, sessionKey{work.Run, work.Submission})
	return a
}

// handle opens the session, or waits until it is open, and runs the task. The caller has a slot for it.
func (a *attempt) handle(ctx context.Context) {
	defer a.end()
	ctx, a.cancel = context.WithCancelCause(ctx)
	defer a.cancel(nil)
	stop := a.keepAlive()
	err := a.awaitSession(ctx)
	if err == nil {
		defer a.worker.leaveSession(a.session)
		ctx, cancel := a.session.context(ctx)
		defer cancel()
		a.run(ctx, stop)
		return
	}
	stop()
	switch {
	case errors.Is(err, errGone):
		a.drop(ctx, err.Error())
	case ctx.Err() != nil:
		a.worker.handBackUnfinished(ctx, a.work)
	default:
		a.worker.pauseRun(a.work.Run, err)
		handBack(ctx, a.work)
	}
}

// run runs the task to its end, unless the context ends or another worker has the task. stop ends
// [attempt.keepAlive].
func (a *attempt) run(ctx context.Context, stop func()) {
	err := a.runFromLast(ctx)
	stop()
	retry, postponed := errors.AsType[*postponement](err)
	switch {
	case err == nil:
		a.finish(ctx)
	case errors.Is(err, store.ErrLost) && a.work.New: // it has been queued again after its end
		handBack(ctx, a.work)
	case errors.Is(err, store.ErrLost):
		a.worker.cluster.log.Info(fmt.Sprintf("run %s: another worker has continued task %s", a.work.Run, a.work.Task),
			"event", "task_lost", "run", a.work.Run)
	case errors.Is(err, store.ErrDeleted), errors.Is(context.Cause(ctx), errGone):
		a.drop(ctx, "the run is cancelled or deleted")
	case ctx.Err() != nil:
		a.worker.cluster.log.Debug(fmt.Sprintf("run %s: handing back task %s", a.work.Run, a.work.Task),
			"event", "task_returned", "run", a.work.Run)
		a.worker.handBackUnfinished(ctx, a.work)
	case errors.Is(err, errAlone):
		handBack(ctx, a.work)
	case postponed:
		a.putBack(ctx, retry)
	default:
		a.worker.pauseRun(a.work.Run, err)
		handBack(ctx, a.work)
	}
}

// removeTime is how long a worker tries to remove a task from the queue. If it fails, the task is delivered
// again, and the next worker removes it.
const removeTime = time.Second

// drop removes a task that cannot be run from the queue.
func (a *attempt) drop(ctx context.Context, reason string) {
	ctx, cancel := briefly(ctx, removeTime)
	defer cancel()
	_ = a.work.Drop(ctx, reason)
}

// finish removes the task from the queue once its end is stored.
func (a *attempt) finish(ctx context.Context) {
	ctx, cancel := briefly(ctx, removeTime)
	defer cancel()
	_ = a.work.Done(ctx, a.key, a.after) // after an error it is delivered again, and found to have ended
	a.locked(func() {
		if a.stored {
			a.worker.ends.done++
			if a.head.State == store.Failed {
				a.worker.ends.failed++
			}
		}
	})
}

// locked calls f while holding the lock of the worker.
func (a *attempt) locked(f func()) {
	a.worker.mu.Lock()
	defer a.worker.mu.Unlock()
	f()
}

// labelShown is the maximum length of the labels of running tasks, in characters.
const labelShown = 200

// keepAlive tells the server that the worker still runs the task, until it is stopped.
func (a *attempt) keepAlive() (stop func()) {
	done := make(chan struct{})
	var helpers sync.WaitGroup
	helpers.Go(func() {
		tick := time.NewTicker(a.work.AckWait / 3)
		defer tick.Stop()
		for {
			a.renew()
			select {
			case <-done:
				return
			case <-tick.C:
			}
		}
	})
	a.locked(func() {
		a.worker.running[a] = record.RunningTask{Run: a.work.Run, Submission: a.work.Submission, Task: a.work.Task}
		if a.worker.alone != nil {
			a.cancel(errAlone)
		}
	})
	return func() {
		close(done)
		helpers.Wait()
		a.locked(func() { delete(a.worker.running, a) })
	}
}

// renew renews the lease of the task. If that fails and the task goes to another worker, its work is
// repeated but stays correct.
func (a *attempt) renew() {
	if a.work.Progress() == nil {
		a.worker.leases.renewed.Add(1)
	} else {
		a.worker.leases.failed.Add(1)
	}
}

// runFromLast runs the task to its end, after its last stored page if it has one. It returns nil if
// the end of the task is stored.
func (a *attempt) runFromLast(ctx context.Context) error {
	if err := value.Unmarshal(a.work.Payload, &a.task); err != nil {
		return fmt.Errorf("task %s cannot be read: %w", a.work.Task, err)
	}
	a.key = a.session.run.record.Key(a.task)
	running := record.RunningTask{
		Run: a.work.Run, Submission: a.work.Submission, Job: a.key.Job, Task: a.work.Task,
		Search: a.session.run.record.IsSearch(a.task), RetryOf: a.work.RetryOf,
	}
	running.Label = wording.Clip(a.session.Label(ctx, a.task), labelShown)
	a.locked(func() { a.worker.running[a] = running })
	if !a.work.New {
		if err := a.continueAfterLast(ctx); err != nil {
			return err
		}
	}
	lost := a.work.Deliveries - a.head.Delivery
	if a.head.Ends() {
		if a.head.State != store.Failed || a.work.RetryOf != a.after.Sequence {
			return nil
		}
		lost = a.work.Deliveries // number of lost deliveries of the retry
	}
	if lost > suspectAfter || a.head.StartsAlone > 0 {
		return a.runAlone(ctx, lost)
	}
	return a.runTask(ctx)
}

// leaveSlot lets another task run while the end of this one is stored, because it makes no more
// requests. It keeps its slot if too many others are being stored, so that pages do not pile up in
// memory when the server is slow.
func (a *attempt) leaveSlot() {
	if a.leftSlot {
		return
	}
	select {
	case a.worker.storing <- struct{}{}:
		a.leftSlot = true
		a.freeSlot()
	default:
	}
}

func (a *attempt) freeSlot() {
	a.work.Release()
	<-a.worker.slots
	a.worker.checkOriginNow(a.queue)
}

// end ends the attempt.
func (a *attempt) end() {
	if a.leftSlot {
		<-a.worker.storing
	} else {
		a.freeSlot()
	}
}

// continueAfterLast continues after the last page of the task, if it has one. The worker that stored
// that page may not have queued the tasks that it announced.
func (a *attempt) continueAfterLast(ctx context.Context) error {
	last, err := a.worker.cluster.store.Last(ctx, a.key)
	if last == nil || err != nil {
		return err
	}
	e, err := record.ReadEnvelope(last)
	if err != nil {
		return err
	}
	a.head, a.after, a.position = last.Head, last.Tail(), e.Position
	return a.session.run.enqueueAgain(ctx, e.Children)
}

// runTask runs the rest of the task in this process.
func (a *attempt) runTask(ctx context.Context) error {
	ending, err := a.guarded(ctx)
	if err == nil {
		return nil
	}
	if ending == nil {
		return err
	}
	if retry := a.planRetry(ctx, err); retry != nil {
		return retry
	}
	return a.storeEnd(ctx, ending)
}

// guarded runs the task and turns a panic into its failure.
func (a *attempt) guarded(ctx context.Context) (ending *partition.Ending, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = a.session.Redact(&engine.Error{
				Class: failure.Internal, Job: a.task.Job, Op: "task", Message: fmt.Sprintf("the task panicked: %v", v),
			})
			a.worker.cluster.log.Error(fmt.Sprintf("run %s: task %s: %v\n%s", a.work.Run, a.task.ID, err, debug.Stack()),
				"event", "task_panic", "run", a.work.Run)
			ending = a.session.FailedEnding(ctx, a.task, err)
		}
	}()
	session := a.session.Session
	if a.head.StartsAlone > 0 { // a page that ends the process must not keep the page before it from being stored
		session = session.InTurn()
	}
	return session.Run(ctx, a.task, a.position, func(ctx context.Context, step *partition.Step) error { return a.storeOutcome(ctx, step) })
}
