package cluster

import (
	"context"
	"slices"

	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

// What runs share on the server, the queue of an API and the text of a configuration, is
// removed with the last run that uses it.

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

// setPace sets how many tasks of the origin of the run may run at the same time: the least
// number that the configurations of its runs allow. If no run of the origin goes on, its
// queue is removed. A run that is submitted meanwhile loses its queue, but no task: the workers
// prepare the queue again.
//
// The server could remove a queue that nobody asks for, but would then also remove those of
// runs that wait for their first worker, with the lease that was submitted.
func (r *Run) setPace(ctx context.Context) error {
	used, err := r.prepareQueue(ctx)
	if err != nil || used {
		return err
	}
	r.cluster.removing()
	return r.cluster.store.RemoveOrigin(ctx, r.record.Origin)
}

// prepareQueue prepares the queue of the origin of the run. It reports false, and does
// nothing, if no run of the origin goes on. A run whose record cannot be read may go on.
func (r *Run) prepareQueue(ctx context.Context) (used bool, err error) {
	runs, unreadable, err := r.cluster.readable(ctx)
	if err != nil {
		return false, err
	}
	least := 0
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
		return len(unreadable) > 0, nil
	}
	return true, r.cluster.store.SetOrigin(ctx, r.record.Origin, least)
}

// dropConfig removes the text of a configuration that no run uses. A run that is submitted at
// the same time stores the text again after its record, so either its record is seen here, or
// the text has another revision, or it is stored after it was removed.
func (c *Cluster) dropConfig(ctx context.Context, hash string) error {
	revision, err := c.store.ConfigRevision(ctx, hash)
	if err != nil || revision == 0 {
		return err
	}
	runs, unreadable, err := c.readable(ctx)
	uses := func(r *Run) bool { return r.record.Config == hash }
	if err != nil || len(unreadable) > 0 || slices.ContainsFunc(runs, uses) {
		return err
	}
	c.removing()
	return c.store.DeleteConfig(ctx, hash, revision)
}

// removing is called before something is removed that no run uses. Tests submit a run then.
func (c *Cluster) removing() {
	if c.options.removing != nil {
		c.options.removing()
	}
}
