package explain

import (
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
)

// The sentences of rules, which the text, the comments and the differences share.

// does says what a rule does, for a text that has its expression already.
func (r RuleExplanation) does() []string {
	var says []string
	add := func(text string) {
		if text != "" {
			says = append(says, text)
		}
	}
	switch role := r.rule.Role; {
	case r.rule.Bound:
		add(r.Value)
		add("computed once, before the first request")
	case role == rules.Init:
		add("before the first request")
	case role == rules.Next:
		add(strings.TrimSuffix("after each page: "+r.Value, ": "))
	case role.Builds():
		add(r.sends())
	case role == rules.Stop:
		add(r.ends())
	case role == rules.OnError:
		add(r.decides())
	case role == rules.Keep:
		add("saved for the next run, when the list is complete")
	case role == rules.Filter, role == rules.Remove, role == rules.Set:
		add(r.shapes())
		if role == rules.Set {
			add("evaluated for each item")
		}
	case role == rules.For:
		add("evaluated before the partitions")
	}
	if r.Never != "" {
		add("not in effect: " + r.Never)
	}
	return says
}

// ends says what a rule that ends the list does.
func (r RuleExplanation) ends() string {
	switch r.Outcome {
	case rules.Failed:
		return "the run fails when " + r.condition()
	case rules.Split:
		return "the window is read in halves when " + r.condition()
	}
	return fmt.Sprintf("the list ends (%s) when %s", r.Outcome, r.condition())
}

// condition says when a rule is true, for a text that has its expression already.
func (r RuleExplanation) condition() string {
	if r.Says == r.Source {
		return "this is true"
	}
	return r.Says
}

// sent says what a part of a request is, and which requests have it.
func (r RuleExplanation) sent() string {
	var says []string
	if r.Value != "" {
		says = append(says, r.Value)
	}
	if r.rule.Role.Addresses() && len(r.Reads) > 0 {
		says = append(says, "overrides the endpoint; the list ends if it is missing or empty")
	}
	if r.rule.Role == rules.After {
		says = append(says, "waits so long before the request")
	}
	by := ""
	if r.FirstBy != nil {
		by = " (" + r.FirstBy.String() + ")"
	}
	switch {
	case r.FirstOnly:
		says = append(says, "first request only"+by)
	case r.First:
		says = append(says, "also in the first request"+by)
	case r.FirstBy != nil:
		says = append(says, "not in the first request"+by)
	}
	return strings.Join(says, "; ")
}

// sends says how a part differs from those that only the requests after the first have.
func (r RuleExplanation) sends() string {
	r.FirstBy = nil // its place is of no interest here
	if says := r.sent(); says != "" && (r.First || r.FirstOnly) {
		return says
	}
	return strings.TrimPrefix(r.Value+"; not in the first request", "; ")
}

// shapes says what a rule does with each item.
func (r RuleExplanation) shapes() string {
	switch r.rule.Role {
	case rules.Filter:
		return "an item is left out unless this is true"
	case rules.Remove:
		return r.Says
	}
	return r.Value
}

// decides says what an onError rule does about a response.
func (r RuleExplanation) decides() string { return fmt.Sprintf("if %s, %s", r.condition(), r.action()) }

// action says what an onError rule does.
func (r RuleExplanation) action() string {
	switch r.Do {
	case "stop":
		return fmt.Sprintf("the list ends: %s", r.Outcome)
	case "retry":
		return "the request is retried"
	case "restart":
		return fmt.Sprintf("the list starts again from the first request, at most %d times; items are written again", r.MaxRestarts)
	case "fail":
		return "the run fails"
	case "continue":
		return "the error body is read as a page, and paging continues"
	}
	return r.Do
}
