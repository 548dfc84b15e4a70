package output

import (
	"encoding/json"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/rules"
)

// commitInterval bounds the loss when a run is killed: pages since the last commit are extracted
// again. A commit takes about a millisecond.
const commitInterval = 200 * time.Millisecond

// noteInterval bounds the loss when a run fails or is interrupted, and can still commit: pages since the last position
// that was noted are extracted again. To encode a position takes up to a third of a millisecond.
const noteInterval = 10 * time.Millisecond

// commits decides when pages are committed to the state, and with which outputs.
type commits struct {
	*run
	runFiles *runFiles
	contract *comparison

	marksEveryPage bool                          // whether a commit needs a checkpoint of every page
	waits          bool                          // whether a page that may grow is committed with the next one: see [engine.Page.MayGrow]
	interval       time.Duration                 // between commits
	last           time.Time                     // time of the last commit
	writers        map[*checkpoint.Output]string // root of the job that last wrote to each output

	noted    time.Time       // time at which a position was last noted
	position json.RawMessage // the position after the latest page, if it was noted and is not marked
	root     string          // root of the job of that page
	mayGrow  bool            // whether that page may grow
}

// newCommits returns the commits of a run. live says that items are in a stream, from which they cannot be
// discarded when the run resumes.
func newCommits(r *run, live bool, files *runFiles, contract *comparison) commits {
	c := commits{
		run: r, runFiles: files, contract: contract,
		marksEveryPage: r.options.Order != Sequential && len(r.engine.Info().Roots) > 1,
		interval:       commitInterval, writers: map[*checkpoint.Output]string{},
	}
	c.waits = r.options.Order == Sequential && !r.options.Received && !live
	if r.options.CommitEveryPage || live {
		c.interval = 0
	}
	return c
}

// begin prepares the outputs for a page. It commits the pages before one on which a job fails, which the next run requests
// again. It removes a page that another job has begun, in an output of the page, and will request again when the run
// resumes. All jobs below one root count as one job.
func (c *commits) begin(page *engine.Page, targets []*target) error {
	var err error
	switch fails := page.Outcome == rules.Failed && !page.Skipped; {
	case fails:
		err = c.commit()
	case c.mayGrow && page.Root != c.root: // the list failed after the page that may grow, and the next job runs
	case c.mayGrow, !c.positionDue():
		err = c.mark()
	}
	if err != nil {
		return err
	}
	c.position, c.mayGrow = nil, false // the page follows the position
	root := page.Root
	for _, t := range targets {
		if t.file == nil {
			continue
		}
		if err := c.beginOutput(root, t.file.rows); err != nil {
			return err
		}
	}
	if trace := c.runFiles.trace.file; trace != nil {
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

// positionDue reports whether the position after the next page is to be noted.
func (c *commits) positionDue() bool {
	return c.marksEveryPage || c.options.noteEveryPage || time.Since(c.noted) >= noteInterval
}

// save notes the position after a page, and commits it to the state if a commit is due.
func (c *commits) save(page *engine.Page) error {
	due := page.Final || time.Since(c.last) >= c.interval
	if !c.hasState() || !due && !c.positionDue() {
		return nil
	}
	position, err := page.Checkpoint()
	if err != nil || position == nil { // the run cannot resume after a page on which it fails
		return err
	}
	c.position, c.root, c.noted, c.mayGrow = position, page.Root, time.Now(), c.waits && page.MayGrow()
	switch {
	case c.mayGrow:
	case due:
		return c.commit()
	case c.marksEveryPage:
		return c.mark()
	}
	return nil
}

// mark adds the pages up to the noted position to the next commit.
func (c *commits) mark() error {
	if c.position == nil {
		return nil
	}
	position := c.position
	c.position = nil
	return c.store.Mark(c.root, position, c.writtenBy(c.root)...)
}

// commit commits the pages up to the noted position to the state, unless the page there may grow.
func (c *commits) commit() error {
	if c.position == nil || c.mayGrow {
		return nil
	}
	c.contract.mark()
	if err := c.mark(); err != nil {
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
	if r := c.runFiles.recording; r != nil {
		outputs = append(outputs, r.rows)
	}
	return outputs
}
