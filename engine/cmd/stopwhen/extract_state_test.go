package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stateCase is an extraction of ten pages with a state, in its own directory.
type stateCase struct {
	dir      string
	broken   atomic.Bool // the API refuses page 5 and later pages
	failing  atomic.Bool // the API reports an error with status 200 instead of page 5
	requests atomic.Int64
	hold     atomic.Pointer[func(page string)] // called for every request
	slow     atomic.Int64                      // how long the API takes, in nanoseconds
	api      *httptest.Server
}

// holdPages calls f for every request from now on.
func (s *stateCase) holdPages(f func(page string)) { s.hold.Store(&f) }

func newStateCase(t *testing.T) *stateCase {
	t.Helper()
	s := &stateCase{dir: t.TempDir()}
	s.holdPages(func(string) {})
	s.api = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		page := r.URL.Query().Get("page")
		time.Sleep(time.Duration(s.slow.Load()))
		(*s.hold.Load())(page)
		switch {
		case s.broken.Load() && (len(page) > 1 || page >= "5"):
			w.WriteHeader(http.StatusForbidden)
		case s.failing.Load() && page == "5":
			fmt.Fprint(w, `{"ok": false, "error": "internal_error"}`)
		case len(page) > 1:
			fmt.Fprint(w, `[]`)
		default:
			fmt.Fprintf(w, `[{"id":"%s-a"},{"id":"%s-b"}]`, page, page)
		}
	}))
	t.Cleanup(s.api.Close)
	s.configure(t, `"method": "pagenum"`, "token-1")
	return s
}

// configure writes the configuration.
func (s *stateCase) configure(t *testing.T, pagination, token string) {
	t.Helper()
	s.write(t, fmt.Sprintf(`{
		"api": {"baseUrl": "%s/", "pagination": {%s}, "authentication": {"type": "bearer", "#token": "%s"}},
		"config": {"jobs": [{"endpoint": "users"}]}}`, s.api.URL, pagination, token))
}

func (s *stateCase) write(t *testing.T, config string) {
	t.Helper()
	require.NoError(t, os.WriteFile(s.path("c.json"), []byte(config), 0o600))
}

func (s *stateCase) path(name string) string { return filepath.Join(s.dir, name) }

// run runs the command, checks its exit status, and returns standard error.
func (s *stateCase) run(t *testing.T, status int, more ...string) string {
	t.Helper()
	args := append([]string{"run", s.path("c.json"), "--state", s.path("state.json"), "--out", s.path("out")}, more...)
	return runStopwhen(t, status, args...)
}

func runStopwhen(t *testing.T, status int, args ...string) (stderr string) {
	t.Helper()
	var b bytes.Buffer
	require.Equal(t, status, run(args, strings.NewReader(""), io.Discard, &b), b.String())
	return b.String()
}

// items returns the rows that are complete.
func (s *stateCase) items(t *testing.T) string {
	t.Helper()
	require.NoFileExists(t, s.path("out/users.ndjson.partial"))
	return readText(t, s.path("out/users.ndjson"))
}

// partial returns the rows of a run that has not ended.
func (s *stateCase) partial(t *testing.T) string {
	t.Helper()
	return readText(t, s.path("out/users.ndjson.partial"))
}

func readText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func allItems() string {
	var b strings.Builder
	for page := 1; page < 10; page++ {
		fmt.Fprintf(&b, "{\"id\":\"%d-a\"}\n{\"id\":\"%d-b\"}\n", page, page)
	}
	return b.String()
}

func TestAFailedRunResumes(t *testing.T) {
	s := newStateCase(t)
	s.broken.Store(true)
	s.run(t, 3)
	require.Less(t, len(s.partial(t)), len(allItems()))
	require.NoFileExists(t, s.path("out/users.ndjson"))
	s.broken.Store(false)
	s.requests.Store(0)
	require.Contains(t, s.run(t, 0), "resuming from "+s.path("state.json"))
	require.Equal(t, allItems(), s.items(t))
	require.LessOrEqual(t, s.requests.Load(), int64(9), "at least page 1 was committed")
}

func TestACompleteRunIsFollowedByTheNextIncrement(t *testing.T) {
	s := newStateCase(t)
	s.run(t, 0)
	for _, more := range [][]string{nil, {"--restart"}} {
		s.requests.Store(0)
		require.NotContains(t, s.run(t, 0, more...), "resuming from")
		require.Equal(t, int64(10), s.requests.Load(), "paging starts at the beginning")
		require.Equal(t, allItems(), s.items(t), "the file is replaced")
	}
	s.broken.Store(true)
	s.run(t, 3)
	require.Equal(t, allItems(), readText(t, s.path("out/users.ndjson")), "a failed increment leaves the file of the one before")
	s.broken.Store(false)
	require.Contains(t, s.run(t, 0), "resuming from")
	require.Equal(t, allItems(), s.items(t))
}

// An API reports an error with status 200 for two nights.
func TestAListWithEvidenceIsRequestedAgain(t *testing.T) {
	s := newStateCase(t)
	s.run(t, 0, "--append")
	s.failing.Store(true)
	for range 2 {
		s.requests.Store(0)
		stderr := s.run(t, 9, "--append")
		require.Contains(t, stderr, "users is incomplete (audit.errorBody)")
		require.Equal(t, int64(5), s.requests.Load(), "the list is requested from its start")
		require.Equal(t, allItems(), readText(t, s.path("out/users.ndjson")), "what was accumulated stays")
		require.Equal(t, allItems()[:8*len("{\"id\":\"1-a\"}\n")], s.partial(t))
	}
	s.failing.Store(false)
	s.run(t, 0, "--append", "--max-pages", "50") // another configuration: the next increment
	require.Equal(t, allItems()+allItems(), s.items(t))

	s.failing.Store(true)
	require.Contains(t, s.run(t, 9), "8 rows would have replaced 36 in ")
	s.run(t, 0, "--fail-on", "none")
	require.Equal(t, allItems()[:8*len("{\"id\":\"1-a\"}\n")], s.items(t))
}

// TestAnEndThatFailOnRefusesIsNotRepeated: no request can add anything to a list that a
// limit has ended, so only the flags decide whether its rows are published.
func TestAnEndThatFailOnRefusesIsNotRepeated(t *testing.T) {
	s := newStateCase(t)
	s.configure(t, `"method": "pagenum", "forceStop": {"pages": 2}`, "token-1")
	stderr := s.run(t, 9, "--fail-on", "limited")
	require.Contains(t, stderr, "users.ndjson does not exist: the list is incomplete, and what was obtained (4 rows) is in users.ndjson.partial")
	s.requests.Store(0)
	require.Contains(t, s.run(t, 9, "--fail-on", "limited"), "the extraction has ended; no request is made")
	s.run(t, 0, "--result", s.path("result.json"))
	require.Zero(t, s.requests.Load())
	require.Equal(t, allItems()[:4*len("{\"id\":\"1-a\"}\n")], s.items(t))

	var result struct {
		Jobs    []struct{ Items int }
		Outputs []struct {
			File     string
			Rows     int
			Complete bool
		}
	}
	require.NoError(t, json.Unmarshal([]byte(readText(t, s.path("result.json"))), &result))
	require.Equal(t, 4, result.Jobs[0].Items)
	require.Equal(t, 4, result.Outputs[0].Rows)
	require.True(t, result.Outputs[0].Complete)
}

// TestPartitionsThatFailOnRefusesAreRequestedAgain: what failed may succeed in the next run.
func TestPartitionsThatFailOnRefusesAreRequestedAgain(t *testing.T) {
	s := newStateCase(t)
	s.write(t, fmt.Sprintf(`{"api": {"baseUrl": "%s/"}, "config": {"jobs": [{"endpoint": "users",
		"for": {"part": {"values": [4, 5]}}, "params": {"page": {"expr": "part"}}, "onPartitionError": "skip"}]}}`, s.api.URL))
	s.broken.Store(true)
	for range 2 {
		s.requests.Store(0)
		require.Contains(t, s.run(t, 9, "--fail-on", "partial"), "users is partial (partitions)")
		require.Equal(t, int64(2), s.requests.Load(), "the list is requested from its start")
	}
	s.broken.Store(false)
	s.run(t, 0, "--fail-on", "partial")
	require.Equal(t, "{\"id\":\"4-a\"}\n{\"id\":\"4-b\"}\n{\"id\":\"5-a\"}\n{\"id\":\"5-b\"}\n", s.items(t))
}

// A list that continues from kept values is another case: the next run requests its rows again, also
// with a higher limit, and what was accumulated stays.
func TestAnIncrementThatFailOnRefusesIsRequestedAgain(t *testing.T) {
	s := newStateCase(t)
	keeps := func(pages int) string {
		return fmt.Sprintf(`"method": "pagenum", "forceStop": {"pages": %d}, "keep": {"pages": "(kept.pages ?? 0) + page"},
			"stopRules": ["page < kept.pages - 100"], "audit": {"ignore": ["audit.kept"]}`, pages)
	}
	s.configure(t, keeps(20), "token-1")
	s.run(t, 0)
	s.configure(t, keeps(2), "token-1")
	for range 2 {
		s.requests.Store(0)
		stderr := s.run(t, 9, "--fail-on", "limited")
		require.Contains(t, stderr, "users is limited (forceStop.pages)")
		require.Equal(t, int64(2), s.requests.Load(), "the list is requested from its start")
		require.Equal(t, allItems(), readText(t, s.path("out/users.ndjson")), "what was accumulated stays")
	}
	s.configure(t, keeps(20), "token-1")
	s.run(t, 0, "--fail-on", "limited")
	require.Equal(t, allItems()+allItems(), s.items(t), "this API has the same items again")
}

func TestAStateOfAnotherRunIsRefused(t *testing.T) {
	s := newStateCase(t)
	s.broken.Store(true)
	s.run(t, 3)
	s.broken.Store(false)
	before := s.partial(t)

	for _, test := range []struct {
		name       string
		pagination string
		args       []string
		want       string
	}{
		{
			"other rules", `"method": "pagenum", "forceStop": {"pages": 3}`, nil,
			"it belongs to another configuration: rules changed (--restart, without --append, starts over and replaces the output)",
		},
		{"other requests", `"method": "pagenum", "pageParam": "p"`, nil, "requests changed"},
		{"another origin", `"method": "pagenum"`, []string{"--base-url", "http://127.0.0.1:1/"}, "transport changed"},
		{"one output more", `"method": "pagenum"`, []string{"--trace", s.path("trace.json")}, "trace.json (name the same files, in the same format, to complete what it has obtained; --restart, without --append, starts over and replaces the output)"},
		{"another output", `"method": "pagenum"`, []string{"--out", s.path("other")}, "its run has not ended, and writes "},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.configure(t, test.pagination, "token-1")
			require.Contains(t, s.run(t, 8, test.args...), test.want)
			require.Equal(t, before, s.partial(t), "the output is left alone")
		})
	}
	t.Run("damaged", func(t *testing.T) {
		s.configure(t, `"method": "pagenum"`, "token-1")
		state, err := os.ReadFile(s.path("state.json"))
		require.NoError(t, err)
		require.NotContains(t, string(state), "token-1")
		require.NoError(t, os.WriteFile(s.path("state.json"), state[:20], 0o600))
		require.Contains(t, s.run(t, 8), "it is damaged or not a state file")
		require.NoError(t, os.WriteFile(s.path("state.json"), state, 0o600))
	})
	t.Run("another token is accepted", func(t *testing.T) {
		s.configure(t, `"method": "pagenum"`, "token-2")
		s.run(t, 0)
		require.Equal(t, allItems(), s.items(t))
	})
}

// TestTwoRunsDoNotShareAState starts twenty runs at once. One of them works until
// the others have been refused.
func TestTwoRunsDoNotShareAState(t *testing.T) {
	program, config, dir := binary(t), endless(t), t.TempDir()
	const runs = 20
	var refused, ended atomic.Int64
	allRefused := make(chan struct{})
	var all sync.WaitGroup
	for range runs {
		all.Go(func() {
			cmd := exec.Command(program, "run", config, "-q", "--state", filepath.Join(dir, "state.json"), "--out", dir)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if cmd.Start() != nil {
				return
			}
			exited := make(chan struct{})
			go func() { _ = cmd.Wait(); close(exited) }()
			select {
			case <-exited:
				if cmd.ProcessState.ExitCode() == 8 && strings.Contains(stderr.String(), "is in use by another run") &&
					refused.Add(1) == runs-1 {
					close(allRefused)
				}
			case <-allRefused:
				_ = cmd.Process.Signal(syscall.SIGTERM)
				<-exited
				ended.Add(1)
			case <-time.After(time.Minute): // more than one run works, or none was refused
				_ = cmd.Process.Kill()
				<-exited
			}
		})
	}
	all.Wait()
	require.EqualValues(t, runs-1, refused.Load())
	require.EqualValues(t, 1, ended.Load())
}

// TestASignalledRunSavesItsState interrupts a run several times. It must end
// within a second, and each time get further.
func TestASignalledRunSavesItsState(t *testing.T) {
	program, config := binary(t), endless(t)
	for _, test := range signals {
		t.Run(test.name, func(t *testing.T) {
			skipIfIgnored(t, test.signal)
			dir := t.TempDir()
			args := []string{
				"run", config, "-v", "--state", filepath.Join(dir, "state.json"),
				"--out", filepath.Join(dir, "out"), "--trace", filepath.Join(dir, "trace.json"),
			}
			page := 0
			for round := range 3 {
				stderr := signalAfterACheckpoint(t, exec.Command(program, args...), test.signal, test.status)
				require.Equal(t, round > 0, strings.Contains(stderr, "resuming from"), stderr)
				saved := savedPage(t, filepath.Join(dir, "state.json"))
				require.Greater(t, saved, page)
				page = saved
			}
		})
	}
}

// signalAfterACheckpoint runs a command, signals it when it has logged a
// checkpoint, and returns standard error.
func signalAfterACheckpoint(t *testing.T, cmd *exec.Cmd, signal syscall.Signal, status int) string {
	t.Helper()
	pipe, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var stderr strings.Builder
	lines := bufio.NewReader(pipe)
	for !strings.Contains(stderr.String(), "checkpoint saved") {
		line, err := lines.ReadString('\n')
		stderr.WriteString(line)
		require.NoError(t, err, stderr.String())
	}
	start := time.Now()
	require.NoError(t, cmd.Process.Signal(signal))
	_, err = io.Copy(&stderr, lines)
	require.NoError(t, err)
	_ = cmd.Wait()
	require.Less(t, time.Since(start), 5*time.Second, "a second is promised; the machine may be busy")
	require.Equal(t, status, cmd.ProcessState.ExitCode(), stderr.String())
	return stderr.String()
}

// savedPage returns the page of the only checkpoint in a state file.
func savedPage(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var state struct {
		Jobs map[string]struct{ Context struct{ Page int } }
	}
	require.NoError(t, json.Unmarshal(text, &state))
	require.Len(t, state.Jobs, 1)
	return state.Jobs["x"].Context.Page
}

func TestStateWithParallelJobsNeedsAFilePerJob(t *testing.T) {
	s := newStateCase(t)
	config := fmt.Sprintf(`{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [
		{"id": "a", "endpoint": "users", "dataType": "users"}, {"id": "b", "endpoint": "users", "dataType": "users", "params": {"x": 1}}]}}`, s.api.URL)
	s.write(t, config)
	require.Contains(t, s.run(t, 2, "--jobs", "2"), "cannot be resumed from a state (give each job its own dataType with --out DIR, or omit --jobs)")
	s.write(t, strings.Replace(config, `"dataType": "users"`, `"dataType": "other"`, 1))
	s.run(t, 0, "--jobs", "2", "--prefetch", "4", "--restart")
	require.Equal(t, allItems(), s.items(t))
}

// A run that starts over belongs to its own configuration, and not to that of the run before.
func TestARunThatStartsOverMayHaveAnotherConfiguration(t *testing.T) {
	s := newStateCase(t)
	s.run(t, 0, "--max-pages", "1")
	s.broken.Store(true)
	s.run(t, 3, "--restart")
	s.broken.Store(false)
	require.Contains(t, s.run(t, 8, "--max-pages", "1"), "it belongs to another configuration: rules changed")
	require.Contains(t, s.run(t, 0), "resuming from")
	require.Equal(t, allItems(), s.items(t))
}

// TestEveryPageIsSavedBeforeTheNextRequest: the API is a queue, which deletes the items that a request confirms.
func TestEveryPageIsSavedBeforeTheNextRequest(t *testing.T) {
	dir := t.TempDir()
	state, config := filepath.Join(dir, "state.json"), filepath.Join(dir, "c.json")
	saved := []int{} // size of the state at each request
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, err := os.Stat(state)
		if err == nil {
			saved = append(saved, int(info.Size()))
		}
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		items := ""
		if offset < 5 {
			items = fmt.Sprintf(`{"update_id": %d}`, offset)
		}
		fmt.Fprintf(w, `{"result": [%s]}`, items)
	}))
	t.Cleanup(api.Close)
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{
		"api": {"baseUrl": "%s/", "pagination": {"method": "cursor", "idKey": "update_id", "param": "offset", "increment": 1}},
		"config": {"jobs": [{"endpoint": "updates", "dataField": "result"}]}}`, api.URL), 0o600))
	runStopwhen(t, 0, "run", config, "--state", state, "--out", filepath.Join(dir, "out"), "--prefetch", "0")
	require.Len(t, saved, 5, "the first request has no state")
	for i := range saved[1:] {
		require.Less(t, saved[i], saved[i+1], "a line of the state for each page")
	}
}

func TestRestartRequiresState(t *testing.T) {
	s := newStateCase(t)
	require.Contains(t, runStopwhen(t, 2, "run", s.path("c.json"), "--restart"), "--restart requires --state")
}

func TestAStateThatCannotBeWrittenEndsTheRunBeforeAnyRequest(t *testing.T) {
	s := newStateCase(t)
	runStopwhen(t, 7, "run", s.path("c.json"), "--state", s.path("none/state.json"))
	require.Zero(t, s.requests.Load())
}
