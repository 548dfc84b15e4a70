package workbench

import (
	"context"
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/engine/workbench/internal/syntax"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A Lens is a line above a part of the text, which does something when it is chosen.
type Lens struct {
	Range Range  `json:"range"`
	Title string `json:"title"`
	Call  string `json:"call,omitempty"` // tests, stress or replay; "" if it only tells something
	Name  string `json:"name,omitempty"` // of a test or a job; "" means all
}

// Lenses returns the lenses of the text: tests to run, jobs to put under stress and, with a recording, where each
// list would stop now.
func (d *Document) Lenses(ctx context.Context) []Lens {
	lenses := []Lens{}
	root := d.outline().config()
	if tests := root.Member("tests"); tests != nil && tests.KeyStart >= 0 {
		lenses = append(lenses, Lens{Range: d.lines().span(tests.KeyStart, tests.KeyEnd), Title: "run the tests", Call: "tests"})
		for _, test := range tests.Inner {
			if name := test.Member("name"); name != nil && name.Text != "" {
				lenses = append(lenses, Lens{Range: d.firstOf(test), Title: "run this test", Call: "tests", Name: name.Text})
			}
		}
	}
	stops := d.stops(ctx)
	for _, job := range d.nameIndex().jobs {
		id := jobID(job)
		if id == "" {
			continue
		}
		if says := stops[id]; says != "" {
			lenses = append(lenses, Lens{Range: d.firstOf(job), Title: says, Call: "replay", Name: id})
		}
		lenses = append(lenses, Lens{Range: d.firstOf(job), Title: "stress", Call: "stress", Name: id})
	}
	return lenses
}

// firstOf returns the beginning of a part.
func (d *Document) firstOf(n *syntax.Node) Range { return d.lines().span(n.Start, n.Start) }

// stops says, by job, where the list would stop in the recording.
func (d *Document) stops(ctx context.Context) map[string]string {
	if d.Recording == nil {
		return nil
	}
	if _, current := d.engine(); !current {
		return nil
	}
	run, err := d.Run(ctx, FromRecording(), Limits{})
	if err != nil {
		return nil
	}
	texts := map[string]string{}
	pages, lists := map[string]int{}, map[string]int{}
	for _, p := range run.Pages {
		if p.Decision == trace.Stop {
			lists[p.Job]++
		}
		pages[p.Job]++
		switch {
		case p.Error != nil && strings.Contains(p.Error.Message, "the recording"):
			texts[p.Job] = fmt.Sprintf("would go on after page %d, where the recording ends", p.Page-1)
		case p.Error != nil:
			texts[p.Job] = fmt.Sprintf("would fail on page %d of the recording", p.Page)
		case p.Decision == trace.Stop:
			texts[p.Job] = fmt.Sprintf("would stop on page %d of the recording (%s)", p.Page, strings.Join(p.StoppedBy, ", "))
		}
	}
	for job, n := range lists {
		if n > 1 {
			texts[job] = fmt.Sprintf("%d lists in the recording, %d pages", n, pages[job])
		}
	}
	return texts
}
