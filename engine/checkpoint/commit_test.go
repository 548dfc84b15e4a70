package checkpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// newTree commits the pages of children while the values of their parent's page wait.
func newTree(t *testing.T, values int, commits int) (path string, written int64) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "state.json")
	s, err := Open(path, "test", nil)
	require.NoError(t, err)
	for page := range commits {
		require.NoError(t, s.Mark("orders", json.RawMessage(treeCheckpoint(page, values))))
		before, _ := os.Stat(path)
		require.NoError(t, s.Flush())
		after, err := os.Stat(path)
		require.NoError(t, err)
		written += after.Size()
		if before != nil && os.SameFile(before, after) {
			written -= before.Size()
		}
	}
	require.NoError(t, s.Close())
	return path, written
}

// treeCheckpoint returns a checkpoint after a page. The first value that waits is the last one
// without a page.
func treeCheckpoint(page, values int) string {
	var rest []string
	for value := page; value < values; value++ {
		rest = append(rest, fmt.Sprintf(`{"id":"order-%d"}`, value))
	}
	return fmt.Sprintf(`{"page":%d,"rests":[[%s]]}`, page, strings.Join(rest, ","))
}

// checkpointIn returns the checkpoint of a state file.
func checkpointIn(path string) (string, error) {
	s, err := Open(path, "test", nil)
	if err != nil {
		return "", err
	}
	return string(s.Jobs()["orders"]), nil
}

// TestACommitDoesNotWriteWhatWaitsAgain: the values that wait are written when they are found, and
// not for each page of their children.
func TestACommitDoesNotWriteWhatWaitsAgain(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	const pages = 3000
	path, written := newTree(t, pages, pages)
	got, err := checkpointIn(path)
	require.NoError(t, err)
	require.Equal(t, treeCheckpoint(pages-1, pages), got)
	values := int64(len(treeCheckpoint(0, pages)))
	lines := int64(pages * 400) // a line has two checksums and the head of a checkpoint
	require.Less(t, written, 20*values+2*lines)
	require.Greater(t, pages*values/2, 10*(20*values+2*lines), "what the checkpoints would take")
}

// TestAnotherPageOfTheParentBringsOtherValues: nothing is left of the values in the first line.
func TestAnotherPageOfTheParentBringsOtherValues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	s, err := Open(path, "test", nil)
	require.NoError(t, err)
	for parent := range 3 {
		for page := range 40 {
			want := fmt.Sprintf(`{"parent":%d,"rests":[[%s"é%d"]]}`, parent, strings.Repeat(`"ä",`, 40-page), parent)
			require.NoError(t, s.Mark("orders", json.RawMessage(want)))
			require.NoError(t, s.Flush())
			got, err := checkpointIn(path)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
	}
}

// TestALineThatIsNotCompleteIsNoCommit cuts the last line anywhere, and writes zeros in the place of
// its end, as after a loss of power: the run resumes from the line before.
func TestALineThatIsNotCompleteIsNoCommit(t *testing.T) {
	path, _ := newTree(t, 20, 6)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	for size := last; size < len(text); size++ {
		for _, end := range [][]byte{nil, make([]byte, len(text)-size)} {
			require.NoError(t, os.WriteFile(path, append(bytes.Clone(text[:size]), end...), 0o600))
			got, err := checkpointIn(path)
			require.NoError(t, err, "cut at %d", size)
			require.Equal(t, treeCheckpoint(4, 20), got, "cut at %d", size)
		}
	}
	s, err := Open(path, "test", nil) // a run that continues replaces the file
	require.NoError(t, err)
	require.NoError(t, s.Mark("orders", json.RawMessage(treeCheckpoint(5, 20))))
	require.NoError(t, s.Flush())
	got, err := checkpointIn(path)
	require.NoError(t, err)
	require.Equal(t, treeCheckpoint(5, 20), got)
}

// TestEveryDamagedBitOfACommitIsDetected flips each bit: damage of the last line is that of a line
// that is not complete, unless its beginning is damaged, and any other is refused. A line of another
// file, or one that is missing, is damage, too.
func TestEveryDamagedBitOfACommitIsDetected(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	path, _ := newTree(t, 20, 4)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	last := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	for bit := range 8 * len(text) {
		damaged := bytes.Clone(text)
		damaged[bit/8] ^= 1 << (bit % 8)
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		got, err := checkpointIn(path)
		switch {
		case err == nil && bit/8 > last:
			require.Equal(t, treeCheckpoint(2, 20), got, "bit %d", bit)
			continue
		case err == nil && bit/8 == last-1: // without its end, the line before is one with the last
			require.Equal(t, treeCheckpoint(1, 20), got, "bit %d", bit)
			continue
		}
		require.ErrorIs(t, err, failure.ErrState, "bit %d", bit)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	require.NoError(t, os.WriteFile(path, bytes.Join([][]byte{lines[0], lines[2], lines[3]}, nil), 0o600))
	_, err = checkpointIn(path)
	require.ErrorContains(t, err, "damaged")
}

// TestACommitThatFailedIsPartOfTheNextOne lets each operation of a commit fail, as on a full disk. The
// next commit has its pages, of all jobs and in all files, and a line that is not complete is replaced.
func TestACommitThatFailedIsPartOfTheNextOne(t *testing.T) {
	for failing := 1; ; failing++ {
		d := newDisk()
		s, err := open(d, "state.json", "test", nil)
		require.NoError(t, err)
		var rows []*Output
		for _, name := range []string{"a", "b", "c"} {
			o, err := s.Rows(name, nil)
			require.NoError(t, err)
			rows = append(rows, o)
		}
		write := func(page int, outputs ...*Output) {
			for _, o := range outputs {
				_, err := fmt.Fprintf(o, "%d\n", page)
				require.NoError(t, err)
				require.NoError(t, s.Mark(o.Name(), json.RawMessage(fmt.Sprint(page)), o))
			}
		}
		write(1, rows...)
		require.NoError(t, s.Flush())
		write(2, rows...)
		require.NoError(t, s.Flush())
		write(3, rows...)
		s.SetNote("note", "3")
		d.operations, d.failing, d.failures = 0, failing, 1
		if s.Flush() == nil {
			require.Greater(t, failing, 5, "three files, and the state is opened, written and synced")
			return
		}
		write(4, rows[0])
		require.NoError(t, s.Flush())

		again, err := open(d, "state.json", "test", nil)
		require.NoError(t, err)
		require.Equal(t, "3", again.Note("note"))
		for i, o := range rows {
			page := []string{"4", "3", "3"}[i]
			require.Equal(t, page, string(again.Jobs()[o.Name()]), "%s, failure of operation %d", o.Name(), failing)
			resumed, err := again.Rows(o.Name(), nil)
			require.NoError(t, err)
			require.Equal(t, page, fmt.Sprint(resumed.RowCount()), "%s, failure of operation %d", o.Name(), failing)
		}
	}
}

// TestAPublicationThatFailedIsPartOfTheNextCommit: what it has settled is not lost to a line.
func TestAPublicationThatFailedIsPartOfTheNextCommit(t *testing.T) {
	d := newDisk()
	s, err := open(d, "state.json", "test", nil)
	require.NoError(t, err)
	a, err := s.Rows("a", nil)
	require.NoError(t, err)
	for page := range 3 {
		_, err := a.Write([]byte("row\n"))
		require.NoError(t, err)
		require.NoError(t, s.Mark("a", json.RawMessage(fmt.Sprint(page)), a))
		if page == 2 {
			d.operations, d.failing, d.failures = 0, 2, 1 // the rows were synced
			require.ErrorIs(t, s.Publish(Publication{Parts: []Part{{Output: a}}}), errFull)
		} else {
			require.NoError(t, s.Flush())
		}
	}
	require.NoError(t, s.Mark("b", json.RawMessage(`"b"`)))
	require.NoError(t, s.Flush())
	again, err := open(d, "state.json", "test", nil)
	require.NoError(t, err)
	require.Equal(t, `2 "b"`, string(again.Jobs()["a"])+" "+string(again.Jobs()["b"]))
	resumed, err := again.Rows("a", nil)
	require.NoError(t, err)
	require.EqualValues(t, 3, resumed.RowCount())
}

// TestAnOutputWhosePublicationFailedIsDue: the rows belong to the next run, which moves them, so this
// run is finished with them, and yet they are not under their name.
func TestAnOutputWhosePublicationFailedIsDue(t *testing.T) {
	due := 0
	for failing := 1; ; failing++ {
		d := newDisk()
		s, err := open(d, "state.json", "test", nil)
		require.NoError(t, err)
		a, err := s.Rows("a", nil)
		require.NoError(t, err)
		_, err = a.Write([]byte("row\n"))
		require.NoError(t, err)
		require.NoError(t, s.Mark("a", json.RawMessage("1"), a))
		d.operations, d.failing, d.failures = 0, failing, 1
		err = s.Publish(Publication{Parts: []Part{{Output: a}}})
		if err == nil {
			require.True(t, a.Published())
			break
		}
		_, moved := d.live["a"]
		require.False(t, a.Published() && !moved, "failure of operation %d", failing)
		if a.Finished() && a.PublicationDue() {
			due++
		}
		again, err := open(d, "state.json", "test", nil)
		require.NoError(t, err)
		repaired, err := again.Rows("a", nil)
		require.NoError(t, err)
		require.False(t, repaired.PublicationDue(), "the next run has completed it")
	}
	require.Positive(t, due)
}
