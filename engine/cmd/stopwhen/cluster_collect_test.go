package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/cluster/hub"
	"github.com/stopwhen/stopwhen/fixtures"
)

// A signal that arrives while a collection connects, here to a server that never answers,
// decides its exit status.
func TestASignalEndsACollectionThatConnects(t *testing.T) {
	fixtures.SkipUnderRace(t, "its work is done by other processes")
	t.Parallel()
	for signal, status := range map[os.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		silent, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer silent.Close()
		cmd := exec.Command(binary(t), "collect", "june", "--nats", "nats://"+silent.Addr().String())
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		conn, err := silent.Accept()
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, cmd.Process.Signal(signal))
		_ = cmd.Wait()
		require.Equal(t, status, cmd.ProcessState.ExitCode(), stderr.String())
	}
}

// A reader may not release pages. The collection says so before it writes anything.
func TestAReaderThatMayNotReleasePagesIsToldAtTheStart(t *testing.T) {
	config, _ := serveShared(t)
	users := map[string]string{"sales-submit": "SALES_SUBMIT", "sales-worker": "SALES_WORKER", "sales-reader": "SALES_READER"}
	for _, name := range []string{"SALES_SUBMIT", "SALES_WORKER", "SALES_READER", "SALES_ORDERS", "SUPPORT"} {
		t.Setenv(name, "password-of-"+name)
	}
	server, err := hub.Start(context.Background(), hub.Options{
		ConfigFile: "../../cluster/hub/testdata/accounts.conf", Dir: t.TempDir(), Listen: "127.0.0.1:0",
	})
	require.NoError(t, err)
	defer server.Shutdown()
	as := func(user string, status int, args ...string) string {
		cmd := exec.Command(binary(t), append(args, "--nats", server.URL())...)
		cmd.Env = append(os.Environ(), "NATS_USER="+user, "NATS_PASSWORD=password-of-"+users[user])
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		_ = cmd.Run()
		require.Equal(t, status, cmd.ProcessState.ExitCode(), stderr.String())
		return stderr.String()
	}
	dir := t.TempDir()
	as("sales-submit", 0, "submit", config, "--run", "june")
	as("sales-worker", 0, "worker", "--idle", "1s")
	refused := as("sales-reader", 2, "collect", "june", "--out", dir+"/out", "--state", dir+"/state", "--release")
	require.Contains(t, refused, "pages cannot be released: ")
	require.Contains(t, refused, "$JS.API.STREAM.PURGE.STOPWHEN_RUN_june")
	require.Contains(t, refused, "give the NATS user the permission, or collect without --release")
	require.NoFileExists(t, dir+"/state")
	require.NoDirExists(t, dir+"/out")
	require.NotContains(t, refused, "has been collected")
	require.NotContains(t, refused, "0 items")
	as("sales-reader", 0, "collect", "june", "--out", dir+"/out", "--state", dir+"/state")
}
