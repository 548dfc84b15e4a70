package survey

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// The pages that the tests count were stored at this time, with this sequence.
var (
	stored   = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	storedAt = uint64(7)
)

// heading returns the heading of a task of the run that the tests count.
func heading(job, task string, head store.Head) store.StoredHead {
	return store.StoredHead{Key: store.Key{Run: "r", Submission: "s", Job: job, Task: task}, Head: head, Time: stored, Sequence: storedAt}
}

// Orders are one list. Lines are for the orders, and parts for each line in a window that is
// searched for.
func TestTasksAreCountedByTheirLastPages(t *testing.T) {
	orders := heading("orders", "0", store.Head{State: store.Done, Outcome: "complete", Reason: "offset.short",
		Page: 2, Totals: store.Totals{Pages: 2, Items: 4, Children: 4, Partitions: map[string]int{"lines": 4}}})
	line := func(task string, state store.State) store.StoredHead {
		h := heading("lines", task, store.Head{State: state, Page: 1, Totals: store.Totals{Pages: 1, Items: 3}})
		if state == store.Done {
			h.Outcome, h.Reason = "complete", "end"
		}
		return h
	}
	suspect, skipped := line("0-2", store.Done), line("0-2", store.Done)
	suspect.Findings = 1
	skipped.Outcome, skipped.Reason = store.Skipped, "api"
	split := heading("lines", "0-1", store.Head{State: store.Done, Kind: store.Splits, Page: 1,
		Totals: store.Totals{Children: 2, Partitions: map[string]int{"lines": 2}}})
	search := heading("orders", "0-s", store.Head{State: store.More, Kind: store.Searches, Totals: store.Totals{Searches: map[string]int{"lines": 1}}})
	retried := line("0-2", store.Failed)
	for name, test := range map[string]struct {
		found   []store.StoredHead
		running map[string]uint64 // tasks that a worker has, and the failures that it retries
		want    status.Counts     // of lines
		growing bool
		phase   status.Phase
	}{
		"no partition has a page": {
			want: status.Counts{Partitions: 4, Waiting: 4}, phase: status.Running},
		"a worker has one of them without a page": {
			running: map[string]uint64{"0-1": 0},
			want:    status.Counts{Partitions: 4, Running: 1, Waiting: 3}, phase: status.Running},
		"a worker has one with a page": {
			found: []store.StoredHead{line("0-1", store.More)}, running: map[string]uint64{"0-1": 0},
			want: status.Counts{Partitions: 4, Running: 1, Waiting: 3, Pages: 1, Items: 3}, phase: status.Running},
		"all have ended": {
			found: []store.StoredHead{line("0-1", store.Done), suspect, line("0-3", store.Done), line("0-4", store.Done)},
			want:  status.Counts{Partitions: 4, Done: 4, Pages: 4, Items: 12, Suspect: 1, Findings: 1}, phase: status.Complete},
		"one was skipped": {
			found: []store.StoredHead{line("0-1", store.Done), skipped, line("0-3", store.Done), line("0-4", store.Done)},
			want:  status.Counts{Partitions: 4, Done: 4, Skipped: 1, Pages: 4, Items: 12}, phase: status.Complete},
		"one has failed": {
			found: []store.StoredHead{line("0-1", store.Done), line("0-5", store.Failed), line("0-3", store.Done), line("0-4", store.Done)},
			want:  status.Counts{Partitions: 4, Done: 3, Failed: 1, Pages: 4, Items: 12}, phase: status.Failed},
		"one has failed, and is queued again": {
			found: []store.StoredHead{line("0-1", store.Done), retried, line("0-3", store.Done), line("0-4", store.Done)},
			want:  status.Counts{Partitions: 4, Done: 3, Waiting: 1, Pages: 4, Items: 12}, phase: status.Running},
		"one has failed, and a worker tries it again": {
			found:   []store.StoredHead{line("0-1", store.Done), line("0-5", store.Failed), line("0-3", store.Done), line("0-4", store.Done)},
			running: map[string]uint64{"0-5": storedAt},
			want:    status.Counts{Partitions: 4, Done: 3, Running: 1, Pages: 4, Items: 12}, phase: status.Running},
		"one has failed, and a worker was given another copy of it": {
			found:   []store.StoredHead{line("0-1", store.Done), line("0-5", store.Failed), line("0-3", store.Done), line("0-4", store.Done)},
			running: map[string]uint64{"0-5": 0},
			want:    status.Counts{Partitions: 4, Done: 3, Failed: 1, Pages: 4, Items: 12}, phase: status.Failed},
		"one has failed again, and the worker has not said yet that it no longer tries": {
			found:   []store.StoredHead{line("0-1", store.Done), line("0-5", store.Failed), line("0-3", store.Done), line("0-4", store.Done)},
			running: map[string]uint64{"0-5": storedAt - 1},
			want:    status.Counts{Partitions: 4, Done: 3, Failed: 1, Pages: 4, Items: 12}, phase: status.Failed},
		"a window was split in two": {
			found: []store.StoredHead{split},
			want:  status.Counts{Partitions: 5, Waiting: 5}, phase: status.Running},
		"a search has not ended": {
			found: []store.StoredHead{search},
			want:  status.Counts{Partitions: 4, Waiting: 4}, growing: true, phase: status.Running},
	} {
		t.Run(name, func(t *testing.T) {
			run := &record.Run{Run: "r", Submission: "s", Phase: status.Running,
				Outlines: []partition.Outline{{Job: "orders"}, {Job: "lines", Parent: "orders", Variables: 1}}}
			fleet := &Fleet{tasks: map[submission]map[store.Key]workerTask{{"r", "s"}: {}}}
			for task, retryOf := range test.running {
				fleet.tasks[submission{"r", "s"}][heading("lines", task, store.Head{}).Key] = workerTask{record.RunningTask{RetryOf: retryOf}, "w"}
			}
			s := &survey{run: run, fleet: fleet}
			s.reset()
			s.add(orders)
			for _, h := range test.found {
				s.add(h)
			}
			s.addFailures(map[store.Key]bool{retried.Key: true})
			jobs := s.list()
			require.Equal(t, status.Counts{Partitions: 1, Done: 1, Pages: 2, Items: 4}, jobs[0].Counts)
			require.Equal(t, test.want, jobs[1].Counts)
			require.Equal(t, test.growing, jobs[1].Growing)
			require.Equal(t, test.phase, s.phase())
		})
	}
}
