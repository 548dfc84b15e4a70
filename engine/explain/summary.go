package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// summary describes a job in a few sentences: its requests, its ends, its bounds.
func (j explainer) summary(x *JobExplanation, cfg *rules.Config) string {
	first := fmt.Sprintf("Sends %s %s", x.First.Method, x.First.URL)
	if cfg.Auth == nil {
		first += " (no api.authentication)"
	}
	switch {
	case x.First.fails != "" && x.FirstKept == nil:
		return "The " + x.First.fails
	case x.First.fails != "":
		first = fmt.Sprintf("Without kept values, the %s With them, sends %s %s", x.First.fails, x.FirstKept.Method, x.FirstKept.URL)
	}
	if x.Method == "" {
		return first + " once: the job is not paged."
	}
	sentences := []string{first + ", then " + j.laterRequests(x)}
	if j.hasOnePage() {
		sentences[0] = first + " once"
	}
	ends := x.endClauses()
	for _, g := range []struct{ verb, group string }{
		{"Ends normally when", groupNormal}, {"Is cut off when", groupCutOff}, {"Fails when", groupError},
	} {
		if clauses := ends[g.group]; clauses != nil {
			sentences = append(sentences, g.verb+" "+strings.Join(clauses, "; or "))
		}
	}
	return strings.Join(append(sentences, "Bounds: "+x.Bounds.Says), ". ") + "."
}

// endClauses returns the clauses of the ends by group. A repeated page is a normal end, too, where
// the guard says so (3.1).
func (x *JobExplanation) endClauses() map[string][]string {
	out := map[string][]string{}
	add := func(group, clause string) {
		if clause != "" {
			out[group] = append(out[group], clause)
		}
	}
	for i, r := range x.Stops {
		switch r.group() {
		case groupSafety:
		case groupError:
			add(groupError, r.Clause+unlessEnded(x.Stops[:i], r))
		default:
			add(r.group(), r.Clause)
		}
	}
	for _, r := range x.Stops {
		if r.lacks != nil && r.group() != groupNever {
			add(groupError, fmt.Sprintf("%s is true only because %s is nil", r.ID, wording.OrList(r.lacks)))
		}
	}
	for _, need := range x.Needs {
		add(groupError, need.String())
	}
	if x.NoNext != nil && x.NoNext.Never == "" && !x.endsWithoutAddress() {
		add(groupNormal, x.NoNext.Clause)
	}
	for _, r := range x.OnError {
		prefix := "an error response matches "
		switch r.On {
		case rules.OnSuccess:
			prefix = "a response with status " + requests.PageStatuses + " matches "
		case rules.OnAny:
			prefix = "a response of any status matches "
		}
		switch {
		case r.Never != "":
		case r.Do == string(rules.ErrorStop):
			add(groupNormal, prefix+r.Clause)
		case r.Do == string(rules.ErrorFail):
			add(groupError, prefix+r.Clause)
		}
	}
	for _, r := range x.Stops {
		if r.group() == groupSafety && r.Outcome == rules.Complete && !x.Bounds.onePage {
			add(groupNormal, repeats(r))
		}
	}
	return out
}

// unlessEnded excepts the pages on which one of the rules before a rule that fails ends the list, such as a flag. The rules of
// the same author already exclude each other.
func unlessEnded(before []RuleExplanation, r RuleExplanation) string {
	var first []string
	for _, b := range before {
		if group := b.group(); (group == groupNormal || group == groupCutOff) && b.rule.Origin.By != r.rule.Origin.By {
			first = append(first, b.ID)
		}
	}
	if first == nil || r.Clause == "" {
		return ""
	}
	return ", unless " + wording.OrList(first) + " ends the list first"
}

// repeats returns the clause of a guard that ends lists, without its exceptions, which are listed under
// "safety". It keeps the exception for polls if the job waits before requests.
func repeats(r RuleExplanation) string {
	clause := r.clause
	if r.rule.Stop.ExceptPolled {
		clause += unless([]string{unlessPolled})
	}
	return clause
}

// endsWithoutAddress reports whether a stopping rule is always true when there is no address of another page: it says the same, or
// calls phpEmpty, which is true of all that empty is true of.
func (x *JobExplanation) endsWithoutAddress() bool {
	same := x.NoNext.Source
	wider := strings.Replace(same, "empty(", "phpEmpty(", 1)
	return slices.ContainsFunc(x.Stops, func(r RuleExplanation) bool {
		return r.Never == "" && r.Outcome == rules.Complete && (r.Source == same || r.Source == wider)
	})
}

// laterRequests says how the requests after the first are made: "adds 10 to offset", "sends
// after = the id of the last item".
func (j explainer) laterRequests(x *JobExplanation) string {
	var steps, sent []string
	wait, verb := "", ""
	for i, p := range x.Next {
		e, name := j.Parts[i], partName(p)
		step := j.increment(e)
		switch {
		case p.FirstOnly, e.IsName("limit") && (p.First || x.Limit == nil): // as in the first request, or omitted
		case p.rule.Target != "" && j.later(x, p, e) == "nil": // omitted
		case p.rule.Role == rules.RoleAfter:
			if constant, known, err := j.ConstantWait(); err != nil {
				return fmt.Sprintf("fails the run (%s) because of nextRequest.after: %s", statusResponse, err)
			} else if !known {
				wait = "after a wait if nextRequest.after gives one, "
			} else if constant > 0 {
				wait = fmt.Sprintf("after a wait of %s, ", inWords(constant))
			}
		case p.rule.Role.Addresses():
			steps = append(steps, "requests "+unquoted(j.later(x, p, e)))
		case p.First && step == 1:
			steps = append(steps, "increments "+name)
		case p.First && step != 0:
			steps = append(steps, fmt.Sprintf("adds %d to %s", step, name))
		case step != 0:
			sent = append(sent, fmt.Sprintf("%s (increasing by %d)", name, step))
		case p.rule.Role == rules.RoleVerb:
			verb = fmt.Sprintf(" with method %s", unquoted(j.later(x, p, e)))
		case p.rule.Target == "":
			sent = append(sent, j.later(x, p, e)+" as "+name)
		default:
			sent = append(sent, name+" = "+j.later(x, p, e))
		}
	}
	if sent != nil {
		steps = append(steps, "sends "+strings.Join(sent, ", "))
	}
	if steps == nil {
		steps = []string{"sends the same request again"}
	}
	steps[0] += verb
	text := wait + strings.Join(steps, " and ")
	if !x.IncludeParams && len(j.Request.Params) > 0 {
		text += ", without the job's own params"
	}
	return text
}

// unquoted returns the text of an expression that is a constant text, and any other expression as it is.
func unquoted(source string) string {
	if text, err := strconv.Unquote(source); err == nil {
		return text
	}
	return source
}

// partName is the name of a part of a request: "offset", "url".
func partName(p RuleExplanation) string {
	if p.rule.Target != "" {
		return p.rule.Target
	}
	return string(p.rule.Role)
}

// increment returns the constant that is added from page to page if a part is a variable that grows
// by a constant, and 0 otherwise.
func (j explainer) increment(part *language.Expression) int {
	for _, e := range j.Next {
		if !part.IsStateVariable(e.Rule.Target) {
			continue
		}
		if by, ok := j.Prover().Increment(e, e.Rule.Target); ok {
			return by
		}
	}
	return 0
}

// later returns a part's value in the requests after the first, in words: the limit by its
// number, a variable by its next value.
func (j explainer) later(x *JobExplanation, p RuleExplanation, part *language.Expression) string {
	if p.ValueInWords != "" {
		return p.ValueInWords
	}
	if part.IsName("limit") {
		return value.Preview(x.Limit)
	}
	for _, s := range x.State {
		if s.rule.Role != rules.RoleNext || !part.IsStateVariable(s.rule.Target) {
			continue
		}
		if s.ValueInWords != "" {
			return s.ValueInWords
		}
		return s.Source
	}
	return p.Source
}
