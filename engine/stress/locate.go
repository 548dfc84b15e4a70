package stress

import (
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// A request holds the values of a request by place: "query offset", "body variables.after".
type request struct {
	values map[string]string
	names  []string // names in order
	text   string   // path, values and body, unescaped, one per line
}

// requestOf reads a request.
func requestOf(r *http.Request) (request, error) {
	q := request{values: map[string]string{}, text: r.URL.Path}
	for i, segment := range strings.Split(strings.Trim(r.URL.Path, "/"), "/") {
		q.add("path "+strconv.Itoa(i+1), segment)
	}
	q.addQuery("query ", r.URL.RawQuery)
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		q.add("header "+name, r.Header.Get(name))
		q.text += "\n" + r.Header.Get(name)
	}
	if r.Body == nil {
		return q, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return q, err
	}
	q.text += "\n" + string(body)
	if v, err := document.Decode(body); err == nil {
		value.Scalars(v, func(keys []string, v any) {
			if text, ok := value.Text(v); ok {
				q.add(strings.Join(keys, "."), text)
			}
		}, "body")
	} else {
		q.addQuery("form ", string(body))
	}
	return q, nil
}

func (q *request) add(name, text string) {
	if _, had := q.values[name]; !had {
		q.names = append(q.names, name)
	}
	q.values[name] = text
	if words := notAlphanumeric().Split(text, -1); len(words) > 1 && len(text) < maxText {
		for i, word := range words {
			if isNumber().MatchString(word) {
				q.add(name+wordOf+strconv.Itoa(i+1), word)
			}
		}
	}
}

// wordOf stands between the place of a text and the number of a word in it.
const wordOf = " word "

// maxText is the length of a text up to which the numbers in it are places of their own.
const maxText = 1000

var (
	notAlphanumeric = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\pL\pN]+`) })
	isNumber        = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d+$`) })
)

func (q *request) addQuery(prefix, raw string) {
	values, _ := url.ParseQuery(raw)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		q.add(prefix+name, values.Get(name))
		q.text += "\n" + name + "=" + values.Get(name)
	}
}

// A locator determines which page a request asks for.
type locator struct {
	kind   locatorKind
	says   string                      // sentence that describes it
	locate func(a *api, q request) int // returns the index of the first row of the page
}

type locatorKind int

// Kinds of locators.
const (
	unknown locatorKind = iota
	byToken
	byIndex
	byPage
	byZeroPage // number of the page, from 0
	byKey
	byOrder
)

// tokenLocator finds the tokens that the API has issued. Without one, the first page is requested.
var tokenLocator = locator{byToken, "A request carries what the page before it said.", func(a *api, q request) int {
	found := 0
	redeem := func(token int) {
		if start, ok := a.redeem(token); ok {
			found = max(found, start)
		}
	}
	for _, rest := range strings.Split(q.text, tokenPrefix)[1:] {
		redeem(leadingNumber(rest))
	}
	for _, name := range q.names {
		if n, err := strconv.Atoi(q.values[name]); err == nil && n >= tokenNumber {
			redeem(n - tokenNumber)
		}
	}
	return found
}}

// memoryLocator is the locator of an API that remembers its position.
var memoryLocator = locator{
	unknown, "The API remembers which page comes next: no part of the requests says it.",
	func(a *api, _ request) int {
		n := len(a.exchanges)
		switch {
		case n == 0:
			return 0
		case a.exchanges[n-1].status != http.StatusOK:
			return a.exchanges[n-1].start
		}
		return a.exchanges[n-1].next
	},
}

// orderLocator knows requests that the API has answered: another request is for the next page.
var orderLocator = locator{
	byOrder, "A request that was not made before gets the next page: the model cannot tell which page it asks for.",
	func(a *api, q request) int {
		next := 0
		for _, e := range a.exchanges {
			if e.request.text == q.text {
				return e.start
			}
			next = max(next, e.next)
		}
		return next
	},
}

// locatorsAt returns the locators that read one place of a request, the most likely first.
func locatorsAt(place string) []locator {
	name := spelt(place)
	number := func(kind locatorKind, says string, start func(a *api, n int) int) locator {
		return locator{kind, name + says, func(a *api, q request) int {
			n, err := strconv.Atoi(q.values[place])
			if err != nil {
				return 0
			}
			return start(a, n)
		}}
	}
	key := func(says string, reached func(past int) bool) locator {
		return locator{byKey, name + says, func(a *api, q request) int {
			key, ok := a.keys.read(q.values[place])
			if !ok {
				return 0
			}
			i := slices.IndexFunc(a.rows, func(r row) bool {
				if a.keys.descending {
					return reached(key - r.key)
				}
				return reached(r.key - key)
			})
			if i < 0 {
				return len(a.rows)
			}
			return i
		}}
	}
	const index, page = " is the index of the first item of a page.", " is the number of a page, from "
	return []locator{
		number(byIndex, index, func(_ *api, n int) int { return n }),
		number(byIndex, index, func(_ *api, n int) int { return n - 1 }),
		number(byPage, page+"1.", func(a *api, n int) int { return (n - 1) * a.size }),
		number(byZeroPage, page+"0.", func(a *api, n int) int { return n * a.size }),
		key(" is the key of the item before a page.", func(past int) bool { return past > 0 }),
		key(" is the key with which a page begins.", func(past int) bool { return past >= 0 }),
	}
}

func leadingNumber(text string) int {
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(text)
	}
	n, err := strconv.Atoi(text[:end])
	if err != nil {
		return -1
	}
	return n
}

// spelt names a place of a request at the beginning of a sentence.
func spelt(place string) string {
	if text, word, within := strings.Cut(place, wordOf); within {
		in := spelt(text)
		return "Word " + word + " of " + strings.ToLower(in[:1]) + in[1:]
	}
	kind, name, _ := strings.Cut(place, " ")
	switch kind {
	case "query":
		return "The parameter " + name
	case "form":
		return "The field " + name + " of the form"
	case "header":
		return "The header " + name
	case "path":
		return "Segment " + name + " of the path"
	}
	return "The member " + strings.TrimPrefix(place, "body.") + " of the body"
}

// locators returns the locators that map every request of the run to the page that answered it.
func (a *api) locators() []locator {
	found := []locator{tokenLocator}
	for _, name := range a.exchanges[len(a.exchanges)-1].request.names {
		found = append(found, locatorsAt(name)...)
	}
	found = slices.DeleteFunc(found, func(l locator) bool {
		return slices.ContainsFunc(a.exchanges, func(e exchange) bool { return e.start < len(a.rows) && l.locate(a, e.request) != e.start })
	})
	texts := map[string]bool{}
	for _, e := range a.exchanges {
		texts[e.request.text] = true
	}
	if len(texts) == len(a.exchanges) {
		found = append(found, orderLocator)
	}
	return found
}
