package output

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/fixtures"
)

// TestAMergedFileHasTheLastRowOfEachKey compares a merge with a map of all rows.
func TestAMergedFileHasTheLastRowOfEachKey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string, from int) (rows []string) {
			for i, id := range rapid.SliceOfN(rapid.IntRange(0, 9), 0, 12).Draw(t, name) {
				rows = append(rows, fmt.Sprintf(`{"id":%d,"n":%d}`, id, from+i))
			}
			return rows
		}
		id := func(row string) string { return row[:len(`{"id":0`)] }
		var want []string
		before, rows := draw("before", 0), draw("rows", 100)
		for _, row := range before {
			if !strings.Contains(strings.Join(rows, ""), id(row)) {
				want = append(want, row)
			}
		}
		for i, row := range rows {
			if !strings.Contains(strings.Join(rows[i+1:], ""), id(row)) {
				want = append(want, row)
			}
		}
		require.Equal(t, lines(want), merged(t, lines(before), lines(rows)))
	})
}

func lines(rows []string) string {
	text := strings.Join(rows, "\n")
	if text != "" {
		text += "\n"
	}
	return text
}

// merged merges rows by their id.
func merged(t require.TestingT, before, rows string) string {
	var out bytes.Buffer
	again := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(rows)), nil }
	m := newMerger("out", []string{"id"}, again)
	require.NoError(t, (&ndjson{}).merge(m, &out, strings.NewReader(before), strings.NewReader(rows)))
	return out.String()
}

// TestRowsOfEveryFormatMergeUnlessItCarriesState: checkMerge refuses only formats that carry state.
func TestRowsOfEveryFormatMergeUnlessItCarriesState(t *testing.T) {
	for _, f := range formats {
		e := encoding{Options: Options{Format: Format{Kind: f.kind}}}
		_, merges := f.new(e, &streamRows{}, "a", head{}).(rowMerger)
		require.NotEqual(t, e.Format.CarriesState(), merges, f.kind)
	}
}

// TestLineEndsInAKeyOfCSVMatter merges a row whose key differs from those of two others in its line end alone.
func TestLineEndsInAKeyOfCSVMatter(t *testing.T) {
	const header, crlf, lf, other = "id,v\n", "\"a\r\nb\",", "\"a\nb\",", "c,"
	rows := header + crlf + "3\n" + lf + "4\n"
	again := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(rows)), nil }
	var out bytes.Buffer
	m := newMerger("out", []string{"id"}, again)
	w := &csvWriter{table: newTable(CSV, maxColumns, ".", []string{"id", "v"})}
	require.NoError(t, w.merge(m, &out, strings.NewReader(header+crlf+"1\n"+other+"2\n"), strings.NewReader(rows)))
	require.Equal(t, header+other+"2\n"+crlf+"3\n"+lf+"4\n", out.String())
}

// TestNullAndAnEmptyTextAreTwoKeysOfCSV merges rows whose keys differ in null and an empty text alone, also after values
// of several lines, and in rows that lack their last columns.
func TestNullAndAnEmptyTextAreTwoKeysOfCSV(t *testing.T) {
	const header = "a,b,c,v\n"
	for _, c := range []struct{ name, before, rows, want string }{
		{"in one run", "", "1,,x,1\n1,\"\",x,2\n1,L,x,3\n", "1,,x,1\n1,\"\",x,2\n1,L,x,3\n"},
		{"in the file", "1,,x,1\n1,\"\",x,2\n", "1,\"\",x,3\n", "1,,x,1\n1,\"\",x,3\n"},
		{"null replaces null", "1,,x,1\n1,\"\",x,2\n", "1,,x,3\n", "1,\"\",x,2\n1,,x,3\n"},
		{"after lines", "\"l\nm,\"\"\",,x,1\n\"l\nm,\"\"\",\"\",x,2\n", "\"l\nm,\"\"\",\"\",x,3\n", "\"l\nm,\"\"\",,x,1\n\"l\nm,\"\"\",\"\",x,3\n"},
		{"after CR LF", "\"l\r\n\",,x,1\n\"l\r\n\",\"\",x,2\n", "\"l\r\n\",,x,3\n", "\"l\r\n\",\"\",x,2\n\"l\r\n\",,x,3\n"},
		{"a row that lacks columns", "1\n", "1,,,2\n", "1,,,2\n"},
		{"no key at all", "\"\",,,1\n", "1,,,2\n", "\"\",,,1\n1,,,2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := header + c.rows
			again := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(rows)), nil }
			var out bytes.Buffer
			w := &csvWriter{table: newTable(CSV, maxColumns, ".", []string{"a", "b", "c", "v"})}
			m := newMerger("out", []string{"a", "b", "c"}, again)
			require.NoError(t, w.merge(m, &out, strings.NewReader(header+c.before), strings.NewReader(rows)))
			require.Equal(t, header+c.want, out.String())
		})
	}
}

func TestRowsOfOtherProgramsAreMerged(t *testing.T) {
	for _, c := range []struct{ name, before, rows, want string }{
		{"a file without a last line end", `{"id":1}`, `{"id":2}` + "\n", `{"id":1}` + "\n" + `{"id":2}` + "\n"},
		{"rows without a key stay", "{}\n[1]\n5\nnull\n", `{"id":2}` + "\n", "{}\n[1]\n5\nnull\n" + `{"id":2}` + "\n"},
		{
			"rows that are cut off or malformed stay", `{"id":2,"v"` + "\n" + `{"id":` + "\n{\n" + `{"a":{"id":2}` + "\n" + `{"id":2`, `{"id":2}` + "\n",
			`{"id":2,"v"` + "\n" + `{"id":` + "\n{\n" + `{"a":{"id":2}` + "\n" + `{"id":2` + "\n" + `{"id":2}` + "\n",
		},
		{"blanks and empty lines", "\r\n" + ` {"id" : 2}` + "\r\n\n", `{"id":2}` + "\n", `{"id":2}` + "\n"},
		{
			"a byte order mark", "\ufeff" + `{"id":2}` + "\n" + `{"id":3}` + "\n", `{"id":2,"v":1}` + "\n",
			`{"id":3}` + "\n" + `{"id":2,"v":1}` + "\n",
		},
		{"a number that becomes a text is one key", `{"id":2}` + "\n", `{"id":"2"}` + "\n", `{"id":"2"}` + "\n"},
		{"a boolean that becomes a text is one key", `{"id":true}` + "\n", `{"id":"true"}` + "\n", `{"id":"true"}` + "\n"},
		{"a number has several spellings", `{"id":100}` + "\n", `{"id":100.0}` + "\n", `{"id":100.0}` + "\n"},
		{"a text that begins like a number is another", `{"id":2}` + "\n", `{"id":"2,"}` + "\n", `{"id":2}` + "\n" + `{"id":"2,"}` + "\n"},
		{"a text has several spellings", `{"id":"\u00e4"}` + "\n", `{"id":"ä"}` + "\n", `{"id":"ä"}` + "\n"},
		{"the last value of a name counts", `{"id":1,"id":2}` + "\n", `{"id":2}` + "\n", `{"id":2}` + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, merged(t, c.before, c.rows)) })
	}
}

// TestAHeaderMayBeginWithAByteOrderMark reads headers as spreadsheets write them.
func TestAHeaderMayBeginWithAByteOrderMark(t *testing.T) {
	for _, header := range []string{"id,v\n", "\ufeffid,v\n", "\ufeff\"id\",\"v\"\n"} {
		columns, err := readHeader(strings.NewReader(header))
		require.NoError(t, err)
		require.Equal(t, []string{"id", "v"}, columns)
	}
}

// TestAMergeHoldsOnlyTheKeysOfTheRun merges two hundred thousand rows into a file of two million.
func TestAMergeHoldsOnlyTheKeysOfTheRun(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures memory")
	const rows, before = 200_000, 2_000_000
	numbered := func(n int) io.Reader { return &counting{n: n} }
	again := func() (io.ReadCloser, error) { return io.NopCloser(numbered(rows)), nil }
	m := newMerger("out", []string{"id"}, again)
	var start, end runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&start)
	require.NoError(t, (&ndjson{}).merge(m, io.Discard, numbered(before), numbered(rows)))
	runtime.GC()
	runtime.ReadMemStats(&end)
	perKey := float64(end.HeapAlloc-start.HeapAlloc) / rows
	require.Len(t, m.last, rows)
	require.LessOrEqual(t, perKey, 48.0, "bytes for each key")
	t.Logf("%.1f bytes for each key of the run", perKey)
	runtime.KeepAlive(m)
}

// counting reads n rows.
type counting struct {
	at, n int
	rest  []byte
}

func (c *counting) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		if c.at == c.n {
			return 0, io.EOF
		}
		c.rest = fmt.Appendf(c.rest[:0], "{\"id\":%d,\"text\":\"x\"}\n", c.at)
		c.at++
	}
	n := copy(p, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}
