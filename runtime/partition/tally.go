package partition

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A Tally sums up how the partitions of a tree of jobs ended: the results of the jobs, and findings
// about all partitions of a job together. Its memory does not grow with the number of partitions.
type Tally struct {
	root     *compile.Job
	rootID   string         // root of the results; empty without other jobs and partitions
	all      []*compile.Job // parents first
	byID     map[string]*compile.Job
	jobs     map[*compile.Job]*jobTally
	missing  *evidence.MissingPaths // paths that children read in items and that no item has had
	log      *slog.Logger
	redactor *redact.Redactor
	refuses  func(runtime.Result) bool
	forgets  bool // whether nothing keeps the values for the next run
}

// A jobTally sums up the partitions of a job that have ended.
type jobTally struct {
	result    EndedResult
	seen      *evidence.Seen // paths in the lists of the partitions; nil for a job without partitions
	kept      map[string]any // values that the run before kept
	keptStays bool           // whether these values stay, because a job of the tree was left out
	full      bool           // whether there are more keys of keepFor than are kept
}

// A tallyState is the JSON form of a [Tally].
type tallyState struct {
	Results []EndedResult             `json:"results"`           // results of the partitions that have ended, by job
	Missing map[string][][]string     `json:"missing,omitempty"` // by job, the paths that no item of its parent has had
	Seen    map[string]*evidence.Seen `json:"seen,omitempty"`    // by job, the paths that the lists of its partitions had and lacked
}

// NewTally returns an empty tally of a job and of the jobs below it that run.
func (w Walk) NewTally(root *compile.Job) *Tally {
	w.Loop = w.WithDefaults()
	return newTally(w, root)
}

func newTally(w Walk, root *compile.Job) *Tally {
	t := &Tally{
		root: root, all: w.below(root), byID: map[string]*compile.Job{}, jobs: map[*compile.Job]*jobTally{},
		missing: &evidence.MissingPaths{}, log: w.Log, redactor: w.Redactor, refuses: w.refuses,
		forgets: w.KeptBefore == nil,
	}
	if len(t.all) > 1 || len(root.For) > 0 || !root.Spec().Emits {
		t.rootID = root.ID()
	}
	for _, job := range t.all {
		one := &jobTally{
			result: EndedResult{Result: runtime.Result{Job: job.ID(), Root: t.rootID, StoppedBy: []string{}}},
			kept:   w.KeptBefore[job.ID()], keptStays: w.leftOutOf(job) != nil,
		}
		if len(job.For) > 0 {
			one.result.Partitions, one.seen = &runtime.PartitionCounts{}, &evidence.Seen{}
		}
		t.byID[job.ID()], t.jobs[job] = job, one
	}
	return t
}

// end adds a partition that has ended.
func (t *Tally) end(p runtime.Partition, result EndedResult) {
	t.addPartition(p.Job, func() (label, name string) { return t.redactor.Shown(p.Label()), t.redactor.Shown(p.Name()) }, result)
}

// addPartition adds a partition of a job. names returns its label and its name, both without
// secrets.
func (t *Tally) addPartition(job *compile.Job, names func() (label, name string), result EndedResult) {
	one := t.jobs[job]
	total := &one.result
	if total.Partitions == nil {
		*total = EndedResult{Result: result.Result, First: result.First}
		total.Root = t.rootID
		return
	}
	if result.Seen != nil {
		one.seen.Add(result.Seen)
	}
	total.addPartition(names, result)
	switch {
	case job.KeepFor == nil:
		total.keep(result.Kept)
	case !total.keepByKey(result.Kept) && !one.full:
		one.full = true
		t.log.Warn(fmt.Sprintf("Job '%s': values are kept for %d keys of keepFor at most, so the next run reads the other partitions "+
			"from the beginning", job.ID(), maxKeys), "event", "warn", "code", "kept_full", "job", job.ID())
	}
}

// Conclude completes the results of all jobs, with the findings about their partitions, and logs them. It
// returns them, parents first. err is the error that ended the run before all partitions had ended, or nil.
// Nothing can be added to the tally after that.
func (t *Tally) Conclude(err error) []runtime.Result { return resultsOf(t.concludeTree(err)) }

func resultsOf(ends []EndedResult) []runtime.Result {
	return lists.Map(ends, func(one EndedResult) runtime.Result { return one.Result })
}

// concludeTree is Conclude for results with their details.
func (t *Tally) concludeTree(err error) []EndedResult {
	partitions := t.conclude(err)
	t.logPartitions(partitions)
	if err == nil {
		t.logKept(partitions)
	}
	return partitions
}

// conclude completes the results of all jobs, and returns them, parents first.
func (t *Tally) conclude(err error) []EndedResult {
	list, complete := make([]EndedResult, len(t.all)), true
	for i, job := range t.all {
		r := &t.jobs[job].result
		for _, f := range t.findings(job) {
			if err != nil {
				break
			}
			f.Message, f.Because = t.redactor.Shown(f.Message), t.redactor.Shown(f.Because)
			r.Findings = append(r.Findings, f)
			runtime.LogFinding(t.log, r.Job, job, f)
		}
		switch parent := t.jobs[job.Parent]; {
		case r.Outcome == "" && err == nil && parent != nil && parent.result.Reason == runtime.ReasonPartitionLimit:
			r.Outcome, r.Reason = rules.Limited, parent.result.Reason
			r.Message = r.describePartitions()
		case r.Outcome == "" && err == nil:
			r.Outcome, r.Reason, r.Message = rules.Complete, runtime.ReasonPartitions, r.describePartitions()
		case r.Outcome == "":
			r.Outcome, r.Reason, r.Message = rules.Failed, runtime.ReasonError, "the run ended before this job"
		case err != nil && r.Outcome != rules.Failed && r.Partitions != nil: // further partitions may follow
			r.Outcome, r.Reason = rules.Failed, runtime.ReasonError
			r.Message = fmt.Sprintf("the run ended after %s of this job", wording.Counted(r.Partitions.Count, "partition"))
		}
		r.Refused = t.refuses(r.Result)
		list[i], complete = *r, complete && r.Outcome == rules.Complete && !r.Refused
	}
	for i, job := range t.all {
		one := t.jobs[job]
		if list[i].StartsOver = !complete || one.keptStays; list[i].StartsOver || list[i].Kept == nil {
			list[i].Kept = one.kept
		} else if job.KeepFor != nil {
			list[i].keepEarlier(one.kept)
		}
	}
	return list
}

// findings returns the findings about the partitions of a job, or about their absence.
func (t *Tally) findings(job *compile.Job) (found []trace.Finding) {
	one := t.jobs[job]
	partitions := one.result.Partitions
	if partitions == nil {
		return nil
	}
	if parent := t.jobs[job.Parent]; parent != nil {
		if f := evidence.AuditRestart(job, parent.result.Findings); f != nil {
			found = append(found, *f)
		}
	}
	if partitions.Count > 1 || one.result.Items == 0 { // the failure of the only one that has items has been told
		if f := evidence.AuditPartitions(job, rules.PartitionFacts{Failed: partitions.Skipped, Of: partitions.Count}); f != nil {
			found = append(found, *f)
		}
	}
	values := one.seen.Values
	if f := t.missing.Finding(job, partitions.Count, t.leavesOut, values); f != nil {
		found = append(found, *f)
	}
	found = append(found, values.Findings(job, t.missing)...)
	if f := values.StaysFinding(job, one.kept, one.result.Kept); f != nil {
		found = append(found, *f)
	}
	if f := one.seen.Finding(job); f != nil && partitions.Count > 0 {
		found = append(found, *f)
	}
	if f := one.seen.HeaderFinding(job); f != nil {
		found = append(found, *f)
	}
	if f := one.seen.Detail.Finding(job); f != nil {
		found = append(found, *f)
	}
	if f := one.seen.Only.Finding(job); f != nil {
		found = append(found, *f)
	}
	if f := one.seen.Items.Finding(job); f != nil {
		found = append(found, *f)
	}
	return found
}

// leavesOut reports whether the filter of a job has left out items, and whether it has left out all of them.
func (t *Tally) leavesOut(job *compile.Job) (some, all bool) {
	if one := t.jobs[job]; one != nil && one.result.Filtered > 0 {
		return true, one.result.Items == 0
	}
	return false, false
}

// logPartitions logs how the partitions of each job ended.
func (t *Tally) logPartitions(results []EndedResult) {
	for _, r := range results {
		if r.Partitions == nil || r.Outcome == rules.Failed {
			continue
		}
		level := slog.LevelInfo
		if r.Outcome == rules.Partial {
			level = slog.LevelWarn
		}
		t.log.Log(context.Background(), level, fmt.Sprintf("Job '%s': %s", r.Job, t.redactor.Shown(r.Message)),
			"event", "stop", "job", r.Job, "outcome", r.Outcome, "partitions", r.Partitions.Count)
	}
}

// logKept logs why the values that are kept from run to run have not changed, and the remedy, or that there are none.
func (t *Tally) logKept(results []EndedResult) {
	incomplete := slices.IndexFunc(results, func(r EndedResult) bool { return r.Outcome != rules.Complete || r.Refused })
	if incomplete < 0 {
		t.warnOfNil(results)
		return
	}
	var keepers []string
	for _, job := range t.all {
		if len(job.Keeps) > 0 {
			keepers = append(keepers, fmt.Sprintf("'%s'", job.ID()))
		}
	}
	if keepers == nil || t.forgets {
		return
	}
	r, fix := results[incomplete], ""
	if r.Outcome == rules.Partial {
		fix = "; if an error like this is how the API says that there is nothing, end the partition with onError"
	}
	why := fmt.Sprintf("%s: %s", r.Outcome, t.redactor.Shown(r.Message))
	if r.Outcome == rules.Complete { // it is refused for its findings
		why = "refused (" + strings.Join(lists.Map(r.Findings, func(f trace.Finding) string { return f.ID }), ", ") + ")"
	}
	const message = "Job %s: the kept values are those of the run before, so the next run requests the same again, " +
		"because job %s is %s%s"
	t.log.Warn(fmt.Sprintf(message, strings.Join(keepers, ", "), r.Job, why, fix), "event", "kept_unchanged", "job", r.Job)
}

// warnOfNil warns of values for the next run that were nil in every partition, or with keepFor in one, in this run and before,
// as a list without partitions does when it ends.
func (t *Tally) warnOfNil(results []EndedResult) {
	for i, job := range t.all {
		r := results[i]
		if r.Partitions == nil || r.Partitions.Count == 0 || r.StartsOver {
			continue
		}
		for _, e := range job.Keeps {
			partitions := nilIn(job, r.Kept[e.Rule.Target])
			if partitions != "" && (r.Items+r.Filtered > 0 || !compile.AccumulatesItems(e)) {
				t.log.Warn(fmt.Sprintf("Job '%s': %s is nil or empty after the last page of %s: %s", r.Job, e.Rule.ID, t.redactor.Shown(partitions),
					runtime.NothingKept), "event", "warn", "code", "nil "+e.Rule.ID, "job", r.Job)
			}
		}
	}
}

// nilIn says which partitions of a job have nil for a value that it keeps: each of them, or with keepFor some that had
// items. It returns "" if there are none.
func nilIn(job *compile.Job, kept any) string {
	const each = "each partition"
	if kept == nil {
		return each
	}
	byKey, _ := kept.(map[string]any)
	if job.KeepFor == nil || len(byKey) == 0 {
		return ""
	}
	var keys []string
	for key, v := range byKey {
		if v == nil {
			keys = append(keys, key)
		}
	}
	switch n := len(keys); n {
	case 0:
		return ""
	case len(byKey):
		return each
	default:
		return fmt.Sprintf("%s, such as %s", wording.Counted(n, "partition"), slices.Min(keys))
	}
}

// LogStops logs why the jobs without variables stopped, as their runs do. It is for jobs that ran
// on another machine.
func (t *Tally) LogStops() {
	for _, job := range t.all {
		if r := t.jobs[job].result; r.Partitions == nil && r.Outcome != "" && r.Outcome != rules.Failed {
			runtime.LogStop(t.log, job, t.redactor.Shown(r.Job), r.Pages, r.Result)
		}
	}
}

// save returns the state of the tally for a checkpoint.
func (t *Tally) save() tallyState {
	s := tallyState{Missing: t.missing.Save(), Seen: map[string]*evidence.Seen{}}
	for _, job := range t.all {
		one := t.jobs[job]
		if one.seen != nil && !one.seen.Empty() {
			s.Seen[job.ID()] = one.seen
		}
		if one.result.Outcome != "" {
			s.Results = append(s.Results, one.result)
		}
	}
	return s
}

// restore adds a state that save returned and check accepted.
func (t *Tally) restore(s tallyState) {
	t.missing.Merge(s.Missing, t.byID)
	for id, seen := range s.Seen {
		if one := t.jobs[t.byID[id]]; one != nil && one.seen != nil && seen != nil {
			*one.seen = *seen
		}
	}
	for _, r := range s.Results {
		t.jobs[t.byID[r.Job]].result = EndedResult{Result: r.Result, First: r.First}
	}
}

// check returns an error for a state that no tally of these jobs can have saved.
func (t *Tally) check(s tallyState) error {
	return cmp.Or(t.checkResults(s.Results), t.checkMissing(s.Missing))
}

func (t *Tally) checkResults(results []EndedResult) error {
	known := map[string]bool{}
	for _, r := range results {
		job := t.byID[r.Job]
		switch {
		case job == nil || (r.Partitions == nil) != (len(job.For) == 0):
			return fmt.Errorf("it has a result of job %q, which is not in this place of the configuration", r.Job)
		case known[r.Job]:
			return fmt.Errorf("it has two results of job %q", r.Job)
		}
		known[r.Job] = true
		if err := r.Check(); err != nil {
			return err
		}
	}
	return nil
}

// checkMissing checks the paths that no item of a parent has had.
func (t *Tally) checkMissing(missing map[string][][]string) error {
	for id, paths := range missing {
		job := t.byID[id]
		if job == nil || job.Parent == nil {
			return fmt.Errorf("it has missing paths of parent items for job %q, which has no parent", id)
		}
		for _, path := range paths {
			if !slices.ContainsFunc(job.RequiredItemPaths, func(needed []string) bool { return slices.Equal(needed, path) }) {
				return fmt.Errorf("it has a path of items that job %q does not read", id)
			}
		}
	}
	return nil
}

// Add adds a step of a task: its facts about children and, if the task has ended, its result.
func (t *Tally) Add(step *Step) {
	t.missing.Merge(step.Missing, t.byID)
	if step.Ending == nil {
		return
	}
	whole := len(step.Ending.Results) > 1
	for _, result := range step.Ending.Results {
		job := t.byID[result.Job]
		switch {
		case job == nil: // a job of another tree
		case whole || result.Partitions != nil:
			t.jobs[job].result = EndedResult{Result: result.Result, First: result.First}
		default:
			t.addPartition(job, func() (label, name string) { return step.Ending.Label, result.Name }, result)
		}
	}
}

// Save returns the tally as JSON, for [Tally.Restore].
func (t *Tally) Save() (json.RawMessage, error) { return json.Marshal(t.save()) }

// Restore replaces the tally by a saved tally of the same jobs. It returns an error if the tally is
// damaged.
func (t *Tally) Restore(saved json.RawMessage) error {
	var s tallyState
	err := value.Unmarshal(saved, &s)
	if err == nil {
		err = t.check(s)
	}
	if err != nil {
		return runtime.UnusableCheckpoint(t.root.ID(), err)
	}
	t.restore(s)
	return nil
}
