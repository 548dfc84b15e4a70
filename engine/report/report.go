// Package report shows a trace to people: as a table in a terminal, and as one
// HTML page that needs nothing but itself.
package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime"
)

// Run is what a trace says of a run.
type Run struct {
	Name      string
	Jobs      []*Job
	Truncated bool // the last line ends in the middle: the run that wrote it was killed
}

// Job is one job's part of a run.
type Job struct {
	ID    string
	Pages []engine.Record
	Rules []Rule // in the order in which they are evaluated
}

// Rule is what became of one rule, page by page.
type Rule struct {
	ID     string
	Turned []int  // the pages on which it was met, and was not on the page before
	Last   string // its values on the last page that tells them
	Absent []string
}

// Read reads a trace as `stopwhen run --trace` writes it: a JSON object a page.
func Read(name string, r io.Reader) (*Run, error) {
	run := &Run{Name: name}
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		last := errors.Is(err, io.EOF)
		if err != nil && !last {
			return nil, err
		}
		if len(bytes.TrimSpace(line)) > 0 {
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
		if last {
			break
		}
	}
	if len(run.Jobs) == 0 {
		return nil, errors.New("no page in this trace")
	}
	for _, j := range run.Jobs {
		j.follow()
	}
	return run, nil
}

func (r *Run) add(page engine.Record) {
	at := slices.IndexFunc(r.Jobs, func(j *Job) bool { return j.ID == page.Job })
	if at < 0 {
		at = len(r.Jobs)
		r.Jobs = append(r.Jobs, &Job{ID: page.Job})
	}
	r.Jobs[at].Pages = append(r.Jobs[at].Pages, page)
}

// follow follows every rule through the pages.
func (j *Job) follow() {
	index := map[string]int{}
	met := map[string]bool{}
	for _, page := range j.Pages {
		for _, v := range page.Verdicts {
			i, known := index[v.Rule]
			if !known {
				i = len(j.Rules)
				index[v.Rule] = i
				j.Rules = append(j.Rules, Rule{ID: v.Rule})
			}
			if v.Met && !met[v.Rule] {
				j.Rules[i].Turned = append(j.Rules[i].Turned, page.Page)
			}
			met[v.Rule] = v.Met
			if v.Because != "" {
				j.Rules[i].Last, j.Rules[i].Absent = v.Because, v.Missing
			}
		}
	}
}

// Last is the last page.
func (j *Job) Last() engine.Record { return j.Pages[len(j.Pages)-1] }

// Ended tells whether the trace has the job's end. It has none of a job that
// failed or was interrupted after its last page, or runs still.
func (j *Job) Ended() bool { return j.Last().Decision == runtime.Stop }

// Items counts the items that the API sent and that were emitted.
func (j *Job) Items() int {
	n := 0
	for _, p := range j.Pages {
		if !p.Dropped {
			n += p.Count
		}
	}
	return n
}

// Bytes is the size of all pages as minified JSON.
func (j *Job) Bytes() int {
	n := 0
	for _, p := range j.Pages {
		n += p.Bytes
	}
	return n
}

// Took is the time from the first request to the end of the last page.
func (j *Job) Took() time.Duration {
	end := int64(0)
	for _, p := range j.Pages {
		end = max(end, p.At+p.Millis)
	}
	return time.Duration(end) * time.Millisecond
}

// Attempts counts the requests, with those that were repeated.
func (j *Job) Attempts() int {
	n := 0
	for _, p := range j.Pages {
		n += max(p.Attempts, 1)
	}
	return n
}

// Sentence says how the job ended.
func (j *Job) Sentence() string {
	last := j.Last()
	if !j.Ended() {
		return fmt.Sprintf("no end in this trace: the job failed or was interrupted after page %d, or runs still", last.Page)
	}
	return fmt.Sprintf("stopped on page %d by %s", last.Page, strings.Join(last.StoppedBy, " and "))
}

// target is a request without the origin that the first page's has.
func (j *Job) target(p engine.Record) string {
	origin := origin(j.Pages[0].Request.URL)
	return strings.TrimPrefix(p.Request.URL, origin)
}

func origin(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return ""
	}
	host, _, _ := strings.Cut(rest, "/")
	return scheme + "://" + host
}

// duration is a time for people.
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
