package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// workerFlags are the flags of stopwhen worker.
type workerFlags struct {
	name  string
	slots int
	idle  string
	one   bool // run the task on standard input, and end
}

// oneTask is the flag of a process that runs one task, which may crash it.
const oneTask = "one-task"

func (a *app) workerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Run partitions of the runs that many machines share",
		Long: `Take partitions of all runs that were submitted with stopwhen submit, request
their pages, and store them on the NATS server, until a signal ends the worker.
Any number of workers, on any machines, share the partitions.

On SIGINT or SIGTERM a worker returns its partitions at once and ends with
status 0; other workers continue behind the last stored page. A worker that dies
is noticed after 30 seconds, or after submit --lease, and loses no page that was
stored. A worker waits for a server that it cannot reach.

Secrets come from the environment of the worker: --env allows the names that
configurations may read. An API that replaces refresh tokens allows only one
machine, since each token is valid once: --tokens stores them.`,
		Example: `  stopwhen worker
  stopwhen worker --jobs 32 --env API_TOKEN --nats nats://hub.example.com
  stopwhen worker --idle 10m --quiet`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.worker() },
	}
	f, w := cmd.Flags(), &a.flags.worker
	a.envFlag(cmd, "`NAMES` of environment variables that configurations may read")
	a.setFlags(cmd, "a secret input of the runs")
	f.IntVar(&w.slots, "jobs", 8, "number of `PARTITIONS` to run at the same time")
	a.prefetchFlag(cmd)
	a.tokensFlag(cmd, "")
	f.StringVar(&w.idle, "idle", "", "`DURATION` without a partition after which the worker ends: 90s, 10m")
	f.StringVar(&w.name, "name", "", "`NAME` of the worker in logs and in stopwhen status (default the name of the machine and a number)")
	f.BoolVar(&w.one, oneTask, false, "run the task on standard input, and end")
	_ = f.MarkHidden(oneTask)
	a.natsFlags(cmd)
	a.logFlags(cmd)
	return cmd
}

func (a *app) worker() error {
	w, err := a.newWorker()
	if err != nil {
		return err
	}
	redacted := a.redactor.Writer(a.guard(a.stderr))
	defer redacted.Close()
	logger, err := a.newLogger(redacted, false)
	if err != nil {
		return err
	}
	o, err := a.workerOptions(logger)
	if err != nil {
		return err
	}
	ctx, stop := a.catchSignals()
	defer stop()
	err = a.openRuns(ctx, o, &waiting{w.Idle}, func(c *cluster.Cluster) error {
		if w.task != "" {
			return c.WorkOne(ctx, w.Worker, w.task)
		}
		return a.untilSignal(ctx, logger, func() error { return c.Work(ctx, w.Worker) })
	})
	if ctx.Err() != nil && classOf(err) == failure.Cancelled {
		return nil // told to stop before it had begun
	}
	return err
}

// handBackTime is how long a worker that was told to stop waits for partitions that do not
// notice it, since they evaluate rules or decode a page.
const handBackTime = 5 * time.Second

// untilSignal waits for a worker, and leaves it behind if it does not end soon after a
// signal. Others get its partitions when it has been silent for long enough.
func (a *app) untilSignal(ctx context.Context, logger *slog.Logger, work func() error) error {
	ended := make(chan error, 1)
	go func() { ended <- work() }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(handBackTime):
		logger.Warn("a partition has not noticed the end of the worker; others continue it when the worker has been silent for a while",
			"event", "worker_left")
		return nil
	}
}

// A worker is a worker, or a task for it that may crash it.
type worker struct {
	cluster.Worker
	task string // "": the worker takes tasks from the queue
}

// newWorker returns the worker that the flags describe.
func (a *app) newWorker() (w worker, err error) {
	for _, check := range []func() error{a.checkVolume, a.checkPrefetch, a.checkSlots, a.checkEnv} {
		if err := check(); err != nil {
			return w, err
		}
	}
	w.Worker = cluster.Worker{Name: a.flags.worker.name, Slots: a.flags.worker.slots}
	if w.Idle, err = parseDuration("--idle", a.flags.worker.idle); err != nil {
		return w, err
	}
	if a.flags.worker.one {
		if w.task, err = a.readTask(); err != nil {
			return w, err
		}
	}
	var set string // the text of --set-file -
	if a.flags.setFile == "-" {
		text, err := rules.ReadConfig(a.stdin)
		if err != nil {
			return w, &usageError{fmt.Sprintf("--set-file: %v", err)}
		}
		set = string(text)
		a.stdin = strings.NewReader(set)
	}
	if w.Inputs, err = a.inputs(); err != nil {
		return w, err
	}
	w.Hide = func(secret string) { a.redactor.Hide(secret) }
	w.Isolate = func(ctx context.Context, task string) *exec.Cmd { return a.isolated(ctx, task, set) }
	return w, nil
}

func (a *app) checkSlots() error {
	const most = 10_000
	if n := a.flags.worker.slots; n < 1 || n > most {
		return &usageError{fmt.Sprintf("--jobs: want a number of partitions from 1 to %d, got %d", most, n)}
	}
	return nil
}

// checkEnv refuses what cannot be the name of an environment variable.
func (a *app) checkEnv() error {
	for _, name := range a.flags.env {
		if name == "" || strings.ContainsAny(name, "= \t\r\n") {
			return &usageError{"--env: want the names of environment variables, with commas between them"} // it may be a secret
		}
	}
	return nil
}

// workerOptions returns the options with which a worker runs partitions.
func (a *app) workerOptions(logger *slog.Logger) (cluster.Options, error) {
	for _, name := range a.flags.env {
		text, ok := os.LookupEnv(name)
		a.redactor.Hide(text)
		if !ok {
			logger.Warn("--env: the environment variable "+name+" is not set; this worker cannot run configurations that read it",
				"event", "env_unset")
		}
	}
	prefetch, _ := a.prefetch()
	o := cluster.Options{Log: logger, Engine: append((&environment{app: a}).options(), engine.WithPrefetch(prefetch), engine.WithVerdicts())}
	if a.flags.tokens == "" {
		return o, nil
	}
	if a.flags.tokens == "-" {
		return o, &usageError{"--tokens is read and replaced, so it needs a file instead of -"}
	}
	tokens, err := a.openTokens()
	if err == nil {
		err = probe(a.flags.tokens + ".new")
	}
	o.Engine = append(o.Engine, engine.WithTokenStore(tokens))
	return o, err
}

// isolated returns a command that runs a task with the flags of this worker. The task, and
// what this process has read from standard input, are the standard input of the command.
func (a *app) isolated(ctx context.Context, task, set string) *exec.Cmd {
	const endTime = 5 * time.Second
	program, err := os.Executable()
	if err != nil {
		program = os.Args[0]
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"worker", "--" + oneTask}, a.args[1:]...)...)
	cmd.Stdin = strings.NewReader(task + "\n" + set)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endTime
	return cmd
}

// readTask reads the task of this process, which is the first line of standard input.
func (a *app) readTask() (string, error) {
	in := bufio.NewReader(a.stdin)
	line, err := in.ReadString('\n')
	a.stdin = in
	if err != nil && !errors.Is(err, io.EOF) {
		return "", &usageError{fmt.Sprintf("cannot read the task: %v", err)}
	}
	if strings.TrimSpace(line) == "" {
		return "", &usageError{"--" + oneTask + ": want a task on standard input"}
	}
	return line, nil
}

// parseDuration reads the duration of a flag; 0 if there is none.
func parseDuration(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := rules.ParseDuration(text)
	if err != nil {
		return 0, &usageError{fmt.Sprintf("%s: %v", flag, err)}
	}
	return d, nil
}
