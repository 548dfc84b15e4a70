package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime"
)

// progress keeps one line on a terminal up to date. Log lines go through it, so
// that they do not tear it.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	bar   *progressbar.ProgressBar
	began time.Time
	width int // of the terminal, in columns

	pages, items, bytes int
}

// newProgress shows progress where a person looks and wants it; else it is nil.
func (a *app) newProgress() *progress {
	f := a.flags
	if !terminal(a.stderr) || f.quiet || f.verbose || f.noProgress || f.logFormat == "json" {
		return nil
	}
	width, _, err := term.GetSize(int(a.stderr.(*os.File).Fd()))
	if err != nil {
		width = 80
	}
	return &progress{w: a.stderr, began: time.Now(), width: width, bar: progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(a.stderr), progressbar.OptionSpinnerType(14), progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetElapsedTime(false))}
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
	if page.Decision == runtime.Stop {
		return // the log says how it ended
	}
	line := fmt.Sprintf("%s: %s, %s, %s, %.0f items/s", page.Job, counted(p.pages, "page"), counted(p.items, "item"), size(p.bytes), rate)
	if rule := state(page); len(line)+len(rule)+4 <= p.width {
		line += rule
	}
	p.bar.Describe(line)
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
