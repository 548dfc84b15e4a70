package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster/hub"
)

// startAccounts starts a hub with the accounts that the guide shows. It returns a function
// that prepares a command of one of their users.
func startAccounts(t *testing.T) (as func(user string, args ...string) *exec.Cmd) {
	t.Helper()
	secrets := map[string]string{"sales-submit": "SALES_SUBMIT", "sales-worker": "SALES_WORKER", "sales-reader": "SALES_READER"}
	for _, name := range []string{"SALES_SUBMIT", "SALES_WORKER", "SALES_READER", "SALES_ORDERS", "SUPPORT"} {
		t.Setenv(name, "password-of-"+name)
	}
	server, err := hub.Start(context.Background(), hub.Options{
		ConfigFile: "../../cluster/hub/testdata/accounts.conf", Dir: t.TempDir(), Listen: "127.0.0.1:0",
	})
	require.NoError(t, err)
	t.Cleanup(server.Shutdown)
	return func(user string, args ...string) *exec.Cmd {
		cmd := exec.Command(binary(t), append(args, "--nats", server.URL())...)
		cmd.Env = append(os.Environ(), "NATS_USER="+user, "NATS_PASSWORD=password-of-"+secrets[user])
		return cmd
	}
}

// Only the submitter may create the streams. On a server that has none yet, a worker waits for
// the first run, a reader sees that there are no runs, and neither may submit one.
func TestUsersWhoMayNotCreateStreamsUseAServerWithoutRuns(t *testing.T) {
	config, _ := serveShared(t)
	as := startAccounts(t)
	run := func(user string, status int, args ...string) string {
		cmd := as(user, args...)
		out, _ := cmd.CombinedOutput()
		require.Equal(t, status, cmd.ProcessState.ExitCode(), "%s", out)
		return string(out)
	}
	require.Equal(t, "There are no runs. stopwhen submit CONFIG adds one.\n", run("sales-reader", 0, "status"))
	require.Contains(t, run("sales-reader", 0, "status", "--format", "json"), `"runs": []`)
	refused := run("sales-reader", 2, "submit", config)
	require.Contains(t, refused, "the NATS user may not submit runs")
	require.NotContains(t, refused, "submit a run first")
	require.Contains(t, run("sales-worker", 0, "worker", "--idle", "1ms"), "there has been no task for 1ms")

	worker := as("sales-worker", "worker", "--name", "early")
	log := &lines{seen: make(chan string, 100)}
	worker.Stderr = log
	require.NoError(t, worker.Start())
	log.await(t, "nothing has been submitted to the NATS server yet; waiting for the first run")
	run("sales-submit", 0, "submit", config, "--run", "june")
	log.await(t, "worker early is ready")
	require.NoError(t, worker.Process.Signal(syscall.SIGTERM))
	require.NoError(t, worker.Wait())
}

// lines passes on the lines that are written to it.
type lines struct {
	rest bytes.Buffer
	seen chan string
}

func (l *lines) Write(p []byte) (int, error) {
	l.rest.Write(p)
	for bytes.IndexByte(l.rest.Bytes(), '\n') >= 0 {
		line, _ := l.rest.ReadString('\n')
		select {
		case l.seen <- line:
		default: // nobody waits for so many
		}
	}
	return len(p), nil
}

func (l *lines) await(t *testing.T, text string) {
	t.Helper()
	for {
		select {
		case line := <-l.seen:
			if strings.Contains(line, text) {
				return
			}
		case <-time.After(time.Minute):
			require.Fail(t, "no line has "+text)
		}
	}
}
