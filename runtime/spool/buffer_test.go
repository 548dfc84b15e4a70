package spool

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/runtime/failure"
)

func TestWithoutRoomForALargeBodyTheErrorNamesTheFix(t *testing.T) {
	skipWithoutFiles(t)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	b := &Buffer{}
	b.Reset(spoolBytes + 1)
	body := bytes.NewReader(make([]byte, spoolBytes+1))
	var err error
	for err == nil {
		_, err = b.ReadPiece(body)
	}
	var fault *failure.Error
	require.ErrorAs(t, err, &fault)
	require.Equal(t, failure.IO, fault.Class)
	require.Contains(t, fault.Hint, "set TMPDIR to another directory")
	require.NotErrorIs(t, err, io.EOF)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestAnErrorOfATemporaryFileNamesItsOperation(t *testing.T) {
	f := &File{Holds: "a table"}
	_, err := f.Write([]byte("row"))
	require.NoError(t, err)
	require.NoError(t, f.file.Close()) // every later operation fails
	_, err = f.ReadAt(make([]byte, 1), 0)
	require.ErrorContains(t, err, "a table cannot be read from a temporary file: ")
	_, err = f.Write([]byte("row"))
	require.ErrorContains(t, err, "a table cannot be written to a temporary file: ")
}

func TestABufferHoldsEveryByteWhateverItsSize(t *testing.T) {
	b := &Buffer{}
	defer b.Release()
	for _, c := range []struct {
		name          string
		size, claimed int
	}{
		{"empty", 0, 0}, {"small", 10, 10}, {"unknown length", 100_000, -1}, {"just below the limit", spoolBytes, spoolBytes},
		{"large, unknown length", 3 * spoolBytes, -1}, {"large", 3 * spoolBytes, 3 * spoolBytes}, {"small again", 3, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := bytes.Repeat([]byte("0123456789abcdef"), c.size/16+1)[:c.size]
			b.Reset(int64(c.claimed))
			reader := bytes.NewReader(want)
			var err error
			for err == nil {
				_, err = b.ReadPiece(reader)
			}
			require.ErrorIs(t, err, io.EOF)
			require.EqualValues(t, c.size, b.Len())
			body, mapping, err := b.Body()
			require.NoError(t, err)
			require.True(t, bytes.Equal(want, body))
			require.Equal(t, canMap && c.size > 2*spoolBytes, mapping != nil)
		})
	}
}

func TestABufferTakesWritesAndPassesThemOn(t *testing.T) {
	b := &Buffer{}
	defer b.Release()
	piece := bytes.Repeat([]byte("0123456789abcdef"), 1<<12)
	for _, pieces := range []int{1, 3 * spoolBytes / len(piece), 2} {
		b.Reset(-1)
		for range pieces {
			n, err := b.Write(piece)
			require.NoError(t, err)
			require.Equal(t, len(piece), n)
		}
		body, mapping, err := b.Body()
		require.NoError(t, err)
		require.True(t, bytes.Equal(bytes.Repeat(piece, pieces), body))
		for i := 0; i < len(body); i += len(piece) { // released bytes are read from the file again
			mapping.Pass(i, i)
		}
		mapping.Rewind()
		require.True(t, bytes.Equal(bytes.Repeat(piece, pieces), body))
	}
	b.Trim(1)
	require.Zero(t, b.Len())
	require.Zero(t, cap(b.data))
}

func TestAFileIsReadWhileMoreIsAdded(t *testing.T) {
	f := &File{}
	defer f.Close()
	require.Zero(t, f.Size())
	for i, text := range []string{"one", "two", "three"} {
		start := f.Size()
		_, err := f.Write([]byte(text))
		require.NoError(t, err)
		var out bytes.Buffer
		require.NoError(t, f.CopyTo(&out, start, f.Size()))
		require.Equal(t, text, out.String(), i)
	}
	require.EqualValues(t, len("onetwothree"), f.Size())
	f.Close()
	require.Zero(t, f.Size())
}

// skipWithoutFiles skips a test of bodies in files on a system that holds all of them in memory.
func skipWithoutFiles(t *testing.T) {
	t.Helper()
	if !canMap {
		t.Skip("every body is held in memory on this system")
	}
}
