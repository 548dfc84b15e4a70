package output

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/remedy"
)

// commitInterval bounds the loss when a run is killed: pages since the last commit are extracted
// again. A commit takes about a millisecond.
const commitInterval = 200 * time.Millisecond

// A Publisher writes the items of a run to one file per data type below a directory, or to a
// stream of all items. A file appears under its name when all jobs of its data type are complete;
// until then its rows are in a file with the additional ending [checkpoint.PartialSuffix], which
// remains if the run fails.
//
// With a state file, a failed or killed run is resumed by the next run with the same
// configuration, and every item is in its file exactly once.
//
// A Publisher is an [engine.Sink]. [Publisher.Run] also publishes the results of failed runs.
type Publisher struct {
	engine  *engine.Engine
	store   *checkpoint.Store
	options PublisherOptions
	log     *slog.Logger

	encoding encoding // of the items
	targets  []*target
	byJob    map[string][]*target // targets of each job; several if its items have several types
	queues   map[*target]*queue   // queues of targets that concurrent jobs share
	waiting  waitingItems         // items waiting in the queues
	close    []func() error       // close streams and queues

	trace     trace
	recording *Recording  // nil if the run is not recorded
	contract  *comparison // nil without a contract

	commits   commits
	ended     map[string]engine.JobResult // results of the jobs that have ended
	groups    groups
	kept      keptValues
	findings  findings
	unmerged  unmerged
	succeeded bool // whether the run has ended, and nothing has failed
}

// commits decides when pages are committed to the state, and with which outputs.
type commits struct {
	marksEveryPage bool          // whether a commit needs a checkpoint of every page
	interval       time.Duration // between commits
	last           time.Time
	writers        map[*checkpoint.Output]string // root of the job that last wrote to each output
}

// unmerged holds the jobs with rows that cannot be merged.
type unmerged struct {
	jobs []string
	err  error // why the rows cannot be merged
}

var _ engine.Sink = (*Publisher)(nil)

// Open prepares a run whose files belong to a store. It completes a publication that an earlier
// run has begun, and checks that the engine can continue from the state. Two runs must not use the
// same state or file at the same time: the caller locks them. [Publisher.Close] also closes the
// store. If Open fails, the caller closes it.
func Open(e *engine.Engine, store *checkpoint.Store, o PublisherOptions) (*Publisher, error) {
	p := &Publisher{
		engine: e, store: store, options: o, log: o.Log, encoding: encoding{Options: o.Options},
		ended: map[string]engine.JobResult{}, kept: newKeptValues(o.Fingerprint),
		commits: commits{interval: commitInterval, writers: map[*checkpoint.Output]string{}},
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if o.CommitEveryPage || o.Dir == "" && o.Stream != nil {
		p.commits.interval = 0 // items in a stream cannot be discarded when the run resumes
	}
	p.commits.marksEveryPage = o.Order != Sequential && len(e.Info().Roots) > 1
	if err := p.open(); err != nil {
		_ = p.closeStreams()
		return nil, files.WriteError(err)
	}
	return p, nil
}

// open opens the outputs. The order of its steps matters; the comments say what they need.
func (p *Publisher) open() error {
	if err := p.options.Format.check(); err != nil {
		return err
	}
	p.encoding.keys = keysOf(p.engine)
	for _, open := range []func() error{
		p.checkMerge, p.checkAppend, p.checkMode, p.checkResume,
		p.repairKept,
		p.openContract, // before any file is created, since it may refuse the options
		p.openTargets, p.openTrace, p.openRecording,
		p.readKept,    // opening a file has completed the publication of an earlier run, which saved kept values
		p.chooseModes, // a file whose jobs have kept values is appended to
		p.openQueues,  // concurrent jobs with the same target
		p.store.Begin, // all outputs are known
	} {
		if err := open(); err != nil {
			return err
		}
	}
	p.assignJobs()
	p.assignGroups()
	p.engine = p.engine.With(engine.WithKept(p.kept.before), engine.WithSkippedPages(p.Skipped))
	if p.store.Path() != "" {
		p.engine = p.engine.With(engine.WithResume(p.store.Jobs()))
	}
	return nil
}

// checkResume checks, before any output is truncated, that the engine can continue from the state.
// A program that receives its pages from elsewhere makes this check there.
func (p *Publisher) checkResume() error {
	if p.store.Path() == "" || p.options.Received {
		return nil
	}
	err := p.engine.With(engine.WithResume(p.store.Jobs())).Check()
	if failed, ok := errors.AsType[*engine.Error](err); ok {
		return failed.WithRemedy("%s", remedy.StartOver)
	}
	return err
}

// Engine returns the engine to run. It continues from the values of earlier runs and after the
// last saved page.
func (p *Publisher) Engine() *engine.Engine { return p.engine }

// Run runs the engine and publishes its results. After success, the next run with the state is the
// next increment.
func (p *Publisher) Run(ctx context.Context) (*engine.Result, error) {
	result, err := p.engine.Run(ctx, p.Page)
	if err = p.End(result, err); err == nil {
		err = p.store.End()
	}
	return result, err
}

// Page writes the items of a page. The last page of a file also publishes the file. With a state,
// Page commits at intervals.
func (p *Publisher) Page(_ context.Context, page *engine.Page) error {
	return files.WriteError(p.page(page))
}

func (p *Publisher) page(page *engine.Page) error {
	targets := p.byJob[page.Job]
	if err := p.beginPage(page.Root, targets); err != nil {
		return err
	}
	for _, t := range targets {
		if err := p.writeItems(t, page); err != nil {
			return err
		}
	}
	if err := errors.Join(p.trace.page(page), p.recording.flush()); err != nil {
		return err
	}
	p.contract.page(page)
	if err := p.savePage(page); err != nil || !page.Final || p.engine.Job(page.Root).Partitioned {
		return err
	}
	job := engine.JobResult{
		Job: page.Job, Outcome: page.Outcome, Reason: page.Reason, Findings: page.Findings, Kept: page.Kept,
		StartsOver: page.Outcome != rules.Complete,
	}
	job.Refused = job.Ended() && !p.engine.Auditor().Accepts(job)
	return p.publishJobs(engine.NewResult([]engine.JobResult{job}))
}

// Commit marks a job as complete, and writes its items that waited for other jobs. A file is
// published when all of its jobs are complete.
func (p *Publisher) Commit(_ context.Context, job engine.JobResult) error {
	err := p.endQueues()
	p.endJob(job)
	return files.WriteError(cmp.Or(errors.Join(err, p.publishDue()), p.refusal()))
}

// publishJobs publishes the items of the complete jobs.
func (p *Publisher) publishJobs(result *engine.Result) error {
	for _, job := range result.Completed() {
		p.endJob(job)
	}
	return p.publishDue()
}

// beginPage removes a page that another job has begun and will request again when the run resumes.
// All jobs below one root count as one job.
func (p *Publisher) beginPage(root string, targets []*target) error {
	for _, o := range p.outputs(targets) {
		if before, shared := p.commits.writers[o]; shared && before != root && o.Torn() {
			if err := o.Rollback(); err != nil {
				return err
			}
		}
		p.commits.writers[o] = root
	}
	return nil
}

// outputs returns the outputs that a page is written to.
func (p *Publisher) outputs(targets []*target) []*checkpoint.Output {
	var outputs []*checkpoint.Output
	for _, t := range targets {
		if t.file != nil {
			outputs = append(outputs, t.file.rows)
		}
	}
	if p.trace.file != nil {
		outputs = append(outputs, p.trace.file)
	}
	return outputs
}

// writeItems writes the items of a page that belong to a target.
func (p *Publisher) writeItems(t *target, page *engine.Page) error {
	if q := p.queues[t]; q != nil {
		return q.page(page)
	}
	for dataType, items := range t.lists(page) {
		if _, err := items.WriteTo(t.writer(dataType)); err != nil {
			return err
		}
	}
	if t.stream != nil {
		return t.stream.flush()
	}
	return nil
}

// savePage commits the pages of a job to the state if a commit is due.
func (p *Publisher) savePage(page *engine.Page) error {
	if p.store.Path() == "" {
		return nil
	}
	due := page.Final || time.Since(p.commits.last) >= p.commits.interval
	if !due && !p.commits.marksEveryPage {
		return nil
	}
	position, err := page.Checkpoint()
	if err != nil || position == nil { // the run cannot resume after a page on which it fails
		return err
	}
	if due {
		p.markContract()
	}
	if err := p.store.Mark(page.Root, position, p.writtenBy(page.Root)...); err != nil || !due {
		return err
	}
	if err := p.store.Flush(); err != nil {
		return err
	}
	p.log.Debug("checkpoint saved", "event", "checkpoint", "committed_bytes", p.store.Committed())
	p.commits.last = time.Now()
	return nil
}

// writtenBy returns the outputs last written by a job or one of its descendants, and the recording.
func (p *Publisher) writtenBy(root string) []*checkpoint.Output {
	var outputs []*checkpoint.Output
	for o, writer := range p.commits.writers {
		if writer == root {
			outputs = append(outputs, o)
		}
	}
	if p.recording != nil {
		outputs = append(outputs, p.recording.rows)
	}
	return outputs
}

// Skipped adds the page on which a skipped partition failed to the trace. The engine calls it; a
// program that passes pages without the engine must call it as well.
func (p *Publisher) Skipped(page *engine.Page) { p.trace.skip(page) }

// End finishes the output of a run, given its result and its error, which may be nil. It publishes
// the items of all complete jobs, and returns the error of the run joined with its own errors. If the
// values of a job for the next run could not be saved, the result has the values of the previous run
// instead.
func (p *Publisher) End(result *engine.Result, failed error) error {
	err := errors.Join(failed, files.WriteError(p.end(result, failed)), p.refusal(), files.WriteError(p.unmerged.err))
	for i := range result.Jobs {
		if job := &result.Jobs[i]; p.savesKept() && !p.kept.saved[job.Job] {
			job.Kept = p.kept.before[job.Job]
		}
	}
	err = cmp.Or(err, files.WriteError(p.settle())) // with both, the same error would be repeated
	return errors.Join(err, files.WriteError(p.publishRecords(result, err)))
}

// end writes the queued items, publishes the completed jobs, also if an earlier run has completed them,
// and traces the failures, which are not part of a commit. The order of its steps matters; the comments
// say what they need.
func (p *Publisher) end(result *engine.Result, failed error) error {
	for _, end := range []func() error{
		p.endQueues,
		func() error { return p.publishJobs(result) }, // all items are written; compares the data of each file with the contract
		p.auditRest, // compares the data of the other jobs
		func() error { return p.addFindings(result) }, // all comparisons are made
		func() error { p.markContract(); return p.store.Flush() },
		func() error { return p.trace.failures(result) }, // after the commit, as a run that resumes may fail otherwise
		p.recording.flush,
		func() error { p.succeeded = failed == nil && !p.rejects(result); return p.publishDue() },
		p.saveContract, // changes the contract, with which nothing is compared any more
		func() error { return p.discard(result) }, // the findings say which lists are refused
	} {
		if err := end(); err != nil {
			return err
		}
	}
	return nil
}

// discard removes refused lists from the state, so that the next run requests them again. A list is also
// removed if it shares an unpublished file with a refused list.
func (p *Publisher) discard(result *engine.Result) error {
	refused := p.refusedRoots(result)
	if len(refused) == 0 {
		return nil
	}
	outputs := p.addSharingRoots(refused)
	if all := p.engine.Info().Roots; len(refused) == len(all) {
		for _, record := range p.records() {
			if record.file != nil {
				outputs = append(outputs, record.file)
			}
		}
	}
	p.forgetContract(refused)
	return p.store.Discard(slices.Collect(maps.Keys(refused)), outputs...)
}

// refusedRoots returns the roots of the refused lists that the next run can request again with another
// result: lists with findings, with partitions that failed or with a guard that ended them, lists that
// continue from kept values, and lists with rows that cannot be merged. Any other list that a limit ended
// would end there again. A collection would collect the same pages, so it has no such lists.
func (p *Publisher) refusedRoots(result *engine.Result) map[string]bool {
	refused := map[string]bool{}
	if p.options.Received {
		return refused
	}
	for _, job := range result.Jobs {
		info := p.engine.Job(job.Job)
		repeatable := job.Outcome != rules.Limited || len(job.Evidence()) > 0 || len(info.Keepers) > 0
		if job.Refused && repeatable || slices.Contains(p.unmerged.jobs, job.Job) {
			refused[info.Root] = true
		}
	}
	return refused
}

// addSharingRoots adds the roots whose jobs share an unpublished file with jobs of the given roots, until
// there are no more. It returns these files.
func (p *Publisher) addSharingRoots(roots map[string]bool) (outputs []*checkpoint.Output) {
	for more := true; more; {
		more, outputs = false, nil
		for _, t := range p.targets {
			isAmong := func(job string) bool { return roots[p.engine.Job(job).Root] }
			if t.file == nil || t.file.rows.Finished() || !slices.ContainsFunc(t.jobs, isAmong) {
				continue
			}
			outputs = append(outputs, t.file.rows)
			for _, job := range t.jobs {
				more = more || !isAmong(job)
				roots[p.engine.Job(job).Root] = true
			}
		}
	}
	return outputs
}

// settle ends the compression of streams, and completes the rows of unpublished files.
func (p *Publisher) settle() error {
	var errs error
	for _, t := range p.targets {
		if t.stream != nil {
			errs = errors.Join(errs, p.endStream(t.stream))
		} else {
			errs = errors.Join(errs, t.file.settle())
		}
	}
	return errs
}

// Close closes all files, also the files of the store, and returns the first error.
func (p *Publisher) Close() error {
	streams := p.closeStreams()
	store := p.store.Close()
	return files.WriteError(cmp.Or(streams, store))
}

// closeStreams closes the queues, pipes and devices, and returns the first error.
func (p *Publisher) closeStreams() (first error) {
	for _, closeStream := range p.close {
		first = cmp.Or(first, closeStream())
	}
	return first
}

// openStream opens a pipe or a device for writing.
func (p *Publisher) openStream(path string) (io.Writer, error) {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	p.close = append(p.close, file.Close)
	if p.options.Guard == nil {
		return file, nil
	}
	return p.options.Guard(file), nil
}
