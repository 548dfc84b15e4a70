package stress

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A Behaviour is something that an API may do. Each row of the table applies to every
// configuration. The expectation is the same for all rows: the job obtains the list, or reports
// that it did not.
type Behaviour struct {
	Name  string // "cappedPages"
	Group string // heading of its group
	Says  string // sentence that describes what the API does

	needs []need             // requirements, all of which must be met
	items func(size int) int // length of the list; nil for a list of several pages
	begin func(a *api)       // called before the first request; may be nil
	reply effect             // effect on each answer; may be nil

	trees func(t *tree) bool                // in the group partitions: reports whether it makes a difference; nil if it always does
	build func(r *treeRun, a *api, nth int) // in the group partitions: changes the API of the nth partition of a job

	splits bool   // in the group partitions: splitting windows may fix it
	advice string // in the group partitions: what to do if no change fixes it; empty: remove duplicates
}

// A need is a requirement on a configuration without which a behaviour makes no difference.
type need struct {
	otherwise string // reason for leaving the behaviour out
	met       func(p *plan) bool
}

var (
	needPages      = need{"the job makes one request", func(p *plan) bool { return p.paged }}
	needLinks      = needRead(pointer, "the rules read no link or token")
	needFlags      = needRead(flag, "the rules read no flag")
	needAmounts    = needRead(amount, "the rules read no total or number of pages")
	needItemCounts = need{"the rules read no number of items", func(p *plan) bool {
		return slices.ContainsFunc(p.signals, func(s *signal) bool {
			return s.meaning.kind == amount && s.meaning.name != "pages" && s.meaning.name != "list"
		})
	}}
	needKeys         = need{"requests do not name the key of an item", func(p *plan) bool { return p.locator.kind == byKey }}
	needMovableItems = need{"the list is sorted by an identifier", func(p *plan) bool { return !p.byIdentifier() }}
	needTokens       = need{"requests carry no token or link", func(p *plan) bool { return p.locator.kind == byToken }}
	needOpaqueTokens = need{"the recording shows that links and tokens are positions", func(p *plan) bool { return !p.positional }}
	needWrapper      = need{"the response itself is the list, or an item", func(p *plan) bool { return len(p.list) > 0 && !p.single }}
	needManyItems    = need{"a page has one item", func(p *plan) bool { return !p.single && p.pageSize > 1 }}
	needNoKeys       = need{"requests name the key of an item", func(p *plan) bool { return p.locator.kind != byKey }}
	needAddresses    = need{"no value is the address of the next page", func(p *plan) bool {
		return slices.ContainsFunc(p.signals, func(s *signal) bool { return s.meaning.name == "link" })
	}}
	needLines   = need{"a response is not read line by line", func(p *plan) bool { return p.lines }}
	needLimit   = need{"the configuration says no page size", func(p *plan) bool { return p.limited }}
	needLocator = need{"requests do not say which page they are for", func(p *plan) bool { return p.locator.kind != unknown }}
)

// needRead returns the need that rules read a value of a kind.
func needRead(k string, otherwise string) need {
	return need{otherwise, func(p *plan) bool { return p.signal(k) != nil }}
}

// byIdentifier reports whether the list is sorted by the identifiers of its items, which are
// unique and do not change.
func (p *plan) byIdentifier() bool {
	return p.locator.kind == byKey && slices.ContainsFunc(p.keyPaths, func(path []string) bool {
		return len(path) == 0 || apinames.IsIdentifier(path[len(path)-1])
	})
}

// lengthGroup is the group of behaviours that say only how long the list is. A model must obtain every
// one of these lists.
const lengthGroup = "length"

// ordinary is the behaviour of an API with which every job must obtain its list.
var ordinary = &Behaviour{Name: "ordinary", Group: lengthGroup, Says: "The list has several pages, and the last one is short."}

// behaviours is the table of behaviours of an API.
var behaviours = []*Behaviour{
	ordinary,
	{Name: "noItems", Group: lengthGroup, Says: "The list is empty.", items: exactly(0)},
	{Name: "oneItem", Group: lengthGroup, Says: "The list has one item.", items: exactly(1)},
	{Name: "limitMinusOne", Group: lengthGroup, Says: "The list has one item less than a page.", items: plus(-1), needs: []need{needPages}},
	{Name: "limit", Group: lengthGroup, Says: "The list has exactly one page.", items: plus(0), needs: []need{needPages}},
	{Name: "limitPlusOne", Group: lengthGroup, Says: "The list has one item more than a page.", items: plus(1), needs: []need{needPages}},
	{Name: "fullPages", Group: lengthGroup, Says: "The list has two full pages.", items: twice, needs: []need{needPages}},

	{Name: "endEmptyPage", Group: "end", items: twice, needs: []need{needPages}, reply: tooFar(nil),
		Says: "The last full page does not say that it is the last; the page after it is empty."},
	{Name: "end204", Group: "end", items: twice, needs: []need{needPages}, reply: tooFar(status(http.StatusNoContent, "")),
		Says: "The page after the last one is 204 No Content."},
	{Name: "end400", Group: "end", items: twice, needs: []need{needPages}, reply: tooFar(status(http.StatusBadRequest, errorBody)),
		Says: "The page after the last one is 400 Bad Request."},
	{Name: "end404", Group: "end", items: twice, needs: []need{needPages}, reply: tooFar(status(http.StatusNotFound, errorBody)),
		Says: "The page after the last one is 404 Not Found."},
	{Name: "endLastAgain", Group: "end", items: twice, needs: []need{needPages},
		reply: tooFar(again(func(a *api) int { return len(a.rows) - a.size })),
		Says:  "After the last page comes the last page again."},
	{Name: "endFirstAgain", Group: "end", items: twice, needs: []need{needPages}, reply: tooFar(again(func(*api) int { return 0 })),
		Says: "After the last page comes the first page again."},
	{Name: "endNoList", Group: "end", items: twice, needs: []need{needPages}, reply: tooFar(func(_ *api, r *reply) { r.noList = true }),
		Says: "The page after the last one has no list."},
	{Name: "endNull", Group: "end", needs: []need{needLinks}, reply: onLast(says(pointer, nil)),
		Says: "On the last page, the link or token is null."},
	{Name: "endAbsent", Group: "end", needs: []need{needLinks}, reply: onLast(says(pointer, gone{})),
		Says: "On the last page, the link or token is absent."},
	{Name: "endEmptyText", Group: "end", needs: []need{needLinks}, reply: onLast(says(pointer, "")),
		Says: "On the last page, the link or token is an empty text."},
	{Name: "endFalse", Group: "end", needs: []need{needLinks}, reply: onLast(says(pointer, false)),
		Says: "On the last page, the link or token is false."},
	{Name: "endPointsToItself", Group: "end", needs: []need{needLinks}, reply: leadsTo(func(r *reply) int { return r.start }),
		Says: "The last page has its own link or token, again and again."},
	{Name: "endPointsToFirst", Group: "end", needs: []need{needLinks}, reply: leadsTo(func(*reply) int { return 0 }),
		Says: "The last page has a link or a token of the first page."},
	{Name: "endEmptyPages", Group: "end", needs: []need{needLinks}, begin: renewing, reply: followed,
		Says: "After the last page come empty pages without end, each with a new link or token."},

	{Name: "cappedPages", Group: "page size", needs: []need{needPages, needLimit}, begin: capped,
		Says: "The API caps its pages at half of the limit."},
	{Name: "largerPages", Group: "page size", needs: []need{needPages, needLimit}, begin: sized(twice),
		Says: "The API ignores the limit, and its pages have twice as many items."},
	{Name: "limitOffByOneLess", Group: "page size", needs: []need{needPages, needLimit},
		begin: sized(plus(-1)),
		Says:  "Pages have one item less than the limit."},
	{Name: "limitOffByOneMore", Group: "page size", needs: []need{needPages, needLimit}, begin: sized(plus(1)),
		Says: "Pages have one item more than the limit."},
	{Name: "emptyPageInTheMiddle", Group: "page size", needs: []need{needPages}, begin: filtered(func(_, _ int) bool { return true }),
		Says: "The API filters its pages, and nothing is left of the second one."},
	{Name: "shortPageInTheMiddle", Group: "page size", needs: []need{needPages},
		begin: filtered(func(i, n int) bool { return i%2 == 1 || n == 1 }),
		Says:  "The API filters its pages, and the second one is short."},
	{Name: "smallerPagesLater", Group: "page size", items: several, needs: []need{needPages, needLimit}, reply: afterPage(2, halved),
		Says: "After the second page, the API lowers its page size to half."},
	{Name: "listCapped", Group: "page size", items: several, needs: []need{needPages}, begin: cutToTwoPages,
		Says: "The API has no page beyond the second one, although the list goes on; totals say the same."},
	{Name: "emptyAnswer", Group: "page size", needs: []need{needPages}, reply: onPage(2, emptied),
		Says: "A page is answered with an empty list that seems to be the end, as some APIs do when there are too many requests."},
	{Name: "nullList", Group: "page size", needs: []need{needPages, needWrapper},
		reply: onPage(2, func(_ *api, r *reply) { r.rows, r.null = nil, true }),
		Says:  "The list of a page that is not the last is null."},

	{Name: "insertedAtTheStart", Group: "changes", needs: []need{needPages}, reply: afterFirst(inserted),
		Says: "After the first page, an item is inserted at the start of the list."},
	{Name: "deletedFromTheStart", Group: "changes", needs: []need{needPages}, reply: afterFirst(deleted),
		Says: "After the first page, one of its items is deleted."},
	{Name: "movedToTheEnd", Group: "changes", needs: []need{needPages, needMovableItems}, reply: afterFirst(moved),
		Says: "After the first page, one of its items moves to the end of the list, as after an update."},
	{Name: "newOrder", Group: "changes", needs: []need{needPages, needMovableItems, needNoKeys}, begin: counting, reply: reordered,
		Says: "Every response has the items in another order."},
	{Name: "staleReplica", Group: "changes", needs: []need{needPages}, reply: onPage(2, stale),
		Says: "A page comes from a copy of the list that lacks its newest items."},
	{Name: "cachedPage", Group: "changes", needs: []need{needPages}, reply: onPage(2, firstPage),
		Says: "A cache answers the request for the second page with the first page."},
	{Name: "itemTwiceOnAPage", Group: "changes", needs: []need{needManyItems}, begin: doubled,
		Says: "An item is on a page twice."},
	{Name: "idBecomesText", Group: "changes", needs: []need{needPages}, reply: retyped,
		Says: "From the second page on, the identifiers of items are texts instead of numbers."},
	{Name: "insertedBeforePosition", Group: "changes", needs: []need{needTokens, needOpaqueTokens},
		begin: counting, reply: afterFirst(inserted),
		Says: "Links or tokens are positions in the list; after the first page, an item is inserted at its start."},
	{Name: "deletedBeforePosition", Group: "changes", needs: []need{needTokens, needOpaqueTokens},
		begin: counting, reply: afterFirst(deleted),
		Says: "Links or tokens are positions in the list; after the first page, one of its items is deleted."},
	{Name: "equalKeys", Group: "changes", needs: []need{needKeys, needMovableItems}, begin: tied(plus(-1)),
		Says: "The last item of a page and the first of the next one have the same key."},
	{Name: "equalKeysOnAPage", Group: "changes", needs: []need{needKeys, needMovableItems}, begin: tied(exactly(0)),
		Says: "More items than a page has have the same key."},
	{Name: "sortedByAnotherKey", Group: "changes", needs: []need{needKeys}, begin: unsorted,
		Says: "The list is sorted by another key than the one that requests name."},
	{Name: "cursorDeleted", Group: "changes", needs: []need{needKeys}, reply: beganAgain,
		Says: "The item that a request names is deleted, and the API begins again with the first page."},

	{Name: "tokenExpires", Group: "tokens", needs: []need{needTokens}, reply: onPage(3, status(http.StatusBadRequest, errorBody)),
		Says: "The token of the third page has expired (400)."},
	{Name: "tokenGone", Group: "tokens", needs: []need{needTokens}, reply: onPage(3, status(http.StatusGone, errorBody)),
		Says: "The token of the third page has expired (410)."},
	{Name: "tokenLost", Group: "tokens", needs: []need{needLinks}, reply: onPage(2, says(pointer, gone{})),
		Says: "The second page has no link or token, although it is not the last."},
	{Name: "tokenWorksOnce", Group: "tokens", needs: []need{needTokens}, reply: onlyOnce,
		Says: "A token works only once (400), and a response is cut off."},
	{Name: "linkOtherHost", Group: "tokens", needs: []need{needAddresses},
		reply: altered(pointer, withAddress(func(u *url.URL) { u.Host = "other.example.net" })),
		Says:  "Links lead to another host."},
	{Name: "linkOtherScheme", Group: "tokens", needs: []need{needAddresses}, reply: altered(pointer, withAddress(otherScheme)),
		Says: "Links have http instead of https, or https instead of http."},
	{Name: "linkLosesLimit", Group: "tokens", needs: []need{needAddresses, needLimit},
		begin: func(a *api) { a.losing = true }, reply: afterPage(1, halved),
		Says: "Links lack the limit, so that later pages have half of the items."},

	{Name: "flagAbsent", Group: "flags", Says: "The flag is absent.", needs: []need{needFlags}, reply: says(flag, gone{})},
	{Name: "flagNull", Group: "flags", Says: "The flag is null.", needs: []need{needFlags}, reply: says(flag, nil)},
	{Name: "flagText", Group: "flags", Says: "The flag is a text: \"true\" or \"false\".", needs: []need{needFlags},
		reply: altered(flag, spelled)},
	{Name: "flagAbsentAtTheEnd", Group: "flags", needs: []need{needFlags}, reply: onLast(says(flag, gone{})),
		Says: "The flag is absent on the last page."},
	{Name: "flagLostInTheMiddle", Group: "flags", needs: []need{needFlags}, reply: onPage(2, says(flag, gone{})),
		Says: "The flag is absent on the second page, which is not the last."},

	{Name: "totalTooHigh", Group: "totals", needs: []need{needAmounts}, reply: counted(3),
		Says: "The total is higher than the number of items."},
	{Name: "totalTooLow", Group: "totals", needs: []need{needAmounts, needPages}, reply: withoutLastPage,
		Says: "The total lacks the last page: it is that of the pages before it."},
	{Name: "totalOneLess", Group: "totals", needs: []need{needItemCounts}, reply: counted(-1),
		Says: "The total is one less than the number of items."},
	{Name: "totalZero", Group: "totals", needs: []need{needAmounts}, reply: says(amount, 0),
		Says: "The total is 0."},
	{Name: "totalNull", Group: "totals", needs: []need{needAmounts}, reply: says(amount, nil),
		Says: "The total is null."},
	{Name: "totalAbsent", Group: "totals", needs: []need{needAmounts}, reply: says(amount, gone{}),
		Says: "The total is absent."},

	{Name: "tooManyRequestsOnce", Group: "errors", reply: once(status(http.StatusTooManyRequests, errorBody)),
		Says: "One request is answered with 429 Too Many Requests."},
	{Name: "tooManyRequests", Group: "errors", reply: from(status(http.StatusTooManyRequests, errorBody)),
		Says: "Every request is answered with 429 Too Many Requests."},
	{Name: "retryAfterADay", Group: "errors", reply: once(refusesForADay),
		Says: "One request is answered with 429 Too Many Requests, to be repeated after a day."},
	{Name: "serverErrorOnce", Group: "errors", reply: once(status(http.StatusInternalServerError, errorBody)),
		Says: "One request is answered with 500 Internal Server Error."},
	{Name: "serverError", Group: "errors", reply: from(status(http.StatusInternalServerError, errorBody)),
		Says: "Every request is answered with 500 Internal Server Error."},
	{Name: "unauthorized", Group: "errors", reply: from(status(http.StatusUnauthorized, errorBody)),
		Says: "Requests are answered with 401 Unauthorized after the first page."},
	{Name: "cutOnce", Group: "errors", Says: "One response is cut off.", reply: once(cutOff)},
	{Name: "cut", Group: "errors", Says: "Every response is cut off.", reply: from(cutOff)},
	{Name: "gzipCut", Group: "errors", Says: "One response is compressed, and the compressed data is cut off.",
		reply: once(func(_ *api, r *reply) { r.gzipped = true })},
	{Name: "html", Group: "errors", Says: "A page is HTML, with status 200.", reply: from(html)},
	{Name: "errorBody", Group: "errors", Says: "A page is an error in JSON, with status 200.",
		reply: from(status(http.StatusOK, errorBody))},
	{Name: "emptyBody", Group: "errors", Says: "A page is an empty object, with status 200.", reply: from(status(http.StatusOK, "{}"))},
	{Name: "linesCut", Group: "errors", needs: []need{needLines, needManyItems}, reply: linesCut,
		Says: "A page of lines lacks half of them: the connection ended between two lines, and the response has no length."},
	{Name: "noList", Group: "errors", Says: "A page that is not the last lacks the list.", needs: []need{needPages},
		reply: onPage(2, withoutList)},
	{Name: "acceptedOnce", Group: "errors", reply: once(status(http.StatusAccepted, `{"status":"pending"}`)),
		Says: "One request is answered with 202 Accepted: the page is not ready."},
	{Name: "partialContent", Group: "errors", needs: []need{needPages},
		reply: onPage(2, func(_ *api, r *reply) { r.status = http.StatusPartialContent }),
		Says:  "A page is answered with 206 Partial Content."},
	{Name: "errorsBesideData", Group: "errors", needs: []need{needPages, needWrapper},
		reply: onPage(2, half(value.Member{Name: "errors", Value: []any{value.ObjectOf("message", "some items could not be read")}})),
		Says:  "A page lacks half of its items, and has errors beside them."},
	{Name: "partialResults", Group: "errors", needs: []need{needPages, needWrapper},
		reply: onPage(2, half(value.Member{Name: "incomplete_results", Value: true}, value.Member{Name: "timed_out", Value: true})),
		Says:  "A page lacks half of its items, and a flag says so: incomplete_results, timed_out."},

	{Name: "pagingIgnored", Group: "parameters", needs: []need{needPages, needLocator}, reply: firstPage,
		Says: "The API ignores the parameters that page through the list: every page is the first one."},
}

// PartitionBehaviours returns the table of behaviours that concern partitions.
func PartitionBehaviours() []Behaviour { return clones(treeBehaviours) }

// Behaviours returns the table of behaviours of a list, in its order.
func Behaviours() []Behaviour { return clones(behaviours) }

func clones(table []*Behaviour) []Behaviour {
	return lists.Map(table, func(b *Behaviour) Behaviour { return *b })
}
