package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stopwhen/stopwhen/engine"
)

// listAPI is a list of pages of two items each, which counts what it is asked for.
type listAPI struct {
	*httptest.Server
	mu     sync.Mutex
	asked  map[int]int // page -> how often
	active int
	most   int // requests at a time
}

// newListAPI serves pages until the last; beyond it they are empty. answer, which
// may be nil, may answer a request itself.
func newListAPI(t *testing.T, last int, extra string, answer func(page, times int, w http.ResponseWriter) bool) *listAPI {
	t.Helper()
	api := &listAPI{asked: map[int]int{}}
	api.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.URL.Query().Get("page"))
		api.mu.Lock()
		api.asked[page]++
		times := api.asked[page]
		api.active++
		api.most = max(api.most, api.active)
		api.mu.Unlock()
		defer func() {
			api.mu.Lock()
			api.active--
			api.mu.Unlock()
		}()
		if answer != nil && answer(page, times, w) {
			return
		}
		time.Sleep(time.Duration(page%3) * time.Millisecond) // later pages may be there first
		if page > last {
			fmt.Fprintf(w, `{"data": []%s}`, extra)
			return
		}
		fmt.Fprintf(w, `{"data": [{"id": %d}, {"id": %d}]%s}`, 2*page, 2*page+1, extra)
	}))
	t.Cleanup(api.Close)
	return api
}

func (a *listAPI) beyond(last int) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for page, times := range a.asked {
		if page > last {
			n += times
		}
	}
	return n
}

func (a *listAPI) load(t *testing.T, more string) *engine.Engine {
	t.Helper()
	e, err := engine.Load("c.json", []byte(`{"api": {"baseUrl": "`+a.URL+`/", "pagination": {"method": "pagenum", "limit": 2`+more+`}, "retryConfig": {"maxRetries": 2}}, "config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`))
	require.NoError(t, err)
	return e
}

// extract runs a configuration and gives its items.
func extract(t *testing.T, e *engine.Engine) (string, *engine.Result, error) {
	t.Helper()
	var items bytes.Buffer
	result, err := e.Run(context.Background(), func(_ context.Context, page *engine.Page) error {
		_, err := page.Items.WriteTo(&items)
		return err
	})
	return items.String(), result, err
}

func TestPagesAheadComeInTheirOrder(t *testing.T) {
	for _, window := range []int{2, 3, 16, 64, engine.AutoPrefetch} {
		api := newListAPI(t, 40, "", nil)
		want, one, err := extract(t, api.load(t, ""))
		require.NoError(t, err)
		require.Equal(t, 1, api.beyond(40), "the empty page")
		got, many, err := extract(t, api.load(t, "").With(engine.WithPrefetch(window)))
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Equal(t, one.Jobs[0].StoppedBy, many.Jobs[0].StoppedBy)
		require.Equal(t, one.Jobs[0].Pages, many.Jobs[0].Pages)
		require.Equal(t, one.Jobs[0].Bytes, many.Jobs[0].Bytes, "what was thrown away is not counted")
		most := window
		if window < 0 {
			most = 16
		}
		require.LessOrEqual(t, api.beyond(41)-0, most-1, "requests past the end")
		require.LessOrEqual(t, api.most, most)
		if window > 2 {
			require.Greater(t, api.most, 1, "pages were under way at the same time")
		}
	}
}

func TestWhatTheFirstPageSaysBoundsWhatIsAskedFor(t *testing.T) {
	for _, c := range []struct{ name, extra, rules string }{
		{"total of the response", `, "meta": {"total": 40}`, `, "limitStop": {"field": "meta.total"}`},
		{"limit of pages", "", `, "forceStop": {"pages": 20}`},
		{"limit of items", "", `, "limitStop": {"count": 40}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			api := newListAPI(t, 1000, c.extra, nil)
			items, _, err := extract(t, api.load(t, c.rules).With(engine.WithPrefetch(16)))
			require.NoError(t, err)
			require.Equal(t, 40, bytes.Count([]byte(items), []byte("\n")))
			require.Zero(t, api.beyond(20), "nothing is requested beyond the last page")
		})
	}
	t.Run("empty list", func(t *testing.T) {
		api := newListAPI(t, 0, "", nil)
		_, _, err := extract(t, api.load(t, "").With(engine.WithPrefetch(16)))
		require.NoError(t, err)
		require.Zero(t, api.beyond(1), "nothing is requested ahead of the first page")
	})
}

func TestFaultsAheadAreDealtWithInTheirTurn(t *testing.T) {
	passing := newListAPI(t, 30, "", func(page, times int, w http.ResponseWriter) bool {
		if page%5 != 0 || times > 1 {
			return false
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return true
	})
	e := passing.load(t, "").With(engine.WithPrefetch(8), engine.WithClock(instant{}))
	items, result, err := extract(t, e)
	require.NoError(t, err)
	require.Equal(t, 60, bytes.Count([]byte(items), []byte("\n")))
	require.Equal(t, 31, result.Jobs[0].Pages)

	// A page beyond the end may be refused: nobody asks what became of it.
	refused := newListAPI(t, 30, "", func(page, _ int, w http.ResponseWriter) bool {
		if page <= 30 {
			return false
		}
		w.WriteHeader(http.StatusNotFound)
		return true
	})
	_, result, err = extract(t, refused.load(t, `, "forceStop": {"time": 3600}, "stopRules": ["items[-1].id == 61"]`).With(engine.WithPrefetch(8)))
	require.NoError(t, err)
	require.Equal(t, "stopRules[0]", result.Jobs[0].Reason)

	// One in front of the end ends the run, and what came before it is kept.
	broken := newListAPI(t, 30, "", func(page, _ int, w http.ResponseWriter) bool {
		if page != 12 {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	items, result, err = extract(t, broken.load(t, "").With(engine.WithPrefetch(8)))
	require.ErrorContains(t, err, "page 12")
	require.Equal(t, 22, bytes.Count([]byte(items), []byte("\n")))
	require.Equal(t, 11, result.Jobs[0].Pages)
	require.Equal(t, 1, broken.asked[12], "a refusal is not repeated")
}

// TestAnAPIThatIsBusyIsNotAskedForMore: after a 429 nothing new is asked for
// until it was waited for.
func TestAnAPIThatIsBusyIsNotAskedForMore(t *testing.T) {
	var mu sync.Mutex
	busy := false
	during := 0
	api := newListAPI(t, 40, "", func(page, times int, w http.ResponseWriter) bool {
		mu.Lock()
		defer mu.Unlock()
		if page == 10 && times == 1 {
			busy = true
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}
		if page == 10 {
			busy = false
		}
		if busy && page > 13 {
			during++
		}
		return false
	})
	_, _, err := extract(t, api.load(t, "").With(engine.WithPrefetch(4)))
	require.NoError(t, err)
	require.Zero(t, during, "beyond what was under way already")
}

// instant is a clock on which waiting takes no time.
type instant struct{}

func (instant) Now() time.Time                                   { return time.Now() }
func (instant) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// countingTransport counts the requests in flight.
type countingTransport struct{ inFlight atomic.Int64 }

func (c *countingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	c.inFlight.Add(1)
	defer c.inFlight.Add(-1)
	return http.DefaultTransport.RoundTrip(r)
}

func TestLeavingEarlyLeavesNothingInFlight(t *testing.T) {
	api := newListAPI(t, 1000, "", nil)
	enough := errors.New("enough")
	transport := &countingTransport{}
	e := api.load(t, "").With(engine.WithPrefetch(16), engine.WithTransport(transport))
	_, err := e.Run(context.Background(), func(_ context.Context, page *engine.Page) error {
		if page.Page == 5 {
			return enough
		}
		return nil
	})
	require.ErrorIs(t, err, enough)
	require.Zero(t, transport.inFlight.Load())
}

func TestJobsAtOnce(t *testing.T) {
	api := newListAPI(t, 10, "", nil)
	e, err := engine.Load("c.json", []byte(`{"api": {"baseUrl": "`+api.URL+`/", "pagination": {"method": "pagenum"}}, "config": {"jobs": [
		{"endpoint": "a", "dataField": "data"}, {"endpoint": "b", "dataField": "data"}, {"endpoint": "c", "dataField": "data"}, {"endpoint": "d", "dataField": "data"}]}}`))
	require.NoError(t, err)
	items := map[string]*bytes.Buffer{}
	active := false
	result, err := e.With(engine.WithParallelJobs(3), engine.WithPrefetch(4)).Run(context.Background(), func(_ context.Context, page *engine.Page) error {
		require.False(t, active, "one page at a time")
		active = true
		defer func() { active = false }()
		if items[page.Job] == nil {
			items[page.Job] = &bytes.Buffer{}
		}
		_, err := page.Items.WriteTo(items[page.Job])
		return err
	})
	require.NoError(t, err)
	require.Greater(t, api.most, 1)
	require.Len(t, result.Jobs, 4)
	for i, job := range []string{"a", "b", "c", "d"} {
		require.Equal(t, job, result.Jobs[i].Job)
		require.Equal(t, 11, result.Jobs[i].Pages)
		require.Equal(t, items["a"].String(), items[job].String())
	}

	// The first error ends them all, once.
	failed := errors.New("full")
	result, err = e.With(engine.WithParallelJobs(4)).Run(context.Background(), func(_ context.Context, page *engine.Page) error {
		if page.Page == 3 {
			return failed
		}
		return nil
	})
	require.ErrorIs(t, err, failed)
	require.NotEmpty(t, result.Jobs)

	// Pages yields one job after another all the same.
	last := ""
	var order []string
	for page, err := range e.With(engine.WithParallelJobs(4)).Pages(context.Background()) {
		require.NoError(t, err)
		if page.Job != last {
			last = page.Job
			order = append(order, last)
		}
	}
	require.Equal(t, []string{"a", "b", "c", "d"}, order)
}
