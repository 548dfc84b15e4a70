package cluster

import (
	"context"
	"errors"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
)

// stored passes the pages in the order in which they were stored.
func (c *collection) stored(ctx context.Context) error {
	from := c.begin()
	limit, err := c.limit(ctx)
	if err != nil {
		return err
	}
	switch {
	case from >= limit && c.allEnded():
		return nil
	case from >= limit && c.options.NoWait:
		return c.incomplete(ctx, c.reason())
	}
	watched, stop := c.watched(ctx)
	defer stop()
	ended := c.allEnded() // and what has failed may go on
	err = c.run.cluster.store.Read(watched, c.run.ID(), from, func(entry *store.Entry) error {
		if err := c.take(ctx, entry); err != nil {
			return err
		}
		caughtUp := entry.Sequence >= limit
		if c.allEnded() && (caughtUp || !ended) || caughtUp && c.options.NoWait || c.isFinal(entry.Sequence) {
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
	return c.why(ctx, watched, err)
}

// begin returns the sequence of the page after which reading begins: the last one up to
// which all trees have their pages.
func (c *collection) begin() uint64 {
	from := c.trees[0].Sequence
	for _, t := range c.trees {
		from, t.resumed = min(from, t.Sequence), t.Sequence
	}
	from = max(from, c.read.Load())
	c.read.Store(from)
	return from
}

// take takes up a page that was read.
func (c *collection) take(ctx context.Context, entry *store.Entry) error {
	e, err := record.ReadEnvelope(entry)
	if err != nil {
		return damaged(entry, err.Error())
	}
	if err := c.add(ctx, entry, e); err != nil {
		return err
	}
	c.tell()
	c.read.Store(entry.Sequence)
	return nil
}

// errEnd ends the reading of pages.
var errEnd = errors.New("the end")

// limit returns the sequence of the last page that is stored.
func (c *collection) limit(ctx context.Context) (uint64, error) {
	info, err := c.run.cluster.store.Info(ctx, c.run.ID())
	return info.Sequence, err
}
