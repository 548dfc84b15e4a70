//go:build browser

package browsertest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// static writes the playground once. STUDIO_PLAYGROUND names a folder that has it already.
var static = sync.OnceValues(func() (string, error) {
	if folder := os.Getenv("STUDIO_PLAYGROUND"); folder != "" {
		return folder, nil
	}
	command, err := build()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(filepath.Dir(command), "public")
	cmd := exec.Command(command, "studio", "--static", folder)
	cmd.Dir = "../../../.." // the Go toolchain builds the engine there
	cmd.Stderr = os.Stderr
	return folder, cmd.Run()
})

// A host serves the playground as any web server does, and notes the requests.
type host struct {
	*httptest.Server
	mu    sync.Mutex
	paths []string
}

func (h *host) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.paths = append(h.paths, r.Method+" "+r.URL.String())
	h.mu.Unlock()
	folder, _ := static() // has been checked
	http.FileServer(http.Dir(folder)).ServeHTTP(w, r)
}

func serveStatic(t *testing.T) *host {
	t.Helper()
	_, err := static()
	require.NoError(t, err)
	h := &host{}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

const largest = 8_000_000 // bytes of the playground, compressed

func TestThePlaygroundIsSmall(t *testing.T) {
	folder, err := static()
	require.NoError(t, err)
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	size := 0
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		require.NoError(t, err)
		var compressed bytes.Buffer
		w := gzip.NewWriter(&compressed)
		_, err = w.Write(content)
		require.NoError(t, err)
		require.NoError(t, w.Close())
		size += compressed.Len()
	}
	t.Logf("%d bytes", size)
	require.Less(t, size, largest)
}

func TestThePlaygroundAnswersWithoutAnyFurtherRequest(t *testing.T) {
	h := serveStatic(t)
	b := browse(t, h.URL, 1300, 820, false)
	b.until(ending + `?.includes("The list ends on page 1")`)
	h.mu.Lock()
	loaded := len(h.paths)
	h.mu.Unlock()

	b.clickText("stopOn")
	b.do(chromedp.KeyEvent(kb.End), chromedp.KeyEvent(kb.ArrowLeft))
	b.typed(", ifNotSet: false")
	b.until(ending + `?.includes("The list ends on page 5")`)
	b.do(chromedp.Click("#run"))
	b.until(`document.querySelectorAll("button.cell.stop").length == 1 && document.querySelectorAll("button.cell").length == 5`)
	b.do(chromedp.Click("#tab-stress"), chromedp.Click("#startStress"))
	b.until(`document.querySelector(".chip b")`)

	b.do(chromedp.Click("#examples"))
	b.until(`document.querySelectorAll(".choice").length > 100`)
	b.typed("google drive")
	b.until(`document.querySelectorAll(".choice").length < 10`)
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	b.enter()
	b.do(chromedp.Click("#tab-pages"))
	b.until(`document.querySelector("#file").innerText.startsWith("config") && document.querySelector("button.cell")`)
	h.mu.Lock()
	defer h.mu.Unlock()
	require.Len(t, h.paths, loaded, "nothing leaves the browser: %s", strings.Join(h.paths, ", "))
}

func TestALinkOfThePlaygroundHoldsTheConfiguration(t *testing.T) {
	h := serveStatic(t)
	b := browse(t, h.URL, 1300, 820, false)
	b.until(ending + `?.includes("The list ends on page 1")`)
	b.clickText("dataField")
	b.do(chromedp.KeyEvent(kb.End))
	b.typed(" # kept")
	b.until(`location.hash.startsWith("#orders.yaml=")`)
	address := get(b, chromedp.Location())

	again := browse(t, address, 1300, 820, false)
	again.until(`document.querySelector("#editor").shadowRoot?.querySelector(".cm-content")?.innerText.includes("dataField: orders # kept")`)
	again.until(`document.querySelector("#problems").innerText == "No problems"`)
}

// It fails for no machine, but logs what the guide says about the speed: go test -v.
func TestTheSpeedOfThePlayground(t *testing.T) {
	h := serveStatic(t)
	b := browse(t, h.URL, 1300, 820, false)
	const answers = `performance.getEntriesByName("answer")`
	b.until(answers + `.length == 1`)
	t.Logf("the first answer came %.0f ms after the navigation", eval[float64](b, answers+`[0].startTime + `+answers+`[0].duration`))

	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var items []string
		for i := range 100 {
			id := r.URL.Query().Get("page") + fmt.Sprintf("%03d", i)
			items = append(items, fmt.Sprintf(`{"id": %s, "name": "customer %[1]s", "email": "c%[1]s@example.com", "total": 12.5}`, id))
		}
		_, _ = fmt.Fprintf(w, `{"data": [%s]}`, strings.Join(items, ", "))
	}))
	defer api.Close()
	folder := t.TempDir()
	config := filepath.Join(folder, "a.json")
	text := fmt.Sprintf(`{"api": {"baseUrl": %q, "pagination": {"method": "pagenum", "forceStop": {"pages": 50, "volume":
900000000}}},
  "config": {"jobs": [{"endpoint": "a", "dataField": "data"}]}}`, api.URL+"/")
	require.NoError(t, os.WriteFile(config, []byte(text), 0o600))
	command, err := build()
	require.NoError(t, err)
	archive := filepath.Join(folder, "a.har")
	require.NoError(t, exec.Command(command, "record", config, archive).Run())

	recorded, err := os.ReadFile(archive)
	require.NoError(t, err)
	_ = eval[bool](b, fmt.Sprintf(`(() => {
		for (const [name, text] of [["a.json", %q], ["a.har", %q]]) {
			const files = new DataTransfer();
			files.items.add(new File([text], name));
			dispatchEvent(new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true }));
		}
		return true;
	})()`, text, recorded))
	b.until(`document.querySelectorAll("button.cell").length == 50`)
	b.clickText("900000000")
	for range 5 {
		before := eval[int](b, answers+".length")
		b.typed("9") // another volume, which is not reached
		b.until(fmt.Sprintf("%s.length > %d", answers, before))
	}
	t.Logf("edits of 50 recorded pages were answered after %v ms", eval[[]float64](b, answers+`.slice(-5).map((a) => Math.round(a.duration))`))
}
