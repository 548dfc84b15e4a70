package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// flags are the flags of all commands. Each command registers those that it has.
type flags struct {
	baseURL, dialect, fixture string // how the configuration is read
	env, set                  []string
	setFile                   string
	jobs                      []string // ids of the jobs that run; empty: all
	maxPages                  int      // 0: no limit

	out, trace, result, record string // where a run writes
	state, kept, tokens        string
	restart, appendRows        bool

	itemFormat, csvNested, catalog string // how items are written

	prefetch  string // a number or "auto"
	parallel  int
	timeout   string // a duration; empty: none
	keepGoing bool
	failOn    []string
	explain   bool
	full      bool   // of explain
	simulate  string // of explain; a spec of package stress
	diff      bool
	annotate  bool

	format, against string
	failUncovered   bool
	verdicts        bool

	hub     hubFlags
	nats    natsFlags
	submit  submitFlags
	worker  workerFlags
	collect collectFlags
	remove  removeFlags

	logFormat                  string
	quiet, verbose, noProgress bool
}

// The values of --format and --log-format.
const (
	formatText    = "text"
	formatJSON    = "json"
	formatMermaid = "mermaid"
	formatHTML    = "html"
)

// suspect is the outcome of --fail-on for lists in which the audit finds signs of
// missing items.
const suspect = "suspect"

var failOnOutcomes = []string{string(rules.Limited), string(rules.Guarded), string(rules.Partial), suspect}

const (
	autoPrefetch = "auto"
	maxPrefetch  = 1000 // far more than any API can use
)

// configFlags adds the flags of commands that read a configuration or a built-in
// case.
func (a *app) configFlags(cmd *cobra.Command) {
	a.fileFlags(cmd)
	cmd.Flags().StringVar(&a.flags.fixture, "fixture", "", "built-in `CASE` to run, or a .txtar file: its configuration and its API")
	complete(cmd, "fixture", caseNames)
}

// fileFlags adds the flags of commands that read a configuration from a file.
func (a *app) fileFlags(cmd *cobra.Command) {
	a.envFlag(cmd, "`NAMES` of environment variables that the configuration may read")
	a.textFlags(cmd)
}

// envFlag adds the flag --env.
func (a *app) envFlag(cmd *cobra.Command, usage string) {
	cmd.Flags().StringSliceVar(&a.flags.env, "env", nil, usage)
}

// setFlags adds the flags for inputs.
func (a *app) setFlags(cmd *cobra.Command, inputs string) {
	f := cmd.Flags()
	f.StringArrayVar(&a.flags.set, "set", nil, "`NAME=VALUE` of "+inputs+"; may be repeated")
	f.StringVar(&a.flags.setFile, "set-file", "", "`FILE` with inputs by name, as JSON or YAML; - is standard input; --set overrides it")
}

// textFlags adds the flags of commands that read the text of a configuration from a file.
func (a *app) textFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.flags.baseURL, "base-url", "", "`URL` that overrides the baseUrl of the configuration")
	f.StringVar(&a.flags.dialect, "dialect", "", "`DIALECT` that overrides that of the configuration: "+value.OrList(rules.Dialects()))
	a.setFlags(cmd, "an input that the configuration declares")
	f.StringArrayVar(&a.flags.jobs, "job", nil, "`ID` of a job; the others are left out; may be repeated")
	complete(cmd, "dialect", rules.Dialects)
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return []string{"json", "yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
	}
}

// runFlags adds the flags of commands that extract.
func (a *app) runFlags(cmd *cobra.Command) {
	a.configFlags(cmd)
	a.prefetchFlag(cmd)
	f := cmd.Flags()
	f.IntVar(&a.flags.parallel, "jobs", 1, "number of `JOBS` to run in parallel; the output order does not change")
	f.StringVar(&a.flags.timeout, "timeout", "", "`DURATION` after which the run ends with status 6: 90s, 10m, \"2 hours\"")
	a.jobFlags(cmd)
	a.tokensFlag(cmd, "; by default the --state FILE with .tokens")
	a.resultFlags(cmd)
}

// prefetchFlag adds the flag --prefetch.
func (a *app) prefetchFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.flags.prefetch, "prefetch", "",
		"number of `PAGES` in flight, or auto; stopwhen explain shows which jobs allow more than one; with 0, a page is written before the next "+
			"one is requested (default 1, and 0 for a recording or with --fixture)")
	complete(cmd, "prefetch", func() []string { return []string{autoPrefetch} })
}

// tokensFlag adds the flag --tokens.
func (a *app) tokensFlag(cmd *cobra.Command, byDefault string) {
	cmd.Flags().StringVar(&a.flags.tokens, "tokens", "",
		"`FILE` that stores the refresh tokens with which an API replaces that of the configuration"+byDefault)
}

// resultFlags adds the flags that say what becomes of the pages of a run.
func (a *app) resultFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&a.flags.trace, "trace", "", "`FILE` for the trace: one JSON object per page; - is standard output")
	f.StringVar(&a.flags.result, "result", "", "`FILE` for the result of every job, as JSON; - is standard output")
	f.StringVar(&a.flags.state, "state", "", "`FILE` from which the same command resumes after a failure or a kill")
	f.BoolVar(&a.flags.restart, "restart", false, "with --state: start over, without what the state holds")
	f.StringVar(&a.flags.kept, "kept", "", "`FILE` for the values under `keep`: read before the run, and replaced with its rows")
	f.StringSliceVar(&a.flags.failOn, "fail-on", nil, "`OUTCOMES` that end with status 9: "+strings.Join(failOnOutcomes, ", "))
	f.StringVar(&a.flags.logFormat, "log-format", formatText, "`FORMAT` of the log: text or json")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "log only errors")
	f.BoolVarP(&a.flags.verbose, "verbose", "v", false, "log every page")
	f.BoolVar(&a.flags.noProgress, "no-progress", false, "do not show a progress line on a terminal")
	complete(cmd, "fail-on", func() []string { return failOnOutcomes })
	complete(cmd, "log-format", func() []string { return []string{formatText, formatJSON} })
}

// jobFlags adds the flags that say how far the jobs go.
func (a *app) jobFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&a.flags.maxPages, "max-pages", 0, "number of `PAGES` after which a job ends with outcome limited")
	f.BoolVar(&a.flags.keepGoing, "keep-going", false,
		"run the other jobs to their ends when one fails; the exit status is that of the first job that failed")
}

// checkJobFlags checks the flags of jobFlags.
func (a *app) checkJobFlags(cmd *cobra.Command) error {
	if a.flags.maxPages < 1 && cmd.Flags().Changed("max-pages") {
		return &usageError{fmt.Sprintf("--max-pages: want a number of pages above 0, got %d", a.flags.maxPages)}
	}
	return nil
}

// outFlag adds the flag --out for items.
func (a *app) outFlag(cmd *cobra.Command, byDefault string) {
	cmd.Flags().StringVar(&a.flags.out, "out", byDefault, "`DIR` to write one file per dataType into; - is standard output")
	cmd.Flags().BoolVar(&a.flags.appendRows, "append", false, "with --out DIR: add the rows of this run to those in the files")
	_ = cmd.MarkFlagDirname("out")
	a.itemFlags(cmd)
}

// formatFlag adds the flag --format; the first format is the default.
func (a *app) formatFlag(cmd *cobra.Command, formats ...string) {
	cmd.Flags().StringVar(&a.flags.format, "format", formats[0], "output `FORMAT`: "+value.OrList(formats))
	complete(cmd, "format", func() []string { return formats })
}

func (a *app) checkFormat(formats ...string) error {
	if slices.Contains(formats, a.flags.format) {
		return nil
	}
	return &usageError{fmt.Sprintf("--format: want %s, got %q", value.OrList(formats), a.flags.format)}
}

func (a *app) checkDialect() error {
	if a.flags.dialect == "" || slices.Contains(rules.Dialects(), a.flags.dialect) {
		return nil
	}
	return &usageError{fmt.Sprintf("--dialect: want %s, got %q", value.OrList(rules.Dialects()), a.flags.dialect)}
}

func (a *app) checkRunFlags(cmd *cobra.Command) error {
	if err := a.checkJobFlags(cmd); err != nil {
		return err
	}
	if _, err := a.timeout(); err != nil {
		return err
	}
	if err := a.checkPrefetch(); err != nil {
		return err
	}
	if a.flags.parallel < 1 {
		return &usageError{fmt.Sprintf("--jobs: want a number of jobs above 0, got %d", a.flags.parallel)}
	}
	return a.checkResultFlags(cmd)
}

// checkPrefetch checks the flag --prefetch.
func (a *app) checkPrefetch() error {
	if _, ok := a.prefetch(); !ok {
		return &usageError{fmt.Sprintf("--prefetch: want a number of pages from 0 to %d, or auto, got %q", maxPrefetch, a.flags.prefetch)}
	}
	return nil
}

// checkVolume checks the flags that say how much is logged.
func (a *app) checkVolume() error {
	if a.flags.quiet && a.flags.verbose {
		return &usageError{"-q and -v cannot be used together"}
	}
	return nil
}

// checkResultFlags checks the flags of resultFlags and itemFlags.
func (a *app) checkResultFlags(cmd *cobra.Command) error {
	if err := a.checkItemFlags(cmd); err != nil {
		return err
	}
	if err := a.checkVolume(); err != nil {
		return err
	}
	if a.flags.restart && a.flags.state == "" {
		return &usageError{"--restart requires --state"}
	}
	for _, outcome := range a.flags.failOn {
		if !slices.Contains(failOnOutcomes, outcome) {
			return &usageError{fmt.Sprintf("--fail-on: want %s, got %q", value.OrList(failOnOutcomes), outcome)}
		}
	}
	return nil
}

// timeout returns the limit on the time of the run; 0 is none.
func (a *app) timeout() (time.Duration, error) {
	if a.flags.timeout == "" {
		return 0, nil
	}
	d, err := rules.ParseDuration(a.flags.timeout)
	if err != nil {
		return 0, &usageError{fmt.Sprintf("--timeout: %v", err)}
	}
	return d, nil
}

// prefetch returns the number of pages in flight, and whether the flag is valid. A case and a
// recording have the requests of a run that makes one after another, unless the flag is set.
func (a *app) prefetch() (pages int, ok bool) {
	switch {
	case a.flags.prefetch == autoPrefetch:
		return engine.AutoPrefetch, true
	case a.flags.prefetch == "" && (a.flags.fixture != "" || a.flags.record != ""):
		return 0, true
	case a.flags.prefetch == "":
		return 1, true
	}
	n, err := strconv.Atoi(a.flags.prefetch)
	return n, err == nil && n >= 0 && n <= maxPrefetch
}

// toStdout reports whether --out names standard output.
func (f flags) toStdout() bool { return f.out == "" || f.out == "-" }

func complete(cmd *cobra.Command, flag string, words func() []string) {
	_ = cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words(), cobra.ShellCompDirectiveNoFileComp
	})
}

func caseNames() []string {
	cases, err := fixtures.All()
	if err != nil {
		return nil
	}
	names := make([]string, len(cases))
	for i, c := range cases {
		names[i] = c.Name
	}
	return names
}
