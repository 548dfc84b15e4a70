// Package apinames has the names that many APIs use: for totals, flags, links and tokens in
// responses, for errors, for the parameters of requests, and for lists. The audit, the
// detection of a pagination and the model of an API take them from here.
package apinames

import (
	"slices"
	"strings"
	"sync"
)

// HintKind says what a value means for the list.
type HintKind string

// The kinds of hints.
const (
	HintTotal HintKind = "total" // the number of items
	HintPages HintKind = "pages" // the number of pages
	HintNext  HintKind = "next"  // a link or a token
	HintMore  HintKind = "more"  // true: there is more
	HintLast  HintKind = "last"  // true: there is no more
)

// hintTable has the names under which responses describe their lists, in the root and in the
// objects that containers names.
var hintTable = []struct {
	kind  HintKind
	names []string
	bare  []string // more names of flags, as bareName writes them; alone they are no hints
}{
	{HintTotal, []string{
		"total", "totalCount", "total_count", "totalItems", "total_items", "totalResults", "total_results",
		"totalRecords", "total_records", "totalElements", "total_elements", "totalSize", "total_size",
		"totalHits", "total_hits", "total-results", "hitCount", "nbHits", "numFound", "recordCount", "record_count", "resultCount",
		"count", "@odata.count",
	}, nil},
	{HintPages, []string{
		"totalPages", "total_pages", "pageCount", "page_count", "numPages", "num_pages", "nbPages", "lastPage", "last_page", "pages",
	}, nil},
	{HintNext, []string{
		"next", "nextPage", "next_page", "nextUrl", "next_url", "next_page_url", "nextLink", "next_link",
		"@odata.nextLink", "nextPageToken", "next_page_token", "nextToken", "next_token", "NextToken",
		"nextCursor", "next_cursor", "next-cursor", "nextPageUri", "next_page_uri", "nextRecordsUrl",
		"NextMarker", "after_cursor", "pageToken",
	}, nil},
	{HintMore, []string{
		"hasMore", "has_more", "hasNext", "has_next", "hasNextPage", "has_next_page", "moreRecords",
		"more_records", "has_more_page", "IsTruncated", "isTruncated", "truncated",
	}, []string{
		"more", "nextpage", "hasmorepages", "hasmoreitems", "hasmoreresults", "moreavailable", "ismore", "morepages",
		"hasadditionalresults", "incomplete", "next",
	}},
	{HintLast, []string{
		"isLast", "is_last", "last", "lastPage", "last_page", "isLastPage", "is_last_page", "done",
		"end_of_stream", "nomore",
	}, []string{
		"complete", "completed", "iscomplete", "finished", "end", "eof", "endoflist", "islastbatch", "final",
	}},
}

// containers are the keys of the objects in the root in which hints are, too.
var containers = []string{
	"meta", "metadata", "_metadata", "pagination", "paging", "page", "pageInfo", "page_info",
	"pageContext", "page_context", "info", "links", "_links", "response_metadata", "cursor", "hits",
	"response", "result", "search-results",
}

// HintHeader is a header that may say something about the list of a response.
type HintHeader struct {
	Name string
	Kind HintKind
}

var hintHeaders = []HintHeader{
	{"X-Total-Count", HintTotal}, {"X-Total", HintTotal}, {"X-WP-Total", HintTotal}, {"Total-Count", HintTotal},
	{"X-Total-Pages", HintPages}, {"X-WP-TotalPages", HintPages},
	{"X-Next-Page", HintNext}, {"X-Next-Token", HintNext}, {"X-Next-Cursor", HintNext},
}

// HintHeaders returns the headers of all hints. The list must not be changed.
func HintHeaders() []HintHeader { return hintHeaders }

// identifiers are keys whose values identify an item.
var identifiers = []string{"id", "_id", "uuid", "guid", "Id", "ID", "UUID", "GUID"}

// Identifiers returns the names of keys that identify an item.
func Identifiers() []string { return identifiers }

// IsIdentifier reports whether many APIs use a key for the identifier of an item.
func IsIdentifier(key string) bool { return slices.Contains(identifiers, key) }

// OfHint returns the names of the keys of a kind of hints.
func OfHint(kind HintKind) []string {
	for _, row := range hintTable {
		if row.kind == kind {
			return row.names
		}
	}
	return nil
}

// IsNext reports whether a key is one that many APIs use for a link to or a token of the next
// page.
func IsNext(key string) bool { return slices.Contains(OfHint(HintNext), key) }

// FlagKind returns what the name of a flag suggests: [HintMore], [HintLast] or nothing.
func FlagKind(name string) HintKind { return flagKinds()[bareName(name)] }

// flagKinds has the kinds of flags by their bare names.
var flagKinds = sync.OnceValue(func() map[string]HintKind {
	kinds := map[string]HintKind{}
	for _, row := range hintTable {
		if row.kind != HintMore && row.kind != HintLast {
			continue
		}
		for _, name := range slices.Concat(row.names, row.bare) {
			kinds[bareName(name)] = row.kind
		}
	}
	return kinds
})

var separators = strings.NewReplacer("_", "", "-", "", ".", "", " ", "", "@", "", "$", "")

// bareName returns a name in lower case and without separators: hasmore for has_more.
func bareName(name string) string { return separators.Replace(strings.ToLower(name)) }

// HintPath is a path at which a response may say something about its list.
type HintPath struct {
	Keys []string
	Kind HintKind
}

// HintPaths returns the paths of all hints: first the keys in the root, then those in each
// container. The place of a path is its index. The list must not be changed.
func HintPaths() []HintPath { all, _ := hintPlaces(); return all }

// HintAt returns the path at a place of [HintPaths].
func HintAt(place int) HintPath { return HintPaths()[place] }

// HoldsHints reports whether the object under a key in the root may hold hints.
func HoldsHints(key string) bool { return slices.Contains(containers, key) }

// hintPlaces has the paths of all hints, and their places by container and key. The container
// of a key in the root is empty.
var hintPlaces = sync.OnceValues(func() (all []HintPath, places map[[2]string][]int) {
	places = map[[2]string][]int{}
	for _, container := range append([]string{""}, containers...) {
		for _, row := range hintTable {
			for _, name := range row.names {
				at := [2]string{container, name}
				places[at] = append(places[at], len(all))
				all = append(all, HintPath{within(container, name), row.kind})
			}
		}
	}
	return all, places
})

// HintPlaces returns the places of a path in [HintPaths], which are several if its key may
// mean several things. The list must not be changed.
func HintPlaces(path []string) []int {
	_, places := hintPlaces()
	switch {
	case len(path) == 1:
		return places[[2]string{"", path[0]}]
	case len(path) == 2 && path[0] != "":
		return places[[2]string{path[0], path[1]}]
	}
	return nil
}
