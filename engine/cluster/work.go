package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
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
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Worker runs tasks of all runs on a server. Its zero value has sensible defaults.
type Worker struct {
	Name  string // name in events and in the status; if it is empty, the name of the machine and a number
	Slots int    // number of tasks that run at the same time; 0 means 8

	// Inputs are the secret inputs of the runs, by name.
	Inputs map[string]any

	// Hide receives the secret inputs of a run before it begins, so that they can be kept out of
	// logs. It may be called by several goroutines at once. It may be nil.
	Hide func(secret string)

	// Idle is the time without tasks after which the worker ends. If it is 0, the worker never ends
	// by itself.
	Idle time.Duration

	// Monitor says what the worker does while it runs. It may be nil.
	Monitor *Monitor
}

// Limits of the number of deliveries of a task without a stored page.
const (
	suspectAfter   = 3 // the task may be killing workers, so it runs alone
	maxStartsAlone = 3 // deliveries of a task that runs alone; after them it is set aside
)

const defaultSlots = 8

// Work takes tasks and runs them until the context ends; then it immediately hands back the
// running tasks and returns nil. It also returns nil after [Worker.Idle]. An error means that the
// server cannot be used. Failed tasks do not end the worker: they are set aside, and [Run.Status]
// lists them.
func (c *Cluster) Work(ctx context.Context, w Worker) error {
	worker, err := newWorkerRun(ctx, c, w)
	if err != nil {
		return nilIfStopped(ctx, err)
	}
	defer worker.close()
	defer worker.logHandedBack()
	c.log.Info(fmt.Sprintf("worker %s is ready for %d tasks at a time", worker.Name, worker.Slots),
		"event", "worker_start", "worker", worker.Name)
	working, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var background sync.WaitGroup
	background.Go(func() {
		if err := worker.watchRuns(working); working.Err() == nil {
			stop(err)
		}
	})
	background.Go(func() { worker.report(working) })
	err = worker.serve(working)
	if err != nil {
		stop(err) // hands back the running tasks
	}
	worker.tasks.Wait()
	stop(nil)
	background.Wait()
	return nilIfStopped(ctx, cmp.Or(err, failureOf(working)))
}

// failureOf returns the error that ended a context, or nil if the context was simply cancelled.
func failureOf(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// nilIfStopped returns nil if ctx is done because the worker was told to stop, and otherwise err.
func nilIfStopped(ctx context.Context, err error) error {
	select {
	case <-ctx.Done():
		return nil
	default:
		return err
	}
}

// A workerRun is the state of a [Worker] while [Cluster.Work] runs.
type workerRun struct {
	Worker
	cluster *Cluster
	pace    *pace.Pace
	slots   chan struct{} // tasks that run
	storing chan struct{} // tasks whose end is being stored, and that have left their slots
	tasks   sync.WaitGroup
	busy    atomic.Int64 // number of goroutines of tasks

	returned atomic.Int64 // number of tasks handed back since the worker began to end
	leases   leaseCounts
	problems problems
	news     chan struct{} // signals that a problem must be reported to the server at once
	wake     chan struct{} // signals that a queue may have a task

	mu       sync.Mutex            // guards the fields below
	runs     map[string]*activeRun // active runs by ID
	turns    float64               // turns of the run that has taken the latest task
	sessions map[sessionKey]*session
	unused   map[string]bool // inputs that a run does not have and that have been logged
	origins  origins
	running  map[*attempt]record.RunningTask
	alone    *attempt // attempt that runs alone, because it may kill the worker; nil if there is no such attempt
	ends     taskEnds
	ended    bool // set when the worker ends
}

// leaseCounts counts the renewals of the leases of running tasks.
type leaseCounts struct{ renewed, failed atomic.Int64 }

// origins says which origins a worker reaches.
type origins struct {
	avoided map[string]*avoidance // origins that the worker does not reach
	served  map[string]time.Time  // times of the latest pages
}

// taskEnds counts the tasks that have ended at a worker.
type taskEnds struct {
	done    int       // tasks whose end was stored
	failed  int       // number of failures among them
	putBack int       // tasks put back to be tried again
	retryAt time.Time // end of the longest pause of these tasks
}

func newWorkerRun(ctx context.Context, c *Cluster, w Worker) (*workerRun, error) {
	if w.Slots < 0 {
		return nil, &engine.Error{Class: failure.Config, Op: "worker", Message: fmt.Sprintf("a worker cannot have %d slots", w.Slots)}
	}
	host, _ := os.Hostname()
	w.Name = cmp.Or(w.Name, cmp.Or(strings.Split(host, ".")[0], "worker")+"-"+nuid.Next()[16:])
	w.Slots = cmp.Or(w.Slots, defaultSlots)
	shared, err := pace.Open(ctx, c.store.Pace(), c.log)
	if denied, ok := errors.AsType[*engine.Error](err); ok {
		return nil, denied
	}
	if err != nil {
		return nil, &engine.Error{Class: failure.Config, Op: "worker", Message: err.Error(), Err: err,
			Hint: "a worker needs the permissions of its role"}
	}
	run := &workerRun{
		Worker: w, cluster: c, pace: shared, slots: make(chan struct{}, w.Slots), storing: make(chan struct{}, w.Slots),
		news: make(chan struct{}, 1), wake: make(chan struct{}, 1),
		runs: map[string]*activeRun{}, sessions: map[sessionKey]*session{}, unused: map[string]bool{},
		origins: origins{avoided: map[string]*avoidance{}, served: map[string]time.Time{}},
		running: map[*attempt]record.RunningTask{},
	}
	if w.Monitor != nil {
		w.Monitor.worker.Store(run)
	}
	return run, nil
}

func (w *workerRun) close() {
	w.cluster.store.StopFetching()
	w.mu.Lock()
	w.ended = true
	for _, s := range w.sessions {
		s.retireLocked()
	}
	w.mu.Unlock()
	w.pace.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = w.cluster.store.DeleteWorker(ctx, w.Name) // the record also expires by itself
}

// handBackTime is how long an ending worker tries to hand a task back. If it fails, the server
// redelivers the task once the worker has been silent long enough.
const handBackTime = 2 * time.Second

// briefly returns a context that is not cancelled with ctx, and ends after a time.
func briefly(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}

// handBack gives a task to another worker at once.
func handBack(ctx context.Context, work *store.Work) {
	trouble := work.Trouble
	trouble.Wait = 0
	postpone(ctx, work, trouble)
}

// postpone gives a task to another worker after a pause.
func postpone(ctx context.Context, work *store.Work, trouble store.Trouble) {
	ctx, cancel := briefly(ctx, handBackTime)
	defer cancel()
	_ = work.HandBack(ctx, trouble)
}

// handBackUnfinished hands back a task that was stopped because the worker is ending or another task
// must run alone. It counts only the former.
func (w *workerRun) handBackUnfinished(ctx context.Context, work *store.Work) {
	handBack(ctx, work)
	if !errors.Is(context.Cause(ctx), errAlone) {
		w.returned.Add(1)
	}
}

// logHandedBack logs how many tasks an ending worker has handed back.
func (w *workerRun) logHandedBack() {
	if n := int(w.returned.Load()); n > 0 {
		w.cluster.log.Info(fmt.Sprintf("worker %s has handed back %s", w.Name, wording.Counted(n, "task")),
			"event", "worker_end", "worker", w.Name, "tasks", n)
	}
}

// watchRuns follows the runs, and stops the tasks of cancelled and deleted runs.
func (w *workerRun) watchRuns(ctx context.Context) error {
	return w.cluster.store.WatchRuns(ctx, func(stored store.Record) {
		w.mu.Lock()
		defer w.mu.Unlock()
		var r record.Run
		switch {
		case !isActive(&stored):
			w.endSessionsLocked(stored.Name, "")
			w.removeRunLocked(stored.Name)
			w.problems.forget(stored.Name)
		case value.Unmarshal(stored.Value, &r) == nil:
			w.endSessionsLocked(stored.Name, r.Submission) // ends sessions of deleted runs with the same ID
			w.addRunLocked(&r)
		}
	})
}

// prepareQueue prepares the queue of a run. It is missing if the submitting program
// has not created it yet or the server has removed it.
func (w *workerRun) prepareQueue(ctx context.Context, run string) {
	r, err := w.cluster.withoutText(ctx, run)
	if err == nil {
		err = r.prepareQueue(ctx)
	}
	if err != nil && ctx.Err() == nil {
		w.noteProblem(run, "queue", "its queue is missing: "+err.Error())
	}
}
