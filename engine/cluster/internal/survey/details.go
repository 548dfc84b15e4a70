package survey

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// last returns the envelope of the last page of a task, or nil if the task has no pages.
func (s *survey) last(ctx context.Context, key store.Key) (*record.Envelope, error) {
	last, err := s.store.Last(ctx, key)
	if err != nil || last == nil {
		return nil, err
	}
	return record.ReadEnvelope(last)
}

// partition returns the status of a task that its head describes.
func (s *survey) partition(h store.StoredHead) status.Partition {
	last := h.Time.UTC()
	p := status.Partition{Job: shown(h.Job), Task: h.Task, Partition: h.Label, Search: h.Kind == store.Searches, State: s.stateOf(h),
		Pages: h.Pages, Items: h.Items, Bytes: h.Bytes, Findings: h.Findings, Last: &last}
	switch p.State {
	case status.StateDone:
		p.Outcome, p.Reason = h.Outcome, h.Reason
	case status.StateRunning:
		p.Worker = s.fleet.of(s.run)[h.Key].worker
	}
	return p
}

// explained is like [survey.partition], but adds the error of a failed task.
func (s *survey) explained(ctx context.Context, h store.StoredHead) (status.Partition, error) {
	p := s.partition(h)
	if p.State != status.StateFailed {
		return p, nil
	}
	e, err := s.last(ctx, h.Key)
	if err != nil || e == nil || e.Ending == nil {
		return p, err
	}
	for _, r := range e.Ending.Results {
		if r.Error != nil && p.Error == nil {
			p.Error = &status.Error{Class: r.Error.Class, Message: r.Error.Message, Hint: r.Error.Hint}
		}
	}
	return p, nil
}

// addFailed adds the failed partitions.
func (s *survey) addFailed(ctx context.Context, out *status.Run) error {
	out.Failed = []status.Partition{}
	for _, h := range s.failed[:min(len(s.failed), maxFailed)] {
		p, err := s.explained(ctx, h)
		if err != nil {
			return err
		}
		out.Failed = append(out.Failed, p)
	}
	return nil
}

// latest returns the running partitions, latest pages first. Partitions without a page come last.
func (s *survey) latest() []status.Partition {
	slices.SortStableFunc(s.running, func(a, b store.StoredHead) int { return b.Time.Compare(a.Time) })
	list, unplaced := lists.Map(s.running[:min(len(s.running), maxRunning)], s.partition), []status.Partition{}
	for key, t := range s.starting {
		unplaced = append(unplaced, status.Partition{Job: shown(key.Job), Task: key.Task, Partition: t.Label, Search: t.Search,
			State: status.StateRunning, Worker: t.worker})
	}
	slices.SortFunc(unplaced, func(a, b status.Partition) int { return strings.Compare(a.Task, b.Task) })
	list = append(list, unplaced...)
	return list[:min(len(list), maxRunning)]
}

// addFindings adds the findings, which are stored in the envelopes of some pages.
func (s *survey) addFindings(ctx context.Context, out *status.Run) error {
	out.Findings = []status.Finding{}
	for _, h := range s.suspect {
		e, err := s.last(ctx, h.Key)
		if err != nil {
			return err
		}
		switch {
		case e == nil:
		case e.Ending != nil:
			for _, r := range e.Ending.Results {
				addFindings(out, r.Job, h.Label, r.Findings)
			}
		case e.Record != nil:
			addFindings(out, h.Job, h.Label, e.Record.Findings)
		}
	}
	return nil
}

// addFindings merges the findings about one partition into the findings about others.
func addFindings(out *status.Run, job, partition string, found []engine.Finding) {
	for _, f := range found {
		i := slices.IndexFunc(out.Findings, func(o status.Finding) bool { return o.Job == job && o.ID == f.ID })
		if i < 0 {
			out.Findings = append(out.Findings, status.Finding{Job: job, ID: f.ID, Partitions: 1, Partition: partition, Message: f.Message})
			continue
		}
		out.Findings[i].Partitions++
	}
}

// ofResult returns the status of a job from its result, in a run whose jobs are run by one task.
func ofResult(r engine.JobResult) status.Job {
	c := status.Counts{Partitions: 1, Done: 1, Pages: r.Pages, Items: r.Items, Bytes: int64(r.Bytes), Findings: len(r.Findings),
		Suspect: min(1, len(r.Findings))}
	if p := r.Partitions; p != nil {
		c.Partitions, c.Done, c.Failed, c.Skipped, c.Suspect = p.Count, p.Count-p.Failed, p.Failed, p.Skipped, p.Suspect
	}
	return status.Job{Job: r.Job, Counts: c,
		Ends: []status.End{{Outcome: string(r.Outcome), Reason: r.Reason, Partitions: c.Partitions, Suspect: c.Suspect}}}
}

// retriedAtOnce is the number of concurrent lookups of tasks in the queue.
const retriedAtOnce = 16

// lookUpRetried finds out which of the failed tasks are queued again.
func (s *survey) lookUpRetried(ctx context.Context) (retried map[store.Key]bool, err error) {
	if len(s.failed) == 0 {
		return nil, nil
	}
	load, err := s.store.Queued(ctx, s.run.Queue())
	if err != nil || load.Waiting+load.Running == 0 {
		return nil, err
	}
	retried = map[store.Key]bool{}
	for chunk := range slices.Chunk(s.failed, retriedAtOnce) {
		var found [retriedAtOnce]bool
		var errs [retriedAtOnce]error
		var lookups sync.WaitGroup
		for i, h := range chunk {
			lookups.Go(func() { found[i], errs[i] = s.isRetried(ctx, h) })
		}
		lookups.Wait()
		if err := cmp.Or(errs[:]...); err != nil {
			return nil, err
		}
		for i, h := range chunk {
			retried[h.Key] = found[i]
		}
	}
	return retried, nil
}

// isRetried reports whether a failed task is queued again.
func (s *survey) isRetried(ctx context.Context, h store.StoredHead) (bool, error) {
	return s.store.IsRetried(ctx, s.run.Origin, h)
}
