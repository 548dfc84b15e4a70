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
	for _, one := range unreadable {
		c.log.Warn(one.Problem, "event", "run_unreadable", "run", one.Run)
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
	for _, one := range stored {
		r, err := c.readRecord(one)
		if err != nil {
			unreadable = append(unreadable, status.Unreadable{Run: one.Name, Problem: err.Error()})
			continue
		}
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b *Run) int { return b.record.Started.Compare(a.record.Started) })
	return runs, unreadable, nil
}

// prepareQueue prepares the queue of the origin of the run. The queue limits the number of
// concurrent tasks to the lowest limit among the configurations of its runs. prepareQueue does
// nothing if the origin has no active runs, because the server removes a queue that no worker
// uses. Workers create a missing queue.
func (r *Run) prepareQueue(ctx context.Context) error {
	runs, _, err := r.cluster.readable(ctx)
	if err != nil {
		return err
	}
	used, least := false, 0
	for _, one := range append(runs, r) {
		if one.record.Origin != r.record.Origin || one.Phase() != Running {
			continue
		}
		used = true
		if n := one.record.Parallel; n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	if !used {
		return nil
	}
	return r.cluster.store.SetOrigin(ctx, r.record.Origin, least)
}
