package stress

import (
	"net/http"
	"slices"

	"github.com/stopwhen/stopwhen/rules/value"
)

// A Behaviour is one thing that an API may do. It is a row of a table: with another row,
// every configuration is put under this stress, too.
type Behaviour struct {
	Name  string // "cappedPages"
	Group string // the heading that it stands under
	Says  string // what the API does, as a sentence

	needs needs
	items func(size int) int     // length of the list; nil: several pages
	begin func(a *api)           // before the first request; nil: nothing
	reply func(a *api, r *reply) // changes an answer; nil: none
}

func exactly(n int) func(int) int { return func(int) int { return n } }
func plus(n int) func(int) int    { return func(size int) int { return max(0, size+n) } }
func twoPages(size int) int       { return 2 * size }

// behaviours is the table of what an API may do, beyond the ordinary.
var behaviours = []Behaviour{
	{Name: "ordinary", Group: "length", Says: "The list has several pages, and the last one is short."},
	{Name: "noItems", Group: "length", Says: "The list is empty.", items: exactly(0)},
	{Name: "oneItem", Group: "length", Says: "The list has one item.", items: exactly(1)},
	{Name: "limitMinusOne", Group: "length", Says: "The list has one item less than a page.", items: plus(-1), needs: needs{paged: true}},
	{Name: "limit", Group: "length", Says: "The list has exactly one page.", items: plus(0), needs: needs{paged: true}},
	{Name: "limitPlusOne", Group: "length", Says: "The list has one item more than a page.", items: plus(1), needs: needs{paged: true}},
	{Name: "fullPages", Group: "length", Says: "The list has two full pages.", items: twoPages, needs: needs{paged: true}},

	{Name: "endEmptyPage", Group: "end", items: twoPages, needs: needs{paged: true}, reply: unaware(nil),
		Says: "The last full page does not say that it is the last; the page after it is empty."},
	{Name: "end204", Group: "end", items: twoPages, needs: needs{paged: true}, reply: unaware(status(http.StatusNoContent, "")),
		Says: "The page after the last one is 204 No Content."},
	{Name: "end400", Group: "end", items: twoPages, needs: needs{paged: true}, reply: unaware(status(http.StatusBadRequest, errorBody)),
		Says: "The page after the last one is 400 Bad Request."},
	{Name: "end404", Group: "end", items: twoPages, needs: needs{paged: true}, reply: unaware(status(http.StatusNotFound, errorBody)),
		Says: "The page after the last one is 404 Not Found."},
	{Name: "endLastAgain", Group: "end", items: twoPages, needs: needs{paged: true},
		reply: unaware(again(func(a *api) int { return len(a.rows) - a.size })),
		Says:  "After the last page comes the last page again."},
	{Name: "endFirstAgain", Group: "end", items: twoPages, needs: needs{paged: true}, reply: unaware(again(func(*api) int { return 0 })),
		Says: "After the last page comes the first page again."},
	{Name: "endNoList", Group: "end", items: twoPages, needs: needs{paged: true}, reply: unaware(func(_ *api, r *reply) { r.noList = true }),
		Says: "The page after the last one has no list."},
	{Name: "endNull", Group: "end", needs: needs{kind: pointer}, reply: endsWith(nil),
		Says: "On the last page, the link or token is null."},
	{Name: "endAbsent", Group: "end", needs: needs{kind: pointer}, reply: endsWith(gone{}),
		Says: "On the last page, the link or token is absent."},
	{Name: "endEmptyText", Group: "end", needs: needs{kind: pointer}, reply: endsWith(""),
		Says: "On the last page, the link or token is an empty text."},
	{Name: "endFalse", Group: "end", needs: needs{kind: pointer}, reply: endsWith(false),
		Says: "On the last page, the link or token is false."},
	{Name: "endPointsToItself", Group: "end", needs: needs{kind: pointer}, reply: lastPointsTo(func(r *reply) int { return r.start }),
		Says: "The last page has its own link or token, for ever."},
	{Name: "endPointsToFirst", Group: "end", needs: needs{kind: pointer}, reply: lastPointsTo(func(*reply) int { return 0 }),
		Says: "The last page has a link or a token of the first page."},

	{Name: "cappedPages", Group: "page size", needs: needs{paged: true, limit: true}, begin: capped,
		Says: "The API caps its pages at half of the limit."},
	{Name: "largerPages", Group: "page size", needs: needs{paged: true, limit: true}, begin: size(func(n int) int { return 2 * n }),
		Says: "The API ignores the limit, and its pages have twice as many items."},
	{Name: "limitOffByOneLess", Group: "page size", needs: needs{paged: true, limit: true},
		begin: size(func(n int) int { return max(1, n-1) }),
		Says:  "Pages have one item less than the limit."},
	{Name: "limitOffByOneMore", Group: "page size", needs: needs{paged: true, limit: true}, begin: size(func(n int) int { return n + 1 }),
		Says: "Pages have one item more than the limit."},
	{Name: "emptyPageInTheMiddle", Group: "page size", needs: needs{paged: true}, begin: hide(func(_, _ int) bool { return true }),
		Says: "The API filters its pages, and nothing is left of the second one."},
	{Name: "shortPageInTheMiddle", Group: "page size", needs: needs{paged: true},
		begin: hide(func(i, n int) bool { return i%2 == 1 || n == 1 }),
		Says:  "The API filters its pages, and the second one is short."},

	{Name: "insertedAtTheStart", Group: "changes", needs: needs{paged: true}, reply: afterFirst(insert),
		Says: "After the first page, an item is inserted at the start of the list."},
	{Name: "deletedFromTheStart", Group: "changes", needs: needs{paged: true}, reply: afterFirst(remove),
		Says: "After the first page, one of its items is deleted."},
	{Name: "movedToTheEnd", Group: "changes", needs: needs{paged: true, changing: true}, reply: afterFirst(move),
		Says: "After the first page, one of its items moves to the end of the list, as after an update."},
	{Name: "equalKeys", Group: "changes", needs: needs{keys: true, changing: true}, begin: tie(1),
		Says: "The last item of a page and the first of the next one have the same key."},
	{Name: "equalKeysOnAPage", Group: "changes", needs: needs{keys: true, changing: true}, begin: tiePage,
		Says: "More items than a page has have the same key."},

	{Name: "tokenExpires", Group: "tokens", needs: needs{tokens: true}, reply: onPage(3, status(http.StatusBadRequest, errorBody)),
		Says: "The token of the third page has expired (400)."},
	{Name: "tokenGone", Group: "tokens", needs: needs{tokens: true}, reply: onPage(3, status(http.StatusGone, errorBody)),
		Says: "The token of the third page has expired (410)."},
	{Name: "tokenLost", Group: "tokens", needs: needs{kind: pointer}, reply: onPage(2, says(pointer, gone{})),
		Says: "The second page has no link or token, although it is not the last."},

	{Name: "flagAbsent", Group: "flags", Says: "The flag is absent.", needs: needs{kind: flag}, reply: says(flag, gone{})},
	{Name: "flagNull", Group: "flags", Says: "The flag is null.", needs: needs{kind: flag}, reply: says(flag, nil)},
	{Name: "flagText", Group: "flags", Says: "The flag is a text: \"true\" or \"false\".", needs: needs{kind: flag}, reply: spelled},
	{Name: "flagAbsentAtTheEnd", Group: "flags", needs: needs{kind: flag}, reply: onLast(says(flag, gone{})),
		Says: "The flag is absent on the last page."},
	{Name: "flagLostInTheMiddle", Group: "flags", needs: needs{kind: flag}, reply: onPage(2, says(flag, gone{})),
		Says: "The flag is absent on the second page, which is not the last."},

	{Name: "totalTooHigh", Group: "totals", needs: needs{kind: amount}, reply: counted(3),
		Says: "The total is higher than the number of items."},
	{Name: "totalTooLow", Group: "totals", needs: needs{kind: amount}, reply: counted(-1),
		Says: "The total is lower than the number of items."},
	{Name: "totalZero", Group: "totals", needs: needs{kind: amount}, reply: says(amount, 0),
		Says: "The total is 0."},
	{Name: "totalAbsent", Group: "totals", needs: needs{kind: amount}, reply: says(amount, gone{}),
		Says: "The total is absent."},

	{Name: "tooManyRequestsOnce", Group: "errors", reply: once(status(http.StatusTooManyRequests, errorBody)),
		Says: "One request is answered with 429 Too Many Requests."},
	{Name: "tooManyRequests", Group: "errors", reply: from(status(http.StatusTooManyRequests, errorBody)),
		Says: "Requests are answered with 429 Too Many Requests, for ever."},
	{Name: "serverErrorOnce", Group: "errors", reply: once(status(http.StatusInternalServerError, errorBody)),
		Says: "One request is answered with 500 Internal Server Error."},
	{Name: "serverError", Group: "errors", reply: from(status(http.StatusInternalServerError, errorBody)),
		Says: "Requests are answered with 500 Internal Server Error, for ever."},
	{Name: "unauthorized", Group: "errors", reply: from(status(http.StatusUnauthorized, errorBody)),
		Says: "Requests are answered with 401 Unauthorized after the first page."},
	{Name: "cutOnce", Group: "errors", Says: "One response is cut off.", reply: once(func(_ *api, r *reply) { r.cut = true })},
	{Name: "cut", Group: "errors", Says: "Responses are cut off, for ever.", reply: from(func(_ *api, r *reply) { r.cut = true })},
	{Name: "html", Group: "errors", Says: "A page is HTML, with status 200.", reply: from(html)},
	{Name: "errorBody", Group: "errors", Says: "A page is an error in JSON, with status 200.", reply: from(status(http.StatusOK, errorBody))},
	{Name: "emptyBody", Group: "errors", Says: "A page is an empty object, with status 200.", reply: from(status(http.StatusOK, "{}"))},
	{Name: "noList", Group: "errors", Says: "A page that is not the last lacks the list.", needs: needs{paged: true},
		reply: onPage(2, func(_ *api, r *reply) { r.rows, r.noList = nil, true })},

	{Name: "pagingIgnored", Group: "parameters", needs: needs{paged: true, located: true}, reply: func(a *api, r *reply) { repeat(a, r, 0) },
		Says: "The API ignores the parameters that page through the list: every page is the first one."},
}

// errorBody is how many APIs describe an error.
const errorBody = `{"error":{"code":1,"message":"something went wrong"}}`

// status answers with a status and a body.
func status(code int, body string) func(*api, *reply) {
	return func(_ *api, r *reply) { r.status, r.text, r.rows = code, body, nil }
}

// html answers with a page for people.
func html(_ *api, r *reply) {
	r.text, r.rows = "<!DOCTYPE html><html><body><h1>Sign in</h1></body></html>", nil
	r.headers = http.Header{"Content-Type": {"text/html; charset=utf-8"}}
}

// unaware lets the last page say that there is another one, and answers the request for it.
func unaware(beyond func(*api, *reply)) func(*api, *reply) {
	return func(a *api, r *reply) {
		switch {
		case len(r.rows) > 0 && r.last() && r.start+len(r.rows) == len(a.rows):
			r.next = len(a.rows)
		case r.start >= len(a.rows) && len(a.rows) > 0 && beyond != nil:
			r.status = http.StatusOK
			beyond(a, r)
		}
	}
}

// again answers with a page that was there before, which still says that there is another.
func again(start func(*api) int) func(*api, *reply) {
	return func(a *api, r *reply) {
		r.start = max(0, start(a))
		r.rows = a.rows[r.start:min(r.start+a.size, len(a.rows))]
		r.next = len(a.rows)
	}
}

// repeat answers with the page that begins at an index.
func repeat(a *api, r *reply, start int) {
	r.start = start
	end := min(start+a.size, len(a.rows))
	r.rows, r.next = a.rows[start:end], -1
	if end < len(a.rows) {
		r.next = end
	}
}

// says sets the values of one kind.
func says(kind string, v any) func(*api, *reply) {
	return func(_ *api, r *reply) { r.said[kind] = v }
}

// onLast changes the last page.
func onLast(change func(*api, *reply)) func(*api, *reply) {
	return func(a *api, r *reply) {
		if r.last() && r.status == http.StatusOK {
			change(a, r)
		}
	}
}

func endsWith(v any) func(*api, *reply) { return onLast(says(pointer, v)) }

// lastPointsTo lets the last page lead to another one.
func lastPointsTo(start func(*reply) int) func(*api, *reply) {
	return onLast(func(a *api, r *reply) {
		if len(r.rows) == 0 {
			return
		}
		r.next = start(r)
		r.said[pointer] = page(start(r))
	})
}

// onPage changes the page of a number.
func onPage(n int, change func(*api, *reply)) func(*api, *reply) {
	return func(a *api, r *reply) {
		if r.nth == n {
			change(a, r)
		}
	}
}

// faultAt is the page on which errors begin: the second, or that of the seed.
func (a *api) faultAt() int {
	if !a.paged {
		return 1
	}
	return 2 + a.seed%2
}

// once changes the first answer for the page on which errors begin.
func once(change func(*api, *reply)) func(*api, *reply) {
	mark := new(byte)
	return func(a *api, r *reply) {
		if r.nth == a.faultAt() && a.first(mark) {
			change(a, r)
		}
	}
}

// from changes all answers from the page on which errors begin.
func from(change func(*api, *reply)) func(*api, *reply) {
	return func(a *api, r *reply) {
		if r.nth >= a.faultAt() {
			change(a, r)
		}
	}
}

// first reports whether it is called for the first time with a mark.
func (a *api) first(mark *byte) bool {
	if a.marks[mark] {
		return false
	}
	if a.marks == nil {
		a.marks = map[*byte]bool{}
	}
	a.marks[mark] = true
	return true
}

// size sets the page size of the API.
func size(of func(limit int) int) func(*api) {
	return func(a *api) { a.size = of(a.pageSize) }
}

// capped caps the pages at half of the limit that the configuration sets.
func capped(a *api) { a.size = min(a.size, max(1, a.usualSize/2)) }

// hide leaves rows of the second page out, by their index on it.
func hide(which func(i, n int) bool) func(*api) {
	return func(a *api) {
		hidden := map[int]bool{}
		for i := a.size; i < min(2*a.size, len(a.rows)); i++ {
			if which(i-a.size, a.size) {
				hidden[a.rows[i].number] = true
			}
		}
		a.hidden = func(r row) bool { return hidden[r.number] }
		a.truth = slices.DeleteFunc(slices.Clone(a.truth), a.hidden)
	}
}

// afterFirst changes the list after the first page was answered.
func afterFirst(change func(*api)) func(*api, *reply) {
	mark := new(byte)
	return func(a *api, r *reply) {
		if r.nth == 1 && r.status == http.StatusOK && a.first(mark) {
			r.rows = slices.Clone(r.rows)
			a.pending = change
		}
	}
}

func insert(a *api) {
	key := -1
	if a.keys.descending {
		key = len(a.rows)
	}
	n := len(a.rows) + 1000
	if a.scalar() {
		n = key + 1
	}
	a.rows = slices.Insert(slices.Clone(a.rows), 0, row{number: n, at: -1, key: key})
}

func remove(a *api) {
	gone := a.rows[0]
	a.rows = slices.Clone(a.rows[1:])
	a.truth = slices.DeleteFunc(slices.Clone(a.truth), func(r row) bool { return r.number == gone.number })
}

func move(a *api) {
	moved := a.rows[0]
	last := a.rows[len(a.rows)-1]
	moved.at = last.at + 1
	if !a.scalar() {
		moved.key = last.key + 1
		if a.keys.descending {
			moved.key = last.key - 1
		}
	}
	a.rows = append(slices.Clone(a.rows[1:]), moved)
}

// tie gives the first rows of the second page the key of the last row of the first.
func tie(n int) func(*api) {
	return func(a *api) {
		for i := a.size; i < min(a.size+n, len(a.rows)); i++ {
			a.rows[i].key = a.rows[a.size-1].key
		}
		a.truth = slices.Clone(a.rows)
	}
}

func tiePage(a *api) {
	for i := range min(a.size+1, len(a.rows)) {
		a.rows[i].key = a.rows[0].key
	}
	a.truth = slices.Clone(a.rows)
}

// spelled writes flags as texts.
func spelled(a *api, r *reply) {
	for _, p := range a.places {
		if p.meaning.kind == flag {
			text, _ := value.Text(p.meaning.of(a, r, r.next))
			r.said[p.meaning.name] = text
		}
	}
}

// counted adds to what says how long the list is.
func counted(more int) func(*api, *reply) {
	return func(a *api, r *reply) {
		for _, p := range a.places {
			if n, ok := p.meaning.of(a, r, r.next).(int); ok && p.meaning.kind == amount {
				r.said[p.meaning.name] = n + more
			}
		}
	}
}
