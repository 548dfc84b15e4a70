package stress

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/stopwhen/stopwhen/rules/value"
)

// An effect changes the next answer of the API.
type effect func(a *api, r *reply)

// These functions return the length of a list, or the size of its pages, for a page size.

func exactly(n int) func(size int) int { return func(int) int { return n } }
func plus(n int) func(size int) int    { return func(size int) int { return max(0, size+n) } }
func twice(size int) int               { return 2 * size }

// several is the length of a list of four pages and a half.
func several(size int) int { return 4*size + shortPage(size) }

// shortPage is the number of items of a page that is about half full. Half of a large page would be a size
// to which APIs lower their pages, which the audit reports.
func shortPage(size int) int {
	if size >= 20 {
		return size/2 - 1
	}
	return max(1, size/2)
}

// errorBody is the body with which many APIs describe an error.
const errorBody = `{"error":{"code":1,"message":"something went wrong"}}`

// status answers with a status and a body.
func status(code int, body string) effect {
	return func(_ *api, r *reply) { r.status, r.text, r.rows = code, body, nil }
}

// html answers with an HTML page.
func html(_ *api, r *reply) {
	r.text, r.rows = "<!DOCTYPE html><html><body><h1>Sign in</h1></body></html>", nil
	r.headers = http.Header{"Content-Type": {"text/html; charset=utf-8"}}
}

// withoutList leaves out the list, but not the other members of the response.
func withoutList(_ *api, r *reply) { r.rows, r.noList = nil, true }

// cutOff ends the connection within the body.
func cutOff(_ *api, r *reply) { r.cut = true }

// firstPage answers with the first page.
func firstPage(a *api, r *reply) { r.page(a, 0) }

// tooFar makes the last page announce another page. The effect beyond changes the answer to the request for
// that page, which is an empty page if beyond is nil.
func tooFar(beyond effect) effect {
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

// again answers with the page that begins at an index, and announces another page.
func again(start func(*api) int) effect {
	return func(a *api, r *reply) {
		r.page(a, max(0, start(a)))
		r.next = len(a.rows)
	}
}

// says sets the values of a kind: link or token, flag, or amount.
func says(kind string, v any) effect { return altered(kind, func(any) any { return v }) }

// altered changes the values of a kind.
func altered(kind string, change func(v any) any) effect {
	return func(a *api, r *reply) {
		for _, signal := range a.signals {
			if signal.meaning.kind == kind {
				r.said[signal.meaning.name] = change(signal.meaning.value(a, r, r.next))
			}
		}
	}
}

// counted adds to the numbers that say how long the list is.
func counted(more int) effect {
	return altered(amount, func(v any) any {
		if n, ok := v.(int); ok {
			return n + more
		}
		return v
	})
}

// withoutLastPage reports totals as if the list lacked its last page.
func withoutLastPage(a *api, r *reply) {
	all := a.rows
	a.rows = all[:max(0, len(all)-1)/a.size*a.size]
	altered(amount, func(v any) any { return v })(a, r)
	a.rows = all
}

// spelled returns a flag as a text.
func spelled(v any) any {
	text, _ := value.Text(v)
	return text
}

// onLast changes the last page.
func onLast(change effect) effect {
	return func(a *api, r *reply) {
		if r.last() && r.status == http.StatusOK {
			change(a, r)
		}
	}
}

// leadsTo makes the last page lead to another one.
func leadsTo(start func(*reply) int) effect {
	return onLast(func(_ *api, r *reply) {
		if len(r.rows) > 0 {
			r.next = start(r)
		}
	})
}

// onPage changes the nth page.
func onPage(n int, change effect) effect {
	return func(a *api, r *reply) {
		if r.nth == n {
			change(a, r)
		}
	}
}

// faultAt returns the page on which errors begin: the second page, or a page that the seed
// selects.
func (a *api) faultAt() int {
	if !a.paged {
		return 1
	}
	return 2 + a.seed%2
}

// once changes only the first answer for the page on which errors begin, but not the answers to
// retries.
func once(change effect) effect {
	return func(a *api, r *reply) {
		n := len(a.exchanges)
		if r.nth == a.faultAt() && (n == 0 || a.exchanges[n-1].status == http.StatusOK) {
			change(a, r)
		}
	}
}

// from changes all answers from the page on which errors begin.
func from(change effect) effect {
	return func(a *api, r *reply) {
		if r.nth >= a.faultAt() {
			change(a, r)
		}
	}
}

// sized sets the page size of the API, which follows from the limit of the configuration.
func sized(size func(limit int) int) func(*api) {
	return func(a *api) { a.size = max(1, size(a.pageSize)) }
}

// counting makes links and tokens positions in the list.
func counting(a *api) { a.positional = true }

// capped caps the pages at half of the limit that the configuration sets.
func capped(a *api) { a.size = max(1, a.pageSize/2) }

// filtered leaves out rows of the second page. hidden selects them by their index on the page, which has
// size rows.
func filtered(hidden func(i, size int) bool) func(*api) {
	return func(a *api) {
		a.hide(func(i int) bool { return i >= a.size && i < 2*a.size && hidden(i-a.size, a.size) })
	}
}

// hide leaves out rows of all pages. hidden selects them by their index in the list.
func (a *api) hide(hidden func(i int) bool) {
	a.hidden = map[int]bool{}
	for i, r := range a.rows {
		a.hidden[r.number] = hidden(i)
	}
	a.truth = a.visible(a.truth)
}

// tied gives all rows from the selected one to the first row of the second page the same key.
func tied(first func(size int) int) func(*api) {
	return func(a *api) {
		for i := first(a.size); i <= a.size && i < len(a.rows); i++ {
			a.rows[i].key = a.rows[first(a.size)].key
		}
		a.truth = slices.Clone(a.rows)
	}
}

// afterFirst changes the list after the first page was answered, unless it is empty.
func afterFirst(change func(*api)) effect {
	return func(a *api, r *reply) {
		if r.nth == 1 && r.status == http.StatusOK && len(a.rows) > 0 {
			a.pending = change
		}
	}
}

// inserted puts a new row before the first one.
func inserted(a *api) {
	key := -1
	if a.keys.descending {
		key = len(a.rows)
	}
	number := len(a.rows) + 1000 // no other row has it
	if a.scalar() {
		number = key + 1
	}
	a.rows = slices.Insert(slices.Clone(a.rows), 0, row{number: number, at: -1, key: key})
}

// deleted deletes the first row.
func deleted(a *api) {
	removed := a.rows[0]
	a.rows = slices.Clone(a.rows[1:])
	a.truth = slices.DeleteFunc(slices.Clone(a.truth), func(r row) bool { return r.number == removed.number })
}

// moved moves the first row to the end.
func moved(a *api) {
	r, last := a.rows[0], a.rows[len(a.rows)-1]
	r.at = last.at + 1
	if !a.scalar() {
		r.key = last.key + 1
		if a.keys.descending {
			r.key = last.key - 1
		}
	}
	a.rows = append(slices.Clone(a.rows[1:]), r)
}

// renewing makes every link and token a new one.
func renewing(a *api) { a.renews = true }

// followed makes the last page, and each page after it, announce another page.
func followed(a *api, r *reply) {
	if r.last() && r.status == http.StatusOK {
		r.next = len(a.rows)
	}
}

// afterPage changes the list or its pages after the nth page was answered.
func afterPage(n int, change func(*api)) effect {
	return func(a *api, r *reply) {
		if r.nth == n && r.status == http.StatusOK {
			a.pending = change
		}
	}
}

// halved lowers the page size to half.
func halved(a *api) { a.size = max(1, a.size/2) }

// cutToTwoPages makes the API know only the first two pages of the list.
func cutToTwoPages(a *api) { a.rows = a.rows[:min(2*a.size, len(a.rows))] }

// emptied answers with an empty page that announces no other one.
func emptied(_ *api, r *reply) { r.rows, r.next = nil, -1 }

// reordered reverses the list after each answer.
func reordered(a *api, _ *reply) {
	a.pending = func(a *api) {
		a.rows = slices.Clone(a.rows)
		slices.Reverse(a.rows)
	}
}

// stale answers with half of the page, as if the list ended there.
func stale(a *api, r *reply) {
	r.rows, r.next = r.rows[:len(r.rows)/2], -1
	items := r.start + len(r.rows)
	r.said["total"], r.said["pages"], r.said["left"] = items, (items+a.size-1)/a.size, 0
}

// doubled puts the first item on its page twice.
func doubled(a *api) {
	if len(a.rows) == 0 {
		return
	}
	duplicate := a.rows[0]
	duplicate.at += 0.5
	a.rows = slices.Insert(slices.Clone(a.rows), 1, duplicate)
	if !a.paged {
		a.size = len(a.rows)
	}
}

// retyped writes identifiers as texts from the second page on.
func retyped(_ *api, r *reply) { r.retyped = r.nth > 1 }

// unsorted puts an item of the second page last on the first one.
func unsorted(a *api) {
	i := a.size + a.size/2
	if i >= len(a.rows) || a.size < 2 {
		return
	}
	early := a.rows[i]
	a.rows = slices.Insert(slices.Delete(slices.Clone(a.rows), i, i+1), a.size-1, early)
	for i := range a.rows {
		a.rows[i].at = float64(i)
	}
}

// beganAgain deletes the last item of the first page, and answers the next request with the first page.
func beganAgain(a *api, r *reply) {
	switch {
	case r.nth == 1 && r.status == http.StatusOK && len(a.rows) > a.size:
		a.pending = func(a *api) {
			removed := a.rows[a.size-1]
			a.rows = slices.Delete(slices.Clone(a.rows), a.size-1, a.size)
			a.truth = slices.DeleteFunc(slices.Clone(a.truth), func(r row) bool { return r.number == removed.number })
		}
	case r.nth == 2:
		r.page(a, 0)
	}
}

// onlyOnce cuts a response off, and refuses the request when it is repeated.
func onlyOnce(a *api, r *reply) {
	n := len(a.exchanges)
	once(cutOff)(a, r)
	if !r.cut && n > 0 && r.start > 0 && a.exchanges[n-1].start == r.start && len(r.rows) > 0 {
		status(http.StatusBadRequest, errorBody)(a, r)
	}
}

// withAddress returns a function that changes the address in a link. Other values stay as they are.
func withAddress(change func(*url.URL)) func(any) any {
	return func(v any) any {
		text, _ := v.(string)
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return v
		}
		change(u)
		return u.String()
	}
}

// otherScheme changes http to https, and https to http.
func otherScheme(u *url.URL) {
	if u.Scheme == "https" {
		u.Scheme = "http"
	} else {
		u.Scheme = "https"
	}
}

// refusesForADay refuses a request and asks to wait for a day.
func refusesForADay(a *api, r *reply) {
	status(http.StatusTooManyRequests, errorBody)(a, r)
	r.headers = http.Header{"Retry-After": {"86400"}}
}

// half leaves out half of the items of a page, and adds members to the response.
func half(members ...value.Member) effect {
	return func(_ *api, r *reply) { r.rows, r.extra = r.rows[:len(r.rows)/2], members }
}

// linesCut leaves out the second half of the page on which errors begin: the last items of the list if it has one page.
func linesCut(a *api, r *reply) {
	if r.nth == a.faultAt() {
		r.rows = r.rows[:len(r.rows)/2]
	}
}
