package output

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// TestTheItemsOfChildrenAreAdded: a job for the items of a job that continues from a kept
// value sees new items only, so its items are added, too. If one of the children is left
// out, nothing is added, and the next run adds everything once.
func TestTheItemsOfChildrenAreAdded(t *testing.T) {
	var newest, refused atomic.Int64 // ids of orders
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var order int64
		if n, _ := fmt.Sscanf(r.URL.Path, "/orders/%d/lines", &order); n == 0 {
			fmt.Fprintf(w, `[{"id": %d}]`, newest.Load())
			return
		}
		if order == refused.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, `[{"order": %d}]`, order)
	}))
	defer server.Close()
	e, err := engine.Load("c.json", fmt.Appendf(nil, `{
		"api": {"baseUrl": "%s/", "pagination": {"method": "multiple", "scrollers": {
			"new": {"method": "pagenum", "stopRules": ["count > 0"], "keep": {"last": "items[-1].id"}}}}},
		"config": {"jobs": [
			{"id": "orders", "endpoint": "orders", "params": {"after": {"expr": "kept.last"}}, "scroller": "new", "dataType": "orders"},
			{"id": "lines", "endpoint": "orders/{order.id}/lines", "for": {"order": {"items": "orders"}},
				"dataType": "lines", "onPartitionError": "skip"}]}}`, server.URL))
	require.NoError(t, err)
	dir := t.TempDir()
	for _, run := range []struct {
		newest, refused int64
		orders, lines   string
	}{
		{1, 0, "{\"id\":1}\n", "{\"order\":1}\n"},
		{2, 2, "{\"id\":1}\n", "{\"order\":1}\n"},
		{2, 0, "{\"id\":1}\n{\"id\":2}\n", "{\"order\":1}\n{\"order\":2}\n"},
	} {
		newest.Store(run.newest)
		refused.Store(run.refused)
		require.NoError(t, extract(e, true, PublisherOptions{Dir: dir}))
		for name, want := range map[string]string{"orders": run.orders, "lines": run.lines} {
			got, err := os.ReadFile(filepath.Join(dir, name+".ndjson"))
			require.NoError(t, err)
			require.Equal(t, want, string(got))
		}
	}
}
