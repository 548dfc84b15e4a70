package engine_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// largeAPI serves a list of three pages of a size, whose requests are by number or, if the
// configuration wants it, by the address in the response. The page after the last is empty.
type largeAPI struct {
	*httptest.Server
	requests atomic.Int64
}

func newLargeAPI(t *testing.T, bytes int, extra string, compressed bool) *largeAPI {
	t.Helper()
	api := &largeAPI{}
	api.Server = httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		api.requests.Add(1)
		w := io.Writer(out)
		if compressed {
			out.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(out)
			defer z.Close()
			w = z
		}
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		switch {
		case page > 3:
			fmt.Fprint(w, `{"data": []}`)
		case page == 3:
			fmt.Fprintf(w, `{"data": [{"id": 3, "text": "%s"}]%s}`, strings.Repeat("x", bytes), extra)
		default:
			fmt.Fprintf(w, `{"data": [{"id": %d, "text": "%s"}], "next": "%s/users?page=%d"%s}`, page, strings.Repeat("x", bytes), api.URL, page+1, extra)
		}
	}))
	t.Cleanup(api.Close)
	return api
}

// requestsAt runs an engine and returns how many requests the API had received when each page
// was delivered, after waiting for those that are expected, and in all.
func (a *largeAPI) requestsAt(t *testing.T, e *engine.Engine, want []int) []int {
	t.Helper()
	var got []int
	_, err := e.Run(t.Context(), func(ctx context.Context, page *engine.Page) error {
		expected := want[len(got)]
		for wait, end := time.NewTicker(time.Millisecond), time.After(20*time.Second); int(a.requests.Load()) < expected; {
			select {
			case <-wait.C:
			case <-end:
				t.Errorf("page %d is delivered after %d requests, want %d", page.Page, a.requests.Load(), expected)
				return nil
			}
		}
		got = append(got, int(a.requests.Load()))
		return nil
	})
	require.NoError(t, err)
	return append(got, int(a.requests.Load()))
}

func TestTheNextPageIsRequestedWhileALargeOneIsDelivered(t *testing.T) {
	const (
		byNumber  = `"method": "pagenum"`
		byAddress = `"method": "response.url"`
		total     = `, "limit": 1, "limitStop": {"field": "total"}`
		large     = 64 << 10
	)
	for _, c := range []struct {
		name, paging, extra string
		bytes               int
		compressed          bool
		option              engine.Option
		want                []int // requests when each page is delivered, and in all: while one is scanned, the next is requested
	}{
		{"by number", byNumber, "", large, false, nil, []int{3, 4, 4, 4, 4}},
		{"by number, with a total", byNumber + total, `, "total": 3`, large, false, nil, []int{3, 3, 3, 3}},
		{"by address", byAddress + `, "urlKey": "next"`, "", large, false, nil, []int{2, 3, 4, 4, 4}},
		{"small pages", byNumber, "", 1000, false, nil, []int{1, 2, 3, 4, 4}},
		{"ended by a rule", byNumber + `, "stopRules": ["items[-1].id == 2"]`, "", large, false, nil, []int{3, 3, 3}},
		{"off, by number", byNumber, "", large, false, engine.WithPrefetch(0), []int{1, 2, 3, 4, 4}},
		{"off, by address", byAddress + `, "urlKey": "next"`, "", large, false, engine.WithPrefetch(0), []int{1, 2, 3, 4, 4}},

		{"compressed, by number", byNumber, "", large, true, nil, []int{3, 4, 4, 4, 4}},
		{"compressed, by number, with a total", byNumber + total, `, "total": 3`, large, true, nil, []int{3, 3, 3, 3}},
		{"compressed, by address", byAddress + `, "urlKey": "next"`, "", large, true, nil, []int{2, 3, 4, 4, 4}},
		{"compressed, small pages", byNumber, "", 1000, true, nil, []int{1, 2, 3, 4, 4}},
		{"compressed, ended by a rule", byNumber + `, "stopRules": ["items[-1].id == 2"]`, "", large, true, nil, []int{3, 3, 3}},
		{"compressed, off", byNumber, "", large, true, engine.WithPrefetch(0), []int{1, 2, 3, 4, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newLargeAPI(t, c.bytes, c.extra, c.compressed)
			e := load(t, usersConfig(api.URL, c.paging), c.option)
			require.Equal(t, c.want, api.requestsAt(t, e, c.want))
		})
	}
}

// A page is not requested before the body of the page before it has arrived, since that may
// break off.
func TestNoPageIsRequestedWhileTheOneBeforeItArrives(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		t.Run(fmt.Sprintf("compressed %t", compressed), func(t *testing.T) {
			held, asked := make(chan struct{}), make(chan int, 10)
			release := sync.OnceFunc(func() { close(held) })
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				page, _ := strconv.Atoi(r.URL.Query().Get("page"))
				asked <- page
				if page > 3 {
					fmt.Fprint(w, `{"data": []}`)
					return
				}
				body := fmt.Sprintf(`{"data": [{"id": %d, "text": "%s"}]}`, page, strings.Repeat("x", 1<<20))
				if compressed {
					body = zipped(body)
					w.Header().Set("Content-Encoding", "gzip")
				}
				w.Header().Set("Content-Length", strconv.Itoa(len(body)))
				_, _ = io.WriteString(w, body[:len(body)-1])
				if page == 2 {
					_ = http.NewResponseController(w).Flush()
					<-held
				}
				_, _ = io.WriteString(w, body[len(body)-1:])
			}))
			defer api.Close()
			defer release()
			e := load(t, usersConfig(api.URL, `"method": "pagenum"`))
			_, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
				if page.Page > 1 {
					return nil
				}
				require.Equal(t, []int{1, 2}, []int{<-asked, <-asked})
				select {
				case page := <-asked:
					return fmt.Errorf("page %d is requested before page 2 has arrived", page)
				case <-time.After(50 * time.Millisecond):
				}
				release()
				require.Equal(t, 3, <-asked) // while page 1 is delivered
				return nil
			})
			require.NoError(t, err)
		})
	}
}

// A page that is requested again, since the first response is not a page, is not taken for what was
// scanned of the first response.
func TestAPageThatIsRequestedAgainIsReadAnew(t *testing.T) {
	for _, prefetch := range []int{1, 3} {
		var seconds atomic.Int64
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			page, _ := strconv.Atoi(r.URL.Query().Get("page"))
			text := strings.Repeat("x", 64<<10)
			switch {
			case page == 2 && seconds.Add(1) == 1:
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, "<html>%s</html>", text)
			case page > 3:
				fmt.Fprint(w, `{"data": []}`)
			default:
				fmt.Fprintf(w, `{"data": [{"id": %d, "text": "%s"}]}`, page, text)
			}
		}))
		e := load(t, usersConfig(api.URL, `"method": "pagenum"`), engine.WithPrefetch(prefetch), engine.WithClock(instant{}))
		var ids []string
		_, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
			for item := range page.Items.All() {
				ids = append(ids, string(item[:8]))
			}
			return nil
		})
		api.Close()
		require.NoError(t, err)
		require.Equal(t, []string{`{"id":1,`, `{"id":2,`, `{"id":3,`}, ids, "prefetch %d", prefetch)
		require.EqualValues(t, 2, seconds.Load())
	}
}

// An error in a page that was scanned ahead is that of the page, with the beginning of the body
// as it was sent.
func TestAnErrorOfAPageThatWasScannedAheadIsReportedInItsTurn(t *testing.T) {
	text := strings.Repeat("x", 64<<10)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := r.URL.Query().Get("page")
		if page == "3" {
			fmt.Fprintf(w, "{ \"data\" : [ 1, 2 ],\n \"text\" : \"%s\" ", text)
			return
		}
		fmt.Fprintf(w, `{"data": [%s], "text": "%s"}`, page, text)
	}))
	defer api.Close()
	for _, prefetch := range []int{0, 1, 3} {
		e := load(t, usersConfig(api.URL, `"method": "pagenum"`), engine.WithPrefetch(prefetch), engine.WithClock(instant{}))
		pages := 0
		_, err := e.Run(t.Context(), func(context.Context, *engine.Page) error {
			pages++
			return nil
		})
		require.Equal(t, 2, pages)
		require.ErrorIs(t, err, engine.ErrResponse)
		require.ErrorContains(t, err, `begins with "{ \"data\" : [ 1, 2 ],\n \"text\" : \"xxxx`, "prefetch %d", prefetch)
	}
}
