package cluster

import (
	"context"
	"slices"

	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

// Runs returns the runs on the server, the latest first. A run whose record cannot be read
// is left out, and the log names it.
func (c *Cluster) Runs(ctx context.Context) ([]*Run, error) {
	runs, unreadable, err := c.readable(ctx)
	for _, one := range unreadable {
		c.log.Warn(one.Problem, "event", "run_unreadable", "run", one.Run)
	}
	return runs, err
}

// readable returns the runs on the server, the latest first, and those whose records cannot
// be read: another version of the program has submitted them, or they are damaged.
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

// prepareQueue prepares the queue of the origin of the run, which lets the least number of tasks
// run at the same time that the configurations of its runs allow. It does nothing if no run of
// the origin goes on: the server removes a queue that no worker asks for. Workers prepare one
// that is missing.
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
