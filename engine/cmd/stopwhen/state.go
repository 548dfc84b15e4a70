package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/gofrs/flock"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// commitInterval bounds what a kill costs: pages since the last commit are
// extracted again. A commit takes about a millisecond.
const commitInterval = 200 * time.Millisecond

// checkpointer saves the checkpoints of a run with --state. The methods
// beginPage, endPage, flush and Close of a nil checkpointer do nothing.
type checkpointer struct {
	*checkpoint.Store
	lock       *flock.Flock
	path       string
	interval   time.Duration // between commits; 0: every page is committed
	lastCommit time.Time

	log      *slog.Logger
	parallel bool                       // jobs are concurrent: a commit needs the checkpoints of all
	pending  map[string]json.RawMessage // by job, the latest checkpoint whose output is fully written
	beyond   bool                       // the outputs hold more than belongs to the pending checkpoints
}

// openState locks and reads the state. It returns nil without --state.
func (a *app) openState(l *loaded, logger *slog.Logger) (*checkpointer, error) {
	path := a.flags.state
	if path == "" {
		return nil, nil
	}
	c := &checkpointer{
		path: path, lock: flock.New(path + ".lock"), interval: commitInterval, log: logger,
		parallel: a.flags.parallel > 1, pending: map[string]json.RawMessage{},
	}
	if a.flags.toStdout() {
		c.interval = 0 // items on standard output cannot be discarded when the run resumes
	}
	locked, err := c.lock.TryLock()
	if err != nil {
		return nil, outputError(err)
	}
	if !locked {
		return nil, &engine.Error{
			Class: failure.State, Op: "lock", Message: fmt.Sprintf("state %s is in use by another run", path),
			Hint: "wait until that run ends, or use another --state and --out",
		}
	}
	if c.Store, err = a.openStore(l); err != nil {
		return nil, errors.Join(err, c.lock.Unlock())
	}
	return c, nil
}

func (a *app) openStore(l *loaded) (*checkpoint.Store, error) {
	if a.flags.restart {
		if err := os.Remove(a.flags.state); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, outputError(err)
		}
	}
	store, err := checkpoint.Open(a.flags.state, version(), l.Fingerprint())
	if err != nil {
		return nil, err
	}
	err = l.With(engine.WithResume(store.Jobs())).Check() // before any output is truncated
	if failed := (*engine.Error)(nil); errors.As(err, &failed) {
		failed.Hint = "--restart starts over and replaces the output"
	}
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return store, nil
}

// resume returns the engine with the saved checkpoints, and logs how the run
// resumes.
func (c *checkpointer) resume(e *engine.Engine) *engine.Engine {
	e = e.With(engine.WithResume(c.Jobs()))
	switch {
	case !c.Resumed():
	case e.Ended():
		c.log.Info(fmt.Sprintf("%s: the extraction is already complete; no request is made (--restart starts over)", c.path),
			"event", "resume", "complete", true)
	default:
		message := "resuming from " + c.path
		if c.Discarded() > 0 {
			message += fmt.Sprintf("; discarded %s written after the last checkpoint", value.Size(int(c.Discarded())))
		}
		c.log.Info(message, "event", "resume", "truncated_bytes", c.Discarded())
	}
	return e
}

// beginPage is called before a page is written.
func (c *checkpointer) beginPage() {
	if c != nil {
		c.beyond = true
	}
}

// endPage is called when a page is fully written. It commits if a commit is due.
func (c *checkpointer) endPage(page *engine.Page) error {
	if c == nil {
		return nil
	}
	due := page.Decision == runtime.Stop || time.Since(c.lastCommit) >= c.interval
	if !due && !c.parallel {
		return nil
	}
	saved, err := page.Checkpoint()
	if err != nil || saved == nil { // the run cannot resume after a page on which it fails
		return err
	}
	c.pending[page.Job], c.beyond = bytes.Clone(saved), false
	if !due {
		return nil
	}
	return c.flush()
}

// flush commits the pending checkpoints, unless the outputs hold more than belongs
// to them: part of a page, for example.
func (c *checkpointer) flush() error {
	if c == nil || c.beyond || len(c.pending) == 0 {
		return nil
	}
	if err := c.Commit(c.pending); err != nil {
		return err
	}
	c.log.Debug("checkpoint saved", "event", "checkpoint", "committed_bytes", c.Committed())
	clear(c.pending)
	c.lastCommit = time.Now()
	return nil
}

// Close closes the outputs and releases the lock.
func (c *checkpointer) Close() {
	if c == nil {
		return
	}
	_ = c.Store.Close()
	_ = c.lock.Unlock()
}
