package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// A connection reaches the runs on a NATS server.
type connection struct {
	*cluster.Cluster
	log *slog.Logger
}

// shortPatience is how long commands with a single operation wait for a server that does not
// answer.
const shortPatience = 30 * time.Second

// withRuns connects to NATS and calls f with a context that a signal cancels.
func (n *natsClient) withRuns(f func(context.Context, *connection) error) error {
	return n.app.logged(func(ctx context.Context, logger *slog.Logger) error {
		o := cluster.Options{Log: logger, Patience: shortPatience, Engine: new(environment).options()}
		return signalError(ctx, n.openRuns(ctx, o, nil, func(c *cluster.Cluster) error {
			return f(ctx, &connection{Cluster: c, log: logger})
		}))
	})
}

// withRun connects to NATS and calls f with a run.
func (n *natsClient) withRun(id string, f func(context.Context, *connection, *cluster.Run) error) error {
	return n.withRuns(func(ctx context.Context, s *connection) error {
		run, err := s.Run(ctx, id)
		if err != nil {
			return err
		}
		return f(ctx, s, run)
	})
}

// openRuns connects to NATS, calls f, and closes the connection. With wait, it waits for a
// server and, if the user may not create streams, for the first run that is submitted there.
func (n *natsClient) openRuns(ctx context.Context, o cluster.Options, wait *waiting, f func(*cluster.Cluster) error) error {
	n.app.serverFlags = n.natsArgs()
	conn, err := n.connect(ctx, "stopwhen", wait != nil, o.Log)
	if err != nil {
		return err
	}
	defer func() {
		n.ends.Store(true)
		conn.Close()
	}()
	if n.connected != nil {
		n.connected(conn.Conn)
	}
	js, err := conn.JetStream()
	if err != nil {
		return err
	}
	c, err := cluster.Open(ctx, js, o)
	if wait != nil && errors.Is(err, cluster.ErrEmpty) {
		c, err = wait.open(ctx, js, o)
	}
	if err != nil || c == nil {
		return err
	}
	return f(c)
}

// A waiting describes how a command waits for the first run.
type waiting struct {
	idle time.Duration // time after which the command ends; 0 means never
}

// emptyPause is the time between checks for the first run.
const emptyPause = time.Second

// open opens the runs after the first run has been submitted. It returns nil if that takes too
// long.
func (w *waiting) open(ctx context.Context, js jetstream.JetStream, o cluster.Options) (*cluster.Cluster, error) {
	begun, next := time.Now(), time.Now()
	for {
		if w.idle > 0 && time.Since(begun) >= w.idle {
			o.Log.Info(fmt.Sprintf("there has been no task for %s", w.idle), "event", "worker_idle")
			return nil, nil
		}
		if !time.Now().Before(next) {
			o.Log.Warn("nothing has been submitted to the NATS server yet; waiting for the first run", "event", "nats_empty")
			next = time.Now().Add(natsReminder)
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-time.After(emptyPause):
		}
		c, err := cluster.Open(ctx, js, o)
		if !errors.Is(err, cluster.ErrEmpty) {
			return c, err
		}
	}
}

// oneRun accepts the id of a run.
func oneRun(_ *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return &usageError{"want the id of a run, got " + wording.Counted(len(args), "argument")}
}

// completeRuns completes the ids of runs.
func (n *natsClient) completeRuns(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var ids []string
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	n.app.quiet = true
	_ = n.withRuns(func(ctx context.Context, s *connection) error {
		runs, err := s.Runs(ctx)
		for _, run := range runs {
			ids = append(ids, run.ID())
		}
		return err
	})
	return ids, cobra.ShellCompDirectiveNoFileComp
}

// natsArgs returns the flags with which the next command reaches the same server, as part
// of a message.
func (n *natsClient) natsArgs() string {
	args := &strings.Builder{}
	server := []streamUse{{"--nats", withoutLogin(n.nats.urls)}, {"--nats-context", n.nats.context}}
	for _, f := range append(server, n.nats.files()...) {
		if f.path != "" {
			fmt.Fprintf(args, " %s %s", f.name, shellWord(f.path))
		}
	}
	return args.String()
}

// withoutLogin returns addresses of servers, or "URL" if they have a user, a password or a
// token, which no message shows.
func withoutLogin(list string) string {
	for address := range strings.SplitSeq(list, ",") {
		if u, err := parseServer(address); err != nil || u.User != nil {
			return "URL"
		}
	}
	return list
}

// shellWord returns a text as one word of a shell.
func shellWord(text string) string {
	plain := func(r rune) bool {
		return strings.ContainsRune("-_./:,@%+=", r) || unicode.IsLetter(r) || unicode.IsDigit(r)
	}
	if strings.IndexFunc(text, func(r rune) bool { return !plain(r) }) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
