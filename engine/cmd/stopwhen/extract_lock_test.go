package main

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWhatAKilledRunHasLeftIsRemovedAndNoLinkFollowed has links where temporary files are.
func TestWhatAKilledRunHasLeftIsRemovedAndNoLinkFollowed(t *testing.T) {
	left := []string{
		"state.json.0123456789abcdef.new", "r.har.partial", "trace.json.partial",
		"out/.stopwhen.0123456789abcdef.new", "out/users.ndjson.redo.0123456789abcdef.new",
		"out/users.ndjson.complete", "kept.json.redo.0123456789abcdef.new",
	}
	for name, flags := range map[string][]string{
		"with a state": {"--state", "state.json", "--kept", "kept.json"}, "without a state": {"--kept", "kept.json", "--append"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStateCase(t)
			t.Chdir(s.dir)
			s.configure(t, `"method": "pagenum", "keep": {"pages": "total.pages"}`, "token-1")
			require.NoError(t, os.Mkdir("out", 0o700))
			for i, path := range left {
				victim := s.path(fmt.Sprint("victim", i))
				require.NoError(t, os.WriteFile(victim, []byte("untouched"), 0o600))
				require.NoError(t, os.Symlink(victim, path))
			}
			require.NoError(t, os.WriteFile("mine.new", nil, 0o600))
			runStopwhen(t, 0, append(append([]string{"run", "c.json", "--out", "out"}, flags...), s.records()...)...)
			require.Equal(t, allItems(), s.items(t))
			require.FileExists(t, "mine.new")
			for i, path := range left {
				require.Equal(t, "untouched", readText(t, fmt.Sprint("victim", i)))
				_, err := os.Lstat(path)
				if len(flags) == 3 && path == left[0] {
					continue // there is no such state
				}
				require.ErrorIs(t, err, os.ErrNotExist, path)
			}
		})
	}
}

// Nothing locks a result, a trace and a recording, so another run may just create the temporary files
// of these that are not old.
func TestWhatAKilledRunHasLeftForFilesWithoutALockIsRemovedAfterAnHour(t *testing.T) {
	s := newStateCase(t)
	t.Chdir(s.dir)
	s.configure(t, `"method": "pagenum"`, "token-1")
	for _, name := range []string{"r.har", "trace.json", "result.json"} {
		for digits, age := range map[string]time.Duration{"0123456789abcdef": 2 * time.Hour, "fedcba9876543210": time.Minute} {
			left := name + "." + digits + ".new"
			require.NoError(t, os.WriteFile(left, nil, 0o600))
			then := time.Now().Add(-age)
			require.NoError(t, os.Chtimes(left, then, then))
		}
	}
	runStopwhen(t, 0, append([]string{"run", "c.json", "--result", "result.json"}, s.records()...)...)
	for _, name := range []string{"r.har", "trace.json", "result.json"} {
		require.NoFileExists(t, name+".0123456789abcdef.new")
		require.FileExists(t, name+".fedcba9876543210.new")
	}
}

// TestAResultThatCannotBeWrittenLeavesTheOneBefore writes to a full disk.
func TestAResultThatCannotBeWrittenLeavesTheOneBefore(t *testing.T) {
	program, s := binary(t), newStateCase(t)
	t.Chdir(s.dir)
	require.NoError(t, os.WriteFile("result.json", []byte("the result before"), 0o644))
	cmd := exec.Command(bash(t), "-c", `ulimit -f 0 && exec "$0" run c.json --result result.json`, program)
	out, err := cmd.Output()
	require.Error(t, err)
	require.Equal(t, 7, cmd.ProcessState.ExitCode())
	require.Equal(t, allItems(), string(out))
	require.Equal(t, "the result before", readText(t, "result.json"))
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	require.Len(t, entries, 2, "no temporary file is left")

	require.NoError(t, os.Symlink("result.json", "link.json"))
	runStopwhen(t, 0, "run", "c.json", "--result", "link.json")
	require.Contains(t, readText(t, "result.json"), `"outcome": "complete"`)
	info, err := os.Stat("result.json")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o644), info.Mode().Perm())
}
