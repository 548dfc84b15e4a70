package stress

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// An api is a model of the API that a job reads a list from. A behaviour changes what it
// does.
type api struct {
	*plan
	rows []row // the list as it is now, in its order
	size int   // of a page

	usualSize int // of a page, in the configuration as it is

	job    *compile.Job // of a partition
	offset int          // is added to the numbers of the rows
	window *span        // of a partition; nil: it has none
	scope  string       // of a partition: the job and the values of its variables that are no windows
	total  int          // what the API says of the length of the list, if it is not negative
	bare   int          // number of a row whose item lacks what other jobs read

	hidden  func(row) bool       // rows that the API leaves out after it has cut the list into pages; nil: none
	answers []func(*api, *reply) // of the behaviours, in the order in which they change an answer

	truth     []row          // the rows that the run must obtain
	chosen    bool           // the user has chosen the length of the list
	seed      int            // varies what a behaviour does
	pending   func(*api)     // changes the list before the next answer; nil: nothing does
	marks     map[*byte]bool // of behaviours that happen once
	exchanges []exchange     // that were made
	issued    []float64      // positions of the tokens, which the list's rows are compared with
}

// A row is an item of the list.
type row struct {
	number int     // identifies it
	at     float64 // its position in the list; one that is inserted later has one between others
	key    int     // what it is sorted by
}

// An exchange is a request and where the page begins that answers it.
type exchange struct {
	request request
	start   int
	status  int
}

// A reply is what the API is about to answer. A behaviour may change it.
type reply struct {
	nth   int // of this request among those that are not retries of a failed one, from 1
	start int // index of the first row of the page
	rows  []row
	next  int // index of the first row of the next page; -1: there is none

	status  int // 200, or what is answered instead of a page
	text    string
	headers http.Header
	cut     bool           // the connection ends within the body
	said    map[string]any // by the name of a meaning: another value than the true one
	noList  bool           // the list itself is left out
}

// last reports whether no page follows.
func (r *reply) last() bool { return r.next < 0 }

// gone is a value of a place that is left out.
type gone struct{}

// answer answers a request.
func (a *api) answer(q request) *reply {
	if change := a.pending; change != nil {
		a.pending = nil
		change(a)
	}
	start := a.locate(q)
	r := &reply{nth: a.pages() + 1, start: start, next: -1, status: http.StatusOK, said: map[string]any{}}
	end := min(start+a.size, len(a.rows))
	if start < end {
		r.rows = a.rows[start:end]
	}
	if end < len(a.rows) && start < end {
		r.next = end
	}
	if len(r.rows) == 0 && r.nth > 1 && a.beyond != 0 {
		r.status = a.beyond
	}
	for _, change := range a.answers {
		change(a, r)
	}
	if a.total >= 0 {
		r.said["total"] = a.total
	}
	if a.hidden != nil {
		r.rows = slices.DeleteFunc(slices.Clone(r.rows), a.hidden)
	}
	a.exchanges = append(a.exchanges, exchange{q, start, r.status})
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
	if a.locator == nil { // the API remembers where it is
		if n := len(a.exchanges); n > 0 {
			last := a.exchanges[n-1]
			if last.status != http.StatusOK {
				return last.start
			}
			return last.start + a.size
		}
		return 0
	}
	return max(0, a.locator.locate(a, q))
}

// issue returns the number of a token for the page that begins at an index. The token of a
// place in the list is always the same.
func (a *api) issue(start int) int {
	at := -1e9
	if start > 0 {
		at = a.rows[min(start, len(a.rows))-1].at
	}
	if i := slices.Index(a.issued, at); i >= 0 {
		return i
	}
	a.issued = append(a.issued, at)
	return len(a.issued) - 1
}

// redeem returns the index of the page that a token is for: behind the row that was the
// last one when it was issued, wherever that is now.
func (a *api) redeem(token int) (start int, ok bool) {
	if token < 0 || token >= len(a.issued) {
		return 0, false
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
	item := p.like.item.With(identity, r.number).With("id", r.number)
	for _, g := range p.grafts {
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

// identity is the member of an item that tells which row it is. The member id tells it, too,
// unless it is the key of the list: most items have an identifier, which the audit compares.
const identity = "row"

// place returns a value with another one at a path in it. Objects and lists along the path
// are made.
func place(v any, path []string, inner any) any {
	if len(path) == 0 {
		return inner
	}
	if i, err := strconv.Atoi(path[0]); err == nil && i >= 0 && i < 100 {
		list, _ := v.([]any)
		for len(list) <= i {
			list = append(list, nil)
		}
		list[i] = place(list[i], path[1:], inner)
		return list
	}
	o, _ := v.(value.Object)
	had, _ := o.Get(path[0])
	return o.With(path[0], place(had, path[1:], inner))
}

// body writes the body of a page.
func (a *api) body(r *reply) ([]byte, error) {
	if r.text != "" || r.status == http.StatusNoContent {
		return []byte(r.text), nil
	}
	items := make([]any, len(r.rows))
	for i, row := range r.rows {
		if items[i] = a.item(row); row.number == a.bare && a.bare > 0 {
			items[i] = value.Object{{Name: identity, Value: row.number}}
		}
	}
	var root any = a.like.root
	switch {
	case a.single && len(items) > 0:
		root = items[0]
	case a.single || r.noList:
	case len(a.list) == 0:
		root = items
	default:
		root = place(root, a.list, wrap(items, a.stars))
	}
	if !r.noList && len(a.list) > 0 {
		for _, other := range a.others {
			if fixed := other.Fixed(); len(fixed) > 0 {
				root = place(root, fixed, wrap([]any{}, other.Steps[len(fixed):]))
			}
		}
	}
	for _, p := range a.places {
		if len(p.Path) == 0 {
			continue
		}
		v := a.value(p, r)
		if v == (gone{}) {
			continue
		}
		if _, isList := root.([]any); isList {
			return nil, fmt.Errorf("the response is a list, and the rules read %s", p.Place)
		}
		root = place(root, p.Path, v)
	}
	return value.Marshal(root)
}

// wrap puts items where the stars of a path of dataField find them.
func wrap(items []any, stars []rules.Step) any {
	var v any = items
	for _, s := range slices.Backward(stars) {
		if s.All {
			v = []any{v}
		} else {
			v = value.Object{{Name: s.Key, Value: v}}
		}
	}
	return v
}

// header writes the headers of a page.
func (a *api) header(r *reply) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	var links []*link // in the order of the rules
	for _, p := range a.places {
		if len(p.Path) > 0 {
			continue
		}
		text, ok := value.Text(a.value(p, r))
		switch {
		case !ok:
		case p.Header != "":
			h.Set(p.Header, text)
		default:
			links = withLink(links, p, text)
		}
	}
	for _, l := range links {
		if l.target == "" { // rules read nothing but its parameters
			l.target = "<" + a.linkTo(r.start) + ">"
		}
		h.Add("Link", fmt.Sprintf("%s%s; rel=%q", l.target, l.params, l.rel))
	}
	maps.Copy(h, r.headers)
	return h
}

// A link is a value of the header Link.
type link struct {
	rel    string
	target string // in angle brackets; empty: no rule reads it
	params string // each after a semicolon
}

// withLink adds the text of a place to the link that the place is in: as its target, or as one of
// its parameters.
func withLink(links []*link, p *meant, text string) []*link {
	i := slices.IndexFunc(links, func(l *link) bool { return l.rel == p.Link })
	if i < 0 {
		i, links = len(links), append(links, &link{rel: p.Link})
	}
	if p.Param == "" {
		links[i].target = "<" + text + ">"
	} else {
		links[i].params += fmt.Sprintf("; %s=%q", p.Param, text)
	}
	return links
}

// value returns what a place of a response has.
func (a *api) value(p *meant, r *reply) any {
	if v, ok := r.said[p.meaning.name]; ok {
		return v
	}
	if v, ok := r.said[p.meaning.kind]; ok {
		if at, isPage := v.(page); isPage {
			return p.meaning.of(a, r, int(at))
		}
		return v
	}
	return p.meaning.of(a, r, r.next)
}

// page is the index of a page, as a value of reply.said for what points to a page.
type page int

// linkTo returns an address of the page that begins at an index.
func (a *api) linkTo(start int) string {
	return a.base + "?" + tokenName + "=" + token(a.issue(start))
}

const tokenName = "position"

func token(n int) string { return fmt.Sprintf("%s%d", tokenPrefix, n) }

// tokenPrefix begins each token, so that it is found in a request.
const tokenPrefix = "tok-"

// tokenNumber is added to a token that is a number.
const tokenNumber = 70_000_000
