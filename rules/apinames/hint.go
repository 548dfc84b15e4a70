// Package apinames has the names that many APIs use: for totals, flags, links and tokens in
// responses, for errors, for the parameters of requests, and for lists. The audit, the
// detection of a pagination and the model of an API take them from here.
package apinames

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/value"
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

// hintTable has the names under which responses describe their lists, in the root, next to the
// items, and in the objects that containers names. All names are bare: hasMore, has_more and
// Has-More are hasmore; see [appendBare].
var hintTable = []struct {
	kind  HintKind
	names []string
	flags []string // more names of flags; without a rule that reads them they are no hints
}{
	{HintTotal, []string{
		"total", "totalcount", "totalitems", "totalresults", "totalrecords", "totalelements", "totalsize", "totalhits",
		"totalentries", "totalrows", "totalobjects", "totalmatches", "totalmatched", "totalfound", "totalnumber", "totaldocs",
		"hitcount", "nbhits", "numfound", "numresults", "numberofresults", "numbermatched", "nummatched", "recordsfiltered",
		"recordstotal", "recordcount", "resultcount", "rowcount", "itemcount", "itemscount", "matchcount", "found", "matched",
		"count", "odatacount",
	}, nil},
	{HintPages, []string{"totalpages", "pagecount", "pagestotal", "numpages", "nbpages", "lastpage", "pages"}, nil},
	{HintNext, []string{
		"next", "nextpage", "nexturl", "nextpageurl", "nextlink", "odatanextlink", "nextpagetoken", "nexttoken", "nextcursor",
		"nextpageuri", "nextrecordsurl", "nextmarker", "aftercursor", "pagetoken",
	}, nil},
	{HintMore, []string{
		"hasmore", "hasnext", "hasnextpage", "morerecords", "hasmorepage", "hasmorepages", "hasmoreitems", "hasmoreresults",
		"hasmorerecords", "hasadditionalresults", "istruncated", "truncated", "incompleteresults",
		"more", "moreavailable", "moreresults", "morepages", "ismore",
	}, []string{"nextpage", "incomplete", "next"}},
	{HintLast, []string{
		"islast", "last", "lastpage", "islastpage", "islastbatch", "done", "endofstream", "endoflist", "eof", "nomore",
	}, []string{"complete", "completed", "iscomplete", "finished", "end", "final"}},
}

// containers are the bare names of the objects in which hints are, too.
var containers = []string{
	"meta", "metadata", "pagination", "paging", "page", "pageinfo", "pagecontext", "info", "links", "responsemetadata", "cursor",
	"hits", "response", "result", "searchresults",
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

// A Hint is a meaning of a key. Hints with a smaller rank come first if there are several of one kind.
type Hint struct {
	Kind HintKind
	Rank int
}

// HintsOf returns the meanings of a key, which are several if the key of a number and that of a flag
// are alike. The list must not be changed.
func HintsOf(key string) []Hint {
	var buffer [maxBare]byte
	return hintsByName()[string(appendBare(buffer[:0], key))]
}

// hintsByName has the meanings by bare names.
var hintsByName = sync.OnceValue(func() map[string][]Hint {
	hints := map[string][]Hint{}
	for _, row := range hintTable {
		for rank, name := range row.names {
			hints[name] = append(hints[name], Hint{row.kind, rank})
		}
	}
	return hints
})

// IsHint reports whether a key has a meaning.
func IsHint(key string, kind HintKind) bool {
	return slices.ContainsFunc(HintsOf(key), func(h Hint) bool { return h.Kind == kind })
}

// HintNames returns the bare names of a kind. The list must not be changed.
func HintNames(kind HintKind) []string {
	for _, row := range hintTable {
		if row.kind == kind {
			return row.names
		}
	}
	return nil
}

// IsNext reports whether a key is one that many APIs use for a link to or a token of the next
// page.
func IsNext(key string) bool { return IsHint(key, HintNext) }

// HoldsHints reports whether the object under a key may hold hints.
func HoldsHints(key string) bool {
	var buffer [maxBare]byte
	bare := string(appendBare(buffer[:0], key))
	return slices.Contains(containers, bare)
}

// FlagKind returns what the name of a flag suggests: [HintMore], [HintLast] or nothing.
func FlagKind(name string) HintKind {
	bare := string(appendBare(nil, name))
	for _, row := range slices.Backward(hintTable) {
		if (row.kind == HintMore || row.kind == HintLast) && (slices.Contains(row.names, bare) || slices.Contains(row.flags, bare)) {
			return row.kind
		}
	}
	return ""
}

// pagers are bare names that have no other meaning than a page of a list, unlike total or done.
var pagers = []string{
	"hasmore", "hasnext", "hasnextpage", "morerecords", "hasmorepage", "islast", "islastpage", "totalcount", "totalresults",
	"totalrecords", "totalelements", "totalsize", "totalhits", "odatacount", "nextpage", "nexturl", "nextpageurl", "nextlink",
	"nextpagetoken", "nexttoken", "nextcursor", "odatanextlink", "startat", "startindex", "maxresults", "perpage", "pagesize", "offset",
}

// OfPage reports whether a key has no other meaning than a page of a list.
func OfPage(key string) bool {
	var buffer [maxBare]byte
	bare := string(appendBare(buffer[:0], key))
	return slices.Contains(pagers, bare)
}

// maxBare is the size of a buffer that is large enough for most names.
const maxBare = 64

// appendBare appends a name in lower case and without separators: hasmore for has_more.
func appendBare(out []byte, name string) []byte {
	for _, c := range []byte(name) {
		switch {
		case c >= 'A' && c <= 'Z':
			out = append(out, c+'a'-'A')
		case !strings.ContainsRune("_-. @$:", rune(c)):
			out = append(out, c)
		}
	}
	return out
}

// TotalOf returns a number of items or pages: an integer, an integer as text, or an object such as
// {"value": 25}. It reports in least whether there may be more, as in {"value": 10000, "relation":
// "gte"}, and in ok whether the value is such a number.
func TotalOf(v any) (n int, least, ok bool) {
	if object, isObject := value.Members(v); isObject {
		v, _ = object.Get("value")
		relation, _ := object.Get("relation")
		least = relation == "gte" || relation == "gt"
	}
	text, _ := value.Text(v)
	n, err := strconv.Atoi(text)
	return n, least, err == nil && strconv.Itoa(n) == text && n >= 0
}
