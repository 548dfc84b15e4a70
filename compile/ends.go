package compile

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
)

// MaxRestarts is the number of times that onError rules may restart a list.
const MaxRestarts = 3

// CanEnd reports whether a rule other than a guard may end the list.
func (a Analysis) CanEnd() bool { return a.job.ends }

// EndsByRequest reports whether a rule of the configuration may end the list by its requests, whatever
// the responses are: a list that is requested day by day ends after the last day.
func (a Analysis) EndsByRequest() bool { return a.job.endsByRequest }

// findEnds determines the results of [Analysis.CanEnd] and [Analysis.EndsByRequest].
func (j *Job) findEnds() {
	j.ends = j.mayEnd()
	j.endsByRequest = slices.ContainsFunc(j.Stops, func(stop *Trigger) bool {
		ofRequest := func(r language.Read) bool { return r.Is(rules.ContextState) || r.Is(rules.ContextSent) }
		return stop.Rule.Origin.IsConfig() && stop.ReadsFunc(ofRequest) &&
			!stop.ReadsFunc(language.Read.InResponse)
	})
}

// mayEnd reports whether a rule other than a guard may end a list.
func (j *Job) mayEnd() bool {
	p := j.Analysis().Prover()
	for _, s := range j.Stops {
		truth := p.Condition(s.Expression)
		if !s.Rule.Guard && truth != language.Never && (truth == language.Always || j.varies(s.Expression)) {
			return true
		}
	}
	// An address that is nil ends the list.
	varies := func(e *language.Expression) bool { return e.Rule.Role.Addresses() && j.varies(e) }
	return j.Analysis().NilAddress() != nil || slices.ContainsFunc(j.NextParts, varies)
}

// OnlyPolls reports whether every request after the first repeats the first one after a wait, whatever the
// responses are.
func (a Analysis) OnlyPolls() bool {
	if len(a.job.Parts) != 1 || len(a.job.NextParts) != 1 || !a.job.Ruleset.IncludeParams && len(a.job.Request.Params) > 0 {
		return false
	}
	wait, known, err := a.ConstantWait()
	return known && err == nil && wait > 0
}

// ConstantWait returns the wait before each request after the first, or the error that it fails the run with. It reports false
// if there is none, or if responses or the run decide about it.
func (a Analysis) ConstantWait() (wait time.Duration, known bool, err error) {
	i := slices.IndexFunc(a.job.NextParts, isWait)
	if i < 0 || len(a.job.NextParts[i].Reads) > 0 {
		return 0, false, nil
	}
	v, err := a.job.NextParts[i].Value(&language.Machine{}, &rules.Context{}, language.MaxValueBytes)
	if err != nil {
		return 0, false, nil //nolint:nilerr // an expression that fails without values need not fail in a run
	}
	wait, err = waitOf(v)
	return wait, true, err
}

// isWait reports whether an expression gives the wait before a request.
func isWait(e *language.Expression) bool { return e.Rule.Role == rules.RoleAfter }

// NilAddress returns the rule of an address of the next page that is always nil, as {"url": "nil"} is. It
// returns nil if there is none. With such a rule, the list has one page.
func (a Analysis) NilAddress() *rules.Rule {
	i := slices.IndexFunc(a.job.NextParts, func(e *language.Expression) bool { return e.Rule.Role.Addresses() && e.Formatted() == "nil" })
	if i < 0 {
		return nil
	}
	return &a.job.NextParts[i].Rule
}

// varies reports whether an expression can differ from page to page: it depends on a value that changes, or on a variable
// whose next value depends on the variable itself.
func (j *Job) varies(e *language.Expression) bool {
	return slices.ContainsFunc(variablesOf(j.Next).Resolve(e.Reads), func(r language.Read) bool {
		known := r.Phase()
		return known != rules.PhaseJob && known != rules.PhaseFirst
	})
}

// WhyNever says why a trigger can never be met. It returns "" if it can.
func (a Analysis) WhyNever(t *Trigger) string {
	if a.Prover().Condition(t.Expression) != language.Never {
		return ""
	}
	if a.job.comparesAbsentLimit(t) {
		return "no page size is set (limit)"
	}
	return "it is never true"
}

// comparesAbsentLimit reports whether a trigger reads the page size, although the job has no page size.
func (j *Job) comparesAbsentLimit(t *Trigger) bool {
	none := j.Ruleset.Limit == nil && j.Ruleset.LimitParam == ""
	return none && t.ReadsAny(rules.ContextLimit)
}

// Unreached returns the rules that are never the reason to stop, each with an explanation.
func (a Analysis) Unreached() map[*Trigger]string {
	u := a.findShadowed()
	u.assumePageLimit()
	u.assumeOnlyPage()
	return u.why
}

// An unreachedSearch is the search for rules that are never the reason to stop.
type unreachedSearch struct {
	Analysis
	why    map[*Trigger]string         // why a rule is never the reason; empty if it may be
	bounds map[*Trigger]language.Bound // of the rules that limit something
	first  map[string]*Trigger         // the rule with the smallest bound, by the unit of the bound
}

// findShadowed begins the search with the rules that are never met, and those that another rule shadows: an equal one that
// comes first, or one with a smaller bound.
func (a Analysis) findShadowed() unreachedSearch {
	u := unreachedSearch{a, map[*Trigger]string{}, map[*Trigger]language.Bound{}, map[string]*Trigger{}}
	earlier := map[string]*Trigger{}
	for _, s := range a.job.Stops {
		source := s.Formatted()
		if equal := earlier[source]; equal != nil {
			u.why[s] = equal.Rule.ID + " says the same and comes first"
		}
		u.why[s] = cmp.Or(a.WhyNever(s), u.why[s])
		if u.why[s] != "" || s.Rule.Outcome == rules.Split { // the smallest windows are not split
			continue
		}
		earlier[source] = s
		u.addBound(s)
	}
	for s, b := range u.bounds {
		if first := u.first[b.Unit]; first != s && !s.HasAlternative() {
			u.why[s] = u.stopsBefore(first)
		}
	}
	return u
}

// addBound adds the bound of a rule, if it has one.
func (u unreachedSearch) addBound(s *Trigger) {
	b, ok := u.Prover().Bound(s.Expression)
	if !ok {
		return
	}
	u.bounds[s] = b
	if first := u.first[b.Unit]; first == nil || b.Most < u.bounds[first].Most {
		u.first[b.Unit] = s
	}
}

// assumePageLimit finds the rules that are never met on the pages up to the smallest limit of pages.
func (u unreachedSearch) assumePageLimit() {
	first := u.first["pages"]
	if first == nil {
		return
	}
	p := u.Prover()
	p.Assume = onPagesUpTo(u.bounds[first].Most)
	for _, s := range u.job.Stops {
		if u.why[s] == "" && s != first && s.Rule.Outcome != rules.Split && p.Condition(s.Expression) == language.Never {
			u.why[s] = u.stopsBefore(first)
		}
	}
}

// assumeOnlyPage finds the rules that come after one that ends every list on page 1.
func (u unreachedSearch) assumeOnlyPage() {
	only, ok := u.OnlyPage()
	if !ok || only.Rule.Outcome == rules.Split {
		return
	}
	for _, s := range u.job.Stops[slices.Index(u.job.Stops, only)+1:] {
		if u.why[s] == "" && s.Rule.Outcome != rules.Split {
			u.why[s] = only.AfterPage1()
		}
	}
}

// stopsBefore says at what bound a rule stops before others.
func (u unreachedSearch) stopsBefore(first *Trigger) string {
	return fmt.Sprintf("%s stops at %s already", first.Rule.ID, u.bounds[first])
}

// OnlyLater reports whether a guard is never met on page 1, because it compares pages or requests, or counts pages.
func (a Analysis) OnlyLater(guard *Trigger) bool {
	p := a.Prover()
	bound, _ := p.Bound(guard.Expression)
	p.Assume = onPagesUpTo(1)
	return bound.Most > 1 || p.Condition(guard.Expression) == language.Never ||
		len(guard.Reads) > 0 && !guard.ReadsFunc(func(r language.Read) bool { return !r.FalseOnPage1() })
}

// onPagesUpTo returns the values that fields of the context have on the first n pages.
func onPagesUpTo(n float64) map[string]rules.Range {
	assume := map[string]rules.Range{}
	for _, field := range rules.ContextFields() {
		if field.UpToPage {
			assume[field.Name] = rules.Range{Low: field.Range.Low, High: n}
		}
	}
	return assume
}
