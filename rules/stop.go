package rules

// Template is a stopping rule as the tables have it: in force when its setting
// is there, its source with the settings still named.
type Template struct {
	ID      string
	When    string // expression, boolean
	Keboola string // the reference's reading, where it differs
	Each    string // holds when it does for every member of this setting; ${each} is its value
	Only    string // in force when; see [Settings.Holds]
	Outcome Outcome
	Drop    bool   // the items of the page on which it is met are not emitted
	Says    string // completes "stops when …"
	Message string // for the log, with {expressions}; a complete sentence when Drop or it begins with "Job"
}

// Outcome says what the end of a scroll means for the list that was obtained.
type Outcome string

const (
	Complete Outcome = "complete" // the API said, or showed, that there is no more
	Limited  Outcome = "limited"  // a limit of the user's was reached; there may be more
	Guarded  Outcome = "guarded"  // a guard ended a scroll that did not get on; there may be more
	Failed   Outcome = "failed"   // the run has failed; what was obtained is kept
)

// Outcomes are all of them.
var Outcomes = []Outcome{Complete, Limited, Guarded, Failed}

// commonFields are the keys that every pagination object may have.
var commonFields = []Field{
	{Name: "method", Kind: Text, Required: true, Doc: "how the next page is obtained"},
	{Name: "limit", Kind: Count, Keboola: PHPInt, Doc: "page size; what rules see as `limit`"},
	{Name: "limitParam", Kind: Text, Keboola: PHPText, Default: "limit", Doc: "parameter that carries the page size; the job's own value for it takes the place of limit"},
	{Name: "nextPageFlag", Kind: Block, Doc: "a field of the response that tells whether there is a next page (specification 2.2)", Fields: []Field{
		{Name: "field", Kind: Key, Required: true, Doc: "key in the root of the response, taken literally"},
		{Name: "stopOn", Kind: Flag, Required: true, Doc: "scrolling stops when the field, as a boolean, equals this"},
		{Name: "ifNotSet", Kind: Flag, DefaultOf: "stopOn", Doc: "value assumed when the field is absent; default: that of stopOn"},
	}},
	{Name: "forceStop", Kind: Block, Doc: "limits; the first that is reached stops the scrolling (specification 2.3)", Fields: []Field{
		{Name: "pages", Kind: Count, Keboola: PHPWhole, Doc: "pages to extract at the most"},
		{Name: "time", Kind: Seconds, Keboola: PHPSeconds, Doc: "running time at the most, in seconds"},
		{Name: "volume", Kind: Count, Keboola: PHPBytes, Doc: "bytes to extract at the most, counted in minified JSON"},
	}},
	{Name: "limitStop", Kind: Block, Doc: "the total number of items; the last page is completed (specification 2.4)", Fields: []Field{
		{Name: "count", Kind: Count, Keboola: PHPBytes, Doc: "the number itself"},
		{Name: "field", Kind: Path, Keboola: PHPStrict, Doc: "path in the response to the number"},
	}},
	{Name: "hasMore", Kind: Path, Doc: "path of a flag in the response that is true while there is more; absent, or false as a boolean (specification 2.2), it ends the scrolling"},
	{Name: "stopRules", Kind: List, Each: &Field{Kind: Expression, Fields: stopRuleFields}, Doc: "expressions that stop the scrolling, or objects of name, when, outcome and message"},
	{Name: "state", Kind: Map, Each: &Field{Kind: Block, Fields: variableFields}, Doc: "variables: name to an object of init (before the first request) and next (after each page)"},
	{Name: "keep", Kind: Map, Each: &Field{Kind: Expression}, Doc: "name to expression: what is kept for the next run (`--kept FILE`), evaluated after the last page of a list that is complete; the next run sees it as `kept`. A value that is nil leaves the one before"},
	{Name: "nextRequest", Kind: Block, Doc: "the next request as expressions, laid over the method's", Fields: []Field{
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
		{Name: "samePage", Kind: Text, Values: policies, Doc: "a page equals the one before it; default `stop`"},
		{Name: "repeatedExchange", Kind: Text, Values: policies, Doc: "a request that was made before brings the response that it brought before; default `fail`"},
		{Name: "sameItems", Kind: Text, Values: policies, Doc: "three pages in a row have the same items in a different wrapper; default `fail`"},
		{Name: "maxPages", Kind: Count, Doc: "pages beyond which a scroll has failed; default 100000, with dialect keboola none"},
		{Name: "ignore", Kind: List, Each: &Field{Kind: Path}, Doc: "paths in the response that the same-page check passes over"},
	}},
	{Name: "audit", Kind: Block, Doc: "the audit at the end of a complete list", Fields: []Field{
		{Name: "ignore", Kind: List, Each: &Field{Kind: Text, Values: auditIDs()}, Doc: "ids of findings that are no sign of loss with this API: `audit.token`, say, for one whose last page has a token too"},
	}},
	{Name: "onError", Kind: List, Each: &Field{Kind: Block, Fields: onErrorFields}, Doc: "what to do with responses of status 400 and above: objects of when, do and message"},
}

// SharedStops is the table of stopping rules that any method shares, in the
// order in which they give the reason: first the same-page check, then the
// guards, the limits and the flag. The method's own follow, then the user's.
var SharedStops = []Template{
	{ID: "samePage", When: `samePage`, Outcome: Complete, Drop: true,
		Says: "a page equals the one before it (its items are not emitted again)", Message: "Job '{job.id}' finished when last response matched the previous!"},
	{ID: "repeatedExchange", When: `repeatedExchange`, Outcome: Guarded,
		Says: "a request that was made before brings the response that it brought before: the API goes in circles", Message: "page {page} repeats an earlier request and its response: the API goes in circles"},
	{ID: "sameItems", When: `sameItems >= 3`, Outcome: Guarded,
		Says: "three pages in a row have the same items", Message: "page {page} is the third in a row with the same items: the API does not get on"},
	{ID: "maxPages", When: `total.pages >= ${guards.maxPages}`, Outcome: Guarded, Only: "guards.maxPages",
		Says: "there are ${guards.maxPages} pages, which no list of this API should have", Message: "{total.pages} pages: the guard against endless scrolling (guards.maxPages)"},
	{ID: "limitStop.count", When: `total.items >= ${limitStop.count}`, Outcome: Limited, Only: "limitStop.count",
		Says: "${limitStop.count} items are extracted (the last page is completed)", Message: "{total.items} items reach the limit of ${limitStop.count}"},
	{ID: "limitStop.field", When: `total.items >= number(at(${limitStop.field}))`, Keboola: `total.items >= phpTotal(at(${limitStop.field}))`, Outcome: Complete, Only: "limitStop.field",
		Says: "as many items are extracted as the response says there are, at ${limitStop.field}", Message: "{total.items} items reach the total that the response gives at ${limitStop.field}"},
	{ID: "limitStop.absent", When: `at(${limitStop.field}) == nil`, Keboola: off, Outcome: Complete, Only: "limitStop.field",
		Says: "the response does not have ${limitStop.field}", Message: "the response to page {page} has no total at ${limitStop.field}"},
	{ID: "forceStop.pages", When: `total.pages >= ${forceStop.pages}`, Outcome: Limited, Only: "forceStop.pages",
		Says: "${forceStop.pages} pages are extracted", Message: "{total.pages} pages reach the limit of ${forceStop.pages}"},
	{ID: "forceStop.time", When: `total.seconds >= ${forceStop.time}`, Outcome: Limited, Only: "forceStop.time",
		Says: "${forceStop.time} seconds have passed", Message: "{total.seconds} seconds reach the limit of ${forceStop.time}"},
	{ID: "forceStop.volume", When: `total.bytes >= ${forceStop.volume}`, Keboola: `total.bytes > ${forceStop.volume}`, Outcome: Limited, Only: "forceStop.volume",
		Says: "${forceStop.volume} bytes of minified JSON are extracted", Message: "{total.bytes} bytes reach the limit of ${forceStop.volume}"},
	{ID: "nextPageFlag", When: `truthy(has(${nextPageFlag.field}) ? at(${nextPageFlag.field}) : ${nextPageFlag.ifNotSet}) == ${nextPageFlag.stopOn}`,
		Keboola: `phpTruthy(at(${nextPageFlag.field}) ?? ${nextPageFlag.ifNotSet}) == ${nextPageFlag.stopOn}`, Outcome: Complete, Only: "nextPageFlag",
		Says: "${nextPageFlag.field}, as a boolean, is ${nextPageFlag.stopOn} (absent: ${nextPageFlag.ifNotSet})", Message: "${nextPageFlag.field} says that page {page} is the last"},
	{ID: "hasMore", When: `not truthy(at(${hasMore}))`, Outcome: Complete, Only: "hasMore",
		Says: "${hasMore} is false or absent", Message: "${hasMore} says that page {page} is the last"},
}

// policies of the guards: what a rule of the table becomes.
var policies = []string{"stop", "fail", "ignore"}

// defaultPolicy is each guard's, unless the configuration says otherwise: the
// specification calls a repeated page an end (3.1), while a loop is a fault of
// the API, and ending it quietly would pass for a complete list.
// The reference has the first guard alone.
var defaultPolicy = map[string]map[string]string{
	Spec:    {"samePage": "stop", "repeatedExchange": "fail", "sameItems": "fail", "maxPages": "fail"},
	Keboola: {"samePage": "stop", "repeatedExchange": "ignore", "sameItems": "ignore", "maxPages": "fail"},
}

// defaultMaxPages is far above any list that anyone pages through.
const defaultMaxPages = 100_000
