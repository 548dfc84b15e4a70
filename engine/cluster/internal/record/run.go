package record

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/cluster/internal/store"
	"github.com/stopwhen/stopwhen/engine/cluster/status"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime/partition"
)

// A Run is the record of a run on the server, without its pages. It contains no secrets.
type Run struct {
	Version     int                       `json:"version"`
	Run         string                    `json:"run"`
	Submission  string                    `json:"submission"` // distinguishes the run from deleted runs with the same name
	Phase       status.Phase              `json:"phase"`
	Deleted     bool                      `json:"deleted,omitempty"` // whether the rest of the run can only be deleted
	Name        string                    `json:"name"`              // name of the configuration
	Config      string                    `json:"config"`            // hash of the text of the configuration
	Fingerprint map[string]string         `json:"fingerprint"`
	Program     string                    `json:"program,omitempty"` // name and version of the program that submitted the run
	Started     time.Time                 `json:"started"`
	Origin      string                    `json:"origin"` // token of the origin
	Address     string                    `json:"address,omitempty"`
	Parallel    int                       `json:"parallel,omitempty"` // maximum number of requests in flight; 0 means no limit
	Jobs        []string                  `json:"jobs,omitempty"`     // selected jobs; empty for all jobs
	Outlines    []partition.Outline       `json:"outlines,omitempty"` // outlines of the jobs that run
	Whole       bool                      `json:"whole,omitempty"`    // whether one task runs all jobs
	Inputs      map[string]any            `json:"inputs,omitempty"`
	Env         []string                  `json:"env,omitempty"`     // names of the environment variables that workers need
	Secrets     []string                  `json:"secrets,omitempty"` // names of the secret inputs that workers need
	Kept        map[string]map[string]any `json:"kept,omitempty"`
	Dialect     rules.Dialect             `json:"dialect,omitempty"`
	BaseURL     string                    `json:"baseUrl,omitempty"`
	MaxPages    int                       `json:"maxPages,omitempty"`
	MaxBytes    int64                     `json:"maxBytes,omitempty"`
	Releases    string                    `json:"releases,omitempty"` // ID of the collection that releases pages
	Priority    int                       `json:"priority,omitempty"` // number of turns; 0 means 1
	Patience    time.Duration             `json:"patience,omitempty"` // how long failures that may pass are tried again; 0 means the default
}

// RunVersion is the version of the record of a run.
const RunVersion = 2

// Queue returns the queue of the run.
func (r *Run) Queue() store.Queue { return store.Queue{Origin: r.Origin, Run: r.Run} }

// Options returns the options with which all machines compile the configuration.
func (r *Run) Options() []engine.Option {
	return []engine.Option{
		engine.WithDialect(r.Dialect), engine.WithBaseURL(r.BaseURL), engine.WithMaxPages(r.MaxPages),
		engine.WithInputs(r.Inputs), engine.WithJobs(r.Jobs...), engine.WithKept(r.Kept),
	}
}

// AllJobs stands for the job in the subject of a task that runs all jobs.
const AllJobs = "_all"

// Key returns the key of a task.
func (r *Run) Key(task partition.Task) store.Key {
	job := task.Job
	if job == "" {
		job = AllJobs
	}
	return store.Key{Run: r.Run, Submission: r.Submission, Job: job, Task: task.ID}
}

// IsSearch reports whether a task searches for values of a variable. Other tasks list a partition
// or run all jobs.
func (r *Run) IsSearch(task partition.Task) bool {
	return slices.ContainsFunc(r.Outlines, func(o partition.Outline) bool { return o.Job == task.Job && task.Level < o.Variables })
}

// WorkerHint returns the call and the command that start a worker for the run, for use in messages.
func (r *Run) WorkerHint() remedy.Name {
	needs := lists.Map(r.Secrets, remedy.InputValue.Of)
	if len(r.Env) > 0 {
		needs = slices.Insert(needs, 0, remedy.Env.Of(strings.Join(r.Env, ",")))
	}
	return remedy.Work.With(needs...)
}

// A Worker is the record of a worker on the server.
type Worker struct {
	Host    string        `json:"host"`
	Started time.Time     `json:"started"`
	Slots   int           `json:"slots"`
	Running []RunningTask `json:"running,omitempty"`
	Done    int           `json:"done"` // number of tasks done

	Problems map[string]string `json:"problems,omitempty"` // reasons why it cannot run a run, by the ID of the run
	Full     []string          `json:"full,omitempty"`     // runs whose pages wait because the server has no room for them
	Cannot   []string          `json:"cannot,omitempty"`   // runs that the worker cannot run, because it lacks a variable
	Served   []string          `json:"served,omitempty"`   // origins that have sent it pages lately
}

// Problem returns why the worker cannot run the given run, or one of its runs if run is "".
func (w *Worker) Problem(run string) string {
	if run != "" {
		return w.Problems[run]
	}
	for _, id := range slices.Sorted(maps.Keys(w.Problems)) {
		return fmt.Sprintf("run %s: %s", id, w.Problems[id])
	}
	return ""
}

// A RunningTask is a task that a worker is running.
type RunningTask struct {
	Run        string `json:"run"`
	Submission string `json:"submission"`    // submission of the run
	Job        string `json:"job,omitempty"` // empty if the task has not been read
	Task       string `json:"task"`
	Search     bool   `json:"search,omitempty"`  // whether it searches for values of a variable
	Label      string `json:"label,omitempty"`   // label of its partition for users
	RetryOf    uint64 `json:"retryOf,omitempty"` // sequence of the failure marker that it retries; 0 if it retries none
}

// Tree returns the jobs of the run, parents before their children. If one task runs all jobs, they
// count as one.
func (r *Run) Tree() []partition.Outline {
	if r.Whole {
		return []partition.Outline{{Job: AllJobs}}
	}
	return r.Outlines
}
