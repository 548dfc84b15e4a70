package detect

import (
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A hypothesis is one way in which an API shows how its lists are paged, and the
// pagination that follows from it. To recognize another API, add a row to the table.
//
// Texts of pagination hold placeholders, which are replaced by the values found. A member
// with a placeholder that has no value is left out.
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
//	${sendFirst}, ${fromJob}, ${shortEnds}  the values of firstPageParams, offsetFromJob and shortPageEnds
//	${counted}     set if a page has another number of items than the request asks for
//	${rest}        an expression for the body that a link has
//	${from}, ${to}, ${size}, ${unit}  the parts of a range in a parameter, its length, and a text before it
//	${honoured}    set if a page has as many items as the range
//	${before}, ${after}  the parts of an address before and after a number in it
type hypothesis struct {
	id     string
	kind   *kind
	names  []string // keys, headers or parameters
	params []string // names of the parameter that carries the value, the likeliest first; "" is the name of the sign
	post   bool     // the row is for requests with a JSON body

	pagination value.Object
	needs      string       // placeholder without which the row does not apply
	ends       value.Object // added to pagination if the sign stays after the last item, so that it does not end the list

	says string // a sentence with placeholders that describes the sign
	weak bool   // it is a guess from names that many APIs use: nothing in the response names the parameter

	textOnly   bool // a number is not the value
	descending bool // the identifiers of the items descend
	pagesKnown bool // the response has the number of pages, which ends the list
}

// statesEnd reports whether the pagination itself states which page is the last.
func (h hypothesis) statesEnd() bool { return h.kind.ends || h.pagesKnown }

// A kind says where a sign is looked for.
type kind struct {
	find      func(*detection, hypothesis) []candidate
	ends      bool // without the sign, a list has ended
	isAddress bool // the sign is an address
	pages     bool // a counter counts pages, not items
}

// The kinds of signs.
var (
	connectionSign = &kind{find: (*detection).connection, ends: true}                  // pageInfo of a GraphQL connection
	linkSign       = &kind{find: (*detection).linkHeader, ends: true, isAddress: true} // the Link header, rel=next
	linkFlagSign   = &kind{find: (*detection).linkHeader, ends: true}                  // a parameter of the header, which is true
	urlSign        = &kind{find: (*detection).address, ends: true, isAddress: true}    // a text in the response that is an address
	relationSign   = &kind{find: (*detection).relation, ends: true, isAddress: true}   // an object in a list of links, whose relation is next
	tokenSign      = &kind{find: (*detection).token}                                   // a text or a number in the response
	tokensSign     = &kind{find: (*detection).tokens, ends: true}                      // several values, for the parameters at their positions
	objectSign     = &kind{find: (*detection).object, ends: true}                      // an object in the response
	headerSign     = &kind{find: (*detection).headerToken}                             // a header with a value
	numberSign     = &kind{find: (*detection).counter, pages: true}                    // the number of a page, in the request or the response
	indexSign      = &kind{find: (*detection).counter}                                 // the index of an item, in the request or the response
	keySign        = &kind{find: (*detection).key}                                     // the identifier of the last item
	sortKeySign    = &kind{find: (*detection).sortKey}                                 // a list of values in every item
	rangeSign      = &kind{find: (*detection).rangeParam}                              // the first and the last item, in the request
	boundsSign     = &kind{find: (*detection).bounds}                                  // where a page begins and ends, in two parameters
	pathSign       = &kind{find: (*detection).pathNumber}                              // a number in the path, after one of the names
)

// shortPages is the hypothesis of an index whose list does not end with a short page: the API
// chooses the items of a page first and leaves out some of them afterwards.
var shortPages = hypothesis{
	id: "item-index-short-pages", kind: indexSign, names: apinames.ItemIndexNames(), params: []string{"offset"},
	pagination: append(expression("count == 0", object("params", object("${param}", "${first} + page * limit"))),
		value.Member{Name: "limit", Value: "${limit}"}, value.Member{Name: "limitParam", Value: "${limitParam}"}),
	says: "${param} is the index of the first item of a page",
}

// hypotheses is the table of signs, explicit ones first. The first hypothesis that a second page
// proves wins.
var hypotheses = []hypothesis{
	{
		id: "graphql", kind: connectionSign, post: true,
		pagination: method("graphql.relay", "connection", "${at}", "variable", "${param}"),
		says:       "${at}.pageInfo has hasNextPage and endCursor, and the query has the variable ${param}",
	},
	{
		id: "graphql-edges", kind: connectionSign, post: true, names: []string{"edges"},
		pagination: expression("${body}.pageInfo.hasNextPage != true", object("body", object("variables.${param}", "items[-1].cursor"))),
		says:       "${at}.pageInfo has hasNextPage, every edge has a cursor, and the query has the variable ${param}",
	},
	{
		id: "link-header-flag", kind: linkFlagSign, names: []string{"results"},
		pagination: method("header.link", "moreParam", "${name}"),
		says:       "the Link header has rel=next, whose parameter ${name} is true",
	},
	{
		id: "link-header", kind: linkSign,
		pagination: method("header.link"),
		says:       "the Link header has rel=next",
	},
	{
		id: "next-relation-body", kind: relationSign, post: true,
		pagination: method("expression", "nextRequest", object("url", "${body}", "includeParams", true, "body", "${rest}")),
		says:       "${at} has a link to the next page, with a body to send",
	},
	{
		id: "next-relation", kind: relationSign,
		pagination: method("expression", "nextRequest", object("url", "${body}")),
		says:       "${at} has a link to the next page",
	},
	{
		id: "next-url", kind: urlSign, names: apinames.NextURLNames(),
		pagination: method("response.url", "urlKey", "${at}"),
		says:       "${at} is the address of the next page",
	},
	{
		id: "next-query", kind: urlSign, names: apinames.NextURLNames(),
		pagination: method("response.url", "urlKey", "${at}", "paramIsQuery", true, "includeParams", true),
		says:       "${at} has the parameters of the next page",
	},
	{
		id: "objects", kind: objectSign, names: []string{"continue"},
		pagination: method("response.params", "responseObject", "${at}"),
		says:       "${at} is an object, whose members are the parameters of the next page",
	},
	{
		id: "object-in-body", kind: objectSign, post: true, names: []string{"LastEvaluatedKey", "lastEvaluatedKey"},
		params:     []string{"ExclusiveStartKey", "exclusiveStartKey"},
		pagination: inBody, says: "${at} is an object, which the API expects as ${param}",
	},
	several("route53", []string{"NextRecordName", "NextRecordType", "NextRecordIdentifier"}, []string{"name", "type", "identifier"}),
	several("s3-versions", []string{"NextKeyMarker", "NextVersionIdMarker"}, []string{"key-marker", "version-id-marker"}),

	// Tokens. The names are keys of responses; the parameters are the names that well-known APIs use.
	// The first row is for all other names; see [apinames.Following].
	token(nil),
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
	token([]string{"cursor"}, "", "after"),
	token([]string{"page_token", "pageToken", "scroll_param", "scroll_id", "scrollId"}, ""),
	token([]string{"last_id"}, "after", "after_id", "starting_after", ""),
	token([]string{"lastId"}, "after", "", "after_id", "starting_after"),
	token([]string{"last_seq"}, "since"),
	token([]string{"LastEvaluatedKey", "lastEvaluatedKey"}, "ExclusiveStartKey", "exclusiveStartKey"),
	token([]string{"vid-offset"}, "vidOffset"),
	textToken([]string{"offset"}, "offset"),
	token([]string{"next_offset", "nextOffset", "next-offset"}, "offset", "start"),
	{
		id: "version", kind: tokenSign, names: []string{"version.max"}, params: []string{"after"},
		pagination: method("response.param", "responseParam", "${at}", "queryParam", "${param}", "includeParams", true),
		ends:       endsEmpty, says: "${at} is the greatest version of the page", weak: true,
	},
	{
		id: "token-header", kind: headerSign, names: []string{"X-Next-Token", "X-Next-Cursor", "X-Next-Page", "X-Cursor", "Next-Cursor",
			"X-Marker", "X-Next-Marker", "X-Bookmark"},
		params:     []string{"", "cursor", "token", "page"},
		pagination: tokenInHeader, says: "the header ${name} has a value for the next page", weak: true,
	},
	{
		id: "token-header", kind: headerSign, names: []string{"X-Next-Page-Token"}, params: []string{"page_token", "pageToken", "", "token"},
		pagination: tokenInHeader, says: "the header ${name} has a value for the next page", weak: true,
	},
	{
		id: "token-header", kind: headerSign, names: []string{"X-Continuation-Token", "X-MS-Continuation", "X-MS-ContinuationToken"},
		params:     []string{"continuationToken", "continuation", "continuation-token"},
		pagination: tokenInHeader, says: "the header ${name} has a value for the next page", weak: true,
	},

	// Elasticsearch.
	{
		id: "scroll", kind: tokenSign, post: true, names: []string{"_scroll_id"}, params: []string{"scroll_id"},
		pagination: expression("count == 0", object("endpoint", `"/_search/scroll"`, "method", `"POST"`, "includeParams", false,
			"body", object("scroll", `query(sent.url, "scroll") ?? "1m"`, "scroll_id", "${body}"))),
		says: "${at} is the id of a scroll, which has an address of its own",
	},
	searchAfter("search-after-pit", "limit", value.Member{Name: "pit.id", Value: "body.pit_id"}),
	searchAfter("search-after", "limit"),
	searchAfter("search-after-unlimited", ""),

	// The client counts the pages or the items.
	{
		id: "page-in-path", kind: pathSign, names: []string{"page", "p", "pages"},
		pagination: expression("count == 0", object("endpoint", `"${before}" + string(page + ${first}) + "${after}"`)),
		says:       "the address has the number of a page in its path",
	},
	itemRange("item-range", "honoured", "count < ${size}"),
	itemRange("item-range-counted", "", "count == 0"),
	{
		id: "item-bounds", kind: boundsSign,
		pagination: expression("count < ${size}", object("params", object(
			"${param}", "${from} + total.items", "${endParam}", "${to} + total.items"))),
		says: "${param} and ${endParam} are the indexes at which a page begins and ends",
	},
	{
		id: "page-count", kind: numberSign, names: apinames.PageNumberNames(), params: []string{"page"},
		needs: "pagesAt", pagesKnown: true,
		pagination: pageCountPagination("pagesField", "${pagesAt}"),
		says:       "${param} is the number of a page, and ${pagesAt} says how many there are",
	},
	{
		id: "page-count-header", kind: numberSign, names: apinames.PageNumberNames(), params: []string{"page"},
		needs: "pagesHeader", pagesKnown: true,
		pagination: pageCountPagination("pagesHeader", "${pagesHeader}"),
		says:       "${param} is the number of a page, and the header ${pagesHeader} says how many there are",
	},
	{
		id: "page-number", kind: numberSign, names: apinames.PageNumberNames(), params: []string{"page"},
		pagination: method("pagenum", "pageParam", "${param}", "firstPage", "${first}",
			"limit", "${limit}", "limitParam", "${limitParam}", "firstPageParams", "${sendFirst}"),
		says: "${param} is the number of a page",
	},
	{
		id: "item-index-counted", kind: indexSign, names: apinames.ItemIndexNames(), params: []string{"offset"}, needs: "counted",
		pagination: expression("count == 0", object("params", object("${param}", "${first} + total.items"))),
		says:       "${param} is the index of the first item of a page",
	},
	{
		id: "item-index", kind: indexSign, names: apinames.ItemIndexNames(), params: []string{"offset"}, needs: "limit",
		pagination: method("offset", "limit", "${limit}", "limitParam", "${limitParam}", "offsetParam", "${param}",
			"offsetFromJob", "${fromJob}", "firstPageParams", "${sendFirst}"),
		says: "${param} is the index of the first item of a page",
	},
	{
		id: "page-number-in-body", kind: numberSign, post: true, names: apinames.PageNumberNames(),
		pagination: expression("count == 0", object("body", object("${param}", "page + ${first}"))),
		says:       "${param} in the body is the number of a page",
	},
	{
		id: "item-index-in-body", kind: indexSign, post: true, names: apinames.ItemIndexNames(),
		pagination: method("expression", "limit", "${limit}",
			"nextRequest", object("body", object("${param}", "${first} + total.items")), "stopRules", []any{"count == 0"}),
		says: "${param} in the body is the index of the first item of a page",
	},
	{
		id: "last-key", kind: keySign, params: []string{"starting_after", "after", "since_id"},
		pagination: keysetPagination, weak: true,
		says: "no response has a link or a token: the next page may begin after the ${idKey} of the last item",
	},
	{
		id: "last-key-descending", kind: keySign, params: []string{"before", "max_id"}, descending: true,
		pagination: keysetPagination, says: "the identifiers descend: the next page may begin before the ${idKey} of the last item",
		weak: true,
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
func searchAfter(id, needs string, more ...value.Member) hypothesis {
	pagination, end := method("expression"), "count == 0"
	if needs != "" {
		pagination, end = append(pagination, value.Member{Name: "limit", Value: "${limit}"}), "count < limit"
	}
	sign := hypothesis{
		id: id, kind: sortKeySign, post: true, names: []string{"sort"}, needs: needs,
		pagination: append(pagination,
			value.Member{Name: "nextRequest", Value: object("body", append(value.Object{{Name: "search_after", Value: "items[-1].sort"}}, more...))},
			value.Member{Name: "stopRules", Value: []any{end}}),
		says: "every item has its sort key: the next page is the one after the key of the last item",
	}
	if more != nil {
		sign.params = []string{"pit_id"}
		sign.says = "every item has its sort key, and there is a point in time: the next page is the one after the key of the last item"
	}
	return sign
}

// itemRange continues with the indexes of the items after those that were read.
func itemRange(id, needs, end string) hypothesis {
	return hypothesis{
		id: id, kind: rangeSign, names: []string{"range"}, needs: needs,
		pagination: expression(end, object("params", object("${param}",
			`"${unit}" + string(${from} + total.items) + "-" + string(${to} + total.items)`))),
		says: "${param} is the range of the items of a page",
	}
}

// pageCountPagination counts pages up to a number that responses have.
func pageCountPagination(key, place string) value.Object {
	return method("pagecount", key, place, "pageParam", "${param}", "firstPage", "${first}",
		"limit", "${limit}", "limitParam", "${limitParam}", "firstPageParams", "${sendFirst}")
}

// inBody sends a value of the response in the JSON body of the next request.
var inBody = expression("empty(${body})", object("body", object("${param}", "${body}")))

// tokenInHeader sends the value of a header as a parameter.
var tokenInHeader = method("header.param", "responseHeader", "${name}", "queryParam", "${param}")

// endsEmpty ends a list at an empty page, if its token stays after the last item.
var endsEmpty = object("stopRules", []any{"count == 0"})

// token is the row of a token in the response. Requests with a JSON body carry it there.
func token(names []string, params ...string) hypothesis {
	return hypothesis{
		id: "token", kind: tokenSign, names: names, params: params,
		pagination: method("response.param", "responseParam", "${at}", "queryParam", "${param}", "includeParams", true),
		ends:       endsEmpty, says: "${at} has a value for the next page", weak: true,
	}
}

// textToken is the row of a token under a name that often names a number.
func textToken(names []string, params ...string) hypothesis {
	sign := token(names, params...)
	sign.id, sign.textOnly = "text-token", true
	return sign
}

func several(id string, names, params []string) hypothesis {
	values := value.Object{}
	for i, name := range names {
		values = append(values, value.Member{Name: params[i], Value: "${at}." + name})
	}
	return hypothesis{
		id: id, kind: tokensSign, names: names, params: params,
		pagination: method("response.params", "responseParams", values),
		says:       "${at} has several values for the next page",
	}
}

// scroll continues with a token for an API that refuses other parameters next to it.
// ${endpoint} and ${params} apply to the requests after the first.
var scroll = method("response.param", "responseParam", "${at}", "queryParam", "${param}",
	"scrollRequest", object("endpoint", "${endpoint}", "params", "${params}"))
