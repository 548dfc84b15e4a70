package output

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/remedy"
)

// A Publisher writes the items of a run to one file per data type below a directory, or to a
// stream of all items. A file appears under its name when all jobs of its data type are complete;
// until then its rows are in a file with the additional ending [checkpoint.PartialSuffix], which
// remains if the run fails.
//
// With a state file, a failed or killed run is resumed by the next run with the same
// configuration, and every item is in its file exactly once.
//
// [Publisher.Run] also publishes the results of failed runs. A program that passes pages to [Publisher.Page]
// itself, such as those of a run on many machines, must then call [Publisher.End], check [engine.Result.Err],
// and call [Publisher.Finish]: otherwise not all is published, or the state does not end.
type Publisher struct {
	*run
	pipes        pipes        // pipes and devices, which the targets and the trace write to
	targets      targets      // files and streams of the items
	runFiles     runFiles     // trace and recording
	contract     *comparison  // nil without a contract
	commits      commits      // of pages to the state
	kept         keptValues   // values of the earlier run and of this one
	results      results      // of the jobs that are complete
	groups       groups       // of targets that are published together
	publications publications // of these groups
}

// A run is what the parts of a [Publisher] know of the run.
type run struct {
	engine  *engine.Engine // while the outputs are opened, it learns where to continue
	store   *checkpoint.Store
	options PublisherOptions
	log     *slog.Logger
}

// Open prepares a run whose files belong to a store. It completes a publication that an earlier
// run has begun, and checks that the engine can continue from the state. Two runs must not use the
// same state or file at the same time: the caller locks them. [Publisher.Close] also closes the
// store. If Open fails, the caller closes it.
func Open(e *engine.Engine, store *checkpoint.Store, o PublisherOptions) (*Publisher, error) {
	r := &run{engine: e, store: store, options: o, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler))}
	p := &Publisher{run: r, pipes: pipes{guard: o.Guard}}
	if err := p.open(); err != nil {
		_ = p.pipes.close()
		return nil, files.WriteError(err)
	}
	return p, nil
}

// open opens the outputs. The order of its steps matters; the comments say what they need.
func (p *Publisher) open() error {
	if err := p.options.Format.check(); err != nil {
		return err
	}
	p.targets = targets{run: p.run, encoding: encoding{Options: p.options.Options, keys: keysOf(p.engine)}}
	p.runFiles = runFiles{run: p.run}
	p.kept = newKeptValues(p.run)
	modes := modes{p.run, &p.kept}
	if err := modes.checkMerge(); err != nil {
		return err
	}
	if err := modes.checkAppend(); err != nil {
		return err
	}
	if err := modes.checkState(); err != nil {
		return err
	}
	if err := p.checkResume(); err != nil {
		return err
	}
	if err := p.kept.completePublication(); err != nil {
		return err
	}
	var err error
	if p.contract, err = openContract(p.run, &p.targets.encoding); err != nil { // before any file is created, since it may refuse the options
		return err
	}
	if err := p.targets.open(&p.pipes); err != nil {
		return err
	}
	if err := p.runFiles.openTrace(&p.pipes); err != nil {
		return err
	}
	if err := p.runFiles.openRecording(); err != nil {
		return err
	}
	if err := p.kept.read(); err != nil { // opening a file has completed the publication of an earlier run, which saved kept values
		return err
	}
	if err := modes.choose(p.targets.all); err != nil { // a file whose jobs have kept values is appended to
		return err
	}
	if err := p.targets.openQueues(); err != nil { // concurrent jobs with the same target
		return err
	}
	if err := p.store.Begin(); err != nil { // all outputs are known
		return err
	}
	p.targets.assignJobs()
	p.commits = newCommits(p.run, p.targets.live, &p.runFiles, p.contract)
	p.results = results{run: p.run, ended: map[string]engine.JobResult{}}
	p.groups = newGroups(p.run, &p.targets)
	p.publications = publications{run: p.run, targets: &p.targets, kept: &p.kept, results: &p.results, contract: p.contract}
	p.engine = p.engine.With(engine.WithKept(p.kept.beforeRun()), engine.WithSkippedPages(p.Skipped))
	if p.hasState() {
		p.engine = p.engine.With(engine.WithResume(p.store.Jobs()))
	}
	return nil
}

// checkResume checks, before any output is truncated, that the engine can continue from the state.
// A program that receives its pages from elsewhere makes this check there.
func (r *run) checkResume() error {
	if !r.hasState() || r.options.Received {
		return nil
	}
	err := r.engine.With(engine.WithResume(r.store.Jobs())).Check()
	if failed, ok := errors.AsType[*engine.Error](err); ok {
		return failed.WithRemedy("%s", remedy.StartOver)
	}
	return err
}

// hasState reports whether the run can be resumed from a state.
func (r *run) hasState() bool { return r.store.Path() != "" }

// savesKept reports whether values are kept from run to run.
func (r *run) savesKept() bool { return r.options.KeptFile != "" || r.hasState() }

// completePublication completes the publication that an earlier run began.
func (r *run) completePublication(path string) error {
	repaired, err := checkpoint.CompletePublication(path)
	if repaired {
		r.log.Info(path+": completed the publication that an earlier run had begun", "event", "repaired", "file", path)
	}
	return err
}

// Engine returns the engine to run. It continues from the values of earlier runs and after the
// last saved page.
func (p *Publisher) Engine() *engine.Engine { return p.engine }

// Recording returns the file of [PublisherOptions.RecordFile], or nil if the run is not recorded.
func (p *Publisher) Recording() *Recording { return p.runFiles.recording }

// Run runs the engine, publishes its results and closes all files. After success, the next run with
// the state is the next increment.
func (p *Publisher) Run(ctx context.Context) (*engine.Result, error) {
	result, err := p.engine.Run(ctx, p.Page)
	err = p.End(result, err)
	return result, p.Finish(errors.Join(err, p.results.refused()))
}

// Page writes the items of a page. The last page of a file also publishes the file. With a state,
// Page commits at intervals.
func (p *Publisher) Page(_ context.Context, page *engine.Page) error {
	return files.WriteError(p.page(page))
}

func (p *Publisher) page(page *engine.Page) error {
	targets := p.targets.byJob[page.Job]
	if err := p.commits.begin(page, targets); err != nil {
		return err
	}
	for _, t := range targets {
		if err := p.targets.write(t, page); err != nil {
			return err
		}
	}
	if err := p.runFiles.page(page); err != nil {
		return err
	}
	p.contract.page(page)
	if err := p.commits.save(page); err != nil || !page.Final || p.engine.Job(page.Root).Partitioned {
		return err
	}
	job := engine.JobResult{
		Job: page.Job, Outcome: page.Outcome, Reason: page.Reason, Findings: page.Findings, Kept: page.Kept, Known: page.Known,
		StartsOver: page.Outcome != rules.Complete,
	}
	job.Refused = job.Ended() && !p.engine.Auditor().Accepts(job)
	return p.publishJobs(engine.NewResult([]engine.JobResult{job}))
}

// Skipped adds the page on which a skipped partition failed to the trace. The engine calls it; a
// program that passes pages without the engine must call it as well.
func (p *Publisher) Skipped(page *engine.Page) { p.runFiles.trace.skip(page) }

// publishJobs publishes the items of the complete jobs.
func (p *Publisher) publishJobs(result *engine.Result) error {
	for _, job := range result.Completed() {
		if p.results.end(job) {
			p.groups.endJob(job.Job)
		}
	}
	return p.publishDue()
}

// publishDue publishes the groups that can be published.
func (p *Publisher) publishDue() error { return p.groups.publishDue(p.publications.publish) }

// endTargets writes the items that wait for other jobs or for the end of a stream. It saves the
// values of completed jobs that waited for this, even if another job of the stream has failed.
func (p *Publisher) endTargets() error {
	if err := p.targets.end(); err != nil {
		return err
	}
	return p.publishDue()
}

// End finishes the output of a run, given its result and its error, which may be nil. It publishes
// the items of all complete jobs, and returns the error of the run joined with its own errors. The
// result receives the findings about files, so that [engine.Result.Err] also names the jobs that the run
// refuses for them. If the values of a job for the next run could not be saved, the result has the
// values of the previous run instead. End logs which files are not published, and why.
func (p *Publisher) End(result *engine.Result, failed error) error {
	err := errors.Join(failed, files.WriteError(p.end(result, failed)), files.WriteError(p.publications.unmerged.err))
	p.kept.restore(result)
	err = cmp.Or(err, files.WriteError(p.targets.settle())) // with both, the same error would be repeated
	err = errors.Join(err, files.WriteError(p.runFiles.publish(err == nil && !rejects(result))))
	for _, t := range p.targets.all {
		if t.file != nil {
			p.logPartial(t, result)
		}
	}
	return err
}

// end writes the queued items, publishes the completed jobs, also if an earlier run has completed them,
// and traces the failures, which are not part of a commit. The order of its steps matters; the comments
// say what they need.
func (p *Publisher) end(result *engine.Result, failed error) error {
	if err := p.commits.commit(); err != nil { // the pages before a failure
		return err
	}
	if err := p.endTargets(); err != nil {
		return err
	}
	if err := p.publishJobs(result); err != nil { // all items are written; compares the data of each file with the contract
		return err
	}
	// The other jobs, such as jobs that write to a stream, are in no group of files.
	p.contract.audit(p.results.jobs(), &p.results)
	p.results.addTo(result, p.groups.share) // all comparisons are made
	p.contract.mark()
	if err := p.store.Flush(); err != nil {
		return err
	}
	if err := p.runFiles.end(result); err != nil { // after the commit, as a run that resumes may fail otherwise
		return err
	}
	p.groups.succeeded = failed == nil && !rejects(result)
	if err := p.publishDue(); err != nil {
		return err
	}
	if err := p.contract.save(&p.targets, &p.results); err != nil { // changes the contract, with which nothing is compared any more
		return err
	}
	return p.discard(result) // the findings say which lists are refused
}

// rejects reports whether the items of a job must not be published.
func rejects(result *engine.Result) bool { return len(result.Completed()) < len(result.Jobs) }

// discard removes refused lists from the state, so that the next run requests them again. A list is also
// removed if it shares an unpublished file with a refused list.
func (p *Publisher) discard(result *engine.Result) error {
	refused := p.refusedRoots(result)
	if len(refused) == 0 {
		return nil
	}
	outputs := p.targets.addSharingRoots(refused)
	if len(refused) == len(p.engine.Info().Roots) {
		for _, written := range p.runFiles.all() {
			outputs = append(outputs, written.file)
		}
	}
	p.contract.forget(refused)
	return p.store.Discard(slices.Collect(maps.Keys(refused)), outputs...)
}

// refusedRoots returns the roots of the refused lists that the next run can request again with another
// result: lists with findings, with partitions that failed or with a guard that ended them, lists that failed for
// pages before the last, lists that continue from kept values, and lists with rows that cannot be merged. A list
// without findings that a limit ended would end at the same place again, so it is kept. So are all lists of a
// collection, because it would collect the same pages again.
func (p *Publisher) refusedRoots(result *engine.Result) map[string]bool {
	refused := map[string]bool{}
	if p.options.Received {
		return refused
	}
	for _, job := range result.Jobs {
		info := p.engine.Job(job.Job)
		repeatable := job.Outcome != rules.Limited || len(job.Evidence()) > 0 || len(info.Keepers) > 0
		if job.Refused && repeatable || job.Error != nil && job.Error.CauseBefore || slices.Contains(p.publications.unmerged.jobs, job.Job) {
			refused[info.Root] = true
		}
	}
	return refused
}

// Finish ends the state, unless the run has failed, and closes all files. The caller has reported
// the result, and passes the error of the run, which may be nil. Finish returns this error joined with
// its own errors.
func (p *Publisher) Finish(failed error) error {
	err := errors.Join(failed, files.WriteError(p.pipes.close()))
	if err == nil {
		err = p.store.End()
	}
	return errors.Join(err, p.Close())
}

// Close closes all files, also the files of the store, and returns the first error.
func (p *Publisher) Close() error {
	p.targets.waiting.Close()
	pipes := p.pipes.close()
	store := p.store.Close()
	return files.WriteError(cmp.Or(pipes, store))
}
