package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/ahead"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// A Distribution shares runs of an engine among machines, as package engine/cluster does: a run is
// divided into tasks, and each machine opens a [Session], which runs some of them.
type Distribution struct{ engine *Engine }

// Distribution returns the operations for programs that share a run among machines.
func (e *Engine) Distribution() Distribution { return Distribution{e} }

// RunFacts hold the facts about a shared run that all machines know.
type RunFacts struct {
	ID      string    // ID of the run, the same on all machines; Run in events
	Worker  string    // name of this machine, in events
	Started time.Time // start of the run, the same on all machines; now() returns it to the expressions of variables
}

// A Session runs tasks of a run whose other tasks run in other processes. Its tasks share
// connections, credentials and the request rate, and several of them may run at the same time.
// Package engine/cluster distributes tasks; [Engine.Run] does not use sessions.
type Session struct {
	*partition.Tasks // methods of the session, except Run
	loop             runtime.Loop
	ownsClient       bool // whether Close closes the client
}

// Open prepares this process for tasks of a run. It makes no requests. [WithResume],
// [WithParallelJobs], [WithKeepGoing] and [WithTimeout] do not apply to sessions: each task has
// its own position, and the caller decides how many run.
func (d Distribution) Open(ctx context.Context, run RunFacts) (*Session, error) {
	e := d.engine
	if err := e.Check(); err != nil {
		return nil, err
	}
	var observer Observer
	if o := e.options.run.Observer; o != nil {
		observer = runObserver{Observer: o, run: run.ID, worker: run.Worker}
	}
	loop, err := e.loopFor(observer)
	if err != nil {
		return nil, err
	}
	loop.Ahead = d.ahead(loop.Ahead)
	s := &Session{loop: loop, ownsClient: e.options.run.transport == nil}
	if s.Tasks, err = e.walk(loop).Tasks(ctx, e.roots(), run.Started); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// ahead returns the policy by which a session requests pages ahead. Because storing a page takes a
// while, the next page is requested meanwhile, unless the user wants no page ahead. If the
// configuration limits the requests in flight, each task makes one request at a time.
func (d Distribution) ahead(p ahead.Policy) ahead.Policy {
	switch {
	case p.Large == 0:
		return p
	case d.Parallel() > 0:
		return ahead.Policy{Delivering: true}
	}
	p.Delivering = true
	return p
}

// Run runs a task from its beginning or, if position is not nil, from the position in an earlier
// step. It passes each step to store and continues when store returns. Then the step is stored, or
// store has returned an error, which ends Run. The items of a step are valid until store returns.
//
// The last step has the ending of the task. If the task itself fails, Run returns its ending,
// which no step has, and an [*Error]. An interrupted task has no ending, and its error is of class
// "cancelled".
func (s *Session) Run(
	ctx context.Context, task partition.Task, position json.RawMessage, store func(context.Context, *partition.Step) error,
) (*partition.Ending, error) {
	ending, err := s.Tasks.Run(ctx, task, position, store)
	err = s.Redact(err)
	if err != nil && ctx.Err() != nil && ending == nil {
		return nil, &Error{Class: failure.Cancelled, Op: "task", Message: "interrupted", Err: err}
	}
	return ending, err
}

// Redact returns an error without the secrets of the session.
func (s *Session) Redact(err error) error { return failure.Redact(err, s.loop.Redactor.String) }

// InTurn returns the session for a task that requests a page only after the page before it has been
// stored. The caller closes only the session itself.
func (s *Session) InTurn() *Session { return &Session{Tasks: s.Tasks.InTurn(), loop: s.loop} }

// Close closes the connections of the session.
func (s *Session) Close() {
	if s.ownsClient {
		s.loop.Client.Close()
	}
}

// RootTasks returns the tasks with which a run begins: one for each of [Info].Roots. With
// limits.partitions there is one task for all jobs, because only a fixed order omits the same
// partitions in every run.
func (d Distribution) RootTasks() []partition.Task {
	return partition.RootTasks(d.engine.roots(), d.engine.cfg.MaxPartitions > 0)
}

// Tallies returns a tally for each tree of the jobs that run, by the ID of the root job. They make
// no requests and need no secrets.
func (d Distribution) Tallies() map[string]*partition.Tally {
	e := d.engine
	log := e.log()
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	walk := e.walk(runtime.Loop{Log: log, Redactor: e.Redactor(), Kept: e.options.run.Kept})
	tallies := map[string]*partition.Tally{}
	for _, root := range e.roots() {
		tallies[root.ID()] = walk.NewTally(root)
	}
	return tallies
}

// Outlines returns the outlines of the jobs that run, parents before their children.
func (d Distribution) Outlines() []partition.Outline {
	return partition.Outlines(d.engine.roots(), d.engine.selected())
}
