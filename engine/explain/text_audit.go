package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// auditWarns says that a rule of the audit only warns.
const auditWarns = "warns (without --fail-on suspect, outcome and exit status are unchanged)"

// auditFails says that a rule of the audit fails the run.
var auditFails = fmt.Sprintf("fails the run (%s)", statusSuspect)

// afterAudit says what a rule of the audit does if it is true, exceptions aside.
func (e *Explanation) afterAudit(r RuleExplanation) string {
	if r.Evidence == "" && !r.rule.Audit.Adds || e.Dialect.Switches().AcceptEvidence {
		return auditWarns
	}
	return auditFails
}

// writeAudit writes what the audit does at the end of a list. Hints are listed in full.
func (t *textWriter) writeAudit(x *JobExplanation) {
	var evidence, hints []RuleExplanation
	for _, r := range x.Audit {
		switch {
		case r.Never != "":
		case t.explanation.afterAudit(r) == auditFails:
			evidence = append(evidence, r)
		default:
			hints = append(hints, r)
		}
	}
	if evidence == nil && !t.full {
		t.writeHeading("audit, at the end of a list")
		t.writeParagraph(4, fmt.Sprintf("%s if it finds a sign of missing or repeated items%s", auditWarns, signNames(hints)))
		return
	}
	if evidence != nil {
		t.writeHeading(fmt.Sprintf("audit, at the end of a list: evidence fails the run "+
			"(%s) when", statusSuspect))
		for _, r := range evidence {
			t.writeDefinition(r.ID, r.Clause, x.conditionsOfEvidence(r))
		}
		rest := ""
		if !t.full && hints != nil {
			rest = "Other signs only warn" + signNames(hints)
		}
		if text := strings.TrimSpace(x.Items.signs(t.full) + x.auditOfCutOff(evidence) + rest); text != "" {
			t.writeParagraph(4, text)
		}
	}
	if t.full {
		t.writeHeading("audit, at the end of a list: each of these " + auditWarns)
		for _, r := range hints {
			t.writeDefinition(r.ID, r.Clause)
		}
	}
}

// signNames names signs of the audit, as the end of a sentence.
func signNames(signs []RuleExplanation) string {
	example := ""
	var names []string
	for _, r := range signs {
		if r.ID == trace.FindingTwice {
			example = ", also that " + r.Clause
		}
		names = lists.AppendNew(names, strings.TrimPrefix(r.ID, "audit."))
	}
	return fmt.Sprintf("%s: %s (audit.NAME; --full describes them).", example, strings.Join(names, ", "))
}

// conditionsOfEvidence says when a finding of the audit fails the run, and when it only warns. It returns "" if the finding
// always fails the run.
func (x *JobExplanation) conditionsOfEvidence(r RuleExplanation) string {
	var fails, warns []string
	proof := r.rule.Audit.Proof
	if r.again {
		fails = append(fails, rules.EndedAgain.Words)
	}
	if proof.If.Words != "" {
		fails = append(fails, proof.If.Words)
	}
	if r.rule.Audit.Adds {
		fails = append(fails, "the rows are added to a file")
	}
	if proof.Unless.Words != "" {
		warns = append(warns, "if "+proof.Unless.Words)
	}
	if proof.Sign != nil && !r.again {
		warns = append(warns, x.decides(proof.Sign)...)
	}
	var conditions []string
	if fails != nil {
		conditions = append(conditions, "only if "+strings.Join(fails, ", and ")+" (otherwise it warns)")
	}
	if warns != nil {
		conditions = append(conditions, "only warns "+strings.Join(warns, "; or "))
	}
	return strings.Join(conditions, "; ")
}

// decides says when a sign that there is more only warns, because the configuration decides on it.
func (x *JobExplanation) decides(sign *rules.ReadSign) (conditions []string) {
	var ends []string
	for _, stop := range x.Stops {
		if stop.Never == "" && stop.Outcome == rules.Complete && stop.Origin.IsConfig() {
			ends = append(ends, stop.ID)
		}
	}
	if ends != nil {
		conditions = append(conditions, "after an end by "+wording.OrList(ends))
	}
	if x.signs != nil {
		read := fmt.Sprintf("if it is one that rules read (%s)", strings.Join(x.signs, ", "))
		if x.failsDespite(sign) {
			read += ", unless " + sign.Despite.Words
		}
		conditions = append(conditions, read)
	}
	return conditions
}

// failsDespite reports whether a finding about a sign is evidence after the guard samePage, although a rule reads the sign.
func (x *JobExplanation) failsDespite(sign *rules.ReadSign) bool {
	return (!sign.Differs || x.signsInHeader) &&
		slices.ContainsFunc(x.Stops, func(stop RuleExplanation) bool {
			return stop.ID == samePage && stop.Never == "" && stop.Origin.By.Kind == rules.AuthorDefault
		})
}

// auditOfCutOff says which evidence is sought in a list that a setting of the configuration, or a guard, has cut off.
func (x *JobExplanation) auditOfCutOff(evidence []RuleExplanation) string {
	var outcomes, sought []string
	for _, r := range x.ending() {
		if r.Never == "" && (r.Outcome == rules.Limited || r.Outcome == rules.Guarded) && r.Origin.IsConfig() {
			outcomes = lists.AppendNew(outcomes, string(r.Outcome))
		}
	}
	if outcomes == nil {
		return ""
	}
	for _, r := range evidence {
		if slices.Contains(r.rule.Audit.Also, rules.Limited) {
			sought = append(sought, r.ID)
		}
	}
	if len(sought) == len(evidence) {
		return ""
	}
	return fmt.Sprintf("In a list that is %s, only %s can fail the run; the others above are not sought. ",
		wording.OrList(outcomes), wording.AndList(sought))
}
