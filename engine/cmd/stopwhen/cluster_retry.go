package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A retryCommand is stopwhen retry.
type retryCommand struct {
	*app
	natsClient
}

func newRetry(a *app) *cobra.Command {
	c := &retryCommand{app: a, natsClient: natsClient{app: a}}
	cmd := &cobra.Command{
		Use:   "retry RUN [PARTITION...]",
		Short: "Queue failed partitions again",
		Long: `Queue the failed partitions of a run again: all of them, or those
that are named as in stopwhen status. Each continues after its last stored
page.`,
		Example: `  stopwhen retry orders-20261122-k3fq
  stopwhen retry orders-20261122-k3fq 0-p1i7`,
		Args: func(_ *cobra.Command, args []string) error {
			return refuse([]misuse{{len(args) == 0, "want the id of a run"}})
		},
		ValidArgsFunction: c.completeRuns,
		RunE:              c.Run,
	}
	c.addNATSFlags(cmd)
	c.logFlags.register(cmd, "log details")
	return cmd
}

// Run queues partitions again.
func (c *retryCommand) Run(_ *cobra.Command, args []string) error {
	c.remains = "do it again, since some of the partitions may not be queued"
	return c.withRun(args[0], func(ctx context.Context, s *connection, run *cluster.Run) error {
		n, err := run.Retry(ctx, args[1:]...)
		if n > 0 || err == nil {
			s.log.Info(fmt.Sprintf("run %s: %s queued again", run.ID(), wording.Counted(n, "partition")),
				"event", "retried", "run", run.ID(), "partitions", n)
		}
		return err
	})
}
