package engine_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/config"
	"github.com/stopwhen/stopwhen/fixtures"
)

// TestItemsOfALargePageAreShapedLikeThoseOfASmallOne uses pages that are in a temporary
// file, and one after them that is in memory.
func TestItemsOfALargePageAreShapedLikeThoseOfASmallOne(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	const large, small = 60_000, 10 // items; 5 MB are in a file
	var want bytes.Buffer
	bodies := map[string][]byte{}
	for page, items := range []int{large, large, small} {
		var b bytes.Buffer
		b.WriteString(`{"data": [`)
		for i := range items {
			if i > 0 {
				b.WriteByte(',')
			}
			text := fmt.Sprintf(`"a, b] \"%d\" %080d"`, i, page)
			fmt.Fprintf(&b, "\n {\"id\": %d, \"text\": %s, \"secret\": [%d]}", i, text, i)
			if i%3 == 0 {
				fmt.Fprintf(&want, `{"id":%d,"text":%s,"page":%d}`+"\n", i, text, page+1)
			}
		}
		b.WriteString(`]}`)
		bodies[fmt.Sprint(page+1)] = b.Bytes()
	}
	require.Greater(t, len(bodies["1"]), 5<<20)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(bodies[r.URL.Query().Get("page")])
	}))
	defer api.Close()
	e, err := engine.New(config.Config{
		BaseURL: api.URL, Pagination: config.Pagination{Method: config.PageNumber{}, StopRules: []config.StopRule{{When: "count < 100"}}},
		Jobs: []config.Job{{Endpoint: "items", DataField: "data", Filter: "item.id % 3 == 0", Fields: map[string]any{"page": "page", "secret": nil}}},
	})
	require.NoError(t, err)
	var written, each, cloned bytes.Buffer
	var counts []int
	result, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
		counts = append(counts, page.Count, *page.Written, page.Items.Len())
		clone := page.Items.Clone()
		for item := range page.Items.All() {
			each.Write(append(item, '\n'))
		}
		_, err := page.Items.WriteTo(&written)
		cloned.Write(clone.Bytes())
		return err
	})
	require.NoError(t, err)
	require.Equal(t, []int{large, large / 3, large / 3, large, large / 3, large / 3, small, 4, 4}, counts)
	for _, got := range []*bytes.Buffer{&written, &each, &cloned} {
		require.True(t, bytes.Equal(want.Bytes(), got.Bytes()))
	}
	require.Equal(t, 2*large/3+4, result.Jobs[0].Items)
	require.Equal(t, 2*large-2*large/3+small-4, result.Jobs[0].Filtered)
}
