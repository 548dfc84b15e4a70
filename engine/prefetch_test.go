package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
	"github.com/stopwhen/stopwhen/rules"
)

// listAPI serves a list in pages of two items, and counts its requests.
type listAPI struct {
	*httptest.Server

	mu       sync.Mutex
	requests map[int]int // by page
	active   int
	peak     int // requests at a time
}

// newListAPI serves pages until the last one; pages beyond it are empty. intercept,
// which may be nil, may answer a request itself: the n-th for a page.
func newListAPI(t *testing.T, last int, extra string, intercept func(w http.ResponseWriter, page, n int) bool) *listAPI {
	t.Helper()
	api := &listAPI{requests: map[int]int{}}
	api.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		n := api.begin(page)
		defer api.end()
		if intercept != nil && intercept(w, page, n) {
			return
		}
		time.Sleep(time.Duration(page%3) * time.Millisecond) // later pages may be served first
		if page > last {
			fmt.Fprintf(w, `{"data": []%s}`, extra)
			return
		}
		fmt.Fprintf(w, `{"data": [{"id": %d}, {"id": %d}]%s}`, 2*page, 2*page+1, extra)
	}))
	t.Cleanup(api.Close)
	return api
}

// RoundTrip answers a request without a connection, for virtual time.
func (a *listAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	a.Config.Handler.ServeHTTP(answer, r)
	return answer.Result(), nil
}

// begin counts a request and returns how many there were for the page.
func (a *listAPI) begin(page int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests[page]++
	a.active++
	a.peak = max(a.peak, a.active)
	return a.requests[page]
}

func (a *listAPI) end() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.active--
}

// requested returns the number of requests for a page.
func (a *listAPI) requested(page int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests[page]
}

// beyond returns the number of requests for pages after a page.
func (a *listAPI) beyond(last int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	sum := 0
	for page, n := range a.requests {
		if page > last {
			sum += n
		}
	}
	return sum
}

// concurrent returns the greatest number of requests that were made at a time.
func (a *listAPI) concurrent() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.peak
}

// engine compiles a configuration for the API, with more settings of its pagination.
func (a *listAPI) engine(t *testing.T, settings string, options ...engine.Option) *engine.Engine {
	t.Helper()
	return load(t, usersConfig(a.URL, `"method": "pagenum", "limit": 2`+settings), options...)
}

// extract runs an engine and returns its items.
func extract(t *testing.T, e *engine.Engine) (string, *engine.Result, error) {
	t.Helper()
	var items bytes.Buffer
	result, err := e.Run(t.Context(), func(_ context.Context, page *engine.Page) error {
		_, err := page.Items.WriteTo(&items)
		return err
	})
	return items.String(), result, err
}

func TestPrefetchedPagesAreDeliveredInOrder(t *testing.T) {
	api := newListAPI(t, 40, "", nil)
	want, one, err := extract(t, api.engine(t, ""))
	require.NoError(t, err)
	require.Equal(t, 1, api.beyond(40), "the empty page")
	require.Equal(t, 1, api.concurrent())
	for _, c := range []struct {
		name   string
		window int
		most   int // requests in flight
	}{
		{"2 in flight", 2, 2}, {"3 in flight", 3, 3}, {"16 in flight", 16, 16}, {"64 in flight", 64, 64},
		{"automatic", engine.AutoPrefetch, 16},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newListAPI(t, 40, "", nil)
			got, many, err := extract(t, api.engine(t, "", engine.WithPrefetch(c.window)))
			require.NoError(t, err)
			require.Equal(t, want, got)
			require.Equal(t, one.Jobs[0].StoppedBy, many.Jobs[0].StoppedBy)
			require.Equal(t, one.Jobs[0].Pages, many.Jobs[0].Pages)
			require.Equal(t, one.Jobs[0].Bytes, many.Jobs[0].Bytes, "discarded pages are not counted")
			require.LessOrEqual(t, api.beyond(41), c.most-1, "requests beyond the empty page")
			require.LessOrEqual(t, api.concurrent(), c.most)
			if c.most > 2 {
				require.Greater(t, api.concurrent(), 1)
			}
		})
	}
}

func TestPrefetchingStopsAtTheKnownEnd(t *testing.T) {
	for _, c := range []struct{ name, extra, settings string }{
		{"total of the response", `, "meta": {"total": 40}`, `, "limitStop": {"field": "meta.total"}`},
		{"limit of pages", "", `, "forceStop": {"pages": 20}`},
		{"limit of items", "", `, "limitStop": {"count": 40}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newListAPI(t, 1000, c.extra, nil)
			items, _, err := extract(t, api.engine(t, c.settings, engine.WithPrefetch(16)))
			require.NoError(t, err)
			require.Equal(t, 40, strings.Count(items, "\n"))
			require.Zero(t, api.beyond(20))
		})
	}
}

func TestNothingIsPrefetchedBeforeTheFirstPage(t *testing.T) {
	api := newListAPI(t, 0, "", nil)
	_, _, err := extract(t, api.engine(t, "", engine.WithPrefetch(16)))
	require.NoError(t, err)
	require.Zero(t, api.beyond(1))
}

// refuse answers the requests that match with an error.
func refuse(status int, matches func(page, n int) bool) func(http.ResponseWriter, int, int) bool {
	return func(w http.ResponseWriter, page, n int) bool {
		if !matches(page, n) {
			return false
		}
		w.WriteHeader(status)
		return true
	}
}

func TestErrorsOfPrefetchedPagesAreHandledInTheirTurn(t *testing.T) {
	t.Run("a transient error is retried", func(t *testing.T) {
		api := newListAPI(t, 30, "", refuse(http.StatusServiceUnavailable, func(page, n int) bool { return page%5 == 0 && n == 1 }))
		items, result, err := extract(t, api.engine(t, "", engine.WithPrefetch(8), engine.WithClock(instant{})))
		require.NoError(t, err)
		require.Equal(t, 60, strings.Count(items, "\n"))
		require.Equal(t, 31, result.Jobs[0].Pages)
	})
	t.Run("an error beyond the end is ignored", func(t *testing.T) {
		api := newListAPI(t, 30, "", refuse(http.StatusNotFound, func(page, _ int) bool { return page > 30 }))
		settings := `, "forceStop": {"time": 3600}, "stopRules": ["items[-1].id == 61"]`
		_, result, err := extract(t, api.engine(t, settings, engine.WithPrefetch(8)))
		require.NoError(t, err)
		require.Equal(t, "stopRules[0]", result.Jobs[0].Reason)
	})
	t.Run("an error before the end fails the run after the pages before it", func(t *testing.T) {
		api := newListAPI(t, 30, "", refuse(http.StatusForbidden, func(page, _ int) bool { return page == 12 }))
		items, result, err := extract(t, api.engine(t, "", engine.WithPrefetch(8)))
		require.ErrorContains(t, err, "page 12")
		require.Equal(t, 22, strings.Count(items, "\n"))
		require.Equal(t, 11, result.Jobs[0].Pages)
		require.Equal(t, 1, api.requested(12), "a refusal is not retried")
	})
}

func TestAResponseWithStatus429PausesPrefetching(t *testing.T) {
	var busy atomic.Bool
	var during atomic.Int64
	api := newListAPI(t, 40, "", func(w http.ResponseWriter, page, n int) bool {
		if page == 10 && n == 1 {
			busy.Store(true)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}
		if page == 10 {
			busy.Store(false)
		}
		if busy.Load() && page > 13 { // pages 11 to 13 were in flight
			during.Add(1)
		}
		return false
	})
	_, _, err := extract(t, api.engine(t, "", engine.WithPrefetch(4)))
	require.NoError(t, err)
	require.Zero(t, during.Load(), "requests before the wait was over")
}

func TestLeavingEarlyLeavesNothingInFlight(t *testing.T) {
	api := newListAPI(t, 1000, "", nil)
	var inFlight atomic.Int64
	transport := transportFunc(func(r *http.Request) (*http.Response, error) {
		inFlight.Add(1)
		defer inFlight.Add(-1)
		return http.DefaultTransport.RoundTrip(r)
	})
	enough := errors.New("enough")
	_, err := api.engine(t, "", engine.WithPrefetch(16), engine.WithTransport(transport)).Run(t.Context(), func(_ context.Context, page *engine.Page) error {
		if page.Page == 5 {
			return enough
		}
		return nil
	})
	require.ErrorIs(t, err, enough)
	require.Zero(t, inFlight.Load())
}

// TestItemsOfAPageAfterTheEndAreTold has pages after the end that were requested ahead of their turn. All arrive at
// once, except page 2, so that the queue has them when the list ends.
func TestItemsOfAPageAfterTheEndAreTold(t *testing.T) {
	for _, c := range []struct {
		name, settings string
		beyond         string // the items of each page after page 2
		window         int
		told           bool
	}{
		{"new items", "", `{"id": 3}, {"id": 4}`, 3, true},
		{"items without an identifier", "", `"a"`, 3, true},
		{"no items", "", ``, 3, false},
		{"the first page again", "", `{"id": 1}, {"id": 2}`, 3, false},
		{"known items in another order", "", `{"id": 2}, {"id": 1}`, 3, false},
		{"the configuration ends the list", `, "stopRules": ["count == 0"]`, `{"id": 3}`, 3, false},
		{"the configuration cuts the list off", `, "forceStop": {"pages": 2}`, `{"id": 3}`, 3, false},
		{"nothing is requested ahead", "", `{"id": 3}`, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport := transportFunc(func(r *http.Request) (*http.Response, error) {
					items := c.beyond
					switch page, _ := strconv.Atoi(r.URL.Query().Get("page")); page {
					case 1:
						items = `{"id": 1}, {"id": 2}`
					case 2:
						items = ""
						time.Sleep(time.Second)
					}
					return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"data": [` + items + `]}`))}, nil
				})
				config := usersConfig("https://api.example.com", `"method": "pagenum"`+c.settings)
				_, result, err := extract(t, load(t, config, engine.WithPrefetch(c.window), engine.WithTransport(transport)))
				require.NoError(t, err)
				require.Equal(t, 2, result.Jobs[0].Pages)
				if !c.told {
					require.Empty(t, result.Jobs[0].Findings)
					return
				}
				require.Len(t, result.Jobs[0].Findings, 1)
				require.Equal(t, "audit.beyond", result.Jobs[0].Findings[0].ID)
				require.Equal(t, rules.WeightHint, result.Jobs[0].Findings[0].Weight) // whether the page has arrived is a matter of time
				require.Contains(t, result.Jobs[0].Findings[0].Message, "page 2 is the last, but page 3")
			})
		})
	}
}
