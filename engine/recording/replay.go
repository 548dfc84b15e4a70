package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A Replayed is the result of running a configuration against a recording.
type Replayed struct {
	Jobs []Job `json:"jobs"`
	Played
	Took    time.Duration `json:"-"`       // running time by the clock of the recording
	Seconds float64       `json:"seconds"` // Took in seconds
	Err     error         `json:"-"`       // error of the run; nil if it succeeded
}

// A Job is the result of one job.
type Job struct {
	engine.JobResult
	Because []string `json:"because,omitempty"` // the rules met on last pages, with the values that decided them, each once
	items   []Item
}

// Replay runs a configuration against a recording. The error is the error of
// the run; the result is valid even if it is not nil.
func Replay(ctx context.Context, e *engine.Engine, r *Recording) (*Replayed, error) {
	player := r.NewPlayer(e.Redactor())
	start := player.Now()
	e = player.Play(e).With(engine.WithVerdictValues(),
		engine.WithAccept(engine.JobResult.Ended)) // the findings are part of the result
	jobs := map[string]Job{}
	result, err := e.Run(ctx, func(_ context.Context, page *engine.Page) error {
		job := jobs[page.Job]
		job.add(page)
		jobs[page.Job] = job
		return nil
	})
	took := player.Now().Sub(start)
	out := &Replayed{Played: player.Played(), Took: took, Seconds: took.Seconds(), Err: err}
	for _, r := range result.Jobs {
		job := jobs[r.Job]
		job.JobResult = r
		out.Jobs = append(out.Jobs, job)
	}
	return out, err
}

// add adds the parts of a page that comparisons and reports need.
func (j *Job) add(page *engine.Page) {
	if page.Decision == trace.Stop {
		for _, v := range page.Met() {
			if met := v.Rule + ": " + v.Because; !slices.Contains(j.Because, met) {
				j.Because = append(j.Because, met)
			}
		}
	}
	for raw := range page.Items.All() {
		j.items = append(j.items, Item{page.Page, bytes.Clone(bytes.TrimSpace(raw))})
	}
}

// A Comparison compares the items of one job under two configurations.
type Comparison struct {
	Job   string `json:"job"`
	Pages int    `json:"pages"` // number of pages of the second configuration minus the number of the first
	Same  int    `json:"same"`  // number of items that both extract
	Lost  []Item `json:"lost"`  // items that only the first extracts, or extracts more often
	Added []Item `json:"added"` // items that only the second extracts, or extracts more often
}

// An Item is an item that one of two configurations extracts.
type Item struct {
	Page int             `json:"page"`
	Text json.RawMessage `json:"item"`
}

// Compare compares the items that two configurations extract from a recording,
// job by job. The order of items does not matter; an item that occurs twice
// counts twice.
func Compare(first, second *Replayed) []Comparison {
	var out []Comparison
	for _, job := range first.Jobs {
		out = append(out, compareJobs(job, second.job(job.JobResult.Job)))
	}
	for _, job := range second.Jobs {
		if !slices.ContainsFunc(first.Jobs, func(j Job) bool { return j.JobResult.Job == job.JobResult.Job }) {
			out = append(out, compareJobs(Job{JobResult: engine.JobResult{Job: job.JobResult.Job}}, job))
		}
	}
	return out
}

// job returns the job with an id, or an empty one.
func (r *Replayed) job(id string) Job {
	for _, job := range r.Jobs {
		if job.JobResult.Job == id {
			return job
		}
	}
	return Job{}
}

func compareJobs(first, second Job) Comparison {
	lost := subtract(first.items, second.items)
	return Comparison{
		Job: first.JobResult.Job, Pages: second.Pages - first.Pages, Same: len(first.items) - len(lost),
		Lost: lost, Added: subtract(second.items, first.items),
	}
}

// subtract lists the items of a that b does not have, or does not have as often.
func subtract(a, b []Item) []Item {
	count := map[string]int{}
	for _, i := range b {
		count[string(i.Text)]++
	}
	out := []Item{}
	for _, i := range a {
		if count[string(i.Text)]--; count[string(i.Text)] < 0 {
			out = append(out, i)
		}
	}
	return out
}
