package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nuid"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/pace"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Worker runs tasks of all runs on a server. Its zero value has sensible defaults.
type Worker struct {
	Name  string // in events and in the status; empty: the name of the machine and a number
	Slots int    // how many tasks run at the same time; 0: 8

	// Inputs are the secret inputs of the runs, by name.
	Inputs map[string]any

	// Hide receives the secret inputs of a run before it begins, so that logs can leave them
	// out. It may be called by several goroutines at once. May be nil.
	Hide func(secret string)

	// Idle ends the worker when there has been no task for so long; 0: never.
	Idle time.Duration
}

// How often a task may be delivered without storing a page.
const (
	suspectAfter = 3  // then it may be the reason why workers end, and is run alone
	maxTrials    = 3  // deliveries of a task that runs alone; then it is set aside
	refusedAfter = 10 // because of credentials: then the reason is not the worker's
)

const (
	defaultSlots = 8
	idlePause    = 100 * time.Millisecond // between looks at queues that are empty
	longestPause = time.Second
)

// Work takes tasks and runs them until the context ends: then it hands back those that run,
// at once, and returns nil. It also returns nil after [Worker.Idle]. An error means that the
// server cannot be used. Tasks that fail do not end it: they are set aside, and [Run.Status]
// lists them.
func (c *Cluster) Work(ctx context.Context, w Worker) error {
	p, err := newPool(ctx, c, w)
	if err != nil {
		return unlessTold(ctx, err)
	}
	defer p.close()
	defer p.sayHandedBack()
	p.c.log.Info(fmt.Sprintf("worker %s is ready for %d tasks at a time", p.Name, p.Slots), "event", "worker_start", "worker", p.Name)
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var others sync.WaitGroup
	others.Go(func() {
		if err := p.watchRuns(working); working.Err() == nil {
			stop(err)
		}
	})
	others.Go(func() { p.report(working) })
	err = p.serve(working)
	if err != nil {
		stop(err) // hand back the tasks that run
	}
	p.tasks.Wait()
	stop(nil)
	others.Wait()
	return unlessTold(ctx, cmp.Or(err, failureOf(working)))
}

// failureOf returns the error that has ended a context, or nil if it was just ended.
func failureOf(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// unlessTold returns nil if ctx is done, since the worker was told to stop, and otherwise err.
func unlessTold(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// A pool is a worker that works.
type pool struct {
	Worker
	c     *Cluster
	pace  *pace.Pace
	slots chan struct{}
	tasks sync.WaitGroup
	busy  atomic.Int64

	returned atomic.Int64 // tasks that were handed back since the worker ends

	mu       sync.Mutex
	origins  map[string]string // of the runs that go on, by their ids
	sessions map[sessionKey]*session
	paused   map[string]time.Time // origins that have a run which this worker cannot run, until when
	running  map[*attempt]record.Task
	alone    *attempt        // that runs alone, since it may end the worker; nil: none
	refused  map[string]int  // tasks of an origin that this worker could not run, one after another
	unused   map[string]bool // inputs that a run does not have, of which the log has told
	news     chan struct{}   // receives when the server has to be told of a problem at once
	done     int
}

func newPool(ctx context.Context, c *Cluster, w Worker) (*pool, error) {
	if w.Slots < 0 {
		return nil, &engine.Error{Class: failure.Config, Op: "work", Message: fmt.Sprintf("a worker cannot have %d slots", w.Slots)}
	}
	host, _ := os.Hostname()
	w.Name = cmp.Or(w.Name, cmp.Or(strings.Split(host, ".")[0], "worker")+"-"+nuid.Next()[16:])
	w.Slots = cmp.Or(w.Slots, defaultSlots)
	shared, err := pace.Open(ctx, c.store.Pace(), c.log)
	if denied := (*engine.Error)(nil); errors.As(err, &denied) {
		return nil, denied
	}
	if err != nil {
		return nil, &engine.Error{Class: failure.Config, Op: "worker", Message: err.Error(), Err: err,
			Hint: "a worker needs the permissions of its role"}
	}
	return &pool{Worker: w, c: c, pace: shared, slots: make(chan struct{}, w.Slots),
		origins: map[string]string{}, sessions: map[sessionKey]*session{}, paused: map[string]time.Time{}, running: map[*attempt]record.Task{},
		unused: map[string]bool{}, refused: map[string]int{},
		news: make(chan struct{}, 1)}, nil
}

func (p *pool) close() {
	p.c.store.StopFetching()
	p.mu.Lock()
	for _, s := range p.sessions {
		s.retire()
	}
	p.mu.Unlock()
	p.pace.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.c.store.DeleteWorker(ctx, p.Name) // the record ends by itself, too
}

// serve fetches tasks while there are slots for them.
func (p *pool) serve(ctx context.Context) error {
	pause, last := store.Backoff{First: idlePause, Longest: longestPause}, time.Now()
	for ctx.Err() == nil {
		p.closeIdle()
		got, err := p.round(ctx)
		switch {
		case err != nil:
			return unlessTold(ctx, err)
		case got:
			last = time.Now()
			pause.Reset()
			continue
		case p.busy.Load() > 0: // what they find is likely to be queued soon
			last = time.Now()
			pause.Reset()
		case p.Idle > 0 && time.Since(last) >= p.Idle:
			p.c.log.Info(fmt.Sprintf("there has been no task for %s", p.Idle), "event", "worker_idle")
			return nil
		}
		_ = pause.Wait(ctx) // the loop ends with the context
	}
	return nil
}

// round takes at most one task of each origin. It reports whether there was any.
func (p *pool) round(ctx context.Context) (got bool, err error) {
	p.mu.Lock()
	origins, alone := maps.Clone(p.origins), p.alone != nil
	p.mu.Unlock()
	if alone {
		return false, nil
	}
	seen := map[string]bool{}
	for run, origin := range origins {
		if seen[origin] {
			continue
		}
		seen[origin] = true
		if p.isPaused(origin) || p.isOpening(origin) {
			continue
		}
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return got, nil
		}
		work, err := p.c.store.Fetch(ctx, origin)
		if errors.Is(err, store.ErrNoQueue) {
			p.prepareQueue(ctx, run)
			err = nil
		}
		if err != nil || work == nil {
			<-p.slots
			if err != nil {
				return got, err
			}
			continue
		}
		got = true
		p.busy.Add(1)
		s, first := p.enter(origin, sessionKey{work.Run, work.Submission}) // before the next look at the origin
		p.tasks.Go(func() {
			defer func() { p.busy.Add(-1); <-p.slots }()
			p.take(ctx, s, first, work)
		})
	}
	return got, nil
}

// take runs a task that was delivered.
func (p *pool) take(ctx context.Context, s *session, first bool, work *store.Work) {
	a := &attempt{pool: p, session: s, work: work}
	ctx, a.cancel = context.WithCancelCause(ctx)
	defer a.cancel(nil)
	stop := a.keepAlive()
	err := p.await(ctx, s, first)
	if err == nil {
		defer p.leave(s)
		ctx, cancel := s.context(ctx)
		defer cancel()
		a.run(ctx, stop)
		return
	}
	stop()
	switch {
	case errors.Is(err, errGone):
		_ = work.Drop(err.Error())
	case ctx.Err() != nil:
		p.giveUp(ctx, work)
	default:
		p.cannot(s.origin, work.Run, err)
		handBack(ctx, work, false)
	}
}

// handBackTime is how long a worker that ends tries to hand a task back. Afterwards the server
// gives it to another one when the worker has been silent long enough.
const handBackTime = 2 * time.Second

// handBack gives a task to another worker, at once.
func handBack(ctx context.Context, work *store.Work, refused bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBackTime)
	defer cancel()
	_ = work.HandBack(ctx, refused)
}

// giveUp hands back a task of a worker that ends, or runs another one alone.
func (p *pool) giveUp(ctx context.Context, work *store.Work) {
	handBack(ctx, work, false)
	if !errors.Is(context.Cause(ctx), errAlone) {
		p.returned.Add(1)
	}
}

// sayHandedBack logs how many tasks a worker that ends has handed back.
func (p *pool) sayHandedBack() {
	if n := int(p.returned.Load()); n > 0 {
		p.c.log.Info(fmt.Sprintf("worker %s has handed back %s", p.Name, value.Counted(n, "task")),
			"event", "worker_end", "worker", p.Name, "tasks", n)
	}
}

// cannotPause is how long a worker avoids an origin whose run it cannot join.
const cannotPause = 10 * time.Second

// cannot records that this worker cannot run the tasks of a run, and avoids the origin.
func (p *pool) cannot(origin, run string, err error) {
	p.mu.Lock()
	p.refused[origin]++
	if p.refused[origin] > 1 { // the queue may have tasks of other runs
		p.paused[origin] = time.Now().Add(cmp.Or(p.c.options.pause, cannotPause))
	}
	p.mu.Unlock()
	p.complain(run, kindOf(err), fmt.Sprintf("this worker cannot run it: %v", err))
}

// kindOf returns a text that is the same for errors that differ only in their partition.
func kindOf(err error) string {
	if failed, ok := errors.AsType[*engine.Error](err); ok {
		return fmt.Sprintf("%s %s %d", failed.Class, failed.Op, failed.Status)
	}
	return err.Error()
}

// complain logs a problem of this worker with a run, once a minute for all tasks that have it,
// and tells the server about it, for the status.
func (p *pool) complain(run, kind, text string) {
	log, more := p.c.problems.note(problemKey{run, kind}, text, problemFor)
	if !log {
		return
	}
	if more > 0 {
		text += fmt.Sprintf("; %s had this problem since it was logged last", value.Counted(more, "other task"))
	}
	p.c.log.Error(fmt.Sprintf("run %s: %s", run, text), "event", "worker_problem", "run", run)
	select {
	case p.news <- struct{}{}:
	default: // it is told soon anyhow
	}
}

func (p *pool) isPaused(origin string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, paused := p.paused[origin]
	if paused && time.Now().After(until) {
		delete(p.paused, origin)
		return false
	}
	return paused
}

// watchRuns learns of the runs, and stops the tasks of those that are cancelled or deleted.
func (p *pool) watchRuns(ctx context.Context) error {
	return p.c.store.WatchRuns(ctx, func(stored store.Record) {
		p.mu.Lock()
		defer p.mu.Unlock()
		var r record.Run
		switch {
		case !goesOn(&stored):
			p.end(stored.Name, "")
			delete(p.origins, stored.Name)
			p.c.problems.forget(stored.Name)
		case record.Decode(stored.Value, &r) == nil:
			p.end(stored.Name, r.Submission) // others were deleted
			p.origins[stored.Name] = r.Origin
		}
	})
}

// prepareQueue prepares the queue of the origin of a run: the program that submits the run has
// not done so yet, or the server has removed it.
func (p *pool) prepareQueue(ctx context.Context, run string) {
	r, err := p.c.withoutText(ctx, run)
	if err == nil {
		err = r.prepareQueue(ctx)
	}
	if err != nil && ctx.Err() == nil {
		p.complain(run, "queue", "its queue is missing: "+err.Error())
	}
}

// reportEvery is how often a worker says that it is there. Tests change it.
var reportEvery = 5 * time.Second

// progressEvery is how often a worker logs what it does. Tests change it.
var progressEvery = time.Minute

// problemFor is how long a worker tells of a problem.
const problemFor = 5 * time.Minute

// report tells the server about the worker.
func (p *pool) report(ctx context.Context) {
	host, _ := os.Hostname()
	level := slog.LevelWarn // of the first failure
	rec := record.Worker{Host: host, Started: time.Now().UTC(), Slots: p.Slots}
	tick := time.NewTicker(reportEvery)
	defer tick.Stop()
	told, before := time.Now(), 0
	for {
		rec.Problems, rec.Full = p.c.problems.current()
		p.mu.Lock()
		rec.Done = p.done
		rec.Running = slices.Collect(maps.Values(p.running))
		p.mu.Unlock()
		if n := len(rec.Running); time.Since(told) >= progressEvery && (n > 0 || rec.Done > before) {
			p.c.log.Info(fmt.Sprintf("worker %s: %s running, %d done", p.Name, value.Counted(n, "task"), rec.Done),
				"event", "worker_progress", "worker", p.Name, "running", n, "done", rec.Done)
			told, before = time.Now(), rec.Done
		}
		slices.SortFunc(rec.Running, func(a, b record.Task) int { return strings.Compare(a.Run+"/"+a.Task, b.Run+"/"+b.Task) })
		if value, err := json.Marshal(rec); err == nil {
			if err := p.c.store.PutWorker(ctx, p.Name, value); err != nil && ctx.Err() == nil {
				p.c.log.Log(ctx, level, "stopwhen status does not show this worker: "+err.Error(), "event", "worker_report")
				level = slog.LevelDebug
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.news:
		}
	}
}
