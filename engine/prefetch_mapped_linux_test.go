package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/fixtures"
)

// When a list ends, the temporary files of its large pages are given up, whether they were
// requested ahead or not.
func TestTheFilesOfLargePagesAreGivenUp(t *testing.T) {
	fixtures.SkipUnderRace(t, "it measures time or memory")
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	mapped := func() int {
		maps, err := os.ReadFile("/proc/self/maps")
		require.NoError(t, err)
		return strings.Count(string(maps), dir)
	}
	text := strings.Repeat("x", 5<<20)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		if page > 4 {
			fmt.Fprint(w, `{"data": []}`)
			return
		}
		fmt.Fprintf(w, `{"data": [{"id": %d, "text": "%s"}]}`, page, text)
	}))
	defer api.Close()
	for _, prefetch := range []int{0, 1, 3, engine.AutoPrefetch} {
		e := load(t, usersConfig(api.URL, `"method": "pagenum"`), engine.WithPrefetch(prefetch))
		most := 0
		_, err := e.Run(t.Context(), func(context.Context, *engine.Page) error {
			most = max(most, mapped())
			return nil
		})
		require.NoError(t, err)
		require.Positive(t, most)
		require.Zero(t, mapped(), "prefetch %d", prefetch)
	}
}
