package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
)

// diffJobs compares two jobs. The most important differences come first.
func diffJobs(a, b *JobExplanation) []Change {
	ends := diffRules("", "the first of these that is true gives the reason", a.ending(), b.ending())
	slices.SortStableFunc(ends, func(x, y Change) int { // changes without a group come first
		return cmp.Compare(slices.Index(endGroups, x.Part), slices.Index(endGroups, y.Part))
	})
	out := slices.Concat(diffProperties(a.properties, b.properties), ends, diffRules("next request", "", a.Next, b.Next))
	if a.IncludeParams != b.IncludeParams {
		sent := map[bool]*Side{true: {Text: "are sent with every request"}, false: {Text: "are sent with the first request only"}}
		out = append(out, newChange("the job's parameters", "", sent[a.IncludeParams], sent[b.IncludeParams]))
	}
	return slices.Concat(
		out,
		diffRules("partitions", "", a.variables(), b.variables()),
		diffRules("computed once", "", a.Computed, b.Computed),
		diffRules("state", "", a.State, b.State),
		diffRules("each item", "order of the fields", a.Shape, b.Shape),
		diffRules("error responses", "the first of these that is true decides about an error response", a.OnError, b.OnError),
		diffRules("saved for the next run", "", a.Keep, b.Keep),
		diffRules("audit", "", a.Audit, b.Audit),
	)
}

// side describes a rule.
func (r *RuleExplanation) side() *Side {
	if r == nil {
		return nil
	}
	s := &Side{ID: r.ID, Text: r.Source}
	if r.rule.Role == rules.RoleRemove {
		s.Text = "" // it has no text
	}
	if says := r.sentence(); says != "" && says != s.Text {
		s.Says = append(s.Says, says)
	}
	if r.rule.Stop.Drop && !r.Guard { // the sentence of a guard says it
		s.Says = append(s.Says, "the items of the page are not written")
	}
	if r.rule.CustomMessage {
		s.Says = append(s.Says, "message: "+r.Message)
	}
	if r.Never != "" {
		s.Says = append(s.Says, "not in effect: "+r.Never)
	}
	return s
}

// identity returns a key that two rules share if they have the same effect, whatever their ids are.
func (r *RuleExplanation) identity() string {
	message, in := "", r.rule
	if in.CustomMessage {
		message = in.Message
	}
	return fmt.Sprintf("%q", []any{
		in.Role, in.Target, in.Source, r.Outcome, in.OnError.Do, in.OnError.On, in.Stop.Drop, in.Guard,
		in.Sending.First, in.Sending.Subsequent, in.Sending.Common, in.Stop.ExpectsRead, message, r.Never != "",
	})
}

// diffRules compares the rules of a part. If part is empty, the part of a rule is its group. A rule
// is matched with a rule that does the same, then with one of the same id, then with one of the same
// expression. order describes the effect of the order of the rules; if it is empty, the order is ignored.
func diffRules(part, order string, a, b []RuleExplanation) []Change {
	pairs, removed := match(a, b,
		func(r *RuleExplanation) string { return r.ID + "\x00" + r.identity() }, (*RuleExplanation).identity,
		func(r *RuleExplanation) string { return fmt.Sprint(r.rule.Role, " ", r.ID) },
		func(r *RuleExplanation) string { return fmt.Sprint(r.rule.Role, " ", r.rule.Source) })
	var out []Change
	var idsA, idsB []string // IDs, as in b, of the rules that both have, in the order of a and of b
	for i := range b {
		r, old := &b[i], pairs[i]
		c := newChange(cmp.Or(part, r.group()), r.ID, old.side(), r.side())
		if old != nil {
			idsB = append(idsB, r.ID)
			c.Hidden = old.Source == r.Source && old.rule.Source != r.rule.Source
			if old.identity() == r.identity() {
				c.Change, c.Hidden = Renamed, false
			}
		}
		if c.Change != Renamed || old.ID != r.ID {
			out = append(out, c)
		}
	}
	for _, r := range removed {
		out = append(out, newChange(cmp.Or(part, r.group()), r.ID, r.side(), nil))
	}
	for i := range a {
		if at := slices.Index(pairs, &a[i]); at >= 0 {
			idsA = append(idsA, b[at].ID)
		}
	}
	if c := diffOrder(order, idsA, idsB); order != "" && c != nil {
		out = append(out, *c)
	}
	return out
}

// diffOrder returns the change of the order of names that both sides have, or nil if the order is the same.
func diffOrder(part string, a, b []string) *Change {
	common := func(list, other []string) *Side {
		inOther := map[string]bool{}
		for _, name := range other {
			inOther[name] = true
		}
		list = slices.DeleteFunc(slices.Clone(list), func(name string) bool { return !inOther[name] })
		return &Side{Text: strings.Join(list, ", ")}
	}
	c := newChange(part, "", common(a, b), common(b, a))
	if c.A.Text == c.B.Text {
		return nil
	}
	return &c
}
