package detect_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/engine/detect"
	"github.com/stopwhen/stopwhen/fixtures"
	"github.com/stopwhen/stopwhen/rules/yaml"
)

// An api answers requests without a network.
type api func(q url.Values, r *http.Request) (status int, header http.Header, body string)

// RoundTrip implements [http.RoundTripper].
func (a api) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	status, header, body := a(r.URL.Query(), r)
	maps.Copy(w.Header(), header)
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
	response := w.Result()
	response.Request = r
	return response, nil
}

// counting counts the requests of an API.
type counting struct {
	api
	n int
}

// RoundTrip implements [http.RoundTripper].
func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n++
	return c.api.RoundTrip(r)
}

// A world is how a list is served.
type world struct {
	items, size, cap int    // items of the list, default page size, greatest page size; 0: no cap
	position         string // what selects a page: one of positions
	says             string // what a response says: one of sayings
	beyond           string // what comes after the last page: one of endings
	ids              string // of the items: one of identities
	filtered         bool   // some items are left out after those of a page were chosen
}

var (
	positions  = []string{"offset0", "offset1", "page0", "page1", "cursor", "url", "link", "after", "before", "none"}
	sayings    = []string{"nothing", "total", "more", "last", "pages", "wrongTotal", "lowTotal", "pageTotal"}
	endings    = []string{"empty", "404", "lastAgain", "firstAgain", "null"}
	identities = []string{"ascending", "descending", "none"}
)

func (w world) String() string {
	return fmt.Sprintf("%d items by %d (cap %d), %s, says %s, beyond %s, ids %s, filtered %t", w.items, w.size, w.cap, w.position, w.says, w.beyond, w.ids, w.filtered)
}

func number(q url.Values, name string, otherwise int) int {
	if n, err := strconv.Atoi(q.Get(name)); err == nil {
		return n
	}
	return otherwise
}

func (w world) item(i int) map[string]any {
	name := map[string]any{"name": fmt.Sprintf("item %d", i)}
	switch w.ids {
	case "ascending":
		name["id"] = 1000 + i
	case "descending":
		name["id"] = 9000 - i
	}
	return name
}

// shows reports whether an item is not left out. The first page is complete.
func (w world) shows(i int) bool { return !w.filtered || i < w.size || i%7 != 3 }

// page returns where a page begins and its size.
func (w world) page(q url.Values) (from, size int) {
	size = number(q, "limit", w.size)
	if w.cap > 0 {
		size = min(size, w.cap)
	}
	size = max(size, 1)
	switch w.position {
	case "offset0":
		from = number(q, "offset", 0)
	case "offset1":
		from = number(q, "offset", 1) - 1
	case "page0":
		from = number(q, "page", 0) * size
	case "page1":
		from = (number(q, "page", 1) - 1) * size
	case "cursor", "url", "link":
		from = number(q, "cursor", 0)
	case "after", "before":
		name := map[string]string{"after": "starting_after", "before": "before"}[w.position]
		if key := q.Get(name); key != "" {
			from = w.items
			for i := range w.items {
				if fmt.Sprint(w.item(i)["id"]) == key {
					from = i + 1
				}
			}
		}
	}
	return max(from, 0), size
}

func (w world) serve(q url.Values, _ *http.Request) (int, http.Header, string) {
	from, size := w.page(q)
	if from >= w.items && from > 0 {
		switch w.beyond {
		case "404":
			return 404, nil, `{"error": "no such page"}`
		case "lastAgain":
			from = (w.items - 1) / size * size
		case "firstAgain":
			from = 0
		case "null":
			return 200, nil, `{"data": null}`
		}
	}
	to := min(from+size, w.items)
	list := []any{}
	for i := from; i < to; i++ {
		if w.shows(i) {
			list = append(list, w.item(i))
		}
	}
	body, header := map[string]any{"data": list}, http.Header{}
	more := to < w.items
	switch w.says {
	case "total":
		body["total"] = w.items
	case "wrongTotal":
		body["total"] = w.items * 2
	case "lowTotal":
		body["total"] = w.items/2 + 1
	case "pageTotal":
		body["total"] = len(list)
	case "more":
		body["has_more"] = more
	case "last":
		body["isLast"] = !more
	case "pages":
		body["total_pages"] = (w.items + size - 1) / size
	}
	next := fmt.Sprintf("?cursor=%d&limit=%d", to, size)
	switch {
	case !more:
	case w.position == "cursor":
		body["next_cursor"] = strconv.Itoa(to)
	case w.position == "url":
		body["next"] = "https://api.test/v1/things" + next
	case w.position == "link":
		header.Set("Link", `<https://api.test/v1/things`+next+`>; rel="next"`)
	}
	text, _ := json.Marshal(body)
	return 200, header, string(text)
}

// obtain runs a configuration and returns its items.
func obtain(t testing.TB, config []byte, base http.RoundTripper) (items []string) {
	t.Helper()
	e, err := engine.Load("detected.yaml", config, engine.WithFormat(".yaml", yaml.Parse), engine.WithPlaceholders(),
		engine.WithTransport(base), engine.WithMaxPages(200))
	require.NoError(t, err, string(config))
	_, err = e.Run(t.Context(), func(_ context.Context, p *engine.Page) error {
		for item := range p.Items.All() {
			items = append(items, string(item))
		}
		return nil
	})
	require.NoError(t, err, string(config))
	return items
}

var everyWorld = flag.Int("every", 19, "one of so many ways to serve a list is tried")

// worlds returns combinations of the ways to serve a list, one of every so many.
func worlds(every int) []world {
	var all []world
	n := 0
	for _, position := range positions {
		for _, says := range sayings {
			for _, beyond := range endings {
				for i, items := range []int{1, 7, 10, 11, 20, 21, 30, 47} {
					w := world{items: items, size: 10, position: position, says: says, beyond: beyond, ids: identities[(i+len(says))%3]}
					w.filtered = (i+len(beyond))%3 == 0
					if (i+len(position))%4 == 0 {
						w.cap = 5
					}
					if unidentified := w.ids == "none" && (position == "after" || position == "before"); unidentified {
						continue
					}
					if n++; n%every == 0 {
						all = append(all, w)
					}
				}
			}
		}
	}
	return all
}

// isFirstPage reports whether an address is that of the first page.
func (w world) isFirstPage(address string) bool {
	return !(strings.Contains(address, "page=1") && w.position == "page0" || strings.Contains(address, "offset=0") && w.position == "offset1")
}

// TestNoWrongAnswerWithoutADoubt lets detect loose on lists that are served in many
// combinations of ways. What it writes without a doubt obtains every item, exactly once,
// and it makes no more requests than it may.
func TestNoWrongAnswerWithoutADoubt(t *testing.T) {
	fixtures.SkipUnderRace(t, "it runs a single goroutine")
	sure, tried := map[string]int{}, 0
	for _, w := range worlds(*everyWorld) {
		for _, address := range []string{"", "?limit=10", "?limit=10&offset=0", "?page=1", "?limit=100"} {
			if !w.isFirstPage(address) {
				continue
			}
			tried++
			c := &counting{api: w.serve}
			r, err := detect.Detect(t.Context(), detect.Request{URL: "https://api.test/v1/things" + address}, detect.Options{Transport: c})
			require.LessOrEqual(t, c.n, detect.MaxRequests, "%v %s", w, address)
			require.Equal(t, c.n, r.Requests)
			require.NoError(t, err, "%v %s", w, address)
			if len(r.Findings.Doubts) == 0 {
				sure[w.position]++
				require.Equal(t, w.all(), obtain(t, r.YAML, api(w.serve)), "%v %q\n%s", w, address, r.YAML)
			}
		}
	}
	t.Logf("%d tried; without a doubt: %v", tried, sure)
	require.Greater(t, sure["cursor"], 5)
	require.Greater(t, sure["url"], 5)
	require.Positive(t, sure["page1"])
	require.Positive(t, sure["offset0"])
}

// all returns the items of the list.
func (w world) all() []string {
	var items []string
	for i := range w.items {
		if text, _ := json.Marshal(w.item(i)); w.shows(i) {
			items = append(items, string(text))
		}
	}
	return items
}
