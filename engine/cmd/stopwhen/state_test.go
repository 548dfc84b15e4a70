package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stateCase is an extraction of ten pages with a state, in a folder of its own.
type stateCase struct {
	folder string
	broken atomic.Bool // the API refuses from page 5 on
	asked  atomic.Int64
	api    *httptest.Server
}

func newStateCase(t *testing.T) *stateCase {
	t.Helper()
	s := &stateCase{folder: t.TempDir()}
	s.api = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked.Add(1)
		page := r.URL.Query().Get("page")
		switch {
		case s.broken.Load() && (len(page) > 1 || page >= "5"):
			w.WriteHeader(http.StatusForbidden)
		case page == "10":
			fmt.Fprint(w, `[]`)
		default:
			fmt.Fprintf(w, `[{"id":"%s-a"},{"id":"%s-b"}]`, page, page)
		}
	}))
	t.Cleanup(s.api.Close)
	s.configure(t, `"method": "pagenum"`, "token-1")
	return s
}

func (s *stateCase) configure(t *testing.T, pagination, token string) {
	t.Helper()
	text := fmt.Sprintf(`{"api": {"baseUrl": "%s/", "pagination": {%s}, "authentication": {"type": "bearer", "#token": "%s"}}, "config": {"jobs": [{"endpoint": "users"}]}}`, s.api.URL, pagination, token)
	require.NoError(t, os.WriteFile(s.path("c.json"), []byte(text), 0o600))
}

func (s *stateCase) path(name string) string { return filepath.Join(s.folder, name) }

// run runs the command and wants its status; it returns standard error.
func (s *stateCase) run(t *testing.T, status int, more ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args := append([]string{"run", s.path("c.json"), "--state", s.path("state.json"), "--out", s.path("out")}, more...)
	require.Equal(t, status, run(args, strings.NewReader(""), &stdout, &stderr), stderr.String())
	return stderr.String()
}

func (s *stateCase) items(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(s.path("out/users.ndjson"))
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

func TestARunThatFailedGoesOn(t *testing.T) {
	s := newStateCase(t)
	s.broken.Store(true)
	s.run(t, 3)
	require.Less(t, len(s.items(t)), len(allItems()))
	s.broken.Store(false)
	s.asked.Store(0)
	require.Contains(t, s.run(t, 0), "goes on where "+s.path("state.json")+" says that it was")
	require.Equal(t, allItems(), s.items(t))
	require.LessOrEqual(t, s.asked.Load(), int64(9), "page 1 was committed, if no more")

	// What is complete is not extracted again, and says so; the result is there.
	s.asked.Store(0)
	require.Contains(t, s.run(t, 0, "--result", s.path("result.json")), "this extraction is complete: nothing is requested")
	require.Zero(t, s.asked.Load())
	var result struct {
		Jobs []struct {
			Items  int
			Reason string
		}
	}
	text, err := os.ReadFile(s.path("result.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &result))
	require.Equal(t, 18, result.Jobs[0].Items)
	require.Equal(t, "pagenum.empty", result.Jobs[0].Reason)

	s.run(t, 0, "--restart")
	require.Equal(t, int64(10), s.asked.Load())
	require.Equal(t, allItems(), s.items(t))
}

func TestAStateOfSomethingElseIsRefused(t *testing.T) {
	s := newStateCase(t)
	s.broken.Store(true)
	s.run(t, 3)
	s.broken.Store(false)
	before := s.items(t)

	s.configure(t, `"method": "pagenum", "forceStop": {"pages": 3}`, "token-1")
	require.Contains(t, s.run(t, 8), "it belongs to another configuration: rules changed (--restart begins anew and replaces what was written)")
	s.configure(t, `"method": "pagenum", "pageParam": "p"`, "token-1")
	require.Contains(t, s.run(t, 8), "requests changed")
	s.configure(t, `"method": "pagenum"`, "token-1")
	require.Contains(t, s.run(t, 8, "--base-url", "http://127.0.0.1:1/"), "transport changed")
	require.Contains(t, s.run(t, 8, "--trace", s.path("trace.json")), "trace.json does not belong to it")
	require.Contains(t, s.run(t, 8, "--out", s.path("other")), "users.ndjson belongs to it, and this run does not write there")
	require.Equal(t, before, s.items(t), "what is refused is left alone")

	state, err := os.ReadFile(s.path("state.json"))
	require.NoError(t, err)
	require.NotContains(t, string(state), "token-1")
	require.NoError(t, os.WriteFile(s.path("state.json"), state[:len(state)/2], 0o600))
	require.Contains(t, s.run(t, 8), "it is damaged, or no state")
	require.NoError(t, os.WriteFile(s.path("state.json"), state, 0o600))

	// Another token is not another configuration.
	s.configure(t, `"method": "pagenum"`, "token-2")
	s.run(t, 0)
	require.Equal(t, allItems(), s.items(t))
}

// TestTwoRunsDoNotShareAState starts twenty at once: one works.
func TestTwoRunsDoNotShareAState(t *testing.T) {
	program := binary(t)
	config := endless(t)
	folder := t.TempDir()
	var refused atomic.Int64
	var all sync.WaitGroup
	var first atomic.Pointer[exec.Cmd]
	for range 20 {
		all.Go(func() {
			cmd := exec.Command(program, "run", config, "-q", "--state", filepath.Join(folder, "state.json"), "--out", folder)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if cmd.Start() != nil {
				return
			}
			ended := make(chan struct{})
			go func() { _ = cmd.Wait(); close(ended) }()
			select {
			case <-ended:
				if cmd.ProcessState.ExitCode() == 8 && strings.Contains(stderr.String(), "another run works with") {
					refused.Add(1)
				}
			case <-time.After(5 * time.Second):
				first.Store(cmd)
				_ = cmd.Process.Signal(syscall.SIGTERM)
				<-ended
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 19, refused.Load())
	require.NotNil(t, first.Load())
}

// TestASignalEndsARunWithItsState: within a second, and the same command goes on.
func TestASignalEndsARunWithItsState(t *testing.T) {
	program := binary(t)
	config := endless(t)
	for signal, status := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		folder := t.TempDir()
		args := []string{"run", config, "--state", filepath.Join(folder, "state.json"), "--out", filepath.Join(folder, "out"), "--trace", filepath.Join(folder, "trace.json")}
		pages := 0
		for round := range 3 {
			cmd := exec.Command(program, args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			require.NoError(t, cmd.Start())
			time.Sleep(500 * time.Millisecond)
			began := time.Now()
			require.NoError(t, cmd.Process.Signal(signal))
			_ = cmd.Wait()
			require.Less(t, time.Since(began), time.Second)
			require.Equal(t, status, cmd.ProcessState.ExitCode(), stderr.String())
			require.Equal(t, round > 0, strings.Contains(stderr.String(), "goes on where"))
			state, err := os.ReadFile(filepath.Join(folder, "state.json"))
			require.NoError(t, err)
			var kept struct {
				Jobs map[string]struct{ Page int }
			}
			require.NoError(t, json.Unmarshal(state, &kept))
			for _, job := range kept.Jobs {
				require.Greater(t, job.Page, pages, "it got on")
				pages = job.Page
			}
		}
	}
}

func TestStateGoesWithEveryOptionOrIsRefused(t *testing.T) {
	s := newStateCase(t)
	text := fmt.Sprintf(`{"api": {"baseUrl": "%s/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [{"id": "a", "endpoint": "users"}, {"id": "b", "endpoint": "users", "params": {"x": 1}}]}}`, s.api.URL)
	require.NoError(t, os.WriteFile(s.path("c.json"), []byte(text), 0o600))
	require.Contains(t, s.run(t, 2, "--jobs", "2"), "--jobs with --state: several jobs write to one place")
	require.NoError(t, os.WriteFile(s.path("c.json"), []byte(strings.Replace(text, `"id": "a",`, `"id": "a", "dataType": "other",`, 1)), 0o600))
	s.run(t, 0, "--jobs", "2", "--prefetch", "4", "--restart")
	require.Equal(t, allItems(), s.items(t))

	var stderr bytes.Buffer
	require.Equal(t, 2, run([]string{"run", s.path("c.json"), "--restart"}, strings.NewReader(""), &bytes.Buffer{}, &stderr))
	require.Contains(t, stderr.String(), "--restart goes with --state")

	// A folder that cannot be written to ends it before any request.
	s.asked.Store(0)
	require.Equal(t, 7, run([]string{"run", s.path("c.json"), "--state", s.path("none/state.json")}, strings.NewReader(""), &bytes.Buffer{}, &stderr))
	require.Zero(t, s.asked.Load())
}
