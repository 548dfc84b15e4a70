package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/cluster"
)

// A deleteCommand is stopwhen delete.
type deleteCommand struct {
	*app
	natsClient
	force     bool
	olderThan string
}

func newDelete(a *app) *cobra.Command {
	c := &deleteCommand{app: a, natsClient: natsClient{app: a}}
	cmd := &cobra.Command{
		Use:   "delete [RUN]",
		Short: "Delete a run, with its items, from the server",
		Long: `Delete a run from the NATS server, with all items that are stored. It cannot be
undone. A run that goes on is refused, unless --force is given. Runs that are
cancelled, or whose partitions have all ended, do not go on.`,
		Example: `  stopwhen delete orders-20261122-k3fq
  stopwhen delete --older-than 720h`,
		Args: func(_ *cobra.Command, args []string) error {
			older := c.olderThan != ""
			return refuse([]misuse{
				{older && len(args) > 0, "want the id of a run or --older-than, not both"},
				{older && c.force, "--older-than deletes only runs that have ended, so --force cannot be used with it"},
				{!older && len(args) != 1, "want the id of a run, or --older-than DURATION"},
			})
		},
		ValidArgsFunction: c.completeRuns,
		RunE:              c.Run,
	}
	f := cmd.Flags()
	f.BoolVar(&c.force, "force", false, "delete the run even if it goes on")
	f.StringVar(&c.olderThan, "older-than", "", "delete the runs that ended before this `DURATION`, such as 720h")
	c.addNATSFlags(cmd)
	c.logFlags.register(cmd, "log details")
	return cmd
}

// Run deletes a run, or all runs that ended long ago.
func (c *deleteCommand) Run(_ *cobra.Command, args []string) error {
	age, err := parseDuration("--older-than", c.olderThan)
	if err != nil {
		return err
	}
	c.remains = "delete the run again, since some of it may still be stored"
	if age != 0 {
		c.remains = "do it again, since some of the runs may still be stored"
		return c.withRuns(func(ctx context.Context, s *connection) error { return s.removeOlder(ctx, time.Now().Add(-age)) })
	}
	return c.withRun(args[0], func(ctx context.Context, s *connection, run *cluster.Run) error {
		if !c.force {
			ended, _, err := run.Ended(ctx)
			if err != nil {
				return err
			}
			if !ended {
				return &usageError{fmt.Sprintf("run %s goes on; end it with stopwhen cancel %s%s, or use --force", run.ID(), run.ID(), c.natsArgs())}
			}
		}
		return s.removeRun(ctx, run)
	})
}

// removeOlder deletes the runs that ended before a time.
func (s *connection) removeOlder(ctx context.Context, before time.Time) error {
	runs, err := s.Runs(ctx)
	if err != nil {
		return err
	}
	var errs error
	n := 0
	for _, run := range runs {
		ended, when, err := run.Ended(ctx)
		if err == nil && ended && when.Before(before) {
			err = s.removeRun(ctx, run)
			n++
		}
		errs = errors.Join(errs, err)
	}
	if n == 0 && errs == nil {
		s.log.Info("no run ended before "+before.UTC().Format(time.RFC3339), "event", "deleted")
	}
	return errs
}

// removeRun deletes a run.
func (s *connection) removeRun(ctx context.Context, run *cluster.Run) error {
	if err := run.Delete(ctx); err != nil {
		return err
	}
	s.log.Info(fmt.Sprintf("run %s is deleted", run.ID()), "event", "deleted", "run", run.ID())
	return nil
}
