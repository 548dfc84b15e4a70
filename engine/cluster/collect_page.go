package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// add processes a stored page and passes it to the sink.
func (c *collection) add(ctx context.Context, entry *store.Entry, e *record.Envelope) error {
	c.arrivals.count.Add(1)
	if latest := c.arrivals.latest.Load(); latest == nil || latest.Sequence < entry.Sequence {
		c.arrivals.latest.Store(&store.Mark{Created: c.created, Sequence: entry.Sequence, Stored: entry.Time})
	}
	trees := c.treesOf(entry.Task)
	switch {
	case entry.Submission != c.run.record.Submission:
		return c.incomplete(ctx, isDeleted)
	case trees == nil:
		return entry.Damaged("it belongs to no job of the run")
	}
	t, final := trees[0], c.count(trees, entry, e)
	if c.whole && e.Root != "" {
		t, final = c.trees[max(0, slices.Index(c.roots, e.Root))], e.Final
	}
	if entry.Sequence <= t.resumed {
		return nil
	}
	e.Root = cmp.Or(e.Root, t.root)
	c.passSkipped(entry, e)
	page := e.Page(entry, final)
	if page == nil {
		return nil
	}
	if err := t.pass(page, func() error {
		return c.sink.Pass(ctx, page, func() (json.RawMessage, error) { return c.checkpoint(t, final) })
	}); err != nil {
		return err
	}
	c.releaser.add(entry)
	return nil
}

// count updates trees with the tasks that a page announces or ends. It reports whether all tasks
// of the last tree have ended and no task has failed.
func (c *collection) count(trees []*rootProgress, entry *store.Entry, e *record.Envelope) (complete bool) {
	for _, t := range trees {
		if entry.Sequence <= t.resumed {
			continue
		}
		t.count(entry, e)
		if entry.State != store.Failed {
			t.tally.Add(&partition.Step{Missing: e.Missing, Ending: e.Ending})
		}
		complete = t.complete()
	}
	return complete
}

// passSkipped passes on the pages on which skipped partitions failed.
func (c *collection) passSkipped(entry *store.Entry, e *record.Envelope) {
	if c.options.Skipped == nil {
		return
	}
	skipped := e.Skipped
	if e.Ending != nil && entry.State == store.Done && e.Ending.Failed != nil {
		skipped = append(skipped, *e.Ending.Failed)
	}
	for _, page := range skipped {
		c.options.Skipped(&engine.Page{Record: page, Root: e.Root})
	}
}

// pass counts a page and passes it to the sink. The checkpoint that the sink sees includes the
// page. A page that the sink rejects is not counted.
func (t *rootProgress) pass(page *engine.Page, sink func() error) error {
	before := t.Passed[page.Job]
	after := counts{before.Pages + 1, before.Items + page.Items.Len(), before.Filtered, before.Bytes + page.Bytes}
	if page.Written != nil {
		after.Filtered += page.Count - *page.Written
	}
	if t.Passed == nil {
		t.Passed = map[string]counts{}
	}
	t.Passed[page.Job] = after
	err := sink()
	if err != nil {
		t.Passed[page.Job] = before
	}
	return err
}

// count updates the position with the tasks that a page announces or ends.
func (t *rootProgress) count(entry *store.Entry, e *record.Envelope) {
	t.Sequence, t.Stored = entry.Sequence, entry.Time
	t.Tasks += len(e.Children)
	for _, child := range e.Children {
		t.addOpen(child.ID)
	}
	if entry.Reopens {
		t.Ended--
		t.Failed--
		t.addOpen(entry.Task)
	}
	if entry.Ends() {
		t.Ended++
		t.removeOpen(entry.Task)
	}
	if entry.State == store.Failed {
		t.Failed++
	}
}

// collectStored passes the pages in the order in which they were stored.
func (c *collection) collectStored(ctx context.Context) error {
	from := c.readAfter()
	last, err := c.lastStored(ctx)
	if err != nil {
		return err
	}
	switch {
	case from >= last && c.allEnded():
		return nil
	case from == last && c.options.NoWait:
		return c.incomplete(ctx, c.reason())
	}
	watched, stop := c.watched(ctx)
	defer stop()
	hadEnded := c.allEnded() // failed tasks may go on
	err = c.store.Read(watched, c.run.ID(), from, c.latest(), func(entry *store.Entry) error {
		if err := c.addRead(ctx, entry); err != nil {
			return err
		}
		caughtUp := entry.Sequence >= last
		if c.allEnded() && (caughtUp || !hadEnded) || caughtUp && c.options.NoWait || c.isFinal(entry.Sequence) {
			return errEnd
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnd) && c.allEnded():
		return nil
	case errors.Is(err, errEnd):
		return c.incomplete(ctx, c.reason())
	}
	return c.errorOf(ctx, watched, err)
}

// readAfter returns the sequence after which reading starts: that of the last page that all trees have processed.
func (c *collection) readAfter() uint64 {
	from := c.trees[0].Sequence
	for _, t := range c.trees {
		t.resumed = t.Sequence
		from = min(from, t.Sequence)
	}
	if latest := c.arrivals.latest.Load(); latest != nil {
		from = max(from, latest.Sequence)
	}
	c.read.Store(from)
	return from
}

// latest returns the page with the highest sequence that this collection or the one that it continues has
// received. A server that still has it has lost no page that was collected.
func (c *collection) latest() store.Mark {
	if latest := c.arrivals.latest.Load(); latest != nil && latest.Sequence > c.continued.Sequence {
		return *latest
	}
	return c.continued
}

// addRead processes a page that was read.
func (c *collection) addRead(ctx context.Context, entry *store.Entry) error {
	e, err := record.ReadEnvelope(entry)
	if err != nil {
		return err
	}
	if err := c.add(ctx, entry, e); err != nil {
		return err
	}
	c.reportProgress()
	c.read.Store(entry.Sequence)
	return nil
}

// errEnd stops the reading of pages.
var errEnd = errors.New("the end")

// lastStored returns the sequence of the last stored page.
func (c *collection) lastStored(ctx context.Context) (uint64, error) {
	info, err := c.store.Info(ctx, c.run.ID())
	return info.Sequence, err
}
