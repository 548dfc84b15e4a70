package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stopwhen/stopwhen/runtime/failure"

	"github.com/stretchr/testify/require"
)

// committed is a store with one page in one output, and the folder it is in.
func committed(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	s, err := Open(System, filepath.Join(folder, "state.json"), "test", map[string]string{"rules": "1", "items": "2"})
	require.NoError(t, err)
	require.False(t, s.Resumed())
	o, err := s.Output(filepath.Join(folder, "items.ndjson"))
	require.NoError(t, err)
	require.NoError(t, s.Begin())
	_, err = o.Write([]byte("{\"id\":1}\n"))
	require.NoError(t, err)
	require.NoError(t, s.Commit(map[string]json.RawMessage{"users": json.RawMessage(`{"page":1}`)}))
	_, err = o.Write([]byte("{\"id\":2}\n{\"i"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return folder
}

func open(folder string) (*Store, error) {
	return Open(System, filepath.Join(folder, "state.json"), "later", map[string]string{"rules": "1", "items": "2"})
}

func TestARunGoesOnBehindTheLastCommit(t *testing.T) {
	folder := committed(t)
	s, err := open(folder)
	require.NoError(t, err)
	require.True(t, s.Resumed())
	require.JSONEq(t, `{"page":1}`, string(s.Jobs()["users"]))
	o, err := s.Output(filepath.Join(folder, "items.ndjson"))
	require.NoError(t, err)
	require.NoError(t, s.Begin())
	require.EqualValues(t, len("{\"id\":2}\n{\"i"), s.Cut())
	_, err = o.Write([]byte("{\"id\":2}\n"))
	require.NoError(t, err)
	require.NoError(t, s.Commit(map[string]json.RawMessage{"users": json.RawMessage(`{"page":2}`)}))
	require.NoError(t, s.Close())
	text, err := os.ReadFile(filepath.Join(folder, "items.ndjson"))
	require.NoError(t, err)
	require.Equal(t, "{\"id\":1}\n{\"id\":2}\n", string(text))
	for _, name := range []string{"state.json", "items.ndjson"} {
		info, err := os.Stat(filepath.Join(folder, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
}

// TestEveryBitOfAStateCounts flips each: none may pass.
func TestEveryBitOfAStateCounts(t *testing.T) {
	folder := committed(t)
	path := filepath.Join(folder, "state.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	refused := func(damaged []byte, what string, at int) {
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		_, err := open(folder)
		require.ErrorIs(t, err, failure.ErrState, "%s %d", what, at)
	}
	for bit := range 8 * len(text) {
		damaged := bytes.Clone(text)
		damaged[bit/8] ^= 1 << (bit % 8)
		refused(damaged, "bit", bit)
	}
	for cut := range len(text) {
		refused(text[:cut], "cut at", cut)
	}
	refused(append(bytes.Clone(text), ' '), "a byte more", 0)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	_, err = open(folder)
	require.NoError(t, err)
}

func TestOutputsThatAreNotWhatWasCommittedAreRefused(t *testing.T) {
	for what, change := range map[string]func(path string) error{
		"gone":    os.Remove,
		"shorter": func(path string) error { return os.Truncate(path, 5) },
		"changed": func(path string) error { return os.WriteFile(path, []byte("{\"id\":9}\n{\"id\":2}\n"), 0o600) },
	} {
		folder := committed(t)
		path := filepath.Join(folder, "items.ndjson")
		require.NoError(t, change(path))
		before, _ := os.ReadFile(path)
		s, err := open(folder)
		require.NoError(t, err)
		_, err = s.Output(path)
		require.ErrorIs(t, err, failure.ErrState, what)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, "--restart begins anew")
		after, _ := os.ReadFile(path)
		require.Equal(t, before, after, "%s: what is refused is left alone", what)
	}
}

func TestOtherConfigurationsAndOutputsAreRefused(t *testing.T) {
	folder := committed(t)
	_, err := Open(System, filepath.Join(folder, "state.json"), "test", map[string]string{"rules": "other", "items": "2"})
	require.ErrorIs(t, err, failure.ErrState)
	require.ErrorContains(t, err, "it belongs to another configuration: rules changed")

	s, err := open(folder)
	require.NoError(t, err)
	require.ErrorContains(t, s.Begin(), "items.ndjson belongs to it, and this run does not write there")
	_, err = s.Output(filepath.Join(folder, "items.ndjson"))
	require.NoError(t, err)
	_, err = s.Output(filepath.Join(folder, "trace.json"))
	require.NoError(t, err)
	require.ErrorContains(t, s.Begin(), "trace.json does not belong to it")
}

// TestFaultsOfTheDiskAreToldAndNothingCommittedIsLost fails each operation of a
// commit in turn.
func TestFaultsOfTheDiskAreToldAndNothingCommittedIsLost(t *testing.T) {
	const pages = 3
	count := newDisk()
	require.NoError(t, extract(count, pages, 1))
	for stop := 1; stop <= count.operations; stop++ {
		d := newDisk()
		d.stopBefore = stop
		err := extract(d, pages, 1)
		require.ErrorIs(t, err, errPower)
		if fault := (*failure.Error)(nil); errors.As(err, &fault) {
			require.Equal(t, failure.IO, fault.Class)
		}
		d.stopBefore = 0 // the disk works again, and has all that was written
		require.NoError(t, extract(d, pages, 1))
		require.Empty(t, whole(d, pages))
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":1,"program":"x","fingerprint":{},"outputs":{},"jobs":{},"sum":""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s state
		if parse(text, &s) != nil {
			return
		}
		again, err := s.encode()
		require.NoError(t, err)
		require.Equal(t, text, again)
	})
}
