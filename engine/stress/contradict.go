package stress

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A recordedPage is a page of a recording.
type recordedPage struct {
	Sample
	body   any
	items  []any
	count  int // number of its items
	before int // number of items on the pages before it
}

// add adds the next page.
func (r *recording) add(p recordedPage) {
	if n := len(r.pages); n > 0 {
		p.before = r.pages[n-1].before + r.pages[n-1].count
	}
	r.pages = append(r.pages, p)
}

// read returns the value at a place of the page, and whether there is one.
func (p recordedPage) read(place compile.ResponseValue) (v any, ok bool) {
	switch {
	case place.Header != "":
		values := p.Header.Values(place.Header)
		return strings.Join(values, ", "), len(values) > 0
	case place.Link != "":
		return nil, false // links are understood without a recording
	}
	return value.At(p.body, place.Path)
}

// A reading is the value of a place on each page of the recording that has it.
type reading struct {
	pages  []recordedPage // pages that have a value
	values []any
	all    []recordedPage
}

// reading returns the values of a place.
func (r recording) reading(place compile.ResponseValue) reading {
	out := reading{all: r.pages}
	for _, p := range r.pages {
		if v, ok := p.read(place); ok {
			out.pages, out.values = append(out.pages, p), append(out.values, v)
		}
	}
	return out
}

// shows says which values a place has on the first pages.
func (r recording) shows(place compile.ResponseValue) string {
	const most = 3
	var pages []string
	for i, p := range r.pages[:min(most, len(r.pages))] {
		text := "absent"
		if v, ok := p.read(place); ok {
			text = value.Preview(v)
		}
		pages = append(pages, fmt.Sprintf("%s on %s", text, r.pageName(i)))
	}
	return fmt.Sprintf("%s is %s", place, strings.Join(pages, ", "))
}

// pageName names a page by its number and its request.
func (r recording) pageName(i int) string {
	name := fmt.Sprintf("page %d", i+1)
	if request := r.pages[i].Request; request != "" {
		name += " (" + request + ")"
	}
	return name
}

// standsStill says how the recording shows that the API does not remember which page comes next, or returns "".
// It does if the request that the rules make for page 2 got page 1 again, or if page 2 was requested in another
// way.
func (r recording) standsStill() string {
	switch {
	case len(r.pages) < 2:
		return ""
	case r.pages[1].Other:
		return fmt.Sprintf("%s was requested in another way", r.pageName(1))
	case r.pages[0].count > 0 && reflect.DeepEqual(r.pages[0].items, r.pages[1].items):
		return fmt.Sprintf("%s has the items of %s again", r.pageName(1), r.pageName(0))
	}
	return ""
}

// contradicts reports whether the recording shows that a place does not have a meaning. A recording
// without pages contradicts nothing.
func (r recording) contradicts(place compile.ResponseValue, m meaning) bool {
	if len(r.pages) == 0 || place.Link != "" {
		return false
	}
	earlier := r.reading(place)
	if m.fits != nil {
		return !m.fits(earlier)
	}
	switch m.kind {
	case pointer:
		return !earlier.points(m)
	case flag:
		if further, spelt := m.value(nil, nil, 0).(string); spelt {
			last, _ := m.value(nil, nil, -1).(string)
			return !earlier.spells(further, last)
		}
		return !earlier.flags(m.name == "last")
	}
	return !earlier.constant() || value.Preview(earlier.first()) != value.Preview(m.value(nil, nil, 0))
}

// These methods report whether the values may have the meaning that they are named after.

func (r reading) total() bool {
	last := r.all[len(r.all)-1]
	return r.each(func(n int, _ recordedPage) bool { return n >= last.before+last.count })
}

func (r reading) pageCount() bool {
	last, largest := r.all[len(r.all)-1], 0
	for _, p := range r.all {
		largest = max(largest, p.count)
	}
	return r.each(func(n int, _ recordedPage) bool { return n >= len(r.all) && n*largest >= last.before+last.count })
}

func (r reading) index() bool {
	first, _ := numberIn(r.first())
	return r.each(func(n int, p recordedPage) bool { return first <= 1 && n-first == p.before })
}

func (r reading) size() bool {
	return r.constant() && r.each(func(n int, p recordedPage) bool { return n >= p.count })
}

func (r reading) counts() bool {
	return r.each(func(n int, p recordedPage) bool { return n == p.count })
}

func (r reading) left() bool {
	first, _ := numberIn(r.first())
	return r.each(func(n int, p recordedPage) bool {
		return first-n == p.before+p.count-r.pages[0].before-r.pages[0].count
	})
}

func (r reading) lists() bool {
	return len(r.values) > 0 && !slices.ContainsFunc(r.values, func(v any) bool { return !listForm(v) })
}

// first returns the first value, or nil.
func (r reading) first() any {
	if len(r.values) == 0 {
		return nil
	}
	return r.values[0]
}

// each reports whether there are values, and all are numbers that fit their pages.
func (r reading) each(fits func(n int, p recordedPage) bool) bool {
	for i, v := range r.values {
		if n, ok := numberIn(v); !ok || !fits(n, r.pages[i]) {
			return false
		}
	}
	return len(r.values) > 0
}

// numberedFrom returns a function that reports whether the values are the numbers of their pages, from first on.
func numberedFrom(first int) func(reading) bool {
	return func(r reading) bool {
		return r.each(func(n int, p recordedPage) bool {
			return n-first == slices.IndexFunc(r.pages, func(q recordedPage) bool { return q.before == p.before })
		})
	}
}

// constant reports whether there are values, and all are equal.
func (r reading) constant() bool {
	return len(r.values) > 0 && !slices.ContainsFunc(r.values, func(v any) bool { return value.Preview(v) != value.Preview(r.values[0]) })
}

// points reports whether the values may lead to the next page, as a pointer does. A value that is the same on
// several pages does not.
func (r reading) points(m meaning) bool {
	var leading []any
	for _, v := range r.values {
		if !value.Empty(v) {
			leading = append(leading, v)
		}
	}
	if leading == nil { // the list may have one page
		return len(r.all) == 1
	}
	counts := m.name == "number" && r.counts()
	if len(leading) > 1 && (counts || reading{values: leading}.constant()) {
		return false
	}
	return !slices.ContainsFunc(leading, func(v any) bool { return !m.leads(v) })
}

func linkForm(v any) bool {
	text, _ := v.(string)
	return strings.Contains(text, "/") || strings.HasPrefix(text, "?")
}

func tokenForm(v any) bool {
	text, isText := v.(string)
	return isText && !strings.Contains(text, "://")
}

// textWith returns a function that reports whether a value is a text with one of some characters.
func textWith(characters string) func(any) bool {
	return func(v any) bool {
		text, _ := v.(string)
		return strings.ContainsAny(text, characters)
	}
}

func numberForm(v any) bool {
	_, is := numberIn(v)
	return is
}

func objectForm(v any) bool {
	_, is := value.Members(v)
	return is
}

func listForm(v any) bool {
	_, is := v.([]any)
	return is
}

// flags reports whether the values may say whether another page follows. If last is set, they may say that
// the page is the last.
func (r reading) flags(last bool) bool {
	for i, v := range r.values {
		text, ok := value.Text(v)
		met, known := flagTexts[strings.ToLower(text)]
		if !ok || !known || met == last && r.isFollowed(r.pages[i]) {
			return false
		}
	}
	return len(r.values) > 0
}

// spells reports whether the values may be a text while another page follows, and another text on the last page.
func (r reading) spells(further, last string) bool {
	for i, v := range r.values {
		text, isText := v.(string)
		if !isText || text != further && (text != last || r.isFollowed(r.pages[i])) {
			return false
		}
	}
	return len(r.values) > 0
}

// isFollowed reports whether a page with items comes after a page.
func (r reading) isFollowed(page recordedPage) bool {
	return slices.ContainsFunc(r.all, func(p recordedPage) bool { return p.count > 0 && p.before > page.before })
}

// flagTexts are the values of flags.
var flagTexts = map[string]bool{
	"true": true, "1": true, "yes": true, "y": true, "t": true, "false": false, "0": false, "no": false, "n": false, "f": false, "": false,
}

// numberIn returns the integer that a value is or spells.
func numberIn(v any) (int, bool) {
	text, ok := value.Text(v)
	n, err := strconv.Atoi(text)
	return n, ok && err == nil
}

// positional reports whether the recorded links or tokens of a place hold the position of the next
// page: a number of items or of pages.
func (r recording) positional(place compile.ResponseValue) bool {
	if len(r.pages) == 0 {
		return false
	}
	found := 0
	for i, p := range r.pages {
		v, ok := p.read(place)
		if place.Link != "" {
			v, ok = p.link(place.Link)
		}
		text, isText := value.Text(v)
		if !ok || !isText || text == "" {
			continue
		}
		next := p.before + p.count
		wanted := []int{next, next + 1, i + 1, i + 2}
		if !slices.ContainsFunc(positionsIn(text), func(n int) bool { return n > 0 && slices.Contains(wanted, n) }) {
			return false
		}
		found++
	}
	return found > 0
}

// link returns the target of a link in the header.
func (p recordedPage) link(relation string) (any, bool) {
	v := (&transport.Response{Header: p.Header, URL: "https://api.example.com/"}).Link(relation)
	return v, v != nil
}

// numbersOf matches the numbers in a token that hides a position, such as offset:10.
var numbersOf = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+`) })

// positionsIn returns the numbers of an address or of a token that may be positions.
func positionsIn(text string) (positions []int) {
	var texts []string
	switch u, err := url.Parse(text); {
	case err == nil && strings.ContainsAny(text, "/?"):
		for _, values := range u.Query() {
			texts = append(texts, values...)
		}
	case err == nil:
		texts = append(texts, text)
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			if plain, err := encoding.DecodeString(text); err == nil {
				texts = append(texts, numbersOf().FindAllString(string(plain), -1)...)
			}
		}
	}
	for _, text := range texts {
		if n, err := strconv.Atoi(text); err == nil {
			positions = append(positions, n)
		}
	}
	return positions
}
