package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/value"
)

// errGone is the error for a cancelled or deleted run.
var errGone = errors.New("the run is cancelled or deleted")

// A session is a run opened by a worker: the compiled configuration, its connections and its
// credentials, shared by all tasks of the run. The first task of the run opens the session while
// the others wait.
type session struct {
	sessionKey
	origin string
	opened chan struct{} // closed when the session is open, or when err is set
	err    error

	*engine.Session
	run    *Run
	ended  context.Context // done when the run is cancelled
	cancel context.CancelCauseFunc

	// Guarded by the lock of the worker.
	users  int       // number of tasks
	since  time.Time // time when the last user left
	closed bool      // set if the last user must close the session
}

// A sessionKey identifies a run, because a deleted run may have had the same ID.
type sessionKey struct{ id, submission string }

// joinSession makes an attempt a user of the session of its run. It reports whether the attempt must
// open the session. It does not wait.
func (w *workerRun) joinSession(origin string, key sessionKey) (s *session, opens bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s = w.sessions[key]; s == nil {
		s, opens = &session{sessionKey: key, origin: origin, opened: make(chan struct{})}, true
		s.ended, s.cancel = context.WithCancelCause(context.Background())
		w.sessions[key] = s
	}
	s.users++
	return s, opens
}

// awaitSession opens the session, or waits until it is open. After an error the attempt is no longer a
// user of the session.
func (a *attempt) awaitSession(ctx context.Context) (err error) {
	s := a.session
	if a.opens {
		s.err = a.worker.openSession(ctx, s)
		close(s.opened)
	}
	select {
	case <-s.opened:
		err = s.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		a.worker.leaveSession(s)
	}
	return err
}

// leaveSession ends the use of a session by a task. If the session could not be opened, the next task
// opens a new one.
func (w *workerRun) leaveSession(s *session) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.users--
	s.since = time.Now()
	if s.isOpen() && s.err != nil && w.sessions[s.sessionKey] == s {
		delete(w.sessions, s.sessionKey)
	}
	s.closeUnusedLocked()
}

// retireLocked lets the last user close a session that has left the worker. The caller holds the lock of the
// worker.
func (s *session) retireLocked() {
	s.closed = true
	s.closeUnusedLocked()
}

// closeUnusedLocked closes a retired session when the last user has left. The caller holds the lock of the
// worker.
func (s *session) closeUnusedLocked() {
	if s.closed && s.users == 0 && s.Session != nil {
		s.Close()
	}
}

// isOpeningLocked reports whether a session of the run is being opened. Further tasks would wait and
// occupy slots.
func (w *workerRun) isOpeningLocked(run string) bool {
	for key, s := range w.sessions {
		if key.id == run && !s.isOpen() {
			return true
		}
	}
	return false
}

func (s *session) isOpen() bool {
	select {
	case <-s.opened:
		return true
	default:
		return false
	}
}

// isActive reports whether the tasks of a run are executed. The record is nil if the run was
// deleted. An unreadable record does not mean that the run has ended.
func isActive(stored *store.Record) bool {
	if stored == nil || stored.Value == nil {
		return false
	}
	var r record.Run
	return value.Unmarshal(stored.Value, &r) != nil || r.Phase != Cancelled
}

// endSessionsLocked stops the tasks of a run and closes its sessions when they have ended, except the session of
// the given submission.
func (w *workerRun) endSessionsLocked(run, except string) {
	maps.DeleteFunc(w.sessions, func(key sessionKey, s *session) bool {
		if key.id != run || key.submission == except {
			return false
		}
		s.cancel(errGone)
		s.retireLocked()
		return true
	})
}

// openSession compiles a run with the secrets of this machine.
func (w *workerRun) openSession(ctx context.Context, s *session) error {
	stored, err := w.cluster.store.Run(ctx, s.id)
	if err != nil {
		return err
	}
	if stored == nil {
		return errGone
	}
	r, err := w.cluster.readRecord(*stored)
	if err != nil {
		return err
	}
	if r.Phase() == Cancelled || r.record.Submission != s.submission {
		return errGone
	}
	if r.text, err = w.cluster.store.Config(ctx, s.submission); err != nil {
		return err
	}
	public, err := r.Engine()
	if err != nil { // the session must judge pages by the same rules
		return err
	}
	options := []engine.Option{engine.WithInputs(w.inputs(r, public)), engine.WithSharedPace(w.pace.Of(r.record.Origin))}
	if log := w.cluster.options.Log; log != nil {
		options = append(options, engine.WithLogger(log))
	}
	e, err := r.load(options...)
	if err != nil {
		return asMissingSettings(err)
	}
	s.run = r
	s.Session, err = e.Distribution().Open(ctx, engine.RunFacts{ID: s.id, Worker: w.Name, Started: r.record.Started})
	if err != nil {
		return asMissingSettings(err)
	}
	return nil
}

// inputs returns the inputs of a run: the submitted ones, and the secret ones, which this worker
// holds.
func (w *workerRun) inputs(r *Run, e *engine.Engine) map[string]any {
	inputs := maps.Clone(r.record.Inputs)
	secret := e.Info().SecretInputs
	for _, name := range slices.Sorted(maps.Keys(w.Inputs)) {
		if !slices.Contains(secret, name) {
			w.logUnusedInput(r.ID(), name)
			continue
		}
		if inputs == nil {
			inputs = map[string]any{}
		}
		inputs[name] = w.Inputs[name]
		if text, ok := value.Text(w.Inputs[name]); ok && w.Hide != nil {
			w.Hide(text)
		}
	}
	return inputs
}

// logUnusedInput logs once that a run does not use an input of this worker.
func (w *workerRun) logUnusedInput(run, name string) {
	w.mu.Lock()
	told := w.unused[name]
	w.unused[name] = true
	w.mu.Unlock()
	if !told {
		w.cluster.log.Warn(fmt.Sprintf("run %s has no secret input %s, and the value that this worker has for it is not used", run, name),
			"event", "input_unused", "run", run)
	}
}

// A missingSettings is an error that names environment variables and inputs that a worker lacks.
type missingSettings struct {
	text   string
	remedy remedy.Remedy
}

func (m *missingSettings) Error() string { return m.text }

// asMissingSettings returns an error about mistakes in a configuration as a [missingSettings], and any other error
// unchanged.
func asMissingSettings(err error) error {
	found, ok := errors.AsType[engine.Diagnostics](err)
	if !ok {
		return err
	}
	var texts []string
	var missing missingSettings
	for _, d := range found {
		text := d.Message
		if strings.HasPrefix(d.Path, rules.InputPath("")) {
			text = d.Path + ": " + text
		}
		if texts = lists.AppendNew(texts, text); !missing.remedy.InWords() {
			missing.remedy = d.Remedy
		}
	}
	missing.text = strings.Join(texts, "; ")
	return &missing
}

// context returns a context that also ends when the run is cancelled.
func (s *session) context(ctx context.Context) (context.Context, func()) {
	both, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(s.ended, func() { cancel(context.Cause(s.ended)) })
	return both, func() { stop(); cancel(nil) }
}

// sessionIdle is how long a session without tasks is kept.
const sessionIdle = time.Minute

// closeIdle closes the sessions that have had no tasks for a while.
func (w *workerRun) closeIdle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.sessions, func(_ sessionKey, s *session) bool {
		idle := s.users == 0 && time.Since(s.since) > sessionIdle
		if idle {
			s.retireLocked()
		}
		return idle
	})
}
