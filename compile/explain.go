package compile

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// Explanation is the dump of a compiled configuration: as JSON for programs, by
// [Explanation.String] for people. Both are stable.
type Explanation struct {
	Config  string           `json:"config,omitempty"` // file name
	Dialect string           `json:"dialect"`
	Jobs    []JobExplanation `json:"jobs"`
}

// JobExplanation describes how one job is paged.
type JobExplanation struct {
	Job           string            `json:"job"`
	Method        string            `json:"method,omitempty"`   // empty: one request, no paging
	Scroller      string            `json:"scroller,omitempty"` // with method multiple
	Summary       string            `json:"summary"`            // one English sentence
	First         FirstRequest      `json:"firstRequest"`
	Limit         any               `json:"limit,omitempty"` // page size in force
	LimitFrom     *rules.Origin     `json:"limitFrom,omitempty"`
	State         []RuleExplanation `json:"state,omitempty"`
	Next          []RuleExplanation `json:"nextRequest,omitempty"`
	IncludeParams bool              `json:"includeParams"`        // the job's params are sent with every request
	Sequential    string            `json:"sequential,omitempty"` // why no page can be asked for before the one in front of it has come; empty: it can (--prefetch)
	Stops         []RuleExplanation `json:"stops,omitempty"`
	OnError       []RuleExplanation `json:"onError,omitempty"`
	Keep          []RuleExplanation `json:"keep,omitempty"`  // for the next run
	Audit         []RuleExplanation `json:"audit,omitempty"` // signs that a complete list is not whole
}

// FirstRequest is what a job asks for first. The values of headers are left out.
type FirstRequest struct {
	Method  string   `json:"method"`
	URL     string   `json:"url"`
	Headers []string `json:"headers,omitempty"`
	Body    string   `json:"body,omitempty"`
}

// RuleExplanation is one rule.
type RuleExplanation struct {
	ID      string        `json:"id"`
	Source  string        `json:"source"`
	Reads   []string      `json:"reads,omitempty"`
	Outcome rules.Outcome `json:"outcome,omitempty"`
	Do      string        `json:"do,omitempty"`   // of an onError rule
	Drop    bool          `json:"drop,omitempty"` // the page's items are not emitted
	Says    string        `json:"says"`
	Origin  rules.Origin  `json:"origin"`

	First     bool `json:"first,omitempty"`     // of the next request: the first request has it too
	FirstOnly bool `json:"firstOnly,omitempty"` // of the next request: not of it, the first request alone has it
	Guard     bool `json:"guard,omitempty"`

	Bound *Bound `json:"bound,omitempty"` // of a stop: it is met at the latest then; nil: the responses decide

	target string
}

// Explain describes compiled jobs. All text goes through redact.
func Explain(cfg *rules.Config, jobs []*Job, redact func(string) string) *Explanation {
	e := &Explanation{Dialect: cfg.Dialect}
	if cfg.Source != nil {
		e.Config = cfg.Source.Name
	}
	for _, job := range jobs {
		e.Jobs = append(e.Jobs, job.explain(redact))
	}
	return e
}

func (j *Job) explain(redact func(string) string) JobExplanation {
	set := j.Set
	x := JobExplanation{Job: set.Job.ID, Method: set.Method, Scroller: set.Scroller, Limit: set.Limit, IncludeParams: set.IncludeParams}
	if set.Limit != nil {
		x.LimitFrom = &set.LimitFrom
	}
	x.First = j.firstRequest(redact)
	for _, group := range []struct {
		of []*Expression
		to *[]RuleExplanation
	}{{j.Init, &x.State}, {j.Next, &x.State}, {j.Parts, &x.Next}, {conditions(j.Stops), &x.Stops}, {conditions(j.OnErrors), &x.OnError}, {j.Keeps, &x.Keep}, {conditions(j.Audit), &x.Audit}} {
		for _, e := range group.of {
			*group.to = append(*group.to, e.explain(redact))
		}
	}
	for i, s := range j.Stops {
		if b, ok := (prover{set}).bound(s.syntax); ok {
			x.Stops[i].Bound = &b
		}
	}
	x.Sequential = redact(j.Waits())
	x.Summary = x.sentence()
	return x
}

func conditions(stops []*Stop) []*Expression {
	var out []*Expression
	for _, s := range stops {
		out = append(out, s.Expression)
	}
	return out
}

func (e *Expression) explain(redact func(string) string) RuleExplanation {
	r := e.Rule
	x := RuleExplanation{ID: r.ID, Source: redact(r.Source), Outcome: r.Outcome, Do: string(r.Do), Drop: r.Drop, Says: redact(r.Clause), Origin: r.Origin, target: r.Target, FirstOnly: r.Role.Builds() && !r.Subsequent, First: r.First, Guard: r.Guard}
	if r.Role == rules.OnError && r.Do != rules.ErrorStop {
		x.Outcome = ""
	}
	for _, read := range e.Reads {
		x.Reads = append(x.Reads, redact(read.String()))
	}
	return x
}

// firstRequest evaluates the initial state and builds the request, without
// making it.
func (j *Job) firstRequest(redact func(string) string) FirstRequest {
	page := &rules.Context{Limit: j.Set.Limit, Job: rules.JobFacts{ID: j.Set.Job.ID, Endpoint: j.Set.Job.Endpoint, Params: j.Set.Job.Params}}
	var request rules.Request
	parts, err := j.Begin(&Machine{}, page)
	if err == nil {
		request, err = j.FirstRequest(parts)
	}
	if err != nil {
		return FirstRequest{Method: j.first.Verb(), URL: "unknown: " + redact(err.Error())}
	}
	address, err := request.URL(j.Set.Dialect)
	if err != nil {
		address = "unknown: " + err.Error()
	}
	body, _, _ := request.Payload(j.Set.Dialect)
	return FirstRequest{Method: request.Verb(), URL: redact(address), Headers: request.Headers.Names(), Body: redact(string(body))}
}

// sentence says in one what the job does.
func (x *JobExplanation) sentence() string {
	b := &strings.Builder{}
	fmt.Fprintf(b, "Asks %s %s", x.First.Method, x.First.URL)
	if x.Method == "" {
		b.WriteString("; the job is not paged, so that is all.")
		return b.String()
	}
	b.WriteString(x.then())
	var stops []string
	for _, s := range x.Stops {
		if s.Outcome != rules.Failed {
			stops = append(stops, s.Says)
		}
	}
	if len(stops) > 0 {
		fmt.Fprintf(b, "; stops when %s", strings.Join(stops, ", or "))
	}
	b.WriteString(x.latest())
	return b.String() + "."
}

// then says how the requests after the first are made: "then adds 10 to offset".
func (x *JobExplanation) then() string {
	var steps, parts []string
	for _, p := range x.Next {
		name := p.target
		if name == "" {
			name, _ = strings.CutPrefix(p.ID, "nextRequest.")
		}
		by, adds := x.adds(p.Source)
		switch {
		case p.FirstOnly, p.First && p.Source == "limit" && x.Limit != nil: // as in the first
		case name == "url" || name == "endpoint":
			steps = append(steps, "goes to "+p.Source)
		case adds && p.First:
			steps = append(steps, fmt.Sprintf("adds %s to %s", by, name))
		default:
			parts = append(parts, fmt.Sprintf("%s = %s", name, x.resolved(p.Source)))
		}
	}
	if parts != nil {
		verb := "asks with "
		if steps != nil {
			verb = "with "
		}
		steps = append(steps, verb+strings.Join(parts, ", "))
	}
	text := ", then " + strings.Join(steps, " and ")
	if !x.IncludeParams {
		text += ", without the job's own params"
	}
	return text
}

// adds tells whether a part is a variable that grows by the same from page to
// page, and by what.
func (x *JobExplanation) adds(source string) (by string, ok bool) {
	name, ok := strings.CutPrefix(source, "state.")
	for _, s := range x.State {
		if ok && s.target == name && strings.HasSuffix(s.ID, "."+string(rules.Next)) {
			by, ok = strings.CutPrefix(s.Source, source+" + ")
			if by == "limit" {
				by = x.resolved(by)
			}
			_, err := strconv.Atoi(by)
			return by, ok && err == nil
		}
	}
	return "", false
}

// latest says what bounds a scroll that neither the API nor a limit ends.
func (x *JobExplanation) latest() string {
	guard := ""
	for _, s := range x.Stops {
		switch {
		case s.Bound == nil:
		case s.Guard:
			guard = fmt.Sprintf("; fails at %s", s.Bound)
		case s.Bound.Of == "pages" || s.Bound.Of == "seconds":
			return ""
		}
	}
	return guard
}

// resolved says the limit by its number, and a variable by how it goes on: "0
// and then state.offset + limit".
func (x *JobExplanation) resolved(source string) string {
	if source == "limit" && x.Limit != nil {
		return value.Preview(x.Limit)
	}
	name, ok := strings.CutPrefix(source, "state.")
	if !ok {
		return source
	}
	var story []string
	for _, s := range x.State {
		if s.target == name {
			story = append(story, s.Source)
		}
	}
	return strings.Join(story, " and then ")
}

// String writes the explanation for people.
func (e *Explanation) String() string {
	b := &strings.Builder{}
	for i, job := range e.Jobs {
		if i > 0 {
			b.WriteString("\n")
		}
		job.write(b, e.Dialect)
	}
	return b.String()
}

func (x *JobExplanation) write(b *strings.Builder, dialect string) {
	fmt.Fprintf(b, "job %s   ", x.Job)
	if x.Method == "" {
		b.WriteString("not paged")
	} else {
		b.WriteString("method " + x.Method)
	}
	if x.Scroller != "" {
		fmt.Fprintf(b, "   scroller %s", x.Scroller)
	}
	fmt.Fprintf(b, "   dialect %s\n\n  %s\n\n", dialect, strings.Join(wrap(x.Summary, 96), "\n  "))
	fmt.Fprintf(b, "  first request\n    %s %s\n", x.First.Method, x.First.URL)
	if x.First.Body != "" {
		fmt.Fprintf(b, "    body %s\n", x.First.Body)
	}
	if len(x.First.Headers) > 0 {
		fmt.Fprintf(b, "    headers %s\n", strings.Join(x.First.Headers, ", "))
	}
	if x.Limit != nil {
		fmt.Fprintf(b, "\n  limit\n    %s   %s\n", value.Preview(x.Limit), x.LimitFrom)
	}
	section(b, "state", x.State, func(r RuleExplanation) string { return "state." + r.target + " " + r.Says })
	if len(x.Next) > 0 {
		fmt.Fprintf(b, "\n  next request: the job's endpoint%s, with\n", map[bool]string{true: " and params", false: ", without its params"}[x.IncludeParams])
		for _, r := range x.Next {
			name, _ := strings.CutPrefix(r.ID, "nextRequest.")
			switch {
			case r.FirstOnly:
				r.Says = "the first request alone has it"
			case r.First:
				r.Says = "the first request has it too"
			default:
				r.Says = ""
			}
			r.write(b, name)
		}
		if x.Sequential == "" {
			b.WriteString("    no request reads a response: pages may be asked for ahead (--prefetch)\n")
		} else {
			fmt.Fprintf(b, "    one page at a time: %s\n", x.Sequential)
		}
	}
	section(b, "after each page, in this order; the first that holds is the reason to stop", x.Stops, func(r RuleExplanation) string { return r.ID })
	section(b, "on an error response", x.OnError, func(r RuleExplanation) string { return r.ID })
	if len(x.Audit) > 0 {
		var ids []string
		for _, r := range x.Audit {
			ids = append(ids, r.ID)
		}
		fmt.Fprintf(b, "\n  after the last page of a complete list, looked for signs that it is not whole\n    %s\n", strings.Join(wrap(strings.Join(ids, ", "), 96), "\n    "))
	}
	section(b, "kept for the next run, when the list is complete", x.Keep, func(r RuleExplanation) string { return "kept." + r.target })
}

func section(b *strings.Builder, title string, list []RuleExplanation, name func(RuleExplanation) string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n  %s\n", title)
	for _, r := range list {
		r.write(b, name(r))
	}
}

// column is where sources begin.
const column = 26

func (r RuleExplanation) write(b *strings.Builder, name string) {
	fmt.Fprintf(b, "    %-*s  %s\n", column-2, name, r.Source)
	indent := strings.Repeat(" ", column+4)
	if sentence := r.sentence(); sentence != "" {
		for _, line := range wrap(sentence, 70) {
			fmt.Fprintf(b, "%s%s\n", indent, line)
		}
	}
	from := r.Origin.String()
	if len(r.Reads) > 0 {
		from += "; reads " + strings.Join(r.Reads, ", ")
	}
	if r.Bound != nil {
		from += "; bounds the run at " + r.Bound.String()
	}
	fmt.Fprintf(b, "%s[%s]\n", indent, from)
}

func (r RuleExplanation) sentence() string {
	says := r.Says
	if says == r.Source {
		says = "this holds"
	}
	if r.Do != "" {
		return fmt.Sprintf("When %s, %s.", says, doing[r.Do])
	}
	switch {
	case r.Outcome == rules.Failed:
		return fmt.Sprintf("Fails when %s.", says)
	case r.Outcome != "":
		return fmt.Sprintf("Stops when %s: %s.", says, r.Outcome)
	case strings.HasPrefix(r.ID, "state."), strings.HasPrefix(r.ID, "keep."):
		return ""
	}
	return says
}

// doing says what an onError rule does.
var doing = map[string]string{
	"stop": "the scrolling stops: complete", "retry": "the request is made again", "restart": "the scrolling begins anew",
	"fail": "the run fails", "continue": "the error's body counts as the page",
}

// wrap breaks a text into lines at spaces.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
