package compile

import (
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
