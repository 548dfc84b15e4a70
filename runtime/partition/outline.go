package partition

import (
	"slices"

	"github.com/stopwhen/stopwhen/compile"
)

// An Outline describes the place of a job in the tree of jobs.
type Outline struct {
	Job       string `json:"job"`
	Parent    string `json:"parent,omitempty"`    // ID of the parent; empty for a root
	Variables int    `json:"variables,omitempty"` // number of its own variables
}

// Outlines returns the outlines of the selected jobs and their ancestors in the trees with these
// roots, parents before their children.
func Outlines(roots, selected []*compile.Job) []Outline {
	var outlines []Outline
	var add func(*compile.Job) bool
	add = func(job *compile.Job) bool {
		place := len(outlines)
		outlines = append(outlines, Outline{Job: job.ID(), Variables: len(job.For)})
		if job.Parent != nil {
			outlines[place].Parent = job.Parent.ID()
		}
		runs := slices.Contains(selected, job)
		for _, child := range job.Children {
			runs = add(child) || runs
		}
		if !runs {
			outlines = outlines[:place]
		}
		return runs
	}
	for _, root := range roots {
		add(root)
	}
	return outlines
}
