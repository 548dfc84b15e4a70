package workbench

import (
	"github.com/stopwhen/stopwhen/engine/shape"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Items are the items of a job in a [Run], as a whole.
type Items struct {
	Job    string       `json:"job"`
	Count  int          `json:"count"`  // number of items that the run shows
	Paths  []ReadPath   `json:"paths"`  // the paths in them, with types, counts and samples
	Schema value.Object `json:"schema"` // JSON Schema to which they conform
}

// Items returns the shape of the items that a job has written in the run.
func (r *Run) Items(job string) *Items {
	var s shape.Shape
	out := &Items{Job: job}
	readers := Readers{}
	for i, p := range r.Pages {
		if p.Job != job {
			continue
		}
		readers = r.responses[i].readers
		out.Count += len(p.Items)
		for _, item := range p.Items {
			_ = s.Add(item) // it is valid
		}
	}
	out.Paths, out.Schema = readers.Paths(&shape.Shape{
		Types: shape.List, Count: 1, Lists: 1, Longest: out.Count, Element: &s,
	}, true), s.Schema()
	return out
}
