package compile

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// Job is the compiled ruleset of one job. It never changes and may be run by
// many goroutines at once.
type Job struct {
	Set      *rules.Ruleset
	Binds    []*Expression // computed values of the job's own request, for each partition
	Init     []*Expression // initial values of the state's variables
	Stops    []*Condition  // in the order in which they give the reason
	Next     []*Expression // values of the state's variables after a page
	Parts    []*Expression // parts of the requests, as the roles of their rules say; address parts come first
	OnErrors []*Condition  // for error responses; the first that is met decides
	Keeps    []*Expression // values for the next run
	Shape    Shape
	Needs    Needs

	Sources   []Source   // the variables of for, in their order
	Parent    *Job       // the job whose items the partitions are for, or nil
	Children  []*Job     // the jobs that are for the items of this one, in their order
	ItemPaths [][]string // what the job and those below it read of an item of its parent; a path without keys is all of it

	ItemNeeds [][]string // those of ItemPaths without which a list may be missing

	partitionNeeds [][]string // those of partitionReads that expressions do not expect to be absent
	partitionReads [][]string // the paths of the variables that expressions read

	ends       bool          // a rule other than a guard may end the list
	firstParts []*Expression // those of Parts that the first request has
	nextParts  []*Expression // those of Parts that the requests after it have

	functions []*function   // of an embedder, that the rules call
	first     rules.Request // the job's own request
	common    rules.Object  // parameters of every request (api.http.defaultOptions.params)
}

// Condition is a compiled condition with its message.
type Condition struct {
	*Expression
	Message *Message
}

// Needs is what the rules of a job read of the responses. Nothing else is
// decoded.
type Needs struct {
	Body  [][]string // paths of the body; an empty path is all of it
	Items [][]string // paths of every item of a page; an empty path is all of it
	Past  bool       // the items of a page are read after the next one, too
}

// Rulesets compiles a lowered configuration, and the scrollers that no job uses, in
// a language; nil is [Builtin]. The diagnostics are the errors in all expressions,
// and warnings about rules that are probably mistakes. If there are errors, the jobs
// cannot be run.
func Rulesets(cfg *rules.Config, lowered *rules.Lowered, language *Language) ([]*Job, diag.Diagnostics) {
	if language == nil {
		language = Builtin()
	}
	sources, found := newSources(language), diag.NewCollector(cfg.Source)
	var jobs []*Job
	for _, set := range lowered.Jobs {
		job := (&compilation{sources: sources, set: set, found: found}).job()
		job.first, job.common = cfg.FirstRequest(set.Job), cfg.HTTP.Params
		jobs = append(jobs, job)
	}
	link(jobs)
	for _, set := range lowered.Unused {
		(&compilation{sources: sources, set: set, found: found}).job()
	}
	return jobs, found.Diagnostics().Unique()
}

// compilation compiles one ruleset.
type compilation struct {
	sources *sources
	set     *rules.Ruleset
	found   *diag.Collector
}

func (c *compilation) job() *Job {
	job := &Job{Set: c.set}
	for _, s := range c.set.Job.For {
		job.Sources = append(job.Sources, Source{Source: s})
	}
	c.checkVariables()
	for _, rule := range c.set.Rules {
		if rule.Role == rules.Audit { // see Audit
			continue
		}
		e, err := c.expression(rule, rule.Role.Scope())
		if err != nil {
			c.report(rule, err)
			continue
		}
		job.add(e)
		if rule.Bound {
			job.Binds = append(job.Binds, e)
			if err := checkBound(e); err != nil {
				c.report(rule, err)
			}
			continue
		}
		switch rule.Role {
		case rules.For:
			job.addSource(e)
			if err := c.checkSource(e); err != nil {
				c.report(rule, err)
			}
		case rules.Init:
			job.Init = append(job.Init, e)
		case rules.Next:
			job.Next = append(job.Next, e)
		case rules.Stop:
			job.Stops = append(job.Stops, c.condition(job, e))
		case rules.OnError:
			job.OnErrors = append(job.OnErrors, c.condition(job, e))
		case rules.Keep:
			job.Keeps = append(job.Keeps, e)
		case rules.Filter, rules.Set, rules.Remove:
			job.Shape.add(e)
		default:
			job.Parts = append(job.Parts, e)
		}
	}
	slices.SortStableFunc(job.Parts, func(a, b *Expression) int { return addressFirst(a) - addressFirst(b) })
	for _, e := range job.Parts {
		if e.Rule.First {
			job.firstParts = append(job.firstParts, e)
		}
		if e.Rule.Subsequent {
			job.nextParts = append(job.nextParts, e)
		}
	}
	c.checkJob(job)
	return job
}

// addressFirst orders the parts of a request: without an address, the others
// need not be evaluated.
func addressFirst(part *Expression) int {
	if isAddress(part.Rule.Role) {
		return 0
	}
	return 1
}

func isAddress(r rules.Role) bool { return r == rules.URL || r == rules.Endpoint }

// expression compiles one rule, which may read what all rules may read, and the fields
// of a scope.
func (c *compilation) expression(rule rules.Rule, scope rules.Scope) (*Expression, error) {
	code, err := c.sources.compile(rule.Source, c.set.Bound)
	if err != nil {
		return nil, err
	}
	if err := wantKind(rule.Role, code.result); err != nil {
		return nil, err
	}
	if err := code.names.checkFor(c.set, scope); err != nil {
		return nil, err
	}
	return &Expression{Rule: rule, Reads: code.reads, Flags: code.flags, code: code}, nil
}

// report adds an error in an expression, with its place in the configuration and
// a caret under the expression.
func (c *compilation) report(rule rules.Rule, err error) {
	path := rule.Origin.Path
	if path == "" {
		path = rule.ID
	}
	f := asFault(err)
	if strings.HasPrefix(rule.ID, "for.") && strings.HasPrefix(f.hint, hintNames) {
		f.hint = hintVariable
	}
	place := diag.Within(path, rule.Source, f.offset(rule.Source))
	c.found.Errorf(place, "%s", f.message).WithHint(f.hint).Snippet = f.snippet(rule.Source)
}

// condition compiles the message of a condition.
func (c *compilation) condition(job *Job, e *Expression) *Condition {
	m := c.message(e.Rule)
	for _, hole := range m.holes {
		job.add(hole)
	}
	return &Condition{Expression: e, Message: m}
}

// add records the values that an expression needs of the responses, and the
// functions that it calls.
func (j *Job) add(e *Expression) {
	for _, path := range e.code.items {
		j.Needs.addItems(path)
	}
	for _, r := range e.Reads {
		j.Needs.add(r)
		if r.Root == partitionField && r.of == "" {
			j.partitionReads = append(j.partitionReads, r.Path)
			if !r.Has && !strings.Contains(e.Rule.Source, "??") && !strings.Contains(e.Rule.Source, "?.") {
				j.partitionNeeds = append(j.partitionNeeds, r.Path)
			}
		}
	}
	for _, f := range e.code.names.functions {
		if !slices.Contains(j.functions, f) {
			j.functions = append(j.functions, f)
		}
	}
}

func (n *Needs) add(r Read) {
	switch {
	case r.Root == "body":
		if !slices.ContainsFunc(n.Body, func(had []string) bool { return slices.Equal(had, r.Path) }) {
			n.Body = append(n.Body, r.Path)
		}
	case r.of != "" && r.Root == "items":
		n.Past = true
	case r.of == "" && isPast(r.Root): // all of an earlier page
		n.Body, n.Past = append(n.Body, nil), true
	}
}

func (n *Needs) addItems(path []string) {
	if !slices.ContainsFunc(n.Items, func(had []string) bool { return slices.Equal(had, path) }) {
		n.Items = append(n.Items, path)
	}
}

// Reads reports whether an expression of the job, messages aside, reads a field
// of the context or something in it: "prev" for prev.body.next.
func (j *Job) Reads(root string) bool {
	for _, list := range [][]*Expression{
		j.Binds, j.Init, j.Parts, j.Next, j.Keeps, expressions(j.Stops), expressions(j.OnErrors), j.Shape.rules,
	} {
		for _, e := range list {
			if slices.ContainsFunc(e.Reads, func(r Read) bool { return r.of == "" && r.Root == root || r.of == root }) {
				return true
			}
		}
	}
	return false
}

func expressions(conditions []*Condition) []*Expression {
	var list []*Expression
	for _, c := range conditions {
		list = append(list, c.Expression)
	}
	return list
}

// Ends reports whether a rule other than a guard may end the list.
func (j *Job) Ends() bool { return j.ends }

// Paged reports whether there can be a second request.
func (j *Job) Paged() bool { return len(j.Parts) > 0 }
