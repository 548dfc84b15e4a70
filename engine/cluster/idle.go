package cluster

import (
	"context"
	"fmt"
	"time"
)

// idleAfter is how long nothing arrives before a collection looks why.
const idleAfter = 10 * time.Second

// tellWhyIdle says why no page arrives, as far as the server knows: each reason once, until
// pages arrive again.
func (c *collection) tellWhyIdle(ctx context.Context) {
	seen, said := c.received.Load(), ""
	for tick := time.NewTicker(idleAfter); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		if now := c.received.Load(); now != seen {
			seen, said = now, ""
			continue
		}
		why := c.run.idle(ctx)
		if why != "" && why != said && ctx.Err() == nil {
			c.run.cluster.log.Warn(fmt.Sprintf("run %s: no page arrives: %s", c.run.ID(), why), "event", "collect_idle", "run", c.run.ID())
		}
		said = why
	}
}

// idle returns why the tasks of the run do not go on; empty: no reason is known.
func (r *Run) idle(ctx context.Context) string {
	workers, err := r.cluster.store.Workers(ctx)
	if err != nil {
		return "" // the error is that of the collection, too
	}
	if len(workers) == 0 {
		return "no worker is there; start one with stopwhen worker"
	}
	info, err := r.cluster.store.Info(ctx, r.ID())
	if err == nil && info.MaxBytes > 0 && info.Bytes > uint64(info.MaxBytes)/10*9 {
		return "its pages fill what it may have on the server; submit it again with a larger --max-bytes"
	}
	load, err := r.cluster.store.Queued(ctx, r.record.Origin)
	if err == nil && load.Waiting+load.Running == 0 {
		return "no task is queued, so the queue was lost; submit the run again, with its id"
	}
	for _, one := range workers {
		var w workerRecord
		if decode(one.Value, &w) == nil && w.Problems[r.ID()] != "" {
			return fmt.Sprintf("worker %s says: %s", one.Name, w.Problems[r.ID()])
		}
	}
	return ""
}
