package main

import (
	"bufio"
	"bytes"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// stalledServer accepts connections. If it speaks, it is a NATS server that answers no
// request. The channel has a value for each connection that has got so far.
func stalledServer(t *testing.T, speaks bool) (address string, connected <-chan bool) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	seen := make(chan bool, 100)
	serve := func(conn net.Conn) {
		defer func() { _ = conn.Close() }()
		if speaks {
			_, _ = conn.Write([]byte(`INFO {"server_id":"S","version":"2.12.2","proto":1,"headers":true,"jetstream":true,"max_payload":1048576}` + "\r\n"))
		} else {
			seen <- true
		}
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			switch line := lines.Text(); {
			case line == "PING":
				_, _ = conn.Write([]byte("PONG\r\n"))
			case strings.HasPrefix(line, "PUB "), strings.HasPrefix(line, "HPUB "):
				seen <- true
			}
		}
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	return "--nats=nats://" + listener.Addr().String(), seen
}

func TestAnInterruptedCommandSaysWhatToDo(t *testing.T) {
	t.Parallel()
	config, _ := serveShared(t)
	silent, reached := stalledServer(t, false)
	speaking, asked := stalledServer(t, true)
	for _, test := range []struct {
		args string
		at   string
		when <-chan bool
		want string
	}{
		{"cancel june", silent, reached, "interrupted before NATS was reached"},
		{"cancel june", speaking, asked, "interrupted; cancel the run again, since some of its tasks may still be queued"},
		{"retry june", speaking, asked, "interrupted; do it again, since some of the partitions may not be queued"},
		{"delete june", speaking, asked, "interrupted; delete the run again, since some of it may still be stored"},
		{"delete --older-than 1h", speaking, asked, "interrupted; do it again, since some of the runs may still be stored"},
		{"status june", speaking, asked, "interrupted"},
		{"submit --run june " + config, speaking, asked,
			"interrupted; submit it again with --run june, or delete that run, since some of it may be stored"},
	} {
		for len(test.when) > 0 {
			<-test.when
		}
		cmd := exec.Command(binary(t), append(strings.Fields(test.args), test.at)...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		<-test.when
		require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
		require.Error(t, cmd.Wait())
		require.Equal(t, 130, cmd.ProcessState.ExitCode(), "%s: %s", test.args, &stderr)
		require.Equal(t, "stopwhen: "+test.want+"\n", stderr.String(), test.args)
	}
}

func TestAClosedOutputPipeEndsAListThatIsNoExtraction(t *testing.T) {
	t.Parallel()
	config, _ := serveShared(t)
	nats := startHubProcess(t)
	call(t, "submit", config, "-q", "--run", "june", nats)
	for _, args := range []string{"status june", "status june --format json", "status june --partitions"} {
		read, write, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, read.Close())
		cmd := exec.Command(binary(t), append(strings.Fields(args), nats)...)
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = write, &stderr
		require.Error(t, cmd.Run())
		require.NoError(t, write.Close())
		require.Equal(t, 7, cmd.ProcessState.ExitCode(), args)
		require.Equal(t, "stopwhen: output pipe closed; the output is incomplete\n", stderr.String(), args)
	}
}
