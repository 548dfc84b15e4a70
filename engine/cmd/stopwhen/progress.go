package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/stopwhen/stopwhen/engine"
)

// progress keeps one line on a terminal up to date. Log lines go through it, so
// that they do not tear it.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	bar   *progressbar.ProgressBar
	began time.Time

	pages, items, bytes int
}

// newProgress shows progress where a person looks and wants it; else it is nil.
func (a *app) newProgress() *progress {
	f := a.flags
	if !terminal(a.stderr) || f.quiet || f.verbose || f.noProgress || f.logFormat == "json" {
		return nil
	}
	return &progress{w: a.stderr, began: time.Now(), bar: progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(a.stderr), progressbar.OptionSpinnerType(14), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetElapsedTime(false), progressbar.OptionShowCount(), progressbar.OptionSetVisibility(true))}
}

// page counts a page and shows the rule that comes nearest to its end.
func (p *progress) page(page *engine.Page) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages, p.items, p.bytes = p.pages+1, p.items+page.Items.Len(), p.bytes+page.Bytes
	rate := float64(p.items) / max(time.Since(p.began).Seconds(), 0.001)
	p.bar.Describe(fmt.Sprintf("%s: %s, %s, %s, %.0f items/s%s", page.Job, counted(p.pages, "page"), counted(p.items, "item"), size(p.bytes), rate, state(page)))
	_ = p.bar.Add(1)
}

// state is the last rule of the job with its values: the method's own end, or
// the user's.
func state(page *engine.Page) string {
	for i := len(page.Verdicts) - 1; i >= 0; i-- {
		if because := page.Verdicts[i].Because; strings.Contains(because, "(") && len(because) < 60 {
			return ", until " + because
		}
	}
	return ""
}

// Write clears the line for what is logged.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.bar.Clear()
	return p.w.Write(text)
}

// done takes the line away.
func (p *progress) done() {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		_ = p.bar.Finish()
	}
}

// size writes bytes for people.
func size(n int) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	f, i := float64(n), 0
	for f >= 1000 && i < len(units)-1 {
		f, i = f/1000, i+1
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
