package explain

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// An explainer describes a compiled job. It redacts all text.
type explainer struct {
	*compile.Job
	compile.Analysis // of the job
	redact           func(string) string
}

func newExplainer(job *compile.Job, redact func(string) string) explainer {
	return explainer{job, job.Analysis(), redact}
}

// explain describes the job.
func (j explainer) explain(cfg *rules.Config, run RunDetails) JobExplanation {
	set := j.Ruleset
	x := JobExplanation{
		Job: set.Job.ID, Method: set.Method, Scroller: set.Scroller, Limit: set.Limit, Items: j.items(),
		IncludeParams: set.IncludeParams, Sequential: j.redact(j.WhySequential()), Unused: slices.Clone(set.Unused),
	}
	for _, keys := range set.Ignore {
		x.Ignore = append(x.Ignore, keypath.Join(keys...))
	}
	if set.Limit != nil {
		from := set.LimitFrom
		x.LimitFrom = &from
	}
	j.addFiles(&x.Items, cfg)
	x.describeRequests(j, run)
	x.describeRules(j)
	x.signs, x.signsInHeader = j.signsRead()
	x.signsInHeader = x.signsInHeader || j.EndsByCountAlone()
	x.Needs, x.KeepSays = j.needs(), j.keepInWords(run.Kept)
	x.NoNext = j.noNext()
	if cfg.MaxPartitions > 0 && len(j.Children) > 0 && !j.Spec().Emits && j.Paged() {
		x.Enough = &RuleExplanation{
			ID: runtime.ReasonPartitionLimit, Outcome: rules.Limited,
			Clause: fmt.Sprintf("the items of a page need more partitions than are left of the %d of a run", cfg.MaxPartitions),
			Origin: rules.Origin{Path: "config.limits.partitions"}, rule: rules.Rule{Role: roleNoNext},
		}
	}
	x.Bounds = j.bounds()
	x.passesEmpty = j.Paged() && !x.Bounds.onePage && j.passesEmptyPages()
	if x.Partitions = j.partitions(cfg.MaxPartitions); x.Partitions != nil {
		x.Partitions.Facts = slices.DeleteFunc(append(x.windows, x.Partitions.Facts...), func(fact string) bool { return fact == "" })
	}
	switch {
	case len(j.Children) > 0 && j.SplitVariable() == nil:
		x.whyNotAhead = "not by default, as the requests of the partitions come before the next page; "
	case cfg.MaxPartitions > 0:
		x.whyNotAhead = "not by default, because the configuration has limits.partitions; "
	case j.Request.Verb() != http.MethodGet && !slices.ContainsFunc(j.Parts, setsMethod):
		x.whyNotAhead = fmt.Sprintf("not by default, as the method is %s; ", j.Request.Verb())
	}
	for _, f := range j.Functions {
		x.Functions = append(x.Functions, FunctionExplanation{f.Name, f.Signature})
	}
	x.Summary = j.summary(&x, cfg)
	x.path, x.paging = set.Job.Path(), set.Path
	x.endpoint, x.properties = set.Job.Method+" "+set.Job.Endpoint, j.properties(&x)
	return x
}

// describeRules describes the job's rules.
func (x *JobExplanation) describeRules(j explainer) {
	for _, group := range []struct {
		of []*language.Expression
		to *[]RuleExplanation
	}{
		{j.Computed, &x.Computed}, {j.Init, &x.State}, {j.Next, &x.State}, {j.Parts, &x.Next}, {compile.Expressions(j.Stops), &x.Stops},
		{compile.Expressions(j.OnErrors), &x.OnError}, {j.keepRules(), &x.Keep}, {j.ItemRules.Rules(), &x.Shape},
		{compile.Expressions(j.AuditTriggers()), &x.Audit},
	} {
		for _, e := range group.of {
			*group.to = append(*group.to, j.rule(e))
		}
	}
	for i, e := range j.Parts {
		switch {
		case x.Next[i].ValueInWords != "":
		case e.IsName("limit"):
			x.Next[i].ValueInWords, x.Next[i].leftOut = j.limitInWords()
		default:
			x.Next[i].ValueInWords = j.redact(j.Prover().Later(e))
			x.Next[i].later = x.Next[i].ValueInWords != ""
		}
	}
	unreached, endOfEmpty := j.Unreached(), j.endOfEmptyPages()
	for i, s := range j.Stops {
		if b, ok := j.Prover().Bound(s.Expression); ok {
			x.Stops[i].Bound = &b
		}
		x.Stops[i].Never = cmp.Or(unreached[s], j.whyUnreached(s, endOfEmpty))
	}
	for i, s := range j.OnErrors {
		x.OnError[i].Never = j.WhyNever(s)
	}
	for i, s := range j.AuditTriggers() {
		x.Audit[i].Never = cmp.Or(j.WhyNever(s), j.whyUnnoticed(s.Rule))
	}
	j.addPartitionSigns(x.Audit)
}

// whyUnnoticed returns why a rule of the audit has no effect, if the list cannot have what the rule is about.
func (j explainer) whyUnnoticed(r rules.Rule) string {
	switch {
	case j.isUnaudited(r):
		return "the list always ends by a rule after which it is not sought"
	case r.Audit.IsAbout(rules.AboutKept) && len(j.Keeps) == 0:
		return "no value is kept (keep)"
	case r.Audit.IsAbout(rules.AboutUnsent) && j.KeptUse() == compile.KeptFromFirst:
		return "the first request, a stopping rule or the filter reads the kept values"
	case r.Audit.IsAbout(rules.AboutFirst) && j.KeptUse() != compile.KeptFromFirst:
		return "neither the first request nor a stopping rule nor the filter reads the kept values"
	case r.Audit.IsAbout(rules.AboutSent) && len(j.SentCursors()) == 0 && (r.Audit.Adds || j.Reread() == nil):
		return "the first request sends no kept value that is the greatest of the items"
	case r.Audit.IsAbout(rules.AboutNumber) && !slices.ContainsFunc(j.Stops, endsByCount):
		return "no stopping rule reads a total or a number of pages in responses"
	case r.Audit.IsAbout(rules.AboutLinks) &&
		(!j.Ruleset.IncludeParams || len(j.Request.Params) == 0 || !slices.ContainsFunc(j.NextParts, isAddress)):
		return "no link has parameters that those of the job override (includeParams)"
	case r.Audit.IsAbout(rules.AboutPosition) && !j.RequestsByPosition():
		return "the next request names no position in the list, or depends on responses"
	case r.ID == "audit.position" && !j.firstNamesPosition():
		return "the first request has no parameter with a usual name of a page or an offset"
	case r.Audit.IsAbout(rules.AboutAhead) && j.WhySequential() != "":
		return "no page is requested ahead"
	case r.Audit.IsAbout(rules.AboutPages) && j.hasOnePage():
		return "the list has one page"
	case r.Audit.IsAbout(rules.AboutPlace) && j.Spec().Response.Format.IsLines():
		return "each line of a response is an item"
	case r.Audit.IsAbout(rules.AboutGaps) && j.endOfEmptyPages() != nil && (j.Spec().DataField == nil || len(j.Spec().DataField.Lists) < 2):
		return j.endOfEmptyPages().Rule.ID + " ends the list at the first empty page"
	case r.Audit.IsAbout(rules.AboutKey) && j.Spec().Key == nil:
		return "the items have no key (key)"
	case r.Audit.IsAbout(rules.AboutPartitions) && !j.maySeveral():
		return "there is one partition at most"
	case r.Audit.OnError != "" &&
		!slices.ContainsFunc(j.OnErrors, func(c *compile.Trigger) bool { return c.Rule.OnError.Do == r.Audit.OnError }):
		return fmt.Sprintf("no onError rule has the action %s", r.Audit.OnError)
	}
	return ""
}

// firstNamesPosition reports whether the first request has a parameter with a usual name of the number of a page or the index of an
// item, or may have one.
func (j explainer) firstNamesPosition() bool {
	named := func(name string) bool {
		return apinames.AlikeAny(name, apinames.PageNumberNames()) || apinames.IsItemIndex(name)
	}
	return j.Request.Body != nil || strings.Contains(j.Request.Endpoint, "?") ||
		slices.ContainsFunc(j.Request.Params, func(m rules.Member) bool { return named(m.Name) }) ||
		slices.ContainsFunc(slices.Concat(j.FirstParts, j.Computed), func(e *language.Expression) bool {
			return e.Rule.Role.Addresses() || (e.Rule.Role == rules.RoleParam || e.Rule.Role == rules.RoleBody) &&
				(e.Rule.Target == "" || named(e.Rule.Target))
		})
}

// mayEndAgain reports whether the guard samePage may end the list by default, because a page came again.
func (j explainer) mayEndAgain() bool {
	return !j.hasOnePage() && slices.ContainsFunc(j.Stops, func(s *compile.Trigger) bool {
		return s.Rule.ID == samePage && s.Rule.Origin.By.Kind == rules.AuthorDefault && !(s.Rule.Stop.ExceptPolled && j.OnlyPolls())
	})
}

// samePage is the ID of the guard against a page that comes twice.
const samePage = "samePage"

// missingInWords lists the paths that the audit reports as missing if no response has them.
func (j explainer) missingInWords() string {
	var paths, links []string
	for _, watch := range slices.Concat(j.Watches(), j.ItemRules.Watches()) {
		switch name := j.redact(pathIn(watch.String())); {
		case watch.Optional, watch.InItem() && watch.Rule.Role == rules.RoleSet, watch.Rule.Stop.ExpectsRead && !j.endsWithout(watch.Rule):
		case watch.Link:
			links = lists.AppendNew(links, name)
		default:
			paths = lists.AppendNew(paths, name)
		}
	}
	text := "no response has the list of items"
	if paths != nil {
		text = "one of these is in no response: the list of items, " + strings.Join(paths, ", ")
	}
	if links != nil {
		text += "; or none has " + wording.OrList(links) + ", although there is a sign of more"
	}
	return text
}

// endsWithout reports whether a stopping rule may be true of a response that lacks all that the rule reads.
func (j explainer) endsWithout(rule rules.Rule) bool {
	i := slices.IndexFunc(j.Stops, func(s *compile.Trigger) bool { return s.Rule.ID == rule.ID })
	if i < 0 {
		return true
	}
	met, err := j.Stops[i].EvalBool(&language.Machine{}, &rules.Context{Page: 1, Body: rules.Object{}})
	return met || err != nil
}

// signsRead returns the places of a response by which rules decide how the list goes on, and whether one is in a header.
func (j explainer) signsRead() (places []string, inHeader bool) {
	var reads []language.Read
	for _, e := range slices.Concat(compile.Expressions(j.Stops), j.Next, j.NextParts) {
		if e.Rule.Outcome != rules.Split && e.Rule.Role != rules.RoleAfter {
			reads = append(reads, e.Reads...)
		}
	}
	for _, read := range reads {
		switch {
		case read.Is(rules.ContextHeader) && len(read.Args) > 0:
			places, inHeader = lists.AppendNew(places, read.Args[0]), true
		case read.Is(rules.ContextLink):
			places, inHeader = lists.AppendNew(places, "Link"), true
		case read.InBody() && len(read.Path) > 0:
			places = lists.AppendNew(places, j.redact(keypath.Join(read.Path...)))
		}
	}
	return places, inHeader
}

// restarts reports whether an onError rule restarts the list of the job or of an ancestor.
func (j explainer) restarts() bool {
	for job := j.Job; job != nil; job = job.Parent {
		if slices.ContainsFunc(job.OnErrors, func(c *compile.Trigger) bool { return c.Rule.OnError.Do == rules.ErrorRestart }) {
			return true
		}
	}
	return false
}

// hasOnePage reports whether the list has one page, whatever the response: a rule stops after it, there is no address
// of another, or a full page reaches a limit of items, and any other is too short.
func (j explainer) hasOnePage() bool {
	_, ok := j.OnlyPage()
	limit, _ := j.Ruleset.Limit.(int)
	return ok || !j.Paged() || j.NilAddress() != nil || j.MaxPages() == 1 && j.endOf(rules.Range{High: float64(limit - 1)}) != nil
}

// whyUnreached returns why a guard that compares pages or requests, or counts empty pages, has no effect. endOfEmpty is the rule that
// ends the list at its first empty page, or nil.
func (j explainer) whyUnreached(s *compile.Trigger, endOfEmpty *compile.Trigger) string {
	reads := func(name string) bool {
		return s.ReadsAny(name)
	}
	switch {
	case !s.Rule.Guard:
		return ""
	case j.hasOnePage() && j.OnlyLater(s):
		return "the list has one page"
	case s.Rule.Stop.ExceptPolled && j.OnlyPolls():
		return "every request after the first is a poll"
	case endOfEmpty != nil && reads("emptyPages") && j.Prover().Condition(s.Expression) != language.Always:
		return endOfEmpty.Rule.ID + " ends the list at the first empty page"
	case reads("emptyPages") && j.EndsByRequest():
		return "a rule of stopRules ends the list by state or sent alone"
	}
	return ""
}

// isUnaudited reports whether the list has one page, and always an outcome after which a rule of the audit is not
// evaluated.
func (j explainer) isUnaudited(r rules.Rule) bool {
	only, ok := j.OnlyPage()
	if !ok || only.Rule.Outcome == rules.Complete || slices.Contains(r.Audit.Also, only.Rule.Outcome) {
		return false
	}
	before := j.Stops[:slices.Index(j.Stops, only)]
	return !slices.ContainsFunc(before, func(s *compile.Trigger) bool { return s.Rule.Outcome == rules.Complete && !s.Rule.Guard }) &&
		!slices.ContainsFunc(j.OnErrors, func(c *compile.Trigger) bool { return c.Rule.OnError.Do == rules.ErrorStop })
}

// endsByCount reports whether a stopping rule ends a complete list by a total or a number of pages that the API states.
func endsByCount(stop *compile.Trigger) bool {
	return stop.Rule.Outcome == rules.Complete && len(stop.StatedCounts()) > 0
}

// isAddress reports whether an expression gives the address of a request.
func isAddress(e *language.Expression) bool { return e.Rule.Role.Addresses() }

// limitInWords describes the value of a parameter with the page size. It reports whether the parameter is left
// out.
func (j explainer) limitInWords() (text string, leftOut bool) {
	if j.Ruleset.LimitParam != "" {
		return "as the job computes it", false
	}
	if j.Ruleset.Limit == nil {
		return "left out, since no page size is set", true
	}
	return value.Preview(j.Ruleset.Limit), false
}

// rule describes a rule.
func (j explainer) rule(e *language.Expression) RuleExplanation {
	r, redact := e.Rule, j.redact
	x := RuleExplanation{
		ID: r.ID, Source: redact(r.Source), ValueInWords: redact(r.ValueInWords),
		Outcome: r.Outcome, Do: string(r.OnError.Do), Success: r.OnError.OnSuccess, Drop: r.Stop.Drop,
		clause: redact(r.Clause), Message: redact(r.Message), Origin: r.Origin, Settings: slices.Clone(r.Uses),
		First: r.Sending.First, FirstOnly: r.Role.Builds() && !r.Sending.Subsequent, perPartition: r.Sending.PerPartition,
		Guard: r.Guard, rule: r, Status: statusOf(r), calls: e.Calls(),
	}
	if r.Sending.FirstBy != nil {
		by := *r.Sending.FirstBy
		x.FirstBy = &by
	}
	for _, read := range e.Reads {
		x.Reads = append(x.Reads, redact(read.String()))
	}
	j.describeAudit(&x)
	if x.clause == x.Source {
		x.clause = redact(e.InWords())
		if r.Role == rules.RoleStop && len(e.Reads) == 1 && r.Source == e.Reads[0].String() {
			x.clause += " is true"
		}
	}
	j.describeHandling(&x)
	j.describePart(&x)
	j.describeGuard(&x)
	exceptions := x.exceptions
	if r.Stop.ExceptPolled {
		exceptions = append([]string{unlessPolled}, exceptions...)
	}
	x.Clause = x.clause + x.dropped() + unless(exceptions)
	return x
}

// describeAudit describes the evidence of a rule of the audit.
func (j explainer) describeAudit(x *RuleExplanation) {
	audit := x.rule.Audit
	if audit == nil {
		return
	}
	x.except = audit.Unless
	switch {
	case !audit.Counted && !audit.Again, audit.Counted && j.EndsByCountAlone():
		x.Evidence = audit.Proof
	case audit.Again && j.mayEndAgain():
		x.Evidence, x.again = audit.Proof, true
	}
	if x.ID == trace.FindingMissing && j.Job != nil {
		x.clause = j.missingInWords()
	}
}

// describeHandling describes what an onError rule does with a response.
func (j explainer) describeHandling(x *RuleExplanation) {
	do := x.rule.OnError.Do
	if x.rule.Role == rules.RoleOnError && do != rules.ErrorStop {
		x.Outcome = ""
	}
	if do == rules.ErrorRestart {
		x.MaxRestarts, x.runsChildren = compile.MaxRestarts, len(j.Children) > 0
	}
	if do == rules.ErrorContinue && j.Job != nil {
		field := j.Spec().DataField
		x.readsWhole = field != nil && field.Lists == nil && len(field.Keys) == 0
	}
}

// describePart describes a part of requests: how its lists are written, and what its address is relative to.
func (j explainer) describePart(x *RuleExplanation) {
	r := x.rule
	if r.Role == rules.RoleParam && r.Target == "" && j.Job != nil {
		x.lists, x.alone = j.listsInQuery(), !j.Ruleset.IncludeParams
	}
	if r.Role.Addresses() {
		x.base = "api.baseUrl"
		if r.Role == rules.RoleURL && !j.Ruleset.Dialect.Switches().RelativeToBase {
			x.base = "the address of the response"
		}
	}
}

// describeGuard describes the pages on which a guard is not met although its clause holds.
func (j explainer) describeGuard(x *RuleExplanation) {
	if !x.Guard {
		return
	}
	x.dialect = j.Ruleset.Dialect
	if slices.Contains(x.Reads, "emptyWindow") && j.mayHaveEmptyWindows() {
		x.exceptions = []string{"both pages are empty and the requests keep changing"}
	}
}

// listsInQuery says how lists and objects are written in the query or the form of a request. It returns "" if the
// parameters are in a body of JSON.
func (j explainer) listsInQuery() string {
	if j.Request.Method != "GET" && j.Request.Method != "FORM" && !j.Request.OwnBody {
		return ""
	}
	list := "a[0]=1&a[1]=2"
	switch j.Request.Lists {
	case requests.Brackets:
		list = "a[]=1&a[]=2"
	case requests.Repeat:
		list = "a=1&a=2"
	case requests.Comma:
		list = "a=1,2"
	}
	return "; a list is sent as " + list + ", and an object as a[b]=1"
}

// unless returns the end of a clause that has exceptions.
func unless(exceptions []string) string {
	if len(exceptions) == 0 {
		return ""
	}
	return ", unless " + strings.Join(exceptions, " or ")
}

// unlessPolled is the exception of a guard that is not met by polls.
const unlessPolled = "the request is a poll"

// dropped returns the end of the clause of a guard that drops the page.
func (r RuleExplanation) dropped() string {
	if r.Guard && r.Drop {
		return " (the duplicate is not written)"
	}
	return ""
}

// items says where the items of the job's responses are.
func (j explainer) items() ItemsExplanation {
	x := ItemsExplanation{From: j.Ruleset.ItemsFrom, Key: j.Spec().Key}
	response, field := j.Spec().Response, j.Spec().DataField
	if response.Format != rules.FormatJSON {
		x.Format = response.Format
	}
	switch {
	case x.Format == rules.FormatNDJSON:
		x.Where = "each line of the response (NDJSON)"
	case x.Format == rules.FormatCSV:
		x.objects = response.Columns != nil || response.Header
		x.Where = "each row of the response (CSV" + tableInWords(response) + "), " + rowInWords(response)
	case field == nil:
		x.Where = "the response if it is a list, otherwise the only list in its root (no dataField)"
		x.Otherwise = fmt.Sprintf("no list in an object, or status 204, is an empty page; several, or another response, fail the run (%s)",
			statusResponse)
		x.From = rules.Origin{By: rules.Author{Kind: rules.AuthorDefault}}
	case field.Lists != nil:
		x.Path, x.Where, x.ordered = field.Text, listsInWords(field.Lists), len(field.Lists) > 1
		if slices.ContainsFunc(field.Lists, func(l rules.ItemList) bool { return len(l.Fixed()) < len(l.Steps) }) {
			x.Where += " (* is every element of a list, or every member of an object)"
		}
		x.Otherwise = j.valuesOfItems("at one of them", "no item", field.Lists)
	case len(field.Keys) == 0:
		x.Path, x.Where = field.Text, wholeResponse
		x.Otherwise = fmt.Sprintf("null, or status 204, is an empty page; a text, number or boolean fails the run (%s)", statusResponse)
	default:
		x.Path, x.Where = field.Text, "at "+placeOf(field.Text, field.Keys)+" of the response"
		switch {
		case strings.Contains(field.Text, `\*`):
			x.Where += ` (\* is a member named *)`
		case strings.Contains(field.Text, "*"):
			x.Where += " (* is a member of that name)"
		}
		x.Otherwise = j.valuesOfItems("there", "an empty page", nil)
	}
	if x.Format.IsLines() {
		x.Otherwise = "an empty body, or status 204, is an empty page"
	}
	if x.Format == rules.FormatCSV && response.Header && response.Columns == nil && response.Delimiter == 0 {
		x.Otherwise += fmt.Sprintf("; a header with another delimiter than a comma fails the run (%s)", statusResponse)
	}
	switch x.Format {
	case rules.FormatXML:
		x.Where += " (XML)"
		if field != nil && len(field.Text) > 0 && field.Text != "." {
			x.Where += ", whose first name is that of the root element"
			if field.Lists == nil && len(field.Keys) == 1 {
				x.Where += ", so that this is the only item"
			}
		}
	case rules.FormatAuto:
		const detected = "(the format is that of Content-Type or, if it names none, JSON, NDJSON or XML by how the body begins"
		if slices.ContainsFunc(j.Spec().ItemPaths(), func(path []string) bool { return len(path) > 0 }) {
			x.Where += " " + detected + ")"
			x.Otherwise += fmt.Sprintf("; of XML, the path begins with the root element, and each element of this name is an item; "+
				"NDJSON or CSV fails the run (%s)", statusResponse)
			break
		}
		x.Where += "; each line or row of NDJSON and CSV " + detected + tableInWords(response) +
			"; a row of CSV is " + rowInWords(response) + ")"
		if field == nil {
			x.Otherwise += ", and so does XML"
		}
	}
	return x
}

// valuesOfItems says which items the values at the paths of dataField have: there names the paths, and none is the
// consequence of having nothing.
func (j explainer) valuesOfItems(there, none string, lists []rules.ItemList) string {
	if j.Spec().Response.Format == rules.FormatXML {
		return "each element of this name is an item, also a single one: a text, or an object if it has attributes (@name, with its " +
			"text as #text) or children (a list if several have one name, and \"\" if empty); no such element, or status 204, is " + none
	}
	if j.Ruleset.Dialect.Switches().EmptyIsAbsent {
		return fmt.Sprintf(`the elements of a list %s are the items; `+
			`nothing, null, 0, "0", an empty text or false there, or status 204, is %s; `+
			"any other value is one item", there, none)
	}
	starred, response := 0, "as the response"
	for _, l := range lists {
		if slices.ContainsFunc(l.Steps, func(s rules.PathStep) bool { return s.All }) {
			response = "in place of the response, or of the list or object before *"
		}
		if n := len(l.Steps); n > 0 && l.Steps[n-1].All {
			starred++
		}
	}
	if starred > 0 && starred == len(lists) {
		return fmt.Sprintf("the elements of a list %s are items, and any other value except null is one item; nothing there, or "+
			"status 204, is %s; "+
			"a text, number or boolean in place of the response, or of the list or object before *, fails the run (%s)",
			there, none, statusResponse)
	}
	text := fmt.Sprintf("the elements of a list %s are the items, and an object is one item; nothing, null or {} there, or status "+
		"204, is %s; "+
		"a text, number or boolean there, or %s, fails the run (%s)",
		there, none, response, statusResponse)
	if starred > 0 {
		text += ", except at a path that ends with *, where any value except null is an item"
	}
	return text
}

// wholeResponse says where the items are if dataField is a dot.
const wholeResponse = "the elements of the response if it is a list, otherwise the response as one item"

// placeOf returns the path of items as it is spelt or, if it has a delimiter other than a dot, with dots.
func placeOf(text string, keys []string) string {
	if strings.Contains(text, "*") || slices.Equal(keypath.Split(text), keys) {
		return text
	}
	return keypath.Join(keys...)
}

// listsInWords says where the items of several lists are, in their order.
func listsInWords(lists []rules.ItemList) string {
	var places []string
	for _, l := range lists {
		place := "at " + placeOf(l.Text, l.Fixed()) + " of the response"
		if len(l.Steps) == 0 {
			place = wholeResponse
		}
		if l.DataType != "" {
			place += " (" + l.DataType + ")"
		}
		places = append(places, place)
	}
	return strings.Join(places, ", then ")
}

// tableInWords says how CSV is read, if that is configured.
func tableInWords(r rules.ResponseFormat) string {
	out := ""
	if r.Delimiter != 0 {
		out += fmt.Sprintf(", delimiter %q", r.Delimiter)
	}
	switch {
	case r.Columns != nil:
		out += fmt.Sprintf(", columns %s", strings.Join(r.Columns, ", "))
	case !r.Header:
		out += ", no header"
	}
	return out
}

// rowInWords says what the item of a row of CSV is.
func rowInWords(r rules.ResponseFormat) string {
	switch {
	case r.Columns != nil:
		return "an object of texts"
	case !r.Header:
		return "a list of texts"
	}
	return "an object of texts by the names in the first row"
}

// noNext describes the end of a list because there is no next request. It is nil if
// there always is one.
func (j explainer) noNext() *RuleExplanation {
	if !j.Paged() {
		return &RuleExplanation{
			ID: runtime.ReasonEnd, Source: "true", Outcome: rules.Complete, Clause: "the only response is read",
			Origin: rules.Origin{By: rules.Author{Kind: rules.AuthorDefault}}, rule: rules.Rule{Role: roleNoNext},
		}
	}
	if part := j.NilAddress(); part != nil {
		return &RuleExplanation{
			ID: runtime.ReasonNextRequest, Source: "true", Outcome: rules.Complete,
			Clause: "there is no next request: " + part.ID + " is nil",
			Origin: part.Origin, rule: rules.Rule{Role: roleNoNext},
		}
	}
	i := slices.IndexFunc(j.NextParts, func(e *language.Expression) bool { return e.Rule.Role.Addresses() && len(e.Reads) > 0 })
	if i < 0 {
		return nil
	}
	part := j.rule(j.NextParts[i])
	never := ""
	if only, ok := j.OnlyPage(); ok {
		never = only.AfterPage1()
	}
	description := cmp.Or(part.ValueInWords, j.redact(j.Prover().Later(j.NextParts[i])), part.Source)
	return &RuleExplanation{
		ID: runtime.ReasonNextRequest, Source: "empty(" + part.Source + ")", Reads: part.Reads, Outcome: rules.Complete,
		Clause: fmt.Sprintf("there is no next request: %s is missing or empty", description),
		Origin: part.Origin, Settings: part.Settings, Never: never,
		rule: rules.Rule{Role: roleNoNext, Source: "empty(" + part.rule.Source + ")"},
	}
}
