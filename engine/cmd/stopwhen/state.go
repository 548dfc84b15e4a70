package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/stopwhen/stopwhen/runtime/failure"

	"github.com/gofrs/flock"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
)

// commitEvery bounds what a kill costs: what was extracted since the last commit
// is extracted again. A commit costs about a millisecond.
const commitEvery = 200 * time.Millisecond

// keptState is the state of a run with --state.
type keptState struct {
	*checkpoint.Store
	lock  *flock.Flock
	path  string
	every time.Duration // 0: every page is committed
	last  time.Time

	log     *slog.Logger
	several bool                       // jobs at once: a commit needs the positions of all
	pending map[string]json.RawMessage // positions of jobs, of which all that was written belongs to pages up to there
	torn    bool                       // a page was written in part
}

// openState takes the lock and reads the state; nil without --state.
func (a *app) openState(l *loaded, logger *slog.Logger) (*keptState, error) {
	if a.flags.state == "" {
		return nil, nil
	}
	k := &keptState{path: a.flags.state, lock: flock.New(a.flags.state + ".lock"), every: commitEvery, log: logger, several: a.flags.parallel > 1, pending: map[string]json.RawMessage{}}
	if a.flags.out == "-" || a.flags.out == "" {
		k.every = 0 // what a reader was given cannot be cut back
	}
	locked, err := k.lock.TryLock()
	if err != nil {
		return nil, outputError(err)
	}
	if !locked {
		return nil, &engine.Error{Class: failure.State, Op: "lock", Message: fmt.Sprintf("another run works with %s", a.flags.state), Hint: "wait until it has ended, or use another --state and --out"}
	}
	if a.flags.restart {
		if err := os.Remove(a.flags.state); err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, errors.Join(outputError(err), k.lock.Unlock())
		}
	}
	k.Store, err = checkpoint.Open(checkpoint.System, a.flags.state, version(), l.Fingerprint())
	if err != nil {
		return nil, errors.Join(err, k.lock.Unlock())
	}
	return k, nil
}

// tell says where the run goes on.
func (k *keptState) tell(e *engine.Engine, logger *slog.Logger) {
	if !k.Resumed() {
		return
	}
	if e.With(engine.WithResume(k.Jobs())).Ended() {
		logger.Info(fmt.Sprintf("%s says that this extraction is complete: nothing is requested (--restart begins anew)", k.path), "event", "resume", "complete", true)
		return
	}
	message := fmt.Sprintf("goes on where %s says that it was", k.path)
	if k.Cut() > 0 {
		message += fmt.Sprintf("; %s that came after it were cut off", value.Size(int(k.Cut())))
	}
	logger.Info(message, "event", "resume", "truncated_bytes", k.Cut())
}

// begin notes that a page is being written. The methods of a nil state do nothing.
func (k *keptState) begin() {
	if k != nil {
		k.torn = true
	}
}

// end notes that a page was written whole, and commits if it is time.
func (k *keptState) end(page *engine.Page) error {
	if k == nil {
		return nil
	}
	due := page.Decision == runtime.Stop || time.Since(k.last) >= k.every
	if !due && !k.several {
		return nil
	}
	position, err := page.Checkpoint()
	if err != nil || position == nil { // behind a page on which the run fails there is nothing to go on from
		return err
	}
	k.pending[page.Job], k.torn = bytes.Clone(position), false
	if !due {
		return nil
	}
	return k.flush()
}

// flush commits what is pending, unless a page was written in part.
func (k *keptState) flush() error {
	if k == nil || k.torn || len(k.pending) == 0 {
		return nil
	}
	if err := k.Commit(k.pending); err != nil {
		return err
	}
	k.log.Debug("committed", "event", "checkpoint", "committed_bytes", k.Committed())
	clear(k.pending)
	k.last = time.Now()
	return nil
}

// Close gives the lock back; it may be called of nil.
func (k *keptState) Close() {
	if k == nil {
		return
	}
	_ = k.Store.Close()
	_ = k.lock.Unlock()
}
