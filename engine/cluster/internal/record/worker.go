package record

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// A Worker is what the server knows of a worker.
type Worker struct {
	Host    string    `json:"host"`
	Started time.Time `json:"started"`
	Slots   int       `json:"slots"`
	Running []Task    `json:"running,omitempty"`
	Done    int       `json:"done"` // tasks

	Problems map[string]string `json:"problems,omitempty"` // why it cannot run runs, by their ids
	Full     []string          `json:"full,omitempty"`     // runs whose pages wait, since the server has no room for them
}

// Problem returns why the worker cannot run a run or, without its id, one of them.
func (w *Worker) Problem(run string) string {
	if run != "" {
		return w.Problems[run]
	}
	for _, id := range slices.Sorted(maps.Keys(w.Problems)) {
		return fmt.Sprintf("run %s: %s", id, w.Problems[id])
	}
	return ""
}

// A Task is a task that a worker runs.
type Task struct {
	Run        string `json:"run"`
	Submission string `json:"submission"`    // of the run
	Job        string `json:"job,omitempty"` // empty: the task has not been read
	Task       string `json:"task"`
	Search     bool   `json:"search,omitempty"` // it finds values of a variable
	Label      string `json:"label,omitempty"`  // of its partition, for people
}
