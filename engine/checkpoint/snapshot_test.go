package checkpoint

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A run that replaces a file with more or other rows changes its size or one of its ends. Rows in the middle of
// a large file are not read, so that its size does not matter.
func TestASnapshotIsOfTheEndsOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	rows, err := Stateless().Rows(path, nil)
	require.NoError(t, err)
	missing, err := rows.Snapshot()
	require.NoError(t, err)
	require.Equal(t, Snapshot{}, missing)

	snapshot := func(text []byte) Snapshot {
		t.Helper()
		require.NoError(t, os.WriteFile(path, text, 0o600))
		s, err := rows.Snapshot()
		require.NoError(t, err)
		require.EqualValues(t, len(text), s.Bytes)
		return s
	}
	for _, size := range []int{1, 100, snapshotEnd, 2*snapshotEnd - 1, 2 * snapshotEnd, 5 * snapshotEnd} {
		text := []byte(strings.Repeat("x", size))
		before := snapshot(text)
		require.Equal(t, before, snapshot(text))
		require.NotEqual(t, before, snapshot(append(text, 'x')))
		for _, at := range []int{0, min(size, snapshotEnd) - 1, max(0, size-snapshotEnd), size - 1} {
			changed := bytes.Clone(text)
			changed[at] = 'y'
			require.NotEqual(t, before, snapshot(changed), "byte %d of %d", at, size)
		}
	}
	require.NotEqual(t, snapshot(nil), missing, "an empty file exists")
}

func BenchmarkSnapshot(b *testing.B) {
	path := filepath.Join(b.TempDir(), "rows")
	require.NoError(b, os.WriteFile(path, make([]byte, 64<<20), 0o600))
	rows, err := Stateless().Rows(path, nil)
	require.NoError(b, err)
	for b.Loop() {
		if _, err := rows.Snapshot(); err != nil {
			b.Fatal(err)
		}
	}
}
