package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
)

// diffJobs compares two jobs: what is of most interest first.
func diffJobs(a, b *JobExplanation) []Change {
	out := diffFacts(a.facts, b.facts)
	out = append(out, diffEnds(a, b)...)
	out = append(out, diffRules(parts, a.Next, b.Next)...)
	if a.IncludeParams != b.IncludeParams {
		out = append(out, Change{Part: "the job's parameters", Change: Changed, A: includes(a), B: includes(b)})
	}
	for _, one := range []struct {
		kind ruleKind
		of   func(x *JobExplanation) []RuleExplanation
	}{
		{named("partitions"), (*JobExplanation).variables},
		{named("computed once"), func(x *JobExplanation) []RuleExplanation { return x.Computed }},
		{named("state"), func(x *JobExplanation) []RuleExplanation { return x.State }},
		{shapes, func(x *JobExplanation) []RuleExplanation { return x.Shape }},
		{errorResponses, func(x *JobExplanation) []RuleExplanation { return x.OnError }},
		{named("saved for the next run"), func(x *JobExplanation) []RuleExplanation { return x.Keep }},
		{audits, func(x *JobExplanation) []RuleExplanation { return x.Audit }},
	} {
		out = append(out, diffRules(one.kind, one.of(a), one.of(b))...)
	}
	return out
}

// ending returns the rules that end the list, and the end without a next request.
func (x *JobExplanation) ending() []RuleExplanation {
	if x.NoNext == nil {
		return x.Stops
	}
	return append(slices.Clone(x.Stops), *x.NoNext)
}

// variables returns the rules of the variables of for.
func (x *JobExplanation) variables() []RuleExplanation {
	var out []RuleExplanation
	if x.Partitions != nil {
		for _, v := range x.Partitions.Variables {
			out = append(out, v.Rules...)
		}
	}
	return out
}

func includes(x *JobExplanation) *Side {
	if x.IncludeParams {
		return &Side{Text: "are sent with every request"}
	}
	return &Side{Text: "are sent with the first request only"}
}

// credentialRules compares the expressions of credentials.
func credentialRules(a, b *AuthExplanation) []Change {
	of := func(x *AuthExplanation) []RuleExplanation {
		if x == nil {
			return nil
		}
		return x.Rules
	}
	return diffRules(named("credentials"), of(a), of(b))
}

// A ruleKind says how rules of one kind are compared and described.
type ruleKind struct {
	part    func(r RuleExplanation) string
	says    func(r RuleExplanation) string // besides the expression
	ordered string                         // what to call the order of the rules; empty: it does not matter
}

// named returns the kind of rules that are described by their expression alone.
func named(part string) ruleKind {
	return ruleKind{part: func(RuleExplanation) string { return part }, says: func(r RuleExplanation) string { return r.Value }}
}

var (
	ends = ruleKind{
		part: func(r RuleExplanation) string { return endPart(r.group()) }, says: RuleExplanation.ends,
		ordered: "the first of these that is true gives the reason",
	}
	parts = ruleKind{
		part: func(RuleExplanation) string { return "next request" },
		says: RuleExplanation.sends,
	}
	shapes = ruleKind{
		part:    func(RuleExplanation) string { return "each item" },
		says:    RuleExplanation.shapes,
		ordered: "order of the fields",
	}
	errorResponses = ruleKind{
		part:    func(RuleExplanation) string { return "error responses" },
		says:    RuleExplanation.decides,
		ordered: "the first of these that is true decides about an error response",
	}
	audits = ruleKind{
		part: func(RuleExplanation) string { return "audit" },
		says: func(r RuleExplanation) string { return "warns if " + r.Says },
	}
)

// endParts names the groups of ends, in the order in which they are printed.
var endParts = []struct{ group, part string }{
	{groupNormal, "normal ends"}, {groupCutOff, "cut-offs"}, {groupError, "errors"}, {groupSafety, "safety"},
	{groupSplit, "partitions"}, {groupNever, "not in effect"},
}

// endPart returns the part of a group of ends.
func endPart(group string) string {
	for _, p := range endParts {
		if p.group == group {
			return p.part
		}
	}
	return group
}

// diffEnds compares the rules that end the list.
func diffEnds(a, b *JobExplanation) []Change {
	out := diffRules(ends, a.ending(), b.ending())
	place := map[string]int{} // in the order of the parts; what is about no part is first
	for i, p := range endParts {
		place[p.part] = i + 1
	}
	slices.SortStableFunc(out, func(x, y Change) int { return cmp.Compare(place[x.Part], place[y.Part]) })
	return out
}

// side describes a rule.
func (k ruleKind) side(r *RuleExplanation) *Side {
	if r == nil {
		return nil
	}
	s := &Side{ID: r.ID, Text: r.Source}
	if r.rule.Role == rules.Remove {
		s.Text = "" // it has none
	}
	if says := k.says(*r); says != "" && says != s.Text {
		s.Says = append(s.Says, says)
	}
	if r.rule.Drop && !r.Guard { // the sentence of a guard says it
		s.Says = append(s.Says, "the items of the page are not written")
	}
	if r.rule.Told {
		s.Says = append(s.Says, "message: "+r.Message)
	}
	if r.Never != "" {
		s.Says = append(s.Says, "not in effect: "+r.Never)
	}
	return s
}

// identity returns what decides whether two rules do the same, apart from their ids.
func (r *RuleExplanation) identity() string {
	source, message, in := r.rule.Source, "", r.rule
	if r.ID == compile.ReasonNextRequest {
		source, in = "empty("+source+")", rules.Rule{}
	}
	if in.Told {
		message = in.Message
	}
	return fmt.Sprintf("%q", []any{
		in.Role, in.Target, source, r.Outcome, in.Do, in.Drop, in.Guard, in.First, in.Subsequent, in.Common, in.Expects,
		message, r.Never != "",
	})
}

// diffRules compares rules. A rule is matched with one that does the same, then with one of
// its id, then with one that has its expression.
func diffRules(k ruleKind, a, b []RuleExplanation) []Change {
	pairs, removed := match(a, b,
		func(r *RuleExplanation) string { return r.ID + "\x00" + r.identity() }, (*RuleExplanation).identity,
		func(r *RuleExplanation) string { return fmt.Sprint(r.rule.Role, " ", r.ID) },
		func(r *RuleExplanation) string { return fmt.Sprint(r.rule.Role, " ", r.rule.Source) })
	var out []Change
	var idsA, idsB []string // of the rules that both have, as b calls them
	for i := range b {
		if pairs[i] != nil {
			idsB = append(idsB, b[i].ID)
		}
		if c, differs := k.diff(pairs[i], &b[i]); differs {
			out = append(out, c)
		}
	}
	for _, r := range removed {
		c, _ := k.diff(r, nil)
		out = append(out, c)
	}
	for i := range a {
		if at := slices.Index(pairs, &a[i]); at >= 0 {
			idsA = append(idsA, b[at].ID)
		}
	}
	if c := diffOrder(k.ordered, idsA, idsB); k.ordered != "" && c != nil {
		out = append(out, *c)
	}
	return out
}

// diff compares two rules, one of which may be nil.
func (k ruleKind) diff(a, b *RuleExplanation) (Change, bool) {
	c := Change{A: k.side(a), B: k.side(b)}
	switch {
	case a == nil:
		c.Part, c.Name, c.Change = k.part(*b), b.ID, Added
		return c, true
	case b == nil:
		c.Part, c.Name, c.Change = k.part(*a), a.ID, Removed
		return c, true
	}
	c.Part, c.Name, c.Change = k.part(*b), b.ID, Changed
	if a.identity() == b.identity() {
		c.Change = Renamed
		return c, a.ID != b.ID
	}
	c.Hidden = a.Source == b.Source && a.rule.Source != b.rule.Source
	return c, true
}

// diffOrder returns the change of the order of names that both sides have; nil: there is none.
func diffOrder(what string, a, b []string) *Change {
	common := func(list, other []string) []string {
		has := map[string]bool{}
		for _, name := range other {
			has[name] = true
		}
		return slices.DeleteFunc(slices.Clone(list), func(name string) bool { return !has[name] })
	}
	if a, b = common(a, b), common(b, a); slices.Equal(a, b) {
		return nil
	}
	return &Change{Part: what, Change: Changed, A: &Side{Text: strings.Join(a, ", ")}, B: &Side{Text: strings.Join(b, ", ")}}
}
