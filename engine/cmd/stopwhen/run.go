package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

func (a *app) runCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run CONFIG",
		Short: "Extract what a configuration describes",
		Long: `Extract all jobs of a configuration, in their order. Items go to standard output
as NDJSON, one line an item, or with --out to DIR/<dataType>.ndjson. Logs go to
standard error and say of every job why it stopped.

CONFIG is a JSON file, a YAML file (by its name), or - for standard input. What
was obtained before a failure is kept.`,
		Example: `  stopwhen run users.json > users.ndjson
  stopwhen run users.json --out data --trace trace.json
  stopwhen run users.yaml --env API_TOKEN --fail-on limited,guarded
  stopwhen run users.json --out data --state users.state --prefetch auto
  stopwhen run --fixture offset/short-page-stops --explain`,
		Args: a.oneConfig,
		RunE: func(_ *cobra.Command, args []string) error { return a.runConfig(args) },
	}
	a.runFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&a.flags.out, "out", "-", "`DIR` for a file a type of data; - is standard output")
	f.StringVar(&a.flags.record, "record", "", "`FILE` for all requests and responses, for stopwhen replay (HAR)")
	f.BoolVar(&a.flags.explain, "explain", false, "print the compiled rules and make no request")
	_ = cmd.MarkFlagDirname("out")
	return cmd
}

// runFlags are the flags of the commands that extract.
func (a *app) runFlags(cmd *cobra.Command) {
	a.configFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&a.flags.prefetch, "prefetch", "0", "`PAGES` under way at a time, or auto; explain says in which jobs")
	f.IntVar(&a.flags.parallel, "jobs", 1, "`JOBS` that run at once; each writes as if it ran alone")
	f.StringVar(&a.flags.trace, "trace", "", "`FILE` for the verdicts, an object a page; - is standard output")
	f.StringVar(&a.flags.result, "result", "", "`FILE` for how every job ended, as JSON")
	f.StringVar(&a.flags.state, "state", "", "`FILE` from which the same command goes on after a kill or a failure")
	f.BoolVar(&a.flags.restart, "restart", false, "with --state: begin anew, and replace what was written")
	f.StringVar(&a.flags.kept, "kept", "", "`FILE` with what keep keeps from run to run")
	f.StringSliceVar(&a.flags.failOn, "fail-on", nil, "`OUTCOMES` that end with status 9: limited, guarded, suspect")
	f.StringVar(&a.flags.logFormat, "log-format", "text", "`FORMAT` of the log: text or json")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "log errors alone")
	f.BoolVarP(&a.flags.verbose, "verbose", "v", false, "log every page")
	f.BoolVar(&a.flags.noProgress, "no-progress", false, "no progress line on a terminal")
	complete(cmd, "fail-on", func() []string { return failOutcomes })
	complete(cmd, "prefetch", func() []string { return []string{"auto"} })
	complete(cmd, "log-format", func() []string { return []string{"text", "json"} })
}

// suspect is the outcome of --fail-on for lists that the audit finds signs of
// loss in.
const suspect = "suspect"

var failOutcomes = []string{string(rules.Limited), string(rules.Guarded), suspect}

func (a *app) runConfig(args []string) error {
	if err := a.checkRunFlags(); err != nil {
		return err
	}
	l, err := a.load(args)
	if err != nil {
		return err
	}
	defer l.Close()
	if a.flags.explain {
		return a.explain(l)
	}
	if a.flags.kept != "" {
		if l.kept, err = readKept(a.flags.kept); err != nil {
			return err
		}
	}
	return a.runLoaded(l)
}

// mostPrefetch is far more than any API wants.
const mostPrefetch = 1000

// prefetch is how many pages are under way at a time.
func (a *app) prefetch() int {
	if a.flags.prefetch == "auto" {
		return engine.AutoPrefetch
	}
	n, _ := strconv.Atoi(a.flags.prefetch)
	return n
}

func (a *app) checkRunFlags() error {
	if a.flags.quiet && a.flags.verbose {
		return &usageError{"-q and -v ask for opposite things; choose one"}
	}
	if n, err := strconv.Atoi(a.flags.prefetch); a.flags.prefetch != "auto" && (err != nil || n < 0 || n > mostPrefetch) {
		return &usageError{fmt.Sprintf("--prefetch: want a number of pages from 0 to %d, or auto, got %q", mostPrefetch, a.flags.prefetch)}
	}
	if a.flags.restart && a.flags.state == "" {
		return &usageError{"--restart goes with --state"}
	}
	if a.flags.parallel < 1 {
		return &usageError{fmt.Sprintf("--jobs: want a number of jobs from 1, got %d", a.flags.parallel)}
	}
	for _, outcome := range a.flags.failOn {
		if !slices.Contains(failOutcomes, outcome) {
			return &usageError{fmt.Sprintf("--fail-on: want %s, got %q", strings.Join(failOutcomes, ", "), outcome)}
		}
	}
	return nil
}

// runLoaded runs a configuration with the logger and the progress line that the
// flags ask for. Nothing reaches standard error but through the redactor.
func (a *app) runLoaded(l *loaded) error {
	bar := a.newProgress(l.Debug())
	var w io.Writer = a.stderr
	if bar != nil {
		w = bar
	}
	redacted := l.Redactor().Writer(w)
	defer redacted.Close()
	logger, err := a.newLog(redacted, l.Debug())
	if err != nil {
		return err
	}
	l.Engine = l.With(engine.WithLogger(logger), engine.WithKept(l.kept), engine.WithPrefetch(a.prefetch()), engine.WithParallelJobs(a.flags.parallel))
	if a.flags.trace != "" || bar != nil {
		l.Engine = l.With(engine.WithVerdicts())
	}
	if a.flags.record == "" {
		return a.extract(l, logger, bar)
	}
	tape, err := a.newTape(l)
	if err != nil {
		return err
	}
	return errors.Join(a.extract(l, logger, bar), tape.end(logger))
}

// extract runs the jobs and settles how the run ended.
func (a *app) extract(l *loaded, logger *slog.Logger, bar *progress) error {
	for _, w := range l.Warnings() {
		logger.Warn(fmt.Sprintf("%s: %s", w.Path, w.Message), "event", "warn", "place", w.Location())
	}
	kept, err := a.openState(l, logger)
	if err != nil {
		return err
	}
	defer kept.Close()
	out, err := a.newOutput(l.Engine, kept)
	if err != nil {
		return err
	}
	if kept != nil {
		if err := kept.Begin(); err != nil {
			return errors.Join(err, out.Close())
		}
		kept.tell(l.Engine, logger)
		l.Engine = l.With(engine.WithResume(kept.Jobs()))
	}
	if a.flags.parallel > 1 {
		if err := out.queueJobs(); err != nil {
			return errors.Join(err, out.Close())
		}
	}
	ctx, stop := catchSignals()
	defer stop()
	began := time.Now()
	logger.Debug(fmt.Sprintf("%s begins", value.Counted(len(l.Jobs()), "job")), "event", "run_start", "config", l.name, "jobs", l.Jobs())
	result, err := l.Run(ctx, func(ctx context.Context, page *engine.Page) error {
		bar.page(page)
		if a.onPage != nil {
			a.onPage(page)
		}
		return out.page(ctx, page)
	})
	bar.done()
	err = errors.Join(signalled(ctx, err), out.end(result), kept.flush(), out.Close())
	if a.flags.kept != "" {
		err = errors.Join(err, writeKept(a.flags.kept, l.kept, result))
	}
	a.summary(logger, result, time.Since(began), err)
	if err != nil {
		return err
	}
	return a.failOn(result)
}

// summary is the last line of a run.
func (a *app) summary(logger *slog.Logger, result *engine.Result, took time.Duration, err error) {
	pages, items, bytes := 0, 0, 0
	for _, job := range result.Jobs {
		pages, items, bytes = pages+job.Pages, items+job.Items, bytes+job.Bytes
	}
	message := fmt.Sprintf("%s, %s, %s from %s in %s", value.Counted(pages, "page"), value.Counted(items, "item"), value.Size(bytes),
		value.Counted(len(result.Jobs), "job"), took.Round(time.Millisecond))
	if err != nil {
		message += ", not complete"
	}
	logger.Info(message, "event", "run_end")
}

func (a *app) failOn(result *engine.Result) error {
	var jobs []string
	for _, job := range result.Jobs {
		if slices.Contains(a.flags.failOn, string(job.Outcome)) {
			jobs = append(jobs, fmt.Sprintf("%s is %s by %s", job.Job, job.Outcome, job.Reason))
		}
		if slices.Contains(a.flags.failOn, suspect) && len(job.Findings) > 0 {
			jobs = append(jobs, fmt.Sprintf("%s is suspect by %s", job.Job, job.Findings[0].ID))
		}
	}
	if jobs == nil {
		return nil
	}
	return &failedOn{jobs}
}

// catchSignals cancels the context at the first SIGINT or SIGTERM; a second one
// ends the process at once. SIGPIPE becomes an error of writing.
func catchSignals() (context.Context, func()) {
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		for first := true; ; first = false {
			s, open := <-signals
			if !open {
				return
			}
			status := 128 + int(s.(syscall.Signal))
			if !first {
				os.Exit(status)
			}
			cancel(&interrupted{status: status})
		}
	}()
	return ctx, func() { signal.Stop(signals); close(signals); cancel(nil) }
}

// signalled puts the signal in the place of the errors that it brought about.
func signalled(ctx context.Context, err error) error {
	if cause := (*interrupted)(nil); err != nil && errors.As(context.Cause(ctx), &cause) {
		return &interrupted{status: cause.status, err: err}
	}
	return err
}
