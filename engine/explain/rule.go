package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime"
)

// The groups of the rules that end a list.
const (
	groupNormal = "normal ends"   // the list is complete
	groupCutOff = "cut-offs"      // a limit of the user
	groupError  = "errors"        // the run fails
	groupSafety = "safety"        // the API makes no progress
	groupSplit  = "partitions"    // the window is read again in halves
	groupNever  = "not in effect" // the rule can never be the reason to stop
)

// endGroups are the groups in the order in which they are printed.
var endGroups = []string{groupNormal, groupCutOff, groupError, groupSafety, groupSplit, groupNever}

// group returns the group of a stopping rule.
func (r RuleExplanation) group() string {
	switch {
	case r.Never != "":
		return groupNever
	case r.Guard, r.Outcome == rules.Guarded:
		return groupSafety
	case r.Outcome == rules.Split:
		return groupSplit
	case r.Outcome == rules.Failed:
		return groupError
	case r.Outcome == rules.Limited:
		return groupCutOff
	}
	return groupNormal
}

// ending returns the rules that end the list, and the ends without a next request and by the limit on partitions.
func (x *JobExplanation) ending() []RuleExplanation {
	ending := slices.Clone(x.Stops)
	if x.NoNext != nil {
		ending = append(ending, *x.NoNext)
	}
	if x.Enough != nil {
		ending = append(ending, *x.Enough)
	}
	return ending
}

// stops returns the rules of one group that end the list.
func (x *JobExplanation) stops(group string) []RuleExplanation {
	return slices.DeleteFunc(x.ending(), func(r RuleExplanation) bool { return r.group() != group })
}

// normal returns the rules after which the list is complete, among them guards. The end for lack of an address is left
// out if a rule says the same.
func (x *JobExplanation) normal() (normal []RuleExplanation) {
	for _, r := range x.ending() {
		if r.completes() {
			r.Guard = false // the text is that of a rule under its heading
		}
		if r.group() == groupNormal && (r.ID != runtime.ReasonNextRequest || !x.endsWithoutAddress()) {
			normal = append(normal, r)
		}
	}
	return normal
}

// completes reports whether a rule is a guard after which the list is complete.
func (r RuleExplanation) completes() bool {
	return r.group() == groupSafety && r.Outcome == rules.Complete
}

// variables returns the rules of the variables of for.
func (x *JobExplanation) variables() []RuleExplanation {
	var list []RuleExplanation
	if x.Partitions != nil {
		for _, v := range x.Partitions.Variables {
			list = append(list, v.Rules...)
		}
	}
	return list
}

// roleNoNext is the role of the end of a list because there is no next request.
const roleNoNext rules.Role = "no next request"

// sentence describes the effect of a rule, for a text that has its expression already.
func (r RuleExplanation) sentence() string {
	switch role := r.rule.Role; {
	case r.perPartition:
		return r.ValueInWords
	case role.Builds():
		return r.partInSentence()
	case role == rules.RoleStop, role == roleNoNext:
		return r.endSentence()
	case role == rules.RoleOnError:
		return fmt.Sprintf("if %s, %s", r.condition(), r.action())
	case role == rules.RoleAudit:
		return "draws a finding if " + r.Clause
	case role == rules.RoleFilter:
		return fmt.Sprintf("an item is left out if this is false or nil; any other value than true fails the run (%s)", statusResponse)
	case role == rules.RoleRemove:
		return r.Clause
	}
	return r.ValueInWords
}

// underHeading says what a rule does, for the text of a job, whose headings say what the rules
// of a section have in common.
func (r RuleExplanation) underHeading() string {
	switch role := r.rule.Role; {
	case r.group() == groupSafety:
		if r.Clause == r.Source {
			return r.effect()
		}
		return fmt.Sprintf("%s when %s", r.effect(), r.Clause)
	case role == rules.RoleOnError:
		text := r.action()
		if r.Clause != r.Source {
			text = fmt.Sprintf("if %s, %s", r.Clause, text)
		}
		if r.Do == string(rules.ErrorStop) {
			text += " with the pages before it; the audit does not see this response"
		}
		return text
	case role == rules.RoleInit, role == rules.RoleNext:
		return r.atItsTime()
	case role.Builds() && !r.perPartition:
		return r.partUnderHeading()
	case r.group() == groupSplit && r.Clause == r.Source:
		return "the window is read in halves"
	case role == rules.RoleStop, role == roleNoNext:
		text := ""
		if r.Clause != r.Source {
			text = r.Clause
		}
		if r.lacks != nil && r.group() != groupError {
			text = strings.TrimPrefix(text+"; "+r.failsByLack(), "; ")
		}
		return text
	}
	return r.sentence()
}

// failsByLack says when a stopping rule fails because of a kept value that is nil.
func (r RuleExplanation) failsByLack() string {
	return fmt.Sprintf("in a run without kept values, %s is nil, so that comparisons by < and > are false; if this is true only because it "+
		"is nil, the run fails (%s)", wording.OrList(r.lacks), statusResponse)
}

// effect says what a guard does.
func (r RuleExplanation) effect() string {
	switch r.Outcome {
	case rules.Failed:
		return fmt.Sprintf("fails the run (exit status %d)", r.Status)
	case rules.Guarded:
		return fmt.Sprintf("ends the list (guarded; %s)", failOnStatus(r.dialect, r.Outcome))
	}
	return fmt.Sprintf("ends the list (%s)", r.Outcome)
}

// moments say when the rules of a role are evaluated.
var moments = map[rules.Role]string{
	rules.RoleInit:    "before the first request",
	rules.RoleNext:    "after each page",
	rules.RoleKeep:    "saved for the next run",
	rules.RoleSet:     "evaluated for each item",
	rules.RoleFor:     "evaluated before the partitions",
	rules.RoleKeepFor: "evaluated before the partitions",
}

// atItsTime says when a variable of the state gets a value, and which value.
func (r RuleExplanation) atItsTime() string {
	return strings.TrimSuffix(moments[r.rule.Role]+": "+r.ValueInWords, ": ")
}

// clauses returns the facts about a rule that its expression does not state: its effect, its
// time, and why it has no effect.
func (r RuleExplanation) clauses() []string {
	clauses := []string{r.sentence(), moments[r.rule.Role]}
	switch {
	case r.perPartition:
		clauses[1] = "computed before the first request"
	case r.rule.Role == rules.RoleNext:
		clauses = []string{r.atItsTime()}
	}
	if r.Never != "" {
		clauses = append(clauses, "not in effect: "+r.Never)
	}
	return slices.DeleteFunc(clauses, func(text string) bool { return text == "" })
}

// endSentence describes the effect of a rule that ends the list.
func (r RuleExplanation) endSentence() string {
	switch r.Outcome {
	case rules.Failed:
		return fmt.Sprintf("the run fails (exit status %d) when %s", r.Status, r.condition())
	case rules.Split:
		return "the window is read in halves when " + r.condition()
	}
	return fmt.Sprintf("the list ends (%s) when %s", r.Outcome, r.condition())
}

// condition says when a rule is true, for a text that has its expression already.
func (r RuleExplanation) condition() string {
	if r.Clause == r.Source {
		return "this is true"
	}
	return r.Clause
}

// partUnderHeading names a part of a request, and says which requests have it.
func (r RuleExplanation) partUnderHeading() string {
	var phrases []string
	if r.ValueInWords != "" {
		phrases = append(phrases, r.ValueInWords)
	}
	if r.rule.Role.Addresses() && len(r.Reads) > 0 {
		phrases = append(phrases, fmt.Sprintf("overrides the endpoint; the list ends if it is missing or empty; "+
			"without scheme and host, it is resolved against %s; a value that is not a text fails the run (%s)", r.base, statusResponse))
	}
	if r.rule.Role == rules.RoleAfter {
		phrases = append(phrases, fmt.Sprintf("the wait before the request, in seconds if it is a number, but not before its "+
			"retries; none if it is nil; a run that continues waits what is left of it; a negative wait, one of more than %s, or "+
			"another text than a number or a duration, such as a date, fails the run (%s); each response is a page, "+
			"whose items are written", inWords(compile.MaxWait), statusResponse))
	}
	if r.rule.Role == rules.RoleParam && r.rule.Target == "" {
		members := "replaces the param of the same name in its place, or follows the others; null removes the param"
		if r.alone {
			members = "is a param, unless it is null"
		}
		phrases = append(phrases, fmt.Sprintf("each member %s%s; a value that is not an object fails the run (%s)",
			members, r.lists, statusResponse))
	}
	setting := ""
	if r.FirstBy != nil {
		setting = " (" + r.FirstBy.String() + ")"
	}
	switch {
	case r.FirstOnly:
		phrases = append(phrases, "first request only"+setting)
	case r.First:
		own := ""
		if r.later {
			own = ", with another value"
		}
		if r.later && r.rule.Role.Addresses() {
			own += " (if that is missing, the first request goes to the job's endpoint)"
		}
		phrases = append(phrases, "also in the first request"+own+setting)
	case r.FirstBy != nil && r.own && r.rule.Role == rules.RoleParam:
		phrases = append(phrases, "in place of the job's own, which the first request has"+setting)
	case r.FirstBy != nil:
		phrases = append(phrases, "not in the first request"+setting)
	}
	return strings.Join(phrases, "; ")
}

// partInSentence says which requests have a part, if these are not the requests after the first.
func (r RuleExplanation) partInSentence() string {
	r.FirstBy = nil // a sentence leaves out the place of the setting
	if r.First || r.FirstOnly {
		return r.partUnderHeading()
	}
	return strings.TrimPrefix(r.ValueInWords+"; not in the first request", "; ")
}

// action describes the action of an onError rule.
func (r RuleExplanation) action() string {
	switch r.Do {
	case string(rules.ErrorStop):
		return fmt.Sprintf("the list ends (%s)", r.Outcome)
	case string(rules.ErrorRetry):
		return "the request is retried, as one without a response is"
	case string(rules.ErrorRestart):
		children := ""
		if r.runsChildren {
			children = ", and the jobs for them run again"
		}
		return fmt.Sprintf("the list starts again from the first request, at most %d times, and then the run fails "+
			"(exit status %d); items that were written come again, so that they are there twice%s; "+
			"a run that continues has only the restarts that are left", r.MaxRestarts, r.Status, children)
	case string(rules.ErrorFail):
		return fmt.Sprintf("the run fails (exit status %d)", r.Status)
	}
	text := "the error body is read as a page, in which the audit sees no error; the rules decide as after any page, and "
	if r.readsWhole {
		return text + `a body that is an object is an item, and one that is not JSON is the item {"errorData": its text}`
	}
	return text + "an object without the list, or a body that is not JSON, is an empty page; any other body is read as on a page"
}
