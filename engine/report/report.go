package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Run is the content of a trace.
type Run struct {
	Name         string
	Jobs         []*Job
	Truncated    bool // the last line is incomplete: the run that wrote it was killed
	ShowVerdicts bool // [Run.Text] lists the verdicts of every page
}

// A Rule is the history of one rule over the pages of a partition.
type Rule struct {
	ID         string
	BecameTrue []int    // the pages on which it was true after a page on which it was not
	Because    string   // its expression with the values of the last page that has them
	Missing    []string // paths that it reads and that page does not have

	places []int // indexes of the pages of BecameTrue among the pages of the partition
}

// Read reads a trace of `stopwhen run --trace`: one JSON object per page.
func Read(name string, r io.Reader) (*Run, error) {
	run := &Run{Name: name}
	failed := "" // the job that ended the run, if the last page says so
	lines := bufio.NewReader(r)
	for n, last := 1, false; !last; n++ {
		line, err := readLine(lines)
		last = errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		page, err := parse(line)
		switch {
		case err != nil && last && n > 1:
			run.Truncated = true
		case err != nil:
			return nil, fmt.Errorf("line %d is not a page of a trace: %w", n, err)
		case page.Job == "" || page.Page == 0 || page.Decision == "":
			return nil, fmt.Errorf("line %d is not a page of a trace: job, page or decision is missing", n)
		default:
			run.add(page)
			if failed = ""; page.Error != nil && !page.Skipped {
				failed = page.Job
			}
		}
	}
	if len(run.Jobs) == 0 {
		return nil, errors.New("the trace has no pages")
	}
	for _, j := range run.Jobs {
		j.end()
		for _, p := range j.Partitions {
			p.failed = failed
		}
	}
	run.setLabels()
	return run, nil
}

// parse reads a line. The values of variables keep their digits.
func parse(line []byte) (page engine.Record, err error) {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	if err = dec.Decode(&page); err != nil {
		return page, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return page, errors.New("something follows the object")
	}
	return page, nil
}

// maxLine is the length of the longest line of a trace, in bytes.
const maxLine = 16 << 20

// readLine reads a line with its newline, which the last line may lack.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		piece, err := r.ReadSlice('\n')
		line = append(line, piece...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
		if len(line) > maxLine {
			return nil, fmt.Errorf("it has a line of more than %d bytes, so it is not a trace", maxLine)
		}
	}
}

func (r *Run) add(page engine.Record) {
	i := slices.IndexFunc(r.Jobs, func(j *Job) bool { return j.ID == page.Job })
	if i < 0 {
		i = len(r.Jobs)
		r.Jobs = append(r.Jobs, &Job{ID: page.Job})
	}
	r.Jobs[i].add(page)
}

// remarks lists the unusual facts about a page.
func remarks(p engine.Record) []string {
	var out []string
	for _, r := range p.Restarts {
		out = append(out, fmt.Sprintf("restarted by %s after page %d had status %d", r.Rule, r.Page, r.Status))
	}
	if p.Attempts > 1 {
		out = append(out, fmt.Sprintf("%d attempts", p.Attempts))
	}
	for _, w := range p.Waits {
		out = append(out, waited(w))
	}
	if p.RepeatOf > 0 {
		out = append(out, fmt.Sprintf("repeats page %d", p.RepeatOf))
	}
	if p.Dropped {
		out = append(out, "items not written")
	}
	return out
}

// waited describes a wait.
func waited(w trace.Wait) string {
	text := "waited " + duration(w.Millis)
	switch {
	case w.For == transport.EventRetry:
	case w.Source == runtime.SourceAfter:
		return text + " (" + w.Source + ")"
	default:
		return text + " for the rate limit (" + w.Source + ")"
	}
	if w.Source != "" && w.Source != transport.SourceBackoff {
		text += " (" + w.Source + ")"
	}
	if cause, _, _ := strings.Cut(w.Cause, ";"); cause != "" {
		text += " after " + wording.Clip(cause, 80)
	}
	return text
}

// PagesText lists the pages on which the rule became true: at most three of
// them, or "never".
func (r Rule) PagesText() string {
	const shown = 3
	pages := make([]string, 0, shown+1)
	for i, n := range r.BecameTrue {
		if i == shown {
			pages = append(pages, "…")
			break
		}
		pages = append(pages, strconv.Itoa(n))
	}
	switch len(pages) {
	case 0:
		return "never"
	case 1:
		return "page " + pages[0]
	}
	return "pages " + strings.Join(pages, ", ")
}

// Values returns the expression of the rule with its values on the last page.
func (r Rule) Values() string {
	if len(r.Missing) == 0 {
		return r.Because
	}
	return r.Because + " (missing: " + strings.Join(r.Missing, ", ") + ")"
}

// duration writes milliseconds for people.
func duration(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
