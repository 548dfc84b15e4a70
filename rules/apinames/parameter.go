package apinames

import "slices"

// Names that several signs have.
var (
	pageNumberNames = []string{
		"page", "pageNumber", "page_number", "pageNo", "page_no", "pagenum", "pageNum", "pageIndex", "page_index", "currentPage", "current_page",
		"page[number]", "p", "pg",
	}
	itemIndexNames = []string{
		"offset", "skip", "start", "startAt", "start_at", "startIndex", "start_index", "from", "$skip", "page[offset]", "sysparm_offset",
		"first", "firstResult", "first_result",
	}
	nextURLNames = []string{ // besides those of hints
		"more_topics_url", "moreUrl", "more_url", "nextPageLink", "next_href", "nextHref", "after_url", "__next",
	}
	pageSizeNames = []string{
		"limit", "per_page", "perPage", "per-page", "pageSize", "page_size", "pagesize", "size", "maxResults", "max_results", "max-results",
		"count", "rows", "top", "$top", "take", "first", "num", "n", "page[size]", "page[limit]", "hitsPerPage", "itemsPerPage",
		"resultsPerPage", "results_per_page", "max", "limit_per_page", "pageLimit", "page_limit", "sysparm_limit", "_count", "MaxResults",
		"max-keys", "maxitems", "aplimit", "records", "batchSize",
	}
)

// PageSizes returns the names of parameters that carry the number of items of a page.
func PageSizes() []string { return pageSizeNames }

// Previous returns the names of keys for a link to or a token of the page before.
func Previous() []string {
	return []string{
		"previous", "prev", "previous_page", "previousPage", "prev_page", "prevPage", "prev_page_url", "previous_page_url", "previousLink",
		"prevPageToken", "previousPageToken", "previous_cursor", "prev_cursor", "previous_page_uri", "@odata.previousLink",
	}
}

// PageNumbers returns the names of parameters that carry the number of a page.
func PageNumbers() []string { return pageNumberNames }

// ItemIndexes returns the names of parameters that carry the index of an item.
func ItemIndexes() []string { return itemIndexNames }

// NextURLs returns the names of keys for the address of the next page, besides those of hints.
func NextURLs() []string { return nextURLNames }

// Pending returns the names of keys whose number is zero on the last page.
func Pending() []string { return []string{"pending"} }

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

// OfList says whether a name is one that lists of items have.
func OfList(name string) ListKind {
	switch {
	case slices.Contains(likelyLists, name):
		return LikelyList
	case slices.Contains(unlikelyLists, name):
		return UnlikelyList
	}
	return UnknownList
}
