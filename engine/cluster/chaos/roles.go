//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/hub"
)

// Variables of the environment of the processes of a round.
const (
	roleVariable   = "STOPWHEN_CHAOS_ROLE"
	orderVariable  = "STOPWHEN_CHAOS_ORDER" // an order, as JSON
	taskVariable   = "STOPWHEN_CHAOS_TASK"
	secretVariable = "STOPWHEN_CHAOS_SECRET"
)

// The roles of processes.
const (
	roleHub       = "hub"
	roleWorker    = "worker"
	roleOne       = "one" // runs one task, for a worker
	roleCollector = "collector"
)

// ackWait is how long a worker may be silent.
const ackWait = 2 * time.Second

// An order says what a process has to do.
type order struct {
	NATS   string
	Dir    string // of the hub, or for the files of the collector
	Listen string // of the hub
	Run    string // to be collected
	Name   string // of the worker
	Slots  int
	Faults faultPlan
	Counts string // file
}

// secretOf returns the secret of a worker.
func secretOf(worker string) string { return "secret-of-" + worker }

// play does the work of a role, and returns the exit status.
func play(role string) int {
	var o order
	err := json.Unmarshal([]byte(os.Getenv(orderVariable)), &o)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err == nil {
		switch role {
		case roleHub:
			err = o.hub(ctx)
		case roleWorker:
			err = o.worker(ctx)
		case roleOne:
			err = o.one(ctx)
		case roleCollector:
			err = o.collect(ctx)
		default:
			err = fmt.Errorf("there is no role %q", role)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func logger() *slog.Logger { return slog.New(slog.NewTextHandler(os.Stderr, nil)) }

func (o order) hub(ctx context.Context) error {
	s, err := hub.Start(ctx, hub.Options{Dir: o.Dir + "/store", Listen: o.Listen, ConfigFile: o.Dir + "/nats.conf", Logger: logger()})
	if err != nil {
		return err
	}
	context.AfterFunc(ctx, s.Shutdown)
	return s.Wait()
}

// connect connects to the server, over wires with faults unless these are nil.
func connect(url string, f *faults) (jetstream.JetStream, error) {
	options := []nats.Option{
		nats.MaxReconnects(-1), nats.RetryOnFailedConnect(true), nats.ReconnectBufSize(-1),
		nats.ReconnectWait(50 * time.Millisecond), nats.ReconnectJitter(0, 0),
	}
	if f != nil {
		options = append(options, nats.SetCustomDialer(dialer{f}))
	}
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return nil, err
	}
	return jetstream.New(nc)
}

// open opens the cluster for a worker.
func (o order) open(ctx context.Context, f *faults) (*cluster.Cluster, error) {
	js, err := connect(o.NATS, f)
	if err != nil {
		return nil, err
	}
	return cluster.Open(ctx, js, cluster.Options{AckWait: ackWait, Log: logger(), Engine: []engine.Option{
		engine.WithEnv(os.LookupEnv), engine.WithTransport(transport{o.Name, http.DefaultTransport}),
	}})
}

func (o order) worker(ctx context.Context) error {
	c, err := o.open(ctx, newFaults(o.Faults, &counts{o.Counts}))
	if err != nil {
		return err
	}
	return c.Work(ctx, cluster.Worker{Name: o.Name, Slots: o.Slots, Isolate: func(ctx context.Context, task string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), roleVariable+"="+roleOne, taskVariable+"="+task)
		return cmd
	}})
}

func (o order) one(ctx context.Context) error {
	c, err := o.open(ctx, nil)
	if err != nil {
		return err
	}
	return c.WorkOne(ctx, cluster.Worker{Name: o.Name}, os.Getenv(taskVariable))
}

// A transport says who makes a request, and ends the process if the response says so.
type transport struct {
	worker string
	next   http.RoundTripper
}

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set(workerHeader, t.worker)
	resp, err := t.next.RoundTrip(r)
	if err == nil && resp.Header.Get(dieHeader) != "" {
		die()
	}
	return resp, err
}

// collect collects a run into files of a directory, behind what is there already.
func (o order) collect(ctx context.Context) error {
	c, err := o.open(ctx, nil)
	if err != nil {
		return err
	}
	run, err := c.Run(ctx, o.Run)
	if err != nil {
		return err
	}
	f, err := openCollected(o.Dir)
	if err != nil {
		return err
	}
	e, err := run.Engine(engine.WithResume(f.saved.Checkpoints))
	if err != nil {
		return err
	}
	result, err := run.Collect(ctx, e, f.page, cluster.Collecting{})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return f.end(result, err)
}

// counts counts events of several processes in one file.
type counts struct{ path string }

func (c *counts) add(event string) {
	f, err := os.OpenFile(c.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(event + "\n")
	}
	if err := errors.Join(err, f.Close()); err != nil {
		panic(err)
	}
}
