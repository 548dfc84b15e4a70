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
		IncludeParams: set.IncludeParams, Sequential: j.sequential(), Unused: slices.Clone(set.Unused),
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
	x.Needs, x.KeepSays, x.ownBody = j.needs(x.cutOff()), j.keepInWords(run.Kept), j.Request.OwnBody
	x.paramsInBody, x.onlyOne = j.SendsParamsInBody(), j.Paged() && j.hasOnePage()
	x.NoNext = j.noNext()
	if cfg.MaxPartitions > 0 && len(j.Children) > 0 && !j.Spec().Emits && j.Paged() {
		x.Enough = &RuleExplanation{
			ID: runtime.ReasonPartitionLimit, Outcome: rules.Limited,
			Clause: fmt.Sprintf("the items of a page need more partitions than are left of the %d of a run", cfg.MaxPartitions),
			Origin: rules.Origin{Path: "config.limits.partitions"}, rule: rules.Rule{Role: roleNoNext},
		}
	}
	x.Bounds = j.bounds(cfg.MaxPartitions)
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
		_, x.Next[i].own = j.Request.Params.Get(e.Rule.Target)
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
		x.Stops[i].lacks = j.lacksOf(s.Expression)
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
		Outcome: r.Outcome, Do: string(r.OnError.Do), On: r.OnError.On, Drop: r.Stop.Drop,
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
	switch proof := audit.Proof; {
	case !proof.CountAlone && !proof.Again, proof.CountAlone && j.EndsByCountAlone():
		x.Evidence = proof.Source()
	case proof.Again && j.mayEndAgain():
		x.Evidence, x.again = proof.Source(), true
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

// sequential says why no page is requested ahead; empty if pages may be.
func (j explainer) sequential() string {
	if why := j.WhySequential(); why != "" || !j.hasOnePage() {
		return j.redact(why)
	}
	return "the list has one page"
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
