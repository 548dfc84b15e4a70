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
	"github.com/stopwhen/stopwhen/rules/value"
)

// A Fleet holds the reports of the workers.
type Fleet struct {
	status.Workers
	tasks  map[submission]map[store.Key]workerTask
	silent map[[2]string]bool // pairs of a silent worker and a run whose tasks it has reported to run
	full   map[string]bool    // runs whose pages wait because the server has no room for them
}

// A submission identifies a run, because a deleted run may have had the same name.
type submission struct{ run, token string }

// A workerTask is a task of a worker that is not silent.
type workerTask struct {
	record.RunningTask
	worker string
}

// Workers returns the reports of the workers, with their problems with the given run, or with any
// run if it is "". It leaves out workers that fell silent before the run existed.
func (r Reader) Workers(ctx context.Context, run string, now, since time.Time) (*Fleet, error) {
	f := &Fleet{Workers: status.Workers{List: []status.Worker{}},
		tasks: map[submission]map[store.Key]workerTask{}, silent: map[[2]string]bool{}, full: map[string]bool{}}
	records, err := r.Store.Workers(ctx)
	if err != nil {
		return nil, err
	}
	for _, stored := range records {
		var rec record.Worker
		if value.Unmarshal(stored.Value, &rec) != nil { // it is from another version of the program
			continue
		}
		w := status.Worker{Name: stored.Name, Host: rec.Host, Started: rec.Started, Heard: stored.Time.UTC(),
			Silent: now.Sub(stored.Time) > r.SilentAfter, Slots: rec.Slots, Running: len(rec.Running), Done: rec.Done, Problem: rec.Problem(run)}
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
		key := submission{t.Run, t.Submission}
		if f.tasks[key] == nil {
			f.tasks[key] = map[store.Key]workerTask{}
		}
		f.tasks[key][store.Key{Run: t.Run, Submission: t.Submission, Job: t.Job, Task: t.Task}] = workerTask{t, w.Name}
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

// of returns the tasks of a run that workers are running.
func (f *Fleet) of(run *record.Run) map[store.Key]workerTask {
	return f.tasks[submission{run.Run, run.Submission}]
}
