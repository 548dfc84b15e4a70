package ahead

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/compiletest"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/spool"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An api answers requests for the pages of a list, and notes them.
type api struct {
	mu     sync.Mutex
	asked  []int
	answer func(page int) (status int, body string)
	hold   chan struct{} // answers wait until it is closed; nil: none does
}

func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	page, _ := strconv.Atoi(r.URL.Query().Get("page"))
	a.mu.Lock()
	a.asked = append(a.asked, page)
	a.mu.Unlock()
	if a.hold != nil {
		select {
		case <-a.hold:
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	status, body := http.StatusOK, fmt.Sprintf(`{"data": [%d]}`, page)
	if a.answer != nil {
		status, body = a.answer(page)
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)), Request: r, ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

func (a *api) pages() []int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]int{}, a.asked...)
}

// A list is a list of numbered pages as the loop reads it.
type list struct {
	*Queue
	t       *testing.T
	client  *transport.Client
	context rules.Context
	machine language.Machine
	job     *compile.Job
	builder *compile.Builder
	next    requests.Request
	end     int // the last page that may be requested before the one before it was read
}

func newList(t *testing.T, a *api, policy Policy) *list {
	jobs := compiletest.Jobs(t, `{"api": {"baseUrl": "https://api.test/", "pagination": {"method": "pagenum"}},
		"config": {"jobs": [{"endpoint": "users", "dataField": "data"}]}}`)
	l := &list{t: t, job: jobs[0], client: transport.New(transport.Options{Origin: &url.URL{Scheme: "https", Host: "api.test"}, Transport: a}), end: math.MaxInt}
	l.context.Limit = l.job.Ruleset.Limit
	values, err := l.job.Compute(&l.machine, &l.context)
	require.NoError(t, err)
	l.builder, err = l.job.Builder(values)
	require.NoError(t, err)
	l.context.State, l.next, err = l.builder.Begin(&l.machine, &l.context)
	require.NoError(t, err)
	l.Queue = NewQueue(t.Context(), Dependencies{
		Job: l.job, Builder: l.builder, Context: &l.context, Client: l.client, Clock: transport.SystemClock,
		Reader: document.NewReader(document.Options{}), Encode: l.encode,
		MayFollow: func(page int) bool { return l.context.Page > 0 && page < l.end },
	}, policy)
	return l
}

func (l *list) encode(r requests.Request) (transport.Call, []string, error) {
	address, err := r.URL()
	return transport.Call{Method: r.Verb(), URL: address, Header: http.Header{}}, nil, err
}

// call returns the call for the next page.
func (l *list) call() transport.Call {
	call, _, err := l.encode(l.next)
	require.NoError(l.t, err)
	call.Page = l.context.Page + 1
	return call
}

// read reads the next page, and decides that the list goes on.
func (l *list) read() {
	l.context.Page++
	l.context.Total.Pages++
	variables, parts, more, err := l.job.Advance(&l.machine, &l.context)
	require.NoError(l.t, err)
	require.True(l.t, more)
	l.context.State = variables
	l.next, err = l.builder.Apply(parts, "")
	require.NoError(l.t, err)
}

func TestFlightsAreTakenInTheOrderOfTheList(t *testing.T) {
	for _, policy := range []Policy{PolicyFor(2), PolicyFor(5), PolicyFor(Auto)} {
		a := &api{}
		l := newList(t, a, policy)
		for page := 1; page <= 20; page++ {
			f := l.Take(l.call(), &spool.Buffer{})
			require.NotNil(t, f)
			require.NoError(t, f.Err)
			require.Equal(t, page, f.Call.Page)
			require.Equal(t, fmt.Sprintf(`{"data": [%d]}`, page), string(f.Response.Head()))
			require.NotNil(t, f.Response.Scan)
			if page == 1 {
				require.Equal(t, []int{1}, a.pages(), "the first page may say how long the list is")
			}
			l.read()
		}
		l.Close()
		require.LessOrEqual(t, len(a.pages()), 20+max(policy.Window, MaxGrowth))
	}
}

func TestNoPageIsRequestedBeyondTheKnownEnd(t *testing.T) {
	a := &api{}
	l := newList(t, a, PolicyFor(8))
	l.end = 3
	for range 3 {
		require.NotNil(t, l.Take(l.call(), &spool.Buffer{}))
		l.read()
	}
	l.Close()
	require.ElementsMatch(t, []int{1, 2, 3}, a.pages())
}

func TestAFlightThatFailedEndsTheRequestsUntilItIsTaken(t *testing.T) {
	a := &api{answer: func(page int) (int, string) {
		if page == 3 {
			return http.StatusForbidden, "{}"
		}
		return http.StatusOK, `{"data": [1]}`
	}}
	l := newList(t, a, PolicyFor(3))
	defer l.Close()
	for page := 1; page <= 3; page++ {
		f := l.Take(l.call(), &spool.Buffer{})
		require.NotNil(t, f)
		require.Equal(t, page == 3, f.Response.Status == http.StatusForbidden)
		require.Equal(t, page == 3, f.Response.Scan == nil, "a response that is not a page is not scanned")
		require.False(t, f.Ended.IsZero())
		l.read()
	}
	for _, page := range a.pages() {
		require.LessOrEqual(t, page, 5)
	}
}

func TestAnotherRequestThanThePlannedOneClosesTheQueue(t *testing.T) {
	a := &api{}
	l := newList(t, a, PolicyFor(3))
	for range 2 {
		require.NotNil(t, l.Take(l.call(), &spool.Buffer{}))
		l.read()
	}
	call := l.call()
	call.URL += "&since=1"
	require.Nil(t, l.Take(call, &spool.Buffer{}))
	require.Nil(t, l.Take(l.call(), &spool.Buffer{}), "from then on, pages are requested in their turn")
}

func TestDuringTheWorkOnALargePageTheNextOnesAreRequested(t *testing.T) {
	a := &api{}
	l := newList(t, a, Policy{Large: 100})
	defer l.Close()
	call := l.call()
	require.Nil(t, l.Take(call, &spool.Buffer{}), "the first page is requested in its turn")
	response, err := l.client.Exchange(t.Context(), call)
	require.NoError(t, err)
	l.NoteResponse(response)
	l.Offer(l.next)
	require.Equal(t, []int{1}, a.pages(), "the page was small")

	response.Size, response.Received = 100, 10
	l.NoteResponse(response)
	l.read()
	l.Offer(l.next)
	f := l.Take(l.call(), &spool.Buffer{})
	require.NotNil(t, f)
	require.Equal(t, 2, f.Call.Page)
	require.True(t, f.Ended.IsZero(), "one page failed, and not all in flight")
	require.Contains(t, a.pages(), 2)
	l.read()
	f = l.Take(l.call(), &spool.Buffer{})
	require.NotNil(t, f, "page 3 was requested when page 2 had arrived")
	require.Equal(t, 3, f.Call.Page)
}

func TestASmallPageMayBeTheLast(t *testing.T) {
	a := &api{}
	l := newList(t, a, Policy{Large: 100})
	defer l.Close()
	call := l.call()
	require.Nil(t, l.Take(call, &spool.Buffer{}))
	response, err := l.client.Exchange(t.Context(), call)
	require.NoError(t, err)
	response.Size, response.Received = 100, 100 // page 2 has fewer than half of these bytes
	l.NoteResponse(response)
	l.read()
	l.Offer(l.next)
	require.NotNil(t, l.Take(l.call(), &spool.Buffer{}))
	require.Equal(t, []int{1, 2}, a.pages())
}

func TestCloseEndsWhatIsInFlight(t *testing.T) {
	a := &api{hold: make(chan struct{})}
	l := newList(t, a, PolicyFor(4))
	l.context.Page = 1 // the list goes on after a resume
	took := make(chan *Flight)
	ctx, cancel := context.WithCancel(t.Context())
	l.parent = ctx
	go func() { took <- l.Take(l.call(), &spool.Buffer{}) }()
	cancel()
	f := <-took
	require.ErrorIs(t, f.Err, context.Canceled)
	l.Close()
	require.Empty(t, l.flights)
	l.Close() // a second time does no harm
}

func TestTheNilQueueIsEmpty(t *testing.T) {
	var q *Queue
	require.Nil(t, q.Take(transport.Call{}, nil))
	q.NoteResponse(&transport.Response{})
	q.Offer(requests.Request{})
	q.Close()
}

func TestPagesChooseAPolicy(t *testing.T) {
	require.Equal(t, Policy{}, PolicyFor(0))
	require.Equal(t, Policy{Window: 1, Large: LargePage}, PolicyFor(1))
	require.Equal(t, Policy{Window: 3, Large: LargePage}, PolicyFor(3))
	require.Equal(t, Policy{Window: 2, Grows: true, Large: LargePage}, PolicyFor(Auto))
}
