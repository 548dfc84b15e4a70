//go:build browser

package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

const hostile = `</script></pre><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>` +
	`<svg onload="window.hacked=1"><a href="javascript:window.hacked=1">`

// A configuration and an API that are full of HTML and scripts are shown as texts.
func TestTextsAreNeverHTML(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", `<`+"javascript:window.hacked=1"+`>; rel="x"`)
		body := json.NewEncoder(w)
		body.SetEscapeHTML(false)
		_ = body.Encode(map[string]any{"data": []any{map[string]string{hostile: hostile, "name": hostile}}, hostile: hostile})
	}))
	defer api.Close()
	path := filepath.Join(t.TempDir(), "a.json")
	quoted, err := json.Marshal(hostile)
	require.NoError(t, err)
	text := fmt.Sprintf(`{"api": {"baseUrl": %q, "pagination": {"method": "pagenum", "stopRules": [{"name": "x", "when": %s}]}},
  "config": {"jobs": [{"id": "job", "endpoint": "a", "dataField": "data", "params": {"q": %[2]s}}]},
  "tests": [{"name": %[2]s, "pages": [{"data": []}], "expect": {"items": 7}}]}`, api.URL+"/", quoted)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	b := browse(t, serve(t, path), 1300, 820, false)
	b.until(`document.querySelector(".problem.error")`)
	b.clickText("stopRules")
	fixed := strings.Replace(text, `"when": `+string(quoted), `"when": "body['`+"x"+`'] == 'y'"`, 1)
	require.NoError(t, os.WriteFile(path, []byte(fixed), 0o600))

	b = browse(t, serve(t, path), 1300, 820, false)
	b.until(`document.querySelector("#problems .ok, .problem")`)
	b.do(chromedp.Click("#run"))
	b.until(`document.querySelector("#page .json")`)
	require.Contains(t, eval[string](b, `document.querySelector("#page .json").innerText`), "<script>window.hacked=1</script>")
	for _, tab := range []string{"rules", "tests", "items", "stress", "pages"} {
		b.do(chromedp.Click("#tab-" + tab))
		b.until(`document.querySelector("#panel").innerText.length > 20`)
	}
	require.False(t, eval[bool](b, `"hacked" in window`))
	require.Zero(t, eval[int](b, `document.querySelectorAll("img, iframe, object, body script, a[href^=javascript]").length`))
}

// An API that does not answer is a message in the page, and so is one that refuses.
func TestADeadAPIIsAMessage(t *testing.T) {
	var status atomic.Int32
	status.Store(http.StatusUnauthorized)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }))
	path := filepath.Join(t.TempDir(), "a.json")
	text := fmt.Sprintf(`{"api": {"baseUrl": %q, "http": {"maxRetries": 0}}, "config": {"jobs": [{"endpoint": "a"}]}}`, api.URL+"/")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	b := browse(t, serve(t, path), 1300, 820, false)
	b.until(`document.querySelector(".state h2")?.innerText == "No pages yet"`)
	b.do(chromedp.Click("#run"))
	b.until(`document.querySelector(".ending")?.innerText.includes("401")`)
	api.Close()
	b.do(chromedp.Click("#run"))
	b.until(`document.querySelector(".ending, .notice")?.innerText.includes("connection refused")`)
}

// A secret of the environment is in no text of the page, although the API repeats it.
func TestASecretOfTheEnvironmentIsNotInThePage(t *testing.T) {
	const secret = "the-key-of-the-api"
	t.Setenv("API_KEY", secret)
	var used atomic.Bool
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		used.Store(r.Header.Get("X-Key") == secret)
		_, _ = fmt.Fprintf(w, `{"data": [{"id": 1, "key": %q}]}`, r.Header.Get("X-Key"))
	}))
	defer api.Close()
	path := filepath.Join(t.TempDir(), "a.json")
	text := fmt.Sprintf(`{"api": {"baseUrl": %q, "http": {"headers": {"X-Key": {"env": "API_KEY"}}}},
  "config": {"jobs": [{"endpoint": "a", "dataField": "data"}]}}`, api.URL+"/")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	b := browse(t, serve(t, path, "--env", "API_KEY"), 1300, 820, false)
	b.until(`document.querySelector(".state h2")`)
	b.do(chromedp.Click("#run"))
	b.until(`document.querySelector("#page .json")`)
	require.True(t, used.Load())
	for _, tab := range []string{"rules", "items", "tests", "pages"} {
		b.do(chromedp.Click("#tab-" + tab))
		b.until(`document.querySelector("#panel").innerText.length > 20`)
		require.NotContains(t, eval[string](b, `document.documentElement.outerHTML`), secret)
	}
}

// Nothing is wider than the screen, and the page does not move while it loads.
func TestThePageFitsEveryScreen(t *testing.T) {
	address := serve(t)
	for _, width := range []int64{400, 900, 1300, 2560} {
		for _, dark := range []bool{false, true} {
			height := map[int64]int64{400: 1600, 900: 1600, 1300: 860, 2560: 1400}[width]
			b := browse(t, address, width, height, dark)
			b.until(`document.querySelector("#page .verdict")`)
			for _, tab := range []string{"pages", "rules", "tests", "items", "stress"} {
				b.do(chromedp.Click("#tab-" + tab))
				b.until(map[string]string{
					"pages": `document.querySelector("#page .verdict")`, "rules": `document.querySelector(".rule")`,
					"tests": `document.querySelector("#addTest")`, "items": `document.querySelector("table.items")`,
					"stress": `document.querySelector("#startStress")`,
				}[tab])
				for _, element := range []string{"document.documentElement", `document.querySelector("#panel")`} {
					require.LessOrEqual(t, eval[int](b, element+".scrollWidth - "+element+".clientWidth"), 0, "%s at %d", tab, width)
				}
				b.picture(fmt.Sprintf("%s-%d-%v", tab, width, dark))
			}
		}
	}
}
