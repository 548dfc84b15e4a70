package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime"
)

// Replayed is what a configuration makes of a recording.
type Replayed struct {
	Jobs     []Job         `json:"jobs"`
	Requests []string      `json:"requests"`           // all that it makes, in order
	Unplayed []string      `json:"unplayed,omitempty"` // of the recording, that it does not make
	Missing  string        `json:"missing,omitempty"`  // the first request that was not recorded; the run ends there
	Took     time.Duration `json:"-"`                  // by the recording's clock
	Seconds  float64       `json:"seconds"`
	Err      error         `json:"-"` // of the run
}

// Job is what a configuration makes of a recording in one job.
type Job struct {
	engine.JobResult
	Because []string `json:"because,omitempty"` // what decided on the last page, with the values
	items   []item
}

// item is an item of a page.
type item struct {
	text string
	page int
}

// Replay runs a configuration against a recording. The result is there whatever
// the error, which is that of the run.
func Replay(ctx context.Context, e *engine.Engine, r *Recording) (*Replayed, error) {
	player := r.NewPlayer(e.Redactor())
	began := player.Now()
	e = e.With(engine.WithTransport(player), engine.WithClock(player), engine.WithVerdicts())
	of := map[string]*Job{}
	result, err := e.Run(ctx, func(_ context.Context, page *engine.Page) error {
		job := of[page.Job]
		if job == nil {
			job = &Job{}
			of[page.Job] = job
		}
		job.Because = because(page)
		for raw := range page.Items.All() {
			job.items = append(job.items, item{string(bytes.TrimSpace(raw)), page.Page})
		}
		return nil
	})
	out := &Replayed{Requests: player.Asked(), Unplayed: player.Unplayed(), Missing: player.Missing(), Took: player.Now().Sub(began), Err: err}
	out.Seconds = out.Took.Seconds()
	for _, j := range result.Jobs {
		job := Job{JobResult: j}
		if seen := of[j.Job]; seen != nil {
			job.Because, job.items = seen.Because, seen.items
		}
		out.Jobs = append(out.Jobs, job)
	}
	return out, err
}

// because says which rules were met on a page, with the values that decided it.
func because(page *engine.Page) []string {
	if page.Decision == runtime.Continue {
		return nil
	}
	var out []string
	for _, v := range page.Met() {
		out = append(out, v.Rule+": "+v.Because)
	}
	return out
}

// Comparison is what one configuration makes of a job and another does not.
type Comparison struct {
	Job   string `json:"job"`
	Pages int    `json:"pages"` // more that the other obtains; less than 0: fewer
	Same  int    `json:"same"`  // items that both obtain
	Lost  []Item `json:"lost"`  // items that the other lacks, each as often as it lacks it
	Added []Item `json:"added"` // items that the other has beside, each as often
}

// Item is an item that one of two configurations obtains.
type Item struct {
	Page int             `json:"page"` // on which it came
	Text json.RawMessage `json:"item"` // its bytes
}

// Compare compares the items that two configurations make of a recording, job by
// job, whatever their order: an item that comes twice counts twice.
func Compare(one, other *Replayed) []Comparison {
	var out []Comparison
	for _, job := range one.Jobs {
		c := Comparison{Job: job.JobResult.Job, Lost: []Item{}, Added: []Item{}}
		counterpart := Job{}
		for _, j := range other.Jobs {
			if j.JobResult.Job == c.Job {
				counterpart = j
			}
		}
		c.Pages = counterpart.Pages - job.Pages
		c.Lost = beyond(job.items, counterpart.items)
		c.Added = beyond(counterpart.items, job.items)
		c.Same = len(job.items) - len(c.Lost)
		out = append(out, c)
	}
	for _, job := range other.Jobs {
		known := false
		for _, c := range out {
			known = known || c.Job == job.JobResult.Job
		}
		if !known {
			out = append(out, Comparison{Job: job.JobResult.Job, Pages: job.Pages, Lost: []Item{}, Added: beyond(job.items, nil)})
		}
	}
	return out
}

// beyond lists the items of a that b does not have, or not as often.
func beyond(a, b []item) []Item {
	left := map[string]int{}
	for _, i := range b {
		left[i.text]++
	}
	out := []Item{}
	for _, i := range a {
		if left[i.text]--; left[i.text] < 0 {
			out = append(out, Item{Page: i.page, Text: json.RawMessage(i.text)})
		}
	}
	return out
}
