//go:build browser

package report_test

import (
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// chromium opens a file in a headless browser and returns what it prints.
func chromium(t *testing.T, path string, flags ...string) string {
	t.Helper()
	args := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--hide-scrollbars", "--window-size=1200,1400", "--user-data-dir=" + t.TempDir(),
	}, flags...)
	cmd := exec.Command("chromium", append(args, "file://"+path)...)
	out, err := cmd.Output()
	require.NoError(t, err, "this test needs chromium: apt-get install chromium")
	return string(out)
}

// writePage writes an HTML page to a file and returns its path.
func writePage(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func screenshot(t *testing.T, path string, flags ...string) image.Image {
	t.Helper()
	to := filepath.Join(t.TempDir(), "report.png")
	chromium(t, path, append(flags, "--screenshot="+to)...)
	file, err := os.Open(to)
	require.NoError(t, err)
	defer file.Close()
	picture, err := png.Decode(file)
	require.NoError(t, err)
	return picture
}

// pixels counts the pixels of a colour.
func pixels(picture image.Image, c color.RGBA) int {
	n := 0
	for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
		for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			if uint8(r>>8) == c.R && uint8(g>>8) == c.G && uint8(b>>8) == c.B {
				n++
			}
		}
	}
	return n
}

// The colours of report.css.
var (
	bar, retried, stop = color.RGBA{R: 0x5b, G: 0x8d, B: 0xef}, color.RGBA{R: 0xd9, G: 0x8a}, color.RGBA{R: 0x1a, G: 0x7f, B: 0x4b}
	darkPaper, darkBar = color.RGBA{R: 0x12, G: 0x16, B: 0x1b}, color.RGBA{R: 0x5d, G: 0x8f, B: 0xf0}
)

func TestABrowserShowsTheTimeline(t *testing.T) {
	path := writePage(t, html(t, read(t, clean())))
	dom := chromium(t, path, "--dump-dom")
	require.Contains(t, dom, `<h2 id="job-1">Job users <span class="outcome complete">complete</span></h2>`)
	require.Equal(t, 3, strings.Count(dom, "<details>"))
	require.Equal(t, 9, strings.Count(dom, "<rect "), "three strips of three pages")

	light := screenshot(t, path)
	// The strips are 56 units high and nearly as wide as the window. The page that
	// was requested twice took 2.3 of 3 seconds, the first page 0.2.
	require.Greater(t, pixels(light, retried), 20*pixels(light, bar)/10, "the style sheet applies and the timeline is drawn by time")
	require.Greater(t, pixels(light, bar), 2000)
	require.Greater(t, pixels(light, stop), 2000)
	require.Zero(t, pixels(light, darkPaper))

	dark := screenshot(t, path, "--blink-settings=preferredColorScheme=0")
	require.Greater(t, pixels(dark, darkPaper), 1200*1400/2, "most of the page is dark")
	require.Greater(t, pixels(dark, darkBar), 2000)
}

func TestABrowserShowsALongRun(t *testing.T) {
	path := writePage(t, html(t, run(t, 10_000)))
	require.Equal(t, 10_000, strings.Count(chromium(t, path, "--dump-dom"), "GET /users?page="))
	require.Greater(t, pixels(screenshot(t, path), bar), 10_000)
}

func TestABrowserRunsNoScriptOfATrace(t *testing.T) {
	hostile := strings.ReplaceAll(usersTrace, "users", `</title><script>document.title='run'</script><img src=x onerror=document.title='run'>`)
	dom := chromium(t, writePage(t, html(t, read(t, hostile))), "--dump-dom")
	require.Contains(t, dom, "<title>trace.json: a stopwhen run</title>")
	require.NotContains(t, dom, "<script")
}

func TestABrowserShowsNoGreenForAListThatMayBeIncomplete(t *testing.T) {
	path := writePage(t, html(t, read(t, usersTrace)))
	for _, width := range []int{400, 1300} {
		require.Zero(t, pixels(screenshot(t, path, fmt.Sprintf("--window-size=%d,1400", width)), stop))
	}
}

func TestABrowserShowsEveryColumnOnANarrowScreen(t *testing.T) {
	const measure = `<script>document.title = [...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth).join()</script>`
	long := strings.ReplaceAll(usersTrace, `"samePage"`, `"scrollers.everything.repeatedExchange"`)
	page := policy.ReplaceAllString(html(t, read(t, long)), "") + measure
	dom := chromium(t, writePage(t, page), "--window-size=400,1400", "--dump-dom")
	require.Contains(t, dom, "<title>0,0</title>", "the pixels by which the tables of rules and pages are cut")
}

// policy is the element that forbids scripts.
var policy = regexp.MustCompile(`<meta http-equiv="Content-Security-Policy"[^>]*>`)
