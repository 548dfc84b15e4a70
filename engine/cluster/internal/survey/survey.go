// Package survey determines how far runs on many machines are. It counts partitions by the heads
// of their last pages and the reports of workers, and retains only the first entries of each list
// of a status, so that its memory does not depend on the number of partitions.
//
// Read survey.go first, which counts, then fleet.go, which holds the reports of the workers.
// status.go combines both into a status, with the parts in details.go and warnings.go.
package survey

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/engine/cluster/internal/record"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
)

// A survey counts the tasks of a run.
type survey struct {
	store *store.Store
	run   *record.Run
	fleet *Fleet

	jobs           map[string]*job
	starting       map[store.Key]workerTask // tasks that workers are running and that have no pages
	failed         []store.StoredHead       // first failed tasks that are not queued again
	suspect        []store.StoredHead       // first tasks with findings
	running        []store.StoredHead       // tasks that workers are running
	failedSearches int
	listed         int // number of partitions that have a page or have ended
	splits         int
	unreleasable   int               // number of messages that no collection can release
	all            *store.StoredHead // heading of the task that runs all jobs, if it has ended
}

// A job counts the tasks of a job.
type job struct {
	counts        status.Counts // Waiting is not counted; it is the remainder
	searches      int           // number of known tasks that search for values
	searchesEnded int           // number of searches that have ended, including failed searches
	ends          []status.End
}

// take counts the tasks of a run.
func (r Reader) take(ctx context.Context, run *record.Run, fleet *Fleet) (*survey, error) {
	out := &survey{store: r.Store, run: run, fleet: fleet}
	err := r.Store.Heads(ctx, run.Run, out.reset, func(h store.StoredHead) error {
		out.add(h)
		return nil
	})
	if err != nil {
		return nil, err
	}
	retried, err := out.lookUpRetried(ctx)
	out.addFailures(retried)
	return out, err
}

// reset restarts the count with the tasks that every run of the jobs begins with.
func (s *survey) reset() {
	*s = survey{store: s.store, run: s.run, fleet: s.fleet, jobs: map[string]*job{}, starting: maps.Clone(s.fleet.of(s.run))}
	for _, o := range s.run.Tree() {
		switch j := s.job(o.Job); {
		case o.Parent != "":
		case o.Variables > 0:
			j.searches = 1
		default:
			j.counts.Partitions = 1
		}
	}
}

func (s *survey) job(id string) *job {
	if s.jobs[id] == nil {
		s.jobs[id] = &job{ends: []status.End{}}
	}
	return s.jobs[id]
}

// add counts a task and the tasks that it has announced.
func (s *survey) add(h store.StoredHead) {
	for id, n := range h.Partitions {
		s.job(id).counts.Partitions += n
	}
	for id, n := range h.Searches {
		s.job(id).searches += n
	}
	s.unreleasable += max(1, h.Parts)
	if h.Children > 0 {
		s.unreleasable += max(0, h.Page-1)
	}
	delete(s.starting, h.Key)
	j, state := s.job(h.Job), s.stateOf(h)
	switch {
	case h.Kind == store.Splits: // its announcement counted it as a partition, and its halves count separately
		j.counts.Partitions--
		s.splits++
		return
	case h.Kind != store.Searches:
		s.addPartition(j, h, state)
	case state == status.StateDone:
		j.searchesEnded++
	}
	switch {
	case state != status.StateFailed:
	case len(s.failed) < maxLooked:
		s.failed = append(s.failed, h)
	default:
		s.addFailure(h)
	}
}

func (s *survey) addPartition(j *job, h store.StoredHead, state status.State) {
	s.listed++
	c := &j.counts
	c.Pages, c.Items, c.Bytes, c.Findings = c.Pages+h.Pages, c.Items+h.Items, c.Bytes+h.Bytes, c.Findings+h.Findings
	if h.Findings > 0 {
		c.Suspect++
		if len(s.suspect) < maxFindings {
			s.suspect = append(s.suspect, h)
		}
	}
	switch state {
	case status.StateRunning:
		c.Running++
		s.running = append(s.running, h)
	case status.StateDone:
		c.Done++
		if h.Outcome == store.Skipped {
			c.Skipped++
		}
		if h.Kind == store.ListsAll {
			s.all = &h
		} else {
			j.addEnd(h)
		}
	}
}

func (j *job) addEnd(h store.StoredHead) {
	i := slices.IndexFunc(j.ends, func(e status.End) bool { return e.Outcome == h.Outcome && e.Reason == h.Reason })
	if i < 0 {
		i = len(j.ends)
		j.ends = append(j.ends, status.End{Outcome: h.Outcome, Reason: h.Reason})
	}
	j.ends[i].Partitions++
	if h.Findings > 0 {
		j.ends[i].Suspect++
	}
}

// addFailures counts the tasks in failed. Tasks that are queued again count as waiting instead.
func (s *survey) addFailures(retried map[store.Key]bool) {
	s.failed = slices.DeleteFunc(s.failed, func(h store.StoredHead) bool { return retried[h.Key] })
	for _, h := range s.failed {
		s.addFailure(h)
	}
}

func (s *survey) addFailure(h store.StoredHead) {
	if h.Kind == store.Searches {
		s.failedSearches++
		s.job(h.Job).searchesEnded++
	} else {
		s.job(h.Job).counts.Failed++
	}
}

// stateOf returns the state of a task that has a page or has ended. A worker that reports a failed task
// is running it only if it retries that failure: otherwise the task was delivered twice.
func (s *survey) stateOf(h store.StoredHead) status.State {
	w, has := s.fleet.of(s.run)[h.Key]
	switch {
	case h.State == store.Done:
		return status.StateDone
	case h.State == store.Failed && !(has && w.RetryOf == h.Sequence):
		return status.StateFailed
	case has:
		return status.StateRunning
	}
	return status.StateWaiting
}

// list returns the counted jobs.
func (s *survey) list() []status.Job {
	starting := map[string]int{}
	for key, t := range s.starting {
		if !t.Search {
			starting[key.Job]++
		}
	}
	growing := map[string]bool{}
	var list []status.Job
	for _, o := range s.run.Tree() {
		j := s.job(o.Job)
		c := j.counts
		c.Running += starting[o.Job]
		c.Partitions = max(c.Partitions, c.Done+c.Failed+c.Running)
		c.Waiting = c.Partitions - c.Done - c.Failed - c.Running
		slices.SortFunc(j.ends, func(a, b status.End) int {
			return cmp.Or(b.Partitions-a.Partitions, strings.Compare(a.Outcome, b.Outcome), strings.Compare(a.Reason, b.Reason))
		})
		jobStatus := status.Job{Job: shown(o.Job), Counts: c, Ends: j.ends, Growing: j.searchesEnded < j.searches || growing[o.Parent]}
		growing[o.Job] = jobStatus.Growing || c.Open() > 0
		list = append(list, jobStatus)
	}
	return list
}

// shown returns the job of a subject as users see it: a task with all jobs has no job.
func shown(job string) string {
	if job == record.AllJobs {
		return ""
	}
	return job
}

func total(jobs []status.Job) (sum status.Counts) {
	for _, j := range jobs {
		sum.Add(j.Counts)
	}
	return sum
}

// open returns the number of tasks that have not ended.
func (s *survey) open() int {
	n := total(s.list()).Open()
	for _, j := range s.jobs {
		n += max(0, j.searches-j.searchesEnded)
	}
	return n
}

// phase returns the phase of the run.
func (s *survey) phase() status.Phase {
	switch {
	case s.run.Phase == status.Cancelled:
		return status.Cancelled
	case s.open() > 0:
		return status.Running
	case len(s.failed) > 0:
		return status.Failed
	}
	return status.Complete
}

// Parameters of the recent rate.
const (
	recentTime  = time.Minute
	recentPages = 5000 // if that time has more pages, the measured time is shorter
	enoughEnds  = 10   // number of ended partitions needed to estimate the remaining time
)

// addRates adds the amounts stored per second and the estimated remaining time.
func (s *survey) addRates(ctx context.Context, out *status.Run, info store.Info) error {
	terminal := out.Phase == status.Complete || out.Phase == status.Failed
	end := info.Now
	if terminal {
		end = info.Last
	}
	out.Rates.Overall = rateOf(end.Sub(s.run.Started), out.Total.Pages, out.Total.Items, out.Total.Done+out.Total.Failed)
	if terminal || out.Phase == status.Cancelled {
		return nil
	}
	recent, ended, err := s.recent(ctx, info)
	out.Rates.Recent = recent
	if recent != nil && ended >= enoughEnds && !out.Growing && s.splits == 0 {
		left := float64(out.Total.Open()) / recent.Partitions
		out.Rates.SecondsLeft = &left
	}
	return err
}

// recent returns the amounts stored recently, and the number of partitions that ended in that
// time.
func (s *survey) recent(ctx context.Context, info store.Info) (rate *status.Rate, ended int, err error) {
	var since time.Time
	from, pages, items := uint64(1), 0, 0
	if info.Sequence > recentPages {
		from = info.Sequence - recentPages
	}
	first := true
	reset := func() {
		since, first, pages, items, ended = info.Now.Add(-recentTime), true, 0, 0, 0
		if info.First.After(since) {
			since = info.First
		}
	}
	err = s.store.HeadsFrom(ctx, s.run.Run, from, reset, func(h store.StoredHead) error {
		if first && from > 1 && h.Time.After(since) { // earlier pages are not read
			since = h.Time
		}
		first = false
		if h.Time.Before(since) {
			return nil
		}
		listed := h.Kind == store.Lists || h.Kind == store.ListsAll
		if listed && h.State != store.Failed && h.Outcome != store.Skipped && h.StartsAlone == 0 {
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

// rateOf returns a rate, or nil if span is 0.
func rateOf(span time.Duration, pages, items, partitions int) *status.Rate {
	seconds := span.Seconds()
	if seconds <= 0 {
		return nil
	}
	per := func(n int) float64 { return float64(n) / seconds }
	return &status.Rate{Seconds: seconds, Pages: per(pages), Items: per(items), Partitions: per(partitions)}
}
