package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A workerCommand is stopwhen worker.
type workerCommand struct {
	loader
	natsClient
	monitored
	prefetch, tokens string
	name             string
	slots            int
	idle             string
}

func newWorker(a *app) *cobra.Command {
	c := &workerCommand{loader: loader{app: a}, natsClient: natsClient{app: a}, monitored: monitored{app: a}}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Work on the runs on many machines",
		Long: `Take partitions of all runs that were submitted with stopwhen submit, request
their pages, and store them on the NATS server, until a signal ends the worker.
Any number of workers, on any machines, share the partitions.

On SIGINT or SIGTERM a worker returns its partitions at once and ends with
status 0; other workers continue after the last stored page. A worker that dies
is noticed after 30 seconds, or after submit --lease, and loses no page that was
stored. A worker waits for a server that it cannot reach.

Secrets come from the environment of the worker: --env allows the names that
configurations may read. An API that replaces refresh tokens allows only one
machine, since each token is valid once: --tokens stores them.`,
		Example: `  stopwhen worker
  stopwhen worker --jobs 32 --env API_TOKEN --nats nats://hub.example.com
  stopwhen worker --idle 10m --quiet`,
		Args: noArguments,
		RunE: c.Run,
	}
	f := cmd.Flags()
	c.envFlags(cmd)
	c.addInputFlags(cmd, "a secret input of the runs")
	f.IntVar(&c.slots, "jobs", 8, "number of `PARTITIONS` to run at the same time")
	prefetchFlag(cmd, &c.prefetch)
	tokensFlag(cmd, &c.tokens, "")
	f.StringVar(&c.idle, "idle", "", "`DURATION` without a partition after which the worker ends: 90s, 10m")
	f.StringVar(&c.name, "name", "", "`NAME` of the worker in logs and in stopwhen status (default the name of the machine and a number)")
	c.metricsFlag(cmd)
	c.addNATSFlags(cmd)
	c.logFlags.register(cmd, "log details")
	return cmd
}

// Run runs partitions until a signal arrives.
func (c *workerCommand) Run(*cobra.Command, []string) error {
	w, err := c.worker()
	if err != nil {
		return err
	}
	return c.logged(func(ctx context.Context, logger *slog.Logger) error {
		o, err := c.workerOptions(logger)
		if err != nil {
			return err
		}
		counts := newWorkerMetrics()
		if c.metrics != "" {
			o.Engine = append(o.Engine, counts.option())
		}
		stop, err := c.serveMetrics(logger, counts.health, counts.collectors()...)
		if err != nil {
			return err
		}
		defer stop()
		w.Monitor, c.connected = &counts.monitor, counts.conn.Store
		err = c.openRuns(ctx, o, &waiting{w.Idle}, func(runs *cluster.Cluster) error {
			return c.untilSignal(ctx, logger, func() error { return runs.Work(ctx, w) })
		})
		if ctx.Err() != nil && classOf(err) == failure.Cancelled {
			return nil // told to stop before it had begun
		}
		return err
	})
}

// abandonAfter is how long a worker that was told to stop waits for partitions that do not
// notice it, since they evaluate rules or decode a page.
const abandonAfter = 5 * time.Second

// untilSignal waits for a worker, and abandons it if it does not end soon after a signal. Other
// workers get its partitions when it has been silent for long enough.
func (c *workerCommand) untilSignal(ctx context.Context, logger *slog.Logger, work func() error) error {
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
	case <-time.After(abandonAfter):
		logger.Warn("a partition has not noticed the end of the worker; others continue it when the worker has been silent for a while",
			"event", "worker_left")
		return nil
	}
}

// worker returns the worker that the flags describe.
func (c *workerCommand) worker() (w cluster.Worker, err error) {
	if err := errors.Join(c.checkSlots(), c.checkEnv(), c.checkMetrics()); err != nil {
		return w, err
	}
	w = cluster.Worker{Name: c.name, Slots: c.slots, Hide: func(secret string) { c.redactor.Hide(secret) }}
	if w.Idle, err = parseDuration("--idle", c.idle); err != nil {
		return w, err
	}
	w.Inputs, err = c.inputs()
	return w, err
}

func (c *workerCommand) checkSlots() error {
	const most = 10_000
	text := fmt.Sprintf("--jobs: want a number of partitions from 1 to %d, got %d", most, c.slots)
	return refuse([]misuse{{c.slots < 1 || c.slots > most, text}})
}

// checkEnv refuses values of --env that cannot be names of environment variables.
func (c *workerCommand) checkEnv() error {
	for _, name := range c.env {
		if name == "" || strings.ContainsAny(name, "= \t\r\n") {
			return &usageError{"--env: want the names of environment variables, with commas between them"} // it may be a secret
		}
	}
	return nil
}

// workerOptions returns the options with which a worker runs partitions.
func (c *workerCommand) workerOptions(logger *slog.Logger) (cluster.Options, error) {
	for _, name := range c.env {
		text, ok := os.LookupEnv(name)
		c.redactor.Hide(text)
		if !ok {
			logger.Warn("--env: the environment variable "+name+" is not set; this worker cannot run configurations that read it",
				"event", "env_unset")
		}
	}
	env, err := c.environment(nil)
	if err != nil {
		return cluster.Options{}, err
	}
	for _, text := range env.file {
		c.redactor.Hide(text)
	}
	prefetch, err := parsePrefetch(c.prefetch)
	if err != nil {
		return cluster.Options{}, err
	}
	o := cluster.Options{
		Log:    logger,
		Engine: append(env.options(), engine.WithPrefetch(prefetch), engine.WithVerdictValues()),
	}
	if c.tokens == "" {
		return o, nil
	}
	if c.tokens == "-" {
		return o, &usageError{"--tokens is read and replaced, so it needs a file instead of -"}
	}
	tokens, err := c.openTokens(c.tokens)
	if err == nil {
		err = probe(c.tokens)
	}
	o.Engine = append(o.Engine, engine.WithTokenStore(tokens))
	return o, err
}

// parseDuration parses the duration of a flag. An empty text means 0.
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
