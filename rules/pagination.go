package rules

import (
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/rules/diag"
)

// paginationFields are the keys of every pagination object. A [Catalog] adds those
// of its guards.
var paginationFields = []Field{
	{Name: "method", Kind: Text, Required: true, Doc: "how the next page is obtained"},
	{Name: "limit", Kind: Count, PerScroller: true, Keboola: phpInt, Doc: "page size; what rules see as `limit`"},
	{Name: "limitParam", Kind: Text, PerScroller: true, Keboola: phpText, Default: "limit", Doc: "parameter that carries the page size; the job's own value for it takes the place of limit"},
	{Name: "nextPageFlag", Kind: Block, Doc: "a field of the response that tells whether there is a next page (specification 2.2)", Fields: []Field{
		{Name: "field", Kind: Key, Required: true, Doc: "key in the root of the response, taken literally"},
		{Name: "stopOn", Kind: Flag, Required: true, Doc: "scrolling stops when the field, as a boolean, equals this"},
		{Name: "ifNotSet", Kind: Flag, DefaultOf: "stopOn", Doc: "value assumed when the field is absent; default: that of stopOn"},
	}},
	{Name: "forceStop", Kind: Block, Keboola: phpBlock, Doc: "limits; the first that is reached stops the scrolling (specification 2.3)", Fields: []Field{
		{Name: "pages", Kind: Count, Keboola: phpWhole, Doc: "pages to extract at the most"},
		{Name: "time", Kind: Seconds, Keboola: phpSeconds, Doc: "running time at the most, in seconds"},
		{Name: "volume", Kind: Count, Keboola: phpBytes, Doc: "bytes to extract at the most, counted in minified JSON"},
	}},
	{Name: "limitStop", Kind: Block, Doc: "the total number of items; the last page is completed (specification 2.4)", Fields: []Field{
		{Name: "count", Kind: Count, Keboola: phpBytes, Doc: "the number itself"},
		{Name: "field", Kind: Path, Keboola: phpStrict, Doc: "path in the response to the number"},
	}},
	{Name: "hasMore", Kind: Path, Doc: "path of a flag in the response that is true while there is more; absent, or false as a boolean (specification 2.2), it ends the scrolling"},
	{Name: "stopRules", Kind: List, Each: &Field{Kind: Expression, Fields: stopRuleFields}, Doc: "expressions that stop the scrolling, or objects of name, when, outcome and message"},
	{Name: "state", Kind: Map, PerScroller: true, Each: &Field{Kind: Block, Fields: variableFields}, Doc: "variables: name to an object of init (before the first request) and next (after each page)"},
	{Name: "keep", Kind: Map, PerScroller: true, Each: &Field{Kind: Expression}, Doc: "name to expression: what is kept for the next run (`--kept FILE`), evaluated after the last page of a list that is complete; the next run sees it as `kept`. A value that is nil leaves the one before"},
	{Name: "nextRequest", Kind: Block, PerScroller: true, Doc: "the next request as expressions, laid over the method's", Fields: []Field{
		{Name: "url", Kind: Expression, Doc: "the whole address; nil or empty ends the scrolling"},
		{Name: "endpoint", Kind: Expression, Doc: "in place of the job's; nil or empty ends the scrolling"},
		{Name: "method", Kind: Expression, Doc: "GET, POST or FORM as an expression, or the word itself"},
		{Name: "params", Kind: Any, Doc: "name to expression, or one expression that gives an object; nil leaves a parameter out"},
		{Name: "headers", Kind: Any, Doc: "name to expression, or one expression that gives an object; nil leaves a header out"},
		{Name: "body", Kind: Any, Doc: "path in the JSON body to expression, or one expression that gives an object"},
		{Name: "includeParams", Kind: Flag, Doc: "send the job's parameters along; default: false with url, else true"},
		{Name: "applyToFirst", Kind: Flag, Default: false, Doc: "lay it over the first request too"},
	}},
	{Name: "guards", Kind: Block, Doc: "what to do when an API does not get on: `stop`, `fail` or `ignore`", Fields: []Field{
		{Name: "ignore", Kind: List, Each: &Field{Kind: Path}, Doc: "paths in the response that the same-page check passes over"},
	}},
	{Name: "audit", Kind: Block, Doc: "the audit at the end of a complete list", Fields: []Field{
		{Name: "ignore", Kind: List, Each: &Field{Kind: Text, Values: auditIDs()}, Doc: "ids of findings that are no sign of loss with this API: `audit.token`, say, for one whose last page has a token too"},
	}},
	{Name: "onError", Kind: List, Each: &Field{Kind: Block, Fields: onErrorFields}, Doc: "what to do with responses of status 400 and above: objects of when, do and message"},
}

// pagination is a pagination object, as it was read.
type pagination struct {
	path     string
	method   Method
	settings settings
}

// check reports settings that exclude each other, or are probably not what was
// meant.
func (p *pagination) check(faults *diag.Collector, switches Switches) {
	p.oneTotal(faults)
	p.dottedFlag(faults)
	if p.method.Name == Multiple {
		p.perScroller(faults, switches)
		return
	}
	p.oneOf(faults)
	p.flagPolarity(faults)
}

// oneTotal checks that limitStop has exactly one of its two forms (2.4).
func (p *pagination) oneTotal(faults *diag.Collector) {
	if p.settings["limitStop"].Value == nil {
		return
	}
	count, field := p.settings["limitStop.count"], p.settings["limitStop.field"]
	const hint = "count is a number of your own, field the path of the API's"
	switch at := diag.Value(p.settings["limitStop"].Path); {
	case count.Value != nil && field.Value != nil:
		faults.Errorf(at, "count and field exclude each other").WithHint(hint)
	case !count.given() && !field.given():
		faults.Errorf(at, "count or field is missing").WithHint(hint)
	}
}

// oneOf checks that exactly one of the method's alternatives is configured.
func (p *pagination) oneOf(faults *diag.Collector) {
	var given []string
	for _, name := range p.method.OneOf {
		if p.settings[name].given() {
			given = append(given, name)
		}
	}
	switch at := diag.Value(p.path); {
	case len(given) > 1:
		faults.Errorf(at, "%s exclude each other", strings.Join(given, " and "))
	case len(given) == 0 && len(p.method.OneOf) > 0:
		faults.Errorf(at, "%s is missing", strings.Join(p.method.OneOf, " or "))
	}
}

// perScroller checks that keys which belong in a scroller are not beside it.
func (p *pagination) perScroller(faults *diag.Collector, switches Switches) {
	for _, f := range paginationFields {
		if s := p.settings[f.Name]; f.PerScroller && s.given() && !switches.IgnoreUnknown {
			faults.Errorf(diag.Key(s.Path), "%s has no place beside scrollers", f.Name).WithHint("write it in a scroller")
		}
	}
	if s := p.settings["scrollers"]; s.given() && !s.Invalid && len(s.list()) == 0 {
		faults.Errorf(diag.Value(s.Path), "there is no scroller in it")
	}
}

// dottedFlag points to stopRules for a flag that is not in the root: the field of
// nextPageFlag is one key, dots included (2.2).
func (p *pagination) dottedFlag(faults *diag.Collector) {
	s := p.settings["nextPageFlag.field"]
	if !strings.Contains(s.text(), `\.`) {
		return
	}
	name := SplitPath(s.text())[0]
	hint := fmt.Sprintf("for a nested flag write a rule, like \"stopRules\": [\"truthy(body.%s)\"]", name)
	if stopOn := p.settings["nextPageFlag.stopOn"]; stopOn.Value == false {
		hint = fmt.Sprintf("for a nested flag write \"hasMore\": %q", name)
	}
	faults.Warnf(diag.Value(s.Path), "%q is one key in the root, dots included", name).WithHint(hint)
}
