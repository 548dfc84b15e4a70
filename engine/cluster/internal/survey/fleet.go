package survey

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

// SilentAfter is how long a worker says nothing until the status calls it silent. Tests change
// it.
var SilentAfter = 15 * time.Second

// A Fleet is what the workers have said.
type Fleet struct {
	status.Workers
	tasks  map[submission]map[store.Key]workerTask
	silent map[[2]string]bool // workers that are silent, and runs of which they have said that they run tasks
	full   map[string]bool    // runs whose pages wait, since the server has no room for them
}

// A submission names a run: one of the same id may have been deleted.
type submission struct{ run, token string }

// A workerTask is a task that a worker has who is not silent.
type workerTask struct {
	record.Task
	worker string
	heard  time.Time
}

// Workers returns what the workers have said. The problems are those with one run or, without
// its id, with any. Workers that have been silent since a time before the run existed have
// nothing to do with it, and are left out.
func Workers(ctx context.Context, s *store.Store, run string, now, since time.Time) (*Fleet, error) {
	f := &Fleet{Workers: status.Workers{List: []status.Worker{}},
		tasks: map[submission]map[store.Key]workerTask{}, silent: map[[2]string]bool{}, full: map[string]bool{}}
	records, err := s.Workers(ctx)
	if err != nil {
		return nil, err
	}
	for _, stored := range records {
		var rec record.Worker
		if record.Decode(stored.Value, &rec) != nil { // of another version of the program
			continue
		}
		w := status.Worker{Name: stored.Name, Host: rec.Host, Started: rec.Started, Heard: stored.Time.UTC(),
			Silent: now.Sub(stored.Time) > SilentAfter, Slots: rec.Slots, Running: len(rec.Running), Done: rec.Done, Problem: rec.Problem(run)}
		if !w.Silent || !w.Heard.Before(since) {
			f.add(w, rec)
		}
	}
	slices.SortFunc(f.List, func(a, b status.Worker) int { return cmp.Or(rank(a)-rank(b), strings.Compare(a.Name, b.Name)) })
	f.List = f.List[:min(len(f.List), maxWorkers)]
	return f, nil
}

func (f *Fleet) add(w status.Worker, rec record.Worker) {
	f.List = append(f.List, w)
	for _, t := range rec.Running {
		if w.Silent { // others may have the task
			f.silent[[2]string{w.Name, t.Run}] = true
			continue
		}
		of := submission{t.Run, t.Submission}
		if f.tasks[of] == nil {
			f.tasks[of] = map[store.Key]workerTask{}
		}
		f.tasks[of][store.Key{Run: t.Run, Submission: t.Submission, Job: t.Job, Task: t.Task}] = workerTask{t, w.Name, w.Heard}
		if slices.Contains(rec.Full, t.Run) {
			f.full[t.Run] = true
		}
	}
	if !w.Silent {
		f.Count, f.Slots, f.Running = f.Count+1, f.Slots+w.Slots, f.Running+w.Running
	}
}

// rank sorts the workers with problems before the others.
func rank(w status.Worker) int {
	if w.Silent || w.Problem != "" {
		return 0
	}
	return 1
}

// of returns the tasks of a run that workers have.
func (f *Fleet) of(run *record.Run) map[store.Key]workerTask {
	return f.tasks[submission{run.Run, run.Submission}]
}
