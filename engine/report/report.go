// Package report shows the trace of a run: as tables in a terminal, and as a
// self-contained HTML page.
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
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime"
)

// A Run is the content of a trace.
type Run struct {
	Name      string
	Jobs      []*Job
	Truncated bool // the last line is incomplete: the run that wrote it was killed
	Verdicts  bool // [Run.Text] lists the verdicts of every page
}

// A Job is the part of a run that belongs to one job.
type Job struct {
	ID    string
	Pages []engine.Record // also the page on which the job failed, if it did
	Rules []Rule          // in the order in which they are evaluated
}

// A Rule is the history of one rule over the pages of a job.
type Rule struct {
	ID         string
	BecameTrue []int    // the pages on which it was true after a page on which it was not
	Because    string   // its expression with the values of the last page that has them
	Missing    []string // paths that it reads and that page does not have

	places []int // of the pages of BecameTrue in those of the job
}

// Read reads a trace of `stopwhen run --trace`: one JSON object per page.
func Read(name string, r io.Reader) (*Run, error) {
	run := &Run{Name: name}
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
		var page engine.Record
		switch err := json.Unmarshal(line, &page); {
		case err != nil && last && n > 1:
			run.Truncated = true
		case err != nil:
			return nil, fmt.Errorf("line %d is not a page of a trace: %w", n, err)
		case page.Job == "" || page.Page == 0 || page.Decision == "":
			return nil, fmt.Errorf("line %d is not a page of a trace: job, page or decision is missing", n)
		default:
			run.add(page)
		}
	}
	if len(run.Jobs) == 0 {
		return nil, errors.New("the trace has no pages")
	}
	for _, j := range run.Jobs {
		j.followRules()
	}
	return run, nil
}

// maxLine is the length of the longest line of a trace, in bytes.
const maxLine = 16 << 20

// readLine reads a line with its newline, which the last line may lack.
func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		piece, err := r.ReadSlice('\n')
		if line = append(line, piece...); !errors.Is(err, bufio.ErrBufferFull) {
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
	r.Jobs[i].Pages = append(r.Jobs[i].Pages, page)
}

// followRules derives the history of every rule from the verdicts.
func (j *Job) followRules() {
	index := map[string]int{}
	met := map[string]bool{}
	for place, page := range j.Pages {
		for _, v := range page.Verdicts {
			i, known := index[v.Rule]
			if !known {
				i = len(j.Rules)
				index[v.Rule] = i
				j.Rules = append(j.Rules, Rule{ID: v.Rule})
			}
			rule := &j.Rules[i]
			if v.Met && !met[v.Rule] {
				rule.BecameTrue, rule.places = append(rule.BecameTrue, page.Page), append(rule.places, place)
			}
			met[v.Rule] = v.Met
			if v.Because != "" {
				rule.Because, rule.Missing = v.Because, v.Missing
			}
		}
	}
}

// Last returns the last page.
func (j *Job) Last() engine.Record { return j.Pages[len(j.Pages)-1] }

// Ended reports whether the trace has the end of the job. The end is missing if the run
// was killed, or is still running.
func (j *Job) Ended() bool { return j.Last().Decision == runtime.Stop }

// Failed returns the error that ended the job, or nil.
func (j *Job) Failed() *runtime.Fault { return j.Last().Error }

// Fetched returns how many pages were fetched.
func (j *Job) Fetched() int {
	n := 0
	for _, p := range j.Pages {
		if !missing(p) {
			n++
		}
	}
	return n
}

// missing reports whether the request of a page failed, or its response was no page.
func missing(p engine.Record) bool { return p.Error != nil && len(p.Verdicts) == 0 }

// Items returns how many items were written.
func (j *Job) Items() int {
	n := 0
	for _, p := range j.Pages {
		if !p.Dropped {
			n += p.Count
		}
	}
	return n
}

// Bytes returns the size of all pages as minified JSON.
func (j *Job) Bytes() int {
	n := 0
	for _, p := range j.Pages {
		n += p.Bytes
	}
	return n
}

// Took returns the time from the first request to the end of the last page.
func (j *Job) Took() time.Duration {
	end := int64(0)
	for _, p := range j.Pages {
		end = max(end, p.At+p.Millis)
	}
	return time.Duration(end) * time.Millisecond
}

// Requests returns how many requests were made, retries and those before a restart
// included.
func (j *Job) Requests() int {
	n := 0
	for _, p := range j.Pages {
		n += max(p.Attempts, 1)
		for _, r := range p.Restarts {
			n += max(r.Attempts, 1)
		}
	}
	return n
}

// Ending describes how the job ended.
func (j *Job) Ending() string {
	last := j.Last()
	switch {
	case !j.Ended():
		return fmt.Sprintf("the trace has no end: the run was killed after page %d, or is still running", last.Page)
	case last.Error != nil:
		return fmt.Sprintf("failed on page %d", last.Page)
	}
	text := fmt.Sprintf("stopped on page %d by %s", last.Page, reason(last))
	if also := slices.DeleteFunc(slices.Clone(last.StoppedBy), func(id string) bool { return id == reason(last) }); len(also) > 0 {
		text += fmt.Sprintf(" (%s also matched)", strings.Join(also, ", "))
	}
	return text
}

// reason returns the rule that decided about the last page. Older traces do not name it.
func reason(p engine.Record) string {
	if p.Reason == "" && len(p.StoppedBy) > 0 {
		return p.StoppedBy[0]
	}
	return p.Reason
}

// target returns the address of a request, without the origin of the first page.
func (j *Job) target(p engine.Record) string {
	return strings.TrimPrefix(p.Request.URL, origin(j.Pages[0].Request.URL))
}

func origin(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return ""
	}
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
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
	if p.Repeats > 0 {
		out = append(out, fmt.Sprintf("repeats page %d", p.Repeats))
	}
	if p.Dropped {
		out = append(out, "items not written")
	}
	return out
}

// waited describes a wait.
func waited(w runtime.Wait) string {
	text := "waited " + duration(w.Millis)
	switch {
	case w.For == "retry":
	case w.Source == runtime.SourceAfter:
		return text + " (" + w.Source + ")"
	default:
		return text + " for the rate limit (" + w.Source + ")"
	}
	if w.Source != "" && w.Source != "backoff" {
		text += " (" + w.Source + ")"
	}
	if cause, _, _ := strings.Cut(w.Cause, ";"); cause != "" {
		text += " after " + value.Clip(cause, 80)
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
