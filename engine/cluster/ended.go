package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/survey"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

// Ended reports whether nothing more will be stored of the run: all of its partitions have
// ended, failed ones included, or it is cancelled. It returns the time of the last page, or
// that of the submission if there is none.
func (r *Run) Ended(ctx context.Context) (ended bool, last time.Time, err error) {
	info, err := r.cluster.store.Info(ctx, r.ID())
	if errors.Is(err, store.ErrDeleted) { // and only its record is left
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
	counted, err := survey.Count(ctx, r.cluster.store, &r.record, &survey.Fleet{})
	return counted.Phase != status.Running, last, err
}
