package output

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/checkpoint"
)

// pageOfOrders returns 100 items of about 200 bytes.
func pageOfOrders(page int) []byte {
	var block []byte
	for i := range 100 {
		id := page*100 + i
		block = fmt.Appendf(block, `{"id":%d,"customer":{"name":"Customer %d","address":{"city":"Bern","zip":"%05d"}},"total":%d.50,`+
			`"paid":%v,"note":null,"tags":["new","web"],"created":"2026-01-%02dT10:%02d:00Z"}`+"\n", id, id*7919%1000, id%99999, id%500, i%2 == 0, id%28+1, id%60)
	}
	return block
}

// BenchmarkFormat writes pages of 100 items to a file. With the name of a commit, a frame
// ends with every page, as with --state and --jobs.
func BenchmarkFormat(b *testing.B) {
	for _, text := range Formats() {
		for _, state := range []bool{false, true} {
			name := text
			if state {
				name += "/commit-every-page"
			}
			b.Run(name, func(b *testing.B) { benchmarkFormat(b, text, state) })
		}
	}
}

func benchmarkFormat(b *testing.B, text string, state bool) {
	format, err := ParseFormat(text)
	require.NoError(b, err)
	dir := b.TempDir()
	store := checkpoint.Stateless()
	if state {
		store, err = checkpoint.Open(filepath.Join(dir, "state"), "test", nil)
		require.NoError(b, err)
	}
	file, err := encoding{Options: Options{Format: format}}.openFile(store, filepath.Join(dir, "orders"), "orders")
	require.NoError(b, err)
	b.SetBytes(int64(len(pageOfOrders(0))))
	b.ReportAllocs()
	written := 0
	pages := make([][]byte, 64)
	for i := range pages {
		pages[i] = pageOfOrders(i)
	}
	for page := 0; b.Loop(); page++ {
		block := pages[page%len(pages)]
		_, err := file.Write(block)
		require.NoError(b, err)
		require.NoError(b, store.Mark("orders", json.RawMessage("1"), file.rows))
		written += len(block)
	}
	part, err := file.part(nil)
	require.NoError(b, err)
	require.NoError(b, store.Publish(checkpoint.Publication{Parts: []checkpoint.Part{part}}))
	info, err := os.Stat(filepath.Join(dir, "orders"))
	require.NoError(b, err)
	b.ReportMetric(float64(info.Size())/float64(written), "size/NDJSON")
}

// BenchmarkParquet writes files of 18 MB of items, from their arrival to the published file.
func BenchmarkParquet(b *testing.B) {
	path := filepath.Join(b.TempDir(), "orders.parquet")
	pages := make([][]byte, 1024)
	size := 0
	for i := range pages {
		pages[i] = pageOfOrders(i)
		size += len(pages[i])
	}
	b.SetBytes(int64(size))
	for b.Loop() {
		store := checkpoint.Stateless()
		file, err := encoding{Options: Options{Format: Format{Kind: Parquet}}}.openFile(store, path, "orders")
		require.NoError(b, err)
		for _, page := range pages {
			_, err := file.Write(page)
			require.NoError(b, err)
		}
		part, err := file.part(nil)
		require.NoError(b, err)
		require.NoError(b, store.Publish(checkpoint.Publication{Parts: []checkpoint.Part{part}}))
		require.NoError(b, store.Close())
	}
}
