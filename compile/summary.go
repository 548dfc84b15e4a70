package compile

import (
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// summary says in one sentence what a job does.
func (j *Job) summary(x *JobExplanation) string {
	first := fmt.Sprintf("Sends %s %s", x.First.Method, x.First.URL)
	if x.Method == "" {
		return first + " once: the job is not paged."
	}
	text := first + ", then " + j.laterRequests(x)
	if !x.IncludeParams {
		text += ", without the job's own params"
	}
	var stops []string
	for _, s := range x.Stops {
		if s.Outcome != rules.Failed {
			stops = append(stops, s.Says)
		}
	}
	if len(stops) > 0 {
		text += "; stops when " + strings.Join(stops, ", or ")
	}
	return text + x.latest() + "."
}

// laterRequests says how the requests after the first are made: "adds 10 to
// offset", "sends after = body.cursor".
func (j *Job) laterRequests(x *JobExplanation) string {
	var steps, sent []string
	for i, p := range x.Next {
		syntax, name := j.Parts[i].code.syntax, partName(p)
		step := j.increment(syntax)
		switch {
		case p.FirstOnly, isIdentifier(syntax, "limit") && (p.First || x.Limit == nil): // as in the first request, or omitted
		case isAddress(p.rule.Role):
			steps = append(steps, "goes to "+p.Source)
		case p.First && step == "1":
			steps = append(steps, "increments "+name)
		case p.First && step != "":
			steps = append(steps, fmt.Sprintf("adds %s to %s", step, name))
		default:
			sent = append(sent, name+" = "+j.later(x, p, syntax))
		}
	}
	if sent != nil {
		steps = append(steps, "sends "+strings.Join(sent, ", "))
	}
	if steps == nil {
		return "sends the same request again"
	}
	return strings.Join(steps, " and ")
}

// partName is the name of a part of a request: "offset", "url".
func partName(p RuleExplanation) string {
	if p.rule.Target != "" {
		return p.rule.Target
	}
	return string(p.rule.Role)
}

// increment returns the constant that is added from page to page if a node is a
// variable; empty: it is not, or does not grow by a constant.
func (j *Job) increment(node ast.Node) string {
	for _, e := range j.Next {
		sum, ok := e.code.syntax.(*ast.BinaryNode)
		if !ok || sum.Operator != "+" || !isVariable(node, e.Rule.Target) || !isVariable(sum.Left, e.Rule.Target) {
			continue
		}
		if n, ok := sum.Right.(*ast.IntegerNode); ok {
			return fmt.Sprint(n.Value)
		}
		if limit, ok := j.Set.Limit.(int); ok && isIdentifier(sum.Right, "limit") {
			return fmt.Sprint(limit)
		}
	}
	return ""
}

// later returns the source of a part's value in the requests after the first: the
// limit by its number, a variable by the source of its next value.
func (j *Job) later(x *JobExplanation, p RuleExplanation, syntax ast.Node) string {
	if isIdentifier(syntax, "limit") {
		return value.Preview(x.Limit)
	}
	for _, s := range x.State {
		if s.rule.Role == rules.Next && isVariable(syntax, s.rule.Target) {
			return s.Source
		}
	}
	return p.Source
}

// latest says what limits a list that neither the API nor a limit ends.
func (x *JobExplanation) latest() string {
	guard := ""
	for _, s := range x.Stops {
		switch {
		case s.Bound == nil:
		case s.Guard:
			guard = "; fails at " + s.Bound.String()
		case s.Bound.Of == "pages" || s.Bound.Of == "seconds":
			return ""
		}
	}
	return guard
}
