package cluster

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/rules/value"
)

// How much of a run its status lists.
const (
	maxFailed   = 100
	maxLooked   = 1000 // failures of which it is found out whether they are queued again
	maxRunning  = 20
	maxFindings = 100 // partitions
	maxWorkers  = 100
)

// Status says how far the run is. It reads no items, and takes as much memory for a million
// partitions as for a hundred.
func (r *Run) Status(ctx context.Context) (*status.Run, error) {
	info, err := r.cluster.store.Info(ctx, r.ID())
	if err != nil {
		return nil, r.unknown(err)
	}
	workers, tasks, err := r.cluster.workers(ctx, r.ID(), info.Now, r.Started())
	if err != nil {
		return nil, err
	}
	s := newSurvey(r, tasks)
	if err := s.count(ctx); err != nil {
		return nil, r.unknown(err)
	}
	out := &status.Run{Version: status.Version, At: info.Now.UTC(), Summary: r.summary(info), Workers: workers,
		Warnings: []status.Warning{}}
	if out.Failed, err = s.explained(ctx); err != nil {
		return nil, r.unknown(err)
	}
	out.Running = s.latest()
	if out.Jobs, err = s.jobsOf(ctx); err != nil {
		return nil, r.unknown(err)
	}
	if out.Findings, err = s.allFindings(ctx); err != nil {
		return nil, r.unknown(err)
	}
	out.Total, out.Phase, out.Growing = s.total(out.Jobs), s.phase(), isGrowing(out.Jobs)
	if err := r.addRates(ctx, out, info, s); err != nil {
		return nil, r.unknown(err)
	}
	return out, r.warn(ctx, out, info, s)
}

// Partitions calls f for each partition of the run that has a page or has ended, in the order
// of their last pages, and for tasks that find values of variables and have failed. It returns
// how many others wait. It keeps a few bytes of each partition, so that an interrupted
// connection repeats none.
func (r *Run) Partitions(ctx context.Context, f func(status.Partition) error) (waiting int, err error) {
	_, tasks, err := r.cluster.workers(ctx, r.ID(), time.Now(), r.Started())
	if err != nil {
		return 0, err
	}
	s := newSurvey(r, tasks)
	listed, seen, seed := 0, map[uint64]bool{}, maphash.MakeSeed()
	again := func() { s.reset(); listed = 0 }
	err = r.cluster.store.ScanHeads(ctx, r.ID(), again, func(h store.Heading) error {
		s.add(h)
		if h.Kind == store.Splits || h.Kind == store.Searches && h.State != store.Failed {
			return nil
		}
		if h.Kind != store.Searches {
			listed++
		}
		if id := maphash.Comparable(seed, h.Key); !seen[id] {
			seen[id] = true
			return s.list(ctx, h, f)
		}
		return nil
	})
	if err != nil {
		return 0, r.unknown(err)
	}
	for _, job := range s.jobList() {
		waiting += job.Counts.Partitions
	}
	return max(0, waiting-listed), nil
}

// list calls f for a task, with its error if it has failed.
func (s *survey) list(ctx context.Context, h store.Heading, f func(status.Partition) error) error {
	p := s.partition(h)
	if p.State == status.FailedState {
		if err := s.explain(ctx, &p, h.Key); err != nil {
			return err
		}
		retried, err := s.isRetried(ctx, h)
		if err != nil {
			return err
		}
		if retried {
			p.State, p.Queued = status.Waiting, true
		}
	}
	return f(p)
}

// unknown says that a run was deleted while it was looked at.
func (r *Run) unknown(err error) error {
	if errors.Is(err, store.ErrDeleted) {
		return noRun(r.ID())
	}
	return err
}

// summary returns what is known of the run without its pages.
func (r *Run) summary(info store.Info) status.Summary {
	s := status.Summary{Run: r.ID(), Phase: r.Phase(), Config: r.record.Name, Program: r.record.Program, Address: r.record.Address,
		Started: r.record.Started, Stored: status.Stored{Bytes: int64(info.Bytes), Limit: info.MaxBytes}}
	if info.Sequence > 0 {
		last := info.Last.UTC()
		s.Last = &last
	}
	return s
}

// Overview says in short how far all runs on the server are, the latest first.
func (c *Cluster) Overview(ctx context.Context) (*status.Overview, error) {
	runs, unreadable, err := c.readable(ctx)
	if err != nil {
		return nil, err
	}
	out := &status.Overview{Version: status.Version, At: time.Now().UTC(), Runs: []status.Summary{}, Unreadable: unreadable}
	workers, tasks, err := c.workers(ctx, "", out.At, time.Time{})
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		one, err := r.inShort(ctx, tasks)
		if errors.Is(err, store.ErrDeleted) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out.Runs = append(out.Runs, one)
	}
	out.Workers = workers
	return out, nil
}

// inShort says in short how far the run is.
func (r *Run) inShort(ctx context.Context, tasks []workerTask) (status.Summary, error) {
	info, err := r.cluster.store.Info(ctx, r.ID())
	if err != nil {
		return status.Summary{}, err
	}
	if known, ok := r.cluster.lookedUp(r, info); ok {
		return known, nil
	}
	s := newSurvey(r, tasks)
	if err := s.count(ctx); err != nil {
		return status.Summary{}, err
	}
	out := r.summary(info)
	jobs, err := s.jobsOf(ctx)
	if err != nil {
		return status.Summary{}, r.unknown(err)
	}
	out.Total, out.Phase, out.Growing = s.total(jobs), s.phase(), isGrowing(jobs)
	r.cluster.remember(r, info, out)
	return out, nil
}

// A look is what was found out about a run. It is true as long as nothing was stored or
// submitted since.
type look struct {
	revision uint64 // of the record of the run
	info     store.Info
	summary  status.Summary
}

func (l look) same(other look) bool {
	return l.revision == other.revision && l.info.Sequence == other.info.Sequence && l.info.Messages == other.info.Messages
}

// remember keeps the summary of a run that is over. The next [Cluster.Overview] need not count
// its partitions.
func (c *Cluster) remember(r *Run, info store.Info, s status.Summary) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.looks, r.ID())
	if s.Phase == status.Complete || s.Phase == status.Cancelled && s.Total.Running == 0 {
		c.looks[r.ID()] = look{r.revision, info, s}
	}
}

// lookedUp returns the summary of a run that is over, if it is known and still true.
func (c *Cluster) lookedUp(r *Run, info store.Info) (status.Summary, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.looks[r.ID()]
	if !ok || !known.same(look{revision: r.revision, info: info}) {
		return status.Summary{}, false
	}
	now := r.summary(info)
	now.Total, now.Phase, now.Growing = known.summary.Total, known.summary.Phase, known.summary.Growing
	return now, true
}

// warn adds what somebody should do something about.
func (r *Run) warn(ctx context.Context, out *status.Run, info store.Info, s *survey) error {
	add := func(id, hint, message string, values ...any) {
		out.Warnings = append(out.Warnings, status.Warning{ID: id, Message: fmt.Sprintf(message, values...), Hint: hint})
	}
	room := r.makeRoom(s.releasable(info))
	switch limit := info.MaxBytes; {
	case out.Phase != status.Running:
	case s.full && limit > 0:
		add("full", room, "the run has %s of the %s that it may have on the server, and the pages of workers wait for room",
			value.Size(int(out.Stored.Bytes)), value.Size(int(limit)))
	case s.full:
		add("full", "make room there, or delete runs: stopwhen delete", "the server has no room for pages, and those of workers wait")
	case isFull(info):
		add("full", room, "the run has %d %% of the bytes that it may have on the server, and workers wait when it has all",
			100*out.Stored.Bytes/limit)
	}
	if n := out.Total.Failed; n > 0 {
		add("failed", "fix the cause, then: "+r.command("retry"), "%s failed", value.Counted(n, "partition"))
	}
	if n := s.failedSearches; n > 0 {
		add("search", "fix the cause, then: "+r.command("retry"), "the values of %s could not be found", value.Counted(n, "variable"))
	}
	if out.Phase != status.Running || s.open() == 0 {
		return nil
	}
	lost, err := r.lost(ctx, info, s)
	if err != nil {
		return err
	}
	switch {
	case lost > 0:
		add("lost", "submit the run again, with the same id: stopwhen submit CONFIG --run "+r.ID()+r.cluster.options.Flags,
			"the queue has lost tasks: %d of those that are known have not ended, and are not queued", lost)
	case out.Workers.Count == 0:
		add("noWorkers", r.WorkerCommand(), "no worker runs the tasks that wait")
	}
	for _, w := range out.Workers.List {
		if w.Silent && s.silent[w.Name] {
			seconds := int(out.At.Sub(w.Heard).Seconds())
			add("silent", "other workers get its tasks", "worker %s on %s has been silent for %d seconds", w.Name, w.Host, seconds)
		}
		if w.Problem != "" {
			add("problem", "other workers may run it; otherwise set it right on that machine", "worker %s on %s: %s", w.Name, w.Host, w.Problem)
		}
	}
	return nil
}

// makeRoom says how the run gets room on the server. releasable says whether pages can be
// released.
func (r *Run) makeRoom(releasable bool) string {
	const raise = "submit it again, with the same id and a larger --max-bytes"
	if !releasable {
		return raise + "; collect --release would delete nothing, since the pages that are stored must remain"
	}
	return r.command("collect") + " --release --state FILE --out DIR deletes pages that it has written; " +
		"if those that must remain fill the limit, " + raise
}

// lostAgain is after which time tasks that seem to be lost are counted again: what was queued
// just now may not be counted yet.
const lostAgain = 300 * time.Millisecond

// lost returns how many tasks are known, but neither queued nor ended. While tasks run, it is
// 0: they may be about to queue what they have found.
func (r *Run) lost(ctx context.Context, info store.Info, s *survey) (lost int, err error) {
	for range 2 {
		load, err := r.cluster.store.Queued(ctx, r.record.Origin)
		if err != nil || load.Running > 0 {
			return 0, err
		}
		now, err := r.cluster.store.Info(ctx, r.ID())
		if err != nil || now.Sequence != info.Sequence {
			return 0, r.unknown(err)
		}
		if lost = s.open() - load.Waiting; lost <= 0 {
			return 0, nil
		}
		select {
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		case <-time.After(lostAgain):
		}
	}
	return lost, nil
}
