package explain

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/printable"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/ahead"
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
	t.writeWarnings()
	t.writeInputs()
	t.writeCredentials()
	if e.Trees != nil {
		t.writeParagraph(0, "jobs")
		t.writeTrees(2, e.Trees)
		t.writeBlank()
	}
	t.writeJobs()
	t.writeFailureOfJob()
	t.writeFlags()
	t.writeTerms()
	return t.String()
}

// textWriter writes an explanation as text.
type textWriter struct {
	layout
	full        bool
	explanation *Explanation
	shown       usedNames // names in the expressions that are written
}

func (t *textWriter) writeWarnings() {
	if len(t.explanation.Warnings) == 0 {
		return
	}
	t.writeLine(0, wording.Counted(len(t.explanation.Warnings), "warning"))
	for _, w := range t.explanation.Warnings {
		for line := range strings.Lines(w.text) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, " |") { // the caret needs its column
				t.writeLine(2, line)
				continue
			}
			t.writeParagraph(2, line)
		}
	}
	t.writeBlank()
}

func (t *textWriter) writeInputs() {
	e := t.explanation
	if e.Env != nil {
		t.writeParagraph(0, e.Env.String())
		t.writeBlank()
	}
	if e.Inputs != nil {
		t.writeParagraph(0, "inputs (--set NAME=VALUE): "+strings.Join(lists.Map(e.Inputs, func(in InputExplanation) string {
			return fmt.Sprintf("%s (%s)", in.Name, in.Says)
		}), ", "))
		if slices.ContainsFunc(e.Inputs, func(in InputExplanation) bool { return in.optional }) {
			t.writeParagraph(2, "An input that is left out is nil. A part of a request that is nil is left out ("+nilInJSON+").")
		}
		t.writeBlank()
	}
}

func (t *textWriter) writeCredentials() {
	x := t.explanation.Auth
	if x == nil {
		return
	}
	t.writeParagraph(0, fmt.Sprintf("credentials: type %s, %s; sent with every request to the origin of api.baseUrl, and to no other",
		x.Type, x.Says))
	if x.Request != "" {
		t.writeRow("obtained by", x.Request)
		t.writeRow("", x.Errors)
	}
	t.writeRules(x.Rules)
	t.writeBlank()
}

func (t *textWriter) writeTrees(indent int, list []TreeExplanation) {
	for _, x := range list {
		t.writeParagraph(indent, strings.TrimSuffix(x.Job+": "+x.Says, ": "))
		t.writeTrees(indent+2, x.Children)
	}
}

// writeJobs writes the jobs, and after them the texts that several of them have in common.
func (t *textWriter) writeJobs() {
	common := make([][]commonSection, len(t.explanation.Jobs))
	for i := range t.explanation.Jobs {
		common[i] = t.common(&t.explanation.Jobs[i])
	}
	shared, titles := t.shared(common)
	for i := range t.explanation.Jobs {
		if i > 0 {
			t.writeBlank()
		}
		t.writeJob(&t.explanation.Jobs[i], common[i], titles)
	}
	for i, text := range shared {
		if i == 0 || titles[text] != titles[shared[i-1]] {
			t.writeBlank()
			t.writeParagraph(0, titles[text])
		}
		t.WriteString(text)
	}
}

// jobFails says what the failure of a job means for the others.
const jobFails = "A job that fails ends the run: those after it do not start%s. " +
	"With --keep-going, the other jobs go on%s. The exit status is that of the first job here that failed.%s"

// writeFailureOfJob says in which order jobs run, and what the failure of a job means for the others.
func (t *textWriter) writeFailureOfJob() {
	e := t.explanation
	if len(e.Jobs) < 2 {
		return
	}
	tree := ""
	if slices.ContainsFunc(e.Trees, func(x TreeExplanation) bool { return x.Children != nil }) {
		tree = ", except those of its tree"
	}
	beside := ", and those that run with --jobs are cancelled"
	evidence := " Evidence of the audit stops no job, and decides the exit status only if no job fails."
	if e.Dialect.Switches().AcceptEvidence {
		evidence = ""
	}
	order := "Jobs run one after another, each child with its parent, and with --jobs N up to N at a time. "
	if tree == "" {
		order = "Jobs run one after another, and with --jobs N up to N at a time. "
	}
	if e.serial {
		order, beside = "Because the configuration has limits.partitions, jobs run one after another, also with --jobs. ", ""
	}
	apart := ""
	if e.roots > 1 {
		its := "its files"
		if tree != "" {
			its = "the files of its tree"
		}
		apart = fmt.Sprintf(" If a job fails, %s stay as they are, and so do those of jobs that did not end and, with --append, but "+
			"without --state, all files to which that flag adds rows.", its)
	}
	t.writeBlank()
	t.writeParagraph(0, order+fmt.Sprintf(jobFails, beside, tree, evidence+apart))
}

// writeTerms writes what the names mean that the written expressions use.
func (t *textWriter) writeTerms() {
	terms := t.shown.terms()
	if terms == nil {
		return
	}
	t.writeBlank()
	t.writeParagraph(0, "in the expressions")
	for _, term := range terms {
		t.writeDefinition(term.Name, term.Says)
	}
}

// shared returns the texts that several jobs have in common, which are printed once, with
// their titles, given the sections of each job.
func (t *textWriter) shared(common [][]commonSection) (texts []string, titles map[string]string) {
	var found sharing[string]
	titles = map[string]string{}
	for i, sections := range common {
		for _, s := range sections {
			if s.text != "" {
				found.add(s.text, i)
			}
		}
	}
	for _, text := range found.values {
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

// writeJob writes the most important parts first: the summary, the requests, the ends.
func (t *textWriter) writeJob(x *JobExplanation, common []commonSection, titles map[string]string) {
	title := "job " + x.Job + "   not paged"
	if x.Method != "" {
		title = "job " + x.Job + "   method " + x.Method
	}
	if x.Scroller != "" {
		title += "   scroller " + x.Scroller
	}
	t.writeParagraph(0, title+"   dialect "+string(t.explanation.Dialect))
	t.writeBlank()
	t.writeParagraph(2, x.Summary+t.keepsNone(x))
	t.writeOverview(x)
	t.writePartitions(x)
	t.writeEnds(x)
	t.writeNext(x)
	computed := "computed " + x.beforeRequests()
	if x.Partitions == nil {
		computed += fmt.Sprintf(" (%s if this fails)", statusConfig)
	}
	t.writeSection(computed, x.Computed)
	t.writeSection("state: variables before the first request and, after the rules, for the next", x.State)
	items := "each item, after the rules have seen the page"
	if slices.ContainsFunc(x.Shape, func(r RuleExplanation) bool { return r.rule.Role == rules.RoleSet && len(r.Reads) > 0 }) {
		items += "; other members stay, and a member that is nil becomes null"
	}
	if slices.Contains(shapes(x.Shape), "fields") && !x.Items.objects {
		items += `; an item that is not an object becomes {"value": …}`
	}
	t.writeSection(items, x.Shape)
	t.writeSection("for the next run", x.Keep)
	if x.KeepSays != "" {
		t.writeParagraph(4, x.KeepSays)
	}
	t.writeCommon(common, titles)
	if len(x.Functions) > 0 {
		t.writeHeading("functions of this program")
		for _, f := range x.Functions {
			t.writeLine(4, f.Signature)
		}
	}
}

// writeNext writes the parts of the next request or, if there is none, those of the only one.
func (t *textWriter) writeNext(x *JobExplanation) {
	if !x.onlyOne {
		t.writeSection("next request: "+x.baseOfNext(), x.Next)
		return
	}
	var parts []RuleExplanation
	for _, r := range x.Next {
		if r.First || r.FirstOnly {
			parts = append(parts, r)
		}
	}
	t.writeSection("the only request: the job's endpoint and params, with", parts)
}

// baseOfNext says which parts of the job the next request has, besides those that rules give it.
func (x *JobExplanation) baseOfNext() string {
	has := func(role rules.Role) bool {
		return slices.ContainsFunc(x.Next, func(r RuleExplanation) bool { return r.rule.Role == role })
	}
	isLink, isEndpoint := has(rules.RoleURL), has(rules.RoleEndpoint)
	switch {
	case !x.IncludeParams && x.ownBody && (isLink || isEndpoint):
		return "the job's body, without its endpoint and params, with"
	case !x.IncludeParams && (isLink || isEndpoint):
		return "without the job's endpoint and params, with"
	case !x.IncludeParams && x.ownBody:
		return "the job's endpoint and body, without its params, with"
	case !x.IncludeParams:
		return "the job's endpoint, without its params, with"
	case isEndpoint:
		return "the job's params, with"
	case isLink && x.paramsInBody:
		return "the job's params in the body, so that those of a link stay as they are, with"
	case isLink:
		return "the job's params, which override those of a link in their places, or follow them, with"
	}
	return "the job's endpoint and params, with"
}

// writeCommon writes the sections of [textWriter.common]. Of a section that several jobs share, it writes
// only where the section stands.
func (t *textWriter) writeCommon(common []commonSection, titles map[string]string) {
	shared := map[string][]string{}
	for _, s := range common {
		if title := titles[s.text]; title == "" {
			t.WriteString(s.text)
		} else {
			shared[title] = append(shared[title], s.name)
		}
	}
	var references []string
	for _, title := range slices.Sorted(maps.Keys(shared)) {
		references = append(references, fmt.Sprintf("%s: see %q below", strings.Join(shared[title], ", "), title))
	}
	if references != nil {
		t.writeHeading(strings.Join(references, "; "))
	}
}

// keepsNone says what files of earlier runs do if the job keeps no values.
func (t *textWriter) keepsNone(x *JobExplanation) string {
	switch {
	case len(x.Keep) > 0:
		return ""
	case t.full:
		return " Keeps no value for the next run, so --kept has no effect, and --state only continues a run that failed or was interrupted."
	}
	return " Keeps no value, so --kept has no effect."
}

// beforeRequests says when the values of the requests are computed.
func (x *JobExplanation) beforeRequests() string {
	if x.Partitions == nil {
		return "once, before the first request"
	}
	return "before the first request of each partition"
}

// writeOverview writes requests, items, page size and bounds, one row each.
func (t *textWriter) writeOverview(x *JobExplanation) {
	t.writeBlank()
	t.writeRequest("first request", &x.First)
	t.writeRequest("with kept values", x.FirstKept)
	if x.FirstKept != nil && x.FirstKept.keptInAll {
		except := ""
		if x.FirstKept.keptOnce != nil {
			except = ", except for " + wording.AndList(x.FirstKept.keptOnce)
		}
		t.writeRow("", "the later requests have them, too"+except+", and a run that continues a failed one sends the same values")
	}
	t.writeRequest("second request", x.Second)
	if x.First.typed || x.FirstKept != nil && x.FirstKept.typed || x.Second != nil && x.Second.typed {
		t.writeRow("", `in a body, a value that is not a text takes the place of "{value}" with its quotes`)
	}
	t.writeRow("items", x.Items.Where+origin(x.Items.From))
	if x.Items.Otherwise != "" {
		t.writeRow("", x.Items.Otherwise)
	}
	if x.Items.Key != nil {
		t.writeRow("key", strings.Join(x.Items.Key, ", ")+"   by which the audit recognizes items, and --merge rows")
	}
	t.writeRow("written", x.outputInWords())
	if x.Limit != nil {
		t.writeRow("page size", value.Preview(x.Limit)+origin(*x.LimitFrom))
	}
	if x.Partitions != nil {
		t.writeRow("partitions", x.Partitions.Bounds)
	}
	if pace := t.explanation.Pace; pace != nil {
		t.writeRow("pace", pace.Says)
	}
	switch {
	case x.Method == "", x.onlyOne && !t.full:
	case x.Sequential == "":
		byDefault := fmt.Sprintf("by default, the next page while one of %d KiB or more is read; ", ahead.LargePage>>10)
		limited := ""
		if len(x.stops(groupCutOff)) > 0 {
			limited = ", but not beyond a limit on pages"
		}
		if x.whyNotAhead != "" {
			byDefault = x.whyNotAhead
		}
		t.writeRow("fetching ahead", fmt.Sprintf("%s--prefetch N requests N-1 pages ahead after page 1 (auto: up to %d), also "+
			"beyond the end, where an error changes nothing%s.", byDefault, ahead.MaxGrowth-1, limited))
	default:
		t.writeRow("fetching ahead", "not possible: "+x.Sequential)
	}
}

func (t *textWriter) writeRequest(name string, r *RequestExplanation) {
	if r == nil {
		return
	}
	t.writeRow(name, r.Method+" "+r.URL)
	if r.Body != "" {
		body := "body "
		if r.form {
			body = "body, a URL-encoded form: "
		}
		t.writeRow("", body+r.Body)
	}
	if t.full && r.sent != nil {
		sent := slices.Clone(r.sent)
		if t.explanation.Auth != nil && !r.foreign {
			sent = append(sent, t.explanation.Auth.sent...)
		}
		t.writeRow("", "sent besides: "+strings.Join(sent, ", "))
	}
	if len(r.headers) > 0 {
		t.writeRow("", "headers "+strings.Join(lists.Map(r.headers, func(h string) string { return t.header(h, r.foreign) }), ", "))
	}
}

// header returns a header, such as "X-Page: 2", for a line. foreign reports whether its request has no credentials.
func (t *textWriter) header(header string, foreign bool) string {
	name, _, _ := strings.Cut(header, ":")
	if auth := t.explanation.Auth; auth != nil && !foreign && slices.ContainsFunc(auth.sent, func(sent string) bool {
		other, _, _ := strings.Cut(sent, ":")
		return strings.EqualFold(name, other)
	}) {
		return printable.Text(name) + " (that of the credentials takes its place)"
	}
	if strings.HasSuffix(header, ": ***") {
		header += " (configured; it may be a secret)"
	}
	return printable.Text(header)
}

// origin returns where something is configured, for the end of a line.
func origin(o rules.Origin) string {
	if o.By.Kind == rules.AuthorDefault {
		return ""
	}
	return " [" + o.String() + "]"
}

// writePartitions writes the variables of the partitions of the job.
func (t *textWriter) writePartitions(x *JobExplanation) {
	p := x.Partitions
	if p == nil {
		return
	}
	t.writeHeading("partitions: the job is run " + p.Says)
	t.writeRules(x.variables())
	t.writeRules(x.stops(groupSplit))
	for _, fact := range p.Facts {
		t.writeParagraph(4, fact)
	}
}

// writeEnds writes the rules that stop paging, normal ends first.
func (t *textWriter) writeEnds(x *JobExplanation) {
	well := "exit status 0"
	if !t.explanation.Dialect.Switches().AcceptEvidence {
		well += ", if the audit finds no evidence"
	}
	t.writeSection(fmt.Sprintf("normal ends: the list is complete (%s) when", well), x.normal())
	limited := failOnStatus(t.explanation.Dialect, rules.Limited)
	t.writeSection(fmt.Sprintf("cut-offs: there may be more (%s; %s) when", rules.Limited, limited), x.stops(groupCutOff))
	if len(x.stops(groupCutOff)) > 0 {
		t.writeParagraph(4, "They are checked after a page, which is complete; they cut no wait, retry or response short.")
	}
	t.writeSection(fmt.Sprintf("errors: the run fails (%s) when", statusResponse), x.stops(groupError))
	if len(x.Needs) > 0 && len(x.stops(groupError)) == 0 {
		t.writeHeading(fmt.Sprintf("errors: the run fails (%s) when", statusResponse))
	}
	for _, need := range x.Needs {
		t.writeDefinition(need.Rule, need.String())
	}
	if len(x.Stops) > 1 {
		var reasons []string
		for _, r := range x.ending() {
			if r.Never == "" && (r.ID != runtime.ReasonNextRequest || !x.endsWithoutAddress()) {
				reasons = append(reasons, r.ID)
			}
		}
		t.writeBlank()
		text := ""
		if len(reasons) > 1 {
			text = "If several rules are true after a page, the first of these decides: " + strings.Join(reasons, ", ") + ". "
		}
		if len(x.Items.Files) > 0 {
			text += "The items of the page that ends the list are written, also if it fails the run"
			var dropping []string
			for _, r := range x.Stops {
				if r.Drop && r.Never == "" {
					dropping = append(dropping, r.ID)
				}
			}
			if dropping != nil {
				text += ", but not after " + wording.OrList(dropping)
			}
			text += "."
		}
		t.writeParagraph(2, strings.TrimSuffix(text, " "))
	}
	if t.full && x.passesEmpty {
		t.writeParagraph(2, "An empty page does not end the list by itself.")
	}
}

// writeSection writes a heading and rules.
func (t *textWriter) writeSection(title string, list []RuleExplanation) {
	if len(list) > 0 {
		t.writeHeading(title)
		t.writeRules(list)
	}
}

// writeRules writes the id and the expression of each rule, then its effect and its origin.
func (t *textWriter) writeRules(list []RuleExplanation) {
	for _, r := range list {
		if r.leftOut && !t.full {
			continue
		}
		if !t.full && r.rule.Guard && r.Origin.By.Kind == rules.AuthorDefault {
			t.writeDefinition(r.ID, r.underHeading())
			continue
		}
		t.shown.add([]RuleExplanation{r})
		if by := r.FirstBy; !t.full && r.First && by != nil && by.Origin.By.Kind == rules.AuthorDefault {
			r.FirstBy = nil
		}
		source, effect, message := r.Source, r.underHeading(), ""
		if r.rule.Role == rules.RoleRemove { // it has no expression
			source, effect = effect, ""
		}
		if r.rule.CustomMessage || t.full && r.Message != "" {
			message = "message: " + r.Message
		}
		t.writeDefinition(r.ID, source, effect, "["+t.from(r)+"]", message)
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

// pathIn returns the path in the text of a read: meta.next for has(body.meta.next).
func pathIn(read string) string {
	if inner, isPresence := strings.CutPrefix(read, "has("); isPresence {
		read = strings.TrimSuffix(inner, ")")
	}
	return strings.TrimPrefix(read, "body.")
}
