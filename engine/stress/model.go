package stress

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules/value"
)

// An api is a model of the API that a job reads a list from. Behaviours change the model.
type api struct {
	*plan
	apiPartition
	apiHistory

	rows   []row        // current list, in order
	truth  []row        // rows that the run must obtain
	hidden map[int]bool // numbers of rows removed after the list was cut into pages; may be nil
	total  int          // length of the list as reported by the API; negative for the true length
	chosen bool         // whether the user has chosen the length of the list

	size int // page size

	effects []effect // effects of the behaviours, in the order in which they apply
	seed    int      // seed that varies the behaviours
	renews  bool     // whether each link or token is a new one
	losing  bool     // whether links lack the parameters of the first request
}

// An apiPartition describes the partition whose list the model has.
type apiPartition struct {
	job    *compile.Job
	offset int    // offset added to the numbers of the rows
	window *span  // window of the partition; nil if it has no window
	scope  string // job of the partition and the values of its variables other than windows
	bare   int    // number of the row whose item lacks the values that other jobs read
}

// An apiHistory holds the requests so far, with the facts that later answers depend on.
type apiHistory struct {
	exchanges  []exchange
	asked      request    // latest request
	firstQuery url.Values // parameters of the first request
	issued     []float64  // places in the list for which tokens were issued
	pending    func(*api) // change of the list before the next answer; may be nil
}

// A row is an item of the list.
type row struct {
	number int     // number that identifies the row
	at     float64 // position in the list; fractional for rows inserted later
	key    int     // key by which the list is sorted
}

// An exchange is a request, with the indexes at which its page and the next page begin.
type exchange struct {
	request request
	start   int
	next    int
	status  int
}

// A reply is the next answer of the API. A behaviour may change it.
type reply struct {
	nth   int // number of the request, from 1, not counting retries
	start int // index of the first row of the page
	rows  []row
	next  int // index of the first row of the next page, or -1 if there is no next page

	status  int // 200, or another status answered instead of a page
	text    string
	headers http.Header
	cut     bool           // whether the connection ends within the body
	said    map[string]any // values that replace the true ones, by the name of the meaning
	noList  bool           // whether the list itself is left out
	null    bool           // whether the list is null
	retyped bool           // whether identifiers are texts
	gzipped bool           // whether the body is compressed, and the compressed data cut off
	extra   value.Object   // further members of the response, which rules do not read
}

// last reports whether no page follows.
func (r *reply) last() bool { return r.next < 0 }

// page puts the page into the answer that begins at an index.
func (r *reply) page(a *api, start int) {
	end := min(start+a.size, len(a.rows))
	r.start, r.rows, r.next = start, a.rows[min(start, end):end], -1
	if end < len(a.rows) {
		r.next = end
	}
}

// visible returns the rows that the API does not leave out.
func (a *api) visible(rows []row) []row {
	return slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return a.hidden[r.number] })
}

// gone takes the place of a member that a reply leaves out.
type gone struct{}

// answer answers a request.
func (a *api) answer(q request) *reply {
	if change := a.pending; change != nil {
		a.pending = nil
		change(a)
	}
	start := a.locate(q)
	a.asked = q
	r := &reply{nth: a.pages() + 1, status: http.StatusOK, said: map[string]any{}}
	r.page(a, start)
	next := start + a.size
	if len(r.rows) == 0 && r.nth > 1 && a.beyond != 0 {
		r.status = a.beyond
	}
	for _, change := range a.effects {
		change(a, r)
	}
	if a.total >= 0 {
		r.said["total"] = a.total
	}
	r.rows = a.visible(r.rows)
	a.exchanges = append(a.exchanges, exchange{q, start, next, r.status})
	return r
}

// pages counts the exchanges that were answered with a page.
func (a *api) pages() int {
	n := 0
	for _, e := range a.exchanges {
		if e.status == http.StatusOK {
			n++
		}
	}
	return n
}

// locate returns the index of the first row of the page that is requested.
func (a *api) locate(q request) int {
	if !a.paged {
		return 0
	}
	return max(0, a.locator.locate(a, q))
}

// issue returns the number of a token for the page that begins at an index. The token of a
// place in the list is always the same. It stands for the last row before the page or, if tokens
// are positions, for the number of rows before it.
func (a *api) issue(start int) int {
	position := -1e9
	switch {
	case a.positional:
		position = float64(start)
	case start > 0:
		position = a.rows[min(start, len(a.rows))-1].at
	}
	if i := slices.Index(a.issued, position); i >= 0 && !a.renews {
		return i
	}
	a.issued = append(a.issued, position)
	return len(a.issued) - 1
}

// redeem returns the index of the page that a token is for. If tokens are positions, it is the position;
// otherwise the page begins after the row that was the last row when the token was issued, wherever that
// row is now.
func (a *api) redeem(token int) (start int, ok bool) {
	if token < 0 || token >= len(a.issued) {
		return 0, false
	}
	if a.positional {
		return min(int(a.issued[token]), len(a.rows)), true
	}
	start = slices.IndexFunc(a.rows, func(r row) bool { return r.at > a.issued[token] })
	if start < 0 {
		start = len(a.rows)
	}
	return start, true
}

// keyOf writes the key of a row.
func (p *plan) keyOf(r row) any { return p.keys.write(r.key) }

// item writes a row as an item.
func (p *plan) item(r row) any {
	if len(p.keyPaths) == 1 && len(p.keyPaths[0]) == 0 {
		return p.keyOf(r)
	}
	item := p.recording.item.With(identity, r.number).With("id", r.number)
	for _, path := range p.unique {
		if path[0] != identity && (len(path) > 1 || path[0] != "id") {
			item, _ = place(item, path, fmt.Sprintf("k%d", r.number)).(value.Object)
		}
	}
	for _, g := range p.references {
		if len(g.path) == 0 {
			return g.of(r)
		}
		item, _ = place(item, g.path, g.of(r)).(value.Object)
	}
	for _, path := range p.keyPaths {
		if len(path) > 0 {
			item, _ = place(item, path, p.keyOf(r)).(value.Object)
		}
	}
	return item
}

// bareItem writes a row as an item that lacks what other jobs read.
func (p *plan) bareItem(r row) any {
	item, full := value.Object{{Name: identity, Value: r.number}}, p.item(r)
	for _, path := range p.unique {
		if !slices.ContainsFunc(p.references, func(g reference) bool { return slices.Equal(g.path, path) }) {
			item, _ = place(item, path, at(full, path)).(value.Object)
		}
	}
	return item
}

// identity is the member of an item that tells which row it is. The member id tells it, too,
// unless it is the key of the list: most items have an identifier, which the audit compares.
const identity = "row"
