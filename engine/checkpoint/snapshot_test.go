package checkpoint

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/files"
)

// A run that replaces a file with more or other rows changes its size or one of its ends. Rows in the middle of
// a large file are not read, so that its size does not matter.
func TestASnapshotIsOfTheEndsOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows")
	rows, err := Stateless().Rows(path, nil)
	require.NoError(t, err)
	missing, err := rows.Snapshot()
	require.NoError(t, err)

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
	require.Equal(t, missing, snapshot(nil), "neither has rows")
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

// Job a keeps values after its rows. Job b adds rows to the same file, and after that a is still at the end of the
// rows that belong to it; so it is with job c, which keeps nothing. A file that was changed before is another one.
func TestSnapshotsFollowTheFile(t *testing.T) {
	dir := t.TempDir()
	path, kept := filepath.Join(dir, "rows"), filepath.Join(dir, "kept.json")
	add := func(job string) {
		t.Helper()
		s := Stateless()
		rows, err := s.Rows(path, nil)
		require.NoError(t, err)
		require.NoError(t, rows.WriteRows([]byte("{}\n"), 1))
		c := Publication{Parts: []Part{{Output: rows, Append: true}}, KeptFile: kept}
		if job != "c" {
			c.Kept = map[string]json.RawMessage{job: json.RawMessage(`{"n":1}`)}
			c.RowsIn = map[string][]string{job: {path}}
		}
		require.NoError(t, s.Publish(c))
		require.NoError(t, s.Close())
	}
	sizes := func() map[string]int64 {
		t.Helper()
		members, err := readKeptMembers(files.OS(), kept)
		require.NoError(t, err)
		files, err := keptFiles(members)
		require.NoError(t, err)
		sizes := map[string]int64{}
		for job := range files {
			sizes[job] = files[job]["rows"].Bytes
		}
		return sizes
	}
	add("c")
	require.NoFileExists(t, kept)
	add("a")
	require.Equal(t, map[string]int64{"a": 6}, sizes())
	add("b")
	require.Equal(t, map[string]int64{"a": 9, "b": 9}, sizes())
	add("c")
	require.Equal(t, map[string]int64{"a": 12, "b": 12}, sizes())
	require.NoError(t, os.WriteFile(path, []byte("{}\n{}\n{}\n[]\n"), 0o600))
	add("b")
	require.Equal(t, map[string]int64{"a": 12, "b": 15}, sizes())
}
