package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/output"
)

// decodeItems reads the items of a file with readers that are not ours, and returns them
// as NDJSON. A file that cannot be read has no items but the error.
func decodeItems(format, text string) string {
	kind, compression, _ := strings.Cut(format, ".")
	plain, err := decompress(compression, text)
	if err == nil {
		switch output.Kind(kind) {
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

// itemsOfCSV returns the items of the API of the tests. All records must have the columns
// of the header.
func itemsOfCSV(text string) (string, error) {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil || len(records) == 0 {
		return "", err
	}
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
	return b.String(), nil
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
	case output.CSV:
		require.Equal(t, "{\"before\":1}\n", items)
		items = "before\r\n1\r\n"
	case output.Singer:
		items = `{"type":"SCHEMA","stream":"before","schema":{},"key_properties":[]}` + "\n" +
			strings.ReplaceAll(items, `{"before":1}`, `{"type":"RECORD","stream":"before","record":{"before":1}}`)
	}
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
		return items
	}
	_, err := io.WriteString(w, items)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}
