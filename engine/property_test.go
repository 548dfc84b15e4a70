package engine_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/stopwhen/stopwhen/engine"
)

// scripted is a generated API: pages with their items, flags and tokens, and the
// errors before each is served.
type scripted struct {
	method   string
	limit    int
	pages    []scriptedPage
	flag     *scriptedFlag
	maxPages int // forceStop.pages; 0: none
	maxItems int // limitStop.count; 0: none

	compressed bool // the pages are

	mu       sync.Mutex
	attempts map[int]int // by page
	requests int
}

type scriptedPage struct {
	items  int
	flag   string // JSON; empty: absent
	token  bool
	faults []string
}

type scriptedFlag struct{ stopOn, ifNotSet bool }

func drawScript(t *rapid.T) *scripted {
	s := &scripted{
		method:   rapid.SampledFrom([]string{"offset", "pagenum", "response.param", "response.url"}).Draw(t, "method"),
		limit:    rapid.IntRange(1, 4).Draw(t, "limit"),
		maxPages: rapid.IntRange(0, 8).Draw(t, "maxPages"),
		maxItems: rapid.IntRange(0, 20).Draw(t, "maxItems"), compressed: rapid.Bool().Draw(t, "compressed"),
		attempts: map[int]int{},
	}
	if rapid.Bool().Draw(t, "flagged") {
		s.flag = &scriptedFlag{rapid.Bool().Draw(t, "stopOn"), rapid.Bool().Draw(t, "ifNotSet")}
	}
	for range rapid.IntRange(1, 10).Draw(t, "pages") {
		s.pages = append(s.pages, scriptedPage{
			items: rapid.IntRange(0, 4).Draw(t, "items"), token: rapid.IntRange(0, 5).Draw(t, "token") > 0,
			flag:   rapid.SampledFrom([]string{"", "true", "false", "1", "0", `"x"`, "[1]"}).Draw(t, "flag"),
			faults: rapid.SliceOfN(rapid.SampledFrom([]string{"503", "429", "cut", "reset", "html"}), 0, 2).Draw(t, "faults"),
		})
	}
	return s
}

// model transcribes the specification's rules (2.2 to 2.4 and 3.1): where paging
// stops, and by which rules.
func (s *scripted) model() (pages, items int, by []string) {
	for by == nil {
		p := s.at(pages)
		pages, items = pages+1, items+p.items
		met := func(rule string, met bool) {
			if met {
				by = append(by, rule)
			}
		}
		met("limitStop.count", s.maxItems > 0 && items >= s.maxItems)
		met("forceStop.pages", s.maxPages > 0 && pages >= s.maxPages)
		met("nextPageFlag", s.flag != nil && s.flag.value(p.flag) == s.flag.stopOn)
		switch s.method {
		case "offset":
			met("offset.empty", p.items == 0)
			met("offset.short", p.items < s.limit)
		case "pagenum":
			met("pagenum.empty", p.items == 0)
		default:
			met(s.method+".end", !p.token)
		}
	}
	return pages, items, by
}

// value converts a flag to a boolean (specification 2.2).
func (f scriptedFlag) value(text string) bool {
	return map[string]bool{"": f.ifNotSet, "true": true, "false": false, "1": true, "0": false, `"x"`: true, "[1]": true}[text]
}

// at returns the n-th page, from 0. Pages beyond the script are empty.
func (s *scripted) at(n int) scriptedPage {
	if n < len(s.pages) {
		return s.pages[n]
	}
	return scriptedPage{}
}

// page returns the number of the page that is requested, from 0.
func (s *scripted) page(r *http.Request) int {
	q := r.URL.Query()
	switch s.method {
	case "offset":
		offset, _ := strconv.Atoi(q.Get("offset"))
		return offset / s.limit
	case "pagenum":
		page, _ := strconv.Atoi(q.Get("page"))
		return page - 1
	}
	token, _ := strconv.Atoi(q.Get("t"))
	return token
}

// count counts a request and returns the number of earlier ones for the page.
func (s *scripted) count(page int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	s.attempts[page]++
	return s.attempts[page] - 1
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	n := s.page(r)
	p := s.at(n)
	body := s.body(n, p)
	if s.compressed {
		body = zipped(body)
	}
	respond := func(status int, kind string, body io.Reader) (*http.Response, error) {
		header := http.Header{"Content-Type": {kind}}
		if s.compressed && kind == "application/json" {
			header.Set("Content-Encoding", "gzip")
		}
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(body), ContentLength: -1, Request: r}, nil
	}
	if earlier := s.count(n); earlier < len(p.faults) {
		switch fault := p.faults[earlier]; fault {
		case "503", "429":
			status, _ := strconv.Atoi(fault)
			return respond(status, "text/plain", strings.NewReader("busy"))
		case "html":
			return respond(200, "text/html", strings.NewReader("<html>wait</html>"))
		case "reset":
			return nil, errors.New("connection reset by peer")
		default:
			cut := io.MultiReader(strings.NewReader(body[:len(body)*2/3]), errorReader{})
			return respond(200, "application/json", cut)
		}
	}
	return respond(200, "application/json", strings.NewReader(body))
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func (s *scripted) body(n int, p scriptedPage) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{ "n": %d, "data": [`, n)
	for i := range p.items {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(s.item(n, i))
	}
	b.WriteString("]")
	if p.flag != "" {
		fmt.Fprintf(&b, `, "more": %s`, p.flag)
	}
	if p.token {
		fmt.Fprintf(&b, `, "next": {"t": "%d", "url": "/users?t=%d"}`, n+1, n+1)
	}
	b.WriteString("}")
	return b.String()
}

func (s *scripted) item(n, i int) string {
	return fmt.Sprintf(`{"id":%d,"big":9007199254740993%d,"text":"a \"b\" é\u00e9","x":1.10}`, 100*n+i, n)
}

// items returns the items of the first pages as they must be written.
func (s *scripted) items(pages int) string {
	var b strings.Builder
	for n := range min(pages, len(s.pages)) {
		for i := range s.pages[n].items {
			b.WriteString(s.item(n, i) + "\n")
		}
	}
	return b.String()
}

func (s *scripted) config() []byte {
	settings := map[string]string{
		"offset":         fmt.Sprintf(`"method": "offset", "limit": %d`, s.limit),
		"pagenum":        `"method": "pagenum"`,
		"response.param": `"method": "response.param", "responseParam": "next.t", "queryParam": "t"`,
		"response.url":   `"method": "response.url", "urlKey": "next.url"`,
	}[s.method]
	if s.flag != nil {
		settings += fmt.Sprintf(`, "nextPageFlag": {"field": "more", "stopOn": %t, "ifNotSet": %t}`, s.flag.stopOn, s.flag.ifNotSet)
	}
	if s.maxPages > 0 {
		settings += fmt.Sprintf(`, "forceStop": {"pages": %d}`, s.maxPages)
	}
	if s.maxItems > 0 {
		settings += fmt.Sprintf(`, "limitStop": {"count": %d}`, s.maxItems)
	}
	return usersConfig("https://api.test", settings)
}

// mostRequests returns the number of requests that a run of some pages may make
// with up to prefetch pages in flight, interrupted once.
func (s *scripted) mostRequests(pages, prefetch int) int {
	most := pages + 2*max(prefetch, 1) // beyond the end, of two runs
	if prefetch == 1 {
		most++ // the interrupted run may have requested two pages after the one that it ended with
	}
	for n := range pages + 2*prefetch {
		most += len(s.at(n).faults)
	}
	return most
}

// TestARunFollowsTheSpecification generates APIs with errors, and runs them with and
// without prefetching, some interrupted and resumed. The items are those of the pages
// up to the one where the model stops, each once and byte for byte; the rules are the
// model's; the number of requests is bounded; and the run ends.
func TestARunFollowsTheSpecification(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		prefetch := rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "prefetch")
		ahead := engine.WithPrefetch(prefetch)
		if prefetch == 1 {
			ahead = engine.WithOverlapOfAllPages()
		}
		interruptAt := rapid.IntRange(0, 6).Draw(t, "interruptAt")
		e := load(t, s.config(), engine.WithTransport(s), engine.WithClock(instant{}), ahead,
			engine.WithAccept(engine.JobResult.Ended)) // drawn flags and totals contradict their lists
		var out bytes.Buffer
		checkpoints := map[string]json.RawMessage{}
		interrupted := errors.New("interrupted")
		sink := func(_ context.Context, page *engine.Page) error {
			_, _ = page.Items.WriteTo(&out)
			if page.Page != interruptAt || page.Decision == engine.Stop {
				return nil
			}
			checkpoint, err := page.Checkpoint()
			checkpoints[page.Root] = bytes.Clone(checkpoint)
			return errors.Join(err, interrupted)
		}
		result, err := e.Run(context.Background(), sink)
		if errors.Is(err, interrupted) {
			interruptAt = 0
			result, err = e.With(engine.WithResume(checkpoints)).Run(context.Background(), sink)
		}
		require.NoError(t, err, "%s", s.config())
		pages, items, by := s.model()
		job := result.Jobs[0]
		require.Equal(t, by, job.StoppedBy, "%s", s.config())
		require.Equal(t, []int{pages, items}, []int{job.Pages, job.Items}, "pages and items; %s", s.config())
		require.Equal(t, s.items(pages), out.String())
		require.LessOrEqual(t, s.requests, s.mostRequests(pages, prefetch))
	})
}

// tokenPaging pages by a token in the response.
const tokenPaging = `"method": "response.param", "responseParam": "next", "queryParam": "t"`

// TestEveryLoopIsDetected generates APIs that repeat pages in loops of any length:
// a guard ends the run before the second round is over.
func TestEveryLoopIsDetected(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lead, period := rapid.IntRange(0, 5).Draw(t, "lead"), rapid.IntRange(1, 20).Draw(t, "period")
		requests := 0
		loop := transportFunc(func(r *http.Request) (*http.Response, error) {
			requests++
			n, _ := strconv.Atoi(r.URL.Query().Get("t"))
			next := n + 1
			if next >= lead+period {
				next = lead
			}
			return respond(r, fmt.Sprintf(`{"data": [{"id": %d}], "next": "%d"}`, n, next))
		})
		_, _ = load(t, usersConfig("https://api.test", tokenPaging), engine.WithTransport(loop)).Run(context.Background(), discard)
		require.LessOrEqual(t, requests, lead+period+3)
	})
}

// TestAConstantScrollTokenIsNotALoop repeats a request whose response has other
// items each time.
func TestAConstantScrollTokenIsNotALoop(t *testing.T) {
	requests := 0
	e := load(t, usersConfig("https://api.test", tokenPaging), engine.WithTransport(transportFunc(func(r *http.Request) (*http.Response, error) {
		if requests++; requests == 1000 {
			return respond(r, `{"data": []}`)
		}
		return respond(r, fmt.Sprintf(`{"data": [{"id": %d}], "next": "scroll"}`, requests))
	})))
	result, err := e.Run(t.Context(), discard)
	require.NoError(t, err)
	require.Equal(t, 999, result.Jobs[0].Items)
	require.Equal(t, "response.param.end", result.Jobs[0].Reason)
}

// TestNoGoroutineOrConnectionLeaks runs over real HTTP to the end, fails, leaves an
// iteration and is cancelled, with and without prefetching.
func TestNoGoroutineOrConnectionLeaks(t *testing.T) {
	before := goleak.IgnoreCurrent()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		if page > 60 {
			_, _ = io.WriteString(w, `{"data": []}`)
			return
		}
		fmt.Fprintf(w, `{"data": [{"id": %d}]}`, page)
	}))
	for _, prefetch := range []int{0, 8} {
		e := load(t, usersConfig(api.URL, `"method": "pagenum"`), engine.WithPrefetch(prefetch))
		_, err := e.Run(t.Context(), discard)
		require.NoError(t, err)
		full := errors.New("full")
		_, err = e.Run(t.Context(), func(context.Context, *engine.Page) error { return full })
		require.ErrorIs(t, err, full)
		for page, err := range e.Pages(t.Context()) {
			require.NoError(t, err)
			if page.Page == 3 {
				break
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, err = e.Run(ctx, func(context.Context, *engine.Page) error { cancel(); return nil })
		require.ErrorIs(t, err, engine.ErrCancelled)
	}
	api.CloseClientConnections()
	api.Close()
	goleak.VerifyNone(t, before)
}

// zipped returns a text as gzip.
func zipped(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}
