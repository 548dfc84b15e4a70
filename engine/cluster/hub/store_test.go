package hub

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

func TestAHubSyncsAlwaysUnlessAFileSaysOtherwise(t *testing.T) {
	s, err := Start(t.Context(), Options{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	defer s.Shutdown()
	require.True(t, s.nats.JetStreamConfig().SyncAlways)
}

func TestAHubEndsWhenItsStoreCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	for _, fail := range []func(*Server){
		func(s *Server) { require.NoError(t, s.nats.ShutdownJetStream()) },
		func(s *Server) { s.nats.Errorf("JetStream stream %q critical write error: %v", "S", syscall.ENOSPC) }, // as the server reports it
	} {
		s, err := Start(t.Context(), Options{Dir: dir, Listen: "127.0.0.1:0"})
		require.NoError(t, err)
		fail(s)
		err = s.Wait()
		require.ErrorIs(t, err, failure.ErrIO)
		require.ErrorContains(t, err, "the store in "+dir+" cannot be written any more")
		s.Shutdown()
	}
	next, err := Start(t.Context(), Options{Dir: dir, Listen: "127.0.0.1:0"})
	require.NoError(t, err)
	next.Shutdown()
}

func TestErrorsOfTheStoreSayWhatToDo(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{syscall.ENOSPC, "the disk of the directory /d is full (free some space, or use a directory on another disk)"},
		{os.ErrPermission, "the directory /d cannot be written: permission denied (use another directory, or run the hub as the user that owns it)"},
		{syscall.EIO, "cannot use the directory /d: store: input/output error"},
	} {
		wrapped := fmt.Errorf("store: %w", test.err)
		require.EqualError(t, storeError("/d", wrapped), test.want)
		require.ErrorIs(t, storeError("/d", wrapped), failure.ErrIO)
	}
	full := startError(&fatalError{"Can't start JetStream: no space", &os.PathError{Op: "write", Path: "/d/x", Err: syscall.ENOSPC}}, &server.Options{StoreDir: "/d"})
	require.ErrorContains(t, full, "the disk of the directory /d is full")
}

func TestTheProbeLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("untouched"), 0o600))
	require.NoError(t, os.Symlink(victim, filepath.Join(dir, probeName)))
	lock, err := prepareStore(dir)
	require.NoError(t, err)
	defer func() { require.NoError(t, lock.Unlock()) }()
	left, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(dir, lockName)}, left)
	text, err := os.ReadFile(victim)
	require.NoError(t, err)
	require.Equal(t, "untouched", string(text), "a symbolic link is not followed")
}
