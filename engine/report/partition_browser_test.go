//go:build browser

package report_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine/report"
)

// nested returns the trace of a parent with three partitions and a job for its items.
func nested(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, month := range []string{"2026-01", "2026-02", "2026-03"} {
		window := values{"from": month + "-01T00:00:00Z", "to": month + "-28T00:00:00Z"}
		b.WriteString(traceOf(t, lastPage("orders", values{"month": window})))
		for id := range 4 {
			page := lastPage("lines", values{"month": window, "order": values{"id": id, "customer": "a customer with a rather long name"}})
			if id == 2 {
				page = failedPage(page.Partition)
				page.Skipped = true
			}
			b.WriteString(traceOf(t, page))
		}
	}
	return b.String()
}

func TestABrowserShowsPartitionsOnEveryScreen(t *testing.T) {
	const measure = `<script>document.title = [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).length +
		(document.documentElement.scrollWidth > document.documentElement.clientWidth ? ' wide' : '')</script>`
	for _, test := range []struct {
		name       string
		trace      io.Reader
		partitions int // with a row
		drawings   int
	}{
		{"without", strings.NewReader(usersTrace), 0, 1},
		{"five", strings.NewReader(traceOf(t, unequal()...)), 5, 5},
		{"many", manyPartitions(5000), 500, 10},
		{"nested", strings.NewReader(nested(t)), 15, 13},
	} {
		t.Run(test.name, func(t *testing.T) {
			run, err := report.Read("trace.json", test.trace)
			require.NoError(t, err)
			path := writePage(t, policy.ReplaceAllString(html(t, run), "")+measure)
			for _, width := range []int{400, 1300} {
				size := fmt.Sprintf("--window-size=%d,1400", width)
				dom := chromium(t, path, size, "--dump-dom")
				require.Contains(t, dom, "<title>0</title>", "no table is cut, and the page is as wide as the screen")
				require.Equal(t, test.partitions, strings.Count(dom, `<span class="ended `))
				require.Equal(t, test.drawings, strings.Count(dom, "<svg "))
				if keep := os.Getenv("REPORT_PICTURES"); keep != "" {
					chromium(t, path, size, fmt.Sprintf("--screenshot=%s/%s-%d.png", keep, test.name, width))
				}
			}
		})
	}
}
