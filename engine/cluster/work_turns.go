package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
)

// An activeRun is an active run as a worker sees it. The worker takes the tasks of its runs by turns: the
// next task belongs to the run with the fewest turns, divided by the priorities. So the number of queued
// tasks does not matter, and a run whose tasks cannot be run here costs no turn.
type activeRun struct {
	store.Queue
	parallel, priority int
	patience           time.Duration
	started            time.Time

	turns      float64       // number of turns, divided by the priority
	taken      time.Time     // time of the latest task, or of the beginning
	next       time.Time     // time when the queue is asked again, after it was found empty
	avoidUntil time.Time     // time until which the worker avoids the run, because it cannot run it
	pause      store.Backoff // pauses between checks of the empty queue
}

// Pauses between checks of a queue that is empty.
const (
	idlePause   = 100 * time.Millisecond
	activePause = 250 * time.Millisecond // longest pause if a task was taken in the last minute
	quietPause  = 2 * time.Second        // longest pause otherwise
)

// addRunLocked adds an active run, or updates it.
func (w *workerRun) addRunLocked(r *record.Run) {
	known := w.runs[r.Run]
	if known == nil || known.Queue.Origin != r.Origin {
		known = &activeRun{Queue: r.Queue(), turns: w.turns, taken: time.Now()}
		w.runs[r.Run] = known
	}
	known.parallel, known.priority, known.patience, known.started = r.Parallel, max(r.Priority, 1), r.Patience, r.Started
	known.next, known.avoidUntil = time.Time{}, time.Time{}
	w.limitSlotsLocked(r.Origin)
	w.wakeUp()
}

// removeRunLocked removes a run that is over.
func (w *workerRun) removeRunLocked(id string) {
	if r := w.runs[id]; r != nil {
		delete(w.runs, id)
		w.cluster.store.Forget(r.Queue)
		w.limitSlotsLocked(r.Origin)
	}
}

// limitSlotsLocked sets the number of slots of an origin, for all of its runs.
func (w *workerRun) limitSlotsLocked(origin string) {
	slots := 0
	for _, r := range w.runs {
		if r.Origin == origin {
			slots = least(slots, r.parallel)
		}
	}
	for _, r := range w.runs {
		if r.Origin == origin {
			r.Slots = slots
		}
	}
}

// serve takes tasks while slots are free.
func (w *workerRun) serve(ctx context.Context) error {
	for last := time.Now(); ; {
		w.closeIdle()
		select {
		case w.slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		got, err := w.takeNext(ctx)
		if !got {
			<-w.slots
		}
		switch {
		case err != nil:
			return nilIfStopped(ctx, err)
		case got, w.busy.Load() > 0, w.expectsRetry():
			last = time.Now()
		case w.Idle > 0 && time.Since(last) >= w.Idle:
			w.cluster.log.Info(fmt.Sprintf("there has been no task for %s", w.Idle), "event", "worker_idle")
			return nil
		}
		if !got {
			w.rest(ctx)
		}
	}
}

// expectsRetry reports whether a task that this worker has put back is about to be queued again.
func (w *workerRun) expectsRetry() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Before(w.ends.retryAt)
}

// rest waits until a queue may have a task.
func (w *workerRun) rest(ctx context.Context) {
	now := time.Now()
	wait := idlePause
	w.mu.Lock()
	for _, r := range w.runs {
		if r.next.After(now) {
			wait = min(wait, r.next.Sub(now))
		}
	}
	w.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-w.wake:
	case <-timer.C:
	}
}

// wakeUp ends the rest.
func (w *workerRun) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// checkRunNow makes the worker ask the queue of a run at once, because tasks were queued.
func (w *workerRun) checkRunNow(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r := w.runs[run]; r != nil {
		r.next = time.Time{}
		r.pause.Reset()
		w.wakeUp()
	}
}

// checkOriginNow makes the worker ask the queues of an origin at once, because a task has made room there.
func (w *workerRun) checkOriginNow(q store.Queue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.runs {
		if q.Slots > 0 && r.Origin == q.Origin {
			r.next = time.Time{}
		}
	}
	w.wakeUp()
}

// takeNext takes the task whose turn it is, if there is such a task. The caller has a slot for it.
func (w *workerRun) takeNext(ctx context.Context) (got bool, err error) {
	for ctx.Err() == nil {
		q, ok := w.nextQueue()
		if !ok {
			return false, nil
		}
		work, err := w.cluster.store.Fetch(ctx, q)
		switch {
		case errors.Is(err, store.ErrNoQueue):
			w.prepareQueue(ctx, q.Run)
			work = nil
		case err != nil:
			return false, err
		}
		w.noteFetched(q.Run, work != nil)
		if work == nil {
			continue
		}
		w.busy.Add(1)
		a := w.newAttempt(q, work) // joins the session before the next check of the run
		w.tasks.Go(func() {
			defer w.busy.Add(-1)
			a.handle(ctx)
		})
		return true, nil
	}
	return false, nil
}

// nextQueue returns the queue of the run whose turn it is.
func (w *workerRun) nextQueue() (q store.Queue, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var best *activeRun
	for id, r := range w.runs {
		if w.isDueLocked(id, r) && (best == nil || cmp.Or(cmp.Compare(r.turns, best.turns), r.started.Compare(best.started)) < 0) {
			best = r
		}
	}
	if best == nil {
		return q, false
	}
	return best.Queue, true
}

// isDueLocked reports whether a task of a run may be taken now.
func (w *workerRun) isDueLocked(id string, r *activeRun) bool {
	now := time.Now()
	return w.alone == nil && !now.Before(r.next) && !now.Before(r.avoidUntil) && !w.isOpeningLocked(id) && !w.avoidsLocked(r.Origin, now)
}

// noteFetched records whether a queue had a task.
func (w *workerRun) noteFetched(run string, hadTask bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, now := w.runs[run], time.Now()
	switch {
	case r == nil:
	case hadTask:
		w.turns = max(w.turns, r.turns) // a run that had no tasks has saved no turns
		r.turns = w.turns + 1/float64(r.priority)
		r.taken = now
		r.pause.Reset()
		if avoided := w.origins.avoided[r.Origin]; avoided != nil {
			avoided.until = now.Add(w.cluster.timing.firstRetry) // one task at a time finds out whether the origin is reached again
		}
	default:
		r.pause.First, r.pause.Longest = idlePause, quietPause
		if now.Sub(r.taken) < time.Minute {
			r.pause.Longest = activePause
		}
		r.next = now.Add(r.pause.Next())
	}
}

// cannotRunLocked returns the runs that this worker cannot run.
func (w *workerRun) cannotRunLocked() (runs []string) {
	for id, r := range w.runs {
		if time.Now().Before(r.avoidUntil) {
			runs = append(runs, id)
		}
	}
	return runs
}
