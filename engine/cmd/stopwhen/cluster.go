package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"

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
	o.Flags = a.natsArgs()
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
	flags := &strings.Builder{}
	for _, f := range []struct{ name, value string }{
		{"--nats", withoutLogin(n.urls)}, {"--nats-context", n.context}, {"--nats-creds", n.creds},
		{"--nats-tls-ca", n.tlsCA}, {"--nats-tls-cert", n.tlsCert}, {"--nats-tls-key", n.tlsKey},
	} {
		if f.value != "" {
			fmt.Fprintf(flags, " %s %s", f.name, shellWord(f.value))
		}
	}
	return flags.String()
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
