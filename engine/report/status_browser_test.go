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
		(document.documentElement.scrollWidth > document.documentElement.clientWidth ? ' wide' : '') +
		([...document.querySelectorAll('.failures code, .running code')].some(
			e => e.textContent.includes('order.id=13') && e.getClientRects().length > 1) ? ' broken' : '')</script>`
	s := underway()
	s.Failed[0].Partition = "shop=" + strings.Repeat("a-long-name.", 10)
	s.Failed[0].Error.Message = "GET https://example.com/" + strings.Repeat("path/", 30)
	s.Failed = append(s.Failed, s.Failed[0])
	s.Failed[1].Job, s.Failed[1].Partition = "lines", "order.id=13"
	s.Running[0].Partition = "order.id=13"
	path := writePage(t, policy.ReplaceAllString(statusHTML(t, s), "")+measure)
	for _, width := range []int{400, 1000, 1300} {
		size := fmt.Sprintf("--window-size=%d,1600", width)
		require.Contains(t, chromium(t, path, size, "--dump-dom"), "<title>0</title>", "no table is cut, the page is as wide as the screen, and no short name is broken")
		if keep := os.Getenv("REPORT_PICTURES"); keep != "" {
			chromium(t, path, size, fmt.Sprintf("--screenshot=%s/status-%d.png", keep, width))
		}
	}
}
