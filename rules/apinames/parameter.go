package apinames

import (
	"slices"
	"strconv"
)

// The names of parameters are bare: pageSize, page_size and page[size] are pagesize; see [Alike].
var (
	pageNumberNames = []string{"page", "pagenumber", "pageno", "pagenum", "pageindex", "currentpage", "p", "pg", "paginationpage"}
	itemIndexNames  = []string{
		"offset", "skip", "start", "startat", "startindex", "from", "pageoffset", "sysparmoffset", "first", "firstresult", "startrow",
		"firstrow", "startrecord", "firstrecord", "startposition", "begin", "displaystart", "paginationstart",
	}
	nextURLNames = []string{ // besides those of signs
		"more_topics_url", "moreUrl", "more_url", "nextPageLink", "next_href", "nextHref", "after_url", "__next",
	}
	pageSizeNames = []string{
		"limit", "perpage", "pagesize", "size", "maxresults", "count", "rows", "top", "take", "first", "num", "n", "pagelimit",
		"hitsperpage", "itemsperpage", "resultsperpage", "max", "limitperpage", "sysparmlimit", "maxkeys", "maxitems", "aplimit", "records",
		"batchsize", "batch", "maxrows", "maxrecords", "pagelen", "length", "displaylength", "paginationpagesize", "paginationlimit",
	}
	itemKeyNames  = []string{"startingafter", "after", "sinceid", "lastid", "afterid", "fromid", "minid", "marker"}
	positionNames = []string{
		"cursor", "token", "position", "since", "marker", "bookmark", "checkpoint", "continuation", "continuationtoken", "pagetoken",
		"cursormark", "scrollid",
	}
	previousNames = []string{
		"previous", "prev", "previouspage", "prevpage", "prevpageurl", "previouspageurl", "previouslink", "prevpagetoken",
		"previouspagetoken", "previouscursor", "prevcursor", "previouspageuri", "odatapreviouslink",
	}
)

// partners are the parameters that APIs have next to that of a page size, by its name as APIs spell it.
var partners = map[string]struct{ page, index string }{
	"$top": {index: "$skip"}, "$limit": {index: "$offset"}, "take": {index: "skip"}, "rows": {index: "start"},
	"length": {index: "start"}, "maxResults": {index: "startAt"}, "num": {index: "start"}, "maxRows": {index: "startRow"},
	"_limit": {page: "_page", index: "_start"}, "page[size]": {page: "page[number]"}, "page[limit]": {index: "page[offset]"},
	"pagination[pageSize]": {page: "pagination[page]"}, "pagination[limit]": {index: "pagination[start]"},
	"size": {page: "page", index: "from"}, "sysparm_limit": {index: "sysparm_offset"},
}

// pagingHeader is a header with JSON that APIs of ASP.NET have. These have the parameters pageNumber and pageSize.
const pagingHeader = "X-Pagination"

// PageNumberWith returns the name of the page number parameter of an API, guessed from the headers of its
// responses, or "". has reports whether a response has a header.
func PageNumberWith(has func(header string) bool) string {
	if has(pagingHeader) {
		return "pageNumber"
	}
	return ""
}

// PageNumberBeside returns the parameter with the number of a page that APIs have next to a page size of
// the given name; empty: unknown.
func PageNumberBeside(size string) string { return partners[size].page }

// ItemIndexBeside is [PageNumberBeside] for the index of an item. flag is the name of the flag that says that there
// is more, if there is any: APIs whose flag is more have offset next to limit.
func ItemIndexBeside(size, flag string) string {
	if Alike(size, "limit") && Alike(flag, "more") {
		return "offset"
	}
	return partners[size].index
}

// PageSizeNames returns the bare names of parameters that carry the number of items of a page.
func PageSizeNames() []string { return pageSizeNames }

// PreviousNames returns the bare names of keys for a link to or a token of the page before.
func PreviousNames() []string { return previousNames }

// PageNumberNames returns the bare names of parameters that carry the number of a page.
func PageNumberNames() []string { return pageNumberNames }

// ItemIndexNames returns the bare names of parameters that carry the index of an item.
func ItemIndexNames() []string { return itemIndexNames }

// MayBePageNumber reports whether the words of a name are those of a parameter with the number of a page: resultPage.
func MayBePageNumber(name string) bool {
	return contains(name, "page") && !contains(name, "size", "limit", "count", "per", "len", "max", "token", "total", "items", "offset",
		"id", "type", "name", "url", "key")
}

// MayBeItemIndex reports whether the words of a name are those of a parameter with the index of an item: row_offset.
func MayBeItemIndex(name string) bool { return contains(name, "offset", "skip") }

// IsPageNumber reports whether a parameter of a name carries the number of a page: the name is one of [PageNumberNames],
// or [MayBePageNumber] reports true.
func IsPageNumber(name string) bool {
	return AlikeAny(name, PageNumberNames()) || MayBePageNumber(name)
}

// IsItemIndex reports whether a parameter of a name carries the index of an item: the name is one of [ItemIndexNames], or
// [MayBeItemIndex] reports true. The names from and begin are more often those of times.
func IsItemIndex(name string) bool {
	return AlikeAny(name, ItemIndexNames()) && !Alike(name, "from") && !Alike(name, "begin") || MayBeItemIndex(name)
}

// ItemKeyNames returns the bare names of parameters after whose value the next page begins.
func ItemKeyNames() []string { return itemKeyNames }

// IsPosition reports whether a parameter of a name carries a position in a list, which is neither the
// number of a page nor the index of an item.
func IsPosition(name string) bool {
	return AlikeAny(name, positionNames) || AlikeAny(name, itemKeyNames)
}

// IsLater reports whether a parameter of a name with a value asks for a part of a list after its beginning: the second page,
// the second item, or a position. The names since and token are more often those of times and of credentials.
func IsLater(name, text string) bool {
	switch n, err := strconv.Atoi(text); {
	case AlikeAny(name, pageSizeNames):
		return false
	case IsPageNumber(name), IsItemIndex(name):
		return err == nil && n > 1 && n < HighestCounter
	}
	return IsPosition(name) && !Alike(name, "since") && !Alike(name, "token") && IsLaterPosition(text)
}

// IsLaterPosition reports whether a position is another one than those that APIs have for the beginning of a list.
func IsLaterPosition(text string) bool {
	return !slices.Contains([]string{"", "*", "0", "-1", "null"}, text)
}

// HighestCounter is above every number of a page or an item; larger ones are times.
const HighestCounter = 10_000_000

// NextURLNames returns the names of keys for the address of the next page, besides those of signs.
func NextURLNames() []string { return nextURLNames }

// PendingNames returns the names of keys whose number is zero on the last page.
func PendingNames() []string { return []string{"pending"} }

// ListKind says how likely a list with a name is the list of items.
type ListKind int

// The kinds of the names of lists.
const (
	UnlikelyList ListKind = iota - 1
	UnknownList
	LikelyList
)

var (
	likelyLists = []string{
		"data", "items", "results", "result", "records", "rows", "values", "value", "entries", "entry", "list", "content", "elements", "objects",
		"hits", "nodes", "edges", "features", "Resources", "documents", "docs", "children", "Items", "Contents", "members", "member",
		"hydra:member",
	}
	unlikelyLists = []string{
		"links", "link", "_links", "errors", "warnings", "facets", "aggregations", "included", "includes", "schemas", "fields", "columns",
		"headers", "breadcrumbs", "filters", "sort", "sorts", "group_by", "partitionInfo", "tags", "meta", "fieldMask", "permissions", "schema",
	}
)

// ListKind says whether the key is usual for lists of items.
func (k Key) ListKind() ListKind {
	switch {
	case slices.Contains(likelyLists, string(k)):
		return LikelyList
	case slices.Contains(unlikelyLists, string(k)):
		return UnlikelyList
	}
	return UnknownList
}
