package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A collectCommand is stopwhen collect.
type collectCommand struct {
	extraction
	natsClient
	sorted, noWait bool
}

func newCollect(a *app) *cobra.Command {
	c := &collectCommand{extraction: extraction{loader: loader{app: a}}, natsClient: natsClient{app: a}}
	cmd := &cobra.Command{
		Use:   "collect RUN",
		Short: "Write the items of a run on many machines",
		Long: `Write the items that workers have stored, each exactly once, while the run goes
on and until it is complete. The output is that of stopwhen run: items to
standard output or, with --out, to DIR/<dataType>.ndjson, and the result, the
trace and the exit status.

The items of a partition are in their order, and partitions come as workers
store them; with --sorted, all items are in the order of a run on one machine.
With --state FILE the same command continues after the last page that was
written, after a failure or a kill, and writes nothing when it has written
everything. Without it, each collection writes all items: it replaces the files
or, with --append, adds the same rows again; with --merge, each row of a key is
there once.`,
		Example: `  stopwhen collect orders-20261122-k3fq --out data
  stopwhen collect orders-20261122-k3fq --out data --state orders.state --sorted
  stopwhen collect orders-20261122-k3fq --out data --kept orders.kept`,
		Args:              oneRun,
		ValidArgsFunction: c.completeRuns,
		RunE:              c.Run,
	}
	c.resultFlags(cmd)
	c.outFlag(cmd, "-")
	f := cmd.Flags()
	f.BoolVar(&c.sorted, "sorted", false, "write the items in the order of a run on one machine; pages wait for those before them")
	f.BoolVar(&c.release, "release", false,
		"with --state and --out DIR: delete from the server what is written; then only the same command can collect the run")
	f.BoolVar(&c.noWait, "no-wait", false, "end with what is stored now: with status 4 if the run goes on")
	c.addNATSFlags(cmd)
	return cmd
}

// Run writes the pages of a run, as far as they are stored.
func (c *collectCommand) Run(cmd *cobra.Command, args []string) error {
	if err := errors.Join(c.checkResultFlags(cmd), c.checkReleaseFlag()); err != nil {
		return err
	}
	bar := c.newProgress(slog.LevelInfo, toStdout(c.out))
	logger, closeLog, err := c.openLog(bar, slog.LevelInfo)
	if err != nil {
		return err
	}
	defer closeLog()
	ctx, stop := c.catchSignals()
	defer stop()
	o := cluster.Options{Log: logger, Engine: new(environment).options()}
	err = c.openRuns(ctx, o, nil, func(runs *cluster.Cluster) error {
		run, err := runs.Run(ctx, args[0])
		if err = cmp.Or(err, context.Cause(ctx)); err != nil {
			return err
		}
		stop() // the remaining code handles signals itself
		return c.collectRun(run, logger, bar)
	})
	return signalError(ctx, err)
}

// checkReleaseFlag checks the flag --release.
func (c *collectCommand) checkReleaseFlag() error {
	stored := c.state != "" && (c.writesFiles() || c.writesNowhere())
	return refuse([]misuse{
		{c.release && c.sorted, "--release and --sorted cannot be used together: sorted pages wait for those before them"},
		{c.release && !stored, "--release requires --state and --out DIR: what it deletes must be stored here"},
	})
}

// collectRun writes the pages of a run, as if the run were on this machine.
func (c *collectCommand) collectRun(run *cluster.Run, logger *slog.Logger, bar *progress) error {
	e, err := run.Engine(engine.WithLogger(logger))
	if err != nil {
		return err
	}
	name, text := run.Config()
	from := &collectedRun{run: run.ID(), natsArgs: c.natsArgs(), parts: c.fingerprint(run), released: run.Released()}
	l := &loaded{Engine: e, name: name, text: text, kept: run.Kept(), from: from}
	if err := c.checkPaths(l, c.nats.files()...); err != nil {
		return err
	}
	l.forgets = c.kept == "" && !c.items.Format.CarriesState()
	options := cluster.CollectOptions{Sorted: c.sorted, NoWait: c.noWait, Release: c.release}
	from.check = func(ctx context.Context, e *engine.Engine) error { return run.CheckCollect(ctx, e, options) }
	from.pages = func(ctx context.Context, e *engine.Engine, sink engine.SinkFunc) (*engine.Result, error) {
		var last cluster.Progress
		options.Skipped, options.Progress = l.skipped, func(p cluster.Progress) {
			last = p
			bar.tasks(p)
		}
		result, err := run.Collect(ctx, e, sink, options)
		c.logFailed(run, last, logger)
		return result, err
	}
	return c.extract(l, logger, bar)
}

// logFailed logs the number of failed partitions, the number of pages that cannot be written
// because of them, and a remedy.
func (c *collectCommand) logFailed(run *cluster.Run, p cluster.Progress, logger *slog.Logger) {
	if p.Failed == 0 {
		return
	}
	message := fmt.Sprintf("%s of run %s failed", wording.Counted(p.Failed, "partition"), run.ID())
	if p.Waiting > 0 {
		message += fmt.Sprintf(", and %s stored after the first gap are not written (without --sorted, they are)",
			wording.Counted(p.Waiting, "page"))
	}
	first := ""
	if run.Phase() == cluster.Cancelled {
		first = " when the run, which is cancelled, was submitted again"
	}
	attrs := []any{"event", "partitions_failed", "run", run.ID(), "partitions", p.Failed}
	if p.Waiting > 0 {
		attrs = append(attrs, "pages_behind_gap", p.Waiting)
	}
	logger.Warn(fmt.Sprintf("%s; stopwhen retry %s%s queues them again%s, and then the same command collects the rest",
		message, run.ID(), c.natsArgs(), first),
		attrs...)
}
