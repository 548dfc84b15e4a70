package survey

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

// Limits of the lists of a status.
const (
	maxFailed   = 100
	maxLooked   = 1000 // number of failures for which the status checks whether they are queued again
	maxRunning  = 20
	maxFindings = 100 // number of partitions with findings
	maxWorkers  = 100
)

// A Reader reads the runs of a store.
type Reader struct {
	Store       *store.Store
	SilentAfter time.Duration // time without a report after which a worker counts as silent
}

// Status returns how far a run is.
func (r Reader) Status(ctx context.Context, run *record.Run) (*status.Run, error) {
	info, err := r.Store.Info(ctx, run.Run)
	if err != nil {
		return nil, err
	}
	fleet, err := r.Workers(ctx, run.Run, info.Now, run.Started)
	if err != nil {
		return nil, err
	}
	s, err := r.take(ctx, run, fleet)
	if err != nil {
		return nil, err
	}
	out := &status.Run{Version: status.Version, At: info.Now.UTC(), Summary: Summary(run, info), Running: s.latest(), Workers: fleet.Workers}
	for _, add := range []func(context.Context, *status.Run) error{
		s.addJobs, s.addFailed, s.addFindings,
		func(ctx context.Context, out *status.Run) error { return s.addRates(ctx, out, info) },
		func(ctx context.Context, out *status.Run) error { return s.addWarnings(ctx, out, info) },
	} {
		if err := add(ctx, out); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Summary returns the known facts about a run without counting its partitions.
func Summary(run *record.Run, info store.Info) status.Summary {
	s := status.Summary{Run: run.Run, Phase: run.Phase, Config: run.Name, Program: run.Program, Address: run.Address,
		Started: run.Started, Stored: status.Stored{Bytes: int64(info.Bytes), Limit: info.MaxBytes, Replicas: info.Replicas}}
	if info.Sequence > 0 {
		last := info.Last.UTC()
		s.Last = &last
	}
	return s
}

// Count counts all partitions of a run and determines its phase. The rest of the summary is empty.
func (r Reader) Count(ctx context.Context, run *record.Run, fleet *Fleet) (status.Summary, error) {
	s, err := r.take(ctx, run, fleet)
	if err != nil {
		return status.Summary{}, err
	}
	var out status.Run
	err = s.addJobs(ctx, &out)
	return out.Summary, err
}

// Failures returns the number of failed tasks of a run that are not queued again.
func (r Reader) Failures(ctx context.Context, run *record.Run) (int, error) {
	s, err := r.take(ctx, run, &Fleet{})
	if err != nil {
		return 0, err
	}
	return total(s.list()).Failed + s.failedSearches, nil
}

// addJobs adds the counted jobs. If one task has run all jobs, the counts come from its results.
func (s *survey) addJobs(ctx context.Context, out *status.Run) error {
	out.Jobs, out.Phase, out.FailedSearches = s.list(), s.phase(), s.failedSearches
	if s.all != nil {
		e, err := s.last(ctx, s.all.Key)
		if err != nil {
			return err
		}
		if e != nil && e.Ending != nil && len(e.Ending.Results) > 0 {
			out.Jobs = nil
			for _, ended := range e.Ending.Results {
				out.Jobs = append(out.Jobs, ofResult(ended.Result))
			}
		}
	}
	out.Total = total(out.Jobs)
	out.Growing = slices.ContainsFunc(out.Jobs, func(j status.Job) bool { return j.Growing })
	return nil
}

// Partitions calls f for each partition of a run that has a page or has ended, in the order of
// their last pages, and for failed tasks that search for values of variables. It returns the
// number of waiting partitions. It remembers a few bytes per partition, so that no partition is
// repeated after a lost connection.
func (r Reader) Partitions(ctx context.Context, run *record.Run, f func(status.Partition) error) (waiting int, err error) {
	info, err := r.Store.Info(ctx, run.Run)
	if err != nil {
		return 0, err
	}
	fleet, err := r.Workers(ctx, run.Run, info.Now, run.Started)
	if err != nil {
		return 0, err
	}
	s := &survey{store: r.Store, run: run, fleet: fleet}
	seen, seed := map[uint64]bool{}, maphash.MakeSeed()
	err = r.Store.Heads(ctx, run.Run, s.reset, func(h store.StoredHead) error {
		s.add(h)
		id := maphash.Comparable(seed, h.Key)
		if h.Kind == store.Splits || h.Kind == store.Searches && h.State != store.Failed || seen[id] {
			return nil
		}
		seen[id] = true
		p, err := s.explained(ctx, h)
		if err != nil {
			return err
		}
		if p.State == status.StateFailed {
			if p.Queued, err = s.isRetried(ctx, h); err != nil {
				return err
			}
			if p.Queued {
				p.State = status.StateWaiting
			}
		}
		return f(p)
	})
	s.addFailures(nil)
	return max(0, total(s.list()).Partitions-s.listed), err
}
