package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nuid"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// An attempt is one delivery of a task to this worker.
type attempt struct {
	worker  *workerRun
	session *session
	queue   store.Queue
	work    *store.Work

	task  partition.Task
	key   store.Key
	head  store.Head // head of the last page
	after uint64     // sequence of the last page; 0 if there is no page

	position json.RawMessage // position from which the task continues; nil for a task that begins

	began  time.Time
	stored bool // whether the attempt stored a page or the end of the task; otherwise the task had already ended
	cancel context.CancelCauseFunc
	late   bool   // whether the attempt has left its slot
	held   [2]int // slots, and places of late tasks, that the attempt holds while the task runs alone
}

// run runs the task to its end, unless the context ends or another worker has the task. stop ends
// [attempt.keepAlive].
func (a *attempt) run(ctx context.Context, stop func()) {
	err := a.resume(ctx)
	stop()
	again, postponed := errors.AsType[*postponement](err)
	switch {
	case err == nil:
		a.finish(ctx)
	case errors.Is(err, store.ErrLost) && a.work.New: // it has been queued again after its end
		handBack(ctx, a.work)
	case errors.Is(err, store.ErrLost):
		a.worker.cluster.log.Info(fmt.Sprintf("run %s: another worker has continued task %s", a.work.Run, a.work.Task),
			"event", "task_lost", "run", a.work.Run)
	case errors.Is(err, store.ErrDeleted), errors.Is(context.Cause(ctx), errGone):
		_ = a.work.Drop("the run is cancelled or deleted")
	case ctx.Err() != nil:
		a.worker.cluster.log.Debug(fmt.Sprintf("run %s: handing back task %s", a.work.Run, a.work.Task), "event", "task_returned", "run", a.work.Run)
		a.worker.handBackUnfinished(ctx, a.work)
	case errors.Is(err, errAlone):
		handBack(ctx, a.work)
	case postponed:
		a.putBack(ctx, again)
	default:
		a.worker.pauseRun(a.work.Run, err)
		handBack(ctx, a.work)
	}
}

// finish removes the task from the queue once its end is stored.
func (a *attempt) finish(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = a.work.Done(ctx) // after an error it is delivered again, and found to have ended
	a.locked(func() {
		if a.stored {
			a.worker.done++
			if a.head.State == store.Failed {
				a.worker.failed++
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
	var all sync.WaitGroup
	all.Go(func() {
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
		all.Wait()
		a.locked(func() { delete(a.worker.running, a) })
	}
}

// renew renews the lease of the task. If that fails and the task goes to another worker, its work is
// repeated but stays correct.
func (a *attempt) renew() {
	if a.work.Progress() == nil {
		a.worker.renewals.Add(1)
	} else {
		a.worker.unheard.Add(1)
	}
}

// resume continues the task from its last position. It returns nil if the end of the task is
// stored.
func (a *attempt) resume(ctx context.Context) error {
	if err := record.Decode(a.work.Payload, &a.task); err != nil {
		return fmt.Errorf("task %s cannot be read: %w", a.work.Task, err)
	}
	a.key = a.session.run.record.Key(a.task)
	now := record.RunningTask{
		Run: a.work.Run, Submission: a.work.Submission, Job: a.key.Job, Task: a.work.Task,
		Search: a.session.run.record.IsSearch(a.task),
	}
	now.Label = value.Clip(a.session.Label(ctx, a.task), labelShown)
	a.locked(func() { a.worker.running[a] = now })
	if !a.work.New {
		if err := a.continueAfterLast(ctx); err != nil {
			return err
		}
	}
	lost := a.work.Deliveries - a.head.Delivery
	if a.head.Ends() {
		if a.head.State != store.Failed || a.work.RetryOf != a.after {
			return nil
		}
		lost = a.work.Deliveries // number of lost deliveries of the retry
	}
	if lost > suspectAfter || a.head.StartsAlone > 0 {
		return a.runAlone(ctx, lost)
	}
	return a.runTask(ctx)
}

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
		return a.storeEnd(ctx, a.session.FailedTask(ctx, a.task, err))
	}
	if err := a.beAlone(ctx); err != nil {
		return err
	}
	defer a.letOthers()
	a.worker.cluster.log.Warn(fmt.Sprintf("run %s: task %s was lost %d times; it runs alone until it has stored a page",
		a.work.Run, a.task.ID, suspectAfter+starts),
		"event", "task_suspect", "run", a.work.Run, "task", a.task.ID)
	head := a.next(a.session.Label(ctx, a.task), nil)
	head.StartsAlone = starts + 1
	body, err := record.EncodeStep(&partition.Step{Position: a.position}, nil)
	if err != nil {
		return err
	}
	if a.after, err = a.worker.cluster.store.Append(ctx, a.key, a.after, head, body, engine.Items{}); err != nil {
		return err
	}
	a.head = head
	return a.runTask(ctx)
}

// beAlone hands back the other tasks of the worker, and takes their slots once they have ended.
func (a *attempt) beAlone(ctx context.Context) error {
	taken := false
	a.locked(func() {
		if taken = a.worker.alone != nil; taken {
			return
		}
		a.worker.alone = a
		for other := range a.worker.running {
			if other != a {
				other.cancel(errAlone)
			}
		}
	})
	if taken {
		return errAlone
	}
	for i, places := range []chan struct{}{a.worker.slots, a.worker.late} {
		most := cap(places)
		if i == 0 {
			most-- // it has one
		}
		for a.held[i] < most {
			select {
			case places <- struct{}{}:
				a.held[i]++
			case <-ctx.Done():
				a.letOthers()
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// letOthers allows the worker to run other tasks again.
func (a *attempt) letOthers() {
	a.locked(func() {
		if a.worker.alone == a {
			a.worker.alone = nil
		}
	})
	for i, places := range []chan struct{}{a.worker.slots, a.worker.late} {
		for ; a.held[i] > 0; a.held[i]-- {
			<-places
		}
	}
}

// leaveSlot lets another task run while the end of this one is stored, because it makes no more
// requests. It keeps its slot if too many others are being stored, so that pages do not pile up in
// memory when the server is slow.
func (a *attempt) leaveSlot() {
	if a.late {
		return
	}
	select {
	case a.worker.late <- struct{}{}:
		a.late = true
		a.freeSlot()
	default:
	}
}

func (a *attempt) freeSlot() {
	a.work.Release()
	<-a.worker.slots
	a.worker.checkNowOrigin(a.queue)
}

// end ends the attempt.
func (a *attempt) end() {
	if a.late {
		<-a.worker.late
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
	a.head, a.after, a.position = last.Head, last.Sequence, e.Position
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
	if again := a.postponement(ctx, err); again != nil {
		return again
	}
	return a.storeEnd(ctx, ending)
}

// guarded runs the task and turns a panic into its failure.
func (a *attempt) guarded(ctx context.Context) (ending *partition.Ending, err error) {
	defer func() {
		if v := recover(); v != nil {
			a.worker.cluster.log.Error(fmt.Sprintf("run %s: task %s panicked: %v\n%s", a.work.Run, a.task.ID, v, debug.Stack()),
				"event", "task_panic", "run", a.work.Run)
			err = &engine.Error{Class: failure.Internal, Job: a.task.Job, Op: "task", Message: fmt.Sprintf("the task panicked: %v", v)}
			ending = a.session.FailedTask(ctx, a.task, err)
		}
	}()
	session := a.session.Session
	if a.head.StartsAlone > 0 { // a page that ends the process must not keep the page before it from being stored
		session = session.InTurn()
	}
	return session.Run(ctx, a.task, a.position, func(ctx context.Context, step *partition.Step) error { return a.store(ctx, step) })
}

// store stores a step and queues the tasks that it announces.
func (a *attempt) store(ctx context.Context, step *partition.Step) error {
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

func (e *storeError) Error() string        { return e.err.Error() }
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
	head := a.next(step.Label, step.Children)
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
	sequence, err := a.worker.cluster.store.Append(ctx, a.key, a.after, head, body, items)
	if err != nil {
		return err
	}
	a.head, a.after, a.stored, a.position = head, sequence, true, step.Position
	a.letOthers()
	if step.Page != nil {
		a.worker.noteServed(a)
	}
	if err = a.worker.cluster.store.Enqueue(ctx, children...); err == nil && len(children) > 0 {
		a.worker.checkNow(a.work.Run)
	}
	return err
}

// next returns the head of the next page.
func (a *attempt) next(label string, children []partition.Task) store.Head {
	head := a.head
	head.Reopens = head.State == store.Failed
	head.State, head.Attempt, head.Delivery, head.Label = store.More, nuid.Next(), a.work.Deliveries, label
	head.Page++
	head.Children += len(children)
	head.Parts, head.Count, head.StartsAlone, head.Outcome, head.Reason = 0, 0, 0, "", ""
	a.countTasks(&head, children)
	return head
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

// Methods that describe the step in the head of a page, for the status of the run.

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
	head.Outcome, head.Reason = string(r.Outcome), cmp.Or(r.Reason, "end")
	if r.Skipped {
		head.Outcome = store.Skipped
		if r.Error != nil {
			head.Reason = r.Error.Class
		}
	}
}
