package compile

import (
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
)

// WhySequential says why the request for a page cannot be made before the previous
// response: which part of it, or which variable of the state, reads the response.
// If it is empty, pages may be requested ahead.
func (a Analysis) WhySequential() string {
	if !a.job.Paged() {
		return "the job is not paged"
	}
	if s, ok := a.OnlyPage(); ok {
		return "there is only one page: " + s.Rule.ID
	}
	for _, e := range slices.Concat(a.job.NextParts, a.job.Next) {
		if e.Rule.Role == rules.RoleAfter {
			return e.Rule.ID + " waits before each request"
		}
		for _, r := range e.Reads {
			if known := r.Phase(); known != rules.PhaseJob && known != rules.PhasePlan {
				return fmt.Sprintf("%s reads %s", e.Rule.ID, r)
			}
		}
		if e.Rule.Role == rules.RoleURL && a.job.resolvesAgainstResponse() {
			return e.Rule.ID + " is resolved against the address of the response"
		}
	}
	return ""
}

// MaxPages returns the greatest number of pages allowed by the rules that count
// pages, or items with a fixed page size. It is 0 if no such rule limits the list.
func (a Analysis) MaxPages() int {
	maxPages := 0
	for _, s := range a.job.Stops {
		b, ok := a.Prover().Bound(s.Expression)
		limit, _ := a.job.Ruleset.Limit.(int)
		switch {
		case !ok:
			continue
		case b.Unit == "items" && limit > 0:
			b.Most = float64((int(b.Most) + limit - 1) / limit)
		case b.Unit != "pages":
			continue
		}
		if n := int(b.Most); n > 0 && (maxPages == 0 || n < maxPages) {
			maxPages = n
		}
	}
	return maxPages
}

// OnlyPage returns the rule that stops after the first page whatever the response.
func (a Analysis) OnlyPage() (*Trigger, bool) {
	if i := slices.IndexFunc(a.job.Stops, a.job.stopsFirst); i >= 0 {
		return a.job.Stops[i], true
	}
	return nil, false
}

// AfterPage1 says why nothing that comes after the rule, which [Analysis.OnlyPage] has returned, has an effect.
func (t *Trigger) AfterPage1() string { return t.Rule.ID + " comes first, and stops after page 1" }

func (j *Job) stopsFirst(s *Trigger) bool {
	p := j.Analysis().Prover()
	if p.Condition(s.Expression) == language.Always {
		return true
	}
	b, ok := p.Bound(s.Expression)
	return ok && b.Unit == "pages" && b.Most <= 1
}
