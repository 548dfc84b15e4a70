package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/checkpoint"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A submitCommand is stopwhen submit.
type submitCommand struct {
	loader
	natsClient
	kept     string
	run      string
	maxBytes string
	lease    string
	patience string
	priority int
	replicas int
}

func newSubmit(a *app) *cobra.Command {
	c := &submitCommand{loader: loader{app: a}, natsClient: natsClient{app: a}}
	cmd := &cobra.Command{
		Use:   "submit CONFIG",
		Short: "Submit a run to many machines",
		Long: `Store a configuration on a NATS server and queue its jobs. Workers then run
them, partition by partition: see stopwhen worker. The id of the run is printed
to standard output. No request is made to the API.

CONFIG is a JSON file, a YAML file (named .yaml or .yml), or - for standard
input. Its secrets stay with the workers, which read them from their own
environment, and secret inputs from their own --set; a configuration in which a
secret is written is refused.

Submitting a run again, by its id, queues what is no longer queued, continues a
run that was cancelled, and changes --max-bytes, --patience and --priority if
they are given. It does no harm while the run goes on. Partitions that have
failed stay so: see stopwhen retry.

The defaults of the flags are those of a new run: an existing run keeps what it
has.`,
		Example: `  stopwhen submit orders.yaml
  stopwhen submit orders.yaml --run orders-june --set since=2026-06-01
  stopwhen submit orders.yaml --kept orders.kept --max-bytes 20GB`,
		Args: c.oneConfig,
		RunE: c.Run,
	}
	c.addTextFlags(cmd)
	f := cmd.Flags()
	maxPagesFlag(cmd, &c.maxPages)
	f.StringVar(&c.kept, "kept", "", "`FILE` with the values under `keep` of the run before; stopwhen collect --kept replaces it")
	f.StringVar(&c.run, "run", "", "`ID` of the run: letters, digits, - and _; by default the name of the file, the date and four letters")
	f.StringVar(&c.maxBytes, "max-bytes", "",
		"`SIZE` that the pages may take on the server, such as 20GB, at least 100kB; workers wait when they do "+
			"(default no limit)")
	f.StringVar(&c.lease, "lease", "", "`DURATION` that a worker may be silent until its partitions are given to others "+
		"(default 30s)")
	f.StringVar(&c.patience, "patience", "", "`DURATION` for which partitions are tried again after errors that may pass, "+
		"such as status 503 or a timeout, before they have failed (default 1h)")
	f.IntVar(&c.priority, "priority", 0, "`NUMBER` of partitions, from 1 to 100, that the run starts "+
		"while a run of priority 1 starts one (default 1)")
	checked(cmd, "priority", func() error { return inRange(1, maxPriority, c.priority, "a number") })
	f.IntVar(&c.replicas, "replicas", 0, "`NUMBER` of servers that hold each page "+
		"(default 3 in a cluster of servers and otherwise 1)")
	checked(cmd, "replicas", func() error { return inRange(1, maxReplicas, c.replicas, "a number of servers") })
	c.addNATSFlags(cmd)
	c.logFlags.register(cmd, "log details")
	return cmd
}

// Run submits a run.
func (c *submitCommand) Run(cmd *cobra.Command, args []string) error {
	s, lease, err := c.submission(args)
	if err != nil {
		return err
	}
	c.remains = fmt.Sprintf("submit it again with --run %s, or delete that run, since some of it may be stored", s.Run)
	return c.logged(func(ctx context.Context, logger *slog.Logger) error {
		o := cluster.Options{
			Engine: new(environment).options(), AckWait: lease, Replicas: c.replicas, Patience: shortPatience, Log: logger,
		}
		checked, err := s.Check(o.Engine...)
		if err != nil {
			return err
		}
		c.logWarnings(logger, checked.Warnings())
		return signalError(ctx, mayNotSubmit(c.openRuns(ctx, o, nil, func(runs *cluster.Cluster) error {
			run, err := runs.Submit(ctx, *s)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(c.guard(c.stdout), run.ID()); err != nil {
				return printError(err)
			}
			logger.Info(c.submitted(run), "event", "submitted", "run", run.ID())
			return nil
		})))
	})
}

// mayNotSubmit explains the error of a user who may not create the streams of the first run.
func mayNotSubmit(err error) error {
	if !errors.Is(err, cluster.ErrEmpty) {
		return err
	}
	return &failure.Error{Class: failure.Config, Op: "submit", Err: err,
		Message: "the NATS user may not submit runs: it may not create the streams that they need",
		Hint:    "connect with a user who may, or give this one the permissions of a submitter"}
}

// submitted returns the message about a submitted run, with the next commands.
func (c *submitCommand) submitted(run *cluster.Run) string {
	natsArgs, resubmission := c.natsArgs(), run.Resubmission()
	if resubmission == nil {
		return fmt.Sprintf("run %s is submitted; next: %s, stopwhen collect %s --out DIR%s, stopwhen status %s%s",
			run.ID(), c.word(run.WorkerHint()), run.ID(), natsArgs, run.ID(), natsArgs)
	}
	text := fmt.Sprintf("run %s exists already; its tasks that have not ended are queued", run.ID())
	if resubmission.Cancelled {
		text = fmt.Sprintf("run %s exists already and was cancelled; it continues (%s)", run.ID(), c.word(run.WorkerHint()))
	}
	if resubmission.MaxBytes != resubmission.Before {
		before := "no limit"
		if resubmission.Before > 0 {
			before = wording.Size(int(resubmission.Before))
		}
		text += fmt.Sprintf("; its pages may take %s on the server (before: %s)", wording.Size(int(resubmission.MaxBytes)), before)
	}
	if resubmission.Priority > 0 {
		text += fmt.Sprintf("; its priority is now %d", resubmission.Priority)
	}
	if resubmission.Patience > 0 {
		text += fmt.Sprintf("; its patience is now %s", resubmission.Patience)
	}
	if c.lease != "" {
		text += fmt.Sprintf("; a worker may be silent for %s until its partitions are given to others", c.lease)
	}
	if resubmission.Failed > 0 {
		text += fmt.Sprintf("; failed, and not queued again: %s (stopwhen retry %s%s)",
			wording.Counted(resubmission.Failed, "task"), run.ID(), natsArgs)
	}
	return text
}

// submission returns the run that the flags and the arguments describe.
func (c *submitCommand) submission(args []string) (_ *cluster.Submission, lease time.Duration, err error) {
	if err := onlyOnce("standard input", argument(args), streamUse{"--set-file", c.setFile}); err != nil {
		return nil, 0, err
	}
	if lease, err = parseDuration("--lease", c.lease); err != nil {
		return nil, 0, err
	}
	if lease != 0 && lease < minLease {
		return nil, 0, &usageError{fmt.Sprintf("--lease: want at least %s, got %s", minLease, lease)}
	}
	patience, err := parseDuration("--patience", c.patience)
	if err != nil {
		return nil, 0, err
	}
	l := &loaded{}
	if err := c.readConfig(l, args[0]); err != nil {
		return nil, 0, err
	}
	s := &cluster.Submission{
		Run: c.run, Name: filepath.Base(l.name), Text: l.text, Jobs: c.jobs, Dialect: rules.Dialect(c.dialect),
		BaseURL: c.baseURL, MaxPages: c.maxPages, Program: "stopwhen " + version(), Now: time.Now(),
		Patience: patience, Priority: c.priority,
	}
	if s.Inputs, err = c.inputs(); err != nil {
		return nil, 0, err
	}
	if s.MaxBytes, err = parseSize("--max-bytes", c.maxBytes); err != nil {
		return nil, 0, err
	}
	if s.MaxBytes != 0 && s.MaxBytes < minMaxBytes {
		return nil, 0, &usageError{fmt.Sprintf("--max-bytes: want at least %s, got %s: the last page of each partition remains on the server, "+
			"and each page takes about 3 kB beside its items", wording.Size(minMaxBytes), wording.Size(int(s.MaxBytes)))}
	}
	if s.Kept, err = c.keptFor(l, s.Inputs); err != nil {
		return nil, 0, err
	}
	if s.Run == "" {
		s.Run = runID(s.Name, s.Now)
	}
	return s, lease, nil
}

// keptFor reads the file of --kept, whose values must be about the lists that the run requests.
func (c *submitCommand) keptFor(l *loaded, inputs map[string]any) (keptValues, error) {
	if c.kept == "" {
		return nil, nil
	}
	if err := completeKept(c.kept); err != nil {
		return nil, err
	}
	c.placeholders = true // the workers have the secrets
	if err := c.build(l, engine.WithInputs(inputs), engine.WithJobs(c.jobs...)); err != nil {
		return nil, err
	}
	kept, err := checkpoint.ReadKept(c.kept, l.Fingerprint())
	return kept.Values, err
}

const (
	maxPriority = 100
	maxReplicas = 5 // that NATS allows
	minLease    = time.Second
	minMaxBytes = 100_000 // smallest limit of --max-bytes
)

// runID returns an id for a run: "orders-20261122-k3fq".
func runID(name string, now time.Time) string {
	const longest, letters = 40, 4
	name = strings.TrimSuffix(name, filepath.Ext(name))
	name = strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '-'
	}, name)
	name = strings.Trim(name[:min(len(name), longest)], "-")
	if name == "" {
		name = "run"
	}
	return fmt.Sprintf("%s-%s-%s", name, now.UTC().Format("20060102"), strings.ToLower(rand.Text()[:letters]))
}

// parseSize parses a number of bytes, such as 20GB. An empty text means 0.
func parseSize(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > math.MaxInt64 {
		return 0, &usageError{fmt.Sprintf("%s: want a size such as 500MB or 20GB, got %q", flag, text)}
	}
	return int64(n), nil
}
