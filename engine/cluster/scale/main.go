//go:build linux

// Command scale measures a run on many processes of one machine: how fast its tasks are
// queued, run and collected, what it stores, and how much memory each process needs. From
// that it computes what another number of partitions would need. docs/SCALE.md explains it.
//
//	go run ./engine/cluster/scale
//	go run ./engine/cluster/scale -partitions 100000 -pages 1 -items 10
//	go run ./engine/cluster/scale -partitions 2000 -pages 10 -items 1000 -workers 4
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/engine/cluster/hub"
)

var (
	partitions = flag.Int("partitions", 10000, "partitions of the run")
	pages      = flag.Int("pages", 2, "pages of each partition")
	items      = flag.Int("items", 50, "items of each page")
	itemBytes  = flag.Int("bytes", 200, "bytes of each item")
	workers    = flag.Int("workers", 2, "worker processes")
	slots      = flag.Int("slots", 8, "tasks that a worker runs at the same time")
	delay      = flag.Duration("delay", 0, "time that the API takes for a response")
	fast       = flag.Bool("fast", false, "let the server write to the disk every two minutes, and not with every page")
	part       = flag.String("part", "", "internal: the part that this process plays")
)

const runID = "scale"

func main() {
	flag.Parse()
	if err := play(); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// play plays the part of this process until it is over or a signal arrives.
func play() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	part, known := map[string]func(context.Context) error{
		"": measure, "api": serveAPI, "hub": serveHub, "worker": work, "collect": collect,
	}[*part]
	if !known {
		return fmt.Errorf("-part: want api, hub, worker or collect")
	}
	return part(ctx)
}

// config is the run: one partition for each number.
func config(api string) string {
	return fmt.Sprintf(`{"api": {"baseUrl": "%s",
			"pagination": {"method": "pagenum", "stopRules": [{"when": "page >= %d", "outcome": "complete"}]}},
		"config": {"jobs": [{"id": "lists", "endpoint": "lists/{n.from}", "dataField": "items",
			"for": {"n": {"from": 0, "to": %d, "step": 1}}}]}}`, api, *pages, *partitions)
}

// ready tells the process that started this one what it has to know.
func ready(text string) { fmt.Println(text) }

// serveAPI is the API: pages of items that differ.
func serveAPI(ctx context.Context) error {
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(*delay)
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		n := strings.TrimPrefix(r.URL.Path, "/lists/")
		out := bufio.NewWriterSize(w, 64<<10)
		fmt.Fprint(out, `{"items":[`)
		for i := range *items {
			if i > 0 {
				_ = out.WriteByte(',')
			}
			id := page**items + i
			fmt.Fprintf(out, `{"list":%s,"id":%d,"text":"%s"}`, n, id, words(n, id))
		}
		fmt.Fprint(out, `]}`)
		_ = out.Flush() // the client may have gone
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ready("http://" + listener.Addr().String())
	context.AfterFunc(ctx, func() { _ = server.Close() })
	_ = server.Serve(listener)
	return nil
}

// words returns a text that compresses about as well as texts of people do.
func words(list string, id int) string {
	hash := fnv.New64a()
	fmt.Fprint(hash, list, id)
	random := rand.New(rand.NewPCG(hash.Sum64(), 0))
	var text []byte
	for len(text) < *itemBytes-40 {
		word := random.IntN(2000)
		text = strconv.AppendInt(append(text, ' '), int64(word*word), 36)
	}
	return string(text)
}

// serveHub is the NATS server.
func serveHub(ctx context.Context) error {
	o := hub.Options{Dir: flag.Arg(0), Listen: "127.0.0.1:0"}
	if *fast {
		o.ConfigFile = flag.Arg(1)
	}
	server, err := hub.Start(ctx, o)
	if err != nil {
		return err
	}
	ready(server.URL())
	<-ctx.Done()
	server.Shutdown()
	return nil
}

func connect(ctx context.Context) (*cluster.Cluster, error) {
	nc, err := nats.Connect(flag.Arg(0), nats.MaxReconnects(-1), nats.ReconnectBufSize(-1))
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	return cluster.Open(ctx, js, cluster.Options{})
}

func work(ctx context.Context) error {
	c, err := connect(ctx)
	if err != nil {
		return err
	}
	ready("ready")
	return c.Work(ctx, cluster.Worker{Slots: *slots})
}

// collect counts the items of the run, and each item once.
func collect(ctx context.Context) error {
	c, err := connect(ctx)
	if err != nil {
		return err
	}
	run, err := c.Run(ctx, runID)
	if err != nil {
		return err
	}
	e, err := run.Engine()
	if err != nil {
		return err
	}
	ready("ready")
	count, bytes := 0, 0
	_, err = run.Collect(ctx, e, func(_ context.Context, page *engine.Page) error {
		count += page.Items.Len()
		bytes += len(page.Items.Bytes())
		return nil
	}, cluster.Collecting{})
	if want := *partitions * *pages * *items; err == nil && count != want {
		err = fmt.Errorf("collected %d items of %d", count, want)
	}
	ready(fmt.Sprintf("%d items, %d bytes", count, bytes))
	return err
}

// A process is a part of the measurement.
type process struct {
	name string
	cmd  *exec.Cmd
	out  *bufio.Scanner
}

// start starts a part, and waits for its first line.
func start(name string, args ...string) (*process, string, error) {
	all := []string{"-part", strings.Fields(name)[0]}
	flag.Visit(func(f *flag.Flag) { all = append(all, "-"+f.Name+"="+f.Value.String()) })
	cmd := exec.Command("/proc/self/exe", append(all, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, "", err
	}
	p := &process{name: name, cmd: cmd, out: bufio.NewScanner(out)}
	if !p.out.Scan() {
		return nil, "", fmt.Errorf("%s did not start", name)
	}
	return p, p.out.Text(), nil
}

// peak returns the largest memory that the process has had, in MB.
func (p *process) peak() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
			kB, _ := strconv.Atoi(fields[1])
			return float64(kB) / 1024
		}
	}
	return 0
}

// cpu returns the time that the process has computed.
func (p *process) cpu() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond // the clock of the kernel has 100 Hz
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	_ = p.cmd.Wait()
}

// A measurement is what a run has taken.
type measurement struct {
	ran       time.Duration
	stored    uint64 // bytes on the disk of the server
	processes []*process
	used      map[*process]usage
}

// usage is what a process has needed.
type usage struct {
	peak float64 // MB of memory
	cpu  time.Duration
}

func measure(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "stopwhen-scale-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("jetstream {store_dir: %q, sync_interval: 2m}\n", filepath.Join(dir, "store"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	api, apiURL, err := start("api")
	if err != nil {
		return err
	}
	defer api.stop()
	server, url, err := start("hub", filepath.Join(dir, "store"), file)
	if err != nil {
		return err
	}
	defer server.stop()
	m := &measurement{processes: []*process{server}, used: map[*process]usage{}}
	if err := m.run(ctx, url, apiURL); err != nil {
		return err
	}
	_ = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if info, failed := d.Info(); err == nil && failed == nil && !d.IsDir() {
			m.stored += uint64(info.Size())
		}
		return nil
	})
	m.print()
	return nil
}

// run submits the run, works on it and collects it.
func (m *measurement) run(ctx context.Context, url, apiURL string) error {
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	c, err := cluster.Open(ctx, js, cluster.Options{})
	if err != nil {
		return err
	}
	if _, err := c.Submit(ctx, cluster.Submission{Run: runID, Name: "scale.json", Text: []byte(config(apiURL))}); err != nil {
		return err
	}
	began := time.Now()
	for i := range *workers {
		p, _, err := start(fmt.Sprintf("worker %d", i+1), url)
		if err != nil {
			return err
		}
		defer p.stop()
		m.processes = append(m.processes, p)
	}
	collector, _, err := start("collect", url)
	if err != nil {
		return err
	}
	m.processes = append(m.processes, collector)
	var lines sync.WaitGroup
	lines.Go(func() {
		for collector.out.Scan() {
			fmt.Println("collected", collector.out.Text())
			m.ran = time.Since(began)
			m.note()
		}
	})
	lines.Wait()
	err = collector.cmd.Wait()
	m.used[collector] = ended(collector.cmd.ProcessState)
	return err
}

// ended returns what a process has used that has ended.
func ended(state *os.ProcessState) usage {
	u := usage{cpu: state.UserTime() + state.SystemTime()}
	if r, ok := state.SysUsage().(*syscall.Rusage); ok {
		u.peak = float64(r.Maxrss) / 1024
	}
	return u
}

// note notes what the processes have used.
func (m *measurement) note() {
	for _, p := range m.processes {
		m.used[p] = usage{p.peak(), p.cpu()}
	}
}

func (m *measurement) print() {
	total, seconds := float64(*partitions**pages), m.ran.Seconds()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "partitions\t%d, each with pages: %d of %d items of about %d bytes\n", *partitions, *pages, *items, *itemBytes)
	fmt.Fprintf(w, "run and collected in\t%s: %.0f pages/s, %.0f partitions/s\n",
		m.ran.Round(10*time.Millisecond), total/seconds, float64(*partitions)/seconds)
	fmt.Fprintf(w, "on the disk of the server\t%.1f MB: %.0f bytes per page\n", float64(m.stored)/1e6, float64(m.stored)/total)
	for _, p := range m.processes {
		used := m.used[p]
		fmt.Fprintf(w, "%s\t%.0f MB at most, %.0f microseconds of CPU per page\n", p.name, used.peak, used.cpu.Seconds()*1e6/total)
	}
	_ = w.Flush()
}
