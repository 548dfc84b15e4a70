package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAPartitionThatKillsItsWorkersIsSetAside requests a page at which the process dies that
// has asked for it. The partition is run by itself, and the others go on.
func TestAPartitionThatKillsItsWorkersIsSetAside(t *testing.T) {
	t.Parallel()
	var worker, died, alone atomic.Int64 // the process, and how often it or one that it has started was killed
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/bad" {
			fmt.Fprint(w, `[{"id": 1}]`)
			return
		}
		pid := int(worker.Load())
		if child := childOf(pid); child != 0 {
			alone.Add(1)
			_ = syscall.Kill(child, syscall.SIGKILL)
		} else {
			died.Add(1)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		<-r.Context().Done()
	}))
	t.Cleanup(api.Close)
	config := write(t, filepath.Join(t.TempDir(), "config.json"), fmt.Sprintf(
		`{"api": {"baseUrl": %q}, "config": {"jobs": [{"id": "bad", "endpoint": "bad"}, {"id": "good", "endpoint": "good"}]}}`, api.URL))
	nats := startHubProcess(t)
	call(t, "submit", config, "-q", "--run", "r1", "--lease", "1s", nats)

	cmd := &exec.Cmd{}
	for died.Load() < 20 {
		cmd = exec.Command(binary(t), "worker", "--idle", "3s", nats)
		cmd.Stderr = &bytes.Buffer{}
		require.NoError(t, cmd.Start())
		worker.Store(int64(cmd.Process.Pid))
		if cmd.Wait() == nil {
			break
		}
	}
	log := fmt.Sprint(cmd.Stderr)
	require.Equal(t, int64(3), died.Load(), log)
	require.Equal(t, int64(3), alone.Load(), log)
	require.Contains(t, log, "was lost 3 times; it runs in a process of its own")
	out, err := exec.Command(binary(t), "collect", "r1", "--out", t.TempDir(), nats).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "the task has crashed its process 3 times without a new page: signal: killed")
	require.Contains(t, string(out), "1 item")
}

// childOf returns a process that another one has started, or 0.
func childOf(parent int) int {
	entries, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, entry := range entries {
		text, err := os.ReadFile(entry)
		_, rest, ok := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if err != nil || !ok || len(fields) < 2 || fields[0] == "Z" || fields[1] != strconv.Itoa(parent) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(entry)))
		return pid
	}
	return 0
}
