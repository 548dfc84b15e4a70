package rules

// Method is one way of paging, written as data in the rule language: it says how the next request is made and when
// the list ends. The loop knows no method.
//
// A source sees the fields of [Context] and the functions of package compile/language, like the expressions that
// users write in nextRequest, state and stopRules. Lowering replaces ${name} by the configured value of a setting:
// of one of Fields, or of a setting that all methods have, such as limitParam. A bare name is a field of the
// context: limit is the page size in effect, which the job's own parameter may override. Texts such as
// [StopRule].Clause have more forms of ${…}.
type Method struct {
	Name   string
	Doc    string // when to choose it
	Fields []Field
	State  []StateVariable
	Next   Overlay
	Stops  []StopRule
	OneOf  []string // exactly one of these settings must be configured
	Once   bool     // the list is one response, and there is no next request

	Example Object // settings of the example in the reference; nil for no example
}

// StateVariable is a variable of a method's state.
type StateVariable struct {
	Name         string
	Init         string     // expression for its value before the first request
	Next         string     // expression for its value after a page, which sees the old values
	Only         Conditions // the method has the variable only if these are met
	ValueInWords string     // Next in words, if it reads the response: "the id of the last item"
}

// A Condition is met if a setting has a value. The value false does not count.
type Condition struct {
	Setting string
	Not     bool // the condition is met if the setting has no value
	Nonzero bool // the number 0 counts as no value
}

// IsSet returns the condition that a setting has a value.
func IsSet(setting string) Condition { return Condition{Setting: setting} }

// IsUnset returns the condition that a setting has no value.
func IsUnset(setting string) Condition { return Condition{Setting: setting, Not: true} }

// Conditions are met if all of them are met. An empty list is always met.
type Conditions []Condition

// A Toggle is something that a method does only under certain settings. The zero Toggle is never on.
type Toggle struct {
	mayBeOn bool
	when    Conditions
}

// Always returns a toggle that is always on.
func Always() Toggle { return If() }

// If returns a toggle that is on if all conditions are met.
func If(conditions ...Condition) Toggle { return Toggle{mayBeOn: true, when: conditions} }

// Overlay holds the changes by which a method makes the next request from the job's request.
type Overlay struct {
	URL      Part
	Endpoint Part
	Verb     Part
	Params   []Part
	Body     []Part // named by their path in the JSON body

	ApplyToFirst Toggle // whether the parts also apply to the first request
	OmitParams   Toggle // whether the requests after the first lack the job's params
}

// Part is one part of a request, computed by an expression. A value that is nil
// leaves the part out.
type Part struct {
	Name         string     // the name of a parameter; if it is empty, the value is an object whose members are merged
	Each         string     // names a setting that is an object: each member makes a part, with its name and its value, ${each}
	Value        string     // expression
	Only         Conditions // the request has the part only if these are met
	ValueInWords string     // Value in words, if it reads the response: "the link at links.next"
	Hint         string     // the hint for a job whose own value of the part is overridden
}

// StopRule is a row of a table of stopping rules: those of a method, those that all methods share, or the guards.
//
// In Clause and Message, ${name} is replaced by the value of a setting, and ${name nouns} by the value with its
// noun, which is singular after 1: ${limitStop.count items} becomes "100 items". The names ${theLimit},
// ${ignoring}, ${orMissing} and ${asNumber} stand for phrases that depend on several settings, such as "the
// limit of 100". In an expression of a Message, ${name source} is the value as a literal.
type StopRule struct {
	ID       string
	When     string     // expression, boolean
	Each     string     // names a setting that is an object: When must hold for the value of every member, as ${each}
	Only     Conditions // the rule is in force only if these are met
	Outcome  Outcome    // empty means [Complete]
	Clause   string     // completes "stops when …"
	Message  string     // text of the log, with {expressions}
	NamesJob bool       // Message names the job, so the log does not
	Stopping
}

// The texts of rules that several methods have.
const (
	emptyClause  = "a page is empty"
	emptyMessage = "page {page} is empty"
	shortClause  = "a page has fewer items than ${theLimit}"
	shortMessage = "page {page} is short: {count} of {limit} items"
)

// limitDoc describes the setting of the page size. Some methods require it.
const limitDoc = "page size; a job parameter named like limitParam overrides it"

// builtinMethods is the table of methods. How they differ in dialect keboola is in a table of its
// own, [keboolaMethods].
var builtinMethods = []Method{
	{
		Name:    "offset",
		Doc:     "The response says nothing about the next page; the API expects the index of the first item of a page.",
		Example: Object{{Name: "limit", Value: 10}},
		Fields: []Field{
			{Name: "limit", Kind: KindCount, Required: true, Doc: limitDoc},
			{Name: "offsetParam", Kind: KindText, Default: "offset",
				Doc: "parameter that carries the index of the first item"},
			{Name: "firstPageParams", Kind: KindFlag, Default: true, Doc: "send both parameters with the first request, too"},
			{Name: "offsetFromJob", Kind: KindFlag, Default: false,
				Doc: "start at the job's parameter named like offsetParam"},
		},
		State: []StateVariable{
			{Name: "offset", Only: Conditions{IsUnset("offsetFromJob")}, Init: `0`, Next: `state.offset + limit`},
			{Name: "offset", Only: Conditions{IsSet("offsetFromJob")},
				Init: `number(job.params[${offsetParam}]) ?? 0`,
				Next: `state.offset + limit`},
		},
		Next: Overlay{
			Params: []Part{
				{Name: "${limitParam}", Value: `limit`},
				{Name: "${offsetParam}", Value: `state.offset`, Hint: `to begin there, set "offsetFromJob": true`},
			},
			ApplyToFirst: If(IsSet("firstPageParams")),
		},
		Stops: []StopRule{
			{ID: "offset.empty", When: `count == 0`, Clause: emptyClause, Message: emptyMessage},
			{ID: "offset.short", When: `count < limit`, Clause: shortClause, Message: shortMessage},
		},
	},
	{
		Name:    "pagenum",
		Doc:     "The response says nothing about the next page; the API expects the number of a page, whatever its size.",
		Example: Object{{Name: "limit", Value: 10}},
		Fields:  pageNumberFields(),
		State:   pageNumberState,
		Next:    pageNumberNext,
		Stops: []StopRule{
			{ID: "pagenum.empty", When: `count == 0`, Clause: emptyClause, Message: emptyMessage},
		},
	},
	{
		Name:    "cursor",
		Doc:     "The response says nothing about the next page; the API expects the identifier of an item.",
		Example: Object{{Name: "idKey", Value: "id"}, {Name: "param", Value: "since_id"}},
		Fields: []Field{
			{Name: "idKey", Kind: KindPath, Required: true, Doc: "path of the identifier in an item"},
			{Name: "param", Kind: KindText, Required: true, Doc: "parameter that carries the identifier"},
			{Name: "increment", Kind: KindInteger, Default: 0, Doc: "number that is added to the identifier"},
			{Name: "reverse", Kind: KindFlag, Default: false,
				Doc: "continue from the least identifier instead of the greatest"},
		},
		State: []StateVariable{
			{Name: "id", Only: Conditions{IsUnset("reverse")}, Init: `nil`, ValueInWords: "the greatest ${idKey} so far",
				Next: `greatest(items, ${idKey}, state.id)`},
			{Name: "id", Only: Conditions{IsSet("reverse")}, Init: `nil`, ValueInWords: "the least ${idKey} so far",
				Next: `least(items, ${idKey}, state.id)`},
		},
		Next: Overlay{
			Params: []Part{
				{Name: "${param}", Only: Conditions{withoutIncrement}, Value: `state.id`},
				{Name: "${param}", Only: Conditions{withIncrement, IsUnset("reverse")}, Value: `number(state.id) + ${increment}`,
					ValueInWords: "the greatest ${idKey} so far + ${increment}"},
				{Name: "${param}", Only: Conditions{withIncrement, IsSet("reverse")}, Value: `number(state.id) + ${increment}`,
					ValueInWords: "the least ${idKey} so far + ${increment}"},
			},
		},
		Stops: []StopRule{
			{ID: "cursor.empty", When: `count == 0`, Clause: emptyClause, Message: emptyMessage},
		},
	},
	{
		Name:    "response.url",
		Doc:     "Responses contain a direct link to the next page, usually in a links section.",
		Example: Object{{Name: "urlKey", Value: "links.next"}},
		Fields: append(responseURLFields("delimiter"),
			Field{Name: "delimiter", Kind: KindText, Default: ".", Doc: "separator of the keys in urlKey"}),
		Next: responseURLNext,
		Stops: []StopRule{
			{ID: "response.url.end", When: `empty(at(${urlKey}))`,
				Clause: "the response has no link at ${urlKey}", Message: "the response to page {page} has no next link"},
			{ID: "response.url.noQuery", Only: Conditions{IsSet("paramIsQuery")}, Outcome: Failed,
				When:   `not empty(at(${urlKey})) and len(query(at(${urlKey}))) == 0`,
				Clause: "the value at ${urlKey} has no query, which paramIsQuery asks for",
				Message: "the value at ${urlKey} of page {page} has no query, so the next page cannot be requested: " +
					"if it is a link, remove paramIsQuery"},
		},
	},
	{
		Name:    "response.param",
		Doc:     "Responses contain a value that is sent to get the next page: a token or a page number.",
		Example: Object{{Name: "responseParam", Value: "meta.next"}, {Name: "queryParam", Value: "cursor"}},
		Fields: []Field{
			{Name: "responseParam", Kind: KindPath, Required: true, Doc: "path of the value in the response"},
			{Name: "queryParam", Kind: KindText, Required: true,
				Doc: "parameter that carries the value; it overrides a job parameter of the same name"},
			{Name: "includeParams", Kind: KindFlag, Default: false,
				Doc: "send the job's parameters with every request, not only with the first"},
			{Name: "scrollRequest", Kind: KindBlock, Doc: "the requests after the first", Fields: []Field{
				{Name: "endpoint", Kind: KindText, Env: true, Doc: "replaces the job's"},
				{Name: "method", Kind: KindText, Default: "GET", Doc: "replaces the job's"},
				{Name: "params", Kind: KindMap, Env: true, Doc: "replace the job's"},
			}},
		},
		Next: Overlay{
			Endpoint: Part{Value: `${scrollRequest.endpoint}`, Only: Conditions{IsSet("scrollRequest.endpoint")}},
			Verb:     Part{Value: `${scrollRequest.method}`, Only: Conditions{IsSet("scrollRequest"), IsSet("scrollRequest.method")}},
			Params: []Part{
				{Each: "scrollRequest.params", Value: `${each}`, Only: Conditions{IsSet("scrollRequest.params")}},
				{Name: "${queryParam}", Value: `text(at(${responseParam}))`, ValueInWords: "the value at ${responseParam}"},
			},
			OmitParams: If(IsUnset("includeParams")),
		},
		Stops: []StopRule{
			{ID: "response.param.end", When: `empty(at(${responseParam}))`,
				Clause:  "the response has no value at ${responseParam}",
				Message: "the response to page {page} has no value at ${responseParam}"},
		},
	},
	{
		Name: "response.params",
		Doc:  "Responses contain several values that are sent together to get the next page.",
		Example: Object{{Name: "responseParams", Value: Object{
			{Name: "key-marker", Value: "NextKeyMarker"}, {Name: "id-marker", Value: "NextIdMarker"},
		}}},
		Fields: []Field{
			{Name: "responseParams", Kind: KindPaths,
				Doc: "parameters, each with the path of its value in the response; an empty value is not sent"},
			{Name: "responseObject", Kind: KindPath, Doc: "path of an object in the response whose members are all sent as parameters"},
			{Name: "includeParams", Kind: KindFlag, Default: true,
				Doc: "send the job's parameters with every request, not only with the first"},
		},
		OneOf: []string{"responseParams", "responseObject"},
		Next: Overlay{
			Params: []Part{
				{Each: "responseParams", Value: `empty(at(${each})) ? nil : text(at(${each}))`,
					Only: Conditions{IsSet("responseParams")}, ValueInWords: "the value at ${each} if there is one"},
				{Value: `at(${responseObject})`, Only: Conditions{IsSet("responseObject")},
					ValueInWords: "the members of ${responseObject}"},
			},
			OmitParams: If(IsUnset("includeParams")),
		},
		Stops: []StopRule{
			{ID: "response.params.end", Only: Conditions{IsSet("responseParams")}, Each: "responseParams", When: `empty(at(${each}))`,
				Clause:  "the response has none of the values to send",
				Message: "the response to page {page} has none of the values to send"},
			{ID: "response.params.end", Only: Conditions{IsSet("responseObject")}, When: `empty(at(${responseObject}))`,
				Clause:  "the response has no ${responseObject}",
				Message: "the response to page {page} has no ${responseObject}"},
		},
	},
	{
		Name:    "header.link",
		Doc:     "The Link header (RFC 8288) has a direct link to the next page.",
		Example: Object{{Name: "moreParam", Value: "results"}},
		Fields: []Field{
			{Name: "rel", Kind: KindText, Default: "next", Doc: "relation of the link"},
			{Name: "moreParam", Kind: KindText,
				Doc: "parameter of the link that is `true` while there is more, for APIs that always send a link"},
			{Name: "includeParams", Kind: KindFlag, Default: false, Doc: "send the job's parameters along with the link"},
		},
		Next: Overlay{
			URL:        Part{Value: `link(${rel})`, ValueInWords: "the link with rel=${rel}"},
			OmitParams: If(IsUnset("includeParams")),
		},
		Stops: []StopRule{
			{ID: "header.link.end", When: `empty(link(${rel}))`,
				Clause:  "the response has no Link header with rel=${rel}",
				Message: "the response to page {page} has no Link header with rel=${rel}"},
			{ID: "header.link.more", Only: Conditions{IsSet("moreParam")}, When: `link(${rel}, ${moreParam}) != "true"`,
				Clause:  "the link's parameter ${moreParam} is not true",
				Message: "the link of page {page} does not say that there is more: ${moreParam} is not true"},
		},
	},
	{
		Name:    "header.param",
		Doc:     "A header of the response contains a value that is sent to get the next page.",
		Example: Object{{Name: "responseHeader", Value: "X-Next-Token"}, {Name: "queryParam", Value: "token"}},
		Fields: []Field{
			{Name: "responseHeader", Kind: KindText, Required: true, Doc: "header with the value"},
			{Name: "queryParam", Kind: KindText, Required: true, Doc: "parameter that carries the value"},
			{Name: "includeParams", Kind: KindFlag, Default: true,
				Doc: "send the job's parameters with every request, not only with the first"},
		},
		Next: Overlay{
			Params:     []Part{{Name: "${queryParam}", Value: `header(${responseHeader})`, ValueInWords: "the header ${responseHeader}"}},
			OmitParams: If(IsUnset("includeParams")),
		},
		Stops: []StopRule{
			{ID: "header.param.end", When: `empty(header(${responseHeader}))`,
				Clause:  "the response has no header ${responseHeader}",
				Message: "the response to page {page} has no header ${responseHeader}"},
		},
	},
	{
		Name:    "pagecount",
		Doc:     "The API expects the number of a page, and its responses say how many pages there are.",
		Example: Object{{Name: "pagesField", Value: "meta.total_pages"}},
		Fields: append([]Field{
			{Name: "pagesField", Kind: KindPath, Doc: "path of the number of pages in the response"},
			{Name: "pagesHeader", Kind: KindText, Doc: "header with the number of pages"},
		}, pageNumberFields()...),
		OneOf: []string{"pagesField", "pagesHeader"},
		State: pageNumberState,
		Next:  pageNumberNext,
		Stops: []StopRule{
			{ID: "pagecount.last", Only: Conditions{IsSet("pagesField")}, When: `page >= number(at(${pagesField}))`,
				Clause:  "the number of pages reaches ${pagesField} of the response",
				Message: "${pagesField} says that page {page} is the last"},
			{ID: "pagecount.last", Only: Conditions{IsSet("pagesHeader")}, When: `page >= number(header(${pagesHeader}))`,
				Clause:  "the number of pages reaches the header ${pagesHeader}",
				Message: "the header ${pagesHeader} says that page {page} is the last"},
			{ID: "pagecount.empty", When: `count == 0`, Clause: emptyClause, Message: emptyMessage},
		},
	},
	{
		Name:    "keyset",
		Doc:     "The API expects the key of the last item unchanged: text, a UUID, a long number.",
		Example: Object{{Name: "idKey", Value: "id"}, {Name: "param", Value: "starting_after"}},
		Fields: []Field{
			{Name: "idKey", Kind: KindPath, Required: true, Doc: "path of the key in an item"},
			{Name: "param", Kind: KindText, Required: true, Doc: "parameter that carries the key"},
			{Name: "shortPageEnds", Kind: KindFlag, Default: false,
				Doc: "a page with fewer items than `limit` is the last; otherwise an empty page is"},
		},
		State: []StateVariable{
			{Name: "key", Init: `nil`, Next: `text(at(items[-1], ${idKey}))`, ValueInWords: "the ${idKey} of the last item"},
		},
		Next: Overlay{
			Params: []Part{{Name: "${param}", Value: `state.key`}},
		},
		Stops: []StopRule{
			{ID: "keyset.empty", When: `count == 0`, Clause: emptyClause, Message: emptyMessage},
			{ID: "keyset.short", Only: Conditions{IsSet("shortPageEnds")}, When: `count < limit`,
				Clause: shortClause, Message: shortMessage},
			{ID: "keyset.lost", When: `count > 0 and empty(at(items[-1], ${idKey}))`, Outcome: Failed,
				Clause:  "the last item of a page that does not end the list has no ${idKey}",
				Message: "the last item of page {page} has no ${idKey}, so the next page cannot be requested"},
		},
	},
	{
		Name: "graphql.relay",
		Doc: "A GraphQL connection (Relay specification): pageInfo has the cursor of the next page, " +
			"and a variable of the query carries it.",
		Example: Object{{Name: "connection", Value: "data.repository.issues"}},
		Fields: []Field{
			{Name: "connection", Kind: KindPath, Required: true, Doc: "path of the connection in the response: data.repository.issues"},
			{Name: "variable", Kind: KindText, Default: "after", Doc: "variable of the query that carries the cursor"},
		},
		Next: Overlay{
			Body: []Part{{
				Name: "variables.${variable}", Value: `at(${connection}).pageInfo.endCursor`,
				ValueInWords: "pageInfo.endCursor of ${connection}",
			}},
		},
		Stops: []StopRule{
			{ID: "graphql.relay.errors", When: `truthy(at("errors"))`, Outcome: Failed,
				Clause:  "the response has errors, which GraphQL sends with status 200",
				Message: "the API returned an error: {body.errors[0].message ?? body.errors[0] ?? body.errors}"},
			{ID: "graphql.relay.unknown", Outcome: Failed,
				When: `at(${connection}).pageInfo.hasNextPage == nil and (page > 1 or not empty(at(${connection}).pageInfo.endCursor))` +
					` or at(${connection}).pageInfo.hasNextPage == "true"`,
				Clause: "pageInfo of ${connection} does not say whether there is more, although it did on page 1 or has an endCursor, " +
					"or hasNextPage is the text \"true\"",
				Message: "the response to page {page} does not say whether there is more: " +
					"it has no pageInfo.hasNextPage that is true or false, so the rest of the list is unknown"},
			{ID: "graphql.relay.end", When: `at(${connection}).pageInfo.hasNextPage != true`,
				Clause: "pageInfo.hasNextPage of ${connection} is not true",
				Message: `{at(${connection source}).pageInfo.hasNextPage == nil ? "the absence of pageInfo.hasNextPage" : "pageInfo"} ` +
					"says that page {page} is the last"},
			{ID: "graphql.relay.lost",
				When:    `at(${connection}).pageInfo.hasNextPage == true and empty(at(${connection}).pageInfo.endCursor)`,
				Outcome: Failed, Clause: "pageInfo of ${connection} says that there is more, and has no endCursor",
				Message: "pageInfo says that there is more after page {page}, but has no endCursor, so the next page cannot be requested"},
		},
	},
	{
		Name: single,
		Doc:  "The list is one response. The rules next to it, such as `onError` and `keep`, apply; without any, leave the pagination out.",
		Once: true,
	},
	{
		Name: "expression",
		Doc:  "Anything else: expressions give the next request, the state and the end.",
	},
	{
		Name: Multiple,
		Doc:  "Different endpoints page differently: each job uses one of several named scrollers.",
		Fields: []Field{
			{Name: "scrollers", Kind: KindMap, Each: &Field{Kind: KindNested, Required: true}, Required: true,
				Doc: "pagination objects by name"},
			{Name: "default", Kind: KindText, Doc: "the scroller of jobs that name none"},
		},
	},
}

// With an increment of 0, the key is sent unchanged, as text.
var (
	withIncrement    = Condition{Setting: "increment", Nonzero: true}
	withoutIncrement = Condition{Setting: "increment", Nonzero: true, Not: true}
)

// Multiple is the method that does not page by itself, but lets jobs choose among
// named scrollers.
const Multiple = "multiple"

// single is the method of a list that is one response.
const single = "single"

func pageNumberFields() []Field {
	return []Field{
		{Name: "limit", Kind: KindCount, Doc: limitDoc},
		{Name: "pageParam", Kind: KindText, Default: "page", Doc: "parameter that carries the number of the page"},
		{Name: "firstPage", Kind: KindInteger, Default: 1, Doc: "number of the first page"},
		{Name: "firstPageParams", Kind: KindFlag, Default: true, Doc: "send both parameters with the first request, too"},
	}
}

var pageNumberState = []StateVariable{
	{Name: "page", Init: `${firstPage}`, Next: `state.page + 1`},
}

var pageNumberNext = Overlay{
	Params: []Part{
		{Name: "${pageParam}", Value: `state.page`, Hint: `to begin there, set "firstPage" in the pagination`},
		{Name: "${limitParam}", Value: `limit`},
	},
	ApplyToFirst: If(IsSet("firstPageParams")),
}

func responseURLFields(delimiter string) []Field {
	return []Field{
		{Name: "urlKey", Kind: KindPath, Default: "next_page", Delimiter: delimiter, Doc: "path of the link in the response"},
		{Name: "includeParams", Kind: KindFlag, Default: false, Doc: "send the job's parameters along with the link"},
		{Name: "paramIsQuery", Kind: KindFlag, Default: false,
			Doc: "the value is not a URL but a query string, which is merged into the parameters"},
	}
}

var responseURLNext = Overlay{
	URL: Part{Value: `at(${urlKey})`, Only: Conditions{IsUnset("paramIsQuery")}, ValueInWords: "the link at ${urlKey}"},
	Params: []Part{
		{Value: `query(at(${urlKey}))`,
			Only: Conditions{IsSet("paramIsQuery")}, ValueInWords: "the query string at ${urlKey}"},
	},
	OmitParams: If(IsUnset("includeParams")),
}
