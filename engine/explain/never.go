package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
)

// unnoticed has the topics of audit rules that a list may lack, with a function that says why, or returns "". The first
// topic that it lacks is the reason.
var unnoticed = []struct {
	topic rules.Topics
	why   func(explainer, *rules.Auditing) string
}{
	{rules.AboutKept, func(j explainer, _ *rules.Auditing) string {
		return reasonIf(len(j.Keeps) == 0, "no value is kept (keep)")
	}},
	{rules.AboutUnsent, func(j explainer, _ *rules.Auditing) string {
		return reasonIf(j.KeptUse() == compile.KeptFromFirst, "the first request, a stopping rule or the filter reads the kept values")
	}},
	{rules.AboutFirst, func(j explainer, _ *rules.Auditing) string {
		return reasonIf(j.KeptUse() != compile.KeptFromFirst,
			"neither the first request nor a stopping rule nor the filter reads the kept values")
	}},
	{rules.AboutUnbounded, func(j explainer, _ *rules.Auditing) string {
		return reasonIf(j.BoundedByKept(), "a stopping rule, the filter or for reads the kept value")
	}},
	{rules.AboutSent, func(j explainer, a *rules.Auditing) string {
		if comparesNone := j.ComparedCursor() == nil && j.Reread() == nil; len(j.SentCursors()) > 0 || !a.Adds && !comparesNone {
			return ""
		}
		return "the first request sends no kept value that is the greatest of the items"
	}},
	{rules.AboutNumber, func(j explainer, _ *rules.Auditing) string {
		return reasonIf(!slices.ContainsFunc(j.Stops, endsByCount), "no stopping rule reads a total or a number of pages in responses")
	}},
	{rules.AboutLinks, func(j explainer, _ *rules.Auditing) string {
		overrides := j.Ruleset.IncludeParams && !j.SendsParamsInBody() && len(j.Request.Params) > 0 && slices.ContainsFunc(j.NextParts, isAddress)
		return reasonIf(!overrides, "no link has parameters that those of the job override (includeParams)")
	}},
	{rules.AboutPosition, func(j explainer, _ *rules.Auditing) string {
		return reasonIf(!j.RequestsByPosition(), "the next request names no position in the list, or depends on responses")
	}},
	{rules.AboutFirstPosition, func(j explainer, _ *rules.Auditing) string {
		return reasonIf(!j.firstNamesPosition(), "the first request has no parameter with a usual name of a page or an offset")
	}},
	{rules.AboutAhead, func(j explainer, _ *rules.Auditing) string {
		return reasonIf(j.WhySequential() != "", "no page is requested ahead")
	}},
	{rules.AboutPages, func(j explainer, _ *rules.Auditing) string {
		return reasonIf(j.hasOnePage(), "the list has one page")
	}},
	{rules.AboutUnpaged, func(j explainer, _ *rules.Auditing) string {
		return reasonIf(j.Paged(), "the job is paged")
	}},
	{rules.AboutOneList, func(j explainer, _ *rules.Auditing) string {
		return reasonIf(j.Spec().DataField != nil && len(j.Spec().DataField.Lists) > 1, "items of several lists may be equal")
	}},
	{rules.AboutPlace, func(j explainer, _ *rules.Auditing) string {
		return reasonIf(j.Spec().Response.Format.IsLines(), "each line of a response is an item")
	}},
	{rules.AboutGaps, func(j explainer, _ *rules.Auditing) string {
		if end := j.endOfEmptyPages(); end != nil && (j.Spec().DataField == nil || len(j.Spec().DataField.Lists) < 2) {
			return end.Rule.ID + " ends the list at the first empty page"
		}
		return ""
	}},
	{rules.AboutKey, func(j explainer, _ *rules.Auditing) string {
		return reasonIf(j.Spec().Key == nil, "the items have no key (key)")
	}},
	{rules.AboutPartitions, func(j explainer, _ *rules.Auditing) string {
		return reasonIf(!j.maySeveral(), "there is one partition at most")
	}},
}

func reasonIf(condition bool, reason string) string {
	if condition {
		return reason
	}
	return ""
}

// whyUnnoticed returns why a rule of the audit has no effect, if the list cannot have what the rule is about.
func (j explainer) whyUnnoticed(r rules.Rule) string {
	if j.isUnaudited(r) {
		return "the list always ends by a rule after which it is not sought"
	}
	for _, row := range unnoticed {
		if r.Audit.IsAbout(row.topic) {
			if why := row.why(j, r.Audit); why != "" {
				return why
			}
		}
	}
	does := func(c *compile.Trigger) bool { return c.Rule.OnError.Do == r.Audit.OnError }
	if r.Audit.OnError != "" && !slices.ContainsFunc(j.OnErrors, does) {
		return fmt.Sprintf("no onError rule has the action %s", r.Audit.OnError)
	}
	return ""
}

// firstNamesPosition reports whether the first request has a parameter with a usual name of the number of a page or the index of an
// item, or may have one.
func (j explainer) firstNamesPosition() bool {
	named := func(name string) bool {
		return apinames.AlikeAny(name, apinames.PageNumberNames()) || apinames.IsItemIndex(name)
	}
	return j.Request.Body != nil || strings.Contains(j.Request.Endpoint, "?") ||
		slices.ContainsFunc(j.Request.Params, func(m rules.Member) bool { return named(m.Name) }) ||
		slices.ContainsFunc(slices.Concat(j.FirstParts, j.Computed), func(e *language.Expression) bool {
			return e.Rule.Role.Addresses() || (e.Rule.Role == rules.RoleParam || e.Rule.Role == rules.RoleBody) &&
				(e.Rule.Target == "" || named(e.Rule.Target))
		})
}

// isUnaudited reports whether the list has one page, and always an outcome after which a rule of the audit is not
// evaluated.
func (j explainer) isUnaudited(r rules.Rule) bool {
	only, ok := j.OnlyPage()
	if !ok || only.Rule.Outcome == rules.Complete || slices.Contains(r.Audit.Also, only.Rule.Outcome) {
		return false
	}
	before := j.Stops[:slices.Index(j.Stops, only)]
	return !slices.ContainsFunc(before, func(s *compile.Trigger) bool { return s.Rule.Outcome == rules.Complete && !s.Rule.Guard }) &&
		!slices.ContainsFunc(j.OnErrors, func(c *compile.Trigger) bool { return c.Rule.OnError.Do == rules.ErrorStop })
}

// endsByCount reports whether a stopping rule ends a complete list by a total or a number of pages that the API states.
func endsByCount(stop *compile.Trigger) bool {
	return stop.Rule.Outcome == rules.Complete && len(stop.StatedCounts()) > 0
}

// isAddress reports whether an expression gives the address of a request.
func isAddress(e *language.Expression) bool { return e.Rule.Role.Addresses() }

// whyUnreached returns why a guard that compares pages or requests, or counts empty pages, has no effect. endOfEmpty is the rule that
// ends the list at its first empty page, or nil.
func (j explainer) whyUnreached(s *compile.Trigger, endOfEmpty *compile.Trigger) string {
	reads := func(name string) bool {
		return s.ReadsAny(name)
	}
	switch {
	case !s.Rule.Guard:
		return ""
	case j.hasOnePage() && j.OnlyLater(s):
		return "the list has one page"
	case s.Rule.Stop.ExceptPolled && j.OnlyPolls():
		return "every request after the first is a poll"
	case endOfEmpty != nil && reads("emptyPages") && j.Prover().Condition(s.Expression) != language.Always:
		return endOfEmpty.Rule.ID + " ends the list at the first empty page"
	case reads("emptyPages") && j.EndsByRequest():
		return "a rule of stopRules ends the list by state or sent alone"
	}
	return ""
}
