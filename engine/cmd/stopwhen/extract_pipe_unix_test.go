//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestASignalEndsACommandWhoseResultNobodyReads: the jobs have ended when the result is
// written, to a pipe that is full or that has no reader.
func TestASignalEndsACommandWhoseResultNobodyReads(t *testing.T) {
	program := binary(t)
	for _, result := range []string{"-", "fifo"} {
		t.Run(result, func(t *testing.T) {
			cmd := exec.Command(program, "run", "--fixture", "demo/orders", "--out", "data", "--result", result)
			cmd.Dir = t.TempDir()
			require.NoError(t, syscall.Mkfifo(filepath.Join(cmd.Dir, "fifo"), 0o600))
			r, w, err := os.Pipe()
			require.NoError(t, err)
			defer r.Close()
			require.NoError(t, w.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
			for err == nil {
				_, err = w.Write(make([]byte, 4096))
			}
			cmd.Stdout = w
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			require.NoError(t, cmd.Start())
			require.NoError(t, w.Close())
			time.Sleep(2 * time.Second) // the jobs end
			require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
			giveUp := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
			defer giveUp.Stop()
			_ = cmd.Wait()
			require.Equal(t, 143, cmd.ProcessState.ExitCode(), stderr.String())
			require.Contains(t, stderr.String(), "interrupted; the output is no longer being read")
		})
	}
}
