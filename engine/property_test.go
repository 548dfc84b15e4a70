package engine_test

import (
	"bytes"
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

// scripted is an API as a property draws it: pages with their items, flags and
// tokens, and what goes wrong before each is served.
type scripted struct {
	method string
	limit  int
	pages  []scriptedPage
	flag   *scriptedFlag
	most   int // forceStop.pages; 0: none
	count  int // limitStop.count; 0: none

	mu    sync.Mutex
	tries map[int]int
	asked int
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
		method: rapid.SampledFrom([]string{"offset", "pagenum", "response.param", "response.url"}).Draw(t, "method"),
		limit:  rapid.IntRange(1, 4).Draw(t, "limit"), most: rapid.IntRange(0, 8).Draw(t, "most"), count: rapid.IntRange(0, 20).Draw(t, "count"), tries: map[int]int{},
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

// model is a straight transcription of the specification's rules (2.2 to 2.4 and
// 3.1): where the scrolling stops, and by which rules.
func (s *scripted) model() (pages, items int, by []string) {
	for {
		p := scriptedPage{} // beyond the script pages are empty
		if pages < len(s.pages) {
			p = s.pages[pages]
		}
		pages, items = pages+1, items+p.items
		if s.count > 0 && items >= s.count {
			by = append(by, "limitStop.count")
		}
		if s.most > 0 && pages >= s.most {
			by = append(by, "forceStop.pages")
		}
		if s.flag != nil {
			value := map[string]bool{"": s.flag.ifNotSet, "true": true, "false": false, "1": true, "0": false, `"x"`: true, "[1]": true}[p.flag]
			if value == s.flag.stopOn {
				by = append(by, "nextPageFlag")
			}
		}
		switch s.method {
		case "offset":
			if p.items == 0 {
				by = append(by, "offset.empty")
			}
			if p.items < s.limit {
				by = append(by, "offset.short")
			}
		case "pagenum":
			if p.items == 0 {
				by = append(by, "pagenum.empty")
			}
		default:
			if !p.token {
				by = append(by, s.method+".end")
			}
		}
		if by != nil {
			return pages, items, by
		}
	}
}

// page is which page a request asks for, from 0.
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

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	n := s.page(r)
	s.asked++
	try := s.tries[n]
	s.tries[n]++
	s.mu.Unlock()
	p := scriptedPage{}
	if n < len(s.pages) {
		p = s.pages[n]
	}
	body := s.body(n, p)
	respond := func(status int, kind string, body io.Reader) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(body), ContentLength: -1, Request: r}, nil
	}
	if try < len(p.faults) {
		switch p.faults[try] {
		case "503", "429":
			status, _ := strconv.Atoi(p.faults[try])
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

// items are what the first pages hold, as they must come out.
func (s *scripted) items(pages int) string {
	var b strings.Builder
	for n := range min(pages, len(s.pages)) {
		for i := range s.pages[n].items {
			b.WriteString(s.item(n, i) + "\n")
		}
	}
	return b.String()
}

func (s *scripted) config() string {
	settings := map[string]string{
		"offset":  fmt.Sprintf(`"method": "offset", "limit": %d`, s.limit),
		"pagenum": `"method": "pagenum"`, "response.param": `"method": "response.param", "responseParam": "next.t", "queryParam": "t"`,
		"response.url": `"method": "response.url", "urlKey": "next.url"`,
	}[s.method]
	if s.flag != nil {
		settings += fmt.Sprintf(`, "nextPageFlag": {"field": "more", "stopOn": %t, "ifNotSet": %t}`, s.flag.stopOn, s.flag.ifNotSet)
	}
	if s.most > 0 {
		settings += fmt.Sprintf(`, "forceStop": {"pages": %d}`, s.most)
	}
	if s.count > 0 {
		settings += fmt.Sprintf(`, "limitStop": {"count": %d}`, s.count)
	}
	return `{"api": {"baseUrl": "https://api.test/", "pagination": {` + settings + `}}, "config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`
}

// TestARunIsWhatTheSpecificationSays draws APIs with faults, pages ahead, and
// places where the run is stopped and goes on. Whatever is drawn: the items are
// those of the pages up to the one where the model stops, each once and byte for
// byte; the rules are the model's; the requests are bounded; and the run ends.
func TestARunIsWhatTheSpecificationSays(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	rapid.Check(t, func(t *rapid.T) {
		s := drawScript(t)
		ahead := rapid.SampledFrom([]int{0, 0, 2, 5}).Draw(t, "ahead")
		split := rapid.IntRange(0, 6).Draw(t, "split")
		e, err := engine.Load("c.json", []byte(s.config()), engine.WithTransport(s), engine.WithClock(instant{}), engine.WithPrefetch(ahead))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		positions := map[string]json.RawMessage{}
		stopped := errors.New("stopped")
		sink := func(_ context.Context, page *engine.Page) error {
			_, _ = page.Items.WriteTo(&out)
			if page.Page != split || page.Decision == "stop" {
				return nil
			}
			token, err := page.Checkpoint()
			positions[page.Job] = bytes.Clone(token)
			return errors.Join(err, stopped)
		}
		result, err := e.Run(context.Background(), sink)
		if errors.Is(err, stopped) {
			split = 0
			result, err = e.With(engine.WithResume(positions)).Run(context.Background(), sink)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, s.config())
		}
		pages, items, by := s.model()
		job := result.Jobs[0]
		if job.Pages != pages || job.Items != items || strings.Join(job.StoppedBy, " ") != strings.Join(by, " ") {
			t.Fatalf("%d pages, %d items, stopped by %v; the model says %d, %d, %v\n%s", job.Pages, job.Items, job.StoppedBy, pages, items, by, s.config())
		}
		if out.String() != s.items(pages) {
			t.Fatalf("items are\n%swant\n%s", out.String(), s.items(pages))
		}
		most := 2 * max(ahead, 1) // beyond the end, of two runs
		for n := range pages {
			most++
			if n < len(s.pages) {
				most += len(s.pages[n].faults)
			}
		}
		for n := pages; n < min(pages+2*ahead, len(s.pages)); n++ {
			most += len(s.pages[n].faults)
		}
		if s.asked > most {
			t.Fatalf("%d requests, at most %d are needed", s.asked, most)
		}
	})
}

// TestEveryCycleIsFound draws APIs that go in circles of any length: the run ends,
// by a guard, before the second round is over.
func TestEveryCycleIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lead, period := rapid.IntRange(0, 5).Draw(t, "lead"), rapid.IntRange(1, 20).Draw(t, "period")
		asked := 0
		e, err := engine.Load("c.json", []byte(`{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "response.param", "responseParam": "next", "queryParam": "t"}}, "config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`),
			engine.WithTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
				asked++
				n, _ := strconv.Atoi(r.URL.Query().Get("t"))
				next := n + 1
				if next >= lead+period {
					next = lead
				}
				body := fmt.Sprintf(`{"data": [{"id": %d}], "next": "%d"}`, n, next)
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
			})))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = e.Run(context.Background(), func(context.Context, *engine.Page) error { return nil })
		if asked > lead+period+3 {
			t.Fatalf("%d requests for %d different pages", asked, lead+period)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestAConstantScrollTokenIsNoLoop: the same request brings other items each time.
func TestAConstantScrollTokenIsNoLoop(t *testing.T) {
	asked := 0
	e, err := engine.Load("c.json", []byte(`{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "response.param", "responseParam": "next", "queryParam": "t"}}, "config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`),
		engine.WithTransport(roundTrip(func(r *http.Request) (*http.Response, error) {
			asked++
			body := fmt.Sprintf(`{"data": [{"id": %d}], "next": "scroll"}`, asked)
			if asked == 1000 {
				body = `{"data": []}`
			}
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		})))
	require.NoError(t, err)
	result, err := e.Run(context.Background(), func(context.Context, *engine.Page) error { return nil })
	require.NoError(t, err)
	require.Equal(t, 999, result.Jobs[0].Items)
	require.Equal(t, "response.param.end", result.Jobs[0].Reason)
}

// TestNothingIsLeftBehind runs over real HTTP to the end, leaves early, fails, and
// iterates, with pages ahead: no goroutine and no connection stays.
func TestNothingIsLeftBehind(t *testing.T) {
	before := goleak.IgnoreCurrent()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		if page > 60 {
			_, _ = io.WriteString(w, `[]`)
			return
		}
		fmt.Fprintf(w, `[{"id": %d}]`, page)
	}))
	for _, ahead := range []int{0, 8} {
		e, err := engine.Load("c.json", []byte(`{"api": {"baseUrl": "`+api.URL+`/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [{"endpoint": "users"}]}}`), engine.WithPrefetch(ahead))
		require.NoError(t, err)
		_, err = e.Run(context.Background(), func(context.Context, *engine.Page) error { return nil })
		require.NoError(t, err)
		_, err = e.Run(context.Background(), func(context.Context, *engine.Page) error { return errors.New("enough") })
		require.Error(t, err)
		for page, err := range e.Pages(context.Background()) {
			require.NoError(t, err)
			if page.Page == 3 {
				break
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		_, err = e.Run(ctx, func(context.Context, *engine.Page) error { cancel(); return nil })
		require.ErrorIs(t, err, engine.ErrCancelled)
	}
	api.CloseClientConnections()
	api.Close()
	goleak.VerifyNone(t, before)
}
