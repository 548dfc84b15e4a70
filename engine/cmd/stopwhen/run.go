package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	formats "github.com/stopwhen/stopwhen/engine/output"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

func (a *app) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run CONFIG",
		Short: "Extract what a configuration describes",
		Long: `Run all jobs of a configuration, in order. Items are written as NDJSON, one item
per line, to standard output or, with --out, to DIR/<dataType>.ndjson. With
--format they are CSV or Singer messages, compressed or not. The log goes to
standard error and shows why each job stopped.

CONFIG is a JSON file, a YAML file (named .yaml or .yml), or - for standard
input. Items of pages fetched before a failure are written, too.`,
		Example: `  stopwhen run users.json > users.ndjson
  stopwhen run users.json --out data --format csv.gz
  stopwhen run users.json --out data --trace trace.json
  stopwhen run users.yaml --env API_TOKEN --fail-on limited,guarded
  stopwhen run users.json --out data --state users.state --prefetch auto
  stopwhen run --fixture offset/short-page-stops --explain`,
		Args: a.oneConfig,
		RunE: func(cmd *cobra.Command, args []string) error { return a.runConfig(cmd, args) },
	}
	a.runFlags(cmd)
	a.outFlag(cmd, "-")
	f := cmd.Flags()
	f.StringVar(&a.flags.record, "record", "", "`FILE` for a recording of all requests and responses (HAR); - is standard output")
	f.BoolVar(&a.flags.explain, "explain", false, "print the compiled rules without making requests")
	return cmd
}

func (a *app) runConfig(cmd *cobra.Command, args []string) error {
	if err := a.checkRunFlags(cmd); err != nil {
		return err
	}
	a.placeholders = a.flags.explain
	l, err := a.load(args)
	if err != nil {
		return err
	}
	defer l.Close()
	if a.flags.explain {
		return a.explain(l)
	}
	if err := a.checkPaths(l, args); err != nil {
		return err
	}
	l.forgets = a.flags.kept == "" && a.flags.state == "" && a.items.Format.Kind != formats.Singer
	return a.runLoaded(l)
}

// runLoaded runs a configuration with the log, the progress line and the
// recording that the flags request. Everything on standard error passes through
// the redactor.
func (a *app) runLoaded(l *loaded) error {
	if err := l.Check(); err != nil {
		return err
	}
	logger, bar, closeLog, err := a.openLog(l.Redactor(), l.Debug())
	if err != nil {
		return err
	}
	defer closeLog()
	prefetch, _ := a.prefetch()
	timeout, _ := a.timeout()
	if l.RotatesTokens() {
		tokens, err := a.openTokens()
		if err != nil {
			return err
		}
		l.Engine = l.With(engine.WithTokenStore(tokens))
	}
	l.Engine = l.With(
		engine.WithLogger(logger), engine.WithPrefetch(prefetch), engine.WithParallelJobs(a.flags.parallel), engine.WithTimeout(timeout),
	)
	if a.flags.trace != "" || bar != nil {
		l.Engine = l.With(engine.WithVerdicts())
	}
	return a.extract(l, logger, bar)
}

// openLog opens the log and, on a terminal, the progress line of a run. They pass through
// a redactor.
func (a *app) openLog(redactor *redact.Redactor, debug bool) (_ *slog.Logger, _ *progress, closeLog func(), err error) {
	bar := a.newProgress(debug)
	var w io.Writer = a.stderr
	if bar != nil {
		w = bar
	}
	redacted := redactor.Writer(a.guard(w))
	logger, err := a.newLogger(redacted, debug)
	return logger, bar, func() { _ = redacted.Close() }, err
}

// extract runs the jobs and writes their pages.
func (a *app) extract(l *loaded, logger *slog.Logger, bar *progress) (err error) {
	for _, w := range l.Warnings() {
		logger.Warn(fmt.Sprintf("%s: %s", w.Path, w.Message), "event", "warn", "place", w.Location())
	}
	if a.discarded != "" {
		logger.Warn(fmt.Sprintf("standard output is closed or %s: %s will be discarded", os.DevNull, a.discarded), "event", "discarded")
	}
	state, err := a.openState(l, logger)
	if err != nil {
		return err
	}
	defer state.Close()
	if err := a.checkSource(l, state); err != nil {
		return err
	}
	out, err := a.openOutput(l, state)
	if err != nil || out == nil {
		return err
	}
	defer func() {
		if err == nil { // a run that has not told its success is completed by the next one
			err = state.End()
		}
	}()
	if a.flags.record != "" {
		tape, failed := a.startRecording(l)
		if failed != nil {
			return errors.Join(failed, out.Close())
		}
		defer func() { err = errors.Join(err, tape.end(logger)) }()
	}
	return a.runJobs(l, out, bar)
}

// pagesRemain is what remains of a run that a signal ends.
const pagesRemain = "the pages written so far are complete"

// runJobs runs the jobs and completes what they write.
func (a *app) runJobs(l *loaded, out *output, bar *progress) error {
	a.remains = pagesRemain
	ctx, stop := a.catchSignals()
	defer stop()
	if a.takesTurns(l) {
		a.threads.useOne()
		defer a.threads.useAll()
	}
	start := time.Now()
	out.log.Debug("starting "+value.Counted(len(l.Jobs()), "job"), "event", "run_start", "config", l.name, "jobs", l.Jobs())
	result, err := a.runUntilSignal(ctx, l.source(), l.Engine, func(ctx context.Context, page *engine.Page) error {
		if page.Bytes >= runtime.LargePage {
			a.threads.useAll()
		}
		bar.page(page)
		defer bar.written()
		if a.onPage != nil {
			a.onPage(page)
		}
		return out.page(ctx, page)
	})
	bar.done()
	err = errors.Join(signalError(ctx, err), out.end(result))
	if settled := out.settle(); err == nil { // otherwise it is the same error again
		err = settled
	}
	out.logPartial()
	err = errors.Join(err, a.writeResult(out, result), out.Close())
	if l.forgets {
		warnForgotten(out.log, result)
	}
	logSummary(out.log, result, time.Since(start), err)
	if err != nil {
		return err
	}
	return a.failOn(result)
}

// takesTurns reports whether a run has one page at a time, unless its pages are large.
func (a *app) takesTurns(l *loaded) bool {
	prefetch, _ := a.prefetch()
	return (prefetch == 0 || prefetch == 1) && a.flags.parallel <= 1 && l.pages == nil
}

// openOutput opens the outputs and prepares the engine: it continues from the values of
// earlier runs and, with --state, after the last page that was saved. It returns no output
// if a collection has nothing to write.
func (a *app) openOutput(l *loaded, state *checkpointer) (_ *output, err error) {
	o := &output{app: a, engine: l.Engine, log: state.log, state: state}
	defer func() {
		if err != nil {
			_ = o.Close()
		}
	}()
	if err := o.openItems(); err != nil {
		return nil, err
	}
	if err := o.openTrace(); err != nil {
		return nil, err
	}
	if collected, err := o.collected(l); err != nil || collected {
		return nil, errors.Join(err, o.Close())
	}
	if err := a.readKept(l, state); err != nil {
		return nil, err
	}
	if o.kept, err = l.carryover.encode(); err != nil {
		return nil, err
	}
	if err := o.chooseModes(l.carryover); err != nil {
		return nil, err
	}
	if err := o.assignJobs(); err != nil {
		return nil, err
	}
	if a.flags.parallel > 1 && l.pages == nil {
		if err := o.queueJobs(); err != nil {
			return nil, err
		}
	}
	l.skipped = o.skipped
	l.Engine, err = state.begin(l.With(engine.WithKept(l.carryover), engine.WithSkippedPages(o.skipped)))
	return o, err
}

// logSummary logs the last line of a run.
func logSummary(logger *slog.Logger, result *engine.Result, took time.Duration, err error) {
	pages, items, bytes, partitions, skipped := 0, 0, 0, 0, 0
	for _, job := range result.Jobs {
		pages, items, bytes = pages+job.Pages, items+job.Items, bytes+job.Bytes
		if n := job.Partitions; n != nil {
			partitions, skipped = partitions+n.Count, skipped+n.Skipped
		}
	}
	message := fmt.Sprintf("%s, %s, %s from %s in %s", value.Counted(pages, "page"), value.Counted(items, "item"), value.Size(bytes),
		value.Counted(len(result.Jobs), "job"), took.Round(time.Millisecond))
	level := slog.LevelInfo
	if skipped > 0 {
		level = slog.LevelWarn
		message += fmt.Sprintf(", %d of %s skipped", skipped, value.Counted(partitions, "partition"))
	}
	if err != nil {
		level = slog.LevelWarn
		message += ", incomplete"
	}
	logger.Log(context.Background(), level, message, "event", "run_end")
}

// failOn returns an error if a job ended with an outcome of --fail-on.
func (a *app) failOn(result *engine.Result) error {
	failed := &failOnError{}
	for _, job := range result.Jobs {
		for _, outcome := range a.failing(job.Outcome, job.Findings) {
			ending := fmt.Sprintf("%s is %s (%s)", job.Job, job.Outcome, job.Reason)
			if outcome == suspect {
				ending = fmt.Sprintf("%s may be incomplete (%s)", job.Job, job.Findings[0].ID)
			}
			failed.jobs = append(failed.jobs, ending)
			if !slices.Contains(failed.outcomes, outcome) {
				failed.outcomes = append(failed.outcomes, outcome)
			}
		}
	}
	if failed.jobs == nil {
		return nil
	}
	return failed
}

// failing returns the outcomes of --fail-on that a job ended with.
func (a *app) failing(outcome rules.Outcome, findings []engine.Finding) []string {
	var met []string
	if slices.Contains(a.flags.failOn, string(outcome)) {
		met = append(met, string(outcome))
	}
	if len(findings) > 0 && slices.Contains(a.flags.failOn, suspect) {
		met = append(met, suspect)
	}
	return met
}
