package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/engine/report"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A statusCommand is stopwhen status.
type statusCommand struct {
	*app
	natsClient
	reporting
	watch, partitions bool
	failOn            []string
}

var failOnPhases = []string{string(status.Failed), string(status.Cancelled), string(status.Running)}

func newStatus(a *app) *cobra.Command {
	c := &statusCommand{app: a, natsClient: natsClient{app: a}}
	cmd := &cobra.Command{
		Use:   "status [RUN]",
		Short: "Show the progress of runs on many machines",
		Long: `Print how far a run is: how many partitions are known, done, failed, running and
waiting, how fast pages and items are stored, which rule ended how many
partitions, which partitions failed and why, what the audit has found, and which
workers there are. Without RUN, it prints a table of all runs on the server.

It reads the records of the pages, but no items, and changes nothing. Problems
that need attention come first, each with advice.

--partitions lists each partition of the run that has begun instead, one in each
line: in text, or with --format json as objects.

The exit status is 0 however far the run is, unless --fail-on names its phase.`,
		Example: `  stopwhen status
  stopwhen status orders
  stopwhen status orders --watch
  stopwhen status orders --format html --out orders.html
  stopwhen status orders --partitions --format json |
    jq 'select(.state == "failed")'`,
		Args: func(_ *cobra.Command, args []string) error {
			return refuse([]misuse{{len(args) > 1, fmt.Sprintf("want one run, got %d arguments", len(args))}})
		},
		RunE: c.Run,
	}
	c.formatFlag(cmd, formatText, formatJSON, formatHTML)
	f := cmd.Flags()
	f.StringVarP(&c.out, "out", "o", "-", "`FILE` for the output; - is standard output")
	f.BoolVar(&c.watch, "watch", false,
		"print it again every two seconds, or less often if it has many partitions, until the run is over or a signal arrives")
	f.BoolVar(&c.partitions, "partitions", false, "list each partition that has begun")
	choices(cmd, &c.failOn, "fail-on", "`PHASES` of the run that end with status 9: "+strings.Join(failOnPhases, ", "), failOnPhases...)
	c.addNATSFlags(cmd)
	c.logFlags.register(cmd, "log details")
	cmd.ValidArgsFunction = c.completeRuns
	return cmd
}

// check checks the flags together.
func (c *statusCommand) check(args []string) error {
	return refuse([]misuse{
		{len(args) == 0 && c.partitions, "--partitions requires a run; stopwhen status lists them"},
		{len(args) == 0 && len(c.failOn) > 0, "--fail-on requires a run; stopwhen status lists them"},
		{len(args) == 0 && c.format == formatHTML, "--format html requires a run; stopwhen status lists them"},
		{c.partitions && c.format == formatHTML, "--partitions and --format html cannot be used together: use text or json"},
		{c.partitions && c.watch, "--partitions and --watch cannot be used together"},
		{c.partitions && !toStdout(c.out), "--partitions writes to standard output only"},
		{c.watch && !toStdout(c.out) && c.format != formatHTML, "--watch with --out requires --format html"},
		{c.watch && toStdout(c.out) && c.format == formatHTML, "--watch with --format html requires --out FILE"},
	})
}

// Run prints how far one run is, or how far all runs are.
func (c *statusCommand) Run(_ *cobra.Command, args []string) error {
	if err := c.check(args); err != nil {
		return err
	}
	c.noProgress = true
	err := c.withRuns(func(ctx context.Context, s *connection) error {
		switch {
		case len(args) == 0:
			return c.overview(ctx, s)
		case c.partitions:
			return c.listPartitions(ctx, s, args[0])
		}
		return c.statusOf(ctx, s, args[0])
	})
	if len(args) == 0 && errors.Is(err, cluster.ErrEmpty) {
		none := &status.Overview{Version: status.Version, At: time.Now().UTC(), Runs: []status.Summary{}}
		none.Workers.List = []status.Worker{}
		return c.writeReport(c.out, func(w io.Writer) error { return c.writeOverview(w, none) })
	}
	return err
}

// statusOf prints how far a run is.
func (c *statusCommand) statusOf(ctx context.Context, s *connection, id string) error {
	var now *status.Run
	err := c.follow(ctx, func() (over bool, err error) {
		run, err := s.Run(ctx, id)
		if err == nil {
			now, err = run.Status(ctx)
		}
		if err != nil {
			return true, err
		}
		for i, w := range now.Warnings {
			now.Warnings[i].Hint = c.words(w.Hint, w.Remedy)
		}
		over = now.Phase != status.Running // before the texts become printable
		return over, c.show(func(w io.Writer) error { return c.writeStatus(w, now) })
	})
	if err != nil {
		return err
	}
	return c.refusePhase(now)
}

// follow prints a status, with --watch until the run is over or a signal arrives.
func (c *statusCommand) follow(ctx context.Context, show func() (over bool, err error)) error {
	for {
		looked := time.Now()
		over, err := show()
		if err != nil || over || !c.watch {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(max(watchPause, (watchShare-1)*time.Since(looked))):
		}
	}
}

// With --watch, the status takes at most a tenth of the time of the server, because it counts
// all partitions.
const (
	watchPause = 2 * time.Second // shortest pause
	watchShare = 10
)

// clearScreen moves to the beginning of a terminal and clears it.
const clearScreen = "\x1b[H\x1b[2J"

// show writes a report. With --watch, it replaces the previous report on a terminal.
func (c *statusCommand) show(write func(io.Writer) error) error {
	return c.writeReport(c.out, func(w io.Writer) error {
		if c.watch && toStdout(c.out) && isTerminal(c.stdout) {
			if _, err := io.WriteString(w, clearScreen); err != nil {
				return err
			}
		}
		return write(w)
	})
}

// overview prints a table of all runs.
func (c *statusCommand) overview(ctx context.Context, s *connection) error {
	return c.follow(ctx, func() (over bool, err error) {
		o, err := s.Overview(ctx)
		if err != nil {
			return true, err
		}
		return false, c.show(func(w io.Writer) error { return c.writeOverview(w, o) })
	})
}

// writeOverview writes how far all runs are, in the format of --format.
func (c *statusCommand) writeOverview(w io.Writer, o *status.Overview) error {
	if c.format == formatJSON {
		return writeJSONTo(w, o)
	}
	printable.Strings(o)
	return report.OverviewText(w, o, c.statusColumns())
}

// statusColumns returns the width of the text, or 0 if it is not for a terminal.
func (c *statusCommand) statusColumns() int {
	if !toStdout(c.out) {
		return 0
	}
	return c.columns()
}

// writeStatus writes how far a run is, in the format of --format.
func (c *statusCommand) writeStatus(w io.Writer, s *status.Run) error {
	if c.format == formatJSON {
		return writeJSONTo(w, s)
	}
	printable.Strings(s)
	if c.format == formatHTML {
		return report.StatusHTML(w, s)
	}
	return report.StatusText(w, s, c.statusColumns())
}

// listPartitions lists the partitions of a run that have begun, as they are read.
func (c *statusCommand) listPartitions(ctx context.Context, s *connection, id string) error {
	run, err := s.Run(ctx, id)
	if err != nil {
		return err
	}
	w := c.redactor.Writer(c.guard(c.stdout))
	defer w.Close()
	enc := json.NewEncoder(printable.Writer(w, printable.JSON))
	enc.SetEscapeHTML(false)
	waiting, err := run.Partitions(ctx, func(p status.Partition) error {
		if c.format == formatJSON {
			return printError(enc.Encode(p))
		}
		_, err := io.WriteString(w, printable.Text(report.PartitionText(p))+"\n")
		return printError(err)
	})
	if err != nil || waiting == 0 || c.format == formatJSON {
		return err
	}
	_, err = fmt.Fprintln(w, wording.Counted(waiting, "other partition")+" without a page")
	return printError(err)
}

// refusePhase returns an error if --fail-on names the phase of the run.
func (c *statusCommand) refusePhase(s *status.Run) error {
	if !slices.Contains(c.failOn, string(s.Phase)) {
		return nil
	}
	return failedOn(c.failOn, []string{fmt.Sprintf("the run %s is %s", s.Summary.Run, s.Phase)})
}
