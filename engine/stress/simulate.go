package stress

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// simulationVersion is the version of a [Simulation] as JSON.
const simulationVersion = 1

// A Simulation is one run of a job against its model, page by page.
type Simulation struct {
	Version int            `json:"version"` // of the JSON; keys may be added to a version
	Job     string         `json:"job"`
	Spec    string         `json:"spec"`              // what was simulated, as it was given
	Model   []string       `json:"model,omitempty"`   // what the API does, in sentences
	Unknown string         `json:"unknown,omitempty"` // why nothing was simulated
	Pages   []trace.Record `json:"pages"`             // also the one that the job failed on
	Result  *Row           `json:"result,omitempty"`  // nil: nothing was simulated

	guards []string // ids of the rules that are guards
}

// Simulate runs the job of an id. The error is that of the context, or says that there is no
// such job.
func (s *Suite) Simulate(ctx context.Context, id string, spec Spec) (*Simulation, error) {
	i := slices.IndexFunc(s.Jobs, func(job *compile.Job) bool { return job.Set.Job.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("the configuration has no job %q", id)
	}
	job := s.Jobs[i]
	sim := &Simulation{Version: simulationVersion, Job: id, Spec: spec.text, Pages: []trace.Record{}}
	for _, stop := range job.Stops {
		if stop.Rule.Guard {
			sim.guards = append(sim.guards, stop.Rule.ID)
		}
	}
	binding := sample(job)
	_, p, err := s.modelled(ctx, job, binding, nil)
	if err != nil {
		sim.Unknown = err.Error()
		return sim, ctx.Err()
	}
	p.unlimited = false // the run has the limits of the configuration
	sim.Model = p.sentences()
	if sim.Unknown = spec.all.missing(p); sim.Unknown != "" {
		sim.Unknown = spec.text + " cannot happen: " + sim.Unknown
		return sim, nil
	}
	t := s.under(ctx, p, listed(job, false), binding, spec.all, 0)
	result := s.row(t, spec.all)
	sim.Pages, sim.Result = append(sim.Pages, t.pages...), &result
	if failed := t.end.FailedPage; failed != nil {
		sim.Pages = append(sim.Pages, *failed)
	}
	return sim, ctx.Err()
}

// Text returns the simulation for people: each page with its request and what the rules said
// of it. Guards that are not met are left out, unless all rules are wanted.
func (s *Simulation) Text(o TextOptions) string {
	t := newTextWriter(o)
	t.paragraph(0, "job "+s.Job)
	if s.Unknown != "" {
		t.paragraph(4, "It was not simulated: "+s.Unknown+".")
		return t.String()
	}
	t.model(s.Model)
	t.paragraph(4, "What it does: "+s.Result.Says)
	for i := range s.Pages {
		s.page(t, &s.Pages[i])
	}
	r := s.Result
	t.WriteString("\n")
	t.paragraph(0, fmt.Sprintf("%s: %s", t.coloured(colours[r.Verdict], string(r.Verdict)), r.numbers()))
	t.paragraph(4, "The run "+r.Ending())
	if len(r.Findings) > 0 {
		t.paragraph(4, "findings: "+r.findings())
	}
	return t.String()
}

// page writes what was requested, and the rules that were evaluated.
func (s *Simulation) page(t *textWriter, p *trace.Record) {
	t.WriteString("\n")
	t.labelled(0, fmt.Sprintf("page %d  ", p.Page), p.Request.Method+" "+p.Request.URL)
	if len(p.Request.Body) > 0 {
		t.paragraph(8, string(p.Request.Body))
	}
	status := ""
	if p.Attempts > 1 {
		status = fmt.Sprintf(" after %d attempts", p.Attempts)
	}
	t.paragraph(8, fmt.Sprintf("status %d%s, %s", p.Status, status, value.Counted(p.Count, "item")))
	shown := slices.DeleteFunc(slices.Clone(p.Verdicts), func(v trace.Verdict) bool {
		return !t.All && !v.Met && slices.Contains(s.guards, v.Rule)
	})
	width := 0
	for _, v := range shown {
		width = max(width, len(v.Rule))
	}
	for _, v := range shown {
		word := "not met  "
		if v.Met {
			word = t.padded("met", Reported, 9)
		}
		t.WriteString(strings.Repeat(" ", 8) + word)
		t.rule(v, width)
	}
	switch {
	case p.Error != nil:
		t.paragraph(8, "fails: "+p.Error.Message)
	case p.Decision == trace.Stop:
		t.paragraph(8, "stops: "+strings.Join(p.StoppedBy, ", "))
	}
}

// rule writes what a rule said, next to its id or, if it is long, below it.
func (t *textWriter) rule(v trace.Verdict, width int) {
	const column = 17
	lines := value.Wrap(v.Because, t.Width-column-width-2)
	if len(lines) > 1 && width > 20 {
		t.WriteString(v.Rule + "\n")
		t.paragraph(column+2, v.Because)
		return
	}
	for i, line := range lines {
		name := v.Rule
		if i > 0 {
			name = strings.Repeat(" ", column)
		}
		fmt.Fprintf(t, "%-*s  %s\n", width+min(i, 1)*column, name, line)
	}
}
