package cluster

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

// failures returns how many tasks have failed.
func (s *survey) failures() int { return s.total(s.jobList()).Failed + s.failedSearches }

// explained returns the partitions that have failed, with their errors.
func (s *survey) explained(ctx context.Context) ([]status.Partition, error) {
	list := make([]status.Partition, min(len(s.failed), maxFailed))
	for i, h := range s.failed[:len(list)] {
		list[i] = s.partition(h)
		if err := s.explain(ctx, &list[i], h.Key); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// takeRetried finds out which of the tasks that have failed are queued again: they wait, and
// have not failed any more.
func (s *survey) takeRetried(ctx context.Context) error {
	if len(s.failed) == 0 {
		return nil
	}
	load, err := s.run.cluster.store.Queued(ctx, s.run.record.Origin)
	if err != nil || load.Waiting+load.Running == 0 {
		return err
	}
	retried, err := s.retried(ctx, s.failed)
	if err != nil {
		return err
	}
	rest := s.failed[:0]
	for i, h := range s.failed {
		switch j := s.job(h.Job); {
		case !retried[i]:
			rest = append(rest, h)
		case h.Kind == store.Searches:
			s.failedSearches--
			j.searchesEnded--
		default:
			j.counts.Failed--
		}
	}
	s.failed = rest
	return nil
}

// retriedAtOnce is how many tasks are looked up in the queue at the same time.
const retriedAtOnce = 16

// retried says of each of some tasks that have failed whether it is queued again.
func (s *survey) retried(ctx context.Context, failed []store.Heading) ([]bool, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	found := make([]bool, len(failed))
	free := make(chan struct{}, retriedAtOnce)
	var all sync.WaitGroup
	for i, h := range failed {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			var err error
			if found[i], err = s.isRetried(ctx, h); err != nil {
				stop(err)
			}
		})
	}
	all.Wait()
	return found, context.Cause(ctx)
}

// isRetried reports whether a task that has failed is queued again.
func (s *survey) isRetried(ctx context.Context, h store.Heading) (bool, error) {
	return s.run.cluster.store.IsRetried(ctx, s.run.record.Origin, h.Key, h.Sequence)
}

// allFindings returns the findings, which only the envelopes of some pages have.
func (s *survey) allFindings(ctx context.Context) ([]status.Finding, error) {
	list := []status.Finding{}
	for _, h := range s.suspect {
		found, err := s.findings(ctx, h)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			list = addFinding(list, f)
		}
	}
	return list, nil
}

// jobsOf returns the jobs: those that were counted or, if one task has run all of them, those
// of its results.
func (s *survey) jobsOf(ctx context.Context) ([]status.Job, error) {
	if s.all == nil {
		return s.jobList(), nil
	}
	ending, err := s.ending(ctx, s.all.Key)
	if err != nil {
		return nil, err
	}
	if ending == nil || len(ending.Results) == 0 {
		return s.jobList(), nil
	}
	var jobs []status.Job
	for _, r := range ending.Results {
		jobs = append(jobs, ofResult(r.Result))
	}
	return jobs, nil
}

// releasable reports whether the run has pages on the server that a collection could
// release: more than the last one of each task, and those of tasks that have announced others.
func (s *survey) releasable(info store.Info) bool {
	if r := s.run.record; r.Whole && len(r.Outlines) > 1 {
		return false // see checkRelease
	}
	return info.Messages > uint64(s.remaining)
}

// addFinding adds a finding about one partition to those about others.
func addFinding(list []status.Finding, f status.Finding) []status.Finding {
	for i := range list {
		if list[i].Job == f.Job && list[i].ID == f.ID {
			list[i].Partitions++
			return list
		}
	}
	return append(list, f)
}

// findings returns what the last page of a task says about findings.
func (s *survey) findings(ctx context.Context, h store.Heading) ([]status.Finding, error) {
	last, err := s.run.cluster.store.Last(ctx, h.Key)
	if err != nil || last == nil {
		return nil, err
	}
	e, err := decodeEnvelope(last)
	if err != nil {
		return nil, damaged(last, err.Error())
	}
	var list []status.Finding
	add := func(job, partition string, found []engine.Finding) {
		for _, f := range found {
			list = append(list, status.Finding{Job: job, ID: f.ID, Partitions: 1, Partition: partition, Message: f.Message})
		}
	}
	switch {
	case e.Ending != nil:
		for _, r := range e.Ending.Results {
			add(r.Job, h.Label, r.Findings)
		}
	case e.Record != nil:
		add(h.Job, h.Label, e.Record.Findings)
	}
	return list, nil
}

// ofResult returns what the result of a job says, of a run in which one task runs all jobs.
func ofResult(r engine.JobResult) status.Job {
	j := status.Job{Job: r.Job, Counts: status.Counts{Partitions: 1, Done: 1}}
	j.Counts.Pages, j.Counts.Items, j.Counts.Bytes, j.Counts.Findings = r.Pages, r.Items, int64(r.Bytes), len(r.Findings)
	if len(r.Findings) > 0 {
		j.Counts.Suspect = 1
	}
	if p := r.Partitions; p != nil {
		j.Counts.Partitions, j.Counts.Done, j.Counts.Skipped, j.Counts.Suspect = p.Count, p.Count-p.Failed, p.Skipped, p.Suspect
		j.Counts.Failed = p.Failed
	}
	j.Ends = []status.End{{Outcome: string(r.Outcome), Reason: r.Reason, Partitions: j.Counts.Partitions, Suspect: j.Counts.Suspect}}
	return j
}

// isGrowing reports whether more partitions may be found.
func isGrowing(jobs []status.Job) bool {
	return slices.ContainsFunc(jobs, func(j status.Job) bool { return j.Growing })
}

// How the rate of the last time is measured.
const (
	recentTime  = time.Minute
	recentPages = 5000 // with more in that time, the time is shorter
	enoughEnds  = 10   // partitions that tell when the others will have ended
)

// addRates adds what is stored per second, and how long the rest will take.
func (r *Run) addRates(ctx context.Context, out *status.Run, info store.Info, s *survey) error {
	over := out.Phase == status.Complete || out.Phase == status.Failed
	end := info.Now
	if over {
		end = info.Last
	}
	out.Rates.Overall = rateOf(end.Sub(r.record.Started), out.Total.Pages, out.Total.Items, out.Total.Done+out.Total.Failed)
	if over || out.Phase == status.Cancelled {
		return nil
	}
	recent, ended, err := r.recent(ctx, info)
	if err != nil {
		return err
	}
	out.Rates.Recent = recent
	if recent != nil && ended >= enoughEnds && !out.Growing && s.splits == 0 {
		left := float64(out.Total.Open()) / recent.Partitions
		out.Rates.SecondsLeft = &left
	}
	return nil
}

// recent returns what was stored in the last time, and how many partitions have ended in it.
func (r *Run) recent(ctx context.Context, info store.Info) (rate *status.Rate, ended int, err error) {
	since := info.Now.Add(-recentTime)
	if info.First.After(since) {
		since = info.First
	}
	from, pages, items := uint64(1), 0, 0
	if info.Sequence > recentPages {
		from = info.Sequence - recentPages
	}
	first := true
	err = r.cluster.store.HeadsFrom(ctx, r.ID(), from, func(h store.Heading) error {
		if first && from > 1 && h.Time.After(since) { // what came before it is not read
			since = h.Time
		}
		first = false
		if h.Time.Before(since) {
			return nil
		}
		if listed := h.Kind == store.Lists || h.Kind == store.ListsAll; listed && h.State != store.Failed && h.Outcome != outcomeSkipped {
			pages++
		}
		items += h.Count
		if h.Ends() && h.Kind == store.Lists {
			ended++
		}
		return nil
	})
	return rateOf(max(info.Now.Sub(since), time.Second), pages, items, ended), ended, err
}

// rateOf returns a rate, or nil for no time.
func rateOf(span time.Duration, pages, items, partitions int) *status.Rate {
	seconds := span.Seconds()
	if seconds <= 0 {
		return nil
	}
	per := func(n int) float64 { return float64(n) / seconds }
	return &status.Rate{Seconds: seconds, Pages: per(pages), Items: per(items), Partitions: per(partitions)}
}

// silentAfter is how long a worker says nothing until the status calls it silent. Tests change
// it.
var silentAfter = 15 * time.Second

// workers returns what the workers have said, and their tasks. The
// problems are those with one run or, without its id, with any. Workers that have been silent
// since a time before the run existed have nothing to do with it, and are left out.
func (c *Cluster) workers(ctx context.Context, run string, now, since time.Time) (status.Workers, []workerTask, error) {
	all := status.Workers{List: []status.Worker{}}
	records, err := c.store.Workers(ctx)
	if err != nil {
		return all, nil, err
	}
	var tasks []workerTask
	for _, stored := range records {
		var rec workerRecord
		if decode(stored.Value, &rec) != nil { // of another version of the program
			continue
		}
		w := status.Worker{Name: stored.Name, Host: rec.Host, Started: rec.Started, Heard: stored.Time.UTC(),
			Silent: now.Sub(stored.Time) > silentAfter, Slots: rec.Slots, Running: len(rec.Running), Done: rec.Done, Problem: rec.problem(run)}
		if w.Silent && w.Heard.Before(since) {
			continue
		}
		all.List = append(all.List, w)
		for _, t := range rec.Running {
			key := store.Key{Run: t.Run, Job: t.Job, Task: t.Task}
			full := slices.Contains(rec.Full, t.Run)
			tasks = append(tasks, workerTask{key: key, search: t.Search, label: t.Label, worker: w.Name, heard: stored.Time,
				silent: w.Silent, full: full})
		}
		if w.Silent {
			continue
		}
		all.Count, all.Slots, all.Running = all.Count+1, all.Slots+w.Slots, all.Running+w.Running
	}
	slices.SortFunc(all.List, func(a, b status.Worker) int {
		if troubled(a) != troubled(b) {
			if troubled(a) {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	all.List = all.List[:min(len(all.List), maxWorkers)]
	return all, tasks, nil
}

func troubled(w status.Worker) bool { return w.Silent || w.Problem != "" }
