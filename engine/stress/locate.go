package stress

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules/value"
)

// A request is what was sent, as values by their places: "query offset", "body variables.after".
type request struct {
	values map[string]string
	names  []string // in their order
	text   string   // its path, values and body, unescaped, one per line
}

// requestOf reads a request.
func requestOf(r *http.Request) (request, error) {
	q := request{values: map[string]string{}}
	for i, segment := range strings.Split(strings.Trim(r.URL.Path, "/"), "/") {
		q.add("path "+strconv.Itoa(i+1), segment)
	}
	q.text = r.URL.Path
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
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) == nil {
		q.addValue("body", v)
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
}

func (q *request) addQuery(prefix, raw string) {
	values, _ := url.ParseQuery(raw)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		q.add(prefix+name, values.Get(name))
		q.text += "\n" + name + "=" + values.Get(name)
	}
}

func (q *request) addValue(name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			q.addValue(name+"."+key, v[key])
		}
	case []any:
		for i, e := range v {
			q.addValue(name+"."+strconv.Itoa(i), e)
		}
	default:
		if text, ok := value.Text(v); ok {
			q.add(name, text)
		}
	}
}

// A locator finds in a request which page it is for.
type locator interface {
	// locate returns the index of the first row of the page.
	locate(a *api, q request) int
	// says describes it in one sentence.
	says() string
}

// byToken finds the tokens that the API has issued. Without one, the first page is requested.
type byToken struct{}

func (byToken) locate(a *api, q request) int {
	found := 0
	for rest := q.text; ; {
		i := strings.Index(rest, tokenPrefix)
		if i < 0 {
			break
		}
		rest = rest[i+len(tokenPrefix):]
		if start, ok := a.redeem(leadingNumber(rest)); ok {
			found = max(found, start)
		}
	}
	for _, name := range q.names {
		n, err := strconv.Atoi(q.values[name])
		if err != nil || n < tokenNumber {
			continue
		}
		if start, ok := a.redeem(n - tokenNumber); ok {
			found = max(found, start)
		}
	}
	return found
}

func (byToken) says() string { return "A request carries what the page before it said." }

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

// byIndex reads the index of the first item.
type byIndex struct {
	at   string
	base int // of the first item
}

func (l byIndex) locate(_ *api, q request) int {
	n, err := strconv.Atoi(q.values[l.at])
	if err != nil {
		return 0
	}
	return n - l.base
}

func (l byIndex) says() string { return spelt(l.at) + " is the index of the first item of a page." }

// byPage reads the number of the page.
type byPage struct {
	at   string
	base int // of the first page
}

func (l byPage) locate(a *api, q request) int {
	n, err := strconv.Atoi(q.values[l.at])
	if err != nil {
		return 0
	}
	return (n - l.base) * a.size
}

func (l byPage) says() string {
	return spelt(l.at) + " is the number of a page, from " + strconv.Itoa(l.base) + "."
}

// byKey reads the key of an item.
type byKey struct {
	at        string
	inclusive bool // the page begins with the item of this key, instead of behind it
}

func (l byKey) locate(a *api, q request) int {
	text := q.values[l.at]
	if text == "" {
		return 0
	}
	key, ok := a.keys.read(text)
	if !ok {
		return 0
	}
	i := slices.IndexFunc(a.rows, func(r row) bool {
		past := r.key - key
		if a.keys.descending {
			past = -past
		}
		return past > 0 || l.inclusive && past == 0
	})
	if i < 0 {
		return len(a.rows)
	}
	return i
}

func (l byKey) says() string {
	if l.inclusive {
		return spelt(l.at) + " is the key with which a page begins."
	}
	return spelt(l.at) + " is the key of the item before a page."
}

// spelt names a place of a request at the beginning of a sentence.
func spelt(place string) string {
	kind, name, _ := strings.Cut(place, " ")
	switch {
	case kind == "query":
		return "The parameter " + name
	case kind == "form":
		return "The field " + name + " of the form"
	case kind == "header":
		return "The header " + name
	case kind == "path":
		return "Segment " + name + " of the path"
	}
	return "The member " + strings.TrimPrefix(place, "body.") + " of the body"
}

// byOrder knows requests it has answered: another request is for the next page.
type byOrder struct{}

func (byOrder) locate(a *api, q request) int {
	next := 0
	for _, e := range a.exchanges {
		if e.request.text == q.text {
			return e.start
		}
		next = max(next, e.start+a.size)
	}
	return next
}

func (byOrder) says() string {
	return "Every request that is a new one is for the next page: the model does not know what it asks for."
}

// locators returns those that tell, for each request of a run, the page that answered it.
// If there is none, the API has to remember where it is.
func (a *api) locators() []locator {
	var found []locator
	candidates := []locator{byToken{}}
	for _, name := range a.exchanges[len(a.exchanges)-1].request.names {
		candidates = append(candidates, byIndex{name, 0}, byIndex{name, 1}, byPage{name, 1}, byPage{name, 0},
			byKey{name, false}, byKey{name, true})
	}
	for _, l := range candidates {
		if !slices.ContainsFunc(a.exchanges, func(e exchange) bool { return e.start < len(a.rows) && l.locate(a, e.request) != e.start }) {
			found = append(found, l)
		}
	}
	texts := map[string]bool{}
	for _, e := range a.exchanges {
		texts[e.request.text] = true
	}
	if len(texts) == len(a.exchanges) {
		found = append(found, byOrder{})
	}
	return found
}
