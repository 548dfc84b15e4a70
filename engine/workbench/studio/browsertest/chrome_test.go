//go:build browser

package browsertest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// build builds the command once.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "studio")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "stopwhen")
	out, err := exec.Command("go", "-C", "../../../..", "build", "-o", path, "./engine/cmd/stopwhen").CombinedOutput()
	if err != nil {
		return string(out), err
	}
	return path, nil
})

// serve starts stopwhen studio and returns the address that it prints.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	command, err := build()
	require.NoError(t, err, command)
	cmd := exec.Command(command, append([]string{"studio", "--no-browser"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// A tab is a tab of the browser. Every mistake of the page, also a violation of its policy, fails the test.
type tab struct {
	t   *testing.T
	ctx context.Context
}

// patience is how long the page may take for a step. Only a failing test waits that long.
const patience = time.Minute

// browse opens an address in a window of a size.
func browse(t *testing.T, address string, width, height int64, dark bool) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), chromedp.Headless, chromedp.NoSandbox, chromedp.Flag("disable-quic", true))
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{t, ctx}
	require.NoError(t, chromedp.Listen(ctx, b.heard))
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	b.do(chromedp.EmulateViewport(width, height), chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}), chromedp.Navigate(address))
	return b
}

// heard fails the test for an event that is a mistake.
func (b *tab) heard(event any) {
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.t.Errorf("the page threw: %s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			b.t.Errorf("the browser logged: %s (%s)", e.Entry.Text, e.Entry.URL)
		}
	}
}

// do runs actions.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	require.NoError(b.t, chromedp.Do(ctx, actions...))
}

// get runs an action and returns its value.
func get[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	require.NoError(b.t, err)
	return v
}

// eval evaluates an expression in the page.
func eval[T any](b *tab, expression string) T {
	b.t.Helper()
	return get(b, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits until an expression is true.
func (b *tab) until(expression string) {
	b.t.Helper()
	end := time.Now().Add(patience)
	for !eval[bool](b, "!!("+expression+")") {
		if time.Now().After(end) {
			require.Fail(b.t, expression+" did not become true", "the page says:\n%s", eval[string](b, "document.body.innerText"))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// picture writes a picture of the window to the folder STUDIO_PICTURES, if it is set.
func (b *tab) picture(name string) {
	folder := os.Getenv("STUDIO_PICTURES")
	if folder == "" {
		return
	}
	require.NoError(b.t, os.WriteFile(filepath.Join(folder, name+".png"), get(b, chromedp.CaptureScreenshot()), 0o600))
}

// clickText clicks with the pointer on a text in the editor.
func (b *tab) clickText(text string) {
	b.t.Helper()
	at := eval[[]float64](b, fmt.Sprintf(`(() => {
		const root = document.querySelector("#editor").shadowRoot;
		const walker = document.createTreeWalker(root.querySelector(".cm-content"), NodeFilter.SHOW_TEXT);
		for (let n; (n = walker.nextNode()); ) {
			const range = document.createRange();
			const line = n.parentElement.closest(".cm-line");
			if (!line.textContent.includes(%[1]q)) continue;
			range.selectNodeContents(line);
			const box = range.getBoundingClientRect();
			return [box.left + 4, box.top + box.height / 2];
		}
		return [];
	})()`, text))
	require.Len(b.t, at, 2, "the editor has no %q", text)
	b.do(chromedp.MouseClickXY(at[0], at[1]))
}

// typed types a text.
func (b *tab) typed(text string) {
	b.t.Helper()
	for _, key := range text {
		b.do(chromedp.KeyEvent(string(key)))
	}
}

// enter presses the key Enter. A page that handles it gets no character, as with a real key.
func (b *tab) enter() {
	b.t.Helper()
	press := func(kind input.DispatchKeyEventType, text string) chromedp.Action[chromedp.Void] {
		return chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
			_, err := cdp.Call(ctx, tab, input.DispatchKeyEvent, input.DispatchKeyEventParams{
				Type: kind, Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 13, Text: text,
			})
			return err
		})
	}
	b.do(press(input.DispatchKeyEventTypeKeyDown, "\r"), press(input.DispatchKeyEventTypeKeyUp, ""))
}
