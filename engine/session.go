package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// Distributed is for programs that share a run among machines, as package engine/cluster
// does: a run becomes tasks, and each machine opens a [Session], which does some of them.
type Distributed struct{ engine *Engine }

// Distributed returns the operations for programs that share a run among machines.
func (e *Engine) Distributed() Distributed { return Distributed{e} }

// RunFacts are what all machines know about the run that they share.
type RunFacts struct {
	ID      string    // the same on all machines; in events, Run
	Worker  string    // the name of this machine, in events
	Started time.Time // the same on all machines: what now() returns to the expressions of variables
}

// A Session is a run of which this process does some tasks, and others do the rest. It
// shares connections, credentials and the pace among its tasks, several of which may run at
// the same time. Package engine/cluster distributes the tasks. [Engine.Run] is not needed.
type Session struct {
	*partition.Tasks // its methods are those of the session, except Run
	loop             runtime.Loop
	owned            bool // the client is closed with the session
}

// Open prepares this process for tasks of a run. It makes no request. [WithResume],
// [WithParallelJobs], [WithKeepGoing] and [WithTimeout] do not apply to sessions: each task
// has its position, and how many run is up to the caller.
func (d Distributed) Open(ctx context.Context, run RunFacts) (*Session, error) {
	e := d.engine
	if err := e.Check(); err != nil {
		return nil, err
	}
	var observer Observer
	if o := e.settings.run.Observer; o != nil {
		observer = runObserver{Observer: o, run: run.ID, worker: run.Worker}
	}
	loop, err := e.loopFor(observer)
	if err != nil {
		return nil, err
	}
	s := &Session{loop: loop, owned: e.settings.run.transport == nil}
	if s.Tasks, err = e.walk(loop).Tasks(ctx, e.roots(), run.Started); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Run runs a task from its beginning or, if position is not nil, from the position that an
// earlier step had. It passes each step to store, and continues when store returns: the step
// is then stored, or store has returned an error, with which Run ends. The items of a step
// are valid until store returns.
//
// The last step has the ending of the task. If the task itself fails, Run returns its
// ending, which no step has, and an [*Error]. A task that was interrupted has no ending, and
// the class of its error is "cancelled".
func (s *Session) Run(
	ctx context.Context, task partition.Task, position json.RawMessage, store func(context.Context, *partition.Step) error,
) (*partition.Ending, error) {
	ending, err := s.Tasks.Run(ctx, task, position, store)
	if err != nil && ctx.Err() != nil && ending == nil {
		return nil, &Error{Class: failure.Cancelled, Op: "task", Message: "interrupted", Err: err}
	}
	return ending, err
}

// Close closes the connections of the session.
func (s *Session) Close() {
	if s.owned {
		s.loop.Client.Close()
	}
}

// RootTasks returns the tasks with which a run begins: one for each of [Info].Roots. With
// limits.partitions there is one task for all jobs, because only one order leaves out the
// same partitions in every run.
func (d Distributed) RootTasks() []partition.Task {
	return partition.RootTasks(d.engine.roots(), d.engine.cfg.MaxPartitions > 0)
}

// Tallies returns a tally for each tree of the jobs that run, by the id of the job at its
// root. They make no request, and need no secrets.
func (d Distributed) Tallies() map[string]*partition.Tally {
	e := d.engine
	log := e.settings.run.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	walk := e.walk(runtime.Loop{Log: log, Redactor: e.Redactor(), Carryover: e.settings.run.Carryover})
	all := map[string]*partition.Tally{}
	for _, root := range e.roots() {
		all[root.Set.Job.ID] = walk.NewTally(root)
	}
	return all
}

// An Outline says where a job is among those of a run.
type Outline struct {
	Job       string `json:"job"`
	Parent    string `json:"parent,omitempty"`    // empty: it has none
	Variables int    `json:"variables,omitempty"` // how many variables it has of its own
}

// Outlines returns the outlines of the jobs that run, parents before their children.
func (d Distributed) Outlines() []Outline {
	selected := d.engine.selected()
	var all []Outline
	var add func(*compile.Job) bool
	add = func(job *compile.Job) bool {
		place := len(all)
		all = append(all, Outline{Job: job.Set.Job.ID, Variables: len(job.Sources)})
		if job.Parent != nil {
			all[place].Parent = job.Parent.Set.Job.ID
		}
		runs := slices.Contains(selected, job)
		for _, child := range job.Children {
			runs = add(child) || runs
		}
		if !runs {
			all = all[:place]
		}
		return runs
	}
	for _, root := range d.engine.roots() {
		add(root)
	}
	return all
}
