package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// progress shows a progress line on a terminal. Log lines are written through it,
// so that the two do not mix. It draws at its own interval, since the bar would
// draw into log lines. The methods of a nil progress do nothing.
type progress struct {
	mu     sync.Mutex
	w      *os.File
	bar    *progressbar.ProgressBar
	end    chan struct{}
	shared bool // items are written to the same terminal
	paused bool // a page is being written to the terminal

	last *engine.Page // nil before the first page
	jobs map[string]*jobProgress
	part string // number of partitions that have ended; empty if unknown
}

// jobProgress is how far one job has come.
type jobProgress struct {
	start               time.Time
	pages, items, bytes int
}

const redrawInterval = 100 * time.Millisecond

// newProgress starts the progress line of a run, whose items may go to standard output. It
// returns nil if standard error is not a terminal, or if the flags or the level of the log
// rule it out.
func (a *app) newProgress(level slog.Level, items bool) *progress {
	if !isTerminal(a.stderr) || a.quiet || a.verbose || level < slog.LevelInfo || a.noProgress || a.logFormat == formatJSON {
		return nil
	}
	file := a.stderr.(*os.File)
	bar := progressbar.NewOptions(-1,
		progressbar.OptionSetWriter(file), progressbar.OptionSpinnerType(14), progressbar.OptionSetSpinnerChangeInterval(0),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetElapsedTime(false))
	p := &progress{
		w: file, bar: bar, end: make(chan struct{}), jobs: map[string]*jobProgress{}, shared: items && isTerminal(a.stdout),
	}
	go p.draw()
	return p
}

// draw redraws the line until the run ends.
func (p *progress) draw() {
	ticker := time.NewTicker(redrawInterval)
	defer ticker.Stop()
	for {
		select {
		case <-p.end:
			return
		case <-ticker.C:
		}
		p.mu.Lock()
		if !p.bar.IsFinished() && !p.paused {
			p.bar.Describe(p.line()) // draws, and turns the spinner
		}
		p.mu.Unlock()
	}
}

// line returns the text of the line.
func (p *progress) line() string {
	const usual = 80
	return p.lineFor(cmp.Or(widthOf(p.w), usual))
}

// lineFor returns the text of the line, with the details that fit the width.
func (p *progress) lineFor(width int) string {
	if p.last == nil {
		return "waiting for the first page"
	}
	const spinner = 4 // columns
	job := p.jobs[p.last.Job]
	rate := float64(job.items) / max(time.Since(job.start).Seconds(), 0.001)
	return fit(width-spinner, printable.Text(p.last.Job), ": "+wording.Counted(job.pages, "page"), p.part,
		", "+wording.Counted(job.items, "item"),
		", "+wording.Size(job.bytes), fmt.Sprintf(", %.0f items/s", rate), lastRule(p.last))
}

// fit joins a name, a text and as many details as fit the width. It shortens the name if even the text
// does not fit.
func fit(width int, name, text string, details ...string) string {
	room := max(width-utf8.RuneCountInString(text), 2)
	if utf8.RuneCountInString(name) > room {
		name = wording.Clip(name, room-1) // Clip adds an ellipsis
	}
	line := name + text
	for _, detail := range details {
		if utf8.RuneCountInString(line+detail) > width {
			break
		}
		line += detail
	}
	return line
}

// page counts a page of its job. If its items go to the same terminal, it clears the
// line until written is called.
func (p *progress) page(page *engine.Page) {
	p.locked(func() {
		job := p.jobs[page.Job]
		if job == nil {
			job = &jobProgress{start: time.Now()}
			p.jobs[page.Job] = job
		}
		job.pages, job.items, job.bytes = job.pages+1, job.items+page.Items.Len(), job.bytes+page.Bytes
		p.last = &engine.Page{Record: page.Record}
		if p.shared {
			p.paused = true
			_ = p.bar.Clear()
		}
	})
}

// locked calls f while the line is locked. It does nothing if p is nil.
func (p *progress) locked(f func()) {
	if p != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		f()
	}
}

// tasks records how far a run on many machines is.
func (p *progress) tasks(counts cluster.Progress) {
	p.locked(func() { p.part = fmt.Sprintf(", %d of %s", counts.Ended, wording.Counted(counts.Tasks, "partition")) })
}

// written is called when the items of a page have been written.
func (p *progress) written() {
	p.locked(func() { p.paused = false })
}

// lastRule returns the last rule of the job with its values, if they fit a line: the
// rule by which the method ends normally, or a rule of the user.
func lastRule(page *engine.Page) string {
	for _, v := range slices.Backward(page.Verdicts) {
		if v.Because != "" && len(v.Because) < 60 {
			return "; stops when " + printable.Text(v.Because)
		}
	}
	return ""
}

// Write clears the line and writes log lines.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.bar.Clear()
	return p.w.Write(text)
}

// done removes the line.
func (p *progress) done() {
	p.locked(func() {
		close(p.end)
		_ = p.bar.Finish()
	})
}
