package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// errGone is the error for a run that is cancelled or deleted.
var errGone = errors.New("the run is cancelled or deleted")

// A session is a run in a worker: the compiled configuration, its connections and its
// credentials, which all tasks of the run share.
type session struct {
	*engine.Session
	run    *Run
	ended  context.Context // when the run is cancelled
	cancel context.CancelCauseFunc
	proven atomic.Bool // the API has answered with a page, so it accepts the credentials

	mu     sync.Mutex
	users  int
	since  time.Time // when the last user left
	closed bool      // it has no new users
}

// An opening is a session that is being opened.
type opening struct {
	origin string
	done   chan struct{} // closed when err is valid
	err    error
}

// A seat is the place of a task in the session of its run.
type seat struct {
	origin, run, submission string

	s    *session // which counts the task as its user; nil: the session is being opened
	o    *opening // by this task or another one
	mine bool     // by this one
}

// seat finds the place of a task in the session of its run. It does not wait.
func (p *pool) seat(origin, run, submission string) seat {
	at := seat{origin: origin, run: run, submission: submission}
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.sessions[run]; s != nil && s.run.record.Submission == submission && s.enter() {
		at.s = s
		return at
	}
	at.o = p.openings[run]
	if at.mine = at.o == nil; at.mine {
		at.o = &opening{origin: origin, done: make(chan struct{})}
		p.openings[run] = at.o
	}
	return at
}

// session returns the session of a seat, of which the task is a user that has to leave. One
// session of a run is opened at a time, beside those of other runs.
func (p *pool) session(ctx context.Context, at seat) (*session, error) {
	for ; ; at = p.seat(at.origin, at.run, at.submission) {
		if at.s != nil {
			return at.s, nil
		}
		if at.mine {
			return p.begin(ctx, at)
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-at.o.done:
			if at.o.err != nil {
				return nil, at.o.err
			}
		}
	}
}

// isOpening reports whether a session of a run of an origin is being opened. Its tasks would
// wait, and leave no slots for others.
func (p *pool) isOpening(origin string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.openings {
		if o.origin == origin {
			return true
		}
	}
	return false
}

// begin opens the session of a seat.
func (p *pool) begin(ctx context.Context, at seat) (s *session, err error) {
	defer func() {
		at.o.err = err
		p.mu.Lock()
		delete(p.openings, at.run)
		p.mu.Unlock()
		close(at.o.done)
	}()
	if s, err = p.open(ctx, at.run, at.submission); err != nil {
		return nil, err
	}
	s.enter()
	p.mu.Lock()
	old := p.sessions[at.run]
	p.mu.Unlock()
	if old != nil && old.run.record.Submission != at.submission { // that run was deleted
		p.endSession(at.run)
	}
	p.mu.Lock()
	p.sessions[at.run] = s
	p.mu.Unlock()
	return s, p.confirm(ctx, s)
}

// confirm reports a run that was cancelled while its session was opened, when watchRuns did
// not know the session yet. After an error the session has no user.
func (p *pool) confirm(ctx context.Context, s *session) error {
	stored, err := p.c.store.Run(ctx, s.run.ID())
	if err == nil && !goesOn(stored) {
		p.endSession(s.run.ID())
		err = errGone
	}
	if err != nil {
		s.leave()
	}
	return err
}

// goesOn reports whether the tasks of a run are run, whose record is nil if it was deleted.
// One that cannot be read does not say that the run has ended.
func goesOn(stored *store.Record) bool {
	if stored == nil || stored.Value == nil {
		return false
	}
	var r record
	return decode(stored.Value, &r) != nil || r.Phase != Cancelled
}

// endSession stops the tasks of a run, and closes its session when they have ended.
func (p *pool) endSession(run string) {
	p.mu.Lock()
	s := p.sessions[run]
	delete(p.sessions, run)
	maps.DeleteFunc(p.problems, func(key problemKey, _ problem) bool { return key.run == run })
	p.mu.Unlock()
	if s != nil {
		s.cancel(errGone)
		s.retire()
	}
}

// open compiles a run with the secrets of this machine.
func (p *pool) open(ctx context.Context, run, submission string) (*session, error) {
	stored, err := p.c.store.Run(ctx, run)
	if err != nil {
		return nil, err
	}
	if stored == nil {
		return nil, errGone
	}
	r, err := p.c.read(ctx, *stored)
	if err != nil {
		return nil, err
	}
	if r.Phase() == Cancelled || r.record.Submission != submission {
		return nil, errGone
	}
	public, err := r.Engine()
	if err != nil { // it must judge pages by the same rules
		return nil, err
	}
	options := []engine.Option{engine.WithInputs(p.inputs(r, public)), engine.WithSharedPace(p.pace.Of(r.record.Origin))}
	if log := p.c.options.Log; log != nil {
		options = append(options, engine.WithLogger(log))
	}
	if r.record.Parallel > 0 { // each task makes one request at a time
		options = append(options, engine.WithPrefetch(0))
	}
	e, err := r.load(options...)
	if err != nil {
		return nil, lacks(err)
	}
	s := &session{run: r}
	s.Session, err = e.OpenSession(ctx, engine.RunFacts{ID: run, Worker: p.Name, Started: r.record.Started})
	if err != nil {
		return nil, lacks(err)
	}
	s.ended, s.cancel = context.WithCancelCause(context.Background())
	return s, nil
}

// inputs returns the inputs of a run: those that were submitted, and its secret ones, which
// this worker has.
func (p *pool) inputs(r *Run, e *engine.Engine) map[string]any {
	all := maps.Clone(r.record.Inputs)
	secret := e.SecretInputs()
	for _, name := range slices.Sorted(maps.Keys(p.Inputs)) {
		if !slices.Contains(secret, name) {
			p.sayUnused(r.ID(), name)
			continue
		}
		if all == nil {
			all = map[string]any{}
		}
		all[name] = p.Inputs[name]
		if text, ok := value.Text(p.Inputs[name]); ok && p.Hide != nil {
			p.Hide(text)
		}
	}
	return all
}

// sayUnused logs once that a run does not take an input from this worker.
func (p *pool) sayUnused(run, name string) {
	p.mu.Lock()
	told := p.unused[name]
	p.unused[name] = true
	p.mu.Unlock()
	if !told {
		p.c.log.Warn(fmt.Sprintf("run %s has no secret input %s, and the value that this worker has for it is not used", run, name),
			"event", "input_unused", "run", run)
	}
}

// lacks says which variables of the environment and which inputs this worker lacks, if that is
// the reason why a configuration cannot be compiled.
func lacks(err error) error {
	found, ok := errors.AsType[engine.Diagnostics](err)
	if !ok {
		return err
	}
	var all []string
	for _, d := range found {
		text := d.Message
		if strings.HasPrefix(d.Path, rules.InputPath("")) {
			text = d.Path + ": " + text
		}
		if d.Hint != "" {
			text += " (" + d.Hint + ")"
		}
		if !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return fmt.Errorf("%s", strings.Join(all, "; "))
}

func (s *session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.users++
	return true
}

func (s *session) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	s.since = time.Now()
	if s.closed && s.users == 0 {
		s.Close()
	}
}

// retire lets nobody enter any more, and closes the session when the last user has left.
func (s *session) retire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed && s.users == 0 {
		s.Close()
	}
	s.closed = true
}

// context returns a context that also ends when the run is cancelled.
func (s *session) context(ctx context.Context) (context.Context, func()) {
	both, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.ended, func() { cancel(context.Cause(s.ended)) })
	return both, func() { stop(); cancel(nil) }
}

// sessionIdle is how long a session is kept that has no task.
const sessionIdle = time.Minute

// closeIdle closes the sessions that have had no task for a while.
func (p *pool) closeIdle() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, s := range p.sessions {
		s.mu.Lock()
		idle := s.users == 0 && time.Since(s.since) > sessionIdle
		s.mu.Unlock()
		if idle {
			s.retire()
			delete(p.sessions, id)
		}
	}
}
