package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime"
)

// BoundsExplanation says what limits the number of requests of a job, whatever the API
// responds. Retries are not counted.
type BoundsExplanation struct {
	Says      string           `json:"says" doc:"the bounds in words"`
	Unbounded bool             `json:"unbounded,omitempty" doc:"the job may never end"`
	Limits    []LimitedByRules `json:"limits,omitempty" doc:"the least bound of each kind, pages first"`

	onePage bool // whether the list ends after one page, whatever the response
}

// LimitedByRules is a bound with the rule that sets it.
type LimitedByRules struct {
	Rule string `json:"rule" doc:"id of the rule"`
	language.Bound
	Fails bool `json:"fails,omitempty" doc:"the run fails there"`
}

// String names the bound and the rule: "20 pages (forceStop.pages)".
func (l LimitedByRules) String() string {
	text := fmt.Sprintf("%s (%s)", l.Bound, l.Rule)
	if l.Fails {
		text = fmt.Sprintf("%s, where the run fails (%s)", l.Bound, l.Rule)
	}
	return text
}

// boundKinds are the kinds of bounds, in the order in which they are printed.
var boundKinds = []string{"pages", "seconds", "bytes", "items"}

// bounds describes the limits of the number of requests of the job. maxPartitions is limits.partitions, and 0 if it is not set.
func (j explainer) bounds(maxPartitions int) BoundsExplanation {
	if !j.Paged() {
		return BoundsExplanation{Says: "one request"}
	}
	b := BoundsExplanation{Limits: j.limits()}
	if only, ok := j.OnlyPage(); ok {
		b.onePage, b.Says = true, fmt.Sprintf("one page: %s stops after it", only.Rule.ID)
		return b
	}
	if part := j.NilAddress(); part != nil {
		b.onePage, b.Says = true, fmt.Sprintf("one page: %s is nil", part.ID)
		return b
	}
	enough := func(l LimitedByRules) bool { return l.Unit != "items" || j.endsOnEmptyPages() }
	restarts := ""
	if slices.ContainsFunc(j.OnErrors, func(c *compile.Trigger) bool { return c.Rule.OnError.Do == rules.ErrorRestart }) {
		limit := "every limit"
		if maxPartitions > 0 {
			limit += " except limits.partitions"
		}
		if slices.ContainsFunc(b.Limits, func(l LimitedByRules) bool { return l.Unit == "seconds" }) {
			limit += " except the time limit"
		}
		restarts = fmt.Sprintf("; onError may restart the list, at most %d times, without a wait; after each restart, every guard and "+
			"%s starts over", compile.MaxRestarts, limit)
	}
	if slices.ContainsFunc(b.Limits, enough) {
		var limits []string
		for _, fails := range []bool{false, true} { // the limits of the user come first
			for _, l := range b.Limits {
				if l.Fails == fails {
					limits = append(limits, l.String())
				}
			}
		}
		most := "at most " // of the other kinds, the last page may exceed the limit
		if slices.ContainsFunc(b.Limits, func(l LimitedByRules) bool { return l.Unit != "pages" }) {
			most = "stops after "
		}
		b.Says = "cannot run forever: " + most + wording.OrList(limits) + j.describeWaits() + restarts
		return b
	}
	b.Unbounded = true
	b.Says = j.describeUnbounded(b.Limits) + j.describeWaits() + restarts
	return b
}

// describeWaits says that the requests wait, if they do.
func (j explainer) describeWaits() string {
	i := slices.IndexFunc(j.NextParts, func(e *language.Expression) bool { return e.Rule.Role == rules.RoleAfter })
	wait, known, _ := j.ConstantWait()
	switch {
	case i < 0 || known && wait == 0:
		return ""
	case known:
		return fmt.Sprintf("; each request after the first waits (%s)", j.NextParts[i].Rule.ID)
	}
	return fmt.Sprintf("; requests after the first may wait (%s)", j.NextParts[i].Rule.ID)
}

// describeUnbounded says when a job without bounds never ends.
func (j explainer) describeUnbounded(limits []LimitedByRules) string {
	const cure = "to limit it, set forceStop or guards.maxPages"
	stopsOnRepetition := slices.ContainsFunc(j.Stops, func(s *compile.Trigger) bool {
		return s.Rule.Guard && j.WhyNever(s) == "" && !(s.Rule.Stop.ExceptPolled && j.OnlyPolls())
	})
	switch {
	case len(limits) > 0:
		return fmt.Sprintf("UNBOUNDED if pages without items keep coming, which %s does not count; %s", limits[0].Rule, cure)
	case stopsOnRepetition:
		return "UNBOUNDED if pages keep differing: only the responses end the list; " + cure
	}
	return "UNBOUNDED: only the responses end the list; " + cure
}

// limits returns the least bound of each kind.
func (j explainer) limits() []LimitedByRules {
	unreached := j.Unreached()
	var out []LimitedByRules
	for _, kind := range boundKinds {
		var least *LimitedByRules
		for _, s := range j.Stops {
			b, ok := j.Prover().Bound(s.Expression)
			if ok && b.Unit == kind && unreached[s] == "" && s.Rule.Outcome != rules.Split && (least == nil || b.Most < least.Most) {
				least = &LimitedByRules{Rule: s.Rule.ID, Bound: b, Fails: s.Rule.Outcome == rules.Failed}
			}
		}
		if least != nil {
			out = append(out, *least)
		}
	}
	return out
}

// endsOnEmptyPages reports whether a page without items ends the list.
func (j explainer) endsOnEmptyPages() bool { return j.endOfEmptyPages() != nil }

// endOfEmptyPages returns the rule that ends the list at a page without items, or nil.
func (j explainer) endOfEmptyPages() *compile.Trigger { return j.endOf(rules.Range{}) }

// endOf returns the rule that ends the list at a page with such a number of items, whatever else the page has, or nil.
func (j explainer) endOf(count rules.Range) *compile.Trigger {
	p := j.Prover()
	p.Assume = map[string]rules.Range{"count": count}
	i := slices.IndexFunc(j.Stops, func(s *compile.Trigger) bool { return p.Condition(s.Expression) == language.Always })
	if i < 0 {
		return nil
	}
	return j.Stops[i]
}

// mayHaveEmptyWindows reports whether an empty page that equals the one before may not be the end: another rule ends the
// list, but not at every empty page, and equal responses need not give equal requests.
func (j explainer) mayHaveEmptyWindows() bool {
	sameAfterSame := func(r language.Read) bool {
		return r.Past == "" && (r.Phase() == rules.PhaseJob || r.Is(rules.ContextBody) || r.Is(rules.ContextItems) || r.Is(rules.ContextCount))
	}
	changes := func(e *language.Expression) bool {
		return e.Rule.Role != rules.RoleAfter && e.ReadsFunc(func(r language.Read) bool {
			return !sameAfterSame(r) && (r.Root != rules.ContextState || len(r.Path) == 0 || j.stateChanges(r.Path[0], sameAfterSame))
		})
	}
	return j.CanEnd() && !j.endsOnEmptyPages() && (len(j.Ruleset.Ignore) > 0 || slices.ContainsFunc(j.NextParts, changes))
}

// stateChanges reports whether the next value of a variable may depend on more than a value for which a function is true.
func (j explainer) stateChanges(name string, isFixed func(language.Read) bool) bool {
	return slices.ContainsFunc(j.Next, func(e *language.Expression) bool {
		changes := func(r language.Read) bool { return !isFixed(r) }
		return e.Rule.Target == name && (len(e.Reads) == 0 || e.ReadsFunc(changes))
	})
}

// passesEmptyPages reports whether no rule but a guard ends the list because a page is empty.
func (j explainer) passesEmptyPages() bool {
	p := j.Prover()
	p.Assume = map[string]rules.Range{rules.ContextCount: {}}
	ofItems := func(r language.Read) bool { return r.Is(rules.ContextCount) || r.Is(rules.ContextItems) }
	return !slices.ContainsFunc(j.Stops, func(s *compile.Trigger) bool {
		mayTell := !s.Rule.Guard && s.ReadsFunc(ofItems)
		truth := p.Condition(s.Expression)
		return truth == language.Always || mayTell && truth != language.Never
	})
}

// explainPace describes the limits of the pace of all requests. It returns nil without a limit. longest is
// the longest wait that the API may ask for; 0 if it is not known.
func explainPace(h *rules.HTTP, longest time.Duration) *PaceExplanation {
	p := h.Pace
	x := PaceExplanation{
		Timeout: p.Timeout.Seconds(), PerSecond: p.PerSecond, Parallel: p.Parallel,
		Remaining: h.RateRemaining, Reset: h.RateReset,
	}
	var phrases []string
	if p.PerSecond > 0 {
		x.Burst = p.Burst
		phrases = append(phrases, inRate(p.PerSecond))
		if p.Burst > 1 {
			phrases[0] += fmt.Sprintf(" (%d at once after a rest)", p.Burst)
		}
	}
	if p.Parallel > 0 {
		phrases = append(phrases, fmt.Sprintf("at most %s at a time", wording.Counted(p.Parallel, "request")))
	}
	if len(phrases) > 0 {
		phrases[len(phrases)-1] += ", all jobs together"
	}
	if p.Timeout > 0 {
		phrases = append(phrases, fmt.Sprintf("a request may take %s", p.Timeout))
	}
	if h.RateReset != "" {
		phrases = append(phrases, describeRateLimit(h, longest))
	}
	if phrases == nil {
		return nil
	}
	x.Says = strings.Join(phrases, "; ")
	return &x
}

// describeRateLimit says when a request waits because of api.http.rateLimit.
func describeRateLimit(h *rules.HTTP, longest time.Duration) string {
	text := "if a response has the header " + h.RateReset
	if h.RateRemaining != "" {
		text = "if the header " + h.RateRemaining + " is 0"
	}
	text += ", the next request waits as long as the header " + h.RateReset + " says: seconds, " +
		"or a time in seconds or milliseconds since 1970"
	if longest > 0 {
		text += fmt.Sprintf(" (more than %s: the run fails, %s)", inWords(longest), statusTransient)
	}
	return text + "; beside a wait before a retry, the longer one counts"
}

// inRate says a number of requests per second in words.
func inRate(perSecond float64) string {
	if perSecond == 1 {
		return "at most one request per second"
	}
	if perSecond > 1 {
		return fmt.Sprintf("at most %v requests per second", perSecond)
	}
	interval := time.Duration(float64(time.Second) / perSecond)
	return fmt.Sprintf("at most one request every %s", interval.Round(time.Millisecond))
}

// noNext describes the end of a list because there is no next request. It is nil if
// there always is one.
func (j explainer) noNext() *RuleExplanation {
	if !j.Paged() {
		return &RuleExplanation{
			ID: runtime.ReasonEnd, Source: "true", Outcome: rules.Complete, Clause: "the only response is read",
			Origin: rules.Origin{By: rules.Author{Kind: rules.AuthorDefault}}, rule: rules.Rule{Role: roleNoNext},
		}
	}
	if part := j.NilAddress(); part != nil {
		return &RuleExplanation{
			ID: runtime.ReasonNextRequest, Source: "true", Outcome: rules.Complete,
			Clause: "there is no next request: " + part.ID + " is nil",
			Origin: part.Origin, rule: rules.Rule{Role: roleNoNext},
		}
	}
	i := slices.IndexFunc(j.NextParts, func(e *language.Expression) bool { return e.Rule.Role.Addresses() && len(e.Reads) > 0 })
	if i < 0 {
		return nil
	}
	part := j.rule(j.NextParts[i])
	never := ""
	if only, ok := j.OnlyPage(); ok {
		never = only.AfterPage1()
	}
	description := cmp.Or(part.ValueInWords, j.redact(j.Prover().Later(j.NextParts[i])), part.Source)
	return &RuleExplanation{
		ID: runtime.ReasonNextRequest, Source: "empty(" + part.Source + ")", Reads: part.Reads, Outcome: rules.Complete,
		Clause: fmt.Sprintf(`there is no next request: %s is missing, null or ""`, description),
		Origin: part.Origin, Settings: part.Settings, Never: never,
		rule: rules.Rule{Role: roleNoNext, Source: "empty(" + part.rule.Source + ")"},
	}
}
