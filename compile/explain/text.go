package explain

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// TextOptions say how [Explanation.Text] writes an explanation.
type TextOptions struct {
	Width int  // columns of a line, from 40 to 120; 0 is 100
	Full  bool // repeat for every job what several jobs have in common, and print all messages
}

// String returns the explanation for people, as [Explanation.Text] does without options.
func (e *Explanation) String() string { return e.Text(TextOptions{}) }

// Text returns the explanation for people.
func (e *Explanation) Text(o TextOptions) string {
	t := &textWriter{layout: newLayout(o.Width), full: o.Full, explanation: e}
	t.warnings()
	if x := e.Auth; x != nil {
		t.paragraph(0, fmt.Sprintf("credentials: type %s, %s", x.Type, x.Says))
		t.rules(x.Rules)
		t.blank()
	}
	if e.Trees != nil {
		t.paragraph(0, "jobs")
		t.trees(2, e.Trees)
		t.blank()
	}
	shared, titles := t.shared()
	for i := range e.Jobs {
		if i > 0 {
			t.blank()
		}
		t.job(&e.Jobs[i], titles)
	}
	for _, text := range shared {
		t.blank()
		t.paragraph(0, titles[text])
		t.WriteString(text)
	}
	if e.Terms != nil {
		t.blank()
		t.paragraph(0, "in the expressions")
		for _, term := range e.Terms {
			t.definition(term.Name, term.Says)
		}
	}
	return t.String()
}

// textWriter writes an explanation as text.
type textWriter struct {
	layout
	full        bool
	explanation *Explanation
}

func (t *textWriter) warnings() {
	if len(t.explanation.Warnings) == 0 {
		return
	}
	t.line(0, value.Counted(len(t.explanation.Warnings), "warning"))
	for _, w := range t.explanation.Warnings {
		for line := range strings.Lines(w.text) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, " |") { // the caret needs its column
				t.line(2, line)
				continue
			}
			t.paragraph(2, line)
		}
	}
	t.blank()
}

func (t *textWriter) trees(indent int, list []TreeExplanation) {
	for _, x := range list {
		t.paragraph(indent, strings.TrimSuffix(x.Job+": "+x.Says, ": "))
		t.trees(indent+2, x.Children)
	}
}

// shared returns the texts that several jobs have in common, which are printed once, with
// their titles.
func (t *textWriter) shared() (texts []string, titles map[string]string) {
	var found sharing[string]
	titles = map[string]string{}
	for i := range t.explanation.Jobs {
		found.add(t.common(&t.explanation.Jobs[i]), i)
	}
	for _, text := range found.things {
		switch jobs := found.jobs[text]; {
		case len(jobs) < 2 || t.full:
			continue
		case len(jobs) == len(t.explanation.Jobs):
			titles[text] = "every job"
		default:
			titles[text] = "jobs " + strings.Join(t.explanation.jobIDs(jobs), ", ")
		}
		texts = append(texts, text)
	}
	return texts, titles
}

// job writes what is of most interest first: what the job does, its requests, its ends.
func (t *textWriter) job(x *JobExplanation, shared map[string]string) {
	title := "job " + x.Job + "   not paged"
	if x.Method != "" {
		title = "job " + x.Job + "   method " + x.Method
	}
	if x.Scroller != "" {
		title += "   scroller " + x.Scroller
	}
	t.paragraph(0, title+"   dialect "+t.explanation.Dialect)
	t.blank()
	t.paragraph(2, x.Summary)
	t.overview(x)
	t.partitions(x)
	t.ends(x)
	base := "the job's endpoint and params, with"
	if !x.IncludeParams {
		base = "the job's endpoint, without its params, with"
	}
	t.section("next request: "+base, x.Next)
	t.section("computed before the first request"+x.ofPartition(), x.Computed)
	t.section("state: the values before the page give those after it, which the next request reads", x.State)
	t.section("each item, after the rules have seen the page", x.Shape)
	t.section("for the next run", x.Keep)
	if x.Keeps != "" {
		t.paragraph(4, x.Keeps)
	}
	common := t.common(x)
	if title := shared[common]; title == "" {
		t.WriteString(common)
	} else {
		t.blank()
		t.paragraph(2, fmt.Sprintf("safety, error responses and audit: see %q below", title))
	}
	if len(x.Functions) > 0 {
		t.heading("functions of this program")
		for _, f := range x.Functions {
			t.line(4, f.Signature)
		}
	}
}

// ofPartition completes "before the first request".
func (x *JobExplanation) ofPartition() string {
	if x.Partitions == nil {
		return ", once"
	}
	return " of each partition"
}

// overview writes requests, items, page size and bounds, one row each.
func (t *textWriter) overview(x *JobExplanation) {
	t.blank()
	t.request("first request", &x.First)
	t.request("with kept values", x.FirstKept)
	t.request("second request", x.Second)
	t.row("items", x.Items.Where+origin(x.Items.From))
	t.row("written", x.written())
	if x.Limit != nil {
		t.row("page size", value.Preview(x.Limit)+origin(*x.LimitFrom))
	}
	t.row("bounds", x.Bounds.Says)
	if x.Partitions != nil {
		t.row("partitions", x.Partitions.Bounds)
	}
	if pace := t.explanation.Pace; pace != nil {
		t.row("pace", pace.Says)
	}
	switch {
	case x.Method == "":
	case x.Sequential == "":
		t.row("fetching ahead", "possible with --prefetch; pages beyond the end may be requested and discarded")
	default:
		t.row("fetching ahead", "not possible: "+x.Sequential)
	}
}

func (t *textWriter) request(name string, r *RequestExplanation) {
	if r == nil {
		return
	}
	t.row(name, r.Method+" "+r.URL)
	if r.Body != "" {
		t.row("", "body "+r.Body)
	}
	if len(r.Headers) > 0 {
		t.row("", "headers "+strings.Join(r.Headers, ", "))
	}
}

// origin returns where something is configured, for the end of a line.
func origin(o rules.Origin) string {
	if o.By.Kind == rules.AuthorDefault {
		return ""
	}
	return " [" + o.String() + "]"
}

// partitions writes what each partition of the job is run for.
func (t *textWriter) partitions(x *JobExplanation) {
	p := x.Partitions
	if p == nil {
		return
	}
	t.heading("partitions: the job is run " + p.Says)
	t.rules(x.variables())
	t.rules(x.stops(groupSplit))
	for _, fact := range p.Facts {
		t.paragraph(4, fact)
	}
}

// ends writes the rules that stop paging, normal ends first.
func (t *textWriter) ends(x *JobExplanation) {
	well := "exit status 0"
	if t.explanation.Dialect != rules.Keboola {
		well += ", if the audit finds no evidence"
	}
	t.section(fmt.Sprintf("normal ends: the list is complete (%s) when", well), x.stops(groupNormal))
	t.section(fmt.Sprintf("cut-offs: there may be more (%s; %s) when", rules.Limited, refused(rules.Limited)), x.stops(groupCutOff))
	t.section(fmt.Sprintf("errors: the run fails (%s) when", statusResponse), x.stops(groupError))
	if len(x.Needs) > 0 && len(x.stops(groupError)) == 0 {
		t.heading(fmt.Sprintf("errors: the run fails (%s) when", statusResponse))
	}
	for _, need := range x.Needs {
		t.definition(need.Rule, need.String())
	}
	if len(x.Stops) > 1 {
		var reasons []string
		for _, r := range x.ending() {
			if r.Never == "" {
				reasons = append(reasons, r.ID)
			}
		}
		t.blank()
		t.paragraph(2, "All rules are evaluated after each page. If several are true, the reason is the first of "+
			strings.Join(reasons, ", ")+".")
	}
}

// common returns the sections of a job that jobs often have in common: guards, error responses,
// the audit, and the rules that are not in effect.
func (t *textWriter) common(x *JobExplanation) string {
	w := &textWriter{layout: newLayout(t.width), full: t.full, explanation: t.explanation}
	w.section("safety", x.stops(groupSafety))
	w.section("on a response with another status than 200, 201, 203 or 204: the first that is true decides", x.OnError)
	other := "on an error"
	if len(x.OnError) > 0 {
		other = "on any other error"
	}
	w.heading(other)
	w.paragraph(4, t.explanation.Retries.String())
	w.paragraph(4, fmt.Sprintf("An expression that fails, or a response that cannot be read, fails the run (%s); so does a response "+
		"beyond a limit of api.http, such as maxBodyBytes (%s).", statusResponse, statusPolicy))
	if t.explanation.Origins != "" {
		w.paragraph(4, t.explanation.Origins)
	}
	var never []string
	audits := map[string][]string{}
	for _, r := range slices.Concat(x.Stops, x.OnError, x.Audit) {
		switch {
		case r.Never != "":
			never = append(never, r.ID+": "+r.Never)
		case r.rule.Role == rules.Audit:
			does := t.explanation.afterAudit(r)
			audits[does] = append(audits[does], fmt.Sprintf("%s (%s)", r.Says, r.ID))
		}
	}
	for _, u := range x.Unused {
		never = append(never, fmt.Sprintf("%s: %s%s", u.ID, u.Why, origin(u.Origin)))
	}
	for _, does := range []string{auditFails, auditDoubts, auditWarns} {
		w.list("at the end of a complete list, "+does+" if", strings.Join(audits[does], "; "))
	}
	w.list("not in effect", never...)
	return w.String()
}

// A rule of the audit does one of these.
const (
	auditWarns = "warns (outcome and exit status unchanged)"
)

var (
	auditFails  = fmt.Sprintf("fails the run (%s)", statusSuspect)
	auditDoubts = auditFails + ", or warns where a rule reads the sign,"
)

// afterAudit says what a rule of the audit does if it is true.
func (e *Explanation) afterAudit(r RuleExplanation) string {
	switch {
	case r.Evidence == "", e.Dialect == rules.Keboola:
		return auditWarns
	case r.Evidence == "true":
		return auditFails
	}
	return auditDoubts
}

// list writes a heading and texts, if there are any.
func (t *textWriter) list(title string, texts ...string) {
	if strings.Join(texts, "") == "" {
		return
	}
	t.heading(title)
	for _, text := range texts {
		t.paragraph(4, text)
	}
}

// section writes a heading and rules.
func (t *textWriter) section(title string, list []RuleExplanation) {
	if len(list) > 0 {
		t.heading(title)
		t.rules(list)
	}
}

// rules writes rules: id and source, then what the rule does, then where it is from.
func (t *textWriter) rules(list []RuleExplanation) {
	for _, r := range list {
		source, says, message := r.Source, r.underHeading(), ""
		if r.rule.Role == rules.Remove { // it has no expression
			source, says = says, ""
		}
		if r.rule.Told || t.full && r.Message != "" {
			message = "message: " + r.Message
		}
		t.definition(r.ID, source, says, message, r.from())
	}
}

// from says who wrote a rule, what it reads and what it limits.
func (r RuleExplanation) from() string {
	names := append([]string{r.Origin.String()}, value.Map(r.Settings, rules.Use.String)...)
	text := strings.Join(names, ", ")
	if len(r.Reads) > 0 {
		text += "; reads " + strings.Join(r.Reads, ", ")
	}
	if r.Bound != nil && r.Never == "" {
		text += "; limits each list to " + r.Bound.String()
	}
	return "[" + text + "]"
}
