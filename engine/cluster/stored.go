package cluster

import (
	"context"
	"errors"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
)

// stored passes the pages in the order in which they were stored.
func (c *collection) stored(ctx context.Context) error {
	from, ended := c.trees[0].Sequence, c.allEnded() // and what has failed may go on
	for _, t := range c.trees {
		from, t.resumed = min(from, t.Sequence), t.Sequence
	}
	from = max(from, c.read.Load())
	c.read.Store(from)
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
	err = c.run.cluster.store.Read(watched, c.run.ID(), from, func(entry *store.Entry) error {
		e, err := decodeEnvelope(entry)
		if err != nil {
			return damaged(entry, err.Error())
		}
		if err := c.add(ctx, entry, e); err != nil {
			return err
		}
		c.tell()
		c.read.Store(entry.Sequence)
		switch {
		case c.allEnded() && (!ended || entry.Sequence >= limit):
			return errEnd
		case c.options.NoWait && entry.Sequence >= limit, c.close.after(entry.Sequence):
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

// errEnd ends the reading of pages.
var errEnd = errors.New("the end")

// limit returns the sequence of the last page that is stored.
func (c *collection) limit(ctx context.Context) (uint64, error) {
	info, err := c.run.cluster.store.Info(ctx, c.run.ID())
	return info.Sequence, err
}
