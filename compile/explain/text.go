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
	t.section("computed once, before the first request", x.Computed)
	t.section("state", x.State)
	t.section("each item, after the rules have seen the page", x.Shape)
	t.section("saved for the next run, when the list is complete", x.Keep)
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

// overview writes requests, items, page size and bounds, one row each.
func (t *textWriter) overview(x *JobExplanation) {
	t.blank()
	t.request("first request", &x.First)
	t.request("with kept values", x.FirstKept)
	t.request("second request", x.Second)
	t.row("items", x.Items.Where+origin(x.Items.From))
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
	if len(p.Reads) > 0 {
		t.paragraph(4, "kept of an item: "+strings.Join(p.Reads, ", "))
	}
	t.paragraph(4, "may run at the same time, with --jobs: "+p.Together)
	if p.OnError == rules.PartitionSkip {
		t.paragraph(4, "one that fails is counted and named, and the run goes on (onPartitionError)")
	} else {
		t.paragraph(4, "one that fails ends the run (onPartitionError)")
	}
}

// ends writes the rules that stop paging, normal ends first.
func (t *textWriter) ends(x *JobExplanation) {
	t.section("normal ends: the list is complete when", x.stops(groupNormal))
	t.section("cut-offs: there may be more when", x.stops(groupCutOff))
	t.section("errors: the run fails when", x.stops(groupError))
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
	reads := func(r RuleExplanation) bool { return slices.Contains(r.Reads, "page") }
	if slices.ContainsFunc(slices.Concat(x.Stops, x.Next, x.State, x.OnError), reads) {
		t.paragraph(2, "In expressions page is the number of the page, from 1; before the first request it is 0.")
	}
}

// common returns the sections of a job that jobs often have in common: guards, error responses,
// the audit, and the rules that are not in effect.
func (t *textWriter) common(x *JobExplanation) string {
	w := &textWriter{layout: newLayout(t.width), full: t.full, explanation: t.explanation}
	w.section("safety", x.stops(groupSafety))
	w.section("on a response with status 400 or above: the first that is true decides", x.OnError)
	other := "on an error response"
	if len(x.OnError) > 0 {
		other = "on any other error response"
	}
	w.heading(other)
	w.paragraph(4, t.explanation.Retries.String())
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
	auditFails  = "fails the run (status 9)"
	auditDoubts = "fails the run (status 9), or warns where a rule reads the sign,"
	auditWarns  = "warns (outcome unchanged)"
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

// String says in words how often a request is made again.
func (r RetryExplanation) String() string {
	if r.Max == 0 {
		return "It fails the run: no request is retried (api.http.maxRetries)."
	}
	which := "A request without a response"
	list := func(statuses []int) string {
		return value.OrList(strings.Fields(strings.Trim(fmt.Sprint(statuses), "[]")))
	}
	if len(r.Statuses) > 0 {
		which += ", or with status " + list(r.Statuses) + ","
	}
	if len(r.Limited) > 0 {
		which = strings.TrimSuffix(which, ",") + ", or with status " + list(r.Limited) + " that says that a rate limit is exceeded,"
	}
	return fmt.Sprintf("%s is retried, at most %s; after that the run fails. The header %s says when. "+
		"Any other status of 400 or above fails the run at once.", which, value.Counted(r.Max, "time"), r.Header)
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
		text += "; limits the run to " + r.Bound.String()
	}
	return "[" + text + "]"
}
