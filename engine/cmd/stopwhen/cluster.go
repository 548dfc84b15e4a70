package main

import (
	"context"
	"log/slog"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A session is a connection to the runs on a NATS server.
type session struct {
	*cluster.Cluster
	log *slog.Logger
	ctx context.Context // that a signal cancels
}

// shortPatience is how long commands that do one thing wait for a server that has stopped
// to answer.
const shortPatience = 30 * time.Second

// withRuns connects to NATS and calls f.
func (a *app) withRuns(f func(*session) error) error {
	if err := a.checkVolume(); err != nil {
		return err
	}
	logger, _, closeLog, err := a.openLog(a.redactor, false)
	if err != nil {
		return err
	}
	defer closeLog()
	ctx, stop := a.catchSignals()
	defer stop()
	o := cluster.Options{Log: logger, Patience: shortPatience, Engine: (&environment{app: a}).options()}
	return signalError(ctx, a.openRuns(ctx, o, false, func(c *cluster.Cluster) error {
		return f(&session{Cluster: c, log: logger, ctx: ctx})
	}))
}

// openRuns connects to NATS, calls f, and closes the connection. With wait, it waits for a
// server.
func (a *app) openRuns(ctx context.Context, o cluster.Options, wait bool, f func(*cluster.Cluster) error) error {
	conn, err := a.connect(ctx, "stopwhen", wait, o.Log)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := conn.JetStream()
	if err != nil {
		return err
	}
	c, err := cluster.Open(ctx, js, o)
	if err != nil {
		return err
	}
	return f(c)
}

// oneRun accepts the id of a run.
func oneRun(_ *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return &usageError{"want the id of a run, got " + value.Counted(len(args), "argument")}
}

// completeRuns completes the ids of runs.
func (a *app) completeRuns(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	a.flags.quiet = true
	_ = a.withRuns(func(s *session) error {
		runs, err := s.Runs(s.ctx)
		for _, run := range runs {
			ids = append(ids, run.ID())
		}
		return err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// natsArgs returns the flags with which the next command reaches the same server, as part
// of a message.
func (a *app) natsArgs() string {
	n := a.flags.nats
	switch u, err := url.Parse(n.urls); {
	case n.context != "":
		return " --nats-context " + n.context
	case n.urls != "" && err == nil && u.User == nil:
		return " --nats " + n.urls
	}
	return ""
}
