package cluster

import (
	"context"
	"errors"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
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
	if r.text == nil { // it comes from a list
		if r.text, err = r.cluster.store.Config(ctx, r.record.Config); err != nil {
			return false, last, err
		}
	}
	e, err := r.load(withoutSecrets...)
	if err != nil {
		return false, last, err
	}
	open := 0
	err = r.cluster.store.ScanHeads(ctx, r.ID(), func() { open = len(e.RootTasks()) }, func(h store.Heading) error {
		open += h.Children
		if h.Ends() {
			open--
		}
		return nil
	})
	return open <= 0, last, err
}
