package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
)

// metricsReady is what a log says of the address of --metrics.
const metricsReady = `"event":"metrics_ready","listen":"(127.0.0.1:\d+)"`

// get returns the status and the body of a response.
func get(t *testing.T, address string) (int, string) {
	t.Helper()
	resp, err := http.Get(address)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

// A documentedMetric is a row of the table of metrics in the guide.
type documentedMetric struct{ name, labels, of string }

func documentedMetrics(t *testing.T) (all []documentedMetric) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/guide/many-machines-operate.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(page), "\n## Health and metrics\n")
	table, _, _ = strings.Cut(table, "\n## ")
	label := regexp.MustCompile("`[a-z]+`")
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 || !strings.Contains(line, "`stopwhen_") {
			continue
		}
		var labels []string
		for _, name := range label.FindAllString(cells[2], -1) {
			labels = append(labels, strings.Trim(name, "`"))
		}
		all = append(all, documentedMetric{strings.Trim(cells[1], " `"), strings.Join(labels, " "), strings.TrimSpace(cells[3])})
	}
	return all
}

// scrapedMetrics returns the names and labels of the metrics of a program.
func scrapedMetrics(t *testing.T, address, of string) (all []documentedMetric) {
	t.Helper()
	_, text := get(t, address+"/metrics")
	family := ""
	label := regexp.MustCompile(`([a-z]+)="`)
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			family = strings.Fields(name)[0]
			continue
		}
		if !strings.HasPrefix(family, "stopwhen_") || strings.HasPrefix(line, "#") {
			continue
		}
		var labels []string
		for _, m := range label.FindAllStringSubmatch(line, -1) {
			if m[1] != "le" {
				labels = append(labels, m[1])
			}
		}
		one := documentedMetric{family, strings.Join(labels, " "), of}
		if !slices.Contains(all, one) {
			all = append(all, one)
		}
	}
	return all
}

// A hub and a worker serve the metrics of the guide, and say whether they work.
func TestTheGuideHasEveryMetric(t *testing.T) {
	fixtures.SkipUnderRace(t, "its work is done by other processes")
	t.Parallel()
	var failed atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !failed.Swap(true):
			w.WriteHeader(http.StatusServiceUnavailable)
		case r.URL.Query().Get("offset") == "0":
			fmt.Fprint(w, `[{"id":1},{"id":2}]`)
		default:
			fmt.Fprint(w, `[]`)
		}
	}))
	t.Cleanup(api.Close)
	config := filepath.Join(t.TempDir(), "paced.json")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{"api": {"baseUrl": %q, "http": {"requestsPerSecond": 2},
		"pagination": {"method": "offset", "limit": 2}}, "config": {"jobs": [{"endpoint": "items"}]}}`, api.URL), 0o600))

	_, findHub := startLogged(t, "hub", "--listen", "127.0.0.1:0", "--dir", t.TempDir()+"/hub", "--metrics", ":0")
	nats := "--nats=" + findHub(`"hub_url":"(nats://[^"]+)"`)
	hubAt := "http://" + findHub(metricsReady)
	call(t, "submit", config, "-q", "--run", "first", nats)
	_, metrics := get(t, hubAt+"/metrics")
	require.Contains(t, metrics, `stopwhen_hub_tasks{account="$G",state="waiting"} 1`)
	require.Contains(t, metrics, `stopwhen_hub_runs{account="$G"} 1`)

	_, findWorker := startLogged(t, "worker", "--jobs", "3", "--metrics", "127.0.0.1:0", nats)
	workerAt := "http://" + findWorker(metricsReady)
	call(t, "collect", "first", "-q", nats)
	require.Eventually(t, func() bool {
		_, metrics = get(t, workerAt+"/metrics")
		return strings.Contains(metrics, `stopwhen_tasks_ended_total{state="done"} 1`)
	}, time.Minute, 10*time.Millisecond)
	for _, line := range []string{
		`stopwhen_requests_total{status="2xx"} 2`, "stopwhen_pages_total 2", "stopwhen_items_total 2", "stopwhen_slots 3",
		"stopwhen_tasks_running 0", `stopwhen_waits_total{reason="rate"} `, `stopwhen_lease_renewals_total{result="ok"} `,
	} {
		require.Contains(t, metrics, "\n"+line)
	}
	documented := documentedMetrics(t)
	var scraped []documentedMetric
	for _, one := range append(scrapedMetrics(t, hubAt, "hub"), scrapedMetrics(t, workerAt, "worker")...) {
		if one.name == "stopwhen_build_info" {
			one.of = "both"
		}
		if !slices.Contains(scraped, one) {
			scraped = append(scraped, one)
		}
	}
	require.ElementsMatch(t, documented, scraped)
}

func TestHealthSaysWhyAProgramDoesNotWork(t *testing.T) {
	fixtures.SkipUnderRace(t, "its work is done by other processes")
	t.Parallel()
	config := filepath.Join(t.TempDir(), "token.json")
	require.NoError(t, os.WriteFile(config, []byte(`{"api": {"baseUrl": "http://127.0.0.1:1/", "authentication":
		{"type": "bearer", "token": {"env": "TOKEN_OF_NOBODY"}}}, "config": {"jobs": [{"endpoint": "items"}]}}`), 0o600))
	hub, findHub := startLogged(t, "hub", "--listen", "127.0.0.1:0", "--dir", t.TempDir()+"/hub", "--metrics", ":0")
	nats := "--nats=" + findHub(`"hub_url":"(nats://[^"]+)"`)
	status, text := get(t, "http://"+findHub(metricsReady)+"/healthz")
	require.Equal(t, "200 ok\n", fmt.Sprint(status, " ", text))

	_, findWorker := startLogged(t, "worker", "--metrics", ":0", nats)
	workerAt := "http://" + findWorker(metricsReady) + "/healthz"
	awaitHealth := func(want string) {
		t.Helper()
		require.EventuallyWithT(t, func(c *assert.CollectT) {
			status, text := get(t, workerAt)
			require.Regexp(c, want, fmt.Sprint(status, " ", text))
		}, time.Minute, 10*time.Millisecond)
	}
	awaitHealth(`^200 ok\n$`)
	call(t, "submit", config, "-q", "--run", "token", nats)
	awaitHealth(`^503 run token: this worker cannot run it: environment variable TOKEN_OF_NOBODY is not set.*\n$`)
	require.NoError(t, hub.Process.Kill())
	awaitHealth(`^503 the connection to NATS is lost\n$`)
}

// A worker that is told to stop while the server is away ends as it should, and does not complain.
func TestAWorkerEndsQuietlyWithoutItsServer(t *testing.T) {
	fixtures.SkipUnderRace(t, "its work is done by other processes")
	t.Parallel()
	hub, findHub := startLogged(t, "hub", "--listen", "127.0.0.1:0", "--dir", t.TempDir()+"/hub")
	worker, find := startLogged(t, "worker", "--nats", findHub(`"hub_url":"(nats://[^"]+)"`))
	find(`"event":"(worker_start)"`)
	require.NoError(t, hub.Process.Kill())
	find(`"event":"(nats_disconnected)"`)
	require.NoError(t, worker.Process.Signal(syscall.SIGTERM))
	require.NoError(t, worker.Wait())
	require.NotContains(t, find(`(?s)(.*)`), "nats_closed")
}

func TestMistakesInTheAddressOfMetrics(t *testing.T) {
	t.Chdir(t.TempDir())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	for _, test := range []struct{ address, stderr string }{
		{"9464", `--metrics: want HOST:PORT, such as 127.0.0.1:9464, got "9464"`},
		{"127.0.0.1:http", `want HOST:PORT, such as 127.0.0.1:9464, got "127.0.0.1:http"`},
		{":65536", "want HOST:PORT"},
		{":-1", "want HOST:PORT"},
		{"http://127.0.0.1:9464", "want HOST:PORT"},
		{taken.Addr().String(), "address already in use (use another port; port 0 is any free one)"},
	} {
		for _, command := range []string{"worker", "hub --listen 127.0.0.1:0"} {
			t.Run(command+" "+test.address, func(t *testing.T) {
				var stdout, stderr bytes.Buffer
				args := append(strings.Fields(command), "--metrics", test.address)
				require.Equal(t, exitUsage, run(args, strings.NewReader(""), &stdout, &stderr), stderr.String())
				require.Contains(t, stderr.String(), test.stderr)
			})
		}
	}
}
