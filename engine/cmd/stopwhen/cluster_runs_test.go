package main

import (
	"bytes"
	"fmt"
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

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster/hub"
	"github.com/stopwhen/stopwhen/fixtures"
)

// The lists that workers share: parents with children, and a list beside them.
const (
	sharedParents  = 8
	sharedPages    = 5 // of the children of each parent
	sharedPageSize = 20
)

// serveShared serves the lists, and returns the path of the configuration and the number of
// requests.
func serveShared(t *testing.T) (config string, requests *atomic.Int64) {
	t.Helper()
	requests = &atomic.Int64{}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		time.Sleep(5 * time.Millisecond)
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		var items []string
		for i := range sharedPageSize {
			switch {
			case r.URL.Path == "/parents" && (page-1)*3+i < min(page*3, sharedParents):
				items = append(items, fmt.Sprintf(`{"id":%d}`, (page-1)*3+i))
			case r.URL.Path != "/parents" && page <= sharedPages:
				items = append(items, fmt.Sprintf(`{"list":%q,"n":%d,"fill":%q}`, r.URL.Path, page*sharedPageSize+i, strings.Repeat("x", 150+i)))
			}
		}
		fmt.Fprintf(w, "[%s]", strings.Join(items, ","))
	}))
	t.Cleanup(api.Close)
	config = filepath.Join(t.TempDir(), "shared.json")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}},
		"config": {"jobs": [
			{"id": "parents", "endpoint": "parents", "dataType": "parents"},
			{"id": "children", "endpoint": "parents/{parent.id}/children", "dataType": "children", "for": {"parent": {"items": "parents"}}},
			{"id": "others", "endpoint": "others", "dataType": "others"}]}}`, api.URL), 0o600))
	return config, requests
}

// startProgram starts the command in the background, and kills it at the end of the test.
func startProgram(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	cmd.Stderr = &bytes.Buffer{}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(args, " "), cmd.Stderr)
		}
	})
	return cmd
}

// startLogged starts the command in the background with a log in JSON, and ends it at the end of the
// test. The function find waits for a match in the log, and returns its first group.
func startLogged(t *testing.T, args ...string) (cmd *exec.Cmd, find func(pattern string) string) {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	cmd = exec.Command(binary(t), append(args, "--log-format", "json")...)
	cmd.Stderr = log
	require.NoError(t, cmd.Start())
	require.NoError(t, log.Close())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	return cmd, func(pattern string) (found string) {
		t.Helper()
		require.Eventually(t, func() bool {
			text, err := os.ReadFile(log.Name())
			groups := regexp.MustCompile(pattern).FindSubmatch(text)
			if err != nil || groups == nil {
				return false
			}
			found = string(groups[1])
			return true
		}, time.Minute, 10*time.Millisecond)
		return found
	}
}

// startHubProcess starts a hub in a process of its own, and returns the flag with which
// commands use it.
func startHubProcess(t *testing.T) (nats string) {
	t.Helper()
	_, find := startLogged(t, "hub", "--listen", "127.0.0.1:0", "--dir", t.TempDir()+"/hub")
	return "--nats=" + find(`"hub_url":"(nats://[^"]+)"`)
}

// sameFiles requires that two directories have the same files with the same content.
func sameFiles(t *testing.T, want, got string) {
	t.Helper()
	for _, name := range []string{"parents.ndjson", "children.ndjson", "others.ndjson"} {
		a, err := os.ReadFile(filepath.Join(want, name))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(got, name))
		require.NoError(t, err)
		require.Equal(t, string(a), string(b), name)
	}
}

// byList returns the lines of a file by the list that they belong to.
func byList(t *testing.T, path string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lists := map[string]string{}
	for line := range strings.Lines(string(text)) {
		list, _, _ := strings.Cut(line, ",")
		lists[list] += line
	}
	return lists
}

// call runs a command that succeeds in a process of its own, and returns its output.
func call(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	return strings.TrimSpace(string(out))
}

func TestWorkersShareARunAndOneOfThemIsKilled(t *testing.T) {
	fixtures.SkipUnderRace(t, "its work is done by other processes")
	t.Parallel()
	config, requests := serveShared(t)
	dir := t.TempDir()
	nats := startHubProcess(t)
	call(t, "run", config, "-q", "--out", dir+"/local")
	alone := requests.Swap(0)

	run := call(t, "submit", config, "-q", "--lease", "1s", nats)
	require.Regexp(t, `^shared-20[0-9]{6}-[a-z0-9]{4}$`, run)
	killed := startProgram(t, "worker", "--name", "killed", "--jobs", "2", nats)
	startProgram(t, "worker", "--name", "other", "--jobs", "2", nats)
	collector := startProgram(t, "collect", run, "--out", dir+"/sorted", "--sorted", nats)
	require.Eventually(t, func() bool { return requests.Load() > alone/3 }, time.Minute, time.Millisecond)
	require.NoError(t, killed.Process.Kill())

	call(t, "collect", run, "-q", "--out", dir+"/stored", nats)
	require.NoError(t, collector.Wait(), "%s", collector.Stderr)
	sameFiles(t, dir+"/local", dir+"/sorted")
	require.Equal(t, byList(t, dir+"/local/children.ndjson"), byList(t, dir+"/stored/children.ndjson"))
	require.Less(t, requests.Load(), alone+sharedPages, "the other worker has gone on after the last stored pages")
}

// size returns the size of a file; 0: there is none.
func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// TestPagesAreReleasedWhileTheyAreCollected runs a list that is larger than what it may take
// on the server, and kills the collector again and again.
func TestPagesAreReleasedWhileTheyAreCollected(t *testing.T) {
	fixtures.SkipUnderRace(t, "its work is done by other processes")
	t.Parallel()
	config, _ := serveShared(t)
	dir := t.TempDir()
	nats := startHubProcess(t)
	call(t, "run", config, "-q", "--out", dir+"/local")
	run := call(t, "submit", config, "-q", "--run", "large", "--max-bytes", "130kB", nats)
	startProgram(t, "worker", "--jobs", "3", nats)
	args := []string{"collect", run, "-q", "--out", dir + "/out", "--state", dir + "/state", "--release", nats}
	for range 3 {
		before := size(dir + "/out/children.ndjson")
		collector := startProgram(t, args...)
		ended := make(chan bool, 1)
		go func() { _ = collector.Wait(); ended <- true }()
		require.Eventually(t, func() bool {
			return len(ended) > 0 || size(dir+"/out/children.ndjson") > before
		}, time.Minute, time.Millisecond)
		_ = collector.Process.Kill()
		<-ended
	}
	call(t, args...)
	require.Equal(t, byList(t, dir+"/local/children.ndjson"), byList(t, dir+"/out/children.ndjson"))
	requireReleased(t, args, dir, nats)
}

// requireReleased checks what other commands say of a run that was released when it was
// collected: one true thing, and nothing is created.
func requireReleased(t *testing.T, args []string, dir, nats string) {
	t.Helper()
	said := func(status int, args ...string) string {
		cmd := exec.Command(binary(t), append(slices.DeleteFunc(args, func(a string) bool { return a == "-q" }), nats)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		_ = cmd.Run()
		require.Equal(t, status, cmd.ProcessState.ExitCode(), stderr.String())
		return strings.TrimSpace(stderr.String())
	}
	const gone = "stopwhen: pages of run large are no longer on the server"
	for _, more := range [][]string{{}, {"--state", dir + "/state"}, {"--state", dir + "/state", "--release"}} {
		text := said(8, append([]string{"collect", "large", "--out", dir + "/second"}, more...)...)
		require.True(t, strings.HasPrefix(text, gone), text)
		require.NotContains(t, text, "\n")
		require.NoDirExists(t, dir+"/second")
	}
	again := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == nats })
	require.NoError(t, os.Remove(dir+"/out/children.ndjson"))
	text := said(0, append(again, "--result", dir+"/result.json")...)
	require.Contains(t, text, "run large has been collected; nothing is written (its pages are no longer on the server)")
	require.Contains(t, text, "children.ndjson, which that collection wrote, no longer exists (to obtain its rows again, submit")
	require.Contains(t, text, "--result: nothing is written to "+dir+"/result.json, since the run has been collected (the pages of the run are no longer")
	require.NotContains(t, text, "--restart")
	require.True(t, strings.HasPrefix(said(8, append(again, "--restart")...), gone))
}

// A newer version has submitted a run. This one shows that it is there, and goes on with the
// others.
func TestARunOfANewerVersionIsShownAsUnreadable(t *testing.T) {
	t.Parallel()
	url := startTestHub(t, hub.Options{})
	config := write(t, filepath.Join(t.TempDir(), "config.json"),
		`{"api": {"baseUrl": "http://127.0.0.1:1/"}, "config": {"jobs": [{"id": "a", "endpoint": "a"}]}}`)
	call(t, "submit", config, "-q", "--run", "r1", "--nats", url)
	conn, err := nats.Connect(url)
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	runs, err := js.KeyValue(t.Context(), "STOPWHEN_RUNS")
	require.NoError(t, err)
	_, err = runs.PutString(t.Context(), "newer", `{"version": 99}`)
	require.NoError(t, err)

	call(t, "submit", config, "-q", "--run", "r2", "--nats", url)
	out := call(t, "status", "--nats", url)
	require.Contains(t, out, "the record of run newer cannot be read: it has version 99, this program reads version 2")
	require.Regexp(t, `(?m)^r1 .*\n?`, out)
	require.Regexp(t, `(?m)^r2 .*\n?`, out)
	require.Contains(t, call(t, "status", "--format", "json", "--nats", url), `"unreadable"`)
	call(t, "cancel", "r1", "--nats", url)
}
