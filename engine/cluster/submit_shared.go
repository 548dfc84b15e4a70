package cluster

import (
	"context"
	"slices"

	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

// Runs returns the runs on the server, latest first. A run whose record cannot be read is left out
// and logged.
func (c *Cluster) Runs(ctx context.Context) ([]*Run, error) {
	runs, unreadable, err := c.readable(ctx)
	for _, run := range unreadable {
		c.log.Warn(run.Problem, "event", "run_unreadable", "run", run.Run)
	}
	return runs, err
}

// readable returns the runs on the server, latest first, and the runs whose records cannot be read
// because they are damaged or from another version of the program.
func (c *Cluster) readable(ctx context.Context) (runs []*Run, unreadable []status.Unreadable, err error) {
	stored, err := c.store.Runs(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, run := range stored {
		r, err := c.readRecord(run)
		if err != nil {
			unreadable = append(unreadable, status.Unreadable{Run: run.Name, Problem: err.Error()})
			continue
		}
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b *Run) int { return b.record.Started.Compare(a.record.Started) })
	return runs, unreadable, nil
}

// prepareQueue prepares the queue of the run, unless the run has ended, and the slots of its origin:
// their number is the lowest limit among the configurations of the active runs.
func (r *Run) prepareQueue(ctx context.Context) error {
	runs, _, err := r.cluster.readable(ctx)
	if err != nil {
		return err
	}
	q := r.record.Queue()
	for _, run := range append(runs, r) {
		if run.record.Origin == r.record.Origin && run.Phase() == Running {
			q.Slots = least(q.Slots, run.record.Parallel)
		}
	}
	if r.Phase() == Running {
		err = r.cluster.store.SetQueue(ctx, q)
	}
	if err == nil && q.Slots > 0 {
		err = r.cluster.store.SetSlots(ctx, q)
	}
	return err
}

// least returns the lower one of two limits, where 0 means no limit.
func least(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
