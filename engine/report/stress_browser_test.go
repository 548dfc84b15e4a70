//go:build browser

package report_test

import (
	"image/color"
	"testing"

	"github.com/stretchr/testify/require"
)

// bad is the colour of a SILENT verdict in report.css.
var bad = color.RGBA{R: 0xc0, G: 0x36, B: 0x2c}

func TestABrowserMarksSilentRowsAndCutsNoColumn(t *testing.T) {
	path := writePage(t, stressHTML(t, stressed()))
	require.Greater(t, pixels(screenshot(t, path, "--window-size=1300,1400"), bad), 1000)
	require.Greater(t, pixels(screenshot(t, path, "--window-size=400,1400"), bad), 1000)

	const measure = `<script>document.title = [...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth).join()</script>`
	page := writePage(t, policy.ReplaceAllString(stressHTML(t, stressed()), "")+measure)
	for _, width := range []string{"400", "1300"} {
		dom := chromium(t, page, "--window-size="+width+",1400", "--dump-dom")
		require.Contains(t, dom, "<title>0,0</title>", "the pixels by which the tables are cut")
	}
}
