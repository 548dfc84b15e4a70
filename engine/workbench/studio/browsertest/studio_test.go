//go:build browser

package browsertest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// ending is the heading of the box that says how the list ends.
const ending = `document.querySelector(".ending h2")?.innerText`

// completions is the list of completions.
const completions = `document.querySelector("#editor").shadowRoot.querySelector(".cm-tooltip-autocomplete")`

// A new user finds out why the list of the example ends, mends it, and sees the difference.
func TestTheExampleIsUnderstoodAndMended(t *testing.T) {
	b := browse(t, serve(t), 1300, 820, false)
	b.until(ending + `?.includes("The list ends on page 1")`)
	require.Contains(t, eval[string](b, `document.querySelector(".ending").innerText`), "Evidence")
	require.Equal(t, 4, eval[int](b, `document.querySelectorAll(".cell.skipped").length`))
	require.Contains(t, eval[string](b, `document.querySelector(".verdict.met").innerText`), "The response does not have body.isLast.")

	b.do(chromedp.Click(`.cell.skipped[data-left="3"]`)) // the last recorded page, which is not requested
	b.until(`document.querySelector("#page h3").innerText == "Not requested"`)
	require.Contains(t, eval[string](b, `document.querySelector("#page").innerText`), `"isLast": true`)

	b.clickText("true}") // the end of the line with the flag
	b.do(chromedp.KeyEvent(kb.End), chromedp.KeyEvent(kb.ArrowLeft))
	b.typed(", ")
	b.until(completions)
	b.until(`(() => { // the list of completions is seen beyond the editor, once it has its place
		const box = ` + completions + `.getBoundingClientRect();
		return box.right > document.querySelector(".pane.left").getBoundingClientRect().right &&
			document.elementFromPoint(box.right - 4, box.top + 8)?.id == "editor";
	})()`)
	b.typed("ifNotSet: false")
	b.until(ending + `?.includes("The list ends on page 5")`)
	require.Contains(t, eval[string](b, `document.querySelector(".delta").innerText`), "+33 items, +4 pages")
	require.Equal(t, 5, eval[int](b, `document.querySelectorAll("button.cell").length`))
	require.Equal(t, "Page 5", eval[string](b, `document.querySelector("#page h3").innerText`), "the page at which the list ends now")
	require.Equal(t, 0, eval[int](b, `document.querySelectorAll(".cell.skipped").length`))
}

// Pages of different partitions have the same number, and each can be chosen.
func TestEveryPageOfAPartitionCanBeChosen(t *testing.T) {
	b := browse(t, serve(t, "--fixture", "partitions/one-for-each-item"), 1300, 820, false)
	b.until(`document.querySelectorAll("button.cell").length == 6`)
	for _, number := range []string{"3", "5", "6"} {
		b.do(chromedp.Click(`button.cell[data-number="` + number + `"]`))
		b.until(`document.querySelector("button.cell[aria-selected=true]").dataset.number == "` + number + `"`)
	}
}

// The keyboard suffices: from the tabs to the pages, and to the editor.
func TestTheKeyboardReachesEverything(t *testing.T) {
	b := browse(t, serve(t, "--fixture", "demo/orders"), 1300, 820, false)
	b.until(`document.querySelectorAll("button.cell").length == 3`)
	b.do(chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "Skip to the results", eval[string](b, `document.activeElement.innerText`))
	b.do(chromedp.KeyEvent(kb.Enter))
	b.do(chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "tab-pages", eval[string](b, `document.activeElement.id`))
	for _, tab := range []string{"rules", "stress", "tests", "items", "pages"} {
		b.do(chromedp.KeyEvent(kb.ArrowRight))
		require.Equal(t, "tab-"+tab, eval[string](b, `document.activeElement.id`))
		require.Equal(t, "true", eval[string](b, `document.activeElement.getAttribute("aria-selected")`))
	}
	b.do(chromedp.Focus(`button.cell[aria-selected="true"]`), chromedp.KeyEvent(kb.Home))
	b.until(`document.querySelector("#page h3").innerText == "Page 1"`)
	b.until(`document.activeElement.getAttribute("aria-label")?.startsWith("Page 1,")`)
	b.do(chromedp.KeyEvent(kb.ArrowRight))
	b.until(`document.querySelector("#page h3").innerText == "Page 2"`)
}

func TestCtrlSSavesTheFileAndNothingElse(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "orders.yaml")
	const text = "api: {baseUrl: 'http://127.0.0.1:8080/v1/', pagination: {method: offset, limit: 10}}\n" +
		"config: {jobs: [{endpoint: orders, dataField: orders}]}\n"
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	b := browse(t, serve(t, path, "--fixture", "demo/orders"), 1300, 820, false)
	b.until(ending + `?.includes("The list ends on page 3")`)
	b.clickText("api")
	b.do(chromedp.KeyEvent(kb.Home))
	b.typed("# mine")
	b.enter()
	b.until(`!document.querySelector("#save").disabled`)
	b.do(chromedp.KeyEvent("s", chromedp.KeyModifiers(2))) // Ctrl
	b.until(`document.querySelector("#toast").innerText == "Saved orders.yaml"`)
	saved, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "# mine\n"+text, string(saved))

	require.NoError(t, os.WriteFile(path, []byte("other: {}\n"), 0o600))
	b.typed("#")
	b.until(`!document.querySelector("#save").disabled`)
	b.do(chromedp.KeyEvent("s", chromedp.KeyModifiers(2)))
	b.until(`document.querySelector("dialog")?.innerText.includes("orders.yaml has changed on the disk")`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(`!document.querySelector("dialog")`)
	saved, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "other: {}\n", string(saved))
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestTheTokenLeavesTheAddressAndAReloadKeepsThePage(t *testing.T) {
	address := serve(t, "--fixture", "demo/orders")
	b := browse(t, address, 1300, 820, false)
	b.until(`document.querySelectorAll("button.cell").length == 3`)
	require.NotContains(t, get(b, chromedp.Location()), "token")
	b.do(chromedp.Reload())
	b.until(`document.querySelectorAll("button.cell").length == 3`)

	without := browse(t, address[:len(address)-len("?token=")-64], 1300, 820, false)
	without.until(`document.querySelector("#panel").innerText.includes("Open the address of the studio")`)
}
