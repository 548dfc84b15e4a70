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
	Init     []*Expression // in order; each gives the variable of its Target a value
	Stops    []*Stop       // in the order in which they give the reason
	Next     []*Expression // variables after a page
	Parts    []*Expression // of requests; their rules say of which
	OnErrors []*Stop       // for error responses, the first that is met decides
	Keeps    []*Expression // what is kept for the next run
	Audit    []*Stop       // put to the last page of a complete list
	Needs    Needs

	first  rules.Request // the job's own request
	common rules.Object  // api.http.defaultOptions.params
}

// Stop is a compiled condition with its message.
type Stop struct {
	*Expression
	Message *Message
}

// Needs is what the expressions of a job read of the responses: no more is
// decoded.
type Needs struct {
	Body  [][]string // paths of the body; one without keys is the whole
	Items bool       // the items, decoded
}

// Rulesets compiles a lowered configuration, and the scrollers that no job uses. It
// reports all mistakes and warnings of all expressions.
func Rulesets(cfg *rules.Config, lowered *rules.Lowered) ([]*Job, diag.Diagnostics) {
	faults := diag.NewCollector(cfg.Source)
	var jobs []*Job
	for _, set := range lowered.Jobs {
		c := &compilation{set: set, faults: faults}
		job := c.job()
		job.first, job.common = cfg.FirstRequest(set.Job), cfg.HTTP.Params
		jobs = append(jobs, job)
	}
	for _, set := range lowered.Unused {
		(&compilation{set: set, faults: faults}).job()
	}
	return jobs, faults.Diagnostics().Unique()
}

// compilation compiles one ruleset.
type compilation struct {
	set    *rules.Ruleset
	faults *diag.Collector
}

func (c *compilation) job() *Job {
	job := &Job{Set: c.set}
	for _, rule := range c.set.Rules {
		e := c.expression(rule)
		if e == nil {
			continue
		}
		job.Needs.add(e.Reads)
		switch {
		case rule.Role == rules.Init:
			job.Init = append(job.Init, e)
		case rule.Role == rules.Next:
			job.Next = append(job.Next, e)
		case rule.Role == rules.Stop:
			job.Stops = append(job.Stops, c.stop(e, &job.Needs))
		case rule.Role == rules.OnError:
			job.OnErrors = append(job.OnErrors, c.stop(e, &job.Needs))
		case rule.Role == rules.Audit:
			job.Audit = append(job.Audit, c.stop(e, &job.Needs))
		case rule.Role == rules.Keep:
			job.Keeps = append(job.Keeps, e)
		case rule.Role.Builds():
			job.Parts = append(job.Parts, e)
		}
	}
	c.checkJob(job)
	slices.SortStableFunc(job.Parts, func(a, b *Expression) int { return addressFirst(a) - addressFirst(b) })
	return job
}

// addressFirst orders the parts of a request: without an address to go to, the
// others need not be built.
func addressFirst(part *Expression) int {
	if part.Rule.Role == rules.URL || part.Rule.Role == rules.Endpoint {
		return 0
	}
	return 1
}

func (c *compilation) stop(e *Expression, needs *Needs) *Stop {
	m := c.message(e.Rule)
	for _, hole := range m.holes {
		needs.add(hole.Reads)
	}
	return &Stop{Expression: e, Message: m}
}

func (n *Needs) add(reads []Read) {
	for _, r := range reads {
		switch {
		case strings.HasSuffix(r.Root, "body"):
			if !slices.ContainsFunc(n.Body, func(had []string) bool { return slices.Equal(had, r.Path) }) {
				n.Body = append(n.Body, r.Path)
			}
		case strings.HasSuffix(r.Root, "items"):
			n.Items = true
		case r.Root == "prev" || r.Root == "first": // as a whole
			n.Body, n.Items = append(n.Body, nil), true
		}
	}
}

// Message is a text with expressions in braces.
type Message struct {
	text  []string // one more than holes
	holes []*Expression
}

// message compiles the {expressions} of a rule's message. Braces that hold no
// expression of the context are text.
func (c *compilation) message(rule rules.Rule) *Message {
	m := &Message{}
	text, rest := "", rule.Message
	for {
		before, after, found := strings.Cut(rest, "{")
		text += before
		if !found {
			break
		}
		source, tail, closed := strings.Cut(after, "}")
		scratch := &compilation{set: c.set, faults: diag.NewCollector(nil)}
		hole := scratch.expression(rules.Rule{ID: rule.ID, Role: rules.Param, Source: source})
		if !closed || hole == nil {
			text, rest = text+"{", after
			continue
		}
		m.text, m.holes = append(m.text, text), append(m.holes, hole)
		text, rest = "", tail
	}
	m.text = append(m.text, text)
	return m
}

// Text is the message for a page.
func (m *Message) Text(machine *Machine, page *rules.Context) string {
	var b strings.Builder
	for i, text := range m.text {
		b.WriteString(text)
		if i < len(m.holes) {
			b.WriteString(m.holes[i].display(machine, page))
		}
	}
	return b.String()
}

func (e *Expression) display(machine *Machine, page *rules.Context) string {
	v, err := e.Eval(machine, page)
	if err != nil {
		return "{" + err.Error() + "}"
	}
	if text, ok := v.(string); ok {
		return text
	}
	return preview(v)
}
