package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
)

// A commonSection is a section that jobs often have in common.
type commonSection struct{ name, text string }

// commonSections is the table of these sections: the guards, what happens on errors, the audit, and the
// rules that are not in effect.
var commonSections = []struct {
	name  string
	write func(t *textWriter, x *JobExplanation)
}{
	{"safety", func(t *textWriter, x *JobExplanation) { t.writeGuards(x.stops(groupSafety)) }},
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
	t.writeSection("on a response with another status than "+requests.PageStatuses+": the first that is true decides", failed)
	t.failures(len(x.OnError) > 0)
}

// writeGuards writes the guards: guards that the configuration sets as rules, and the others in a sentence each.
func (t *textWriter) writeGuards(list []RuleExplanation) {
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
		if r.rule.ExceptPolled {
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
		t.writeParagraph(4, "This does not hold for a poll, which repeats the previous request after a wait (nextRequest.after)"+but+".")
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
func (t *textWriter) failures(others bool) {
	title := "on an error"
	if others {
		title = "on any other error"
	}
	t.writeHeading(title)
	t.writeParagraph(4, t.explanation.Retries.String())
	t.writeParagraph(4, fmt.Sprintf("An expression that fails or a body that cannot be read (invalid JSON) fails the run (%s) at once, "+
		"as does a response above a limit of api.http%s (%s).", statusResponse, t.limits(), statusPolicy))
	if t.full {
		t.writeParagraph(4, "When the run fails, the items of the pages before are written, and so are those of a page on which a stopping rule "+
			"or a guard fails it.")
	}
	if t.explanation.Origins != "" {
		t.writeParagraph(4, t.explanation.Origins)
	}
}

// limits names the limits of a response, in full with their numbers.
func (t *textWriter) limits() string {
	var limits []string
	for _, p := range t.explanation.properties {
		if name, ok := strings.CutPrefix(p.name, "api.http."); ok && p.subject == limitsSubject {
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
		text := fmt.Sprintf("%s (%s)", r.Clause, r.ID)
		if r.except != "" && (t.full || r.usual) {
			text += ", " + r.except
		}
		if r.rule.Sends {
			text += ", if the rows are added to a file"
		}
		does := t.explanation.afterAudit(r)
		signs[does] = append(signs[does], text)
	}
	t.writeHeading("audit, at the end of a list")
	if fails := signs[auditFails]; fails != nil {
		t.writeParagraph(4, auditFails+" if "+strings.Join(fails, "; "))
		t.auditOfLimited(x)
	}
	switch hints := signs[auditWarns]; {
	case t.full && signs[auditFails] != nil:
		t.writeParagraph(4, auditWarns+" in the exceptions, and if "+strings.Join(hints, "; "))
	case t.full:
		t.writeParagraph(4, auditWarns+" if "+strings.Join(hints, "; "))
	case signs[auditFails] != nil:
		t.writeParagraph(4, fmt.Sprintf("only warns if the configuration reads such a sign or ends the list itself (as by stopRules), "+
			"or if one of %d weaker signs is found; --full has the details", len(hints)))
	default:
		t.writeParagraph(4, fmt.Sprintf("%s if one of %d signs of missing or repeated items is found; --full lists them", auditWarns, len(hints)))
	}
}

// auditOfLimited says which evidence is sought in a list that a setting of the configuration has limited.
func (t *textWriter) auditOfLimited(x *JobExplanation) {
	limits := func(r RuleExplanation) bool {
		return r.Never == "" && r.Outcome == rules.Limited && r.Origin.By.Kind == rules.AuthorConfig
	}
	if !slices.ContainsFunc(x.Stops, limits) {
		return
	}
	var sought []string
	for _, r := range x.Audit {
		if r.Never == "" && slices.Contains(r.rule.Also, rules.Limited) && t.explanation.afterAudit(r) == auditFails {
			sought = append(sought, r.ID)
		}
	}
	t.writeParagraph(4, fmt.Sprintf("A list that is limited ends early on purpose, so there the run only fails by %s.",
		strings.Join(sought, ", ")))
}

// afterAudit says what a rule of the audit does if it is true, exceptions aside.
func (e *Explanation) afterAudit(r RuleExplanation) string {
	if r.Evidence == "" && !r.rule.Sends || e.Dialect == rules.Keboola {
		return auditWarns
	}
	return auditFails
}

// ineffective returns the rules that are not in effect, each with its reason. Those that are not by default
// are listed in full.
func (t *textWriter) ineffective(x *JobExplanation) (never []string) {
	for _, r := range slices.Concat(x.Stops, x.OnError, x.Audit) {
		if r.Never != "" && (t.full || r.rule.Role != rules.RoleAudit) {
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
