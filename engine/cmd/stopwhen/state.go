package main

import (
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
}

// openState takes the lock and reads the state; nil without --state.
func (a *app) openState(l *loaded) (*keptState, error) {
	if a.flags.state == "" {
		return nil, nil
	}
	k := &keptState{path: a.flags.state, lock: flock.New(a.flags.state + ".lock"), every: commitEvery}
	if a.flags.out == "-" || a.flags.out == "" {
		k.every = 0 // what a reader was given cannot be cut back
	}
	locked, err := k.lock.TryLock()
	if err != nil {
		return nil, outputError(err)
	}
	if !locked {
		return nil, &engine.Error{Class: runtime.ClassState, Op: "lock", Message: fmt.Sprintf("another run works with %s", a.flags.state), Hint: "wait until it has ended, or use another --state and --out"}
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

// commit makes a page last, with what was written before it. A nil state does
// nothing.
func (k *keptState) commit(page *engine.Page) error {
	if k == nil || page.Decision != runtime.Stop && time.Since(k.last) < k.every {
		return nil
	}
	position, err := page.Checkpoint()
	if err != nil || position == nil {
		return err
	}
	if err := k.Commit(page.Job, position); err != nil {
		return err
	}
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
