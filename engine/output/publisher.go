package output

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"syscall"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// commitInterval bounds what a kill costs: pages since the last commit are extracted
// again. A commit takes about a millisecond.
const commitInterval = 200 * time.Millisecond

// A Publisher writes the items of a run: one file per data type below a directory, or a
// stream of all items. A file appears under its name when all jobs of its data type are
// complete; until then its rows are in a file of the same name with the ending
// [checkpoint.PartialSuffix], which a run that fails leaves.
//
// With a state file, a run that fails or is killed is resumed by the next one with the same
// configuration, and every item is in its file once.
//
// It is an [engine.Sink]. [Publisher.Run] also writes what a run that failed leaves.
type Publisher struct {
	engine  *engine.Engine
	store   *checkpoint.Store
	options PublisherOptions
	log     *slog.Logger
	targets []*target
	byJob   map[string][]*target       // several if the items of a job have several types
	queues  map[*target]*queue         // of targets that concurrent jobs share
	waiting waitingItems               // in the queues
	kept    map[string]json.RawMessage // by job: values for the next run, for a STATE message
	trace   trace
	close   []func() error

	everyPage  bool          // a commit needs a checkpoint of every page
	interval   time.Duration // between commits
	lastCommit time.Time
	writers    map[*checkpoint.Output]string // the root of the job that wrote to an output last
}

var _ engine.Sink = (*Publisher)(nil)

// PublisherOptions are the options of [Open].
type PublisherOptions struct {
	Options

	// Dir is the directory of the files, which is created if there is none. If it is "",
	// Stream receives the items of all jobs.
	Dir string

	// Stream receives the items if there is no directory. If it is nil, they are discarded.
	Stream io.Writer

	// Append adds the items of a run to those in the files, instead of replacing them.
	Append bool

	// Kept has the values that jobs continue from, by job and name. If it is nil, they are
	// those in KeptFile or, if there is none, in the state. The items of jobs that continue
	// from such values are added to those in their files.
	Kept map[string]map[string]any

	// KeptFile is the file in which the values for the next run are saved together with the
	// rows that they are about; "" is none. A state has them, too.
	KeptFile string

	// TraceFile is the file of the trace, which has a line of JSON for each page; "" is none.
	TraceFile string

	// Trace receives the trace if there is no file for it; nil is none.
	Trace io.Writer

	// Order says how the pages of several jobs follow each other.
	Order Order

	// Received says that the pages are those of a run elsewhere: the engine does not run.
	Received bool

	// EveryPage commits after every page, instead of five times a second: what has been
	// passed on cannot be requested again.
	EveryPage bool

	// Reject reports whether the items of a job that a rule has ended must not be published.
	// If it is nil, they are published.
	Reject func(engine.JobResult) bool

	// Guard returns the writer through which a pipe or a device is written, which may block.
	// If it is nil, it is the pipe itself.
	Guard func(io.Writer) io.Writer

	// Log receives what becomes of the files; nil is no log.
	Log *slog.Logger
}

// Order says how the pages of several jobs follow each other.
type Order int

// The orders of pages. With all of them, the items of one job are in their order.
const (
	AnyOrder   Order = iota // jobs take turns, and so do their items in a file
	Sequential              // a job begins when the one before it has ended
	Queued                  // jobs take turns, and the items in a file are those of one job after another; not with a state
)

// Open prepares a run whose files belong to a store. It completes what an earlier run had
// begun to publish, and checks that the engine can continue from the state. Two runs must not
// use a state, or a file, at the same time: the caller locks them. [Publisher.Close] closes the
// store, and so does Open if it fails.
func Open(e *engine.Engine, store *checkpoint.Store, o PublisherOptions) (*Publisher, error) {
	p := &Publisher{
		engine: e, store: store, options: o, log: o.Log, interval: commitInterval,
		kept: map[string]json.RawMessage{}, writers: map[*checkpoint.Output]string{},
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if o.EveryPage || o.Dir == "" && o.Stream != nil {
		p.interval = 0 // items in a stream cannot be discarded when the run resumes
	}
	p.everyPage = o.Order != Sequential && len(e.Info().Roots) > 1
	if err := p.open(); err != nil {
		_ = p.Close()
		return nil, WriteError(err)
	}
	return p, nil
}

func (p *Publisher) open() error {
	if err := p.options.Format.check(); err != nil {
		return err
	}
	if err := p.checkResume(); err != nil {
		return err
	}
	for _, open := range []func() error{p.openTargets, p.openTrace, p.readKept, p.chooseModes, p.openQueues, p.store.Begin} {
		if err := open(); err != nil {
			return err
		}
	}
	p.assignJobs()
	p.engine = p.engine.With(engine.WithKept(p.options.Kept), engine.WithSkippedPages(p.Skipped))
	if p.store.Path() != "" {
		p.engine = p.engine.With(engine.WithResume(p.store.Jobs()))
	}
	return nil
}

// checkResume checks that the engine can continue from the state, before any output is
// truncated. Whoever passes pages on without the engine checks that there.
func (p *Publisher) checkResume() error {
	if p.store.Path() == "" || p.options.Received {
		return nil
	}
	err := p.engine.With(engine.WithResume(p.store.Jobs())).Check()
	if failed := (*engine.Error)(nil); errors.As(err, &failed) {
		failed.Hint = "--restart starts over and replaces the output"
	}
	return err
}

// Engine returns the engine to run: it continues from the values of earlier runs and after
// the last page that was saved.
func (p *Publisher) Engine() *engine.Engine { return p.engine }

// Run runs the engine and publishes what it extracts. When it succeeds, the next run with the
// state is the next increment.
func (p *Publisher) Run(ctx context.Context) (*engine.Result, error) {
	result, err := p.engine.Run(ctx, p.Page)
	if err = p.End(result, err); err == nil {
		err = p.store.End()
	}
	return result, err
}

// Page writes the items of a page, and publishes a file with its last page. With a state, it
// commits the pages now and then.
func (p *Publisher) Page(_ context.Context, page *engine.Page) error {
	return WriteError(p.page(page))
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
	if err := p.trace.page(page); err != nil {
		return err
	}
	if err := p.savePage(page); err != nil || !page.Final || p.engine.Job(page.Root).Partitioned {
		return err
	}
	return p.publishJobs(engine.NewResult([]engine.JobResult{{
		Job: page.Job, Outcome: page.Outcome, Findings: page.Findings, Kept: page.Kept, Repeats: page.Outcome != rules.Complete,
	}}))
}

// Commit marks a job as complete, and writes its items that waited for other jobs. A file is
// published once all of its jobs are complete.
func (p *Publisher) Commit(_ context.Context, job engine.JobResult) error {
	return WriteError(errors.Join(p.endQueues(), p.endJob(job)))
}

// publishJobs publishes the items of those jobs that are complete.
func (p *Publisher) publishJobs(result *engine.Result) error {
	for _, job := range result.Completed(p.options.Reject) {
		if err := p.endJob(job); err != nil {
			return err
		}
	}
	return nil
}

// beginPage removes a page that another job has begun and will request again when the run
// resumes. The jobs below one root are one job.
func (p *Publisher) beginPage(root string, targets []*target) error {
	for _, o := range p.outputs(targets) {
		if before, shared := p.writers[o]; shared && before != root && o.Torn() {
			if err := o.Rollback(); err != nil {
				return err
			}
		}
		p.writers[o] = root
	}
	return nil
}

// outputs returns the outputs that a page is written to.
func (p *Publisher) outputs(targets []*target) []*checkpoint.Output {
	var all []*checkpoint.Output
	for _, t := range targets {
		if t.file != nil {
			all = append(all, t.file.rows)
		}
	}
	if p.trace.file != nil {
		all = append(all, p.trace.file)
	}
	return all
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
	due := page.Final || time.Since(p.lastCommit) >= p.interval
	if !due && !p.everyPage {
		return nil
	}
	position, err := page.Checkpoint()
	if err != nil || position == nil { // the run cannot resume after a page on which it fails
		return err
	}
	if err := p.store.Mark(page.Root, position, p.writtenBy(page.Root)...); err != nil || !due {
		return err
	}
	if err := p.store.Flush(); err != nil {
		return err
	}
	p.log.Debug("checkpoint saved", "event", "checkpoint", "committed_bytes", p.store.Committed())
	p.lastCommit = time.Now()
	return nil
}

// writtenBy returns the outputs that a job, or one below it, wrote to last.
func (p *Publisher) writtenBy(root string) []*checkpoint.Output {
	var all []*checkpoint.Output
	for o, writer := range p.writers {
		if writer == root {
			all = append(all, o)
		}
	}
	return all
}

// Skipped adds the page on which a skipped partition failed to the trace. The engine calls
// it; a program that passes pages on without the engine has to call it, too.
func (p *Publisher) Skipped(page *engine.Page) { p.trace.skip(page) }

// End finishes the output of a run, given its result and its error, which may be nil. It
// publishes the items of all complete jobs, and returns its own errors and that of the run.
func (p *Publisher) End(result *engine.Result, failed error) error {
	err := errors.Join(failed, WriteError(p.end(result)))
	if settled := p.settle(); err == nil { // otherwise it is the same error again
		err = WriteError(settled)
	}
	return err
}

// end writes the queued items, publishes the completed jobs, those of earlier runs included,
// and traces the failures, which are not part of a commit.
func (p *Publisher) end(result *engine.Result) error {
	for _, end := range []func() error{
		p.endQueues, func() error { return p.publishJobs(result) }, p.store.Flush, func() error { return p.trace.failures(result) },
	} {
		if err := end(); err != nil {
			return err
		}
	}
	return nil
}

// settle ends the compression of streams, and completes the rows of files that do not appear.
func (p *Publisher) settle() error {
	var all error
	for _, t := range p.targets {
		if t.stream != nil {
			all = errors.Join(all, t.stream.close())
		} else {
			all = errors.Join(all, t.file.settle())
		}
	}
	return all
}

// Close closes all files and returns the first error.
func (p *Publisher) Close() error {
	var first error
	for _, closeFile := range append(p.close, p.store.Close) {
		if err := closeFile(); err != nil && first == nil {
			first = err
		}
	}
	return WriteError(first)
}

// A FileReport says what became of a file of items.
type FileReport struct {
	File     string   `json:"file"`
	Jobs     []string `json:"jobs"`
	Rows     int64    `json:"rows"`              // of this run and of those that it resumed
	Complete bool     `json:"complete"`          // the rows are in the file
	Partial  string   `json:"partial,omitempty"` // the file that has the rows until they are complete

	LateColumns int `json:"-"` // columns that the header of the partial file does not have
}

// Files returns what became of the files of items.
func (p *Publisher) Files() []FileReport {
	var all []FileReport
	for _, t := range p.targets {
		if t.file == nil {
			continue
		}
		rows := t.file.rows
		r := FileReport{File: rows.Name(), Jobs: t.jobs, Rows: rows.Lines(), Complete: rows.Published()}
		if !r.Complete && rows.Created() {
			r.Partial, r.LateColumns = rows.Path(), t.file.lateColumns()
		}
		all = append(all, r)
	}
	return all
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

// IsStream reports whether a path names a pipe, a device or a socket, which cannot be
// replaced or truncated.
func IsStream(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}

// WriteError gives an error of writing its class, unless it has one.
func WriteError(err error) error {
	switch {
	case err == nil, errors.As(err, new(*engine.Error)):
		return err
	case errors.Is(err, syscall.EPIPE):
		return &engine.Error{Class: failure.IO, Message: "output pipe closed; the extraction is incomplete", Err: err}
	}
	return &engine.Error{Class: failure.IO, Message: fmt.Sprintf("cannot write: %v", err), Err: err}
}
