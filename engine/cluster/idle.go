package cluster

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules/value"
)

// idleAfter is how long nothing arrives before a collection looks why.
const idleAfter = 10 * time.Second

// tellWhyIdle says why no page arrives, as far as the server knows: each reason once, until
// pages arrive again.
func (c *collection) tellWhyIdle(ctx context.Context) {
	seen, said := c.received.Load(), ""
	for tick := time.NewTicker(cmp.Or(c.run.cluster.options.idle, idleAfter)); ; {
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
		why := c.run.idle(ctx, c.releaser != nil)
		if why != "" && why != said && ctx.Err() == nil {
			c.run.cluster.log.Warn(fmt.Sprintf("run %s: no page arrives: %s", c.run.ID(), why), "event", "collect_idle", "run", c.run.ID())
		}
		said = why
	}
}

// idle returns why the tasks of the run do not go on; empty: no reason is known. releases
// says whether the collection releases pages.
func (r *Run) idle(ctx context.Context, releases bool) string {
	workers, err := r.cluster.store.Workers(ctx)
	if err != nil {
		return "" // the error is that of the collection, too
	}
	if len(workers) == 0 {
		return "no worker is there; start one with " + r.WorkerCommand()
	}
	info, err := r.cluster.store.Info(ctx, r.ID())
	if err == nil && info.IsFull() {
		return whyFull(info, releases)
	}
	load, err := r.cluster.store.Queued(ctx, r.record.Origin)
	if err == nil && load.Waiting+load.Running == 0 {
		return "no task is queued, so the queue was lost; submit the run again, with its id"
	}
	for _, one := range workers {
		var w record.Worker
		if record.Decode(one.Value, &w) == nil && w.Problems[r.ID()] != "" {
			return fmt.Sprintf("worker %s says: %s", one.Name, w.Problems[r.ID()])
		}
	}
	return ""
}

// whyFull says why the pages of a run take all that they may, and what to do about it.
func whyFull(info store.Info, releases bool) string {
	text := fmt.Sprintf("workers wait, since its pages take %s of the %s that they may take on the server",
		value.Size(int(info.Bytes)), value.Size(int(info.MaxBytes)))
	if !releases {
		return text + "; submit it again with a larger --max-bytes, or collect it with --release"
	}
	return text + ", and those that are left cannot be released (the last page of each partition, " +
		"and pages for whose items there are partitions); submit it again with a larger --max-bytes"
}
