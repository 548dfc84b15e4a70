package files

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteReplacesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kept.json")
	for _, content := range []string{"a long first content", "second"} {
		require.NoError(t, Write(path, []byte(content), 0o600))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, string(text))
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, Private, info.Mode().Perm())
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file is left")
}

func TestWriteKeepsTheOldContentOnAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir")
	require.NoError(t, os.MkdirAll(filepath.Join(path, "file"), 0o700)) // a directory cannot be replaced
	require.Error(t, Write(path, []byte("x"), 0o600))
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file is left")
}

func TestLeftoversAreTemporaryFilesOnly(t *testing.T) {
	dir := t.TempDir()
	state, other := filepath.Join(dir, "state.json"), filepath.Join(dir, "a.b")
	want := []string{other + ".fedcba9876543210.new", state + ".0123456789abcdef.new"}
	for _, path := range append([]string{
		state, other, state + ".lock", state + ".17.new", state + ".new", state + ".0123456789ABCDEF.new", state + ".x.new", state + ".0123456789abcdef.new.txt",
		filepath.Join(dir, "my-state.json.new"), filepath.Join(dir, "a.new"), filepath.Join(dir, ".new"),
	}, want...) {
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	require.NoError(t, os.Mkdir(other+".0123456789abcdef.new", 0o700))
	require.ElementsMatch(t, want, Leftovers(state, other, filepath.Join(dir, "none", "x")))

	r, err := Replace(other, 0o600, 1000)
	require.NoError(t, err)
	require.Len(t, Leftovers(other), 2)
	require.NoError(t, r.Cancel())
	require.NoError(t, Probe(other))
	require.Len(t, Leftovers(other), 1)
}
