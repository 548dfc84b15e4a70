package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
)

// kills is how often the kill loop kills: 60 times in CI, 10,000 times with
// `go test ./engine/cmd/stopwhen -run KillLoop -kills 10000 -timeout 60m`.
var kills = flag.Int("kills", 60, "how often the kill loop kills")

// The list that the kill loop extracts.
const (
	killPages    = 40
	killPageSize = 50
	killItems    = killPages*killPageSize - 7
)

// killVariants are the extractions that the kill loop runs in turn.
var killVariants = []struct {
	jobs   []string
	before string // what the files hold before the run
	merged string // rows of the files that the run replaces
	keep   string // a setting of the pagination
	format string // of the files; "" is NDJSON
	flags  []string
}{
	{jobs: []string{"users"}},
	{jobs: []string{"users"}, flags: []string{"--prefetch", "4"}},
	{jobs: []string{"users"}, before: "{\"before\":1}\n", format: "parquet", flags: []string{"--append"}},
	{jobs: []string{"users"}, before: "{\"before\":1}\n", flags: []string{"--append"}},
	{jobs: []string{"users", "orders"}, flags: []string{"--jobs", "2", "--prefetch", "2"}},
	{jobs: []string{"users"}, before: "{\"id\":-1}\n", merged: "{\"id\":7,\"old\":1}\n{\"id\":0}\n", flags: []string{"--merge"}},
	{
		jobs: []string{"users", "orders"}, before: "{\"id\":-1}\n", merged: "{\"id\":1900}\n", keep: `, "keep": {"pages": "total.pages"}`,
		flags: []string{"--merge", "--kept", "kept.json", "--jobs", "2"},
	},
	{
		jobs: []string{"users", "orders"}, before: "{\"before\":1}\n", keep: `, "keep": {"pages": "total.pages"}`,
		flags: []string{"--append", "--kept", "kept.json", "--keep-going"},
	},
}

// TestKillLoop kills the command with SIGKILL at random moments and starts it
// again until the extraction is complete. The output must then have every item
// exactly once and in order, and the trace every page. Then the next extraction
// begins.
func TestKillLoop(t *testing.T) {
	fixtures.SkipUnderRace(t, "its work is done by other processes")
	api := httptest.NewServer(http.HandlerFunc(serveKillPage))
	defer api.Close()
	var want bytes.Buffer
	for id := range killItems {
		fmt.Fprintf(&want, `{"id":%d,"text":"%s"}`+"\n", id, strings.Repeat("x", id%90))
	}
	program := binary(t)
	killed, extractions := 0, 0
	for ; killed < *kills || extractions < len(killVariants); extractions++ {
		variant := killVariants[extractions%len(killVariants)]
		format := cmp.Or(variant.format, "ndjson")
		t.Chdir(t.TempDir())
		require.NoError(t, os.Mkdir("out", 0o700))
		var jobs []string
		for _, job := range variant.jobs {
			jobs = append(jobs, fmt.Sprintf(`{"endpoint": %q, "dataField": "data", "key": "id"}`, job))
			if variant.before != "" {
				require.NoError(t, os.WriteFile(filepath.Join("out", job+"."+format), []byte(encodeItems(t, format, variant.before+variant.merged)), 0o600))
			}
		}
		require.NoError(t, os.WriteFile("c.json", fmt.Appendf(nil, `{
			"api": {"baseUrl": "%s/", "pagination": {"method": "offset", "limit": %d%s}},
			"config": {"jobs": [%s]}}`, api.URL, killPageSize, variant.keep, strings.Join(jobs, ",")), 0o600))
		args := append([]string{"run", "c.json", "-q", "--state", "state.json", "--out", "out", "--trace", "trace.json", "--format", format}, variant.flags...)
		patience := 60 * time.Millisecond // grows, so that a slow machine gets to the end as well
		for runOrKill(t, program, args, time.After(5*time.Millisecond+rand.N(patience))) {
			patience += patience / 20
			if killed++; variant.before != "" && hasEnded(t) {
				break // killed after its end: the same command would begin the next increment
			}
		}
		trace := readText(t, "trace.json")
		for _, job := range variant.jobs {
			got := decodeItems(format, readText(t, filepath.Join("out", job+"."+format)))
			if got != variant.before+want.String() { // without a difference of megabytes
				t.Fatalf("%v: the output of job %s has %d bytes, want %d", variant, job, len(got), len(variant.before)+want.Len())
			}
			requireTrace(t, trace, job)
		}
		if text, err := os.ReadFile("kept.json"); err == nil {
			require.Equal(t, len(variant.jobs), strings.Count(string(text), fmt.Sprintf(`"pages": %d`, killPages)))
		}
	}
	t.Logf("%d kills in %d extractions of %d items: none lost, none repeated, none incomplete", killed, extractions, killItems)
}

// TestKillLoopOfATree kills runs of a tree whose values are kept in a file, without a state, around
// the moment of their commit. The files of orders and of their lines are published together with
// the values, so every row of every increment is in its file exactly once.
func TestKillLoopOfATree(t *testing.T) {
	program, requested := binary(t), make(chan time.Time, 1)
	tree := newTree(t, func() { time.AfterFunc(rand.N(12*time.Millisecond), func() { requested <- time.Time{} }) })
	killed := 0
	for ; killed < *kills/3; tree.size.Add(2) {
		for runOrKill(t, program, []string{"run", "c.json", "-q", "--kept", "kept.json", "--out", "out"}, requested) {
			killed++
		}
		for len(requested) > 0 {
			<-requested
		}
		tree.require(t, tree.size.Load(), tree.size.Load())
	}
	t.Logf("%d kills in increments of %d orders: none lost, none repeated", killed, tree.size.Load())
}

// A growingTree is an API of orders with one line each. A run requests the orders after the one
// that the run before it kept.
type growingTree struct{ size atomic.Int64 }

// newTree writes the configuration c.json of a tree to the working directory, a new one. The
// function is called when the lines of the last order were requested.
func newTree(t *testing.T, requested func()) *growingTree {
	t.Helper()
	g := &growingTree{}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var order int64
		if n, _ := fmt.Sscanf(r.URL.Path, "/orders/%d/lines", &order); n == 1 {
			fmt.Fprintf(w, `[{"order":%d}]`, order)
			if order == g.size.Load() {
				requested()
			}
			return
		}
		after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
		fmt.Fprintf(w, `[%s]`, strings.TrimSuffix(rowsOf("id", after, g.size.Load(), ","), ","))
	}))
	t.Cleanup(api.Close)
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("c.json", fmt.Appendf(nil, `{
		"api": {"baseUrl": "%s/", "pagination": {"method": "multiple", "scrollers": {
			"new": {"method": "pagenum", "stopRules": ["count >= 0"], "keep": {"last": "greatest(items, 'id', kept.last)"}},
			"all": {"method": "pagenum", "stopRules": ["count >= 0"]}}}},
		"config": {"jobs": [
			{"id": "orders", "endpoint": "orders", "scroller": "new", "params": {"after": {"expr": "kept.last"}}},
			{"id": "lines", "endpoint": "orders/{order.id}/lines", "dataType": "lines", "scroller": "all", "for": {"order": {"items": "orders"}}}]}}`,
		api.URL), 0o600))
	return g
}

// rowsOf returns the rows of orders after one of them up to another one.
func rowsOf(name string, after, last int64, separator string) string {
	var b strings.Builder
	for order := after + 1; order <= last; order++ {
		fmt.Fprintf(&b, `{"%s":%d}%s`, name, order, separator)
	}
	return b.String()
}

// require checks that the files have the rows of so many orders, and of the lines of so many
// orders, each once, and that nothing else is left.
func (g *growingTree) require(t *testing.T, orders, lines int64) {
	t.Helper()
	require.Equal(t, rowsOf("id", 0, orders, "\n"), readText(t, "out/orders.ndjson"))
	require.Equal(t, rowsOf("order", 0, lines, "\n"), readText(t, "out/lines.ndjson"))
	entries, err := os.ReadDir("out")
	require.NoError(t, err)
	require.Len(t, entries, 2, "%v: no partial file and no record is left", entries)
}

// hasEnded reports whether the state says that the run is over.
func hasEnded(t *testing.T) bool {
	t.Helper()
	text, err := os.ReadFile("state.json")
	if err != nil { // killed before the first commit
		return false
	}
	var state struct{ Ended bool }
	require.NoError(t, json.NewDecoder(bytes.NewReader(text)).Decode(&state)) // lines of commits may follow
	return state.Ended
}

// serveKillPage answers with a page of the list. Those of users are large enough for the next
// page to be requested while one is written.
func serveKillPage(w http.ResponseWriter, r *http.Request) {
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	time.Sleep(time.Millisecond)
	var b bytes.Buffer
	b.WriteString(`{"data": [`)
	for id := offset; id < min(offset+killPageSize, killItems); id++ {
		if id > offset {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, `{"id": %d, "text": "%s"}`, id, strings.Repeat("x", id%90))
	}
	b.WriteString(`]`)
	if r.URL.Path == "/users" {
		b.WriteString(strings.Repeat(" ", 64<<10))
	}
	b.WriteString(`}`)
	_, _ = w.Write(b.Bytes())
}

// runOrKill runs a program and reports whether it killed it, at the given moment, before the
// program ended.
func runOrKill(t *testing.T, program string, args []string, moment <-chan time.Time) (killed bool) {
	t.Helper()
	cmd := exec.Command(program, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		require.NoError(t, err, stderr.String())
		return false
	case <-moment:
		_ = cmd.Process.Kill() // fails if it has just ended
		return <-ended != nil
	}
}

// requireTrace requires a trace to have every page of a job exactly once and in order.
func requireTrace(t *testing.T, trace, job string) {
	t.Helper()
	page := 0
	for line := range strings.Lines(trace) {
		if strings.Contains(line, fmt.Sprintf(`"job":%q,`, job)) {
			page++
			require.Contains(t, line, fmt.Sprintf(`"page":%d,`, page))
		}
	}
	require.Equal(t, killPages, page)
}
