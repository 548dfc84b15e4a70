//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
)

// How long a round breaks things, and how long it may take in all.
const (
	stormTime = 4 * time.Second
	roundTime = 3 * time.Minute
	shortTime = 15 * time.Second // of a round that must fail
	firstTeam = 3                // workers at the beginning
	largest   = 5                // workers at any time
	taskSlots = 4                // of a worker
)

// A round is one run with all that takes part in it.
type round struct {
	plan    plan
	control string
	dir     string
	counts  *counts
	random  *rand.Rand
	began   time.Time

	api   *api
	local *extraction // the run on one machine

	listen, url string // of the server
	hub         *process
	workers     []*process
	collector   *process
	frozen      map[*process]time.Time // until when
	names       int                    // of workers that were started
	hubStarts   time.Time              // when a server is to be started again
	restarts    int

	js    jetstream.JetStream
	c     *cluster.Cluster
	store *store.Store
	run   *cluster.Run
	tasks []*jetstream.RawStreamMsg // that were queued at some time
	until time.Time                 // the storm ends
}

// extraction is what a run has found.
type extraction struct {
	pages  []string
	result *engine.Result
}

func (x *extraction) page(_ context.Context, page *engine.Page) error {
	text, err := pageText(page)
	x.pages = append(x.pages, string(text))
	return err
}

func (x *extraction) text() []byte { return []byte(strings.Join(x.pages, "")) }

// newRound prepares a round in a directory.
func newRound(p plan, control, dir string) (*round, error) {
	r := &round{plan: p, control: control, dir: dir, counts: &counts{filepath.Join(dir, "counts")},
		random: rand.New(rand.NewPCG(p.Seed, 2)), frozen: map[*process]time.Time{}}
	for _, sub := range []string{"hub", "collected"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, err
		}
	}
	config := fmt.Sprintf("max_payload: %s\njetstream {max_memory_store: 64MB, max_file_store: 2GB}\n", p.Payload)
	if err := os.WriteFile(filepath.Join(dir, "hub", "nats.conf"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	port, err := freePort()
	r.listen = port
	r.url = "nats://" + port
	return r, err
}

// freePort returns an address of this machine that nobody listens on.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// play plays the round.
func (r *round) play(ctx context.Context) error {
	limit := roundTime
	if r.control != "" {
		limit = shortTime
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r.began = time.Now()
	stop, err := r.serve()
	if err != nil {
		return err
	}
	defer stop()
	if err := r.extract(ctx); err != nil {
		return fmt.Errorf("the run on one machine failed: %w", err)
	}
	defer r.endAll()
	if err := r.begin(ctx); err != nil {
		return err
	}
	o, err := r.collect(ctx)
	if err != nil {
		return err
	}
	if o.Error != "" {
		if err := r.repair(ctx, o); err != nil {
			return err
		}
		if o, err = r.collect(ctx); err != nil {
			return err
		}
	}
	return r.check(ctx, o)
}

// serve serves the API, once for the run on one machine and once for the others.
func (r *round) serve() (stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := "http://" + l.Addr().String()
	one := newAPI(r.plan, address+"/one/", false)
	r.api = newAPI(r.plan, address+"/many/", true)
	mux := http.NewServeMux()
	mux.Handle("/one/", one)
	mux.Handle("/many/", r.api)
	s := &http.Server{Handler: mux}
	go func() { _ = s.Serve(l) }()
	r.local = &extraction{}
	return func() { _ = s.Close() }, nil
}

// extract runs the configuration on one machine.
func (r *round) extract(ctx context.Context) error {
	base := strings.TrimSuffix(r.api.base, "many/") + "one/"
	e, err := engine.Load("round.json", r.plan.config(base), engine.WithTransport(transport{"one", http.DefaultTransport}),
		engine.WithEnv(func(string) (string, bool) { return secretOf("one"), true }))
	if err != nil {
		return err
	}
	r.local.result, err = e.Run(ctx, r.local.page)
	return err
}

// begin starts all processes and submits the run.
func (r *round) begin(ctx context.Context) error {
	if err := r.startHub(); err != nil {
		return err
	}
	js, err := connect(r.url, nil)
	if err != nil {
		return err
	}
	r.js = js
	if r.store, err = store.Open(ctx, js, store.Options{AckWait: ackWait}); err != nil {
		return err
	}
	if r.c, err = cluster.Open(ctx, js, cluster.Options{AckWait: ackWait}); err != nil {
		return err
	}
	if err := r.submit(ctx); err != nil {
		return err
	}
	for range firstTeam {
		if err := r.hire(); err != nil {
			return err
		}
	}
	r.until = time.Now().Add(stormTime)
	return r.startCollector()
}

const runID = "round"

func (r *round) submit(ctx context.Context) (err error) {
	r.run, err = r.c.Submit(ctx, cluster.Submission{Run: runID, Name: "round.json", Text: r.plan.config(r.api.base)})
	return err
}

func (r *round) startHub() (err error) {
	r.hub, err = start(roleHub, order{Dir: filepath.Join(r.dir, "hub"), Listen: r.listen}, r.log("hub"))
	return err
}

func (r *round) startCollector() (err error) {
	o := order{NATS: r.url, Dir: filepath.Join(r.dir, "collected"), Run: runID, Name: "collector"}
	r.collector, err = start(roleCollector, o, r.log("collector"))
	return err
}

// hire starts a worker. After the storm it has no faults.
func (r *round) hire() error {
	r.names++
	o := order{NATS: r.url, Name: fmt.Sprintf("w%d", r.names), Slots: taskSlots, Counts: r.counts.path}
	if r.storming() {
		o.Faults = faultPlan{Seed: r.plan.Seed, Kill: 4, Cut: 15, Twice: 60, Control: r.control}
	}
	o.Faults.Control = r.control
	w, err := start(roleWorker, o, r.log("worker"))
	if err == nil {
		r.workers = append(r.workers, w)
	}
	return err
}

func (r *round) storming() bool { return r.until.IsZero() || time.Now().Before(r.until) }

func (r *round) log(name string) string { return filepath.Join(r.dir, name+".log") }

// endAll ends all processes.
func (r *round) endAll() {
	for _, p := range append(r.workers, r.hub, r.collector) {
		if p != nil {
			p.end()
		}
	}
	if r.js != nil {
		r.js.Conn().Close()
	}
}

// collect breaks things until the collector has ended by itself, and returns its outcome.
func (r *round) collect(ctx context.Context) (o outcome, err error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	next := time.Now()
	for {
		select {
		case <-ctx.Done():
			return o, errors.New("the run has not ended: " + r.state())
		case <-r.collector.ended:
			o, ended, err := r.outcome()
			if ended || err != nil {
				return o, err
			}
			if err := r.startCollector(); err != nil {
				return o, err
			}
		case <-tick.C:
			if err := r.tend(); err != nil {
				return o, err
			}
			if !r.storming() || !r.hub.running() || time.Now().Before(next) {
				continue
			}
			if err := r.breakSomething(ctx); err != nil {
				return o, err
			}
			next = time.Now().Add(time.Duration(50+r.random.IntN(300)) * time.Millisecond)
		}
	}
}

// outcome reads what the collector has ended with. It reports false if it was killed.
func (r *round) outcome() (o outcome, ended bool, err error) {
	text, err := os.ReadFile(filepath.Join(r.dir, "collected", "outcome"))
	if errors.Is(err, os.ErrNotExist) {
		return o, false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	return o, true, err
}

// tend starts what has ended, and wakes who has slept long enough.
func (r *round) tend() error {
	for p, until := range r.frozen {
		if time.Now().After(until) {
			p.signal(sigCont)
			delete(r.frozen, p)
		}
	}
	if !r.hub.running() && time.Now().After(r.hubStarts) {
		if err := r.startHub(); err != nil {
			return err
		}
	}
	alive := r.workers[:0]
	for _, w := range r.workers {
		if w.running() {
			alive = append(alive, w)
			continue
		}
		w.end() // its children
		delete(r.frozen, w)
	}
	r.workers = alive
	for len(r.workers)-len(r.frozen) < 2 {
		if err := r.hire(); err != nil {
			return err
		}
	}
	return nil
}

// state says where the run is.
func (r *round) state() string {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var all strings.Builder
	err := r.store.Heads(ctx, runID, func(h store.Heading) error {
		if !h.Ends() {
			fmt.Fprintf(&all, "%s %s %s; ", h.Task, h.Label, h.State)
		}
		return nil
	})
	queued, queueErr := r.queued(ctx)
	fmt.Fprintf(&all, "%d messages are queued", queued)
	if err := errors.Join(err, queueErr); err != nil {
		fmt.Fprintf(&all, ", %v", err)
	}
	return all.String()
}

// queued returns how many messages of tasks there are.
func (r *round) queued(ctx context.Context) (uint64, error) {
	s, err := r.js.Stream(ctx, workStreamName)
	if err != nil {
		return 0, err
	}
	return s.CachedInfo().State.Msgs, nil
}

const workStreamName = "STOPWHEN_WORK"

// tell prints the end of a round.
func (r *round) tell(out io.Writer, err error) {
	made, repeated := r.api.summary()
	verdict := "every item once"
	if err != nil {
		verdict = err.Error()
	}
	fmt.Fprintf(out, "round %d: %5.1f s, %d pages, %d requests (%d repeated), %d workers, %d restarts of the server: %s\n",
		r.plan.Seed, time.Since(r.began).Seconds(), len(r.local.pages), made, repeated, r.names, r.restarts, verdict)
}
