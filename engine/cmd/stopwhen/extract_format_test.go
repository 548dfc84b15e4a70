package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/output"
	"github.com/stopwhen/stopwhen/fixtures"
)

// decodeItems reads the items of a file with readers that are not ours, and returns them
// as NDJSON. A file that cannot be read has no items but the error.
func decodeItems(format, text string) string {
	kind, compression, _ := strings.Cut(format, ".")
	plain, err := decompress(compression, text)
	if err == nil {
		switch output.Kind(kind) {
		case output.Parquet:
			plain, err = itemsOfParquet(plain)
		case output.CSV:
			plain, err = itemsOfCSV(plain)
		case output.Singer:
			plain, err = itemsOfSinger(plain)
		}
	}
	if err != nil {
		return "damaged: " + err.Error()
	}
	return plain
}

func decompress(compression, text string) (string, error) {
	r := io.Reader(strings.NewReader(text))
	var err error
	switch {
	case text == "": // the run before has not written it
	case compression == "gz":
		r, err = gzip.NewReader(r)
	case compression == "zst":
		r, err = zstd.NewReader(r)
	}
	if err != nil {
		return "", err
	}
	plain, err := io.ReadAll(r)
	return string(plain), err
}

// itemsOfParquet reads a table as itemsOfCSV does.
func itemsOfParquet(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	records, err := recordsOfParquet(text)
	return itemsOfRecords(records), err
}

// recordsOfParquet returns the records of a table, as those of a CSV file with a header.
func recordsOfParquet(text string) ([][]string, error) {
	file, err := parquet.OpenFile(strings.NewReader(text), int64(len(text)))
	if err != nil {
		return nil, err
	}
	var header []string
	for _, c := range file.Root().Columns() {
		header = append(header, c.Name())
	}
	records := [][]string{header}
	for _, g := range file.RowGroups() {
		rows := g.Rows()
		buffer := make([]parquet.Row, 10)
		for err == nil {
			var n int
			n, err = rows.ReadRows(buffer)
			for _, row := range buffer[:n] {
				record := make([]string, len(header))
				for i, v := range row {
					if !v.IsNull() {
						record[i] = v.String()
					}
				}
				records = append(records, record)
			}
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
		if err = rows.Close(); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// itemsOfCSV returns the items of the API of the tests. All records must have the columns
// of the header.
func itemsOfCSV(text string) (string, error) {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 {
		return "", err
	}
	return itemsOfRecords(records), nil
}

func itemsOfRecords(records [][]string) string {
	var b strings.Builder
	for _, record := range records[1:] {
		cells := map[string]string{}
		for i, name := range records[0] {
			cells[name] = record[i]
		}
		switch {
		case cells["before"] != "":
			fmt.Fprintf(&b, "{\"before\":%s}\n", cells["before"])
		case cells["late"] != "":
			fmt.Fprintf(&b, "{\"id\":%s,\"text\":%q,\"late\":%s}\n", cells["id"], cells["text"], cells["late"])
		default:
			fmt.Fprintf(&b, "{\"id\":%s,\"text\":%q}\n", cells["id"], cells["text"])
		}
	}
	return b.String()
}

func itemsOfSinger(text string) (string, error) {
	var b strings.Builder
	for line := range strings.Lines(text) {
		var message struct {
			Type   string
			Record json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil || !strings.HasSuffix(line, "\n") {
			return "", fmt.Errorf("%q: %w", line, err)
		}
		if message.Type == "RECORD" {
			fmt.Fprintf(&b, "%s\n", message.Record)
		}
	}
	return b.String(), nil
}

// encodeItems writes items as another program would.
func encodeItems(t *testing.T, format, items string) string {
	t.Helper()
	kind, compression, _ := strings.Cut(format, ".")
	switch output.Kind(kind) {
	case output.Parquet:
		require.Equal(t, "{\"before\":1}\n", items)
		var b bytes.Buffer
		require.NoError(t, parquet.Write(&b, []struct {
			Before int64 `parquet:"before"`
		}{{1}}))
		return b.String()
	case output.CSV:
		require.Equal(t, "{\"before\":1}\n", items)
		items = "before\r\n1\r\n"
	case output.Singer:
		items = `{"type":"SCHEMA","stream":"before","schema":{},"key_properties":[]}` + "\n" +
			strings.ReplaceAll(items, `{"before":1}`, `{"type":"RECORD","stream":"before","record":{"before":1}}`)
	}
	return compress(t, compression, items)
}

func compress(t *testing.T, compression, text string) string {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch compression {
	case "gz":
		w = gzip.NewWriter(&b)
	case "zst":
		z, err := zstd.NewWriter(&b)
		require.NoError(t, err)
		w = z
	default:
		return text
	}
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// TestParallelJobsWriteTheSameInEveryFormat runs three jobs, two of which share a data type,
// one after another and at the same time.
func TestParallelJobsWriteTheSameInEveryFormat(t *testing.T) {
	for _, format := range output.Formats() {
		t.Run(format, func(t *testing.T) {
			flags := []string{"--format", format}
			if strings.HasPrefix(format, "csv") || format == "parquet" {
				flags = append(flags, "--job", "a", "--job", "c") // a table has one data type
			} else {
				flags = append(flags, "--jobs", "1")
			}
			want := extract(t, 0, append(flags, serveJobs(t, inOrder))...)
			got := extract(t, 0, append(flags, "--jobs", "3", serveJobs(t, inOrder))...)
			_, compression, _ := strings.Cut(format, ".")
			plain, err := decompress(compression, want)
			require.NoError(t, err)
			same, err := decompress(compression, got)
			require.NoError(t, err)
			require.Equal(t, plain, same)
		})
	}
}

// TestRowsAreAddedAfterALastLineWithoutANewlineInEveryFormat: the file then has what it has if the line had one.
func TestRowsAreAddedAfterALastLineWithoutANewlineInEveryFormat(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	for _, format := range output.Formats() {
		if format == "parquet" { // it has no lines
			continue
		}
		_, compression, _ := strings.Cut(format, ".")
		for _, flags := range [][]string{{"--append"}, {"--append", "--state", "s"}} {
			t.Run(format+" "+strings.Join(flags, " "), func(t *testing.T) {
				args := append([]string{serveJobs(t, inOrder), "--job", "a", "--out", "out", "--format", format}, flags...)
				file := filepath.Join("out", "x."+format)
				added := func(cut string) (plain string) {
					t.Chdir(t.TempDir())
					for range 3 {
						extract(t, 0, args...)
						var err error
						plain, err = decompress(compression, readText(t, file))
						require.NoError(t, err)
						require.NoError(t, os.WriteFile(file, []byte(compress(t, compression, strings.TrimSuffix(plain, cut))), 0o600))
					}
					return plain
				}
				want := added("")
				require.Equal(t, 3, strings.Count(want, "5"), "each list has five items")
				require.Equal(t, want, added("\n"))
			})
		}
	}
}

// TestARunThatFailsWritesWhatItHasToAStream: the stream is complete in its format, so that
// a reader can use it.
func TestARunThatFailsWritesWhatItHasToAStream(t *testing.T) {
	for _, format := range output.Formats() {
		for _, jobs := range []string{"1", "3"} {
			flags := []string{"--format", format, "--job", "a", "--job", "c", "--jobs", jobs, "--keep-going"}
			config := serveJobs(t, func(request string) int {
				if request == "a3" {
					return http.StatusForbidden
				}
				return http.StatusOK
			})
			_, compression, _ := strings.Cut(format, ".")
			plain, err := decompress(compression, extract(t, 3, append(flags, config)...))
			require.NoError(t, err)
			switch {
			case strings.HasPrefix(format, "csv"):
				records, err := csv.NewReader(strings.NewReader(plain)).ReadAll()
				require.NoError(t, err)
				require.Equal(t, [][]string{{"a", "c"}, {"1", ""}, {"2", ""}, {"", "1"}, {"", "2"}, {"", "3"}, {"", "4"}, {"", "5"}}, records)
			case format == "parquet":
				records, err := recordsOfParquet(plain)
				require.NoError(t, err)
				require.Equal(t, [][]string{{"a", "c"}, {"1", ""}, {"2", ""}, {"", "1"}, {"", "2"}, {"", "3"}, {"", "4"}, {"", "5"}}, records)
			case strings.HasPrefix(format, "singer"):
				require.Equal(t, 7, strings.Count(plain, `"RECORD"`))
			default:
				require.Equal(t, 7, strings.Count(plain, "\n"))
			}
		}
	}
}

// TestAClosedPipeEndsARunInEveryFormat: the values for the next run do not move on.
func TestAClosedPipeEndsARunInEveryFormat(t *testing.T) {
	for _, format := range output.Formats() {
		config := serveJobs(t, inOrder)
		text := strings.Replace(readText(t, config), `"method": "pagenum"`, `"method": "pagenum", "keep": {"pages": "total.pages"}`, 1)
		require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
		kept := filepath.Join(t.TempDir(), "kept.json")
		r, w, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, r.Close())
		var stderr bytes.Buffer
		status := run([]string{"run", config, "--job", "a", "--format", format, "--kept", kept}, strings.NewReader(""), w, &stderr)
		require.Equal(t, 7, status, "%s: %s", format, stderr.String())
		require.NoFileExists(t, kept, format)
		require.NoError(t, w.Close())
	}
}
