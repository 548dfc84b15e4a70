// Package apinames has the names that many APIs use. The audit, the detection of a pagination and the model of an API
// take them from here.
//
// A [Key] is a name in a response, and says what it means there: a total, a flag, a link, a token, an error, a list. The
// functions whose names begin with Says read messages, and the others whose names begin with Is or MayBe are about members,
// objects or the parameters of requests.
//
// The tables are shared: callers must not change the lists that functions return.
package apinames

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/lists"
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
	HintRough HintKind = "rough" // true: the number of items is an estimate
	HintExact HintKind = "exact" // false: the number of items is an estimate

	HintPrevious HintKind = "previous" // true: there are pages before this one; see [Key.PlaceKind]
	HintFirst    HintKind = "first"    // true: there are none
	HintBack     HintKind = "back"     // a link to the page before
	HintSize     HintKind = "size"     // the number of items of a full page
)

// placeHints are the bare names under which responses describe their own page: its place in the list, and the size
// of a full page. Such names have other meanings, too, so that they are not in hintTable.
var placeHints = sync.OnceValue(func() map[string]HintKind {
	names := map[string]HintKind{
		"hasprevious": HintPrevious, "haspreviouspage": HintPrevious, "hasprev": HintPrevious, "hasprevpage": HintPrevious,
		"first": HintFirst, "isfirst": HintFirst, "isfirstpage": HintFirst, "firstpage": HintFirst,
		"limit": HintSize, "perpage": HintSize, "pagesize": HintSize, "pagelimit": HintSize, // maxResults may be the number of items
	}
	for _, name := range previousNames {
		names[name] = HintBack
	}
	return names
})

// PlaceKind returns what the key says about the page that has it: [HintPrevious], [HintFirst], [HintSize], [HintBack] or
// an empty kind.
func (k Key) PlaceKind() HintKind {
	var buffer [maxBare]byte
	return placeHints()[string(appendBare(buffer[:0], string(k)))]
}

// hintTable lists the names under which responses describe their lists, in the root, next to the items, and
// in the objects that containers names. All names are bare: hasMore, has_more and ns:Has-More are hasmore; see
// [appendBare].
var hintTable = []struct {
	kind  HintKind
	names []string
	flags []string // more names of flags; without a rule that reads them they are not hints
}{
	{HintTotal, slices.Concat([]string{
		"filteredtotal", "totalfiltered", "filteredcount", "totalfilteredcount", "filtercount", // before that of all items
		"total", "totalcount", "totalitems", "totalresults", "totalrecords", "totalelements", "totalsize", "totalhits",
		"totalentries", "totalrows", "totalobjects", "totalmatches", "totalmatched", "totalfound", "totalnumber", "totaldocs", "numrows",
		"hitcount", "nbhits", "numfound", "numresults", "numberofresults", "numbermatched", "nummatched", "recordsfiltered",
		"itotaldisplayrecords", "itotalrecords",
		"recordstotal", "itemtotal", "recordtotal", "recordcount", "resultcount", "rowcount", "itemcount", "itemscount", "matchcount",
		"found", "matched", "matches", "objectcount",
		"count", "odatacount", "totalnum", "fullcount", "resultscount", "totalresultscount", "nbresults", "estimatedtotalhits",
		"numberofrecords", "numberofitems", "totalavailable", "totalrowcount", "rowsbeforelimitatleast", "hits",
		"nhits", "fullresultsize", "totalreview", "totalreviews", "totalnumberofresults", "totalresources", "resultsfullcount",
		"totalitemsinview", "totalrecordcount", "itemstotal", "ntotal", "overallcount", "counttotal", "collectionsize",
		"totalmatchcount", "totalentrycount", "totalnumberofentries", "numberofhits", "numberofmatches", "resulttotal",
		"totalsetsize",
		"totalderegistros", // Omie
		"totalregistros",
	}, join("total", nouns, "count"), join("total", nouns, "scount"), join("totalnumberof", nouns, "s"), join("total", nouns, "available"),
		join("total", nouns, "savailable"), join("total", nouns, ""), join("", nouns, "sfound"), join("num", nouns, "s"),
		join("", nouns, "savailable"), join("", nouns, "stotal")), nil},
	{HintPages, []string{"totalpages", "totalpage", "pagecount", "pagestotal", "pagetotal", "numpages", "nbpages", "lastpage", "pages",
		"totalnumberofpages", "totalpagecount", "numberofpages", "pagescount", "lastpagenumber", "totalpagenum",
		"totaldepaginas", "totalpaginas"}, nil},
	{HintNext, slices.Concat([]string{
		"next", "nextpage", "nexturl", "nextpageurl", "nextlink", "odatanextlink", "nextpagetoken", "nexttoken", "nextcursor",
		"nextpageuri", "nextrecordsurl", "nextmarker", "aftercursor", "pagetoken", "continuationtoken", "nexturi", "continuation",
		"lastevaluatedkey", "resumptiontoken", "skiptoken", "nexthref", "nextpagelink", "nextcontinuationtoken", "paginationtoken",
		"nextcursormark", "nextbatch", "nextkey", "continue", "querycontinue", "nextpagekey", "nextpagecursor", "nextpageid",
		"moretopicsurl", "nextpageoffset", "listitemcollectionpositionnext",
		"nextrecordposition",     // SRU
		"nextrecordname",         // Route 53
		"nextversionidmarker",    // S3
		"nextpartnumbermarker",   // S3
		"lastevaluatedtablename", // DynamoDB
		"lastevaluatedstreamarn", // DynamoDB
		"lastevaluatedshardid",   // DynamoDB
		"nextresults",            // Twitter
		"nextcursorstr",          // Twitter
		"nextchunkinternallink",  // Databricks
		"nextfrom",               // VK
		"nextopenid",             // WeChat
		"searchcontinue",         // Wikidata
		"nextpath", "nextposition", "nextiterator", "nextsearchafter", "nextbookmark", "nextpartitionkey", "nextkeymarker",
		"nextuploadidmarker", "nextscrollid", "nextcursorid", "nextcursortoken", "nextsearchtoken", "nextpaginationtoken", "nextpagemarker",
		"continuetoken", "continuationkey", "continuationid",
	}, join("nextpage", places, ""), join("nextresults", places, ""), join("continuation", places, "")), nil},
	{HintMore, slices.Concat([]string{
		"hasmore", "hasnext", "hasnextpage", "morerecords", "hasmorepage", "hasmorepages", "hasmoreitems", "hasmoreresults",
		"hasmorerecords", "hasadditionalresults", "istruncated", "truncated",
		"more", "moreavailable", "moreresults", "morepages", "ismore", "moreresult", "moreitems", "moreitemsincollection", "moredata",
		"hasmoredata", "nextexists", "nextpageexists", "exceededtransferlimit", "moredataavailable", "resultstruncated", "limitreached",
		"resulttruncated", "truncatedresults", "maxresultsreached", "exceededlimit", "exceedslimit", "toomanyresults", "searchlimitreached",
		"moretocome", "moreitemsavailable", "havemore", "havemoreresults", "hasadditional", "rowstruncated", "limitexceeded",
		"hasmorestreams", "hasmoredeliverystreams", "hasmoreshards", // Kinesis
		"numgroupslimitreached", "maxrowsinjoinreached", "maxrowsinwindowreached", // Pinot
		"hasmoreentries", "moreentries", "moredataexists", "hasadditionalpages", "hasanotherpage", "ismoreavailable", "ismoredata",
		"thereismore", "resultslimited", "isresulttruncated", "resultsettruncated",
		"datatruncated", "responsetruncated", "listtruncated", "outputtruncated", "wastruncated",
	}, restCounts, join("hasmore", nouns, "s"), join("more", nouns, "savailable"), join("more", nouns, "s"), join("max", nouns, "sreached"),
		join("max", nouns, "sexceeded"), join("", []string{"result", "results", "row", "record", "size"}, "limitreached"),
		join("", []string{"result", "results", "row", "record", "size"}, "limitexceeded")), []string{"nextpage", "incomplete", "next"}},
	{HintLast, slices.Concat([]string{
		"islast", "last", "lastpage", "islastpage", "islastbatch", "done", "endofstream", "endoflist", "eof", "nomore", "isend", "isfinal",
		"endofrecords",            // GBIF
		"includeslastiteminrange", // Exchange
		"completeindicator",       // ADP
		"listover",                // Tencent
		"isfinalpage", "finalpage", "lastbatch", "islastchunk", "islastpart", "reachedend", "endreached", "endofdata", "endofresults",
		"endoffile", "nomorepages", "nomoredata",
	}, join("nomore", nouns, "s"), join("all", nouns, "sreturned")), []string{
		"complete", "completed", "iscomplete", "finished", "isfinished", "end", "final",
	}},
	{HintRough, []string{
		"approximate", "isapproximate", "totalapproximate", "totalisapproximate", "estimated", "isestimated", "isestimate", "estimate",
		"totalestimated", "totalisestimated", "totalisestimate", "istotalestimated", "countestimated", "countisestimated",
	}, nil},
	{HintExact, []string{
		"exhaustivenbhits", // Algolia
		"numfoundexact",    // Solr
		"isexact", "totalexact", "totalisexact", "istotalexact", "countisexact", "totalcountexact", "istotalcountexact",
	}, nil},
}

// nouns are words for an item, and places words for where the next page is, of which hintTable makes names.
var (
	nouns  = []string{"item", "result", "record", "row", "element", "hit", "object", "resource"}
	places = []string{"url", "uri", "href", "path", "link"}
)

// join returns each word between two texts.
func join(before string, words []string, after string) []string {
	return lists.Map(words, func(word string) string { return before + word + after })
}

// containers are the bare names of the objects in which hints are, too.
var containers = setOf(slices.Concat([]string{
	"meta", "metadata", "pagination", "paging", "page", "pageinfo", "pagecontext", "info", "links", "responsemetadata", "cursor",
	"hits", "response", "result", "searchresults", "additionaldata", "resultinfo", "pager",
	"searchinfo", "searchinformation", "responseheader",
	"responseresults", "responsedetails", "resultsetmetadata", "manifest", "records",
	"attr",                                 // attributes of XML in JSON
	"view",                                 // Hydra
	"context",                              // STAC
	"paginationoutput", "paginationresult", // eBay
	"pagingmetadata",  // Wix
	"metainformation", // Fortnox
	"resultset",       // NOAA
	"stats",           // Dimensions
	"summary",         // Facebook
	"tokenpagination", // Google Play
	"extra",           // dbt
	"resultinf",       // e-Stat
	"searchmetadata",  // Twitter
	"header", "headers", "attributes", "properties", "navigation", "paginator",
}, join("page", about, ""), join("paging", about, ""), join("pagination", about, ""), join("list", about, ""), join("result", about, ""),
	join("query", about, "")))

// about are words for what is said about something, of which containers makes names.
var about = []string{"info", "information", "metadata", "details"}

// partialNames are the bare names of flags by which an object says that its data are not complete.
var partialNames = setOf([]string{
	"partialdata", "ispartialdata", "incompletedata", "partialresult", "partialresults", "ispartialresult", "incompleteresult",
	"incompleteresults", "resultsincomplete",
})

// IsPartial reports whether the value under the key, as JSON, says that the object that has it lacks data, and in ok whether
// it says so or the opposite: "partialData": true, or "StatusCode": "PartialData".
func (k Key) IsPartial(raw []byte) (partial, ok bool) {
	var buffer [maxBare]byte
	switch bare, text := appendBare(buffer[:0], string(k)), string(raw); {
	case partialNames()[string(bare)]:
		return text == "true", text == "true" || text == "false"
	case string(bare) == "statuscode":
		return text == `"PartialData"`, text == `"PartialData"` || text == `"Complete"`
	}
	return false, false
}

// setOf returns a set of names, which is made when it is first used.
func setOf(names []string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, name := range names {
			set[name] = true
		}
		return set
	})
}

// nestedIn has the containers that count only in another one: meta.cursors.after is null on the last page of GoCardless,
// while paging.cursors.after of Facebook is on every page.
// meta.results describes a list, while results in the root are its items.
var nestedIn = map[string][]string{"cursors": {"meta", "resultinfo"}, "results": {"meta"}}

// narrow has the containers whose names have other meanings, too, with the only kind of hints in them.
var narrow = map[string]HintKind{
	"view": HintNext, "context": HintTotal, "header": HintTotal, "headers": HintTotal, "attributes": HintTotal, "stats": HintTotal,
	"properties": HintMore, "extra": HintMore, "navigation": HintNext, "summary": HintTotal,
}

// ambiguous are bare names of totals that some APIs use for another number: totalSize may be a number
// of bytes.
var ambiguous = []string{"totalsize", "matches"}

// HintHeader is a header that may say something about the list of a response.
type HintHeader struct {
	Name  string
	Kind  HintKind
	Range bool // the value is a range and a total: items 0-9/57
	JSON  bool // the value is an object in JSON, whose member is the hint: {"TotalCount": 57}
}

// ValueOf returns the hint in the value of the header, or nil if there is none. A range of bytes is
// no hint.
func (h HintHeader) ValueOf(v any) any {
	text, ok := v.(string)
	if h.JSON {
		_, v = h.Member(text)
		return v
	}
	if !h.Range || !ok {
		return v
	}
	_, total, found := strings.Cut(text, "/")
	if !found || strings.HasPrefix(text, "bytes") {
		return nil
	}
	return total
}

// Member returns the first member that is the hint in the value of a header with JSON, and its value, with
// integers as int. Both are zero if there is no such member.
func (h HintHeader) Member(text string) (key string, v any) {
	if !strings.HasPrefix(text, "{") {
		return "", nil
	}
	var object map[string]any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&object); err != nil {
		return "", nil
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if _, isObject := object[name].(map[string]any); Key(name).Is(h.Kind) && !isObject && object[name] != nil {
			if n, ok := object[name].(json.Number); ok {
				if i, err := strconv.Atoi(n.String()); err == nil {
					return name, i
				}
			}
			return name, object[name]
		}
	}
	return "", nil
}

var hintHeaders = []HintHeader{
	{Name: "X-Total-Count", Kind: HintTotal}, {Name: "X-Total", Kind: HintTotal}, {Name: "X-WP-Total", Kind: HintTotal},
	{Name: "Total-Count", Kind: HintTotal}, {Name: "X-Pagination-Total", Kind: HintTotal},
	{Name: "X-Pagination-Total-Count", Kind: HintTotal},
	{Name: "X-Total-Items", Kind: HintTotal}, {Name: "X-Total-Results", Kind: HintTotal}, {Name: "Total", Kind: HintTotal},
	{Name: "Pagination-Count", Kind: HintTotal}, {Name: "X-Total-Elements", Kind: HintTotal},
	{Name: "Content-Range", Kind: HintTotal, Range: true},
	{Name: "X-Total-Pages", Kind: HintPages}, {Name: "X-WP-TotalPages", Kind: HintPages},
	{Name: "Total-Pages", Kind: HintPages}, {Name: "X-Pagination-Page-Count", Kind: HintPages},
	{Name: "X-Next-Page", Kind: HintNext}, {Name: "X-Next-Token", Kind: HintNext}, {Name: "X-Next-Cursor", Kind: HintNext},
	{Name: "X-MS-Continuation", Kind: HintNext}, {Name: "Opc-Next-Page", Kind: HintNext}, {Name: "X-Continuation-Token", Kind: HintNext},
	{Name: "X-MS-ContinuationToken", Kind: HintNext}, {Name: "X-Continuation", Kind: HintNext}, {Name: "Sforce-Locator", Kind: HintNext},
	{Name: "X-Next-Page-Token", Kind: HintNext}, {Name: "Next-Page", Kind: HintNext}, {Name: "X-Truncated", Kind: HintMore},
	{Name: "X-Result-Truncated", Kind: HintMore}, {Name: "X-Results-Truncated", Kind: HintMore},
	{Name: "X-Page-Count", Kind: HintPages}, {Name: "X-Pages", Kind: HintPages}, {Name: "X-Record-Count", Kind: HintTotal},
	{Name: "X-Has-More", Kind: HintMore}, {Name: "Next-Cursor", Kind: HintNext}, {Name: "X-Next-Link", Kind: HintNext},
	{Name: pagingHeader, Kind: HintTotal, JSON: true}, {Name: pagingHeader, Kind: HintPages, JSON: true},
	{Name: pagingHeader, Kind: HintMore, JSON: true},
	{Name: "Pagination", Kind: HintTotal, JSON: true}, {Name: "Pagination", Kind: HintPages, JSON: true},
	{Name: "Paging-Headers", Kind: HintTotal, JSON: true}, {Name: "Paging-Headers", Kind: HintPages, JSON: true},
	{Name: "CMR-Hits", Kind: HintTotal}, {Name: "X-PW-TOTAL", Kind: HintTotal},
	{Name: "X-Nomad-Nexttoken", Kind: HintNext}, {Name: "X-Next-ID", Kind: HintNext},
	{Name: "X-MS-Continuation-NextPartitionKey", Kind: HintNext}, {Name: "X-MS-Continuation-NextRowKey", Kind: HintNext},
	{Name: "Next-Range", Kind: HintNext}, {Name: "After-Cursor", Kind: HintNext}, {Name: "X-Next-Row-Number", Kind: HintNext},
	{Name: "X-Next-URL", Kind: HintNext}, {Name: "X-Next-Page-URL", Kind: HintNext}, {Name: "X-Next-Marker", Kind: HintNext},
	{Name: "X-Next", Kind: HintNext}, {Name: "X-Pagination-Next-Page", Kind: HintNext}, {Name: "X-Pagination-Next-Cursor", Kind: HintNext},
	{Name: "X-Pagination-Has-More", Kind: HintMore}, {Name: "X-HasMore", Kind: HintMore}, {Name: "X-Is-Last-Page", Kind: HintLast},
	{Name: "X-TotalCount", Kind: HintTotal}, {Name: "X-Total-Records", Kind: HintTotal}, {Name: "X-Total-Entries", Kind: HintTotal},
	{Name: "X-Total-Rows", Kind: HintTotal}, {Name: "X-Result-Count", Kind: HintTotal}, {Name: "X-Container-Object-Count", Kind: HintTotal},
	{Name: "X-Paging-TotalRecordCount", Kind: HintTotal}, {Name: "X-Paging-PageCount", Kind: HintPages},
	{Name: "X-Pagination-Total-Pages", Kind: HintPages}, {Name: "X-Pagination-Pages", Kind: HintPages},
	{Name: "X-TotalPages", Kind: HintPages}, {Name: "X-Total-Page", Kind: HintPages},
	{Name: "X-Page-Total", Kind: HintPages}, {Name: "X-Last-Page", Kind: HintPages},
	{Name: "X-Per-Page", Kind: HintSize}, // GitLab
}

// HintHeaders returns the headers of all hints. The list must not be changed.
func HintHeaders() []HintHeader { return hintHeaders }

// identifiers are keys whose values identify an item.
var identifiers = []string{"id", "_id", "uuid", "guid", "Id", "ID", "UUID", "GUID"}

// IdentifierNames returns the names of members that identify an item. The list must not be changed.
func IdentifierNames() []string { return identifiers }

// IsIdentifier reports whether many APIs use a key for the identifier of an item.
func IsIdentifier(key string) bool { return slices.Contains(identifiers, key) }

// EndsWithID reports whether a key is one of an identifier, or ends with the word id: user_id, resource.id, orderId. Other
// words may end with its letters: paid, valid.
func EndsWithID(key string) bool {
	stem, ok := strings.CutSuffix(key, "Id")
	if !ok {
		stem, ok = strings.CutSuffix(key, "ID")
	}
	isWord := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
	if !ok {
		stem, ok = strings.CutSuffix(key, "id")
		isWord = func(r rune) bool { return r == '_' || r == '-' || r == '.' || r == ' ' || r == ':' }
	}
	return IsIdentifier(key) || ok && stem != "" && isWord(rune(stem[len(stem)-1]))
}

// A Hint is a meaning of a key. Hints with a smaller rank come first if there are several of one kind.
type Hint struct {
	Kind HintKind
	Rank int
}

// Hints returns the meanings of the key, which are several if the key of a number and that of a flag
// are alike. The list must not be changed.
func (k Key) Hints() []Hint {
	var buffer [maxBare]byte
	return hintsByName()[string(appendBare(buffer[:0], string(k)))]
}

// hintsByName holds the meanings by bare names.
var hintsByName = sync.OnceValue(func() map[string][]Hint {
	hints := map[string][]Hint{}
	for _, row := range hintTable {
		for rank, name := range row.names {
			if !slices.ContainsFunc(hints[name], func(h Hint) bool { return h.Kind == row.kind }) {
				hints[name] = append(hints[name], Hint{row.kind, rank})
			}
		}
	}
	return hints
})

// Is reports whether the key has a meaning of [Key.Hints].
func (k Key) Is(kind HintKind) bool {
	return slices.ContainsFunc(k.Hints(), func(h Hint) bool { return h.Kind == kind })
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

// restCounts are the bare names of numbers of items that the response lacks.
var restCounts = []string{
	"remainingitemcount", // Kubernetes
	"sumotherdoccount",   // Elasticsearch
}

// IsRestCount reports whether a number under the key is that of the items that the response lacks.
func (k Key) IsRestCount() bool { return AlikeAny(string(k), restCounts) }

// IsNextPageNumber reports whether a number under the key, which hints at the next page, is a page number.
func (k Key) IsNextPageNumber() bool {
	return strings.HasSuffix(string(appendBare(nil, string(k))), "nextpage")
}

// MayBeHint reports whether a value under the key may describe a list or a page of it: the key has a meaning of
// [Key.Hints], [Key.FlagKind], [Key.PlaceKind] or [Key.IsRoughNext].
func (k Key) MayBeHint() bool {
	var buffer [maxBare]byte
	return describing()[string(appendBare(buffer[:0], string(k)))]
}

// describing has the bare names of values that may describe a list or a page of it.
var describing = sync.OnceValue(func() map[string]bool {
	names := setOf(slices.Concat(roughTokens, roughOffsets))()
	for name := range hintsByName() {
		names[name] = true
	}
	for name := range flagsByName() {
		names[name] = true
	}
	for name := range placeHints() {
		names[name] = true
	}
	return names
})

// Bare names of tokens and of positions of the next page that also have other meanings; see [Key.IsRoughNext].
var (
	roughTokens  = []string{"offset", "iterator", "cursor", "after", "marker", "bookmark", "moreurl"}
	roughOffsets = []string{"nextoffset", "nextstart", "nextskip", "nextstartat", "nextstartindex", "nextpagestart"}
)

// IsRoughNext reports whether a value may be a token of the next page, or its position, by a name that also has
// other meanings: the text under offset, iterator, cursor, after, marker or bookmark, or the number under next_offset, which some APIs
// send on every page. The text under more_url may lead to a description.
func (k Key) IsRoughNext(v any) bool {
	var buffer [maxBare]byte
	bare := string(appendBare(buffer[:0], string(k)))
	if slices.Contains(roughTokens, bare) {
		text, isText := v.(string)
		_, err := strconv.Atoi(text)
		return isText && err != nil
	}
	return slices.Contains(roughOffsets, bare)
}

// LinkTo returns the first link with one of the relations in a list of links, or a single link, such as
// {"rel": "next", "href": "/users?page=2"}. It returns nil if there is none.
func LinkTo(links any, relations ...any) any {
	list, isList := links.([]any)
	if !isList {
		list = []any{links}
	}
	for _, link := range list {
		object, _ := value.Members(link)
		for _, name := range []string{"rel", "relation", "name", "@rel"} {
			rel, _ := object.Get(name)
			if several, _ := rel.([]any); len(several) > 0 {
				rel = several[0]
			}
			if slices.Contains(relations, rel) {
				return link
			}
		}
	}
	return nil
}

// Unwrap returns the text of an element of XML that has attributes, or its value in an attribute, or the only element
// of a list that is neither an object nor a list, since all values of eBay are in lists. It returns any other value as
// it is.
func Unwrap(v any) any {
	if list, ok := v.([]any); ok && len(list) == 1 {
		if _, ok := value.Text(list[0]); ok {
			return list[0]
		}
	}
	object, _ := value.Members(v)
	for _, name := range []string{"#text", "@value"} {
		if text, ok := object.Get(name); ok {
			return text
		}
	}
	return v
}

// linkNames are the members of a link, or of an object in its place, that lead to another page.
var linkNames = []string{
	"href", "url", "uri", "page", "cursor", "token", "offset", "after", "starting_after", "link", "@href", "@url", "@id", "#text",
}

// NextIn returns the value that leads to the next page in an object under the key, such as {"href": "/users?page=2"}
// or, in HubSpot, {"after": "2"} under next, or nil if there is none. Under LastEvaluatedKey (DynamoDB), continue and
// query-continue (MediaWiki), any member leads there: the object is a key of a database, or has the parameters of the next request.
func (k Key) NextIn(object value.Object) any {
	for _, name := range linkNames {
		if v, ok := object.Get(name); ok {
			return v
		}
	}
	for len(object) > 0 && AlikeAny(string(k), []string{"lastEvaluatedKey", "continue", "queryContinue"}) {
		inner, ok := value.Members(object[0].Value)
		if !ok {
			return object[0].Value
		}
		object = inner
	}
	return nil
}

// NextParam returns the parameter whose next value the key names, in the key's spelling: since for
// next_since and position for nextPosition. It reports false for any other key.
func (k Key) NextParam() (param string, ok bool) {
	m := nextParamPattern().FindStringSubmatch(string(k))
	if m == nil {
		return "", false
	}
	if param = m[3]; m[1] == "next" && m[2] == "" {
		param = strings.ToLower(param[:1]) + param[1:]
	}
	return param, m[2] != "" || param[0] != m[3][0] || m[3][0] <= 'Z'
}

var nextParamPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(next|Next|NEXT)([_.-]?)(\w+)$`) })

// IsJQGridTotal reports whether total is the number of pages and records the number of items, as in responses
// for jqGrid. key is the key of total, and page the number of items on a full page.
func IsJQGridTotal(key string, total, records any, page int) bool {
	if !Alike(key, "total") {
		return false
	}
	pages, _, ok := Total(total)
	items, _, known := Total(records)
	return ok && known && page > 0 && items > pages && pages == (items+page-1)/page
}

// JQGridRecords is the key of the number of items next to a total that may be the number of pages. Its value
// has the meaning of a total only if [IsJQGridTotal] says so.
const JQGridRecords = "records"

// moneyNames are the bare names of members beside an amount, and amounts those that may also be numbers of items.
// pagingNames are those of members beside a number of items, whatever else is there.
var (
	moneyNames = setOf([]string{
		"currency", "currencycode", "subtotal", "tax", "taxes", "totaltax", "vat", "discount", "grandtotal", "net", "gross", "balance",
		"balancedue", "amountdue", "shipping", "shippingcost",
	})
	amounts = setOf([]string{
		"amount", "totalamount", "paid", "due", "price", "cost", "fee", "fees", "used", "free", "available", "capacity",
	})

	pagingNames = setOf([]string{
		"page", "pages", "pagenumber", "currentpage", "pagesize", "perpage", "limit", "offset", "skip", "start",
		"totalpages", "pagecount", "lastpage", "next", "nextpage", "hasmore", "cursor", "nextcursor",
	})
)

// IsMoney reports whether a total is an amount of money, or may be one, given the names of the members beside it.
func IsMoney(beside []string) (is, may bool) {
	among := func(set map[string]bool) bool {
		return slices.ContainsFunc(beside, func(name string) bool { return set[string(appendBare(nil, name))] })
	}
	if among(pagingNames()) {
		return false, false
	}
	return among(moneyNames()), among(amounts())
}

// IsSummand reports whether the key, in the elements of a list, is that of a number that a total beside the list may add
// up, as in the lines of an order.
func (k Key) IsSummand() bool {
	var buffer [maxBare]byte
	bare := appendBare(buffer[:0], string(k))
	return quantities()[string(bare)] || amounts()[string(bare)] || moneyNames()[string(bare)]
}

// quantities are bare names of numbers of units.
var quantities = setOf([]string{"quantity", "qty", "units", "unitprice", "linetotal", "total", "count", "value"})

// MayCountPage reports whether a total under the key may be the number of items on the page, because it is called a
// count: count, itemCount, X-Total-Count. A count of what a filter leaves is that of the list.
func (k Key) MayCountPage() bool {
	bare := string(appendBare(nil, string(k)))
	return strings.HasSuffix(bare, "count") && !strings.Contains(bare, "filter")
}

// SplitList returns the name of the list that a member under the key, beside it, describes, and which property of the list that is:
// members and odata.nextLink for members@odata.nextLink, files and truncated for files_truncated, comments and
// hasmore for has_more_comments. SplitList reports false for any other name.
func (k Key) SplitList() (list, sign string, ok bool) {
	if at := strings.IndexByte(string(k), '@'); at > 0 {
		return string(k)[:at], string(k)[at+1:], Key(string(k)[at+1:]).Hints() != nil
	}
	var buffer [maxBare]byte
	bare := appendBare(buffer[:0], string(k))
	if hintsByName()[string(bare)] != nil {
		return "", "", false
	}
	for _, sign := range []string{"istruncated", "truncated", "hasmore", "more"} {
		if list, ok := bytes.CutSuffix(bare, []byte(sign)); ok && len(list) > 0 {
			return string(list), sign, true
		}
	}
	for _, sign := range []string{"hasmore", "more"} {
		if list, ok := bytes.CutPrefix(bare, []byte(sign)); ok && len(list) > 0 {
			return string(list), sign, true
		}
	}
	return "", "", false
}

// CountsList reports whether a number under the key is that of the items of a list with the given name: total_users,
// users_count, total_users_count, release-group-count for release-groups.
func (k Key) CountsList(list string) bool {
	var one, two [maxBare]byte
	bare, items := appendBare(one[:0], string(k)), appendBare(two[:0], list)
	if bytes.HasSuffix(bare, []byte("count")) {
		bare = bytes.TrimPrefix(bare, []byte("total"))
	}
	rest, ok := bytes.CutPrefix(bare, items)
	if item := bytes.TrimSuffix(items, []byte("s")); !ok {
		rest, ok = bytes.CutPrefix(bare, item)
	}
	if !ok {
		rest, ok = bytes.CutSuffix(bare, items)
	}
	return ok && slices.Contains([]string{"total", "count", "totalcount", "num", "numberof"}, string(rest))
}

// HoldsHints reports whether the object under the key may hold hints.
func (k Key) HoldsHints() bool {
	var buffer [maxBare]byte
	return containers()[string(appendBare(buffer[:0], string(k)))]
}

// HoldsHintsIn is [Key.HoldsHints] for an object in the object under another key, which is "" in the root.
func (k Key) HoldsHintsIn(parent string) bool {
	var buffer [maxBare]byte
	return k.HoldsHints() || AlikeAny(parent, nestedIn[string(appendBare(buffer[:0], string(k)))])
}

// MayHold reports whether the value under a name in the object under the key may be a hint of a kind, if the object may hold
// hints (see [Key.HoldsHints]). The total of a summary or of statistics may be an amount, or count something else.
func (k Key) MayHold(name string, kind HintKind) bool {
	var buffer [maxBare]byte
	only := narrow[string(appendBare(buffer[:0], string(k)))]
	return only == "" || only == kind && (!AlikeAny(string(k), []string{"summary", "stats"}) || Key(name).IsPagingOnly())
}

// FlagKind returns what a flag under the key suggests: [HintMore], [HintLast] or an empty kind.
func (k Key) FlagKind() HintKind {
	var buffer [maxBare]byte
	return flagsByName()[string(appendBare(buffer[:0], string(k)))]
}

// flagsByName holds what flags suggest by their bare names.
var flagsByName = sync.OnceValue(func() map[string]HintKind {
	flags := map[string]HintKind{}
	for _, row := range hintTable {
		if row.kind == HintMore || row.kind == HintLast {
			for _, name := range slices.Concat(row.names, row.flags) {
				flags[name] = row.kind
			}
		}
	}
	return flags
})

// IsRoughTotal reports whether a number of items may be an estimate, or, by its key, may count something else.
func (k Key) IsRoughTotal(v any) bool {
	return slices.Contains(ambiguous, string(appendBare(nil, string(k)))) || k.IsEstimate(v)
}

// IsEstimate reports whether a number of items is an estimate by its key, or by a member beside it, as in {"value": 57,
// "relation": "approximate"}.
func (k Key) IsEstimate(v any) bool {
	if Alike(string(k), "estimatedTotalHits") {
		return true
	}
	object, _ := value.Members(v)
	return slices.ContainsFunc(object, func(m value.Member) bool {
		return m.Name == "relation" && m.Value != "eq" && m.Value != "gte" && m.Value != "gt" ||
			m.Value == true && Key(m.Name).Is(HintRough)
	})
}

// pagers are bare names that have no other meaning than a page of a list, unlike total or done.
var pagers = setOf([]string{
	"hasmore", "hasnext", "hasnextpage", "morerecords", "hasmorepage", "islast", "islastpage", "totalcount", "totalresults",
	"totalrecords", "totalelements", "totalsize", "totalhits", "odatacount", "nextpage", "nexturl", "nextpageurl", "nextlink",
	"nextpagetoken", "nexttoken", "nextcursor", "odatanextlink", "startat", "startindex", "maxresults", "perpage", "pagesize", "offset",
})

// IsPagingOnly reports whether the key has no other meaning than a page of a list.
func (k Key) IsPagingOnly() bool {
	var buffer [maxBare]byte
	return pagers()[string(appendBare(buffer[:0], string(k)))]
}

// Flag is the function [Flag] for the value under the key. If [Key.MayBeNumber] reports true, 0 and 1 are not flags.
func (k Key) Flag(v any) (flag, ok bool) {
	if text, _ := value.Text(v); (text == "0" || text == "1") && k.MayBeNumber() {
		return false, false
	}
	return Flag(v)
}

// Flag returns the value of a flag: a boolean, 1 or 0, or one of the texts true, yes, y and 1 and their
// opposites. It reports false for any other value.
func Flag(v any) (flag, ok bool) {
	text, _ := value.Text(v)
	text = strings.ToLower(text)
	yes := slices.Contains([]string{"true", "yes", "y", "1"}, text)
	return yes, yes || slices.Contains([]string{"false", "no", "n", "0"}, text)
}

// MayBeNumber reports whether the key of a flag may also be that of a number or a token: lastPage, next.
func (k Key) MayBeNumber() bool {
	return slices.ContainsFunc(k.Hints(), func(h Hint) bool { return h.Kind != HintMore && h.Kind != HintLast }) ||
		!k.Is(HintMore) && !k.Is(HintLast)
}

// Ungroup returns a total whose digits are in groups, or that has a zero after its point, as plain digits: 1000 for
// "1,000" and "1 000", 100 for "100.0". It returns any other value as it is: a point may separate groups or a fraction.
func Ungroup(v any) any {
	text, _ := v.(string)
	if grouped().MatchString(text) {
		return strings.TrimSuffix(strings.NewReplacer(",", "", " ", "", "\u00a0", "", "\u202f", "").Replace(text), ".0")
	}
	return v
}

var grouped = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[1-9]\d{0,2}(?:(?:,\d{3})+|(?:[ \x{a0}\x{202f}]\d{3})+)|\d+\.0)$`)
})

// Total returns a number of items or pages: an integer, an integer as text, or an object such as
// {"value": 25}. It reports in least whether there may be more, as in {"value": 10000, "relation":
// "gte"}, and in ok whether the value is such a number. An object with a currency is an amount of money.
func Total(v any) (n int, least, ok bool) {
	if object, isObject := value.Members(v); isObject {
		if isMoney, _ := IsMoney(lists.Map(object, func(m value.Member) string { return m.Name })); isMoney {
			return 0, false, false
		}
		v, _ = object.Get("value")
		relation, _ := object.Get("relation")
		least = relation == "gte" || relation == "gt"
	}
	text, _ := value.Text(v)
	n, err := strconv.Atoi(text)
	return n, least, err == nil && strconv.Itoa(n) == text && n >= 0
}
