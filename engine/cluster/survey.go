package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/survey"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

func (c *Cluster) survey() survey.Reader {
	return survey.Reader{Store: c.store, SilentAfter: c.timing.silent}
}

// Status returns how far the run is. It reads no items, and its memory does not depend on the
// number of partitions.
func (r *Run) Status(ctx context.Context) (*status.Run, error) {
	s, err := r.cluster.survey().Status(ctx, &r.record)
	return s, r.unknown(err)
}

// Partitions calls f for each partition of the run that has a page or has ended, in the order of
// their last pages, and for failed tasks that search for values of variables. It returns the
// number of waiting partitions. It remembers a few bytes per partition, so that no partition is
// repeated after a lost connection.
func (r *Run) Partitions(ctx context.Context, f func(status.Partition) error) (waiting int, err error) {
	waiting, err = r.cluster.survey().Partitions(ctx, &r.record, f)
	return waiting, r.unknown(err)
}

// unknown returns the error for a run that was deleted while it was read.
func (r *Run) unknown(err error) error {
	if errors.Is(err, store.ErrDeleted) {
		return noRun(r.ID())
	}
	return err
}

// Overview returns summaries of all runs on the server, latest first.
func (c *Cluster) Overview(ctx context.Context) (*status.Overview, error) {
	runs, unreadable, err := c.readable(ctx)
	if err != nil {
		return nil, err
	}
	out := &status.Overview{Version: status.Version, At: time.Now().UTC(), Runs: []status.Summary{}, Unreadable: unreadable}
	fleet, err := c.survey().Workers(ctx, "", out.At, time.Time{})
	if err != nil {
		return nil, err
	}
	out.Workers = fleet.Workers
	var known map[finishedRun]status.Summary
	if latest := c.counted.Load(); latest != nil {
		known = *latest
	}
	counted := map[finishedRun]status.Summary{}
	for _, r := range runs {
		summary, err := r.summary(ctx, fleet, known, counted)
		if errors.Is(err, store.ErrDeleted) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Runs = append(out.Runs, summary)
	}
	c.counted.Store(&counted)
	return out, nil
}

// A finishedRun identifies the state of a run that is over. Its counts stay valid while nothing is
// stored or submitted.
type finishedRun struct {
	run                          string
	revision, sequence, messages uint64 // revision of the record; last sequence and number of messages of the stream
}

// summary returns a summary of the run. It takes the counts of the partitions from known, or counts
// them if known does not have the run. If the run is over, it adds the counts to counted.
func (r *Run) summary(
	ctx context.Context, fleet *survey.Fleet, known, counted map[finishedRun]status.Summary,
) (out status.Summary, err error) {
	info, err := r.cluster.store.Info(ctx, r.ID())
	if err != nil {
		return out, err
	}
	key := finishedRun{r.ID(), r.revision, info.Sequence, info.Messages}
	counts, ok := known[key]
	if !ok {
		if counts, err = r.cluster.survey().Count(ctx, &r.record, fleet); err != nil {
			return out, err
		}
	}
	if p := counts.Phase; p == status.Complete || p == status.Cancelled && counts.Total.Running == 0 {
		counted[key] = counts
	}
	out = survey.Summary(&r.record, info)
	out.Total, out.Phase, out.Growing, out.FailedSearches = counts.Total, counts.Phase, counts.Growing, counts.FailedSearches
	return out, nil
}

// Ended reports whether nothing more will be stored for the run: all of its partitions have ended,
// with or without failures, or the run is cancelled. It returns the time of the last page or,
// without pages, the time of the submission.
func (r *Run) Ended(ctx context.Context) (ended bool, last time.Time, err error) {
	info, err := r.cluster.store.Info(ctx, r.ID())
	if errors.Is(err, store.ErrDeleted) { // only the record of the run is left
		return true, r.Started(), nil
	}
	if err != nil {
		return false, time.Time{}, err
	}
	last = r.Started()
	if info.Last.After(last) {
		last = info.Last
	}
	if r.Phase() == Cancelled {
		return true, last, nil
	}
	counted, err := r.cluster.survey().Count(ctx, &r.record, &survey.Fleet{})
	return counted.Phase != status.Running, last, err
}
