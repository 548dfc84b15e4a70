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

// SignKind says what a value means for the list.
type SignKind string

// The kinds of signs.
const (
	SignTotal SignKind = "total" // the number of items
	SignPages SignKind = "pages" // the number of pages
	SignNext  SignKind = "next"  // a link or a token
	SignMore  SignKind = "more"  // true: there is more
	SignLast  SignKind = "last"  // true: there is no more
	SignRough SignKind = "rough" // true: the number of items is an estimate
	SignExact SignKind = "exact" // false: the number of items is an estimate

	SignPrevious SignKind = "previous" // true: there are pages before this one; see [Key.PlaceKind]
	SignFirst    SignKind = "first"    // true: there are none
	SignBack     SignKind = "back"     // a link to the page before
	SignSize     SignKind = "size"     // the number of items of a full page
)

// placeSigns are the bare names under which responses describe their own page: its place in the list, and the size
// of a full page. Such names have other meanings, too, so that they are not in signTable.
var placeSigns = sync.OnceValue(func() map[string]SignKind {
	names := map[string]SignKind{
		"hasprevious": SignPrevious, "haspreviouspage": SignPrevious, "hasprev": SignPrevious, "hasprevpage": SignPrevious,
		"first": SignFirst, "isfirst": SignFirst, "isfirstpage": SignFirst, "firstpage": SignFirst,
		"limit": SignSize, "perpage": SignSize, "pagesize": SignSize, "pagelimit": SignSize, // maxResults may be the number of items
	}
	for _, name := range previousNames {
		names[name] = SignBack
	}
	return names
})

// PlaceKind returns what the key says about the page that has it: [SignPrevious], [SignFirst], [SignSize], [SignBack] or
// an empty kind.
func (k Key) PlaceKind() SignKind {
	var buffer [maxBare]byte
	return placeSigns()[string(appendBare(buffer[:0], string(k)))]
}

// signTable lists the names under which responses describe their lists, in the root, next to the items, and
// in the objects that containers names. All names are bare: hasMore, has_more and ns:Has-More are hasmore; see
// [appendBare].
var signTable = []struct {
	kind  SignKind
	names []string
	flags []string // more names of flags; without a rule that reads them they are not signs
}{
	{SignTotal, slices.Concat([]string{
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
	{SignPages, []string{"totalpages", "totalpage", "pagecount", "pagestotal", "pagetotal", "numpages", "nbpages", "lastpage", "pages",
		"totalnumberofpages", "totalpagecount", "numberofpages", "pagescount", "lastpagenumber", "totalpagenum",
		"totaldepaginas", "totalpaginas"}, nil},
	{SignNext, slices.Concat([]string{
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
	{SignMore, slices.Concat([]string{
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
	{SignLast, slices.Concat([]string{
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
	{SignRough, []string{
		"approximate", "isapproximate", "totalapproximate", "totalisapproximate", "estimated", "isestimated", "isestimate", "estimate",
		"totalestimated", "totalisestimated", "totalisestimate", "istotalestimated", "countestimated", "countisestimated",
	}, nil},
	{SignExact, []string{
		"exhaustivenbhits", // Algolia
		"numfoundexact",    // Solr
		"isexact", "totalexact", "totalisexact", "istotalexact", "countisexact", "totalcountexact", "istotalcountexact",
	}, nil},
}

// nouns are words for an item, and places words for where the next page is, of which signTable makes names.
var (
	nouns  = []string{"item", "result", "record", "row", "element", "hit", "object", "resource"}
	places = []string{"url", "uri", "href", "path", "link"}
)

// join returns each word between two texts.
func join(before string, words []string, after string) []string {
	return lists.Map(words, func(word string) string { return before + word + after })
}

// containers are the bare names of the objects in which signs are, too.
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

// narrow has the containers whose names have other meanings, too, with the only kind of signs in them.
var narrow = map[string]SignKind{
	"view": SignNext, "context": SignTotal, "header": SignTotal, "headers": SignTotal, "attributes": SignTotal, "stats": SignTotal,
	"properties": SignMore, "extra": SignMore, "navigation": SignNext, "summary": SignTotal,
}

// ambiguous are bare names of totals that some APIs use for another number: totalSize may be a number
// of bytes.
var ambiguous = []string{"totalsize", "matches"}

// SignHeader is a header that may say something about the list of a response.
type SignHeader struct {
	Name  string
	Kind  SignKind
	Range bool // the value is a range and a total: items 0-9/57
	JSON  bool // the value is an object in JSON, whose member is the sign: {"TotalCount": 57}
}

// ValueOf returns the sign in the value of the header, or nil if there is none. A range of bytes is
// no sign.
func (h SignHeader) ValueOf(v any) any {
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

// Member returns the first member that is the sign in the value of a header with JSON, and its value, with
// integers as int. Both are zero if there is no such member.
func (h SignHeader) Member(text string) (key string, v any) {
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

var signHeaders = []SignHeader{
	{Name: "X-Total-Count", Kind: SignTotal}, {Name: "X-Total", Kind: SignTotal}, {Name: "X-WP-Total", Kind: SignTotal},
	{Name: "Total-Count", Kind: SignTotal}, {Name: "X-Pagination-Total", Kind: SignTotal},
	{Name: "X-Pagination-Total-Count", Kind: SignTotal},
	{Name: "X-Total-Items", Kind: SignTotal}, {Name: "X-Total-Results", Kind: SignTotal}, {Name: "Total", Kind: SignTotal},
	{Name: "Pagination-Count", Kind: SignTotal}, {Name: "X-Total-Elements", Kind: SignTotal},
	{Name: "Content-Range", Kind: SignTotal, Range: true},
	{Name: "X-Total-Pages", Kind: SignPages}, {Name: "X-WP-TotalPages", Kind: SignPages},
	{Name: "Total-Pages", Kind: SignPages}, {Name: "X-Pagination-Page-Count", Kind: SignPages},
	{Name: "X-Next-Page", Kind: SignNext}, {Name: "X-Next-Token", Kind: SignNext}, {Name: "X-Next-Cursor", Kind: SignNext},
	{Name: "X-MS-Continuation", Kind: SignNext}, {Name: "Opc-Next-Page", Kind: SignNext}, {Name: "X-Continuation-Token", Kind: SignNext},
	{Name: "X-MS-ContinuationToken", Kind: SignNext}, {Name: "X-Continuation", Kind: SignNext}, {Name: "Sforce-Locator", Kind: SignNext},
	{Name: "X-Next-Page-Token", Kind: SignNext}, {Name: "Next-Page", Kind: SignNext}, {Name: "X-Truncated", Kind: SignMore},
	{Name: "X-Result-Truncated", Kind: SignMore}, {Name: "X-Results-Truncated", Kind: SignMore},
	{Name: "X-Page-Count", Kind: SignPages}, {Name: "X-Pages", Kind: SignPages}, {Name: "X-Record-Count", Kind: SignTotal},
	{Name: "X-Has-More", Kind: SignMore}, {Name: "Next-Cursor", Kind: SignNext}, {Name: "X-Next-Link", Kind: SignNext},
	{Name: pagingHeader, Kind: SignTotal, JSON: true}, {Name: pagingHeader, Kind: SignPages, JSON: true},
	{Name: pagingHeader, Kind: SignMore, JSON: true},
	{Name: "Pagination", Kind: SignTotal, JSON: true}, {Name: "Pagination", Kind: SignPages, JSON: true},
	{Name: "Paging-Headers", Kind: SignTotal, JSON: true}, {Name: "Paging-Headers", Kind: SignPages, JSON: true},
	{Name: "CMR-Hits", Kind: SignTotal}, {Name: "X-PW-TOTAL", Kind: SignTotal},
	{Name: "X-Nomad-Nexttoken", Kind: SignNext}, {Name: "X-Next-ID", Kind: SignNext},
	{Name: "X-MS-Continuation-NextPartitionKey", Kind: SignNext}, {Name: "X-MS-Continuation-NextRowKey", Kind: SignNext},
	{Name: "Next-Range", Kind: SignNext}, {Name: "After-Cursor", Kind: SignNext}, {Name: "X-Next-Row-Number", Kind: SignNext},
	{Name: "X-Next-URL", Kind: SignNext}, {Name: "X-Next-Page-URL", Kind: SignNext}, {Name: "X-Next-Marker", Kind: SignNext},
	{Name: "X-Next", Kind: SignNext}, {Name: "X-Pagination-Next-Page", Kind: SignNext}, {Name: "X-Pagination-Next-Cursor", Kind: SignNext},
	{Name: "X-Pagination-Has-More", Kind: SignMore}, {Name: "X-HasMore", Kind: SignMore}, {Name: "X-Is-Last-Page", Kind: SignLast},
	{Name: "X-TotalCount", Kind: SignTotal}, {Name: "X-Total-Records", Kind: SignTotal}, {Name: "X-Total-Entries", Kind: SignTotal},
	{Name: "X-Total-Rows", Kind: SignTotal}, {Name: "X-Result-Count", Kind: SignTotal}, {Name: "X-Container-Object-Count", Kind: SignTotal},
	{Name: "X-Paging-TotalRecordCount", Kind: SignTotal}, {Name: "X-Paging-PageCount", Kind: SignPages},
	{Name: "X-Pagination-Total-Pages", Kind: SignPages}, {Name: "X-Pagination-Pages", Kind: SignPages},
	{Name: "X-TotalPages", Kind: SignPages}, {Name: "X-Total-Page", Kind: SignPages},
	{Name: "X-Page-Total", Kind: SignPages}, {Name: "X-Last-Page", Kind: SignPages},
	{Name: "X-Per-Page", Kind: SignSize}, // GitLab
}

// SignHeaders returns the headers of all signs. The list must not be changed.
func SignHeaders() []SignHeader { return signHeaders }

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

// A Sign is what a key means for its list. Signs with a smaller rank come first if there are several of one kind.
type Sign struct {
	Kind SignKind
	Rank int
}

// Signs returns the meanings of the key, which are several if the key of a number and that of a flag
// are alike. The list must not be changed.
func (k Key) Signs() []Sign {
	var buffer [maxBare]byte
	return signsByName()[string(appendBare(buffer[:0], string(k)))]
}

// signsByName holds the meanings by bare names.
var signsByName = sync.OnceValue(func() map[string][]Sign {
	signs := map[string][]Sign{}
	for _, row := range signTable {
		for rank, name := range row.names {
			if !slices.ContainsFunc(signs[name], func(s Sign) bool { return s.Kind == row.kind }) {
				signs[name] = append(signs[name], Sign{row.kind, rank})
			}
		}
	}
	return signs
})

// Is reports whether the key has a meaning of [Key.Signs].
func (k Key) Is(kind SignKind) bool {
	return slices.ContainsFunc(k.Signs(), func(s Sign) bool { return s.Kind == kind })
}

// SignNames returns the bare names of a kind. The list must not be changed.
func SignNames(kind SignKind) []string {
	for _, row := range signTable {
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

// IsNextPageNumber reports whether a number under the key, which points to the next page, is a page number.
func (k Key) IsNextPageNumber() bool {
	return strings.HasSuffix(string(appendBare(nil, string(k))), "nextpage")
}

// MayBeSign reports whether a value under the key may describe a list or a page of it: the key has a meaning of
// [Key.Signs], [Key.FlagKind], [Key.PlaceKind] or [Key.IsRoughNext].
func (k Key) MayBeSign() bool {
	var buffer [maxBare]byte
	return describing()[string(appendBare(buffer[:0], string(k)))]
}

// describing has the bare names of values that may describe a list or a page of it.
var describing = sync.OnceValue(func() map[string]bool {
	names := setOf(slices.Concat(roughTokens, roughOffsets))()
	for name := range signsByName() {
		names[name] = true
	}
	for name := range flagsByName() {
		names[name] = true
	}
	for name := range placeSigns() {
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
		return string(k)[:at], string(k)[at+1:], Key(string(k)[at+1:]).Signs() != nil
	}
	var buffer [maxBare]byte
	bare := appendBare(buffer[:0], string(k))
	if signsByName()[string(bare)] != nil {
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

// HoldsSigns reports whether the object under the key may hold signs.
func (k Key) HoldsSigns() bool {
	var buffer [maxBare]byte
	return containers()[string(appendBare(buffer[:0], string(k)))]
}

// HoldsSignsIn is [Key.HoldsSigns] for an object in the object under another key, which is "" in the root.
func (k Key) HoldsSignsIn(parent string) bool {
	var buffer [maxBare]byte
	return k.HoldsSigns() || AlikeAny(parent, nestedIn[string(appendBare(buffer[:0], string(k)))])
}

// MayHold reports whether the value under a name in the object under the key may be a sign of a kind, if the object may hold
// signs (see [Key.HoldsSigns]). The total of a summary or of statistics may be an amount, or count something else.
func (k Key) MayHold(name string, kind SignKind) bool {
	var buffer [maxBare]byte
	only := narrow[string(appendBare(buffer[:0], string(k)))]
	return only == "" || only == kind && (!AlikeAny(string(k), []string{"summary", "stats"}) || Key(name).IsPagingOnly())
}

// FlagKind returns what a flag under the key suggests: [SignMore], [SignLast] or an empty kind.
func (k Key) FlagKind() SignKind {
	var buffer [maxBare]byte
	return flagsByName()[string(appendBare(buffer[:0], string(k)))]
}

// flagsByName holds what flags suggest by their bare names.
var flagsByName = sync.OnceValue(func() map[string]SignKind {
	flags := map[string]SignKind{}
	for _, row := range signTable {
		if row.kind == SignMore || row.kind == SignLast {
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
			m.Value == true && Key(m.Name).Is(SignRough)
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
	return slices.ContainsFunc(k.Signs(), func(s Sign) bool { return s.Kind != SignMore && s.Kind != SignLast }) ||
		!k.Is(SignMore) && !k.Is(SignLast)
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
