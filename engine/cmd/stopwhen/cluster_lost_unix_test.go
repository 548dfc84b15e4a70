//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
)

// TestAPartitionThatKillsItsWorkersIsSetAside requests a page at which the process dies that
// has asked for it. The partition that each of these processes runs beside it is slower, and
// is lost as well, but it is not what ends them.
func TestAPartitionThatKillsItsWorkersIsSetAside(t *testing.T) {
	fixtures.SkipUnderRace(t, "its work is done by other processes")
	t.Parallel()
	var worker, died atomic.Int64 // the process, and how often one was killed
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/bad" {
			time.Sleep(time.Second)
			fmt.Fprint(w, `[{"id": 1}]`)
			return
		}
		time.Sleep(200 * time.Millisecond)
		died.Add(1)
		_ = syscall.Kill(int(worker.Load()), syscall.SIGKILL)
		<-r.Context().Done()
	}))
	t.Cleanup(api.Close)
	config := write(t, filepath.Join(t.TempDir(), "config.json"), fmt.Sprintf(
		`{"api": {"baseUrl": %q}, "config": {"jobs": [{"id": "bad", "endpoint": "bad"}, {"id": "good", "endpoint": "good"}]}}`, api.URL))
	nats := startHubProcess(t)
	call(t, "submit", config, "-q", "--run", "r1", "--lease", "1s", nats)

	var log bytes.Buffer
	for died.Load() < 20 {
		cmd := exec.Command(binary(t), "worker", "--idle", "3s", nats)
		cmd.Stderr = &log
		require.NoError(t, cmd.Start())
		worker.Store(int64(cmd.Process.Pid))
		if cmd.Wait() == nil {
			break
		}
	}
	require.Equal(t, int64(6), died.Load(), log.String())
	require.Contains(t, log.String(), "was lost 3 times; it runs alone until it has stored a page")
	out, err := exec.Command(binary(t), "collect", "r1", "--out", t.TempDir(), nats).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out),
		"6 workers have had the task and died, or fell silent, before they stored a page (look for the cause where they ran")
	require.Contains(t, string(out), "1 item", "the other one is complete")
}
