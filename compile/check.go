package compile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// maxPairs limits the pairs of rules that are compared with each other. Configurations with more rules
// are generated, and comparing all pairs would take minutes.
const maxPairs = 250_000

// checkJob warns about rules that are probably mistakes. It needs no page.
func (c *compilation) checkJob(j *Job) {
	c.warnOfFilterOfNoItem(j)
	c.warnOfDroppedParams(j)
	c.warnOfRowsWithoutNames(j)
	c.warnOfPathsInRows(j)
	c.warnOfAbsentMember(j)
	c.warnOfLastOfLists(j)
	if len(j.Stops) == 0 {
		return
	}
	c.warnOfConstantTriggers(j)
	c.warnOfShadowedRules(j)
	if c.pairs += len(j.Stops) * len(j.Stops); c.pairs <= maxPairs {
		c.warnOfContradictions(j)
	}
	if j.Paged() {
		c.warnOfOverriddenParams(j)
		c.warnOfMissingEnd(j)
		c.warnOfSameRequest(j)
		c.warnOfWait(j)
	}
}

// warn adds a warning about a rule, at its place in the configuration.
func (c *compilation) warn(r rules.Rule, hint, format string, args ...any) {
	c.diags.Warnf(diag.Value(r.Origin.Path), format, args...).WithHint(hint)
}

// warnOfFilterOfNoItem finds a filter that does not read the item.
func (c *compilation) warnOfFilterOfNoItem(j *Job) {
	if f := j.ItemRules.Filter; f != nil && !f.ReadsFunc(language.Read.VariesByItem) {
		c.warn(f.Rule, "a key of the item is item.NAME", "%s does not read item: all items of a page pass, or none", f.Rule.Source)
	}
}

// warnOfLastOfLists finds a next request that depends on the last of all items, although they come in several lists.
func (c *compilation) warnOfLastOfLists(j *Job) {
	if f := j.Spec().DataField; f == nil || len(f.Lists) < 2 {
		return
	}
	isLast := func(r language.Read) bool { return r.Is(rules.ContextItems) && len(r.Path) > 0 && r.Path[0] == "-1" }
	for _, e := range slices.Concat(j.Next, j.NextParts) {
		if slices.ContainsFunc(e.ShownReads(), isLast) {
			c.warn(e.Rule, "use the method cursor, or greatest(items, …)", "%s reads the last item of the last list of dataField, although "+
				"an earlier list may have a later one, which would come again", e.Rule.ID)
			return
		}
	}
}

// warnOfRowsWithoutNames finds rules that need a member of every item, although the items are rows of CSV without names.
func (c *compilation) warnOfRowsWithoutNames(j *Job) {
	r := j.Spec().Response
	if r.Format != rules.FormatCSV || r.Header || r.Columns != nil {
		return
	}
	for _, e := range slices.Concat(j.Next, Expressions(j.Stops), j.Parts, j.Keeps) {
		for _, keys := range e.NeededKeys() {
			if len(keys) > 0 {
				c.warn(e.Rule, "remove \"header\": false, or name the columns (response.columns)",
					"the rows of the response have no names, so that no item has %s: the run fails at the first row", keypath.Join(keys...))
				return
			}
		}
	}
}

// warnOfPathsInRows finds rules that read a path of an item, although the items are rows of CSV: there is nothing within the
// text of a column.
func (c *compilation) warnOfPathsInRows(j *Job) {
	r := j.Spec().Response
	if r.Format != rules.FormatCSV || !r.Header && r.Columns == nil {
		return
	}
	for _, e := range slices.Concat(j.Next, Expressions(j.Stops), j.Parts, j.Keeps, j.ItemRules.Rules()) {
		for _, keys := range e.PathsInItems() {
			if len(keys) > 1 {
				column := strings.Join(keys, ".")
				c.warn(e.Rule, fmt.Sprintf("the column %s is %s in a setting, and item[%q] in an expression", column, keypath.Join(column), column),
					"a row of CSV has nothing within its columns, so that no item has %s", column)
				return
			}
		}
	}
}

// warnOfAbsentMember finds rules that read a member which no body has.
func (c *compilation) warnOfAbsentMember(j *Job) {
	if format := j.Spec().Response.Format; !format.IsLines() && format != rules.FormatXML {
		return
	}
	for _, e := range slices.Concat(Expressions(j.Stops), j.Next, j.Parts) {
		for _, r := range e.AllReads() {
			if why, hint := j.whyAbsent(r); why != "" {
				c.warn(asConfigured(e.Rule), hint, "%s is %s", r, why)
				return
			}
		}
	}
}

// whyAbsent says when no body has what an expression reads, and why, with a hint, or returns "": each line of NDJSON and CSV is an
// item, so that the body is a list, and a document of XML has a single member, its root element.
func (j *Job) whyAbsent(r language.Read) (why, hint string) {
	if r.Root != rules.ContextBody || len(r.Path) == 0 {
		return "", ""
	}
	switch format := j.Spec().Response.Format; {
	case format.IsLines():
		if _, err := strconv.Atoi(r.Path[0]); err != nil {
			return fmt.Sprintf("always nil: a response in the format %s is the list of its lines", format),
				"page by numbers, or by what a header says, such as header(\"X-Next\")"
		}
	case format == rules.FormatXML:
		paths := j.Spec().ItemPaths()
		if len(paths) == 0 || len(paths[0]) == 0 || paths[0][0] == r.Path[0] {
			break
		}
		root := paths[0][0]
		return "nil on every page with items: its root element is " + root + ", as dataField says",
			"begin the path with it: " + keypath.Join(append([]string{root}, r.Path...)...)
	}
	return "", ""
}

// asConfigured returns a rule as if the configuration had written it, with the place of the setting that switches
// it on. It returns a rule that no setting switches on as it is.
func asConfigured(r rules.Rule) rules.Rule {
	for _, u := range r.Uses {
		if u.Switch && u.Origin.IsConfig() {
			r.Origin = u.Origin
		}
	}
	return r
}

// warnOfConstantTriggers finds triggers that are the same on every page.
func (c *compilation) warnOfConstantTriggers(j *Job) {
	p := j.Analysis().Prover()
	for _, s := range slices.Concat(j.Stops, j.OnErrors) {
		r, stops := asConfigured(s.Rule), s.Rule.Role == rules.RoleStop
		if !r.Origin.IsConfig() {
			continue
		}
		switch p.Condition(s.Expression) {
		case language.Always:
			if b, ok := p.Bound(s.Expression); ok && b.Unit == "pages" && r.Outcome == rules.Limited {
				continue // a limit of one page is meant
			}
			if stops {
				c.warn(r, "", "%s is always true: %s stops after the first page", r.Source, r.ID)
			}
		case language.Never:
			hint := ""
			if j.comparesAbsentLimit(s) {
				hint = "no page size is set: add limit to the pagination"
				if at := j.Ruleset.LimitFrom.Path; at != "" {
					hint = at + " overrides the limit of the pagination, and is not a number"
				}
			}
			c.warn(r, hint, "%s is never true: %s has no effect", r.Source, r.ID)
		case language.Sometimes:
			if stops && !r.Guard && j.Paged() && !j.varies(s.Expression) {
				c.warn(r, "a rule that ends a list reads values that change from page to page, such as body, count or total",
					"%s is the same after every page: %s stops after the first page or never", r.Source, r.ID)
			}
		}
	}
}

// warnOfShadowedRules finds rules that are never the reason to stop, because another rule is met before them, or is equal.
func (c *compilation) warnOfShadowedRules(j *Job) {
	u := j.Analysis().findShadowed()
	for _, s := range j.Stops {
		if s.Rule.Shared || !s.Rule.Origin.IsConfig() { // a shared rule may be the reason in another scroller
			continue
		}
		if why := u.why[s]; why != "" && u.WhyNever(s) == "" {
			c.warn(s.Rule, "", "%s is never the reason to stop: %s", s.Rule.ID, why)
		}
	}
}

// samples are values that a flag or a token may have.
var samples = []any{nil, true, false, 0, 1, "", "x", []any{}}

// warnOfContradictions finds pairs of rules of which every response meets at least one, such as a flag that
// ends the list when it is true, and when it is false.
func (c *compilation) warnOfContradictions(j *Job) {
	for i, a := range j.Stops {
		for _, b := range j.Stops[:i] {
			path, ok := onlyPath(a, b)
			if ok && (a.Rule.Origin.IsConfig() || b.Rule.Origin.IsConfig()) && contradict(a, b, path) {
				c.warn(a.Rule, "", "%s and %s contradict each other: whatever %s is, one of them stops after the first page",
					b.Rule.ID, a.Rule.ID, language.Read{Root: rules.ContextBody, Path: path})
			}
		}
	}
}

// onlyPath returns the path of the body that two triggers read, if they read nothing else.
func onlyPath(a, b *Trigger) ([]string, bool) {
	var path []string
	for _, reads := range [][]language.Read{a.Reads, b.Reads} {
		for _, r := range reads {
			if !r.InBody() || len(r.Path) == 0 || path != nil && !slices.Equal(path, r.Path) {
				return nil, false
			}
			path = r.Path
		}
	}
	return path, len(a.Reads) > 0 && len(b.Reads) > 0
}

// contradict reports whether every value at a path of the body meets at least one of two triggers, and
// the value decides which trigger is met.
func contradict(a, b *Trigger, path []string) bool {
	bodies := []rules.Object{{}}
	for _, v := range samples {
		bodies = append(bodies, rules.Object{}.WithPath(path, v))
	}
	differ := false
	for _, body := range bodies {
		x, y := a.meets(body), b.meets(body)
		if !x && !y {
			return false
		}
		differ = differ || x != y
	}
	return differ
}

func (t *Trigger) meets(body rules.Object) bool {
	met, err := t.EvalBool(&language.Machine{}, &rules.Context{Page: 1, Body: body})
	return err == nil && met
}

// warnOfMissingEnd finds lists that only a guard can end.
func (c *compilation) warnOfMissingEnd(j *Job) {
	if j.ends {
		return
	}
	p := j.Analysis().Prover()
	consequence := "so it may never stop"
	for _, s := range j.Stops {
		if b, ok := p.Bound(s.Expression); ok && s.Rule.Guard {
			consequence = fmt.Sprintf("so it fails at %s (guards.%s) unless the API repeats itself", b, s.Rule.ID)
		}
	}
	c.warn(rules.Rule{Origin: rules.Origin{Path: c.set.Path}},
		`say how the list ends, for instance "stopRules": ["count == 0"], or limit it with forceStop`,
		"no rule ends this list, %s", consequence)
}

// warnOfSameRequest finds requests that are the same for every page.
func (c *compilation) warnOfSameRequest(j *Job) {
	if j.Analysis().NilAddress() != nil {
		return
	}
	var last, wait *rules.Rule
	for _, e := range j.NextParts {
		if e.Rule.Role == rules.RoleAfter {
			wait = &e.Rule
			continue
		}
		if j.varies(e) {
			return
		}
		if e.Rule.Origin.IsConfig() {
			last = &e.Rule
		}
	}
	if wait != nil {
		c.warnOfUnboundedPoll(j, *wait)
		return
	}
	if last != nil {
		c.warn(*last, "let it read a value that changes, such as page, state or body",
			"the next request never changes: its parts have the same values after every page")
	}
}

// warnOfWait finds a wait that fails every run.
func (c *compilation) warnOfWait(j *Job) {
	if _, _, err := j.Analysis().ConstantWait(); err != nil {
		wait := j.NextParts[slices.IndexFunc(j.NextParts, isWait)]
		c.warn(wait.Rule, "", "the run fails before the request for page 2: %s", err)
	}
}

// warnOfUnboundedPoll finds polls that only a response or a guard ends.
func (c *compilation) warnOfUnboundedPoll(j *Job, wait rules.Rule) {
	p := j.Analysis().Prover()
	for _, s := range j.Stops {
		if _, ok := p.Bound(s.Expression); ok && !s.Rule.Guard {
			return
		}
	}
	c.warn(wait, `limit it, for instance with "forceStop": {"time": "1 hour"}`,
		"the request is repeated until the API answers otherwise; only guards.maxPages ends it before")
}

// warnOfOverriddenParams finds parameters of the job that never reach the API, because the
// method sets them in every request without reading them.
func (c *compilation) warnOfOverriddenParams(j *Job) {
	for _, e := range j.FirstParts {
		param, has := c.set.Job.Params.Get(e.Rule.Target)
		if e.Rule.Role != rules.RoleParam || !has || !e.Rule.Sending.Subsequent || e.Rule.Origin.IsConfig() || j.readsJob(e) {
			continue
		}
		text, _ := value.Text(param)
		c.diags.Warnf(diag.Value(c.set.Job.ParamPath(e.Rule.Target)), "%s=%s has no effect: method %s sets it in every request",
			e.Rule.Target, wording.Clip(text, 40), c.set.Method).WithHint(e.Rule.Hint)
	}
}

// warnOfDroppedParams finds parameters of the job that only the first request has: later requests return
// items that do not match them. A link of the API may contain those of a query; "includeParams": false says so.
func (c *compilation) warnOfDroppedParams(j *Job) {
	if c.set.IncludeParams || c.set.OmissionIntended || !j.Paged() {
		return
	}
	inBody := j.SendsParamsInBody()
	var dropped []string
	for _, m := range c.set.Job.Params {
		sets := func(e *language.Expression) bool {
			named := e.Rule.Target == "" || e.Rule.Target == m.Name
			return e.Rule.Role.Addresses() && !inBody || e.Rule.Role == rules.RoleParam && named || e.Rule.Role == rules.RoleBody && named && inBody
		}
		if !slices.ContainsFunc(j.NextParts, sets) {
			dropped = append(dropped, m.Name)
		}
	}
	if dropped == nil {
		return
	}
	place := ""
	if inBody {
		place = ", in its body"
	}
	const hint = `to send them with every request, set "includeParams": true; ` +
		`if links or tokens of the API contain them, set it to false`
	c.warn(rules.Rule{Origin: rules.Origin{Path: c.set.Path}}, hint,
		"only the first request has the params of %s%s: %s", j.ID(), place, strings.Join(dropped, ", "))
}

// SendsParamsInBody reports whether the requests after the first would send parameters in their body, where no link has them.
func (j *Job) SendsParamsInBody() bool {
	verb := j.Spec().Method
	for _, e := range j.NextParts {
		if e.Rule.Role == rules.RoleVerb {
			verb, _ = strconv.Unquote(e.Rule.Source) // none if a response decides
		}
	}
	return verb != "" && verb != "GET" && j.Spec().Body == nil
}

// readsJob reports whether an expression depends on the job's parameters, perhaps by
// a variable or by the limit.
func (j *Job) readsJob(e *language.Expression) bool {
	atFirst, _ := j.variables()
	ofJob := func(r language.Read) bool { return r.Is(rules.ContextJob) || r.Is(rules.ContextLimit) }
	return slices.ContainsFunc(atFirst.Resolve(e.Reads), ofJob)
}

// hintFor is the hint for an expression of a variable that reads a value which is not known yet.
const hintFor = "the values of a variable come from input, kept, now() or a variable before it; " +
	`for the items of another job write {"items": "ID"}`

// hintInit is the hint for the initial value of a variable that reads a value which is not known yet.
const hintInit = "an initial value may read input, kept, limit, partition, job, page and now(); what comes from a response belongs in next"

// checkKnown reports an expression that is evaluated before the first request, but reads a value that is
// not known yet.
func checkKnown(e *language.Expression) error {
	for _, r := range e.Reads {
		late := fmt.Sprintf("%s is computed before the first request, when %s is not known", e.Rule.ID, r)
		switch {
		case e.Rule.Role == rules.RoleBaseURL && r.Root != rules.ContextInput:
			return &language.Fault{
				Message: fmt.Sprintf("baseUrl cannot read %s: all requests of a run have the same base address", r),
				Hint:    "baseUrl may read input; write what differs from request to request into the endpoint",
			}
		case e.Rule.Role == rules.RoleAllowedOrigin && e.Rule.Sending.Common && r.Root != rules.ContextInput:
			return &language.Fault{
				Message: fmt.Sprintf("api.allowedOrigins cannot read %s: it is about all requests of a run", r),
				Hint:    "it may read input; an origin that differs between partitions belongs in allowedOrigins of the job",
			}
		case r.Root == rules.ContextNow || r.Phase() == rules.PhaseJob:
		case e.Rule.BelongsToFor():
			return &language.Fault{Message: late, Hint: hintFor}
		case e.Rule.Role == rules.RoleInit && r.Root == rules.ContextPage: // 0
		case e.Rule.Role == rules.RoleInit:
			return &language.Fault{Message: late, Hint: hintInit}
		default:
			return &language.Fault{Message: late, Hint: "values that change from page to page belong in nextRequest of the pagination"}
		}
	}
	return nil
}
