package rules

import "sync"

// The audit looks for signs that a list which ended by rule is incomplete. A loss
// that goes unnoticed is the worst one, so every sign is a warning with its
// evidence, in the log, the trace and the result.

// Hints are what a response says about its list, under names that many APIs use.
// Audit rules see them as `hints`.
type Hints struct {
	Total       any    `expr:"total" doc:"the number of items in the list; nil: unknown"`
	TotalAt     string `expr:"totalAt" doc:"where the response has it: meta.total"`
	Next        any    `expr:"next" doc:"a link to or a token of another page; nil: none"`
	NextAt      string `expr:"nextAt" doc:"where the response has it"`
	More        any    `expr:"more" doc:"whether there is more; nil: unknown"`
	MoreAt      string `expr:"moreAt" doc:"where the response has it"`
	LargestPage int    `expr:"largestPage" doc:"the number of items of the largest page"`
}

// ListFacts is what a job noticed of its list as a whole. Audit rules see it as
// `list`.
type ListFacts struct {
	Rewritten int `expr:"rewritten" doc:"items written before the latest restart, which wrote them again"`
}

// An auditRule is a rule of the audit.
type auditRule struct {
	ID      string
	When    string // expression, boolean
	Clause  string // completes "warns if …"
	Message string // for the log, with {expressions}
	Always  bool   // evaluated whatever the outcome: it is not about items that may be missing at the end
}

// auditTable is the table of audit rules. They are evaluated on the last page of a
// complete list; total.items is then the number of items that were emitted since the
// latest restart.
var auditTable = []auditRule{
	{ID: "audit.capped",
		When: `page == 1 and count > 0 and count < limit and (hints.total > count or hints.next != nil or hints.more == true` +
			` or count in [10, 20, 25, 30, 50, 100, 200, 250, 500, 1000, 2000, 5000])`,
		Clause: "the only page is shorter than the limit, although there are signs of more",
		Message: "the only page has {count} of {limit} items; " +
			"the API may cap its pages at {count}: set limit to {count}"},
	{ID: "audit.overfull",
		When:   `limit > 0 and hints.largestPage > limit`,
		Clause: "a page has more items than the limit",
		Message: "a page has {hints.largestPage} items, more than the limit of {limit}; " +
			"if the API ignores the limit, requests that count on it may skip or repeat items"},
	{ID: "audit.total",
		When:    `hints.total > total.items`,
		Clause:  "a total exceeds the items read",
		Message: "{hints.totalAt} is {hints.total}, but the number of items read is {total.items}"},
	{ID: "audit.surplus",
		When:    `hints.total < total.items`,
		Clause:  "the items read exceed a total",
		Message: "{hints.totalAt} is {hints.total}, but the number of items read is {total.items}; some may be repeated"},
	{ID: "audit.more",
		When:    `hints.more == true`,
		Clause:  "a flag says that there is more",
		Message: "{hints.moreAt} says that there is more after page {page}"},
	{ID: "audit.token",
		When:    `hints.next != nil and hints.more != false`,
		Clause:  "the last page points to another page",
		Message: "page {page} is the last, but {hints.nextAt} points to another page"},
	{ID: "audit.ceiling",
		When:   `total.items >= 10000 and total.items % 5000 == 0 or total.pages > 1 and total.items in [1000, 2000, 5000]`,
		Clause: "the number of items is one at which APIs cut lists off",
		Message: "many APIs cut lists off at {total.items} items; " +
			"narrow the requests, for example by date, and compare"},
	{ID: "audit.restart", Always: true,
		When:   `list.rewritten > 0`,
		Clause: "an onError rule restarted the list after items were written",
		Message: "the list was restarted after {list.rewritten} items, which are written again; " +
			"remove the duplicates by their identifiers"},
}

func auditIDs() []string {
	ids := make([]string, len(auditTable))
	for i, t := range auditTable {
		ids[i] = t.ID
	}
	return ids
}

// The names under which responses describe their lists, in the root and in the
// objects that containers names.
var (
	totalNames = []string{
		"total", "totalCount", "total_count", "totalItems", "total_items", "totalResults", "total_results",
		"totalRecords", "total_records", "totalElements", "total_elements", "totalSize", "total_size",
		"totalHits", "total_hits", "nbHits", "numFound", "recordCount", "record_count", "resultCount",
		"count", "@odata.count",
	}
	nextNames = []string{
		"next", "nextPage", "next_page", "nextUrl", "next_url", "next_page_url", "nextLink", "next_link",
		"@odata.nextLink", "nextPageToken", "next_page_token", "nextToken", "next_token", "NextToken",
		"nextCursor", "next_cursor", "next-cursor", "nextPageUri", "next_page_uri", "nextRecordsUrl",
		"NextMarker", "after_cursor", "pageToken",
	}
	moreNames = []string{
		"hasMore", "has_more", "hasNext", "has_next", "hasNextPage", "has_next_page", "moreRecords",
		"more_records", "has_more_page", "IsTruncated", "isTruncated", "truncated",
	}
	lastNames = []string{
		"isLast", "is_last", "last", "lastPage", "last_page", "isLastPage", "is_last_page", "done",
		"end_of_stream", "nomore",
	}
	containers = []string{
		"meta", "metadata", "_metadata", "pagination", "paging", "page", "pageInfo", "page_info",
		"pageContext", "page_context", "info", "links", "_links", "response_metadata", "cursor", "hits",
		"response", "result", "search-results",
	}
)

// HintKind says what a value means for the list.
type HintKind string

// The kinds of hints.
const (
	HintTotal HintKind = "total" // the number of items
	HintNext  HintKind = "next"  // a link or a token
	HintMore  HintKind = "more"  // true: there is more
	HintLast  HintKind = "last"  // true: there is no more
)

// HintPath is a path at which a response may say something about its list.
type HintPath struct {
	Keys []string
	Kind HintKind
}

// HintPaths returns the paths of all hints, those nearer to the root first.
func HintPaths() []HintPath { return hintPaths() }

var hintPaths = sync.OnceValue(func() []HintPath {
	var out []HintPath
	kinds := []struct {
		kind  HintKind
		names []string
	}{{HintTotal, totalNames}, {HintNext, nextNames}, {HintMore, moreNames}, {HintLast, lastNames}}
	for _, container := range append([]string{""}, containers...) {
		for _, k := range kinds {
			for _, name := range k.names {
				keys := []string{container, name}
				if container == "" {
					keys = keys[1:]
				}
				out = append(out, HintPath{keys, k.kind})
			}
		}
	}
	return out
})

// HintHeader is a header that may say something about the list of a response.
type HintHeader struct {
	Name string
	Kind HintKind
}

// HintHeaders returns the headers of all hints.
func HintHeaders() []HintHeader {
	return []HintHeader{
		{"X-Total-Count", HintTotal}, {"X-Total", HintTotal}, {"X-WP-Total", HintTotal}, {"Total-Count", HintTotal},
		{"X-Next-Page", HintNext}, {"X-Next-Token", HintNext}, {"X-Next-Cursor", HintNext},
	}
}
