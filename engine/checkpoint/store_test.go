package checkpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/files"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// newCommitted commits one page to a state and an output in a new directory, and
// writes half of another page without committing it.
func newCommitted(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	s, err := Open(filepath.Join(dir, "state.json"), "test", map[string]string{"rules": "1", "items": "2"})
	require.NoError(t, err)
	require.False(t, s.Resumed())
	o, err := s.Rows(filepath.Join(dir, "items.ndjson"), nil)
	require.NoError(t, err)
	require.NoError(t, s.Begin())
	_, err = o.Write([]byte("{\"id\":1}\n"))
	require.NoError(t, err)
	require.NoError(t, commit(s, `{"page":1}`, o))
	_, err = o.Write([]byte("{\"id\":2}\n{\"i"))
	require.NoError(t, err)
	require.NoError(t, s.Close())
	return dir
}

// commit saves a checkpoint of the job users together with an output.
func commit(s *Store, checkpoint string, o *Output) error {
	if err := s.Mark("users", json.RawMessage(checkpoint), o); err != nil {
		return err
	}
	return s.Flush()
}

// reopen opens the state of newCommitted.
func reopen(dir string) (*Store, error) {
	return Open(filepath.Join(dir, "state.json"), "later", map[string]string{"rules": "1", "items": "2"})
}

func TestARunResumesAfterTheLastCommit(t *testing.T) {
	dir := newCommitted(t)
	s, err := reopen(dir)
	require.NoError(t, err)
	require.True(t, s.Resumed())
	require.JSONEq(t, `{"page":1}`, string(s.Jobs()["users"]))
	o, err := s.Rows(filepath.Join(dir, "items.ndjson"), nil)
	require.NoError(t, err)
	require.NoError(t, s.Begin())
	require.EqualValues(t, len("{\"id\":2}\n{\"i"), s.DiscardedBytes())
	_, err = o.Write([]byte("{\"id\":2}\n"))
	require.NoError(t, err)
	require.NoError(t, commit(s, `{"page":2}`, o))
	require.NoError(t, s.Close())
	text, err := os.ReadFile(o.Path())
	require.NoError(t, err)
	require.Equal(t, "{\"id\":1}\n{\"id\":2}\n", string(text))
	for _, name := range []string{"state.json", "items.ndjson.partial"} {
		requireOwnerOnly(t, filepath.Join(dir, name))
	}
}

// TestAStateOfAnEarlierBuildIsResumed: the sum of its output is of SHA-256.
func TestAStateOfAnEarlierBuildIsResumed(t *testing.T) {
	for _, changed := range []bool{false, true} {
		dir := t.TempDir()
		name := filepath.Join(dir, "items.ndjson")
		s, err := Open(filepath.Join(dir, "state.json"), "test", map[string]string{"rules": "1", "items": "2"})
		require.NoError(t, err)
		o, err := s.Rows(name, nil)
		require.NoError(t, err)
		o.digest = sha256.New().(hash.Cloner)
		require.NoError(t, s.Begin())
		_, err = o.Write([]byte("{\"id\":1}\n"))
		require.NoError(t, err)
		require.NoError(t, commit(s, `{"page":1}`, o))
		require.NoError(t, s.Close())
		if changed {
			require.NoError(t, os.WriteFile(o.Path(), []byte("{\"id\":2}\n"), 0o600))
		}

		for page := 2; page < 4; page++ {
			s, err = reopen(dir)
			require.NoError(t, err)
			o, err = s.Rows(name, nil)
			if changed {
				require.ErrorContains(t, err, "was modified after the last commit")
				break
			}
			require.NoError(t, err)
			require.NoError(t, s.Begin())
			_, err = fmt.Fprintf(o, "{\"id\":%d}\n", page)
			require.NoError(t, err)
			require.NoError(t, commit(s, fmt.Sprintf(`{"page":%d}`, page), o))
			require.NoError(t, s.Close())
			text, err := os.ReadFile(o.Path())
			require.NoError(t, err)
			require.Equal(t, page, bytes.Count(text, []byte{'\n'}))
		}
	}
}

func requireOwnerOnly(t *testing.T, path string) {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), path)
}

// TestEveryDamagedBitOfAStateIsDetected flips each bit in turn; every damaged file must be
// refused.
func TestEveryDamagedBitOfAStateIsDetected(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	dir := newCommitted(t)
	path := filepath.Join(dir, "state.json")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	requireRefused := func(damaged []byte, damage string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		_, err := reopen(dir)
		require.ErrorIs(t, err, failure.ErrState, damage)
	}
	for bit := range 8 * len(text) {
		damaged := bytes.Clone(text)
		damaged[bit/8] ^= 1 << (bit % 8)
		requireRefused(damaged, fmt.Sprintf("bit %d", bit))
	}
	for size := range len(text) {
		requireRefused(text[:size], fmt.Sprintf("cut at %d", size))
	}
	requireRefused(append(bytes.Clone(text), ' '), "one byte more")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	_, err = reopen(dir)
	require.NoError(t, err)
}

func TestAStateThatIsTooLargeIsRefused(t *testing.T) {
	dir := newCommitted(t)
	path := filepath.Join(dir, "state.json")
	require.NoError(t, os.Truncate(path, maxStateBytes+1))
	_, err := reopen(dir)
	require.ErrorIs(t, err, failure.ErrState)
	require.ErrorContains(t, err, "it has more than")
}

func TestModifiedOutputsAreRefusedAndLeftAlone(t *testing.T) {
	for _, test := range []struct {
		name   string
		modify func(path string) error
		want   string
	}{
		{"missing", os.Remove, "is missing"},
		{"shorter", func(path string) error { return os.Truncate(path, 5) }, "has 5 bytes, fewer than the 9 that were committed"},
		{
			"changed", func(path string) error { return os.WriteFile(path, []byte("{\"id\":9}\n{\"id\":2}\n"), 0o600) },
			"was modified after the last commit",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := newCommitted(t)
			name := filepath.Join(dir, "items.ndjson")
			path := name + PartialSuffix
			require.NoError(t, test.modify(path))
			before, _ := os.ReadFile(path)
			s, err := reopen(dir)
			require.NoError(t, err)
			_, err = s.Rows(name, nil)
			require.ErrorIs(t, err, failure.ErrState)
			require.ErrorContains(t, err, "its output "+path+" "+test.want)
			require.ErrorContains(t, err, "starts over and replaces the output")
			after, _ := os.ReadFile(path)
			require.Equal(t, before, after)
		})
	}
}

// TestAnEditOfTheHeadIsNoticed changes the first byte of an output of a megabyte.
func TestAnEditOfTheHeadIsNoticed(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "items.ndjson")
	s, err := Open(filepath.Join(dir, "state.json"), "test", nil)
	require.NoError(t, err)
	o, err := s.Rows(path, nil)
	require.NoError(t, err)
	_, err = o.Write(bytes.Repeat([]byte("x"), 1<<20))
	require.NoError(t, err)
	require.NoError(t, commit(s, `1`, o))
	require.NoError(t, s.Close())
	f, err := os.OpenFile(path+PartialSuffix, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("y"), 0)
	require.NoError(t, errors.Join(err, f.Close()))
	s, err = Open(filepath.Join(dir, "state.json"), "test", nil)
	require.NoError(t, err)
	_, err = s.Rows(path, nil)
	require.ErrorContains(t, err, "items.ndjson.partial was modified after the last commit")
}

// TestOnlyWhatIsMarkedIsCommitted commits the page of one job after half a page of another.
func TestOnlyWhatIsMarkedIsCommitted(t *testing.T) {
	dir := t.TempDir()
	open := func() (*Store, *Output, *Output) {
		s, err := Open(filepath.Join(dir, "state.json"), "test", nil)
		require.NoError(t, err)
		a, err := s.Rows(filepath.Join(dir, "a"), nil)
		require.NoError(t, err)
		b, err := s.Rows(filepath.Join(dir, "b"), nil)
		require.NoError(t, err)
		require.NoError(t, s.Begin())
		return s, a, b
	}
	write := func(o *Output, text string) {
		_, err := io.WriteString(o, text)
		require.NoError(t, err)
	}
	s, a, b := open()
	write(a, "a1\n")
	require.NoError(t, s.Mark("a", json.RawMessage(`1`), a))
	write(a, "a2 is cut o")
	write(b, "b1\n")
	require.NoError(t, s.Mark("b", json.RawMessage(`1`), b))
	require.True(t, a.Torn())
	require.False(t, b.Torn())
	require.NoError(t, s.Flush())
	require.NoError(t, s.Close())

	s, a, b = open()
	require.EqualValues(t, len("a2 is cut o"), s.DiscardedBytes())
	write(a, "a2\n")
	write(b, "b2\n")
	require.NoError(t, s.Publish(Publication{Parts: []Part{{Output: a}}}))
	require.NoError(t, s.Publish(Publication{Parts: []Part{{Output: b}}}))
	require.NoError(t, s.Close())
	for name, want := range map[string]string{"a": "a1\na2\n", "b": "b1\nb2\n"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
}

func TestAnotherConfigurationIsRefused(t *testing.T) {
	dir := newCommitted(t)
	_, err := Open(filepath.Join(dir, "state.json"), "test", map[string]string{"rules": "other", "items": "2"})
	require.ErrorIs(t, err, failure.ErrState)
	require.ErrorContains(t, err, "it belongs to another configuration: rules changed")
}

func TestOtherOutputsAreRefused(t *testing.T) {
	dir := newCommitted(t)
	s, err := reopen(dir)
	require.NoError(t, err)
	require.ErrorContains(t, s.Begin(), "items.ndjson, which this run does not write")
	_, err = s.Rows(filepath.Join(dir, "items.ndjson"), nil)
	require.NoError(t, err)
	_, err = s.Rows(filepath.Join(dir, "trace.json"), nil)
	require.NoError(t, err)
	require.ErrorContains(t, s.Begin(), "other files than this run, which would write ")
}

// TestDiskErrorsAreReportedAndLoseNothingCommitted lets each operation of a run
// fail in turn.
func TestDiskErrorsAreReportedAndLoseNothingCommitted(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for _, e := range extractions() {
		prepared, operations := e.prepared(t)
		for stop := 1; stop <= operations; stop++ {
			d := prepared.clone()
			d.stopBefore = stop
			err := e.run(d)
			require.ErrorIs(t, err, errPower)
			if failed, ok := errors.AsType[*failure.Error](err); ok {
				require.Equal(t, failure.IO, failed.Class)
			}
			d.stopBefore = 0 // the disk works again and has everything that was written
			require.NoError(t, e.run(d))
			require.NoError(t, e.check(d))
		}
	}
}

// TestRowsThatAnotherProgramHasReplacedAreNotPublished: a second run may take the file, if it does not see
// the lock of the first one.
func TestRowsThatAnotherProgramHasReplacedAreNotPublished(t *testing.T) {
	for _, reopened := range []bool{false, true} { // as with many outputs, whose files cannot all be open
		dir := t.TempDir()
		path := filepath.Join(dir, "items.ndjson")
		require.NoError(t, os.WriteFile(path, []byte("{\"id\":0}\n"), 0o600))
		s := Stateless()
		o, err := s.Rows(path, nil)
		require.NoError(t, err)
		_, err = o.Write([]byte("{\"id\":1}\n"))
		require.NoError(t, err)
		if reopened {
			require.NoError(t, o.close())
		}
		require.NoError(t, os.Remove(path+PartialSuffix))
		require.NoError(t, os.WriteFile(path+PartialSuffix, []byte("{\"id\":22}\n"), 0o600))
		err = s.Publish(Publication{Parts: []Part{{Output: o}}})
		require.ErrorContains(t, err, "another program has replaced "+path+PartialSuffix)
		for name, want := range map[string]string{path: "{\"id\":0}\n", path + PartialSuffix: "{\"id\":22}\n"} {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Equal(t, want, string(text))
		}
	}
}

// TestARecordIsFoundAfterItsDirectoryWasMoved: the directory of the rows is a symbolic link, and files are opened by
// other names than those of the run that was killed. The record of an earlier build has absolute paths.
func TestARecordIsFoundAfterItsDirectoryWasMoved(t *testing.T) {
	for name, old := range map[string]bool{"moved": false, "record of an earlier build": true} {
		for _, opened := range []string{"kept.json", "out/items.ndjson", "real/items.ndjson"} {
			t.Run(name+" "+opened, func(t *testing.T) {
				t.Chdir(t.TempDir())
				dir, err := filepath.EvalSymlinks(".")
				require.NoError(t, err)
				dir, err = filepath.Abs(dir)
				require.NoError(t, err)
				require.NoError(t, os.MkdirAll("before/real", 0o700))
				if err := os.Symlink("real", "before/out"); err != nil {
					t.Skip(err)
				}
				t.Chdir("before")
				require.NoError(t, os.WriteFile("real/items.ndjson", []byte("1\n"), 0o600))
				require.NoError(t, os.WriteFile("real/items.ndjson.partial", []byte("2\n"), 0o600))
				p := publicationRecord{
					fileMove: fileMove{Name: "out/items.ndjson", Bytes: 2, Append: true, Base: 2},
					Kept:     map[string]json.RawMessage{"a": json.RawMessage(`{"n":2}`)}, KeptFile: "kept.json",
				}
				if old {
					record := filepath.Join(dir, "before", "kept.json.redo")
					require.NoError(t, writeRecord(files.OS(), "out/items.ndjson.redo", publicationRecord{Record: record}))
					p.Name, p.KeptFile, p.Record = filepath.Join(dir, "before", p.Name), filepath.Join(dir, "before", p.KeptFile), record
					require.NoError(t, writeRecord(files.OS(), record, p))
				} else {
					require.NoError(t, p.record(files.OS()))
					t.Chdir("..")
					require.NoError(t, os.Rename("before", "after"))
					t.Chdir("after")
				}

				repaired, err := CompletePublication(opened)
				require.NoError(t, err)
				require.True(t, repaired)
				require.Equal(t, "1\n2\n", readText(t, "real/items.ndjson"))
				require.Contains(t, readText(t, "kept.json"), `"n": 2`)
				left, err := filepath.Glob("*/*.[rp]*")
				require.NoError(t, err)
				require.Empty(t, left)
				require.NoFileExists(t, "kept.json.redo")
			})
		}
	}
}

// TestADamagedFileOfKeptValuesFailsBeforeRowsAreMoved: a program may damage the file during the run.
func TestADamagedFileOfKeptValuesFailsBeforeRowsAreMoved(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "kept.json: it is empty",
		"null":              "kept.json: want an object, got null",
		`{"a": null}`:       "kept.json: a: want an object, got null",
		`{"a": 1}`:          "cannot unmarshal number",
		`{"a": {}}{"b": 1}`: "invalid character '{' after top-level value",
	} {
		dir := t.TempDir()
		name, kept := filepath.Join(dir, "items.ndjson"), filepath.Join(dir, "kept.json")
		require.NoError(t, os.WriteFile(kept, []byte(text), 0o600))
		s := Stateless()
		o, err := s.Rows(name, nil)
		require.NoError(t, err)
		_, err = o.Write([]byte("row\n"))
		require.NoError(t, err)
		c := Publication{Parts: []Part{{Output: o}}, KeptFile: kept, Kept: map[string]json.RawMessage{"a": json.RawMessage(`{"n":1}`)}}
		require.ErrorContains(t, s.Publish(c), want)
		require.NoFileExists(t, name)
		require.FileExists(t, name+PartialSuffix)
		require.NoFileExists(t, kept+RedoSuffix)
		require.NoError(t, s.Close())
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"version":1,"program":"x","fingerprint":{},"outputs":{},"jobs":{},"sum":""}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s stateFile
		if parse(text, &s) != nil {
			return
		}
		again, err := s.encode()
		require.NoError(t, err)
		require.NoError(t, parse(again, &stateFile{}))
	})
}

// TestOtherInputsAreNamed compares fingerprints of which only inputs differ.
func TestOtherInputsAreNamed(t *testing.T) {
	before := map[string]string{"rules": "1", "input since": "a", "input team": "b"}
	for _, test := range []struct {
		name string
		now  map[string]string
		want string
	}{
		{"one", map[string]string{"rules": "1", "input since": "x", "input team": "b"}, "a run with other inputs: input since changed"},
		{"both", map[string]string{"rules": "1", "input since": "x", "input team": "y"},
			"a run with other inputs: input since and input team changed"},
		{"one that is gone", map[string]string{"rules": "1", "input since": "a"}, "a run with other inputs: input team changed"},
		{"and a rule", map[string]string{"rules": "2", "input since": "x", "input team": "b"},
			"another configuration: input since and rules changed"},
	} {
		t.Run(test.name, func(t *testing.T) {
			changed := changes(before, test.now)
			require.Equal(t, test.want, ownerOf(changed)+": "+strings.Join(changed, " and ")+" changed")
		})
	}
}
