package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/value"
)

// progress keeps one line on a terminal up to date. Log lines go through it, so
// that they do not tear it. It draws on a clock of its own: the bar's would draw
// into a log line.
type progress struct {
	mu    sync.Mutex
	w     *os.File
	bar   *progressbar.ProgressBar
	began time.Time
	end   chan struct{}

	last                *engine.Page // nil: none yet
	pages, items, bytes int
}

// redraw is how often the line is drawn.
const redraw = 100 * time.Millisecond

// newProgress shows progress where a person looks and wants it; else it is nil.
func (a *app) newProgress(debug bool) *progress {
	f := a.flags
	if !terminal(a.stderr) || f.quiet || f.verbose || debug || f.noProgress || f.logFormat == "json" {
		return nil
	}
	file := a.stderr.(*os.File)
	p := &progress{w: file, began: time.Now(), end: make(chan struct{}), bar: progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(file), progressbar.OptionSpinnerType(14), progressbar.OptionSetSpinnerChangeInterval(0),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetElapsedTime(false))}
	go p.draw()
	return p
}

// draw keeps the line up to date until done.
func (p *progress) draw() {
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	for {
		select {
		case <-p.end:
			return
		case <-ticker.C:
		}
		p.mu.Lock()
		if !p.bar.IsFinished() {
			p.bar.Describe(p.line()) // draws, and turns the spinner
		}
		p.mu.Unlock()
	}
}

// line is what is known, in what the terminal is wide. The rule that comes
// nearest to an end is there if there is room.
func (p *progress) line() string {
	width, _, err := term.GetSize(int(p.w.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	if p.last == nil {
		return "waiting for the first page"
	}
	rate := float64(p.items) / max(time.Since(p.began).Seconds(), 0.001)
	line := fmt.Sprintf("%s: %s, %s, %s, %.0f items/s", p.last.Job, value.Counted(p.pages, "page"), value.Counted(p.items, "item"), value.Size(p.bytes), rate)
	const spinner = 4 // columns that are not the line's
	if rule := state(p.last); len(line)+len(rule)+spinner <= width {
		line += rule
	}
	if over := len(line) + spinner - width; over > 0 && over < len(line) {
		line = strings.ToValidUTF8(line[over:], "")
	}
	return line
}

// page counts a page. Its record is kept until the next one.
func (p *progress) page(page *engine.Page) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages, p.items, p.bytes = p.pages+1, p.items+page.Items.Len(), p.bytes+page.Bytes
	p.last = &engine.Page{Record: page.Record}
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
	if p == nil {
		return
	}
	close(p.end)
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.bar.Finish()
}
