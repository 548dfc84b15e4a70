package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/output"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// extraction describes how a command extracts and where it writes.
type extraction struct {
	loader
	itemOptions
	outputFiles
	savedFiles

	prefetch string // a number or "auto"
	parallel int
	timeout  time.Duration // 0 for no timeout
	failOn   []string
}

// itemOptions say how items are written.
type itemOptions struct {
	items              output.Options // made of the flags below
	itemFormat         string
	csvNested, catalog string
	discardItems       bool // items are not written
	appendRows         bool
	merge              bool
}

// outputFiles are the files that a run writes.
type outputFiles struct {
	out, trace, result, record string
	contract, contractMode     string
}

// savedFiles are the files that a run continues from.
type savedFiles struct {
	state, kept, tokens string
	keptPath            string // path of the file of --kept, without symbolic links
	restart, release    bool
}

// The values of --fail-on besides outcomes.
const (
	failOnEvidence = "evidence" // a list has a finding that is evidence; always included, except with failOnNone
	failOnSuspect  = "suspect"  // a list has a finding
	failOnNone     = "none"     // every list is accepted
)

var failOnOutcomes = []string{
	failOnEvidence, failOnSuspect, string(rules.Limited), string(rules.Guarded), string(rules.Partial), failOnNone,
}

// runFlags adds the flags of commands that extract.
func (x *extraction) runFlags(cmd *cobra.Command) {
	x.addConfigFlags(cmd)
	prefetchFlag(cmd, &x.prefetch)
	f := cmd.Flags()
	f.IntVar(&x.parallel, "jobs", 1, "number of `JOBS` to run in parallel; the output order does not change")
	checked(cmd, "jobs", func() error { return atLeast(1, x.parallel, "a number of jobs above 0") })
	timeout := f.String("timeout", "", "`DURATION` after which the run ends with status 6: 90s, 10m, \"2 hours\"")
	checked(cmd, "timeout", func() (err error) { x.timeout, err = parseDuration("--timeout", *timeout); return err })
	x.addJobFlags(cmd)
	tokensFlag(cmd, &x.tokens, "; by default the --state FILE with .tokens")
	x.resultFlags(cmd)
}

// resultFlags adds the flags for the outputs of a run.
func (x *extraction) resultFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&x.trace, "trace", "", "`FILE` for the trace: one JSON object per page; - is standard output")
	f.StringVar(&x.result, "result", "", "`FILE` for the result of every job, as JSON; - is standard output")
	f.StringVar(&x.state, "state", "", "`FILE` from which the same command resumes after a failure or a kill")
	f.BoolVar(&x.restart, "restart", false, "with --state: start over, without what the state holds")
	f.StringVar(&x.kept, "kept", "", "`FILE` for the values under `keep`: read before the run, and replaced with its rows")
	choices(cmd, &x.failOn, "fail-on", "`OUTCOMES` that end with status 9, besides evidence that a list is incomplete: "+
		strings.Join(failOnOutcomes, ", "), failOnOutcomes...)
	x.logFlags.register(cmd, "log every page")
	f.BoolVar(&x.noProgress, "no-progress", false, "do not show a progress line on a terminal")
}

// outFlag adds the flag --out for items.
func (x *extraction) outFlag(cmd *cobra.Command, byDefault string) {
	cmd.Flags().StringVar(&x.out, "out", byDefault, "`DIR` to write one file per dataType into; - is standard output")
	cmd.Flags().BoolVar(&x.appendRows, "append", false, "with --out DIR: add the rows of this run to the files")
	cmd.Flags().BoolVar(&x.merge, "merge", false, "with --out DIR: let the rows of this run replace those in the files that have the same key")
	_ = cmd.MarkFlagDirname("out")
	x.contractFlags(cmd)
	x.itemFlags(cmd)
}

// checkResultFlags checks the flags of resultFlags and itemFlags.
func (x *extraction) checkResultFlags(cmd *cobra.Command) error {
	if err := x.parseItemFlags(cmd); err != nil {
		return err
	}
	return refuse([]misuse{
		{x.contract == "" && cmd.Flags().Changed("contract-mode"), "--contract-mode requires --contract"},
		{x.restart && x.state == "", "--restart requires --state"},
		{x.merge && x.appendRows, "--append adds rows, and --merge replaces those with the same key; use one of them"},
		{len(x.failOn) > 1 && slices.Contains(x.failOn, failOnNone), "--fail-on none excludes the other outcomes"},
	})
}

// pagesAhead returns the number of pages in flight. A case and a recording have the requests
// of a run that makes one after another, unless the flag is set.
func (x *extraction) pagesAhead() int {
	if x.prefetch == "" && (x.fixture != "" || x.record != "") {
		return 0
	}
	n, _ := parsePrefetch(x.prefetch) // checked when the flag was set
	return n
}

// runConfig runs a configuration.
func (x *extraction) runConfig(cmd *cobra.Command, args []string) error {
	if err := x.checkResultFlags(cmd); err != nil {
		return err
	}
	l, err := x.load(args)
	if err != nil {
		return err
	}
	defer l.Close()
	if err := x.checkPaths(l, argument(args)); err != nil {
		return err
	}
	l.forgets = !x.writesNowhere() && x.kept == "" && x.state == "" && !x.items.Format.CarriesState()
	return x.runLoaded(l)
}

// runLoaded runs a configuration with the log, the progress line and the
// recording that the flags request. Everything on standard error passes through
// the redactor.
func (x *extraction) runLoaded(l *loaded) error {
	if err := l.Check(); err != nil {
		return err
	}
	level := slog.LevelInfo
	if l.Info().Debug {
		level = slog.LevelDebug
	}
	bar := x.newProgress(level, toStdout(x.out))
	logger, closeLog, err := x.openLog(bar, level)
	if err != nil {
		return err
	}
	defer closeLog()
	options := []engine.RunOption{
		engine.WithLogger(logger), engine.WithPrefetch(x.pagesAhead()), engine.WithParallelJobs(x.parallel), engine.WithTimeout(x.timeout),
		engine.WithLargeResponse(x.threads.useAll),
	}
	if l.Info().RotatesTokens {
		tokens, err := x.openTokens(x.tokensPath())
		if err != nil {
			return err
		}
		options = append(options, engine.WithTokenStore(tokens))
	}
	if x.trace != "" || bar != nil {
		options = append(options, engine.WithVerdictValues())
	}
	l.Engine = l.With(options...)
	return x.extract(l, logger, bar)
}

// extract runs the jobs and writes their pages.
func (x *extraction) extract(l *loaded, logger *slog.Logger, bar *progress) error {
	auditor := l.Auditor()
	l.Engine = l.With(engine.WithAccept(func(job engine.JobResult) bool { return x.failing(auditor, job) == nil }))
	x.logWarnings(logger, l.Warnings())
	if x.discarded != "" {
		logger.Warn(fmt.Sprintf("standard output is closed or %s: %s will be discarded", os.DevNull, x.discarded), "event", "discarded")
	}
	state, err := x.openState(l, logger)
	if err != nil {
		return err
	}
	defer state.Close()
	x.warnOfShared(l, logger)
	if err := x.lockKept(state); err != nil {
		return err
	}
	if err := x.lockContract(state); err != nil {
		return err
	}
	if err := x.checkSource(l, state); err != nil {
		return err
	}
	if collected, err := x.collected(l, state); err != nil || collected {
		return err
	}
	out, err := x.openOutput(l, state)
	if err != nil {
		return err
	}
	l.Engine, l.skipped = out.Engine(), out.Skipped
	state.logResume(l)
	tape, err := x.startRecording(l, out)
	if err != nil {
		return out.Finish(err)
	}
	return x.runJobs(l, out, tape, logger, bar)
}

// logWarnings logs the warnings of a configuration.
func (a *app) logWarnings(logger *slog.Logger, warnings engine.Diagnostics) {
	for _, w := range a.printed(warnings) {
		message := fmt.Sprintf("%s: %s", w.Path, w.Message)
		if w.Hint != "" {
			message += " (" + w.Hint + ")"
		}
		logger.Warn(message, "event", "warn", "place", w.Location())
	}
}

// pagesRemain describes the remains of a run that a signal ends.
const pagesRemain = "the pages written so far are complete"

// runJobs runs the jobs and completes their outputs.
func (x *extraction) runJobs(l *loaded, out *output.Publisher, tape *tape, logger *slog.Logger, bar *progress) error {
	x.remains = pagesRemain
	ctx, stop := x.catchSignals()
	defer stop()
	takesTurns := x.takesTurns(l)
	if takesTurns {
		x.threads.useOne()
		defer x.threads.useAll()
	}
	start := time.Now()
	logger.Debug("starting "+wording.Counted(len(l.Jobs()), "job"), "event", "run_start", "config", l.name, "jobs", l.Jobs())
	result, err := x.runUntilSignal(ctx, l.pageSource(), l.Engine, func(ctx context.Context, page *engine.Page) error {
		if takesTurns {
			x.threads.adapt(page.Bytes)
		}
		bar.page(page)
		defer bar.written()
		if x.onPage != nil {
			x.onPage(page)
		}
		return out.Page(ctx, page)
	})
	bar.done()
	err = out.End(result, errors.Join(signalError(ctx, withoutRefusals(err)), tape.end()))
	tape.log(logger)
	files := out.Files()
	unwritten := x.writeResult(files, result)
	if l.forgets {
		warnForgotten(logger, result)
	}
	logSummary(logger, result, time.Since(start), err)
	if err = errors.Join(err, unwritten); err != nil {
		logRepeated(logger, files)
	} else {
		err = x.refuseEndings(l, result, files)
	}
	return out.Finish(err)
}

// takesTurns reports whether a run has one page at a time, unless its pages are large.
func (x *extraction) takesTurns(l *loaded) bool {
	prefetch := x.pagesAhead()
	return (prefetch == 0 || prefetch == 1) && x.parallel <= 1 && l.from == nil
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
	message := fmt.Sprintf("%s, %s, %s from %s in %s", wording.Counted(pages, "page"), wording.Counted(items, "item"), wording.Size(bytes),
		wording.Counted(len(result.Jobs), "job"), took.Round(time.Millisecond))
	level := slog.LevelInfo
	if skipped > 0 {
		level = slog.LevelWarn
		message += fmt.Sprintf(", %d of %s skipped", skipped, wording.Counted(partitions, "partition"))
	}
	if err != nil {
		level = slog.LevelWarn
		message += ", incomplete"
	}
	logger.Log(context.Background(), level, message, "event", "run_end")
}

// withoutRefusals returns an error without the errors of jobs that the run refuses, since
// [extraction.refuseEndings] reports those jobs.
func withoutRefusals(err error) error {
	return errors.Join(slices.DeleteFunc(joined(err), func(part error) bool { return part == nil || errors.Is(part, engine.ErrSuspect) })...)
}

// refuseEndings returns an error if the run refuses the ending of a job.
func (x *extraction) refuseEndings(l *loaded, result *engine.Result, files []output.FileReport) error {
	var outcomes, endings []string
	for _, job := range result.Jobs {
		if !job.Refused {
			continue
		}
		for _, outcome := range x.failing(l.Auditor(), job) {
			ending := fmt.Sprintf("%s is %s (%s)", job.Job, job.Outcome, job.Reason)
			switch outcome {
			case failOnSuspect:
				ending = job.Job + " " + doubts(job.Findings, "may be incomplete")
			case failOnEvidence:
				ending = job.Job + " " + doubts(job.Evidence(), "is incomplete")
			}
			endings = append(endings, ending)
			outcomes = lists.AppendNew(outcomes, outcome)
		}
	}
	if endings == nil {
		return nil
	}
	for _, f := range files {
		if !f.Complete && f.Replaces > 0 {
			endings = append(endings, fmt.Sprintf("%s would have replaced %d in %s", wording.Counted(int(f.Rows), "row"), f.Replaces, f.File))
		}
	}
	return failedOn(outcomes, endings)
}

// doubts says what findings mean for a job, and names each of them once.
func doubts(findings []engine.Finding, incomplete string) string {
	var ids, phrases []string
	contract := false
	for _, f := range findings {
		if contract = contract || f.ID == trace.FindingContract; f.ID != trace.FindingContract {
			ids = lists.AppendNew(ids, f.ID)
		}
	}
	if ids != nil {
		phrases = append(phrases, fmt.Sprintf("%s (%s)", incomplete, strings.Join(ids, ", ")))
	}
	if contract {
		phrases = append(phrases, fmt.Sprintf("differs from its contract (%s)", trace.FindingContract))
	}
	return strings.Join(phrases, " and ")
}

// failing returns the outcomes of --fail-on that a job ended with.
func (x *extraction) failing(auditor engine.Auditor, job engine.JobResult) []string {
	var failing []string
	failsOn := func(outcome string) bool { return slices.Contains(x.failOn, outcome) }
	if failsOn(string(job.Outcome)) {
		failing = append(failing, string(job.Outcome))
	}
	switch {
	case len(job.Findings) > 0 && failsOn(failOnSuspect):
		failing = append(failing, failOnSuspect)
	case len(job.Evidence()) > 0 && !failsOn(failOnNone) &&
		(failsOn(failOnEvidence) || !auditor.AcceptsByDefault(job)):
		failing = append(failing, failOnEvidence)
	}
	return failing
}
