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
	{"safety", func(t *textWriter, x *JobExplanation) {
		waits := slices.ContainsFunc(x.Next, func(r RuleExplanation) bool { return r.rule.Role == rules.RoleAfter })
		t.writeGuards(slices.DeleteFunc(x.stops(groupSafety), RuleExplanation.completes), waits)
	}},
	{"errors", (*textWriter).writeErrors},
	{"audit", (*textWriter).writeAudit},
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
		if r.On != rules.OnError {
			success = append(success, r)
		}
		if r.On != rules.OnSuccess {
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
	t.writeHeading("safety: checked after each page")
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
	for text := range strings.Lines(x.unretried() + t.explanation.Retries.String()) {
		t.writeParagraph(4, strings.TrimSpace(text))
	}
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
	} else {
		t.writeParagraph(4, x.nextRun())
	}
	if t.explanation.Origins != "" {
		t.writeParagraph(4, t.explanation.Origins)
	}
}

// nextRun says what the next run with a state does. In full, [JobExplanation.afterFailure] says more.
func (x *JobExplanation) nextRun() string {
	saved := ""
	if len(x.Items.Files) > 0 {
		again := ""
		if x.Items.mayGrow {
			again = ", and so is a last one that is not known to be full"
		}
		saved = " (one that fails the run is requested again, and replaces its rows in .partial" + again + "), and adds the rows from " +
			"there to .partial, which becomes the file, or to standard output"
	}
	return fmt.Sprintf("With --state, the run after one that failed or was interrupted %s; after exit status 0, it %s%s%s.%s",
		x.resumes(saved), x.afterSuccess(), x.Items.ofEvidence, x.afterFailOn(), x.notResumed())
}

// unretried says that an onError rule leaves no status for the retries.
func (x *JobExplanation) unretried() string {
	for _, r := range x.OnError {
		switch {
		case r.On == rules.OnSuccess:
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
