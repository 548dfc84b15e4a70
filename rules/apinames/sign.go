package apinames

import "github.com/stopwhen/stopwhen/rules/value"

// A PagingSign is one way in which an API shows how its lists are paged, and the
// pagination that follows from it. The table is data: recognizing another API is
// another row.
//
// Texts of Pagination hold placeholders, which are replaced by what was found. A member
// with a placeholder for which nothing was found is left out.
//
//	${at}          path of the sign in the response: paging.next.after
//	${body}        the same as an expression: body.paging.next.after
//	${param}       the parameter that carries the value, or its path in a JSON body
//	${name}        the name of a header or of a variable
//	${first}       the value of the parameter in the first request
//	${limit}       the page size
//	${limitParam}  the parameter that carries it
//	${idKey}       path of the key in an item
//	${pagesAt}, ${pagesHeader}  where the response has the number of pages
//	${sendFirst}, ${fromJob}, ${shortEnds}  the settings of these names
//	${counted}     set if the number of items of a page is not the one that was asked for
//	${shortPages}  set if a short page may not be the last
//	${rest}        an expression for the body that a link has
//	${before}, ${after}  what stands before and after a number within an address
type PagingSign struct {
	ID   string
	Kind PagingKind

	Names  []string // keys, headers or parameters; of HintNext keys, see [HintPaths], if empty
	Params []string // names of the parameter that carries the value, the likeliest first; "" is the name of the sign
	POST   bool     // for requests with a JSON body; otherwise for those without

	Pagination value.Object
	Needs      string       // placeholder without which the row does not apply
	Ends       value.Object // what is added to Pagination if the sign stays after the last item, so that it does not end the list

	Says string // what was found, as a sentence with placeholders
	Weak bool   // it is a guess from names that many APIs use: nothing in the response names the parameter
}

// PagingKind says where a sign is looked for.
type PagingKind string

// The kinds of signs.
const (
	PagingConnection PagingKind = "connection" // pageInfo of a GraphQL connection
	PagingLink       PagingKind = "link"       // the Link header, rel=next
	PagingLinkFlag   PagingKind = "link flag"  // its parameter of one of the names, which is true
	PagingURL        PagingKind = "url"        // a text in the response that is an address
	PagingRelation   PagingKind = "relation"   // an object in a list of links, whose relation is next
	PagingToken      PagingKind = "token"      // a text or a number in the response
	PagingTokens     PagingKind = "tokens"     // several of them, under Names, for Params of the same positions
	PagingObject     PagingKind = "object"     // an object in the response
	PagingHeader     PagingKind = "header"     // a header with a value
	PagingNumber     PagingKind = "number"     // the number of a page: a parameter, or a member of the response
	PagingIndex      PagingKind = "index"      // the index of an item, likewise
	PagingKey        PagingKind = "key"        // the identifier of the last item
	PagingSortKey    PagingKind = "sort key"   // a list of values in every item, under one of Names
	PagingPath       PagingKind = "path"       // a number in the path of the address, after one of Names
)

// ShortPagesSign is the row of an index whose list does not end with a short page: the API
// leaves out items after it has chosen those of a page.
const ShortPagesSign = "item-index-short-pages"

// PagingSigns returns the table of signs, those that an API states first. Of several
// that apply, the first one that a second page proves is used.
func PagingSigns() []PagingSign { return pagingSigns }

var pagingSigns = []PagingSign{
	{
		ID: "graphql", Kind: PagingConnection, POST: true,
		Pagination: method("graphql.relay", "connection", "${at}", "variable", "${param}"),
		Says:       "${at}.pageInfo has hasNextPage and endCursor, and the query has the variable ${param}",
	},
	{
		ID: "graphql-edges", Kind: PagingConnection, POST: true, Names: []string{"edges"},
		Pagination: expression("${body}.pageInfo.hasNextPage != true", object("body", object("variables.${param}", "items[-1].cursor"))),
		Says:       "${at}.pageInfo has hasNextPage, every edge has a cursor, and the query has the variable ${param}",
	},
	{
		ID: "link-header-flag", Kind: PagingLinkFlag, Names: []string{"results"},
		Pagination: method("header.link", "moreParam", "${name}"),
		Says:       "the Link header has rel=next, whose parameter ${name} is true",
	},
	{
		ID: "link-header", Kind: PagingLink,
		Pagination: method("header.link"),
		Says:       "the Link header has rel=next",
	},
	{
		ID: "next-relation-body", Kind: PagingRelation, POST: true,
		Pagination: method("expression", "nextRequest", object("url", "${body}", "includeParams", true, "body", "${rest}")),
		Says:       "${at} has a link to the next page, with a body to send",
	},
	{
		ID: "next-relation", Kind: PagingRelation,
		Pagination: method("expression", "nextRequest", object("url", "${body}")),
		Says:       "${at} has a link to the next page",
	},
	{
		ID: "next-url", Kind: PagingURL, Names: nextURLNames,
		Pagination: method("response.url", "urlKey", "${at}"),
		Says:       "${at} is the address of the next page",
	},
	{
		ID: "next-query", Kind: PagingURL, Names: nextURLNames,
		Pagination: method("response.url", "urlKey", "${at}", "paramIsQuery", true, "includeParams", true),
		Says:       "${at} has the parameters of the next page",
	},
	{
		ID: "objects", Kind: PagingObject, Names: []string{"continue"},
		Pagination: method("response.params", "responseObject", "${at}"),
		Says:       "${at} is an object, whose members are the parameters of the next page",
	},
	{
		ID: "object-in-body", Kind: PagingObject, POST: true, Names: []string{"LastEvaluatedKey", "lastEvaluatedKey"},
		Params:     []string{"ExclusiveStartKey", "exclusiveStartKey"},
		Pagination: inBody, Says: "${at} is an object, which the API expects as ${param}",
	},
	several("route53", []string{"NextRecordName", "NextRecordType", "NextRecordIdentifier"}, []string{"name", "type", "identifier"}),
	several("s3-versions", []string{"NextKeyMarker", "NextVersionIdMarker"}, []string{"key-marker", "version-id-marker"}),

	// Tokens. A row is for the names of the key; the parameters are those of well-known APIs.
	token([]string{"nextPageToken", "NextPageToken"}, "pageToken", "nextPageToken", "page_token"),
	token([]string{"next_page_token"}, "page_token", "pageToken", "next_page_token"),
	token([]string{"nextCursorMark"}, "cursorMark"),
	token([]string{"next_cursor", "nextCursor", "next-cursor", "NextCursor"},
		"cursor", "start_cursor", "after", "next_cursor"),
	token([]string{"end_cursor", "endCursor"}, "after", "cursor", "start_cursor"),
	token([]string{"after_cursor", "afterCursor"}, "page[after]", "cursor", "after"),
	token([]string{"starting_after"}, "starting_after"),
	token([]string{"after"}, "after", "cursor", "page[after]"),
	token([]string{"NextContinuationToken", "ContinuationToken", "continuationToken", "continuation_token", "nextContinuationToken"},
		"continuation-token", "continuationToken", "continuation_token"),
	token([]string{"NextToken"}, "NextToken", "nextToken"),
	token([]string{"nextToken", "nextForwardToken"}, "nextToken", "next_token"),
	token([]string{"next_token"}, "pagination_token", "next_token"),
	token([]string{"NextMarker", "nextMarker", "next_marker", "Marker", "marker"}, "marker", "Marker"),
	token([]string{"continue"}, "continue"),
	token([]string{"nextPage", "next_page", "next"}, "page", "cursor", ""),
	token([]string{"nextLink", "next_page_id", "nextPageId", "nextKey", "next_key", "next_id", "nextId"}, "", "cursor", "after"),
	token([]string{"cursor", "page_token", "pageToken", "scroll_param", "scroll_id", "scrollId"}, ""),
	token([]string{"last_id", "lastId"}, "after", "after_id", "starting_after"),
	token([]string{"last_seq"}, "since"),
	textToken([]string{"offset"}, "offset"),
	token([]string{"next_offset", "nextOffset", "next-offset"}, "offset", "start"),
	{
		ID: "version", Kind: PagingToken, Names: []string{"version.max"}, Params: []string{"after"},
		Pagination: method("response.param", "responseParam", "${at}", "queryParam", "${param}", "includeParams", true),
		Ends:       endsEmpty, Says: "${at} is the greatest version of the page", Weak: true,
	},
	{
		ID: "token-header", Kind: PagingHeader, Names: []string{"X-Next-Token", "X-Next-Cursor", "X-Next-Page", "X-Continuation-Token",
			"X-MS-Continuation", "X-Ms-Continuationtoken", "X-Cursor", "Next-Cursor", "X-Next-Page-Token"},
		Params:     []string{"", "cursor", "token", "page", "continuationToken"},
		Pagination: method("header.param", "responseHeader", "${name}", "queryParam", "${param}"),
		Says:       "the header ${name} has a value for the next page", Weak: true,
	},

	// Elasticsearch.
	{
		ID: "scroll", Kind: PagingToken, POST: true, Names: []string{"_scroll_id"}, Params: []string{"scroll_id"},
		Pagination: expression("count == 0", object("endpoint", `"/_search/scroll"`, "method", `"POST"`, "includeParams", false,
			"body", object("scroll", `query(sent.url, "scroll") ?? "1m"`, "scroll_id", "${body}"))),
		Says: "${at} is the id of a scroll, which has an address of its own",
	},
	searchAfter("search-after-pit", "limit", value.Member{Name: "pit.id", Value: "body.pit_id"}),
	searchAfter("search-after", "limit"),
	searchAfter("search-after-unlimited", ""),

	// Counted by the client.
	{
		ID: "page-in-path", Kind: PagingPath, Names: []string{"page", "p", "pages"},
		Pagination: expression("count == 0", object("endpoint", `"${before}" + string(page + ${first}) + "${after}"`)),
		Says:       "the address has the number of a page in its path",
	},
	{
		ID: "page-count", Kind: PagingNumber, Names: pageNumberNames, Params: []string{"page"}, Needs: "pagesAt",
		Pagination: pageCountPagination("pagesField", "${pagesAt}"),
		Says:       "${param} is the number of a page, and ${pagesAt} says how many there are",
	},
	{
		ID: "page-count-header", Kind: PagingNumber, Names: pageNumberNames, Params: []string{"page"}, Needs: "pagesHeader",
		Pagination: pageCountPagination("pagesHeader", "${pagesHeader}"),
		Says:       "${param} is the number of a page, and the header ${pagesHeader} says how many there are",
	},
	{
		ID: "page-number", Kind: PagingNumber, Names: pageNumberNames, Params: []string{"page"},
		Pagination: method("pagenum", "pageParam", "${param}", "firstPage", "${first}",
			"limit", "${limit}", "limitParam", "${limitParam}", "firstPageParams", "${sendFirst}"),
		Says: "${param} is the number of a page",
	},
	{
		ID: "item-index-counted", Kind: PagingIndex, Names: itemIndexNames, Params: []string{"offset"}, Needs: "counted",
		Pagination: expression("count == 0", object("params", object("${param}", "${first} + total.items"))),
		Says:       "${param} is the index of the first item of a page",
	},
	{
		ID: "item-index", Kind: PagingIndex, Names: itemIndexNames, Params: []string{"offset"}, Needs: "limit",
		Pagination: method("offset", "limit", "${limit}", "limitParam", "${limitParam}", "offsetParam", "${param}",
			"offsetFromJob", "${fromJob}", "firstPageParams", "${sendFirst}"),
		Says: "${param} is the index of the first item of a page",
	},
	{
		ID: ShortPagesSign, Kind: PagingIndex, Names: itemIndexNames, Params: []string{"offset"}, Needs: "shortPages",
		Pagination: expression("count == 0", object("params", object("${param}", "${first} + page * ${limit}"))),
		Says:       "${param} is the index of the first item of a page",
	},
	{
		ID: "page-number-in-body", Kind: PagingNumber, POST: true, Names: pageNumberNames,
		Pagination: expression("count == 0", object("body", object("${param}", "page + ${first}"))),
		Says:       "${param} in the body is the number of a page",
	},
	{
		ID: "item-index-in-body", Kind: PagingIndex, POST: true, Names: itemIndexNames,
		Pagination: method("expression", "limit", "${limit}",
			"nextRequest", object("body", object("${param}", "${first} + total.items")), "stopRules", []any{"count == 0"}),
		Says: "${param} in the body is the index of the first item of a page",
	},
	{
		ID: "last-key", Kind: PagingKey, Params: []string{"starting_after", "after", "since_id"},
		Pagination: keysetPagination, Weak: true,
		Says: "there is more, but no link and no token: the next page may begin after the ${idKey} of the last item",
	},
	{
		ID: "last-key-descending", Kind: PagingKey, Params: []string{"before", "max_id"},
		Pagination: keysetPagination, Says: "the identifiers descend: the next page may begin before the ${idKey} of the last item",
		Weak: true,
	},
}

// object returns an object of names, each followed by its value.
func object(pairs ...any) value.Object { return value.ObjectOf(pairs...) }

// method returns a pagination object of a method.
func method(name string, settings ...any) value.Object {
	return append(object("method", name), object(settings...)...)
}

// expression returns a pagination object with expressions for the next request, and for the
// end of the list.
func expression(end string, request value.Object) value.Object {
	return method("expression", "nextRequest", request, "stopRules", []any{end})
}

var keysetPagination = method("keyset", "idKey", "${idKey}", "param", "${param}", "limit", "${limit}", "shortPageEnds", "${shortEnds}")

// searchAfter continues after the sort key of the last item. With a page size, which
// Elasticsearch honours, a short page is the last.
func searchAfter(id, needs string, more ...value.Member) PagingSign {
	pagination, end := method("expression"), "count == 0"
	if needs != "" {
		pagination, end = append(pagination, value.Member{Name: "limit", Value: "${limit}"}), "count < limit"
	}
	sign := PagingSign{
		ID: id, Kind: PagingSortKey, POST: true, Names: []string{"sort"}, Needs: needs,
		Pagination: append(pagination,
			value.Member{Name: "nextRequest", Value: object("body", append(value.Object{{Name: "search_after", Value: "items[-1].sort"}}, more...))},
			value.Member{Name: "stopRules", Value: []any{end}}),
		Says: "every item has its sort key: the next page is the one after the key of the last item",
	}
	if more != nil {
		sign.Params = []string{"pit_id"}
		sign.Says = "every item has its sort key, and there is a point in time: the next page is the one after the key of the last item"
	}
	return sign
}

// pageCountPagination counts pages up to a number that responses have.
func pageCountPagination(key, place string) value.Object {
	return method("pagecount", key, place, "pageParam", "${param}", "firstPage", "${first}",
		"limit", "${limit}", "limitParam", "${limitParam}", "firstPageParams", "${sendFirst}")
}

// inBody sends a value of the response in the JSON body of the next request.
var inBody = expression("empty(${body})", object("body", object("${param}", "${body}")))

// endsEmpty ends a list whose token stays by an empty page.
var endsEmpty = object("stopRules", []any{"count == 0"})

// token is the row of a token in the response. Requests with a JSON body carry it there.
func token(names []string, params ...string) PagingSign {
	return PagingSign{
		ID: "token", Kind: PagingToken, Names: names, Params: params,
		Pagination: method("response.param", "responseParam", "${at}", "queryParam", "${param}", "includeParams", true),
		Ends:       endsEmpty, Says: "${at} has a value for the next page", Weak: true,
	}
}

// textToken is the row of a token under a name that is often that of a number.
func textToken(names []string, params ...string) PagingSign {
	sign := token(names, params...)
	sign.ID = "text-token"
	return sign
}

func several(id string, names, params []string) PagingSign {
	values := value.Object{}
	for i, name := range names {
		values = append(values, value.Member{Name: params[i], Value: "${at}." + name})
	}
	return PagingSign{
		ID: id, Kind: PagingTokens, Names: names, Params: params,
		Pagination: method("response.params", "responseParams", values),
		Says:       "${at} has several values for the next page",
	}
}

// InBody returns the pagination of a token sign for requests with a JSON body.
func (s PagingSign) InBody() value.Object { return inBody }

// Scroll returns the pagination of a token sign for an API that refuses other parameters
// next to the token. ${endpoint} and ${params} are those of the requests after the first.
func (s PagingSign) Scroll() value.Object {
	return method("response.param", "responseParam", "${at}", "queryParam", "${param}",
		"scrollRequest", object("endpoint", "${endpoint}", "params", "${params}"))
}
