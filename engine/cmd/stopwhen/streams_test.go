package main

import (
	"bytes"
	"encoding/csv"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/output"
)

// TestParallelJobsWriteTheSameInEveryFormat runs three jobs, two of which share a data type,
// one after another and at the same time.
func TestParallelJobsWriteTheSameInEveryFormat(t *testing.T) {
	for _, format := range output.Formats() {
		t.Run(format, func(t *testing.T) {
			flags := []string{"--format", format}
			if strings.HasPrefix(format, "csv") {
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
