package rules

// The audit at the end of a list: signs that one which ended by rule is not
// whole. Silent loss is what nobody finds later, so each sign is a warning with
// its evidence, part of the trace and the result.

// Hints are what a response says, by names that many APIs use, of the list that
// it is a page of. Audit rules see them as `hints`.
type Hints struct {
	Total   any    `expr:"total" doc:"the number of items that there are; nil: it is not said"`
	TotalAt string `expr:"totalAt" doc:"where it says so: meta.total"`
	Next    any    `expr:"next" doc:"what leads to another page, a link or a token; nil: nothing"`
	NextAt  string `expr:"nextAt" doc:"where it stands"`
	More    any    `expr:"more" doc:"whether there is more; nil: it is not said"`
	MoreAt  string `expr:"moreAt" doc:"where it says so"`
	Most    int    `expr:"most" doc:"items of the largest page"`
}

// Audit is the table of audit rules. They are put to the last page of a list
// that is complete; total.items are then the items that were emitted.
var Audit = []Template{
	{ID: "audit.capped", When: `page == 1 and count > 0 and count < limit and (hints.total > count or hints.next != nil or hints.more == true or count in [10, 20, 25, 30, 50, 100, 200, 250, 500, 1000, 2000, 5000])`,
		Says:    "the only page is shorter than the limit, and yet there are signs of more",
		Message: "page 1 has {count} items, fewer than the limit of {limit}, and the list ended there; the API may cap its pages at {count}: set limit to {count}"},
	{ID: "audit.overfull", When: `limit > 0 and hints.most > limit`,
		Says:    "a page has more items than the limit",
		Message: "a page has {hints.most} items, more than the limit of {limit}; the API may not heed it, and requests that go on by the limit may skip or repeat items"},
	{ID: "audit.total", When: `hints.total > total.items`,
		Says:    "the response says that there are more items than were obtained",
		Message: "{hints.totalAt} says that there are {hints.total} items, {total.items} were obtained"},
	{ID: "audit.surplus", When: `hints.total < total.items`,
		Says:    "the response says that there are fewer items than were obtained",
		Message: "{hints.totalAt} says that there are {hints.total} items, {total.items} were obtained; some may be repeated"},
	{ID: "audit.more", When: `hints.more == true`,
		Says:    "a flag says that there is more",
		Message: "{hints.moreAt} says that there is more after page {page}"},
	{ID: "audit.token", When: `hints.next != nil and hints.more != false`,
		Says:    "the last page leads to another",
		Message: "page {page} is the last, and yet {hints.nextAt} leads to another page"},
	{ID: "audit.ceiling", When: `total.items >= 10000 and total.items % 5000 == 0 or total.pages > 1 and total.items in [1000, 2000, 5000]`,
		Says:    "the number of items is one at which APIs cut lists off",
		Message: "{total.items} items is a number at which APIs cut lists off; narrow the requests, by date for instance, and compare"},
}

// What is looked for in the root of a response, and in the objects below it that
// the last list names.
var (
	totalNames = []string{"total", "totalCount", "total_count", "totalItems", "total_items", "totalResults", "total_results", "totalRecords", "total_records", "totalElements", "total_elements", "totalSize", "total_size", "totalHits", "total_hits", "nbHits", "numFound", "recordCount", "record_count", "resultCount", "count", "@odata.count"}
	nextNames  = []string{"next", "nextPage", "next_page", "nextUrl", "next_url", "next_page_url", "nextLink", "next_link", "@odata.nextLink", "nextPageToken", "next_page_token", "nextToken", "next_token", "NextToken", "nextCursor", "next_cursor", "next-cursor", "nextPageUri", "next_page_uri", "nextRecordsUrl", "NextMarker", "after_cursor", "pageToken"}
	moreNames  = []string{"hasMore", "has_more", "hasNext", "has_next", "hasNextPage", "has_next_page", "moreRecords", "more_records", "has_more_page", "IsTruncated", "isTruncated", "truncated"}
	lastNames  = []string{"isLast", "is_last", "last", "lastPage", "last_page", "isLastPage", "is_last_page", "done", "end_of_stream", "nomore"}
	containers = []string{"meta", "metadata", "_metadata", "pagination", "paging", "page", "pageInfo", "page_info", "pageContext", "page_context", "info", "links", "_links", "response_metadata", "cursor", "hits", "response", "result", "search-results"}
)

// SignPath is a path at which a response may say something of its list.
type SignPath struct {
	Keys []string
	Of   string // "total", "next", "more" or "last"
}

// SignPaths are all of them, those nearer to the root first.
var SignPaths = func() []SignPath {
	var out []SignPath
	kinds := []struct {
		of    string
		names []string
	}{{"total", totalNames}, {"next", nextNames}, {"more", moreNames}, {"last", lastNames}}
	for _, container := range append([]string{""}, containers...) {
		for _, kind := range kinds {
			for _, name := range kind.names {
				keys := []string{container, name}
				if container == "" {
					keys = keys[1:]
				}
				out = append(out, SignPath{keys, kind.of})
			}
		}
	}
	return out
}()

// SignHeaders are the headers that say something of a list.
var SignHeaders = []struct{ Name, Of string }{
	{"X-Total-Count", "total"}, {"X-Total", "total"}, {"X-WP-Total", "total"}, {"Total-Count", "total"},
	{"X-Next-Page", "next"}, {"X-Next-Token", "next"}, {"X-Next-Cursor", "next"},
}
