package cluster

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

// A survey counts the tasks of a run from the heads of their last pages.
type survey struct {
	run     *Run
	workers map[store.Key]workerTask // that run a task
	silent  map[string]bool          // workers that are silent, and have said that they run tasks of the run
	full    bool                     // pages wait, since the server has no room for them

	jobs           map[string]*jobSurvey
	begun          map[store.Key]bool // tasks of workers that have a page
	ended          map[string]int     // by job: partitions of workers that have ended since they said so
	failed         []store.Heading    // the first
	suspect        []store.Heading    // the first with findings
	running        []store.Heading    // that workers have
	failedSearches int
	splits         int
	remaining      int            // messages that no collection can release
	all            *store.Heading // of the task that runs all jobs, if it has ended
}

// A jobSurvey counts the tasks of a job.
type jobSurvey struct {
	counts        status.Counts // Waiting is not counted: it is what remains
	searches      int           // that are known
	searchesEnded int           // failed ones included
	ends          map[endKey]*status.End
}

func newSurvey(r *Run, tasks []workerTask) *survey {
	s := &survey{run: r, workers: map[store.Key]workerTask{}, silent: map[string]bool{}}
	for _, t := range tasks {
		switch {
		case t.key.Run != r.ID():
		case t.silent:
			s.silent[t.worker] = true
		default:
			t.key.Submission = r.record.Submission // which workers do not report
			s.workers[t.key] = t
			s.full = s.full || t.full
		}
	}
	s.reset()
	return s
}

// reset begins anew, with the tasks that every run of the jobs begins with.
func (s *survey) reset() {
	*s = survey{run: s.run, workers: s.workers, silent: s.silent, full: s.full,
		jobs: map[string]*jobSurvey{}, begun: map[store.Key]bool{}, ended: map[string]int{}}
	if s.run.record.Whole {
		s.job(allJobs).counts.Partitions = 1
		return
	}
	for _, o := range s.run.record.Outlines {
		switch j := s.job(o.Job); {
		case o.Parent != "":
		case o.Variables > 0:
			j.searches = 1
		default:
			j.counts.Partitions = 1
		}
	}
}

func (s *survey) job(id string) *jobSurvey {
	j := s.jobs[id]
	if j == nil {
		j = &jobSurvey{ends: map[endKey]*status.End{}}
		s.jobs[id] = j
	}
	return j
}

// count counts all tasks of the run.
func (s *survey) count(ctx context.Context) error {
	if err := s.read(ctx); err != nil {
		return err
	}
	return s.takeRetried(ctx)
}

// read counts the tasks of the run by their last pages.
func (s *survey) read(ctx context.Context) error {
	return s.run.cluster.store.ScanHeads(ctx, s.run.ID(), s.reset, func(h store.Heading) error {
		s.add(h)
		return nil
	})
}

// add counts a task, and the tasks that it has announced.
func (s *survey) add(h store.Heading) {
	for job, n := range h.Partitions {
		s.job(job).counts.Partitions += n
	}
	for job, n := range h.Searches {
		s.job(job).searches += n
	}
	s.remaining += max(1, h.Parts)
	if h.Children > 0 {
		s.remaining += max(0, h.Page-1)
	}
	j := s.job(h.Job)
	if _, known := s.workers[h.Key]; known {
		s.begun[h.Key] = true
	}
	switch h.Kind {
	case store.Splits: // it was announced as a partition, and its halves as others
		j.counts.Partitions--
		s.splits++
	case store.Searches:
		s.addSearch(j, h)
	default:
		s.addPartition(j, h)
	}
}

func (s *survey) addSearch(j *jobSurvey, h store.Heading) {
	if !h.Ends() || s.stateOf(h) == status.Working {
		return
	}
	j.searchesEnded++
	if h.State == store.Failed {
		s.failedSearches++
		s.failed = keep(s.failed, h, maxLooked)
	}
}

func (s *survey) addPartition(j *jobSurvey, h store.Heading) {
	c := &j.counts
	c.Pages, c.Items, c.Bytes, c.Findings = c.Pages+h.Pages, c.Items+h.Items, c.Bytes+h.Bytes, c.Findings+h.Findings
	if h.Findings > 0 {
		c.Suspect++
		s.suspect = keep(s.suspect, h, maxFindings)
	}
	switch s.stateOf(h) {
	case status.Working:
		c.Running++
		s.running = append(s.running, h)
	case status.FailedState:
		c.Failed++
		s.failed = keep(s.failed, h, maxLooked)
	case status.Ended:
		c.Done++
		if _, had := s.workers[h.Key]; had {
			s.ended[h.Job]++
		}
		if h.Outcome == outcomeSkipped {
			c.Skipped++
		}
		if h.Kind == store.ListsAll {
			s.all = &h
			return
		}
		j.addEnd(h)
	}
}

// An endKey is what partitions have in common that ended in one way.
type endKey struct{ outcome, reason string }

func (j *jobSurvey) addEnd(h store.Heading) {
	key := endKey{h.Outcome, h.Reason}
	end := j.ends[key]
	if end == nil {
		end = &status.End{Outcome: h.Outcome, Reason: h.Reason}
		j.ends[key] = end
	}
	end.Partitions++
	if h.Findings > 0 {
		end.Suspect++
	}
}

func keep(list []store.Heading, h store.Heading, limit int) []store.Heading {
	if len(list) < limit {
		list = append(list, h)
	}
	return list
}

// stateOf returns how far a task is that has a page or has ended. A worker that has said
// after a failure that it has the task, tries it again.
func (s *survey) stateOf(h store.Heading) status.State {
	w, has := s.workers[h.Key]
	switch {
	case h.State == store.Done:
		return status.Ended
	case h.State == store.Failed && !(has && w.heard.After(h.Time)):
		return status.FailedState
	case has:
		return status.Working
	}
	return status.Waiting
}

// partition returns what the head of a task says about it.
func (s *survey) partition(h store.Heading) status.Partition {
	last := h.Time.UTC()
	p := status.Partition{Job: userJob(h.Job), Task: h.Task, Partition: h.Label, Search: h.Kind == store.Searches, State: s.stateOf(h),
		Pages: h.Pages, Items: h.Items, Bytes: h.Bytes, Findings: h.Findings, Last: &last}
	switch p.State {
	case status.Ended:
		p.Outcome, p.Reason = h.Outcome, h.Reason
	case status.Working:
		p.Worker = s.workers[h.Key].worker
	}
	return p
}

// jobList returns what was counted, parents before the jobs for their items.
func (s *survey) jobList() []status.Job {
	ids := []string{allJobs}
	parent := map[string]string{}
	if !s.run.record.Whole {
		ids = nil
		for _, o := range s.run.record.Outlines {
			ids, parent[o.Job] = append(ids, o.Job), o.Parent
		}
	}
	begun := s.notBegun()
	growing := map[string]bool{}
	list := make([]status.Job, len(ids))
	for i, id := range ids {
		j := s.job(id)
		c := j.counts
		c.Running += begun[id]
		c.Partitions = max(c.Partitions, c.Done+c.Failed+c.Running)
		c.Waiting = c.Partitions - c.Done - c.Failed - c.Running
		next := min(c.Waiting, s.ended[id]) // which the workers have taken instead, most likely
		c.Running, c.Waiting = c.Running+next, c.Waiting-next
		list[i] = status.Job{Job: userJob(id), Counts: c, Ends: j.endList()}
		list[i].Growing = j.searchesEnded < j.searches || growing[parent[id]]
		growing[id] = list[i].Growing || c.Open() > 0
	}
	return list
}

// notBegun counts, by job, the partitions that workers have and that have no page yet.
func (s *survey) notBegun() map[string]int {
	counts := map[string]int{}
	for key, t := range s.workers {
		if !s.begun[key] && !t.search {
			counts[key.Job]++
		}
	}
	return counts
}

func (j *jobSurvey) endList() []status.End {
	list := make([]status.End, 0, len(j.ends))
	for _, end := range j.ends {
		list = append(list, *end)
	}
	slices.SortFunc(list, func(a, b status.End) int {
		return cmp.Or(b.Partitions-a.Partitions, strings.Compare(a.Outcome, b.Outcome), strings.Compare(a.Reason, b.Reason))
	})
	return list
}

func (s *survey) total(jobs []status.Job) status.Counts {
	var total status.Counts
	for _, j := range jobs {
		total.Plus(j.Counts)
	}
	return total
}

// open returns the number of tasks that have not ended.
func (s *survey) open() int {
	n := s.total(s.jobList()).Open()
	for _, j := range s.jobs {
		n += max(0, j.searches-j.searchesEnded)
	}
	return n
}

// phase returns the phase of the run.
func (s *survey) phase() status.Phase {
	switch {
	case s.run.Phase() == Cancelled:
		return status.Cancelled
	case s.open() > 0:
		return status.Running
	case len(s.failed) > 0:
		return status.Failed
	}
	return status.Complete
}

// latest returns the partitions that workers have, the latest pages first. Those without a
// page come last.
func (s *survey) latest() []status.Partition {
	slices.SortStableFunc(s.running, func(a, b store.Heading) int { return b.Time.Compare(a.Time) })
	list := []status.Partition{}
	for _, h := range s.running[:min(len(s.running), maxRunning)] {
		list = append(list, s.partition(h))
	}
	byTask := func(a, b store.Key) int { return strings.Compare(a.Task, b.Task) }
	for _, key := range slices.SortedFunc(maps.Keys(s.workers), byTask) {
		if t := s.workers[key]; len(list) < maxRunning && !s.begun[key] {
			list = append(list, status.Partition{Job: userJob(key.Job), Task: key.Task, Partition: t.label, Search: t.search,
				State: status.Working, Worker: t.worker})
		}
	}
	return list
}

// A workerTask is a task that a worker has.
type workerTask struct {
	key    store.Key
	search bool
	label  string
	worker string
	heard  time.Time
	silent bool // the worker is silent, so others may have the task
	full   bool // its pages may wait, since the server has no room for those of the run
}

// allJobs is the job of the task that runs all jobs, in subjects.
const allJobs = "_all"

// userJob returns the job of a subject as people know it: a task with all jobs has none.
func userJob(job string) string {
	if job == allJobs {
		return ""
	}
	return job
}

// explain adds the error of a task that has failed.
func (s *survey) explain(ctx context.Context, p *status.Partition, key store.Key) error {
	e, err := s.ending(ctx, key)
	if err != nil || e == nil {
		return err
	}
	for _, r := range e.Results {
		if r.Error != nil && p.Error == nil {
			p.Error = &status.Error{Class: r.Error.Class, Message: r.Error.Message, Hint: r.Error.Hint}
		}
	}
	return nil
}

// ending returns how a task ended, or nil if it goes on.
func (s *survey) ending(ctx context.Context, key store.Key) (*engine.Ending, error) {
	last, err := s.run.cluster.store.Last(ctx, key)
	if err != nil || last == nil || !last.Ends() {
		return nil, err
	}
	e, err := decodeEnvelope(last)
	if err != nil {
		return nil, damaged(last, err.Error())
	}
	return e.Ending, nil
}
