package output

import (
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
)

// commitInterval bounds the loss when a run is killed: pages since the last commit are extracted
// again. A commit takes about a millisecond.
const commitInterval = 200 * time.Millisecond

// commits decides when pages are committed to the state, and with which outputs.
type commits struct {
	*run
	records  *records
	contract *comparison

	marksEveryPage bool          // whether a commit needs a checkpoint of every page
	interval       time.Duration // between commits
	last           time.Time
	writers        map[*checkpoint.Output]string // root of the job that last wrote to each output
}

// newCommits returns the commits of a run. live says that items are in a stream, from which they cannot be
// discarded when the run resumes.
func newCommits(r *run, live bool, records *records, contract *comparison) commits {
	c := commits{
		run: r, records: records, contract: contract,
		marksEveryPage: r.options.Order != Sequential && len(r.engine.Info().Roots) > 1,
		interval:       commitInterval, writers: map[*checkpoint.Output]string{},
	}
	if r.options.CommitEveryPage || live {
		c.interval = 0
	}
	return c
}

// begin removes a page that another job has begun, in an output of a page of the given root, and will request again
// when the run resumes. All jobs below one root count as one job.
func (c *commits) begin(root string, targets []*target) error {
	for _, t := range targets {
		if t.file == nil {
			continue
		}
		if err := c.beginOutput(root, t.file.rows); err != nil {
			return err
		}
	}
	if trace := c.records.trace.file; trace != nil {
		return c.beginOutput(root, trace)
	}
	return nil
}

func (c *commits) beginOutput(root string, o *checkpoint.Output) error {
	if before, shared := c.writers[o]; shared && before != root && o.Torn() {
		if err := o.Rollback(); err != nil {
			return err
		}
	}
	c.writers[o] = root
	return nil
}

// save commits the pages of a job to the state if a commit is due.
func (c *commits) save(page *engine.Page) error {
	if !c.hasState() {
		return nil
	}
	due := page.Final || time.Since(c.last) >= c.interval
	if !due && !c.marksEveryPage {
		return nil
	}
	position, err := page.Checkpoint()
	if err != nil || position == nil { // the run cannot resume after a page on which it fails
		return err
	}
	if due {
		c.contract.mark()
	}
	if err := c.store.Mark(page.Root, position, c.writtenBy(page.Root)...); err != nil || !due {
		return err
	}
	if err := c.store.Flush(); err != nil {
		return err
	}
	c.log.Debug("checkpoint saved", "event", "checkpoint", "committed_bytes", c.store.Committed())
	c.last = time.Now()
	return nil
}

// writtenBy returns the outputs last written by a job or one of its descendants, and the recording.
func (c *commits) writtenBy(root string) []*checkpoint.Output {
	var outputs []*checkpoint.Output
	for o, writer := range c.writers {
		if writer == root {
			outputs = append(outputs, o)
		}
	}
	if r := c.records.recording; r != nil {
		outputs = append(outputs, r.rows)
	}
	return outputs
}
