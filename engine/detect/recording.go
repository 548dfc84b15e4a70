package detect

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/engine/recording"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// cacheBuster is the parameter with which browsers' libraries defeat caches.
const cacheBuster = "_"

// FromRecording writes a configuration from exchanges that a browser or package recording has
// recorded. It makes no request. Of the lists whose addresses begin with address, which is every list if
// address is empty, it reads the list with the most pages. It returns the same errors as [Detect].
func FromRecording(ctx context.Context, r *recording.Recording, address string) (*Result, error) {
	series := seriesOf(r, address)
	if len(series) == 0 {
		message := "the recording has no response with a list of items"
		if address != "" {
			message += " whose address begins with " + address
		}
		if n := bodiesMissing(r, address); n > 0 {
			message += "; it does not have the " + bodiesOf(n)
		}
		return &Result{}, fault(failure.Response, message,
			"record while the list is loaded and scrolled, so that several of its pages are in the recording")
	}
	best := series[0]
	c, err := newCall(best.request())
	if err != nil {
		return nil, err
	}
	if slices.Contains(c.params.Names(), cacheBuster) {
		c.params = c.params.Without(cacheBuster)
	}
	s := &session{buster: cacheBuster, known: best.exchanges}
	for _, x := range r.Exchanges {
		if one := exchangeOf(x); one != nil && !slices.ContainsFunc(s.known, func(k *exchange) bool { return k.sameAs(one) }) {
			s.known = append(s.known, one)
		}
	}
	d := &detection{call: c, session: s, redactor: redact.New(c.secrets()), recorded: true}
	d.saw("The recording has %s.", best.describe(d))
	for _, other := range series[1:min(len(series), 6)] {
		d.saw("It also has %s.", other.describe(d))
	}
	if n := bodiesMissing(r, best.place); n > 0 {
		d.doubt("The recording does not have the %s at the address of the list, so that pages may be missing.", bodiesOf(n))
	}
	return d.detect(ctx)
}

// bodiesMissing counts the responses whose bodies a recording lacks and whose addresses begin with prefix.
func bodiesMissing(r *recording.Recording, prefix string) (n int) {
	for _, x := range r.Exchanges {
		if x.BodyMissing && strings.HasPrefix(x.URL, prefix) {
			n++
		}
	}
	return n
}

// bodiesOf returns the words for the bodies of n responses.
func bodiesOf(n int) string {
	if n == 1 {
		return "body of 1 response"
	}
	return "bodies of " + wording.Counted(n, "response")
}

// A series is the pages of one list in a recording, in the order of their requests.
type series struct {
	place     string
	exchanges []*exchange
	pages     map[string]bool // the items of each page
	items     int
}

// describe describes a series without the tokens in its address.
func (s *series) describe(d *detection) string {
	place, _ := Request{URL: s.place}.withoutTokens()
	return fmt.Sprintf("%s of %s %s", wording.Counted(len(s.exchanges), "page"), s.exchanges[0].Method, d.hide(place.URL))
}

// request returns the request for the first page.
func (s *series) request() Request {
	x := s.exchanges[0]
	address := strings.NewReplacer("{", "%7B", "}", "%7D").Replace(x.address.String())
	return Request{URL: address, Method: x.Method, Header: x.Header.Clone(), Body: x.Body}
}

// seriesOf groups the exchanges by their addresses without parameters. The series with the most pages comes
// first.
func seriesOf(r *recording.Recording, address string) []*series {
	var list []*series
	exchanges := slices.Clone(r.Exchanges)
	slices.SortStableFunc(exchanges, func(a, b recording.Exchange) int { return a.Started.Compare(b.Started) })
	for _, recorded := range exchanges {
		x := exchangeOf(recorded)
		if x == nil || x.Status != http.StatusOK && x.Status != http.StatusPartialContent || !strings.HasPrefix(recorded.URL, address) {
			continue
		}
		page, err := readPage(x)
		if x.Method != http.MethodGet && x.Method != http.MethodPost || err != nil || len(page.lists) == 0 || !holdsItems(page.lists[0]) {
			continue
		}
		place := x.address.Scheme + "://" + x.address.Host + pathOf(x.address)
		query := queryOf(x.Body)
		i := slices.IndexFunc(list, func(s *series) bool {
			return s.exchanges[0].Method == x.Method && s.place == place && queryOf(s.exchanges[0].Body) == query
		})
		if i < 0 {
			i = len(list)
			list = append(list, &series{place: place, pages: map[string]bool{}})
		}
		s := list[i]
		items := jsonOf(page.lists[0].items)
		if !s.pages[items] {
			s.pages[items] = true
			s.exchanges, s.items = append(s.exchanges, x), s.items+len(page.lists[0].items)
		}
	}
	list = joined(list)
	slices.SortStableFunc(list, func(a, b *series) int { return cmp.Or(len(b.exchanges)-len(a.exchanges), b.items-a.items) })
	return list
}

// joined joins two series if the pages of one link to the first page of the other: the links of some APIs
// lead to another address.
func joined(list []*series) []*series {
	var out []*series
	for i, s := range slices.Backward(list) { // the later series is joined to the earlier series
		before := slices.IndexFunc(list[:i], func(b *series) bool {
			return slices.ContainsFunc(b.exchanges, func(x *exchange) bool { return linksTo(x, s.exchanges[0]) })
		})
		if before < 0 {
			out = append(out, s)
			continue
		}
		b := list[before]
		b.exchanges, b.items = append(b.exchanges, s.exchanges...), b.items+s.items
	}
	slices.Reverse(out)
	return out
}

// linksTo reports whether a response has the address of another request.
func linksTo(x, to *exchange) bool {
	if x.link("next") == to.address.String() {
		return true
	}
	page, err := readPage(x)
	return err == nil && slices.ContainsFunc(page.facts, func(f fact) bool {
		text, _ := f.value.(string)
		if !strings.Contains(text, "/") || len(text) > 4096 {
			return false
		}
		address, err := requests.Resolve(x.address.String(), text)
		return err == nil && address == to.address.String()
	})
}

// queryOf returns the query of a GraphQL request, which distinguishes lists at the same address.
func queryOf(body []byte) string {
	v, _ := parseJSON(body)
	object, _ := v.(value.Object)
	query, _ := object.Get("query")
	text, _ := query.(string)
	return text
}

// holdsItems reports whether a list has items that are objects, or has a name of a list.
func holdsItems(l list) bool {
	_, objects := l.first().(value.Object)
	return objects || apinames.Key(l.name()).ListKind() == apinames.LikelyList && len(l.items) > 0
}

// exchangeOf returns a recorded exchange, or nil if it has no response.
func exchangeOf(r recording.Exchange) *exchange {
	u, err := url.Parse(r.URL)
	if err != nil || r.Status < 100 || r.Error != "" || len(r.ResponseBody) > maxBytes {
		return nil
	}
	u.Fragment = ""
	if r.ResponseHeader == nil {
		r.ResponseHeader = http.Header{}
	}
	return &exchange{r, u}
}

func (x *exchange) sameAs(other *exchange) bool {
	return x.Method == other.Method && x.address.String() == other.address.String() && string(x.Body) == string(other.Body) &&
		string(x.ResponseBody) == string(other.ResponseBody)
}
