package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/cluster"
)

// A cancelCommand is stopwhen cancel.
type cancelCommand struct {
	*app
	natsClient
}

func newCancel(a *app) *cobra.Command {
	c := &cancelCommand{app: a, natsClient: natsClient{app: a}}
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run on many machines",
		Long: `Remove the queued partitions of a run, and tell workers to stop those that run.
The stored pages remain: stopwhen collect writes them, and submitting the run
again, by its id, continues it.`,
		Example:           "  stopwhen cancel orders-20261122-k3fq",
		Args:              oneRun,
		ValidArgsFunction: c.completeRuns,
		RunE:              c.Run,
	}
	c.addNATSFlags(cmd)
	c.logFlags.register(cmd, "log details")
	return cmd
}

// Run ends a run.
func (c *cancelCommand) Run(_ *cobra.Command, args []string) error {
	c.remains = "cancel the run again, since some of its tasks may still be queued"
	return c.withRun(args[0], func(ctx context.Context, s *connection, run *cluster.Run) error {
		if ended, _, err := run.Ended(ctx); err == nil && ended && run.Phase() != cluster.Cancelled {
			s.log.Info(fmt.Sprintf("run %s has ended; there is nothing to cancel", run.ID()), "event", "cancelled", "run", run.ID())
			return nil
		}
		if err := run.Cancel(ctx); err != nil {
			return err
		}
		s.log.Info(fmt.Sprintf("run %s is cancelled", run.ID()), "event", "cancelled", "run", run.ID())
		return nil
	})
}
