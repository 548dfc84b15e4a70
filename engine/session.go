package engine

import (
	"context"
	"encoding/json"

	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// A Session runs tasks of a run whose other tasks run in other processes. Its tasks share
// connections, credentials and the request rate, and several of them may run at the same time.
// Package engine/cluster distributes tasks; [Engine.Run] does not use sessions.
type Session struct {
	tasks      *partition.Tasks
	loop       runtime.Loop
	ownsClient bool // whether Close closes the client
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
	loop, err := e.bind(observer)
	if err != nil {
		return nil, err
	}
	loop.Ahead = d.ahead(loop.Ahead)
	s := &Session{loop: loop, ownsClient: e.options.run.transport == nil}
	if s.tasks, err = e.walk(loop).Tasks(ctx, e.roots(), run.Started); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Run runs a task from its beginning or, if position is not nil, from the position in an earlier
// step. It passes each step to store and continues when store returns. Then the step is stored, or
// store has returned an error, which ends Run. The items of a step are valid until store returns.
//
// The last step carries the ending of the task. If the task itself fails, no step carries its ending: Run
// returns it with an [*Error]. An interrupted task has no ending, and its error is of class "cancelled".
func (s *Session) Run(
	ctx context.Context, task partition.Task, position json.RawMessage, store func(context.Context, *partition.Step) error,
) (*partition.Ending, error) {
	ending, err := s.tasks.Run(ctx, task, position, store)
	err = s.Redact(err)
	if err != nil && ctx.Err() != nil && ending == nil {
		return nil, &Error{Class: failure.Cancelled, Op: "task", Message: "interrupted", Err: err}
	}
	return ending, err
}

// Label describes the values of the variables of a task, without secrets, such as "order.id=1001".
// It is empty for a job without variables, and for a task that cannot be run.
func (s *Session) Label(ctx context.Context, task partition.Task) string {
	return s.tasks.Label(ctx, task)
}

// FailedEnding returns the ending of a task that an error outside of Run ended, such as a panic.
func (s *Session) FailedEnding(ctx context.Context, task partition.Task, err error) *partition.Ending {
	return s.tasks.FailedEnding(ctx, task, err)
}

// Redact returns an error without the secrets of the session.
func (s *Session) Redact(err error) error { return failure.Redact(err, s.loop.Redactor.Text) }

// InTurn returns the session for a task that requests a page only after the page before it has been
// stored. The caller closes only the session itself.
func (s *Session) InTurn() *Session { return &Session{tasks: s.tasks.InTurn(), loop: s.loop} }

// Close closes the connections of the session.
func (s *Session) Close() {
	if s.ownsClient {
		s.loop.Client.Close()
	}
}
