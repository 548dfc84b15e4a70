package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// add takes up a page that is stored, and passes it to the sink.
func (c *collection) add(ctx context.Context, entry *store.Entry, e *record.Envelope) error {
	c.received.Add(1)
	trees := c.treesOf(entry.Task)
	switch {
	case entry.Submission != c.run.record.Submission:
		return c.incomplete(ctx, isDeleted)
	case trees == nil:
		return damaged(entry, "it belongs to no job of the run")
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
	page := e.Page(entry, final, func() (json.RawMessage, error) { return c.token(t, final) })
	if page == nil {
		return nil
	}
	if err := t.pass(page, func() error { return c.sink(ctx, page) }); err != nil {
		return err
	}
	c.releaser.add(entry)
	return nil
}

// count takes up what a page says about the tasks of trees. It reports whether all tasks of
// the last one have ended, and none of them has failed.
func (c *collection) count(trees []*tree, entry *store.Entry, e *record.Envelope) (complete bool) {
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

// passSkipped passes on the pages on which partitions failed that were skipped.
func (c *collection) passSkipped(entry *store.Entry, e *record.Envelope) {
	if c.options.Skipped == nil {
		return
	}
	skipped := e.Skipped
	if e.Ending != nil && entry.State == store.Done && e.Ending.Failed != nil {
		skipped = append(skipped, *e.Ending.Failed)
	}
	for _, page := range skipped {
		c.options.Skipped(runtime.StoredPage(page, e.Root, engine.Items{}, nil, false, nil))
	}
}

// pass counts a page while it is passed to the sink, whose checkpoint has the counts. A page
// that the sink does not accept is not counted.
func (t *tree) pass(page *engine.Page, sink func() error) error {
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

// count takes up what a page says about tasks.
func (t *tree) count(entry *store.Entry, e *record.Envelope) {
	t.Sequence = entry.Sequence
	t.Tasks += len(e.Children)
	if entry.Reopens {
		t.Ended--
		t.Failed--
	}
	if entry.Ends() {
		t.Ended++
	}
	if entry.State == store.Failed {
		t.Failed++
	}
}

func damaged(entry *store.Entry, what string) error {
	return &engine.Error{Class: failure.State, Op: "collect", Message: fmt.Sprintf("page %d of the run is damaged: %s", entry.Sequence, what)}
}
