package survey

import (
	"context"
	"fmt"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// addWarnings adds problems that a user should act on.
func (s *survey) addWarnings(ctx context.Context, out *status.Run, info store.Info) error {
	out.Warnings = []status.Warning{}
	add := func(id string, hint remedy.Remedy, message string, values ...any) {
		out.Warnings = append(out.Warnings, status.Warning{ID: id, Message: fmt.Sprintf(message, values...), Hint: hint.String(), Remedy: hint})
	}
	room, waits := s.makeRoom(info), s.fleet.full[s.run.Run]
	switch limit := info.MaxBytes; {
	case out.Phase != status.Running:
	case waits && limit > 0:
		add("full", room, "the run has %s of the %s that it may have on the server, and the pages of workers wait for room",
			wording.Size(int(out.Stored.Bytes)), wording.Size(int(limit)))
	case waits:
		add("full", remedy.New("make room there, or delete runs"), "the server has no room, so workers wait to store their pages")
	case info.IsFull():
		add("full", room, "the run has %d %% of the bytes that it may have on the server, and workers wait when it has all",
			100*out.Stored.Bytes/limit)
	}
	retry := remedy.New("fix the cause, then: %s", remedy.Retry.Of(s.run.Run))
	if onlyMistakes(out) {
		retry = remedy.New("a run keeps its configuration: correct it, and submit it as a new run")
	}
	if n := out.Total.Failed; n > 0 {
		add("failed", retry, "%s failed", wording.Counted(n, "partition"))
	}
	if n := out.FailedSearches; n > 0 {
		add("search", retry, "the values of %s could not be found", wording.Counted(n, "variable"))
	}
	if out.Phase != status.Running || s.open() == 0 {
		return nil
	}
	lost, err := s.lost(ctx, info)
	if err != nil {
		return err
	}
	switch {
	case lost > 0:
		add("lost", remedy.New("submit the run again, with the same id: %s", remedy.Submit.Of(s.run.Run)),
			"the queue has lost tasks: %d of those that are known have not ended, and are not queued", lost)
	case out.Workers.Count == 0:
		add("noWorkers", remedy.New("%s", s.run.WorkerHint()), "no worker runs the tasks that wait")
	}
	for _, w := range out.Workers.List {
		if w.Silent && s.fleet.silent[[2]string{w.Name, s.run.Run}] {
			seconds := int(out.At.Sub(w.Heard).Seconds())
			add("silent", remedy.New("other workers get its tasks"), "worker %s on %s has been silent for %d seconds", w.Name, w.Host, seconds)
		}
		if w.Problem != "" {
			add("problem", remedy.New("other workers may run it; otherwise set it right on that machine"),
				"worker %s on %s: %s", w.Name, w.Host, w.Problem)
		}
	}
	return nil
}

// onlyMistakes reports whether all failures are mistakes in the configuration, which a retry repeats.
func onlyMistakes(out *status.Run) bool {
	for _, p := range out.Failed {
		if p.Error == nil || p.Error.Class != string(failure.Config) {
			return false
		}
	}
	return len(out.Failed) > 0 && len(out.Failed) == out.Total.Failed+out.FailedSearches
}

// makeRoom returns a remedy for a run without room on the server. A collection can release all
// messages except the remaining ones, unless one task runs several jobs, because their positions
// differ.
func (s *survey) makeRoom(info store.Info) remedy.Remedy {
	const raise = "submit it again, with the same id and a larger %s"
	if s.run.Whole && len(s.run.Outlines) > 1 || info.Messages <= uint64(s.unreleasable) {
		return remedy.New(raise+"; %s would delete nothing, since the pages that are stored must remain", remedy.MaxBytes, remedy.Release)
	}
	return remedy.New("%s deletes pages that it has written; if those that must remain fill the limit, "+raise,
		remedy.CollectAndRelease.Of(s.run.Run), remedy.MaxBytes)
}

// lostAgain is the time after which seemingly lost tasks are counted again, because a task that
// was just queued may not be counted yet.
const lostAgain = 300 * time.Millisecond

// lost returns the number of known tasks that are neither queued nor ended. It is 0 while tasks
// run, because they may be about to queue the tasks that they announced.
func (s *survey) lost(ctx context.Context, info store.Info) (lost int, err error) {
	for range 2 {
		load, err := s.store.Queued(ctx, s.run.Queue())
		if err != nil || load.Running > 0 {
			return 0, err
		}
		now, err := s.store.Info(ctx, s.run.Run)
		if err != nil || now.Sequence != info.Sequence {
			return 0, err
		}
		if lost = s.open() - load.Waiting; lost <= 0 {
			return 0, nil
		}
		if err := store.Sleep(ctx, lostAgain); err != nil {
			return 0, err
		}
	}
	return lost, nil
}
