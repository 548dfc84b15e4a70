package output

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAFileThatEndsWithinAQuotedValueIsRecognized(t *testing.T) {
	for _, c := range []struct {
		text string
		line int // on which the value begins; 0: the file is complete
	}{
		{"", 0},
		{"a,b\n1,2", 0},
		{"a,b\n1,\"2\n3\"\n", 0},
		{"a,b\n1,\"2\"\"\"\n", 0},
		{"a,b\n5\",6\n", 0},
		{"a,b\n1,\"2\n3\n", 2},
		{"a,b\n1,2\n\"x\"\"\n,3\n", 3},
		{"a,\"b", 1},
	} {
		err := checkQuotes(strings.NewReader(c.text))
		if c.line == 0 {
			require.NoError(t, err, c.text)
			continue
		}
		require.ErrorContains(t, err, "within a quoted value, which begins on line "+string('0'+rune(c.line)), c.text)
	}
}

// TestQuotesAreReadAsWhereColumnsAreAdded: what can be added to can be rewritten.
func TestQuotesAreReadAsWhereColumnsAreAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("\"\",\na")), 0, 20, -1).Draw(t, "text")
		want := copyRecords(bufio.NewWriter(io.Discard), strings.NewReader(text), 100, 100, nil)

		require.Equal(t, want == nil, checkQuotes(strings.NewReader(text)) == nil, "%q", text)
		require.Equal(t, want == nil, checkQuotes(iotest.OneByteReader(strings.NewReader(text))) == nil, "%q", text)
	})
}

// A header that the writer has written is read back with the same names, and with no other
// encoding: rows can be added to every file of its own.
func TestAHeaderIsReadAsItWasWritten(t *testing.T) {
	for _, columns := range [][]string{{"\ufeffid", "a"}, {"\ufeff\"id\"", "a"}, {"i\x00d", "a"}, {"a", "\x00", "\r"}, {" a ", "b,c", ""}} {
		header := appendHeader(nil, columns)
		read, err := readHeader(bytes.NewReader(header))
		require.NoError(t, err, "%q", header)
		require.Equal(t, columns, read, "%q", header)
	}
}
