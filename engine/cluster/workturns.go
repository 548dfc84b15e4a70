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

// A joined is an active run as a worker sees it. The worker takes the tasks of its runs by turns:
// the next one is of the run with the fewest turns, divided by the priorities. So the number of
// queued tasks does not matter, and a run whose tasks cannot be run here costs no turn.
type joined struct {
	store.Queue
	parallel, priority int
	patience           time.Duration
	started            time.Time

	turns float64       // number of turns, divided by the priority
	taken time.Time     // time of the latest task, or of the beginning
	next  time.Time     // time when the queue is asked again, after it was found empty
	until time.Time     // time until which the worker avoids the run, because it cannot run it
	pause store.Backoff // pauses between checks of the empty queue
}

// Pauses between checks of a queue that is empty.
const (
	idlePause   = 100 * time.Millisecond
	activePause = 250 * time.Millisecond // longest pause if a task was taken in the last minute
	quietPause  = 2 * time.Second        // longest pause otherwise
)

// join adds an active run, or what has changed of it. The lock must be held.
func (p *workerRun) join(r *record.Run) {
	known := p.runs[r.Run]
	if known == nil || known.Queue.Origin != r.Origin {
		known = &joined{Queue: r.Queue(), turns: p.turns, taken: time.Now()}
		p.runs[r.Run] = known
	}
	known.parallel, known.priority, known.patience, known.started = r.Parallel, max(r.Priority, 1), r.Patience, r.Started
	known.next, known.until = time.Time{}, time.Time{}
	p.limit(r.Origin)
	p.wakeUp()
}

// leaveRun removes a run that is over. The lock must be held.
func (p *workerRun) leaveRun(id string) {
	if r := p.runs[id]; r != nil {
		delete(p.runs, id)
		p.limit(r.Origin)
	}
}

// limit sets the number of slots of an origin, for all of its runs.
func (p *workerRun) limit(origin string) {
	slots := 0
	for _, r := range p.runs {
		if r.Origin == origin {
			slots = least(slots, r.parallel)
		}
	}
	for _, r := range p.runs {
		if r.Origin == origin {
			r.Slots = slots
		}
	}
}

// serve takes tasks while slots are free.
func (p *workerRun) serve(ctx context.Context) error {
	for last := time.Now(); ; {
		p.closeIdle()
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		got, err := p.takeNext(ctx)
		if !got {
			<-p.slots
		}
		switch {
		case err != nil:
			return unlessTold(ctx, err)
		case got, p.busy.Load() > 0, p.expects():
			last = time.Now()
		case p.Idle > 0 && time.Since(last) >= p.Idle:
			p.c.log.Info(fmt.Sprintf("there has been no task for %s", p.Idle), "event", "worker_idle")
			return nil
		}
		if !got {
			p.rest(ctx)
		}
	}
}

// expects reports whether a task that this worker has put back is about to be queued again.
func (p *workerRun) expects() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Now().Before(p.again)
}

// rest waits until a queue may have a task.
func (p *workerRun) rest(ctx context.Context) {
	now := time.Now()
	wait := idlePause
	p.mu.Lock()
	for _, r := range p.runs {
		if r.next.After(now) {
			wait = min(wait, r.next.Sub(now))
		}
	}
	p.mu.Unlock()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-p.wake:
	case <-timer.C:
	}
}

// wakeUp ends the rest.
func (p *workerRun) wakeUp() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// look makes the worker ask the queue of a run at once, because tasks were queued.
func (p *workerRun) look(run string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if r := p.runs[run]; r != nil {
		r.next = time.Time{}
		r.pause.Reset()
		p.wakeUp()
	}
}

// freed makes the worker ask the queues at once that a task has made room for.
func (p *workerRun) freed(q store.Queue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.runs {
		if q.Slots > 0 && r.Origin == q.Origin {
			r.next = time.Time{}
		}
	}
	p.wakeUp()
}

// takeNext takes the task whose turn it is, if there is one. The caller has a slot for it.
func (p *workerRun) takeNext(ctx context.Context) (got bool, err error) {
	for ctx.Err() == nil {
		q, ok := p.turn()
		if !ok {
			return false, nil
		}
		work, err := p.c.store.Fetch(ctx, q)
		switch {
		case errors.Is(err, store.ErrNoQueue):
			p.prepareQueue(ctx, q.Run)
			work = nil
		case err != nil:
			return false, err
		}
		p.count(q.Run, work != nil)
		if work == nil {
			continue
		}
		p.busy.Add(1)
		s, first := p.enter(q.Origin, sessionKey{work.Run, work.Submission}) // before the next check of the run
		p.tasks.Go(func() {
			defer func() { p.busy.Add(-1); <-p.slots; p.freed(q) }()
			p.take(ctx, s, first, work)
		})
		return true, nil
	}
	return false, nil
}

// turn returns the queue of the run whose turn it is.
func (p *workerRun) turn() (q store.Queue, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var best *joined
	for id, r := range p.runs {
		if p.isDue(id, r) && (best == nil || cmp.Or(cmp.Compare(r.turns, best.turns), r.started.Compare(best.started)) < 0) {
			best = r
		}
	}
	if best == nil {
		return q, false
	}
	return best.Queue, true
}

// isDue reports whether a task of a run may be taken now. The lock must be held.
func (p *workerRun) isDue(id string, r *joined) bool {
	now := time.Now()
	return p.alone == nil && !now.Before(r.next) && !now.Before(r.until) && !p.isOpening(id) && !p.avoids(r.Origin, now)
}

// count records whether a queue had a task.
func (p *workerRun) count(run string, got bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r, now := p.runs[run], time.Now()
	switch {
	case r == nil:
	case got:
		p.turns = max(p.turns, r.turns) // a run that had no tasks has saved no turns
		r.turns = p.turns + 1/float64(r.priority)
		r.taken = now
		r.pause.Reset()
		if one := p.avoided[r.Origin]; one != nil {
			one.until = now.Add(p.c.timing.firstRetry) // one task at a time finds out whether the origin is reached again
		}
	default:
		r.pause.First, r.pause.Longest = idlePause, quietPause
		if now.Sub(r.taken) < time.Minute {
			r.pause.Longest = activePause
		}
		r.next = now.Add(r.pause.Next())
	}
}

// excluded returns the runs that this worker cannot run.
func (p *workerRun) excluded() (runs []string) {
	for id, r := range p.runs {
		if time.Now().Before(r.until) {
			runs = append(runs, id)
		}
	}
	return runs
}
