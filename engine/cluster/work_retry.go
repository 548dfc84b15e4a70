package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A postponement is the failure of a task that is tried again.
type postponement struct {
	err     *engine.Error
	trouble store.Trouble
	worker  bool // whether the cause may be this worker
	reached bool // whether other workers have received pages of the origin lately
}

func (p *postponement) Error() string { return p.err.Error() }

// planRetry returns how a task that has failed is tried again, or nil if its failure is final. A failure
// that may pass by itself is not final before the patience of the run ends.
func (a *attempt) planRetry(ctx context.Context, err error) *postponement {
	failed, ok := errors.AsType[*engine.Error](err)
	if !ok {
		return nil
	}
	ownFault, passes := mayBeWorker(failed), failed.Class == failure.Transient
	if !ownFault && !passes {
		return nil
	}
	now := a.worker.pace.Now()
	p := &postponement{err: failed, worker: ownFault, trouble: a.nextTrouble(now)}
	age := now.Sub(p.trouble.Since)
	final := !ownFault
	if ownFault {
		final = a.suspectWorker(ctx, p, age)
	}
	if patience := a.worker.patience(a.session.run); final && passes && age < patience {
		final, p.trouble.Wait = false, min(p.trouble.Wait, patience-age)
	}
	if final {
		return nil
	}
	return p
}

// nextTrouble counts a failure of the task after its last page, and sets the pause before the next attempt.
func (a *attempt) nextTrouble(now time.Time) store.Trouble {
	t := a.work.Trouble
	if t.Times == 0 || t.Page != a.after.Sequence {
		t = store.Trouble{Since: now.Add(-time.Since(a.began)), Page: a.after.Sequence}
	}
	t.Times++
	timing := &a.worker.cluster.timing
	t.Wait = timing.retry(t.Times, timing.longestRetry)
	return t
}

// suspectWorker notes a failure that may be caused by this worker, and shortens the pause, so that another
// worker tries the task soon. age is the time since the first failure. The failure is final when a second
// worker has had such a failure, or when there has been no other worker for a minute. A worker that has
// received no answer is not that second worker if the API has answered the first one: it does not know more.
func (a *attempt) suspectWorker(ctx context.Context, p *postponement, age time.Duration) (final bool) {
	timing, t := &a.worker.cluster.timing, &p.trouble
	others, reached := a.worker.others(ctx, a.work.Run, a.session.origin)
	p.reached = reached
	answered := p.err.Status != 0 && p.err.Op != failure.OpAuthenticate
	second := t.Worker != "" && t.Worker != a.worker.Name
	final = second && (answered || !t.Answered) || !others && age >= timing.alone
	t.Worker, t.Answered = a.worker.Name, answered
	switch {
	case final:
	case others:
		t.Wait = min(t.Wait, timing.otherRetry)
	default:
		t.Wait = min(t.Wait, timing.alone-age)
	}
	return final
}

// patience returns the patience of a run, which may have been submitted again since its session was
// opened.
func (w *workerRun) patience(r *Run) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	patience := r.record.Patience
	if known := w.runs[r.ID()]; known != nil {
		patience = known.patience
	}
	return cmp.Or(patience, w.cluster.timing.patience)
}

// mayBeWorker reports whether an error may be caused by the worker: its network, its certificates,
// its proxy, its credentials or its disk.
func mayBeWorker(err *engine.Error) bool {
	switch {
	case err.Class == failure.IO, err.Op == failure.OpAuthenticate:
		return true
	case err.Status != 0:
		return slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired}, err.Status)
	case err.Op != failure.OpRequest || err.Err == nil:
		return false
	}
	dial, dials := errors.AsType[*net.OpError](err.Err)
	timeout, ok := errors.AsType[net.Error](err.Err)
	late := ok && timeout.Timeout() && !(dials && dial.Op == "dial") // the API has not answered
	return !late && (err.Class == failure.API || err.Class == failure.Transient)
}

// others reports whether other workers may run the run, and whether any of them has received a page
// of the origin lately.
func (w *workerRun) others(ctx context.Context, run, origin string) (others, reached bool) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	workers, err := w.cluster.store.Workers(ctx)
	if err != nil {
		return true, false // they cannot be ruled out
	}
	for _, worker := range workers {
		var rec record.Worker
		if worker.Name == w.Name || w.pace.Now().Sub(worker.Time) > w.cluster.timing.silent || value.Unmarshal(worker.Value, &rec) != nil {
			continue
		}
		others = others || !slices.Contains(rec.Cannot, run)
		reached = reached || slices.Contains(rec.Served, origin)
	}
	return others, reached
}

// putBack hands back a task that has failed, to be tried again.
func (a *attempt) putBack(ctx context.Context, p *postponement) {
	wait := p.trouble.Wait.Round(time.Millisecond)
	text := fmt.Sprintf("a partition is tried again in %s: %v", wait, p.err)
	if p.worker {
		text = fmt.Sprintf("a partition is tried again, by another worker if there is one: %v", p.err)
	}
	a.worker.noteProblem(a.work.Run, kindOf(p.err), text)
	if p.worker {
		a.worker.avoid(a, p)
	}
	a.locked(func() {
		a.worker.ends.putBack++
		if end := time.Now().Add(p.trouble.Wait); end.After(a.worker.ends.retryAt) {
			a.worker.ends.retryAt = end
		}
	})
	postpone(ctx, a.work, p.trouble)
}

// An avoidance is a time in which this worker takes no task of an origin, because its attempts fail. After
// that time, it runs one task to find out whether it reaches the origin again.
type avoidance struct {
	times int       // number of successive failures
	last  time.Time // time of the latest failure
	until time.Time
}

// avoid lets the worker take no task of the origin of an attempt for a while, unless the origin has sent a
// page to this worker since the attempt began.
func (w *workerRun) avoid(a *attempt, p *postponement) {
	origin := a.session.origin
	w.mu.Lock()
	avoided := w.origins.avoided[origin]
	if w.origins.served[origin].After(a.began) || avoided != nil && a.began.Before(avoided.last) {
		w.mu.Unlock()
		return
	}
	if avoided == nil {
		avoided = &avoidance{}
		w.origins.avoided[origin] = avoided
	}
	longest := w.cluster.timing.longestProbe
	if p.reached {
		longest = w.cluster.timing.longestAvoid
	}
	avoided.times++
	wait := w.cluster.timing.retry(avoided.times, longest)
	if avoided.times == 1 {
		wait = 0 // the partition may be to blame
	}
	avoided.last = time.Now()
	avoided.until = avoided.last.Add(wait)
	w.mu.Unlock()
	if wait == 0 {
		return
	}
	why := "its attempts fail"
	if p.reached {
		why = "its attempts fail, and those of other workers succeed"
	}
	w.noteProblem(a.work.Run, "avoid "+kindOf(p.err), fmt.Sprintf("this worker sends the API no requests for at least %s, because %s: %v",
		wait, why, p.err))
}

// avoidsLocked reports whether no task of an origin may be taken now.
func (w *workerRun) avoidsLocked(origin string, now time.Time) bool {
	avoided := w.origins.avoided[origin]
	if avoided == nil || now.Before(avoided.until) {
		return avoided != nil
	}
	for a := range w.running {
		if a.session.origin == origin && a.began.After(avoided.last) {
			return true
		}
	}
	return false
}

// noteServed records that the origin of an attempt has sent a page to this worker.
func (w *workerRun) noteServed(a *attempt) {
	origin := a.session.origin
	w.mu.Lock()
	_, avoided := w.origins.avoided[origin]
	delete(w.origins.avoided, origin)
	w.origins.served[origin] = time.Now()
	w.mu.Unlock()
	if avoided {
		w.problems.forget(a.work.Run)
		w.cluster.log.Info(fmt.Sprintf("run %s: this worker reaches the API again", a.work.Run), "event", "worker_recovered", "run", a.work.Run)
	}
}

// servedOriginsLocked returns the origins that have sent pages to this worker lately.
func (w *workerRun) servedOriginsLocked() []string {
	maps.DeleteFunc(w.origins.served, func(_ string, at time.Time) bool { return time.Since(at) > w.cluster.timing.countsReached })
	return slices.Sorted(maps.Keys(w.origins.served))
}

// askTime is how long a worker tries to look up the other workers. If it fails, there may be others.
const askTime = 2 * time.Second
