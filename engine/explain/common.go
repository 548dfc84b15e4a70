package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A commonSection is a section that jobs often have in common.
type commonSection struct{ name, text string }

// commonSections is the table of these sections: the guards, what happens on errors, the audit, and the
// rules that are not in effect.
var commonSections = []struct {
	name  string
	write func(t *textWriter, x *JobExplanation)
}{
	{"safety", func(t *textWriter, x *JobExplanation) {
		waits := slices.ContainsFunc(x.Next, func(r RuleExplanation) bool { return r.rule.Role == rules.RoleAfter })
		t.writeGuards(slices.DeleteFunc(x.stops(groupSafety), RuleExplanation.completes), waits)
	}},
	{"errors", (*textWriter).writeErrors},
	{"audit", func(t *textWriter, x *JobExplanation) { t.audit(x) }},
	{"rules that are not in effect", func(t *textWriter, x *JobExplanation) { t.writeList("not in effect", t.ineffective(x)...) }},
}

// common returns the sections of a job that other jobs often have, too.
func (t *textWriter) common(x *JobExplanation) []commonSection {
	var sections []commonSection
	for _, section := range commonSections {
		w := &textWriter{layout: newLayout(t.width), full: t.full, explanation: t.explanation}
		section.write(w, x)
		sections = append(sections, commonSection{section.name, w.String()})
		t.shown.join(w.shown)
	}
	return sections
}

// writeErrors writes what happens on errors.
func (t *textWriter) writeErrors(x *JobExplanation) {
	var success, failed []RuleExplanation
	for _, r := range x.OnError {
		if r.Success {
			success = append(success, r)
		} else {
			failed = append(failed, r)
		}
	}
	t.writeSection("on a response with status "+requests.PageStatuses+", before it is read: the first that is true decides", success)
	t.writeSection("on a response with another status than "+requests.PageStatuses+", before any retry: the first that is true decides",
		failed)
	t.failures(x)
}

// writeGuards writes the guards: guards that the configuration sets as rules, and the others in a sentence each. waits reports
// whether requests may wait.
func (t *textWriter) writeGuards(list []RuleExplanation, waits bool) {
	var listed []RuleExplanation
	guards, order := map[string][]string{}, []string(nil)
	var polled, unpolled []string
	for _, r := range list {
		if t.full || r.Origin.By.Kind != rules.AuthorDefault {
			listed = append(listed, r)
			continue
		}
		text := r.effect()
		if guards[text] == nil {
			order = append(order, text)
		}
		guards[text] = append(guards[text], guardInWords(r))
		if r.rule.Stop.ExceptPolled {
			polled = append(polled, r.ID)
		} else {
			unpolled = append(unpolled, r.ID)
		}
	}
	if len(list) == 0 {
		return
	}
	t.writeHeading("safety")
	t.writeRules(listed)
	for _, text := range order {
		t.writeParagraph(4, fmt.Sprintf("%s when %s", text, strings.Join(guards[text], "; ")))
	}
	if polled != nil {
		but := ""
		if unpolled != nil {
			but = ", except for " + strings.Join(unpolled, ", ")
		}
		wait := "a wait"
		if waits {
			wait += " of more than 0"
		}
		t.writeParagraph(4, fmt.Sprintf("This does not hold for a poll, which repeats the previous request after %s (nextRequest.after)%s.",
			wait, but))
	}
}

// guardInWords returns the id of a guard and its clause, without the parts of the clause that all guards share
// and without the guard's key, which is the id.
func guardInWords(r RuleExplanation) string {
	text := strings.TrimSuffix(r.clause+r.dropped()+unless(r.exceptions), fmt.Sprintf(" (guards.%s)", r.ID))
	if before, ok := strings.CutSuffix(text, ")"); ok {
		return fmt.Sprintf("%s; %s)", before, r.ID)
	}
	return fmt.Sprintf("%s (%s)", text, r.ID)
}

// failures says what happens on an error that no onError rule is for.
func (t *textWriter) failures(x *JobExplanation) {
	title := "on an error"
	if len(x.OnError) > 0 {
		title = "on any other error"
	}
	t.writeHeading(title)
	t.writeParagraph(4, x.unretried()+t.explanation.Retries.String()+t.nextRun(x))
	t.writeParagraph(4, fmt.Sprintf("An expression that fails, or any other complete body that cannot be read (%s), fails the run "+
		"(%s) at once. "+
		"So does a response above a limit of api.http%s, or an expression above its limits (%s).",
		x.Items.invalid(), statusResponse, t.limits(), statusPolicy))
	if t.full {
		t.writeParagraph(4, "The memory of a run does not grow with the number of its pages, items or partitions; a large response is "+
			"in a temporary file.")
	}
	if t.full {
		t.writeParagraph(4, x.afterFailure())
	}
	if t.explanation.Origins != "" {
		t.writeParagraph(4, t.explanation.Origins)
	}
}

// nextRun says what the next run with a state does. In full, [JobExplanation.afterFailure] says more.
func (t *textWriter) nextRun(x *JobExplanation) string {
	switch {
	case t.full:
		return ""
	case len(x.Keep) > 0 || x.Items.Added:
		return " With --state, a run continues one that failed, or begins with the kept values." + x.notTriedAgain()
	}
	return " With --state, a run continues one that failed, or starts over." + x.notTriedAgain()
}

// notTriedAgain says that a run that continues does not try the partitions again that were skipped, if there may be any.
func (x *JobExplanation) notTriedAgain() string {
	if x.Partitions == nil || x.Partitions.OnError != rules.PartitionSkip {
		return ""
	}
	return " A run that continues does not try partitions again that failed and were skipped."
}

// unretried says that an onError rule leaves no status for the retries.
func (x *JobExplanation) unretried() string {
	for _, r := range x.OnError {
		switch {
		case r.Success:
		case r.Do == string(rules.ErrorRetry):
			return ""
		case r.Source == "true":
			return fmt.Sprintf("%s decides on every status but %s, so that none is retried. ", r.ID, requests.PageStatuses)
		}
	}
	return ""
}

// limits names the limits of a response, in full with their numbers.
func (t *textWriter) limits() string {
	var limits []string
	for _, p := range t.explanation.properties {
		if name, ok := strings.CutPrefix(p.name, "api.http."); ok && p.subject == limitsSubject {
			if name == "maxValueBytes" {
				p.text += " for the values that rules read"
			}
			limits = append(limits, name+" "+p.text)
		}
	}
	if !t.full || limits == nil {
		return ", such as maxBodyBytes"
	}
	return ": " + strings.Join(limits, ", ")
}

// auditWarns says that a rule of the audit only warns.
const auditWarns = "warns (outcome and exit status unchanged)"

// auditFails says that a rule of the audit fails the run.
var auditFails = fmt.Sprintf("fails the run (%s)", statusSuspect)

// audit writes what the audit does at the end of a list. Hints are listed in full.
func (t *textWriter) audit(x *JobExplanation) {
	signs := map[string][]string{}
	for _, r := range x.Audit {
		if r.Never != "" {
			continue
		}
		does := t.explanation.afterAudit(r)
		text := fmt.Sprintf("%s (%s)", r.Clause, r.ID)
		if does == auditFails && r.again {
			text += ", if samePage has ended the list"
		}
		if does == auditFails && r.except != "" && (t.full || r.usual) {
			text += ", " + r.except
		}
		if r.rule.Audit.Adds {
			text += ", if the rows are added to a file"
		}
		signs[does] = append(signs[does], text)
	}
	t.writeHeading("audit, at the end of a list")
	fails, hints := signs[auditFails], signs[auditWarns]
	switch {
	case fails == nil && t.full:
		t.writeParagraph(4, fmt.Sprintf("%s if %s", auditWarns, strings.Join(hints, "; ")))
	case fails == nil:
		t.writeParagraph(4, fmt.Sprintf("%s if one of %d signs of missing or repeated items is found; --full lists them",
			auditWarns, len(hints)))
	default:
		t.writeParagraph(4, auditFails+" if "+strings.Join(fails, "; "))
		rest := "Without its condition, a sign only warns, and so do other signs, which --full lists."
		if t.full {
			rest = "A sign that is named above, but without its condition or with its exception, " + auditWarns +
				". So does each of these: " + strings.Join(hints, "; ")
		}
		t.writeParagraph(4, x.Items.signs(t.full)+t.auditOfDecided(x)+t.auditOfLimited(x)+rest)
	}
}

// decided returns the rules of the audit whose findings are hints if the configuration reads the sign, or if a rule that it
// sets ends the list, and these rules.
func (t *textWriter) decided(x *JobExplanation) (signs, ends []string) {
	for _, r := range x.Audit {
		if r.Never == "" && r.rule.Audit.Decided && !r.again && t.explanation.afterAudit(r) == auditFails {
			signs = append(signs, r.ID)
		}
	}
	for _, r := range x.Stops {
		if r.Never == "" && r.Outcome == rules.Complete && r.Origin.IsConfig() {
			ends = append(ends, r.ID)
		}
	}
	return signs, ends
}

// onlyWarn says that rules of the audit only warn.
func onlyWarn(signs []string) string {
	if len(signs) == 1 {
		return signs[0] + " only warns"
	}
	return wording.AndList(signs) + " only warn"
}

// auditOfDecided says which evidence is a hint if the rules read the sign, or after which ends.
func (t *textWriter) auditOfDecided(x *JobExplanation) string {
	signs, ends := t.decided(x)
	if signs == nil || ends == nil && x.signs == nil {
		return ""
	}
	text := onlyWarn(signs)
	if ends != nil {
		text += " after an end by " + wording.OrList(ends)
		if slices.ContainsFunc(x.Audit, func(r RuleExplanation) bool { return r.ID == trace.FindingMissing && r.Never == "" }) {
			text += "; audit.missing fails the run all the same"
		}
		if x.signs != nil {
			text += ". They only warn, too,"
		}
	}
	if x.signs != nil {
		text += fmt.Sprintf(" of a sign that the rules read (%s)", strings.Join(x.signs, ", "))
		if fail := x.afterSamePage(signs); fail != nil {
			text += fmt.Sprintf(", but if samePage has ended the list, %s fail%s the run", wording.AndList(fail), verbEnd(fail))
			if slices.Contains(fail, "audit.token") {
				text += " (audit.token only if the token or link is not the one that was sent)"
			}
		}
	}
	return text + ". "
}

// verbEnd returns the end of a verb whose subjects are names.
func verbEnd(names []string) string {
	if len(names) == 1 {
		return "s"
	}
	return ""
}

// afterSamePage returns those of some rules of the audit whose findings are evidence after the guard samePage, although a rule
// reads the sign.
func (x *JobExplanation) afterSamePage(signs []string) (fail []string) {
	if !slices.ContainsFunc(x.Stops, func(r RuleExplanation) bool {
		return r.ID == samePage && r.Never == "" && r.Origin.By.Kind == rules.AuthorDefault
	}) {
		return nil
	}
	for _, r := range x.Audit {
		if slices.Contains(signs, r.ID) && strings.Contains(r.rule.Audit.Proof, "list.again") && (r.ID != "audit.token" || x.signsInHeader) {
			fail = append(fail, r.ID)
		}
	}
	return fail
}

// auditOfLimited says which evidence is sought in a list that a setting of the configuration has limited.
func (t *textWriter) auditOfLimited(x *JobExplanation) string {
	limits := func(r RuleExplanation) bool {
		return r.Never == "" && r.Outcome == rules.Limited && r.Origin.IsConfig()
	}
	if !slices.ContainsFunc(x.ending(), limits) {
		return ""
	}
	var sought []string
	for _, r := range x.Audit {
		if r.Never == "" && slices.Contains(r.rule.Audit.Also, rules.Limited) && t.explanation.afterAudit(r) == auditFails {
			sought = append(sought, r.ID)
		}
	}
	return fmt.Sprintf("In a list that is limited, only %s can fail the run; the others above are not sought. ", wording.AndList(sought))
}

// afterAudit says what a rule of the audit does if it is true, exceptions aside.
func (e *Explanation) afterAudit(r RuleExplanation) string {
	if r.Evidence == "" && !r.rule.Audit.Adds || e.Dialect.Switches().AcceptEvidence {
		return auditWarns
	}
	return auditFails
}

// ineffective returns the rules that are not in effect, each with its reason. Those that are not by default
// are listed in full.
func (t *textWriter) ineffective(x *JobExplanation) (never []string) {
	for _, r := range slices.Concat(x.Stops, x.OnError, x.Audit) {
		isDefault := r.rule.Role == rules.RoleAudit || r.Guard && r.Origin.By.Kind == rules.AuthorDefault
		if r.Never != "" && (t.full || !isDefault) {
			never = append(never, r.ID+": "+r.Never)
		}
	}
	for _, u := range x.Unused {
		if t.full || u.Origin.By.Kind != rules.AuthorDefault {
			never = append(never, fmt.Sprintf("%s: %s%s", u.ID, u.Why, origin(u.Origin)))
		}
	}
	return never
}

// writeList writes a heading and texts, if there are any.
func (t *textWriter) writeList(title string, texts ...string) {
	if strings.Join(texts, "") == "" {
		return
	}
	t.writeHeading(title)
	for _, text := range texts {
		t.writeParagraph(4, text)
	}
}
