package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// report sends the state of the worker to the server, at intervals and when it has news, and logs the
// worker's progress.
func (w *workerRun) report(ctx context.Context) {
	host, _ := os.Hostname()
	level := slog.LevelWarn // level of the first failure
	rec := record.Worker{Host: host, Started: time.Now().UTC(), Slots: w.Slots}
	tick := time.NewTicker(w.cluster.timing.report)
	defer tick.Stop()
	reconnects, stop := w.cluster.store.Reconnects()
	defer stop()
	logged, doneBefore := time.Now(), 0
	for {
		w.describe(&rec)
		if n := len(rec.Running); time.Since(logged) >= w.cluster.timing.progress && (n > 0 || rec.Done > doneBefore) {
			w.cluster.log.Info(fmt.Sprintf("worker %s: %s running, %d done", w.Name, wording.Counted(n, "task"), rec.Done),
				"event", "worker_progress", "worker", w.Name, "running", n, "done", rec.Done)
			logged, doneBefore = time.Now(), rec.Done
		}
		if err := w.putRecord(ctx, rec); err != nil && ctx.Err() == nil {
			w.cluster.log.Log(ctx, level, "the status of the server does not show this worker: "+err.Error(), "event", "worker_report")
			level = slog.LevelDebug
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-w.news:
		case _, open := <-reconnects: // a server that was restarted knows no worker
			if !open { // the connection is closed
				reconnects = nil
			}
		}
	}
}

// describe sets the parts of the worker's record that change.
func (w *workerRun) describe(rec *record.Worker) {
	rec.Problems, rec.Full = w.problems.current(), slices.Sorted(maps.Keys(w.cluster.full.current()))
	w.mu.Lock()
	rec.Done, rec.Cannot, rec.Served = w.ends.done, w.cannotRunLocked(), w.servedOriginsLocked()
	rec.Running = slices.Collect(maps.Values(w.running))
	w.mu.Unlock()
	slices.SortFunc(rec.Running, func(a, b record.RunningTask) int { return strings.Compare(a.Run+"/"+a.Task, b.Run+"/"+b.Task) })
}

// putRecord stores the record of the worker.
func (w *workerRun) putRecord(ctx context.Context, rec record.Worker) error {
	text, err := json.Marshal(rec)
	if err != nil {
		return err
	}
	return w.cluster.store.PutWorker(ctx, w.Name, text)
}
