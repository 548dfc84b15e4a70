package cluster

import (
	"context"
	"fmt"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A reason says why a run is incomplete.
type reason struct{ text, hint string }

var (
	runGoesOn   = reason{"the run goes on", "collect it again when it is complete"}
	isCancelled = reason{"it is cancelled", "submit it again to continue it"}
	isDeleted   = reason{"it was deleted from the server", "submit it again, and collect the new run from the beginning"}
)

// reason returns why a collection with NoWait ends.
func (c *collection) reason() reason {
	if c.cancelled() || c.options.NoWait && c.run.Phase() == Cancelled {
		return isCancelled
	}
	return runGoesOn
}

// incomplete returns the error of a collection that ends before its run is complete.
func (c *collection) incomplete(ctx context.Context, why reason) error {
	if why != isDeleted {
		if err := c.countWaiting(ctx); err != nil {
			return err
		}
	}
	p := c.progress()
	message := fmt.Sprintf("run %s is incomplete: %s; %d of %s ended", c.run.ID(), why.text, p.Ended, wording.Counted(p.Tasks, "task"))
	if p.Waiting > 0 {
		message += fmt.Sprintf("; %s stored after the first gap are not written, since the collection is sorted",
			wording.Counted(p.Waiting, "page"))
	}
	return &engine.Error{Class: failure.Transient, Op: "collect", Message: message, Hint: why.hint}
}

// countWaiting counts the stored pages that a sorted collection has not passed on.
func (c *collection) countWaiting(ctx context.Context) error {
	if !c.options.Sorted {
		return nil
	}
	stored := 0
	err := c.store.Heads(ctx, c.run.ID(), func() { stored = 0 }, func(h store.StoredHead) error {
		stored += h.Pages
		return nil
	})
	for _, t := range c.trees {
		for _, passed := range t.Passed {
			stored -= passed.Pages
		}
	}
	c.waiting = max(0, stored)
	return err
}

func (c *collection) reportProgress() {
	if c.options.Progress != nil {
		c.options.Progress(c.progress())
	}
}

// progress returns the total progress of all trees. If one task runs all trees, each has the total.
func (c *collection) progress() (p Progress) {
	for _, t := range c.trees {
		p.Tasks, p.Ended, p.Failed = p.Tasks+t.Tasks, p.Ended+t.Ended, p.Failed+t.Failed
		if c.whole {
			break
		}
	}
	p.Failed, p.Waiting = max(p.Failed, c.failed), c.waiting
	return p
}

// result returns the results of all jobs. The results of an incomplete tree count everything that
// the sink has received, including partitions that have not ended.
func (c *collection) result(err error) (*engine.Result, error) {
	var jobs []engine.JobResult
	for _, t := range c.trees {
		if t.complete() {
			t.tally.LogStops()
			jobs = append(jobs, t.tally.Conclude(nil)...)
			continue
		}
		results := t.tally.Conclude(err)
		for i := range results {
			t.addPassed(&results[i])
		}
		jobs = append(jobs, results...)
	}
	result := engine.NewResult(jobs)
	if refused := result.Err(); err == nil {
		err = refused
	}
	return result, err
}

// addPassed sets how much of an incomplete job the sink has received.
func (t *rootProgress) addPassed(job *engine.JobResult) {
	passed := t.Passed[job.Job]
	if job.Pages == 0 && passed.Pages > 0 && job.Error == nil {
		job.Message = "the collection ended before the end of the list"
	}
	job.Pages, job.Items, job.Filtered, job.Bytes = passed.Pages, passed.Items, passed.Filtered, passed.Bytes
}
