//go:build browser

package report_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABrowserShowsTheStatusOnEveryScreen(t *testing.T) {
	const measure = `<script>document.title = [...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth).length +
		(document.documentElement.scrollWidth > document.documentElement.clientWidth ? ' wide' : '')</script>`
	s := underway()
	s.Failed[0].Partition = "shop=" + strings.Repeat("a-long-name.", 10)
	s.Failed[0].Error.Message = "GET https://example.com/" + strings.Repeat("path/", 30)
	path := writePage(t, policy.ReplaceAllString(statusHTML(t, s), "")+measure)
	for _, width := range []int{400, 1300} {
		size := fmt.Sprintf("--window-size=%d,1600", width)
		require.Contains(t, chromium(t, path, size, "--dump-dom"), "<title>0</title>", "no table is cut, and the page is as wide as the screen")
		if keep := os.Getenv("REPORT_PICTURES"); keep != "" {
			chromium(t, path, size, fmt.Sprintf("--screenshot=%s/status-%d.png", keep, width))
		}
	}
}
