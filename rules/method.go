package rules

// Method is one way of paging, written as data in the rule language: where the
// next request comes from, and what ends the list. The loop knows no method.
//
// A source sees the fields of [Context] and the functions of package compile, like
// the expressions that users write in nextRequest, state and stopRules. Lowering
// replaces ${name} by the configured value of a setting.
type Method struct {
	Name   string
	Doc    string // when to choose it
	Fields []Field
	State  []Variable
	Next   Overlay
	Stops  []Template
	OneOf  []string // settings of which exactly one must be configured

	KeboolaOnly bool // a method of the reference that the specification does not have
}

// Variable is one variable of a method's state.
type Variable struct {
	Name string
	Init string // its value before the first request
	Next string // its value after a page, computed from the old values
	Only string // condition: the settings that must be set, separated by commas; "!" negates

	KeboolaInit, KeboolaNext string // the reference's reading, where it differs
}

// Overlay is what a method changes in the job's request to make the next one.
type Overlay struct {
	URL      Part
	Endpoint Part
	Method   Part
	Params   []Part
	Body     []Part // by path in the JSON body

	IncludeParams string // condition: the job's params are sent with every request
	ApplyToFirst  string // condition: the parts apply to the first request, too; empty: they do not
}

// Part is one part of a request, computed by an expression. A value that is nil
// leaves the part out.
type Part struct {
	Name    string // of a parameter; empty: the value is an object, whose members are merged
	Each    string // one part for every member of this setting, with its name; ${each} is its value
	Value   string
	Keboola string // the reference's reading, where it differs
	Only    string // condition, as in [Variable]
}

// Template is a stopping rule of a method.
type Template struct {
	ID      string
	When    string  // expression, boolean
	Keboola string  // the reference's reading, where it differs; [Off]: not in dialect keboola
	Each    string  // true if it is for every member of this setting; ${each} is its value
	Only    string  // condition, as in [Variable]
	Outcome Outcome // empty: [Complete]
	Drop    bool    // the items of the page that matches are not emitted
	Clause  string  // completes "stops when …"
	Message string  // for the log, with {expressions}; a complete sentence if it begins with "Job"
}

// builtinMethods is the table of methods.
var builtinMethods = []Method{
	{
		Name: "offset",
		Doc:  "No hint in the response; the API expects the index of the first item of a page.",
		Fields: []Field{
			limitField(true),
			{Name: "offsetParam", Kind: Text, Keboola: phpText, Default: "offset", Doc: "parameter that carries the index of the first item"},
			{Name: "firstPageParams", Kind: Flag, Keboola: phpFlag, Default: true, Doc: "send both with the first request too"},
			{Name: "offsetFromJob", Kind: Flag, Keboola: phpFlag, Default: false, Doc: "start at the job's parameter named like offsetParam"},
		},
		State: []Variable{
			{Name: "offset", Init: `0`, Next: `state.offset + limit`, Only: "!offsetFromJob"},
			{Name: "offset", Init: `number(job.params[${offsetParam}]) ?? 0`, KeboolaInit: `phpInt(job.params[${offsetParam}])`, Next: `state.offset + limit`, Only: "offsetFromJob"},
		},
		Next: Overlay{
			Params: []Part{
				{Name: "${limitParam}", Value: `limit`},
				{Name: "${offsetParam}", Value: `state.offset`},
			},
			ApplyToFirst: "firstPageParams",
		},
		Stops: []Template{
			{ID: "offset.empty", When: `count == 0`, Keboola: Off,
				Clause: "a page is empty", Message: "page {page} is empty"},
			{ID: "offset.short", When: `count < limit`,
				Clause: "a page has fewer items than the limit of ${limit}", Message: "page {page} has {count} items, fewer than the limit of {limit}"},
		},
	},
	{
		Name:   "pagenum",
		Doc:    "No hint in the response; the API expects the number of a page, whatever its size.",
		Fields: pageNumberFields(),
		State:  pageNumberState,
		Next:   pageNumberNext,
		Stops: []Template{
			{ID: "pagenum.empty", When: `count == 0`, Keboola: `limit == nil and count == 0`,
				Clause: "a page is empty", Message: "page {page} is empty"},
			{ID: "pagenum.short", When: Off, Keboola: `limit != nil and count < limit`,
				Clause: "a page has fewer items than the limit of ${limit}", Message: "page {page} has {count} items, fewer than the limit of {limit}"},
		},
	},
	{
		Name: "cursor",
		Doc:  "No hint in the response; the API expects the identifier of an item.",
		Fields: []Field{
			{Name: "idKey", Kind: Path, Keboola: phpStrict, Required: true, Doc: "path of the identifier in an item"},
			{Name: "param", Kind: Text, Keboola: phpText, Required: true, Doc: "parameter that carries the identifier"},
			{Name: "increment", Kind: Integer, Keboola: phpWhole, Default: 0, Doc: "what is added to the identifier"},
			{Name: "reverse", Kind: Flag, Keboola: phpFlag, Default: false, Doc: "go on from the least identifier instead of the greatest"},
		},
		State: []Variable{
			{Name: "id", Init: `nil`, Next: `greatest(items, ${idKey}, state.id)`, KeboolaNext: `phpGreatest(items, ${idKey}, state.id)`, Only: "!reverse"},
			{Name: "id", Init: `nil`, Next: `least(items, ${idKey}, state.id)`, KeboolaNext: `phpLeast(items, ${idKey}, state.id)`, Only: "reverse"},
		},
		Next: Overlay{
			Params: []Part{
				{Name: "${param}", Value: `state.id`, Only: "!increment"},
				{Name: "${param}", Value: `number(state.id) + ${increment}`, Only: "increment"},
			},
		},
		Stops: []Template{
			{ID: "cursor.empty", When: `count == 0`,
				Clause: "a page is empty", Message: "page {page} is empty"},
		},
	},
	{
		Name:   "response.url",
		Doc:    "Responses contain a direct link to the next page, usually in a links section.",
		Fields: append(responseURLFields("delimiter"), Field{Name: "delimiter", Kind: Text, Keboola: phpStrict, Default: ".", Doc: "what separates the keys of urlKey"}),
		Next:   responseURLNext,
		Stops: []Template{
			{ID: "response.url.end", When: `empty(at(${urlKey}))`, Keboola: `phpEmpty(at(${urlKey}))`,
				Clause: "the response has no next link", Message: "the response to page {page} has no next link"},
		},
	},
	{
		Name:   "zendesk.response.url",
		Doc:    "Zendesk's incremental exports: like response.url, but the link never ends; the time in it does.",
		Fields: responseURLFields(""),
		Next:   responseURLNext,
		Stops: []Template{
			{ID: "zendesk.response.url.end", When: `phpEmpty(at(${urlKey}))`,
				Clause: "the response has no next link", Message: "the response to page {page} has no next link"},
			{ID: "zendesk.response.url.recent", When: `phpNumeric(query(at(${urlKey}), "start_time")) and phpInt(query(at(${urlKey}), "start_time")) > now().Unix() - 360`,
				Clause: "the next page begins less than six minutes ago", Message: "the next page begins less than six minutes ago"},
		},
		KeboolaOnly: true,
	},
	{
		Name: "response.param",
		Doc:  "Responses contain a value that is sent to get the next page: a token or a page number.",
		Fields: []Field{
			{Name: "responseParam", Kind: Path, Keboola: phpText, Required: true, Doc: "path of the scrolling value in the response"},
			{Name: "queryParam", Kind: Text, Keboola: phpText, Required: true, Doc: "parameter that carries the scrolling value; it overrides a job parameter of the same name"},
			{Name: "includeParams", Kind: Flag, Keboola: phpFlag, Default: false, Doc: "send the job's parameters with every request, not the first alone"},
			{Name: "scrollRequest", Kind: Block, Doc: "the request used for scrolling after the initial one", Fields: []Field{
				{Name: "endpoint", Kind: Text, Doc: "in place of the job's"},
				{Name: "method", Kind: Text, Default: "GET", KeboolaDefault: Off, Doc: "in place of the job's"},
				{Name: "params", Kind: Map, Doc: "in place of the job's"},
			}},
		},
		Next: Overlay{
			Endpoint: Part{Value: `${scrollRequest.endpoint}`, Only: "scrollRequest.endpoint"},
			Method:   Part{Value: `${scrollRequest.method}`, Only: "scrollRequest,scrollRequest.method"},
			Params: []Part{
				{Each: "scrollRequest.params", Value: `${each}`, Only: "scrollRequest.params"},
				{Name: "${queryParam}", Value: `text(at(${responseParam}))`, Keboola: `at(${responseParam})`},
			},
			IncludeParams: "includeParams",
		},
		Stops: []Template{
			{ID: "response.param.end", When: `empty(at(${responseParam}))`, Keboola: `phpEmpty(at(${responseParam}))`,
				Clause: "the response has no value at ${responseParam}", Message: "the response to page {page} has no value at ${responseParam}"},
		},
	},
	{
		Name: "response.params",
		Doc:  "Responses contain several values that are sent together to get the next page.",
		Fields: []Field{
			{Name: "responseParams", Kind: Paths, Doc: "parameter to path of its value in the response; an empty value is not sent"},
			{Name: "responseObject", Kind: Path, Doc: "path of an object in the response whose members are all sent as parameters"},
			{Name: "includeParams", Kind: Flag, Keboola: phpFlag, Default: true, Doc: "send the job's parameters with every request, not the first alone"},
		},
		OneOf: []string{"responseParams", "responseObject"},
		Next: Overlay{
			Params: []Part{
				{Each: "responseParams", Value: `empty(at(${each})) ? nil : text(at(${each}))`, Only: "responseParams"},
				{Value: `at(${responseObject})`, Only: "responseObject"},
			},
			IncludeParams: "includeParams",
		},
		Stops: []Template{
			{ID: "response.params.end", Each: "responseParams", When: `empty(at(${each}))`, Only: "responseParams",
				Clause: "the response has none of the values that are sent", Message: "the response to page {page} has none of the values that are sent"},
			{ID: "response.params.end", When: `empty(at(${responseObject}))`, Only: "responseObject",
				Clause: "the response has no ${responseObject}", Message: "the response to page {page} has no ${responseObject}"},
		},
	},
	{
		Name: "header.link",
		Doc:  "The Link header (RFC 8288) has a direct link to the next page.",
		Fields: []Field{
			{Name: "rel", Kind: Text, Default: "next", Doc: "the link's relation"},
			{Name: "moreParam", Kind: Text, Doc: "parameter of the link that is `true` while there is more, for APIs whose link never ends"},
			{Name: "includeParams", Kind: Flag, Keboola: phpFlag, Default: false, Doc: "send the job's parameters along with the link"},
		},
		Next: Overlay{
			URL:           Part{Value: `link(${rel})`},
			IncludeParams: "includeParams",
		},
		Stops: []Template{
			{ID: "header.link.end", When: `empty(link(${rel}))`,
				Clause: "the response has no Link with rel=${rel}", Message: "the response to page {page} has no Link with rel=${rel}"},
			{ID: "header.link.more", When: `link(${rel}, ${moreParam}) != "true"`, Only: "moreParam",
				Clause: "the link's parameter ${moreParam} is not true", Message: "the link of page {page} says that there is no more: ${moreParam} is not true"},
		},
	},
	{
		Name: "header.param",
		Doc:  "A header of the response contains a value that is sent to get the next page.",
		Fields: []Field{
			{Name: "responseHeader", Kind: Text, Required: true, Doc: "the header with the scrolling value"},
			{Name: "queryParam", Kind: Text, Required: true, Doc: "parameter that carries the scrolling value"},
			{Name: "includeParams", Kind: Flag, Keboola: phpFlag, Default: true, Doc: "send the job's parameters with every request, not the first alone"},
		},
		Next: Overlay{
			Params:        []Part{{Name: "${queryParam}", Value: `header(${responseHeader})`}},
			IncludeParams: "includeParams",
		},
		Stops: []Template{
			{ID: "header.param.end", When: `empty(header(${responseHeader}))`,
				Clause: "the response has no header ${responseHeader}", Message: "the response to page {page} has no header ${responseHeader}"},
		},
	},
	{
		Name: "pagecount",
		Doc:  "The API expects the number of a page, and its responses tell how many pages there are.",
		Fields: append([]Field{
			{Name: "pagesField", Kind: Path, Doc: "path in the response to the number of pages"},
			{Name: "pagesHeader", Kind: Text, Doc: "the header with the number of pages"},
		}, pageNumberFields()...),
		OneOf: []string{"pagesField", "pagesHeader"},
		State: pageNumberState,
		Next:  pageNumberNext,
		Stops: []Template{
			{ID: "pagecount.last", When: `page >= number(at(${pagesField}))`, Only: "pagesField",
				Clause: "as many pages are extracted as the response says there are, at ${pagesField}", Message: "page {page} is the last, says ${pagesField}"},
			{ID: "pagecount.last", When: `page >= number(header(${pagesHeader}))`, Only: "pagesHeader",
				Clause: "as many pages are extracted as the header ${pagesHeader} says there are", Message: "page {page} is the last, says the header ${pagesHeader}"},
			{ID: "pagecount.empty", When: `count == 0`,
				Clause: "a page is empty", Message: "page {page} is empty"},
		},
	},
	{
		Name: "keyset",
		Doc:  "The API expects the key of the last item, as it stands there: text, a UUID, a long number.",
		Fields: []Field{
			{Name: "idKey", Kind: Path, Required: true, Doc: "path of the key in an item"},
			{Name: "param", Kind: Text, Required: true, Doc: "parameter that carries the key"},
			{Name: "shortPageEnds", Kind: Flag, Default: false, Doc: "a page with fewer items than `limit` is the last; else an empty one is"},
		},
		State: []Variable{
			{Name: "key", Init: `nil`, Next: `text(at(items[-1], ${idKey}))`},
		},
		Next: Overlay{
			Params: []Part{{Name: "${param}", Value: `state.key`}},
		},
		Stops: []Template{
			{ID: "keyset.empty", When: `count == 0`,
				Clause: "a page is empty", Message: "page {page} is empty"},
			{ID: "keyset.short", When: `count < limit`, Only: "shortPageEnds",
				Clause: "a page has fewer items than the limit", Message: "page {page} has {count} items, fewer than the limit of {limit}"},
			{ID: "keyset.lost", When: `count > 0 and empty(at(items[-1], ${idKey}))`, Outcome: Failed,
				Clause: "the last item of a page has no ${idKey}", Message: "the last item of page {page} has no ${idKey}, so the page after it cannot be asked for"},
		},
	},
	{
		Name: "graphql.relay",
		Doc:  "A GraphQL connection (the Relay specification): pageInfo has the cursor of the next page, which a variable of the query carries.",
		Fields: []Field{
			{Name: "connection", Kind: Path, Required: true, Doc: "path of the connection in the response: data.repository.issues"},
			{Name: "variable", Kind: Text, Default: "after", Doc: "variable of the query that carries the cursor"},
		},
		Next: Overlay{
			Body: []Part{{Name: "variables.${variable}", Value: `at(${connection}).pageInfo.endCursor`}},
		},
		Stops: []Template{
			{ID: "graphql.relay.errors", When: `truthy(at("errors"))`, Outcome: Failed,
				Clause: "the response has errors, which GraphQL sends with status 200", Message: "the API answered with an error: {body.errors[0].message}"},
			{ID: "graphql.relay.end", When: `at(${connection}).pageInfo.hasNextPage != true`,
				Clause: "pageInfo.hasNextPage is not true", Message: "pageInfo says that page {page} is the last"},
			{ID: "graphql.relay.cursor", When: `empty(at(${connection}).pageInfo.endCursor)`,
				Clause: "pageInfo has no endCursor", Message: "pageInfo of page {page} has no endCursor"},
		},
	},
	{
		Name: "expression",
		Doc:  "Anything else: the next request, the state and the end are written as expressions.",
	},
	{
		Name: Multiple,
		Doc:  "Different endpoints page differently: named scrollers, of which each job picks one.",
		Fields: []Field{
			{Name: "scrollers", Kind: Map, Each: &Field{Kind: Nested}, Required: true, Doc: "pagination objects by name"},
			{Name: "default", Kind: Text, Keboola: phpText, Doc: "the scroller of jobs that name none"},
		},
	},
}

// Multiple is the method that does not page by itself, but lets jobs choose among
// named scrollers.
const Multiple = "multiple"

func limitField(required bool) Field {
	f := Field{Name: "limit", Kind: Count, Keboola: phpInt, Required: required,
		Doc: "page size; a job parameter named like limitParam overrides it"}
	if required {
		f.Keboola = phpNumber
	}
	return f
}

func pageNumberFields() []Field {
	return []Field{
		limitField(false),
		{Name: "pageParam", Kind: Text, Keboola: phpText, Default: "page", Doc: "parameter that carries the page's number"},
		{Name: "firstPage", Kind: Integer, Keboola: phpInt, Default: 1, Doc: "number of the first page"},
		{Name: "firstPageParams", Kind: Flag, Keboola: phpFlag, Default: true, Doc: "send both with the first request too"},
	}
}

var pageNumberState = []Variable{
	{Name: "page", Init: `${firstPage}`, Next: `state.page + 1`},
}

var pageNumberNext = Overlay{
	Params: []Part{
		{Name: "${pageParam}", Value: `state.page`},
		{Name: "${limitParam}", Value: `limit`},
	},
	ApplyToFirst: "firstPageParams",
}

func responseURLFields(delimiter string) []Field {
	return []Field{
		{Name: "urlKey", Kind: Path, Keboola: phpText, Default: "next_page", Delimiter: delimiter, Doc: "path of the link in the response"},
		{Name: "includeParams", Kind: Flag, Keboola: phpFlag, Default: false, Doc: "send the job's parameters along with the link"},
		{Name: "paramIsQuery", Kind: Flag, Keboola: phpFlag, Default: false, Doc: "the value is a query string, merged over the parameters, instead of a URL"},
	}
}

var responseURLNext = Overlay{
	URL: Part{Value: `at(${urlKey})`, Only: "!paramIsQuery"},
	Params: []Part{
		{Value: `query(at(${urlKey}))`, Keboola: `phpQuery(at(${urlKey}))`, Only: "paramIsQuery"},
	},
	IncludeParams: "includeParams",
}
