package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// A Tally adds up how the partitions of a tree of jobs have ended: the results of the jobs,
// and what can only be said about all partitions of a job together. It needs as much memory
// for a million partitions as for a hundred.
type Tally struct {
	root      *compile.Job
	rootID    string         // for results; empty: there are no other jobs, and no partitions
	all       []*compile.Job // parents first
	jobs      map[string]*compile.Job
	results   map[*compile.Job]*Result // of the partitions that have ended
	found     *presence
	seen      map[*compile.Job]*seen // in the lists of the partitions that have ended
	log       *slog.Logger
	redactor  *redact.Redactor
	carryover map[string]map[string]any
}

// tallyState is a [Tally] in a checkpoint.
type tallyState struct {
	Results []endedState          `json:"results"`           // of the partitions that have ended, by job
	Missing map[string][][]string `json:"missing,omitempty"` // by job: paths that no item of its parent has had
	Seen    map[string]*seen      `json:"seen,omitempty"`    // by job: what the lists of its partitions had and lacked
}

// endedState is what a checkpoint has of the partitions of a job that have ended.
type endedState struct {
	Result
	First string `json:"first,omitempty"` // see [Result]
}

// NewTally returns a tally of a job and of the jobs below it that run.
func (l Loop) NewTally(root *compile.Job) *Tally { return newTally(l.withDefaults(), root) }

func newTally(l Loop, root *compile.Job) *Tally {
	t := &Tally{
		root: root, all: l.below(root), jobs: map[string]*compile.Job{}, results: map[*compile.Job]*Result{},
		seen: map[*compile.Job]*seen{}, log: l.Log, redactor: l.Redactor, carryover: l.Carryover,
	}
	if len(t.all) > 1 || len(root.Sources) > 0 || root.Set.Job.Silent {
		t.rootID = root.Set.Job.ID
	}
	t.found = newPresence(t.all)
	for _, job := range t.all {
		t.jobs[job.Set.Job.ID] = job
		t.results[job] = &Result{Job: job.Set.Job.ID, Root: t.rootID, StoppedBy: []string{}}
		if len(job.Sources) > 0 {
			t.results[job].Partitions = &Partitions{}
			t.seen[job] = &seen{}
		}
	}
	return t
}

// end adds the end of a partition.
func (t *Tally) end(p Partition, result Result) {
	t.add(p.Job, func() (label, name string) { return t.redactor.String(p.Label()), t.redactor.String(p.name()) }, result)
}

// add adds the end of a partition of a job. Its label and its name, which names returns, have
// no secrets.
func (t *Tally) add(job *compile.Job, names func() (label, name string), result Result) {
	total := t.results[job]
	if total.Partitions == nil {
		*total = result
		total.Root = t.rootID
		return
	}
	t.seen[job].add(result.seen.Had, result.seen.Lacked)
	total.add(names, result)
}

// Results returns the results of all jobs, parents first, and logs them. The error is that
// of the run, which ended before all partitions had; nil: all of them have ended.
func (t *Tally) Results(err error) []Result {
	results := t.ordered(err)
	t.logPartitions(results)
	if err == nil {
		t.logKept(results)
	}
	return results
}

// ordered returns the results of all jobs, parents first.
func (t *Tally) ordered(err error) []Result {
	list, complete := make([]Result, len(t.all)), true
	for i, job := range t.all {
		r := t.results[job]
		if f := t.finding(job); f != nil && err == nil {
			f.Message, f.Because = t.redactor.String(f.Message), t.redactor.String(f.Because)
			r.Findings = append(r.Findings, *f)
			t.log.Warn(fmt.Sprintf("Job '%s': the list may be incomplete: %s", r.Job, f.Message), "event", "suspect", "job", r.Job, "finding", f.ID)
		}
		switch {
		case r.Outcome == "" && err == nil:
			r.Outcome, r.Reason, r.Message = rules.Complete, reasonPartitions, r.ofPartitions()
		case r.Outcome == "":
			r.Outcome, r.Reason, r.Message = rules.Failed, reasonError, "the run ended before this job"
		case err != nil && r.Outcome == rules.Complete && r.Partitions != nil:
			r.Outcome, r.Reason = rules.Failed, reasonError
			r.Message = fmt.Sprintf("the run ended after %s of this job", value.Counted(r.Partitions.Count, "partition"))
		}
		list[i], complete = *r, complete && r.Outcome == rules.Complete
	}
	for i := range list {
		if list[i].Repeats = !complete; !complete || list[i].Kept == nil {
			list[i].Kept = t.carryover[list[i].Job]
		}
	}
	return list
}

// finding returns the finding about all partitions of a job, or about there being none; nil:
// there is no finding.
func (t *Tally) finding(job *compile.Job) *Finding {
	switch n := t.results[job].Partitions; {
	case n == nil:
		return nil
	case n.Count == 0:
		return t.found.finding(job)
	}
	return t.seen[job].finding(job)
}

// logPartitions logs how the jobs with partitions ended.
func (t *Tally) logPartitions(results []Result) {
	for _, r := range results {
		if r.Partitions == nil || r.Outcome == rules.Failed {
			continue
		}
		level := slog.LevelInfo
		if r.Outcome == rules.Partial {
			level = slog.LevelWarn
		}
		t.log.Log(context.Background(), level, fmt.Sprintf("Job '%s': %s", r.Job, t.redactor.String(r.Message)), "event", "stop", "job", r.Job,
			"outcome", r.Outcome, "partitions", r.Partitions.Count)
	}
}

// logKept says why the values for the next run have not moved on, and what is to be done
// about it.
func (t *Tally) logKept(results []Result) {
	incomplete := slices.IndexFunc(results, func(r Result) bool { return r.Outcome != rules.Complete })
	if incomplete < 0 {
		return
	}
	var keepers []string
	for _, job := range t.all {
		if len(job.Keeps) > 0 {
			keepers = append(keepers, fmt.Sprintf("'%s'", job.Set.Job.ID))
		}
	}
	if keepers == nil {
		return
	}
	r, fix := results[incomplete], ""
	if r.Outcome == rules.Partial {
		fix = "; if an error like this is how the API says that there is nothing, end the partition with onError"
	}
	const message = "Job %s: the kept values are those of the run before, so the next run requests the same again, " +
		"because job '%s' is %s: %s%s"
	t.log.Warn(fmt.Sprintf(message,
		strings.Join(keepers, ", "), r.Job, r.Outcome, t.redactor.String(r.Message), fix), "event", "kept_unchanged", "job", r.Job)
}

// LogStops logs why the jobs without variables stopped, as their runs do. It is for jobs that
// have run on another machine.
func (t *Tally) LogStops() {
	for _, job := range t.all {
		if r := t.results[job]; r.Partitions == nil && r.Outcome != "" && r.Outcome != rules.Failed {
			logStop(t.log, job, t.redactor.String(r.Job), r.Pages, *r)
		}
	}
}

// save returns what a checkpoint has of the tally.
func (t *Tally) save() tallyState {
	s := tallyState{Missing: t.found.save(), Seen: map[string]*seen{}}
	for _, job := range t.all {
		if one := t.seen[job]; one != nil && !one.empty() {
			s.Seen[job.Set.Job.ID] = one
		}
		if r := t.results[job]; r.Outcome != "" {
			s.Results = append(s.Results, endedState{*r, r.first})
		}
	}
	return s
}

// takeUp takes up what save returned. It was checked.
func (t *Tally) takeUp(s tallyState) {
	t.found.restore(s.Missing, t.jobs)
	for id, one := range s.Seen {
		if known := t.seen[t.jobs[id]]; known != nil && one != nil {
			*known = *one
		}
	}
	for i := range s.Results {
		r := &s.Results[i]
		t.results[t.jobs[r.Job]] = &r.Result
		r.Result.first = r.First
	}
}

// check reports a state that no tally of these jobs has saved.
func (t *Tally) check(s tallyState) error {
	if err := t.checkResults(s.Results); err != nil {
		return err
	}
	return t.checkMissing(s.Missing)
}

func (t *Tally) checkResults(results []endedState) error {
	known := map[string]bool{}
	for _, r := range results {
		job := t.jobs[r.Job]
		switch {
		case job == nil || (r.Partitions == nil) != (len(job.Sources) == 0):
			return fmt.Errorf("it has a result of job %q, which is not in this place of the configuration", r.Job)
		case known[r.Job]:
			return fmt.Errorf("it has two results of job %q", r.Job)
		}
		known[r.Job] = true
		if err := r.check(); err != nil {
			return err
		}
	}
	return nil
}

// checkMissing checks the paths that no item of a parent has had.
func (t *Tally) checkMissing(missing map[string][][]string) error {
	for id, paths := range missing {
		job := t.jobs[id]
		if job == nil || job.Parent == nil {
			return fmt.Errorf("it has items for job %q, which is for those of no other job", id)
		}
		for _, path := range paths {
			if !slices.ContainsFunc(job.ItemNeeds, func(needed []string) bool { return slices.Equal(needed, path) }) {
				return fmt.Errorf("it has a path of items that job %q does not read", id)
			}
		}
	}
	return nil
}

// Add adds a step of a task to a tally: what it says about the jobs for its items and, if
// the task has ended, its result.
func (t *Tally) Add(step *Step) {
	t.found.merge(step.Missing, t.jobs)
	if step.Ending == nil {
		return
	}
	whole := len(step.Ending.Results) > 1
	for _, one := range step.Ending.Results {
		job := t.jobs[one.Job]
		if job == nil {
			continue // of another tree
		}
		result := one.Result
		result.first, result.skipped, result.leftOut = one.First, one.Skipped, one.NoList
		if one.Lists != nil {
			result.seen = *one.Lists
		}
		if whole || result.Partitions != nil {
			t.results[job] = &result
			continue
		}
		t.add(job, func() (label, name string) { return step.Ending.Label, one.Name }, result)
	}
}

// Save returns the tally as JSON, for [Tally.Restore].
func (t *Tally) Save() (json.RawMessage, error) { return json.Marshal(t.save()) }

// Restore takes up a tally of the same jobs that was saved.
func (t *Tally) Restore(saved json.RawMessage) error {
	var s tallyState
	dec := json.NewDecoder(bytes.NewReader(saved))
	dec.UseNumber()
	err := dec.Decode(&s)
	if err == nil {
		err = t.check(s)
	}
	if err != nil {
		return unusable(t.root.Set.Job.ID, err)
	}
	t.takeUp(s)
	return nil
}
