package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// TextOptions say how [Explanation.Text] writes an explanation.
type TextOptions struct {
	Width int  // columns of a line, from 40 to 120; 0 is 100
	Full  bool // print every rule of every job with all that it reads and its message
}

// String returns the explanation for people, as [Explanation.Text] does without options.
func (e *Explanation) String() string { return e.Text(TextOptions{}) }

// Text returns the explanation for people.
func (e *Explanation) Text(o TextOptions) string {
	t := &textWriter{layout: newLayout(o.Width), full: o.Full, explanation: e}
	t.warnings()
	if x := e.Auth; x != nil {
		t.paragraph(0, fmt.Sprintf("credentials: type %s, %s; sent only to the origin of api.baseUrl", x.Type, x.Says))
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
	for i, text := range shared {
		if i == 0 || titles[text] != titles[shared[i-1]] {
			t.blank()
			t.paragraph(0, titles[text])
		}
		t.WriteString(text)
	}
	if terms := t.shown.terms(); terms != nil {
		t.blank()
		t.paragraph(0, "in the expressions")
		for _, term := range terms {
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
	shown       usedNames // names in the expressions that are written
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
		for _, text := range t.common(&t.explanation.Jobs[i]) {
			if text != "" {
				found.add(text, i)
			}
		}
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
	slices.SortStableFunc(texts, func(a, b string) int { return strings.Compare(titles[a], titles[b]) })
	return texts, titles
}

// job writes the parts of most interest first: the summary, the requests, the ends.
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
	t.section("computed "+x.beforeRequests(), x.Computed)
	t.section("state: each variable before the first request and after each page", x.State)
	t.section("each item, after the rules have seen the page", x.Shape)
	t.section("for the next run", x.Keep)
	if x.KeepSays != "" {
		t.paragraph(4, x.KeepSays)
	}
	t.commonOf(x, shared)
	if len(x.Functions) > 0 {
		t.heading("functions of this program")
		for _, f := range x.Functions {
			t.line(4, f.Signature)
		}
	}
}

// commonOf writes the sections of a job that no other job shares. For those that are shared, it says
// where they are.
func (t *textWriter) commonOf(x *JobExplanation, shared map[string]string) {
	below := map[string][]string{}
	for i, text := range t.common(x) {
		if title := shared[text]; title == "" {
			t.WriteString(text)
		} else {
			below[title] = append(below[title], commonNames[i])
		}
	}
	var where []string
	for _, title := range slices.Sorted(maps.Keys(below)) {
		where = append(where, fmt.Sprintf("%s: see %q below", strings.Join(below[title], ", "), title))
	}
	if where != nil {
		t.heading(strings.Join(where, "; "))
	}
}

// beforeRequests says when the values of the requests are computed.
func (x *JobExplanation) beforeRequests() string {
	if x.Partitions == nil {
		return "once, before the first request"
	}
	return "before the first request of each partition"
}

// overview writes requests, items, page size and bounds, one row each.
func (t *textWriter) overview(x *JobExplanation) {
	t.blank()
	t.request("first request", &x.First)
	t.request("with kept values", x.FirstKept)
	t.request("second request", x.Second)
	t.row("items", x.Items.Where+origin(x.Items.From))
	if x.Items.Key != nil {
		t.row("key", strings.Join(x.Items.Key, ", "))
	}
	t.row("written", x.written())
	if x.Limit != nil {
		t.row("page size", value.Preview(x.Limit)+origin(*x.LimitFrom))
	}
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

// partitions writes the variables of the partitions of the job.
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
	t.section(fmt.Sprintf("normal ends: the list is complete (%s) when", well), x.normal())
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
			if r.Never == "" && (r.ID != compile.ReasonNextRequest || !x.endsWithoutAddress()) {
				reasons = append(reasons, r.ID)
			}
		}
		t.blank()
		t.paragraph(2, "If several rules are true after a page, the reason is the first of these: "+
			strings.Join(reasons, ", ")+".")
	}
}

// section writes a heading and rules.
func (t *textWriter) section(title string, list []RuleExplanation) {
	if len(list) > 0 {
		t.heading(title)
		t.rules(list)
	}
}

// rules writes rules: the id and the expression, then what the rule does and where it is from.
func (t *textWriter) rules(list []RuleExplanation) {
	t.shown.add(list)
	for _, r := range list {
		if r.Value == leftOut && !t.full {
			continue
		}
		if by := r.FirstBy; !t.full && r.First && by != nil && by.Origin.By.Kind == rules.AuthorDefault {
			r.FirstBy = nil
		}
		source, says, message := r.Source, r.underHeading(), ""
		if r.rule.Role == rules.Remove { // it has no expression
			source, says = says, ""
		}
		if r.rule.CustomMessage || t.full && r.Message != "" {
			message = "message: " + r.Message
		}
		t.definition(r.ID, source, says, "["+t.from(r)+"]", message)
	}
}

// from says who wrote a rule. In full, it also says which settings have their default, all that the
// rule reads, and what it limits.
func (t *textWriter) from(r RuleExplanation) string {
	names := []string{r.Origin.String()}
	for _, use := range r.Settings {
		if t.full || use.Origin.By.Kind != rules.AuthorDefault {
			names = append(names, use.String())
		}
	}
	text := strings.Join(names, ", ")
	var reads []string
	for _, name := range r.Reads {
		if t.full || !strings.Contains(r.Source, pathIn(name)) {
			reads = append(reads, name)
		}
	}
	if len(reads) > 0 {
		text += "; reads " + strings.Join(reads, ", ")
	}
	if r.Bound != nil && r.Never == "" && t.full {
		text += "; limits each list to " + r.Bound.String()
	}
	return text
}

// pathIn returns the path of a value that a rule reads as an expression may have it: that of
// has(body.meta.next) is meta.next.
func pathIn(read string) string {
	return strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(read, "has("), ")"), "body.")
}
