//go:build unix

package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/output"
	"github.com/stopwhen/stopwhen/fixtures"
)

// breaks is how many runs the loop breaks: 60 in CI, more with
// `go test ./engine/cmd/stopwhen -run BrokenLoop -breaks 3000 -timeout 60m`.
var breaks = flag.Int("breaks", 60, "how many runs the loop of broken runs breaks")

// brokenAPI is an API whose list grows from increment to increment, and which refuses
// some pages or answers with one that a rule of the configuration fails on.
type brokenAPI struct {
	size   atomic.Int64 // items of the list
	faults atomic.Int64 // of 100 pages
}

const (
	brokenPageSize  = 20
	brokenGroupSize = 10 // items of each item of the list of groups
)

func (a *brokenAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	since, _ := strconv.Atoi(r.URL.Query().Get("since"))
	offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
	draw, size := rand.Int64N(100), int(a.size.Load())
	if r.URL.Path != "/"+brokenJob(r.URL.Path) { // of a tree, which makes many requests
		draw = rand.Int64N(2000)
	}
	if to, err := strconv.Atoi(r.URL.Query().Get("to")); err == nil { // the items of a window
		size = min(size, to)
	} else if strings.HasPrefix(r.URL.Path, "/groups") {
		size = (size + brokenGroupSize - 1) / brokenGroupSize
	}
	if draw < a.faults.Load()/2 {
		w.WriteHeader([]int{http.StatusUnauthorized, http.StatusForbidden}[draw%2])
		return
	}
	var b strings.Builder
	appendItems(&b, ",", since+offset, min(since+offset+brokenPageSize, size))
	fmt.Fprintf(w, `{"data": [%s], "size": %d, "total": %d, "bad": %v}`,
		strings.TrimSuffix(b.String(), ","), size, max(size-since, 0), draw < a.faults.Load())
}

// brokenJob returns the first segment of a path.
func brokenJob(path string) string {
	job, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return job
}

func appendItems(b *strings.Builder, separator string, from, to int) {
	for id := from; id < to; id++ {
		late := ""
		if id%37 == 36 {
			late = `,"late":true` // a column that appears late, from increment to increment too
		}
		fmt.Fprintf(b, `{"id":%d,"text":"%s"%s}%s`, id, strings.Repeat("x", id%50), late, separator)
	}
}

// brokenRun is a command that is repeated until it succeeds, increment by increment.
type brokenRun struct {
	api                     *brokenAPI
	jobs                    []string
	state, keep, add, share bool
	tree                    bool // each job has partitions: windows of the groups of another job
	oneTree                 bool // the groups are those of one job
	args                    []string
	format                  string
	names                   []string          // of the files
	old, want               map[string]string // the items of the files before and after the increment, as NDJSON
	raw                     map[string]string // the files before the increment
	broken                  int               // runs
}

func drawBrokenRun(t *testing.T, api *brokenAPI, url string) *brokenRun {
	t.Helper()
	flip := func() bool { return rand.N(2) == 0 }
	r := &brokenRun{
		api: api, jobs: []string{"a", "b", "c"}[:1+rand.N(3)], state: rand.N(3) > 0, keep: flip(), share: rand.N(4) == 0, old: map[string]string{},
		raw: map[string]string{}, format: output.Formats()[rand.N(len(output.Formats()))],
	}
	if r.tree, r.oneTree = flip(), flip(); r.tree {
		r.keep = false
	}
	if flip() {
		r.format = "ndjson"
	}
	r.add = flip() && (r.state || r.keep) // otherwise nothing says which rows were added already
	jobs := "1"
	if !r.share || !r.state {
		jobs = strconv.Itoa(1 + rand.N(3))
	}
	r.args = []string{"run", "c.json", "--out", "out", "--format", r.format, "--jobs", jobs, "--prefetch", []string{"0", "4", "auto"}[rand.N(3)]}
	for _, f := range []struct {
		use  bool
		args []string
	}{
		{r.state, []string{"--state", "state.json"}},
		{r.keep && (!r.state || flip()), []string{"--kept", "kept.json"}},
		{r.add, []string{"--append"}},
		{flip(), []string{"--keep-going"}},
		{flip(), []string{"--trace", "trace.json"}},
		{flip(), []string{"--record", "record.har"}},
		{flip(), []string{"--result", "result.json"}},
	} {
		if f.use {
			r.args = append(r.args, f.args...)
		}
	}
	r.write(t, url)
	return r
}

// write writes the configuration, and the files that an earlier command has left.
func (r *brokenRun) write(t *testing.T, url string) {
	t.Helper()
	pagination, dataType := `"method": "offset", "limit": 20, "stopRules": [{"name": "bad", "when": "truthy(body.bad)", "outcome": "failed"}]`, ""
	if r.keep {
		pagination += `, "nextRequest": {"params": {"since": "kept.size"}, "applyToFirst": true}, "keep": {"size": "body.size"}`
	}
	r.names = r.jobs
	if r.share {
		dataType, r.names = `, "dataType": "all"`, []string{"all"}
	}
	var jobs []string
	for i, job := range r.jobs {
		if r.tree {
			jobs = append(jobs, r.treeOf(i, job, dataType)...)
			continue
		}
		jobs = append(jobs, fmt.Sprintf(`{"endpoint": %q, "dataField": "data"%s}`, job, dataType))
	}
	require.NoError(t, os.WriteFile("c.json", fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {%s}}, "config": {"jobs": [%s]}}`,
		url, pagination, strings.Join(jobs, ",")), 0o600))
	require.NoError(t, os.Mkdir("out", 0o700))
	if rand.N(2) == 0 {
		return
	}
	for _, name := range r.names {
		r.old[name] = "{\"before\":1}\n"
		r.raw[name] = encodeItems(t, r.format, r.old[name])
		require.NoError(t, os.WriteFile(r.path(name), []byte(r.raw[name]), 0o600))
	}
}

// treeOf returns a job as partitions, with the job that lists its groups. Together they
// have the items of a job without partitions, in the same order.
func (r *brokenRun) treeOf(i int, job, dataType string) []string {
	if dataType == "" {
		dataType = fmt.Sprintf(`, "dataType": %q`, job)
	}
	parent := "groups-of-" + job
	if r.oneTree {
		parent = "groups"
	}
	groups := fmt.Sprintf(`{"id": %q, "endpoint": %q, "dataField": "data", "emit": false}`, parent, parent)
	items := fmt.Sprintf(`{"id": %[1]q, "endpoint": "%[1]s/{g.id}", "dataField": "data"%[2]s,
		"for": {"g": {"items": %[3]q}, "w": {"from": "g.id * 10", "to": "g.id * 10 + 10", "step": 5, "splitWhen": "body.total > 3"}},
		"params": {"since": {"expr": "w.from"}, "to": {"expr": "w.to"}}}`, job, dataType, parent)
	if r.oneTree && i > 0 {
		return []string{items}
	}
	return []string{groups, items}
}

func (r *brokenRun) path(name string) string { return filepath.Join("out", name+"."+r.format) }

// increment repeats the command until it succeeds, and checks the files after every run.
func (r *brokenRun) increment(t *testing.T, program string, first bool) {
	t.Helper()
	from := 0
	if r.keep {
		from = int(r.api.size.Load())
	}
	r.api.size.Add([]int64{0, 7, 40, 150}[rand.N(4)])
	r.api.faults.Store([]int64{0, 10, 30}[rand.N(3)])
	r.want = map[string]string{}
	for _, name := range r.names {
		var b strings.Builder
		if r.add || r.keep && !first {
			b.WriteString(r.old[name])
		}
		for range len(r.jobs) / len(r.names) {
			appendItems(&b, "\n", from, int(r.api.size.Load()))
		}
		r.want[name] = b.String()
	}
	how, history := rand.N(4), ""
	for tries := 0; ; tries++ {
		if tries > 10 {
			how = 0
			r.api.faults.Store(0)
		}
		status, stderr := r.run(t, program, how)
		history += fmt.Sprintf("%s\nstatus %d\n", stderr, status)
		if status == 0 || r.state && hasEnded(t) && r.complete() {
			break
		}
		r.broken++
		require.Contains(t, []int{3, 5, 7, 128 + int(syscall.SIGKILL), 128 + int(syscall.SIGTERM)}, status, "%v: %s", r.args, stderr)
		for _, name := range r.names {
			text, _ := os.ReadFile(r.path(name))
			got, old, want := decodeItems(r.format, string(text)), r.old[name], r.want[name]
			torn := how == 1 && (r.add || r.keep) && strings.HasPrefix(string(text), r.raw[name]) // the next run completes it
			require.True(t, got == old || r.ordered(got) == r.ordered(want) || torn,
				"%v: %s has %d bytes, want %d or %d: %s", r.args, name, len(got), len(old), len(want), stderr)
		}
	}
	for _, name := range r.names {
		r.raw[name] = readText(t, r.path(name))
		got := decodeItems(r.format, r.raw[name])
		if r.ordered(got) != r.ordered(r.want[name]) { // without a difference of megabytes
			t.Fatalf("%v: %s has %d bytes, want %d; tree: %t\n%s", r.args, name, len(got), len(r.want[name]), r.tree, history)
		}
		r.old[name] = got
	}
	if slices.Contains(r.args, "kept.json") {
		require.Equal(t, len(r.jobs), strings.Count(readText(t, "kept.json"), fmt.Sprintf(`"size": %d`, r.api.size.Load())), "%v", r.args)
	}
}

// ordered returns a text in an order of lines that can be compared: if the jobs that share
// a file go on after a failure, the rows of the failed one come when it resumes. Those of a
// tree come page by page of the groups.
func (r *brokenRun) ordered(text string) string {
	if !r.share || !r.tree && !slices.Contains(r.args, "--keep-going") {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// complete reports whether all files are those after the increment.
func (r *brokenRun) complete() bool {
	return !slices.ContainsFunc(r.names, func(name string) bool {
		text, err := os.ReadFile(r.path(name))
		return err != nil || r.ordered(decodeItems(r.format, string(text))) != r.ordered(r.want[name])
	})
}

// run runs the command and breaks it: 0 not at all, 1 by SIGKILL, 2 by SIGTERM, 3 by a limit
// on the size of files, which lets writes fail like a full disk.
func (r *brokenRun) run(t *testing.T, program string, how int) (status int, stderr string) {
	t.Helper()
	cmd := exec.Command(program, r.args...)
	if how == 3 {
		limit := strconv.Itoa([]int{0, 1, 2, 4, 16, 64}[rand.N(6)]) // blocks of 512 bytes or more
		cmd = exec.Command("sh", append([]string{"-c", `ulimit -f ` + limit + `; exec "$@"`, "sh", program}, r.args...)...)
	}
	var b bytes.Buffer
	cmd.Stdout, cmd.Stderr = &b, &b
	require.NoError(t, cmd.Start())
	if how == 1 || how == 2 {
		signal := []os.Signal{syscall.SIGKILL, syscall.SIGTERM}[how-1]
		timer := time.AfterFunc(5*time.Millisecond+rand.N(80*time.Millisecond), func() { _ = cmd.Process.Signal(signal) })
		defer timer.Stop()
	}
	_ = cmd.Wait()
	if wait := cmd.ProcessState.Sys().(syscall.WaitStatus); wait.Signaled() {
		return 128 + int(wait.Signal()), b.String()
	}
	return cmd.ProcessState.ExitCode(), b.String()
}

// TestTheFilesOfATreeArePublishedTogether lets the disk be full when rows are added to the second
// of two files: the first one has no new rows either, so that the next run adds them once.
func TestTheFilesOfATreeArePublishedTogether(t *testing.T) {
	program := binary(t)
	tree := newTree(t, func() {})
	args := []string{"run", "c.json", "-q", "--kept", "kept.json", "--out", "out"}
	runStopwhen(t, 0, args...)
	tree.size.Store(2)
	runStopwhen(t, 0, args...)
	tree.require(t, 2, 2)
	// The files below have rows of another program, which is right without the sizes of the files.
	kept := regexp.MustCompile(`(?s)"\$files": \{.*?\n    \},`).ReplaceAllString(readText(t, "kept.json"), "")
	require.NotContains(t, kept, "$files")
	require.NoError(t, os.WriteFile("kept.json", []byte(kept), 0o600))
	for _, full := range []string{"lines", "orders"} {
		file := filepath.Join("out", full+".ndjson")
		before := readText(t, file)
		large := before + strings.Repeat("x", 8*512-len(before)-1) + "\n"
		require.NoError(t, os.WriteFile(file, []byte(large), 0o600))
		tree.size.Store(4)
		cmd := exec.Command("sh", append([]string{"-c", `ulimit -f 8; exec "$@"`, "sh", program}, args...)...)
		out, _ := cmd.CombinedOutput()
		require.Equal(t, 7, cmd.ProcessState.ExitCode(), string(out))
		require.Equal(t, large, readText(t, file))
		require.Equal(t, kept, readText(t, "kept.json"))
		require.NoFileExists(t, "kept.json.redo")
		for _, name := range []string{"orders", "lines"} {
			require.NotContains(t, readText(t, filepath.Join("out", name+".ndjson")), "4")
			require.Contains(t, readText(t, filepath.Join("out", name+".ndjson.partial")), "4")
		}
		require.NoError(t, os.WriteFile(file, []byte(before), 0o600))
	}
	runStopwhen(t, 0, args...)
	tree.require(t, 4, 4)

	lock := flock.New("kept.json.lock")
	locked, err := lock.TryLock()
	require.NoError(t, err)
	require.True(t, locked)
	require.Contains(t, runStopwhen(t, 8, args...), "kept.json is in use by another run (wait until that run ends, or use another --kept)")
	require.NoError(t, lock.Unlock())
}

// TestBrokenLoop draws commands and breaks them: by pages that are refused or that a rule
// fails on, by signals, and by write errors. Each command is repeated until it succeeds,
// for several increments. At any moment a file is the one before the increment or the
// complete one, and in the end it has every item once.
func TestBrokenLoop(t *testing.T) {
	fixtures.SkipUnderRace(t, "its work is done by other processes")
	api := &brokenAPI{}
	server := httptest.NewServer(api)
	defer server.Close()
	program := binary(t)
	broken, commands, increments := 0, 0, 0
	for ; broken < *breaks; commands++ {
		t.Chdir(t.TempDir())
		api.size.Store(0)
		r := drawBrokenRun(t, api, server.URL)
		for i := range 1 + rand.N(3) {
			r.increment(t, program, i == 0)
			increments++
		}
		broken += r.broken
	}
	t.Logf("%d broken runs in %d increments of %d commands: every file was the old one or the complete one", broken, increments, commands)
}
