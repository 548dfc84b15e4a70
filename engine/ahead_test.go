package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// Partitions that run ahead keep their pages until it is their turn, and not until the end
// of the job.
func TestPartitionsThatRanAheadFreeTheirPages(t *testing.T) {
	const partitions, size = 150, 512 << 10
	text := strings.Repeat("x", size)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, `[{"id": %q, "text": %q}]`, r.URL.Path, text)
	}))
	defer server.Close()
	config := fmt.Sprintf(`{"api": {"baseUrl": "%s/"},
		"config": {"jobs": [{"id": "parts", "endpoint": "p/{n}", "dataField": ".", "for": {"n": {"values": "1..%d"}}}]}}`, server.URL, partitions)
	e, err := engine.Load("c.json", []byte(config))
	require.NoError(t, err)

	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	pages, before, after := 0, heap(), uint64(0)
	_, err = e.With(engine.WithParallelJobs(8)).Run(context.Background(), func(context.Context, *engine.Page) error {
		if pages++; pages == partitions {
			after = heap()
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, partitions, pages)
	require.Less(t, after, before+partitions*size/4)
}
