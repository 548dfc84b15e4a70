package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"stopwhen": func() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// TestScripts runs the command as a person does; see testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": wantStatus,
		},
	})
}

// wantStatus runs a program and wants its exit status: `status 2 stopwhen check x`.
func wantStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// TestEveryCaseThroughTheCommand plays the fixtures as `stopwhen run --fixture`
// does: standard output, exit status and the trace's decisions.
func TestEveryCaseThroughTheCommand(t *testing.T) {
	cases, err := fixtures.All()
	require.NoError(t, err)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			trace := t.TempDir() + "/trace.json"
			var stdout, stderr bytes.Buffer
			status := run([]string{"run", "--fixture", c.Name, "--trace", trace, "--log-format", "json"}, strings.NewReader(""), &stdout, &stderr)
			require.Equal(t, c.Exit, status, stderr.String())
			if c.Items != nil && !strings.Contains(*c.Items, "{base}") {
				require.Equal(t, *c.Items, stdout.String())
			}
			if status == exitUsage {
				return
			}
			text, err := os.ReadFile(trace)
			require.NoError(t, err)
			for line := range bytes.Lines(text) {
				var record map[string]any
				require.NoError(t, json.Unmarshal(line, &record))
				for _, key := range []string{"job", "page", "request", "status", "count", "bytes", "verdicts", "decision", "stoppedBy"} {
					require.Contains(t, record, key)
				}
			}
		})
	}
}

func TestExitStatusesAreTheContract(t *testing.T) {
	require.Equal(t, 0, exitStatus(nil))
	for class, want := range map[string]int{"internal": 1, "config": 2, "api": 3, "transient": 4, "response": 5, "policy": 6, "io": 7, "state": 8, "cancelled": 130} {
		found := false
		for c, got := range exitStatuses {
			if string(c) == class {
				found = true
				require.Equal(t, want, got, class)
			}
		}
		require.True(t, found, class)
	}
}

// binary builds the command once, for what needs a process of its own.
func binary(t *testing.T) string {
	t.Helper()
	path := t.TempDir() + "/stopwhen"
	out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	return path
}

// endless serves an endless list, a page every few milliseconds. The requests
// whose numbers are given are refused for a moment.
func endless(t *testing.T, refused ...int64) string {
	var requests atomic.Int64
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := requests.Add(1)
		if slices.Contains(refused, n) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		time.Sleep(5 * time.Millisecond)
		fmt.Fprintf(w, `{"data": [{"page": %s, "n": %d, "fill": %q}]}`, r.URL.Query().Get("page"), n, strings.Repeat("x", 4096))
	}))
	t.Cleanup(api.Close)
	config := t.TempDir() + "/endless.json"
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `{"api": {"baseUrl": %q, "pagination": {"method": "pagenum"}}, "config": {"jobs": [{"endpoint": "x", "dataField": "data"}]}}`, api.URL), 0o644))
	return config
}

func TestSignalsEndTheRunWithinASecondAndKeepWhatWasObtained(t *testing.T) {
	path := binary(t)
	for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		cmd := exec.Command(path, "run", endless(t))
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		first := make([]byte, 1)
		_, err = io.ReadFull(stdout, first) // the first page is there
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(signal))
		began := time.Now()
		rest, err := io.ReadAll(stdout)
		require.NoError(t, err)
		require.Error(t, cmd.Wait())
		require.Less(t, time.Since(began), time.Second)
		require.Equal(t, want, cmd.ProcessState.ExitCode(), stderr.String())
		for line := range bytes.Lines(append(first, rest...)) {
			require.True(t, json.Valid(line), "a torn line: %.80s", line)
		}
		require.Contains(t, stderr.String(), "interrupted; what was obtained is kept")
	}
}

func TestAReaderThatLeavesEndsTheRun(t *testing.T) {
	cmd := exec.Command("sh", "-c", `"$0" run "$1" | head -1 >/dev/null; echo "status ${PIPESTATUS[0]}"`, binary(t), endless(t))
	cmd.Path, cmd.Args[0] = bash(t), "bash"
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, "status 7\n", string(out))
	require.Contains(t, stderr.String(), "the reader of the output has gone; the extraction is not complete")
}

func bash(t *testing.T) string {
	path, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	return path
}
