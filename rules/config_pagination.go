package rules

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/php"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
)

// paginationFields are the keys of every pagination object. A [Catalog] adds the keys of its guards.
var paginationFields = []Field{
	{Name: "method", Kind: KindText, Required: true, Doc: "where the next page comes from"},
	{Name: "limit", Kind: KindCount, Paging: true, PerScroller: true, KeboolaKind: phpInt, Doc: "page size, which rules see as `limit`"},
	{Name: "limitParam", Kind: KindText, Paging: true, PerScroller: true, KeboolaKind: phpText, Default: "limit",
		Doc: "parameter that carries the page size; the job's own value for it overrides limit, " +
			"and without either the value counts that all requests have"},
	{Name: "nextPageFlag", Kind: KindBlock, Paging: true,
		Doc: "a field of the response that says whether there is a next page (specification 2.2)",
		Fields: []Field{
			{Name: "field", Kind: KindKey, Required: true, Doc: "key in the root of the response, taken literally"},
			{Name: "stopOn", Kind: KindFlag, Required: true, Doc: "paging stops when the field, converted to a boolean, has this value"},
			{Name: "ifNotSet", Kind: KindFlag, DefaultOf: "stopOn", Doc: "value of a field that is missing; default: that of stopOn"},
		}},
	{Name: "forceStop", Kind: KindBlock, Paging: true, KeboolaKind: phpBlock,
		Doc: "limits; the first one that is reached stops paging (specification 2.3)",
		Fields: []Field{
			{Name: "pages", Kind: KindCount, KeboolaKind: phpWhole, Doc: "maximum number of pages"},
			{Name: "time", Kind: KindSeconds, KeboolaKind: phpSeconds, Doc: "maximum running time, in seconds"},
			{Name: "volume", Kind: KindCount, KeboolaKind: phpBytes, Doc: "maximum number of bytes, counted in minified JSON"},
		}},
	{Name: "limitStop", Kind: KindBlock, Paging: true,
		Doc: "the total number of items; the page that reaches it is kept in full (specification 2.4)",
		Fields: []Field{
			{Name: "count", Kind: KindCount, KeboolaKind: phpBytes, Doc: "the number itself"},
			{Name: "field", Kind: KindPath, KeboolaKind: phpStrict, Doc: "path of the number in the response"},
		}},
	{Name: "hasMore", Kind: KindPath, Paging: true, Doc: "path of a flag in the response that is true while there is more; " +
		"paging stops when it is missing, or false as a boolean (specification 2.2)"},
	{Name: "stopRules", Kind: KindList, Each: &Field{Kind: KindExpression, Fields: stopRuleFields},
		Doc: "rules that stop paging: expressions, or objects with name, when, outcome and message"},
	{Name: "state", Kind: KindMap, PerScroller: true, Each: &Field{Kind: KindBlock, Fields: stateFields},
		Doc: "variables: names, each with an object that has init (before the first request) and next (after each page)"},
	{Name: "keep", Kind: KindMap, PerScroller: true, Each: &Field{Kind: KindExpression},
		Doc: "values for the next run (`--kept FILE`): names, " +
			"each with an expression that is evaluated after the last page of a complete list; " +
			"the next run sees them as `kept`. One that reads `items` is about the items of all pages. " +
			"A value that is nil does not replace the previous one"},
	{Name: "nextRequest", Kind: KindBlock, Paging: true, PerScroller: true, Doc: "the next request as expressions, applied after the method's",
		Fields: []Field{
			{Name: "url", Kind: KindExpression, Doc: "the address; nil or empty stops paging"},
			{Name: "endpoint", Kind: KindExpression, Doc: "replaces the job's; nil or empty stops paging"},
			{Name: "method", Kind: KindExpression, Doc: "GET, POST or FORM, or an expression for one of them"},
			{Name: "params", Kind: KindAny, Sources: WholeSource,
				Doc: "names, each with an expression, or one expression for an object; nil leaves a parameter out"},
			{Name: "headers", Kind: KindAny, Sources: WholeSource,
				Doc: "names, each with an expression, or one expression for an object; nil leaves a header out"},
			{Name: "body", Kind: KindAny, Sources: WholeSource,
				Doc: "paths in the body, JSON or the form of `FORM`, each with an expression, or one expression for an object"},
			{Name: "after", Kind: KindWait, Doc: "how long to wait before the request: seconds or a duration, at most a day; nil means no wait. " +
				"A request that repeats the one before it is a poll, which no guard ends: set forceStop or a rule"},
			{Name: "includeParams", Kind: KindFlag, Doc: "also send the job's parameters; default: false with url, otherwise true"},
			{Name: "applyToFirst", Kind: KindFlag, Default: false, Doc: "apply it to the first request, too"},
		}},
	{Name: "guards", Kind: KindBlock, Paging: true, Doc: "what to do when an API makes no progress: `stop`, `fail` or `ignore`",
		Fields: []Field{
			{Name: "ignore", Kind: KindList, Each: &Field{Kind: KindPath}, Doc: "paths in the response that the same-page check ignores"},
		}},
	{Name: "audit", Kind: KindBlock, Doc: "the audit at the end of a complete list",
		Fields: []Field{
			{Name: "ignore", Kind: KindList, Each: &Field{Kind: KindText, Values: auditIDs()},
				Doc: "ids of findings that do not indicate missing items " +
					"with this API, such as `audit.token` for an API whose last page has a token"},
		}},
	{Name: "onError", Kind: KindList, Each: &Field{Kind: KindBlock, Fields: onErrorFields},
		Doc: "what to do about responses of other statuses than " + requests.PageStatuses + ", or with `on` about those of these statuses: " +
			"objects with when, do, on and message"},
}

// pagination is a pagination object that has been read.
type pagination struct {
	path     string
	method   Method
	settings settings
}

// pagination reads a pagination object by the table of its method. It returns nil if the
// object cannot be used. In dialect keboola, any value may be there unless it is required to be
// an object, and a list is an object without a method.
func (r *reader) pagination(path string, v any, required bool) *pagination {
	switches, own := r.dialect.Switches(), *r
	r = &own
	r.diags = cmp.Or(r.pagingDiags, r.diags)
	if switches.ignoreUnknown {
		r.unknown = diag.SeverityWarning
	}
	object, ok := value.Members(v)
	if !ok {
		if _, isList := v.([]any); !switches.optionalMethod || required && !isList {
			r.diags.Errorf(diag.Value(path), "want an object, got %s", describe(v))
		}
		return nil
	}
	method, ok := r.method(path, object)
	if !ok {
		return nil
	}
	p := &pagination{path: path, method: method, settings: r.object(path, object, r.catalog.fieldsOf(method))}
	p.settings.defaults = map[string]setting{} // every job asks for them
	p.check(r.diags, switches)
	return p
}

// method finds the method of a pagination object.
func (r *reader) method(path string, object Object) (Method, bool) {
	written, _ := object.Get("method")
	if r.dialect.Switches().optionalMethod && php.EmptyConfig(written) {
		return Method{}, false
	}
	name, _ := written.(string)
	if m, known := r.catalog.method(name, r.dialect); known {
		return m, true
	}
	known := r.catalog.methodNames(r.dialect)
	if written == nil {
		r.diags.Errorf(diag.Value(path), "method is missing").WithHint("one of " + strings.Join(known, ", "))
	} else {
		nearest(r.diags.Errorf(diag.Value(diag.Join(path, "method")), "unknown method %s", describe(written)), name, known)
	}
	return Method{}, false
}

// check reports settings that are mutually exclusive or probably mistaken.
func (p *pagination) check(diags *diag.Collector, switches Switches) {
	p.checkTotals(diags)
	p.checkDottedFlag(diags, switches)
	if p.method.Name == Multiple {
		p.checkScrollers(diags, switches)
		return
	}
	p.checkOneOf(diags)
	p.checkFlagPolarity(diags)
	for _, f := range paginationFields {
		if s := p.settings.get(f.Name); p.method.Once && f.Paging && s.given() {
			diags.Errorf(diag.Key(s.path()), "%s has no meaning with method %s, which makes one request", f.Name, p.method.Name).
				WithHint("remove it, or choose another method")
		}
	}
}

// checkTotals checks that limitStop has exactly one of its two forms (2.4).
func (p *pagination) checkTotals(diags *diag.Collector) {
	if p.settings.get("limitStop").Value == nil {
		return
	}
	count, field := p.settings.get("limitStop.count"), p.settings.get("limitStop.field")
	const hint = "count is your own limit; field is the path of the API's total in the response"
	switch place := diag.Value(p.settings.get("limitStop").path()); {
	case count.Value != nil && field.Value != nil:
		diags.Errorf(place, "count and field are mutually exclusive").WithHint(hint)
	case !count.given() && !field.given():
		diags.Errorf(place, "count or field is missing").WithHint(hint)
	}
}

// checkOneOf checks that exactly one of the method's alternatives is configured.
func (p *pagination) checkOneOf(diags *diag.Collector) {
	var given []string
	for _, name := range p.method.OneOf {
		if p.settings.get(name).given() {
			given = append(given, name)
		}
	}
	switch place := diag.Value(p.path); {
	case len(given) > 1:
		diags.Errorf(place, "%s are mutually exclusive", strings.Join(given, " and "))
	case len(given) == 0 && len(p.method.OneOf) > 0:
		diags.Errorf(place, "%s is missing", strings.Join(p.method.OneOf, " or "))
	}
}

// checkScrollers reports keys of a pagination with method multiple that belong in a scroller.
func (p *pagination) checkScrollers(diags *diag.Collector, switches Switches) {
	for _, f := range paginationFields {
		if s := p.settings.get(f.Name); f.PerScroller && s.given() && !switches.ignoreUnknown {
			diags.Errorf(diag.Key(s.path()), "%s belongs in a scroller", f.Name).WithHint("move it into each scroller that needs it")
		}
	}
	if s := p.settings.get("scrollers"); s.given() && !s.Invalid && len(s.list()) == 0 {
		diags.Errorf(diag.Value(s.path()), "want at least one scroller")
	}
}

// checkDottedFlag points to stopRules for a flag that is not in the root: the field of
// nextPageFlag is one key, dots included (2.2).
func (p *pagination) checkDottedFlag(diags *diag.Collector, switches Switches) {
	s := p.settings.get("nextPageFlag.field")
	if !strings.Contains(s.text(), `\.`) {
		return
	}
	name := keypath.Split(s.text())[0]
	hint := "for a nested flag write " + p.settingsOfNestedFlag(name, switches)
	diags.Warnf(diag.Value(s.path()), "%q is a single key in the root of the response, dots included", name).WithHint(hint)
}

// settingsOfNestedFlag returns the settings that replace nextPageFlag for a flag at a path below the root.
func (p *pagination) settingsOfNestedFlag(path string, switches Switches) string {
	stopOn, ifNotSet := p.settings.get("nextPageFlag.stopOn").flag(), p.settings.get("nextPageFlag.ifNotSet").flag()
	source := keypath.Format(ContextBody, keypath.Split(path))
	if strings.Contains(source, `"`) {
		source = fmt.Sprintf("at('%s')", path)
	}
	var rule string
	switch {
	case switches.phpBooleans:
		rule = fmt.Sprintf("phpTruthy(%s ?? %t) == %t", source, ifNotSet, stopOn)
	case !stopOn && !ifNotSet:
		return fmt.Sprintf("\"hasMore\": %q instead of nextPageFlag", path)
	case stopOn && !ifNotSet:
		rule = fmt.Sprintf("truthy(%s)", source)
	case stopOn:
		rule = fmt.Sprintf("not has('%s') or truthy(%s)", path, source)
	default:
		rule = fmt.Sprintf("has('%s') and not truthy(%s)", path, source)
	}
	return fmt.Sprintf("\"stopRules\": [%q] instead of nextPageFlag", rule)
}

// checkFlagPolarity reports flags whose names contradict the configuration.
func (p *pagination) checkFlagPolarity(diags *diag.Collector) {
	field := p.settings.get("nextPageFlag.field")
	stopOn, ifNotSet := p.settings.get("nextPageFlag.stopOn"), p.settings.get("nextPageFlag.ifNotSet")
	kind := apinames.Key(field.Spelling).FlagKind()
	suggestsMore := func(at setting, name string) *diag.Diagnostic {
		return diags.Warnf(diag.Value(at.path()), "paging stops when %s, although its name suggests that more pages follow", name)
	}
	switch {
	case field.Spelling == "" || stopOn.Value == nil:
	case stopOn.Value == true && kind == apinames.SignMore:
		suggestsMore(stopOn, field.Spelling+" is true").WithHint("if it is true while there is more, set stopOn to false")
	case stopOn.Value == false && kind == apinames.SignLast:
		suggestsMore(stopOn, field.Spelling+" is false").WithHint("if it is true on the last page, set stopOn to true")
	case stopOn.Value == true && ifNotSet.Value == true && !ifNotSet.Default && kind == apinames.SignLast:
		diags.Warnf(diag.Value(ifNotSet.path()), "a page without %s stops paging, too, so the flag has no effect", field.Spelling).
			WithHint("if only the last page has it, set ifNotSet to false")
	}
	hasMore := p.settings.get("hasMore")
	if keys := keypath.Split(hasMore.text()); len(keys) > 0 && apinames.Key(keys[len(keys)-1]).FlagKind() == apinames.SignLast {
		suggestsMore(hasMore, hasMore.Spelling+" is false").
			WithHint(fmt.Sprintf("for a flag that is true on the last page write \"stopRules\": [\"truthy(body.%s)\"]", hasMore.Spelling))
	}
}

var stopRuleFields = []Field{
	{Name: "name", Kind: KindText, Doc: "id in the trace and the result; default `stopRules[0]`, by position"},
	{Name: "when", Kind: KindExpression, Required: true, Doc: "expression; true stops paging after this page"},
	{Name: "outcome", Kind: KindText, Default: string(Complete), Values: outcomeNames(), Doc: "what the end means for the list"},
	{Name: "message", Kind: KindText, Sources: BraceSource, Doc: "for the log; {expressions} in it are evaluated"},
}

var stateFields = []Field{
	{Name: "init", Kind: KindAny, Sources: WholeSource, Doc: "value before the first request"},
	{Name: "next", Kind: KindAny, Sources: WholeSource, Doc: "value after each page"},
}

var onErrorFields = []Field{
	{Name: "when", Kind: KindExpression, Required: true, Doc: "expression over status, header() and body of the response"},
	{Name: "on", Kind: KindText, Default: OnError, Values: []string{OnError, OnSuccess, OnAny}, QuietDefault: true,
		Doc: "the responses that it judges: " +
			"`error`, those of other statuses than " + requests.PageStatuses + ", `success`, those of these statuses, " +
			"for an API that reports errors with status 200, or `any`, all of them"},
	{Name: "do", Kind: KindText, Required: true, Values: errorActions, Doc: "what to do"},
	{Name: "message", Kind: KindText, Sources: BraceSource, Doc: "for the log; {expressions} in it are evaluated"},
}

// The responses that an onError rule judges.
const (
	OnError   = "error"
	OnSuccess = "success"
	OnAny     = "any"
)

// errorActions are the actions of onError rules.
var errorActions = []string{string(ErrorStop), string(ErrorRetry), string(ErrorRestart), string(ErrorFail), string(ErrorContinue)}
