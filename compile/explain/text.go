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
	t.credentials()
	t.trees()
	shared := t.shared()
	for i := range e.Jobs {
		if i > 0 {
			t.blank()
		}
		t.job(&e.Jobs[i], shared)
	}
	for _, s := range shared {
		t.blank()
		t.paragraph(0, s.title())
		t.WriteString(s.text)
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

// credentials writes what requests are sent with.
func (t *textWriter) credentials() {
	x := t.explanation.Auth
	if x == nil {
		return
	}
	t.paragraph(0, fmt.Sprintf("credentials: type %s, %s", x.Type, x.Says))
	for _, r := range x.Rules {
		t.definition(r.ID, r.Source, "", from(r))
	}
	t.blank()
}

// sharedText is what several jobs have in common.
type sharedText struct {
	jobs []string
	all  bool
	text string
}

func (s sharedText) title() string {
	if s.all {
		return "every job"
	}
	return "jobs " + strings.Join(s.jobs, ", ")
}

// shared returns what several jobs have in common, and is printed once.
func (t *textWriter) shared() []sharedText {
	if t.full {
		return nil
	}
	var out []sharedText
	for i := range t.explanation.Jobs {
		x := &t.explanation.Jobs[i]
		text := t.common(x)
		at := slices.IndexFunc(out, func(s sharedText) bool { return s.text == text })
		if at < 0 {
			out, at = append(out, sharedText{text: text}), len(out)
		}
		out[at].jobs = append(out[at].jobs, x.Job)
	}
	out = slices.DeleteFunc(out, func(s sharedText) bool { return len(s.jobs) < 2 })
	for i := range out {
		out[i].all = len(out[i].jobs) == len(t.explanation.Jobs)
	}
	return out
}

// common returns the sections of a job that jobs often have in common.
func (t *textWriter) common(x *JobExplanation) string {
	w := &textWriter{layout: newLayout(t.width), full: t.full, explanation: t.explanation}
	w.safety(x)
	w.errors(x)
	w.audit(x)
	w.unused(x)
	return w.String()
}

// job writes what is of most interest first: what the job does, its requests, its ends.
func (t *textWriter) job(x *JobExplanation, shared []sharedText) {
	title := "job " + x.Job
	if x.Method == "" {
		title += "   not paged"
	} else {
		title += "   method " + x.Method
	}
	if x.Scroller != "" {
		title += "   scroller " + x.Scroller
	}
	t.paragraph(0, title+"   dialect "+t.explanation.Dialect)
	t.blank()
	t.paragraph(2, x.Summary)
	t.facts(x)
	t.partitions(x)
	t.ends(x)
	t.parts(x)
	t.computed(x)
	t.state(x)
	t.shape(x)
	t.section("saved for the next run, when the list is complete", x.Keep, t.rule)
	common := t.common(x)
	at := slices.IndexFunc(shared, func(s sharedText) bool { return s.text == common })
	if at < 0 {
		t.WriteString(common)
	} else {
		t.blank()
		t.paragraph(2, fmt.Sprintf("safety, error responses and audit: see %q below", shared[at].title()))
	}
	if len(x.Functions) > 0 {
		t.heading("functions of this program")
		for _, f := range x.Functions {
			t.line(4, f.Signature)
		}
	}
}

// facts writes requests, items, page size and bounds, one row each.
func (t *textWriter) facts(x *JobExplanation) {
	t.blank()
	t.request("first request", x.First)
	if x.FirstKept != nil {
		t.request("with kept values", *x.FirstKept)
	}
	if x.Second != nil {
		t.request("second request", *x.Second)
	}
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
	if x.Method == "" {
		return
	}
	if x.Sequential == "" {
		t.row("fetching ahead", "possible with --prefetch; pages beyond the end may be requested and discarded")
	} else {
		t.row("fetching ahead", "not possible: "+x.Sequential)
	}
}

func (t *textWriter) request(name string, r RequestExplanation) {
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

// ends writes the rules that stop paging, normal ends first.
func (t *textWriter) ends(x *JobExplanation) {
	normal := only(x.Stops, groupNormal)
	if x.NoNext != nil {
		normal = append(normal, *x.NoNext)
	}
	t.section("normal ends: the list is complete when", normal, t.rule)
	t.section("cut-offs: there may be more when", only(x.Stops, groupCutOff), t.rule)
	t.section("errors: the run fails when", only(x.Stops, groupError), t.rule)
	if len(x.Stops) > 1 {
		t.blank()
		t.paragraph(2, "All rules are evaluated after each page. If several are true, the reason is the first of "+x.reasons()+".")
	}
	reads := func(r RuleExplanation) bool { return slices.Contains(r.Reads, "page") }
	if slices.ContainsFunc(slices.Concat(x.Stops, x.Next, x.State, x.OnError), reads) {
		t.paragraph(2, "In expressions page is the number of the page, from 1; before the first request it is 0.")
	}
}

// reasons lists the ids of the rules that can be the reason to stop, in their order.
func (x *JobExplanation) reasons() string {
	var names []string
	for _, r := range x.Stops {
		if r.Never == "" {
			names = append(names, r.ID)
		}
	}
	if x.NoNext != nil {
		names = append(names, x.NoNext.ID)
	}
	return strings.Join(names, ", ")
}

func only(list []RuleExplanation, group string) []RuleExplanation {
	var out []RuleExplanation
	for _, r := range list {
		if r.group() == group {
			out = append(out, r)
		}
	}
	return out
}

// parts writes what the requests have besides the job's own.
func (t *textWriter) parts(x *JobExplanation) {
	base := "the job's endpoint and params, with"
	if !x.IncludeParams {
		base = "the job's endpoint, without its params, with"
	}
	t.section("next request: "+base, x.Next, t.part)
}

func (t *textWriter) part(r RuleExplanation) {
	t.definition(r.ID, r.Source, r.sent(), from(r))
}

// computed writes the values that are computed before the first request.
func (t *textWriter) computed(x *JobExplanation) {
	t.section("computed once, before the first request", x.Computed, func(r RuleExplanation) {
		t.definition(r.ID, r.Source, r.Value, from(r))
	})
}

// shape writes what is evaluated for each item.
func (t *textWriter) shape(x *JobExplanation) {
	t.section("each item, after the rules have seen the page", x.Shape, func(r RuleExplanation) {
		if r.rule.Role == rules.Remove {
			t.definition(r.ID, r.Says, from(r))
			return
		}
		t.definition(r.ID, r.Source, r.shapes(), from(r))
	})
}

func (t *textWriter) state(x *JobExplanation) {
	t.section("state", x.State, func(r RuleExplanation) {
		says := "before the first request"
		if r.rule.Role == rules.Next {
			says = "after each page"
		}
		if r.Value != "" {
			says += ": " + r.Value
		}
		t.definition(r.ID, r.Source, says, from(r))
	})
}

// safety writes the guards.
func (t *textWriter) safety(x *JobExplanation) {
	t.section("safety", only(x.Stops, groupSafety), func(r RuleExplanation) {
		verb := fmt.Sprintf("ends the list (%s) when ", r.Outcome)
		if r.Outcome == rules.Failed {
			verb = "fails when "
		}
		r.Says = verb + r.Says
		t.rule(r)
	})
}

// errors writes what happens about error responses.
func (t *textWriter) errors(x *JobExplanation) {
	if len(x.OnError) > 0 {
		t.section("on a response with status 400 or above: the first that is true decides", x.OnError, func(r RuleExplanation) {
			r.Says = fmt.Sprintf("if %s, %s", r.Says, r.action())
			t.rule(r)
		})
	}
	which := "on an error response"
	if len(x.OnError) > 0 {
		which = "on any other error response"
	}
	t.heading(which)
	t.paragraph(4, t.explanation.Retries.String())
}

// String says in words how often a request is made again.
func (r RetryExplanation) String() string {
	if r.Max == 0 {
		return "It fails the run: no request is retried (api.http.maxRetries)."
	}
	statuses := make([]string, len(r.Statuses))
	for i, s := range r.Statuses {
		statuses[i] = fmt.Sprint(s)
	}
	which := "A request without a response"
	if len(statuses) > 0 {
		which += ", or with status " + value.OrList(statuses) + ","
	}
	return fmt.Sprintf("%s is retried, at most %s; after that the run fails. The header %s says when. "+
		"Any other status of 400 or above fails the run at once.", which, value.Counted(r.Max, "time"), r.Header)
}

func (t *textWriter) audit(x *JobExplanation) {
	var clauses []string
	for _, r := range x.Audit {
		if r.Never == "" {
			clauses = append(clauses, fmt.Sprintf("%s (%s)", r.Says, r.ID))
		}
	}
	if clauses != nil {
		t.heading("at the end of a complete list, warns (outcome unchanged) if")
		t.paragraph(4, strings.Join(clauses, "; "))
	}
}

// unused writes the rules that cannot be met, and those that are not in force.
func (t *textWriter) unused(x *JobExplanation) {
	var lines []string
	for _, r := range slices.Concat(x.Stops, x.OnError, x.Audit) {
		if r.Never != "" {
			lines = append(lines, fmt.Sprintf("%s: %s", r.ID, r.Never))
		}
	}
	for _, u := range x.Unused {
		lines = append(lines, fmt.Sprintf("%s: %s%s", u.ID, u.Why, origin(u.Origin)))
	}
	if lines == nil {
		return
	}
	t.heading("not in effect")
	for _, line := range lines {
		t.paragraph(4, line)
	}
}

// section writes a heading and rules.
func (t *textWriter) section(title string, list []RuleExplanation, write func(RuleExplanation)) {
	if len(list) == 0 {
		return
	}
	t.heading(title)
	for _, r := range list {
		write(r)
	}
}

// rule writes a rule: id and source, then what it says, then where it is from.
func (t *textWriter) rule(r RuleExplanation) {
	says := r.Says
	if says == r.Source || r.rule.Role == rules.Keep {
		says = ""
	}
	message := ""
	if r.rule.Told || t.full && r.Message != "" {
		message = "message: " + r.Message
	}
	t.definition(r.ID, r.Source, says, message, from(r))
}

// from says who wrote a rule, what it reads and what it limits.
func from(r RuleExplanation) string {
	names := []string{r.Origin.String()}
	for _, u := range r.Settings {
		names = append(names, u.String())
	}
	text := strings.Join(names, ", ")
	if len(r.Reads) > 0 {
		text += "; reads " + strings.Join(r.Reads, ", ")
	}
	if r.Bound != nil && r.Never == "" {
		text += "; limits the run to " + r.Bound.String()
	}
	return "[" + text + "]"
}
