package compile

import (
	"github.com/stopwhen/stopwhen/rules"
)

// Explanation describes a compiled configuration: as JSON for programs, by
// [Explanation.String] for people, by [Explanation.Mermaid] as a picture.
type Explanation struct {
	Config  string           `json:"config,omitempty"` // file name
	Dialect string           `json:"dialect"`
	Jobs    []JobExplanation `json:"jobs"`
}

// JobExplanation describes how one job is paged.
type JobExplanation struct {
	Job           string                `json:"job"`
	Method        string                `json:"method,omitempty"`   // empty: one request, no paging
	Scroller      string                `json:"scroller,omitempty"` // with method multiple
	Summary       string                `json:"summary"`            // one English sentence
	First         FirstRequest          `json:"firstRequest"`
	Limit         any                   `json:"limit,omitempty"` // page size in force
	LimitFrom     *rules.Origin         `json:"limitFrom,omitempty"`
	State         []RuleExplanation     `json:"state,omitempty"`
	Next          []RuleExplanation     `json:"nextRequest,omitempty"`
	IncludeParams bool                  `json:"includeParams"`        // the job's params are sent with every request
	Sequential    string                `json:"sequential,omitempty"` // why pages cannot be requested ahead; empty: they can
	Stops         []RuleExplanation     `json:"stops,omitempty"`
	OnError       []RuleExplanation     `json:"onError,omitempty"`
	Keep          []RuleExplanation     `json:"keep,omitempty"`      // values for the next run
	Audit         []RuleExplanation     `json:"audit,omitempty"`     // evaluated at the end of a complete list
	Functions     []FunctionExplanation `json:"functions,omitempty"` // of the embedding program, that the rules call
}

// FirstRequest is the first request of a job, without the values of its headers.
type FirstRequest struct {
	Method  string   `json:"method"`
	URL     string   `json:"url"`
	Headers []string `json:"headers,omitempty"`
	Body    string   `json:"body,omitempty"`
}

// RuleExplanation describes one rule.
type RuleExplanation struct {
	ID      string        `json:"id"`
	Source  string        `json:"source"`
	Reads   []string      `json:"reads,omitempty"`
	Outcome rules.Outcome `json:"outcome,omitempty"`
	Do      string        `json:"do,omitempty"`   // of an onError rule
	Drop    bool          `json:"drop,omitempty"` // the page's items are not emitted
	Says    string        `json:"says"`
	Origin  rules.Origin  `json:"origin"`

	First     bool `json:"first,omitempty"`     // of a part of the next request: the first request has it too
	FirstOnly bool `json:"firstOnly,omitempty"` // of a part of the next request: only the first request has it
	Guard     bool `json:"guard,omitempty"`

	Bound *Bound `json:"bound,omitempty"` // of a stop: when it is met at the latest; nil: the responses decide

	rule rules.Rule
}

// FunctionExplanation describes a function of the embedding program.
type FunctionExplanation struct {
	Name      string `json:"name"`
	Signature string `json:"signature"`
}

// Explain describes compiled jobs. It redacts all text.
func Explain(cfg *rules.Config, jobs []*Job, inputs map[string]any, redact func(string) string) *Explanation {
	e := &Explanation{Dialect: cfg.Dialect}
	if cfg.Source != nil {
		e.Config = cfg.Source.Name
	}
	for _, job := range jobs {
		e.Jobs = append(e.Jobs, job.explain(inputs, redact))
	}
	return e
}

func (j *Job) explain(inputs map[string]any, redact func(string) string) JobExplanation {
	set := j.Set
	x := JobExplanation{
		Job: set.Job.ID, Method: set.Method, Scroller: set.Scroller, First: j.firstRequest(inputs, redact), Limit: set.Limit,
		IncludeParams: set.IncludeParams, Sequential: redact(j.Sequential()),
	}
	if set.Limit != nil {
		x.LimitFrom = &set.LimitFrom
	}
	for _, group := range []struct {
		of []*Expression
		to *[]RuleExplanation
	}{
		{j.Init, &x.State}, {j.Next, &x.State}, {j.Parts, &x.Next}, {expressions(j.Stops), &x.Stops},
		{expressions(j.OnErrors), &x.OnError}, {j.Keeps, &x.Keep}, {expressions(j.Audit), &x.Audit},
	} {
		for _, e := range group.of {
			*group.to = append(*group.to, e.explain(redact))
		}
	}
	for i, s := range j.Stops {
		if b, ok := (prover{set}).bound(s.code.syntax); ok {
			x.Stops[i].Bound = &b
		}
	}
	for _, f := range j.functions {
		x.Functions = append(x.Functions, FunctionExplanation{f.Name, f.Signature})
	}
	x.Summary = j.summary(&x)
	return x
}

func (e *Expression) explain(redact func(string) string) RuleExplanation {
	r := e.Rule
	x := RuleExplanation{
		ID: r.ID, Source: redact(r.Source), Outcome: r.Outcome, Do: string(r.Do), Drop: r.Drop, Says: redact(r.Clause), Origin: r.Origin,
		First: r.First, FirstOnly: r.Role.Builds() && !r.Subsequent, Guard: r.Guard, rule: r,
	}
	if r.Role == rules.OnError && r.Do != rules.ErrorStop {
		x.Outcome = ""
	}
	for _, read := range e.Reads {
		x.Reads = append(x.Reads, redact(read.String()))
	}
	return x
}

// firstRequest evaluates the initial state and makes the request, without sending
// it.
func (j *Job) firstRequest(inputs map[string]any, redact func(string) string) FirstRequest {
	job := j.Set.Job
	page := &rules.Context{Limit: j.Set.Limit, Input: inputs, Job: rules.JobFacts{ID: job.ID, Endpoint: job.Endpoint, Params: job.Params}}
	_, request, err := j.Begin(&Machine{}, page)
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
