package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/rules/value"
)

// removeFlags are the flags of stopwhen delete.
type removeFlags struct {
	force     bool
	olderThan string
}

func (a *app) cancelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel RUN",
		Short: "End a run that many machines share",
		Long: `Remove the queued partitions of a run, and let workers stop those that they run.
What is stored remains: stopwhen collect writes it, and submitting the run
again, by its id, continues it.`,
		Example:           "  stopwhen cancel orders-20261122-k3fq",
		Args:              oneRun,
		ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			a.remains = "cancel the run again, since some of its tasks may still be queued"
			return a.withRun(args[0], func(s *session, run *cluster.Run) error {
				if ended, _, err := run.Ended(s.ctx); err == nil && ended && run.Phase() != cluster.Cancelled {
					s.log.Info(fmt.Sprintf("run %s has ended; there is nothing to cancel", run.ID()), "event", "cancelled", "run", run.ID())
					return nil
				}
				if err := run.Cancel(s.ctx); err != nil {
					return err
				}
				s.log.Info(fmt.Sprintf("run %s is cancelled", run.ID()), "event", "cancelled", "run", run.ID())
				return nil
			})
		},
	}
	a.natsFlags(cmd)
	a.logFlags(cmd)
	return cmd
}

func (a *app) retryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retry RUN [PARTITION...]",
		Short: "Queue partitions again that have failed",
		Long: `Queue the partitions of a run that have failed once more: all of them, or those
that are named as in stopwhen status. Each continues behind its last stored
page.`,
		Example: `  stopwhen retry orders-20261122-k3fq
  stopwhen retry orders-20261122-k3fq 0-p1i7`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return &usageError{"want the id of a run"}
			}
			return nil
		},
		ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			a.remains = "do it again, since some of the partitions may not be queued"
			return a.withRun(args[0], func(s *session, run *cluster.Run) error {
				n, err := run.Retry(s.ctx, args[1:]...)
				if n > 0 || err == nil {
					s.log.Info(fmt.Sprintf("run %s: %s queued again", run.ID(), value.Counted(n, "partition")),
						"event", "retried", "run", run.ID(), "partitions", n)
				}
				return err
			})
		},
	}
	a.natsFlags(cmd)
	a.logFlags(cmd)
	return cmd
}

func (a *app) deleteCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete [RUN]",
		Short: "Delete a run, with its items, from the server",
		Long: `Delete a run from the NATS server, with all items that are stored. It cannot be
undone. A run that goes on is refused, unless --force is given. Runs that are
cancelled, or whose partitions have all ended, do not go on.`,
		Example: `  stopwhen delete orders-20261122-k3fq
  stopwhen delete --older-than 720h`,
		Args: func(_ *cobra.Command, args []string) error {
			switch older := a.flags.remove.olderThan != ""; {
			case older && len(args) > 0:
				return &usageError{"want the id of a run or --older-than, not both"}
			case older && a.flags.remove.force:
				return &usageError{"--older-than deletes only runs that have ended, so --force cannot be used with it"}
			case !older && len(args) != 1:
				return &usageError{"want the id of a run, or --older-than DURATION"}
			}
			return nil
		},
		ValidArgsFunction: a.completeRuns,
		RunE:              func(_ *cobra.Command, args []string) error { return a.remove(args) },
	}
	f := cmd.Flags()
	f.BoolVar(&a.flags.remove.force, "force", false, "delete the run even if it goes on")
	f.StringVar(&a.flags.remove.olderThan, "older-than", "", "delete the runs that ended before this `DURATION`, such as 720h")
	a.natsFlags(cmd)
	a.logFlags(cmd)
	return cmd
}

// withRun connects to NATS and calls f with a run.
func (a *app) withRun(id string, f func(*session, *cluster.Run) error) error {
	return a.withRuns(func(s *session) error {
		run, err := s.Run(s.ctx, id)
		if err != nil {
			return err
		}
		return f(s, run)
	})
}

// remove deletes a run, or those that ended long ago.
func (a *app) remove(args []string) error {
	age, err := parseDuration("--older-than", a.flags.remove.olderThan)
	if err != nil {
		return err
	}
	a.remains = "delete the run again, since some of it may still be stored"
	if age != 0 {
		a.remains = "do it again, since some of the runs may still be stored"
		return a.withRuns(func(s *session) error { return s.removeOlder(time.Now().Add(-age)) })
	}
	return a.withRun(args[0], func(s *session, run *cluster.Run) error {
		if !a.flags.remove.force {
			ended, _, err := run.Ended(s.ctx)
			if err != nil {
				return err
			}
			if !ended {
				return &usageError{fmt.Sprintf("run %s goes on; end it with stopwhen cancel %s%s, or use --force", run.ID(), run.ID(), a.natsArgs())}
			}
		}
		return s.removeRun(run)
	})
}

// removeOlder deletes the runs that ended before a time.
func (s *session) removeOlder(before time.Time) error {
	runs, err := s.Runs(s.ctx)
	if err != nil {
		return err
	}
	var all error
	n := 0
	for _, run := range runs {
		ended, at, err := run.Ended(s.ctx)
		if err == nil && ended && at.Before(before) {
			err = s.removeRun(run)
			n++
		}
		all = errors.Join(all, err)
	}
	if n == 0 && all == nil {
		s.log.Info("no run ended before "+before.UTC().Format(time.RFC3339), "event", "deleted")
	}
	return all
}

// removeRun deletes a run.
func (s *session) removeRun(run *cluster.Run) error {
	if err := run.Delete(s.ctx); err != nil {
		return err
	}
	s.log.Info(fmt.Sprintf("run %s is deleted", run.ID()), "event", "deleted", "run", run.ID())
	return nil
}
