package ahead

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/spool"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A List is the list whose pages are requested.
type List struct {
	Job     *compile.Job
	Binding *compile.Binding
	Context *rules.Context // after the last page that was read
	Client  *transport.Client
	Clock   transport.Clock
	Reader  *document.Reader // scans the responses, each in the goroutine that receives it; may be nil

	// Encode makes a request an HTTP call, and names the secrets that it leaves out.
	Encode func(requests.Request) (call transport.Call, withheld []string, err error)

	// MayFollow reports whether a page may be requested before the page with a number was read.
	MayFollow func(page int) bool
}

// A Queue holds the exchanges of a list that were begun ahead of their turn. All methods are
// for one goroutine. The nil Queue is empty, and stays so.
type Queue struct {
	list        List
	window      int // see [Policy]; below 2, only the work on large pages is used
	grows       bool
	large       int
	independent bool // the requests of the job read no response

	machine language.Machine
	context rules.Context // after the page before the last one that was requested
	largest int           // bytes of the largest page since the first large one; 0: there was none
	sent    int           // the same, before it was decompressed

	mu      sync.Mutex
	flights []*Flight
	spare   []*spool.Buffer // for the bodies of the next flights

	parent, ctx context.Context // ctx is nil while no flight has begun
	cancel      context.CancelFunc
	active      sync.WaitGroup
}

// NewQueue returns an empty queue.
func NewQueue(ctx context.Context, list List, policy Policy) *Queue {
	independent := list.Job.Sequential() == ""
	q := &Queue{list: list, large: policy.Large, independent: independent, parent: ctx}
	q.machine.Context = ctx
	if independent {
		q.window, q.grows = policy.Window, policy.Grows
	}
	return q
}

// Arrived notes a page that has just arrived, and requests the page after it if the request
// reads no response and the page is large. A page that may be the last is read first: one that
// is much smaller than others, and one after which [List.MayFollow] allows none.
func (q *Queue) Arrived(response *transport.Response) {
	bytes := len(response.Body)
	if q == nil || q.window > 1 || q.large == 0 || q.largest == 0 && bytes < q.large || !transport.IsPage(response.Status) {
		return
	}
	q.largest, q.sent = max(q.largest, bytes), max(q.sent, response.Arrived)
	if len(q.flights) == 0 && bytes >= max(q.large, q.largest/2) && q.list.Client.MayReserve() {
		q.context = *q.list.Context
		q.requestPlanned(0)
	}
}

// Offer requests the next page, which the loop has decided on, if it was not requested yet
// and the list has had a large page. The page after it follows as soon as that one has arrived,
// unless it is much smaller than others.
func (q *Queue) Offer(next requests.Request) {
	if q == nil || q.window > 1 || q.largest == 0 {
		return
	}
	if len(q.flights) == 0 && next.After == 0 {
		q.context = *q.list.Context
		if call, ok := q.encode(next, q.context.Page+1); ok {
			q.request(call, 0)
		}
	}
	if len(q.flights) > 0 {
		q.requestPlanned((q.sent + 1) / 2)
	}
}

// Take waits for the flight of a call, whose page comes next, and returns it. It is nil if the
// page was not requested ahead. The queue gets a buffer that is not needed any more.
func (q *Queue) Take(call transport.Call, spare *spool.Buffer) *Flight {
	if q == nil {
		return nil
	}
	if len(q.flights) == 0 && q.window > 1 {
		q.context = *q.list.Context
		q.request(call, 0)
	}
	if len(q.flights) == 0 {
		return nil
	}
	q.fill()
	f := q.flights[0]
	if !f.isOf(call) {
		q.Close()
		return nil
	}
	if q.grows && !f.ended() {
		q.window = min(2*q.window, maxWindow)
		q.fill()
	}
	<-f.done
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spare = append(q.spare, spare)
	if q.flights = q.flights[1:]; len(q.flights) > 0 && q.flights[0].done == nil {
		q.flights = nil // its turn has come
	}
	return f
}

// Close cancels the flights and waits for their ends. From then on, only the work on large
// pages is used.
func (q *Queue) Close() {
	if q == nil || q.ctx == nil {
		return
	}
	q.cancel()
	q.active.Wait()
	for _, f := range q.flights {
		if f.done != nil {
			q.spare = append(q.spare, f.Call.Into)
		}
	}
	for _, b := range q.spare {
		b.Release()
	}
	q.flights, q.spare, q.ctx = nil, nil, nil
	q.window, q.largest, q.sent = 0, 0, 0
}

// fill requests pages until the window is full. A flight that has failed ends that until it
// is taken.
func (q *Queue) fill() {
	for len(q.flights) < q.window && !slices.ContainsFunc(q.flights, (*Flight).failed) && q.list.Client.MayReserve() {
		if !q.requestPlanned(0) {
			return
		}
	}
}

// plan returns the call for the page after the last one that was requested, before that page
// is read. It reports false if there is none, or if the page has to be read first.
func (q *Queue) plan() (transport.Call, bool) {
	c := q.context
	if c.Page++; !q.independent || !q.list.MayFollow(c.Page) {
		return transport.Call{}, false
	}
	c.Total.Pages++
	variables, parts, more, err := q.list.Job.Advance(&q.machine, &c)
	if err != nil || !more {
		return transport.Call{}, false
	}
	c.State = variables
	next, err := q.list.Binding.Apply(parts, "")
	if err != nil {
		return transport.Call{}, false
	}
	call, ok := q.encode(next, c.Page+1)
	if ok {
		q.context = c
	}
	return call, ok
}

// encode returns the call for a page. It reports false if it cannot be made, which is told in
// its turn. During the work on a large page, only the method GET is safe for a page that may
// not be needed.
func (q *Queue) encode(request requests.Request, page int) (call transport.Call, ok bool) {
	call, withheld, err := q.list.Encode(request)
	call.Page, call.Waits = page, &[]transport.Event{}
	return call, err == nil && (q.window > 1 || call.Method == http.MethodGet && len(withheld) == 0)
}

// requestPlanned requests the page after the last one that was requested. It reports false if
// there is none.
func (q *Queue) requestPlanned(after int) bool {
	call, ok := q.plan()
	if ok {
		q.request(call, after)
	}
	return ok
}

// request adds the flight of a call, which begins when the flight before it has some bytes, or
// at once for 0.
func (q *Queue) request(call transport.Call, after int) {
	if q.ctx == nil {
		q.ctx, q.cancel = context.WithCancel(q.parent)
	}
	f := &Flight{Call: call, after: after}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.flights = append(q.flights, f); after == 0 {
		q.begin(f)
	} else {
		q.beginNext()
	}
}

// arrive notes that the body of a flight has arrived.
func (q *Queue) arrive(f *Flight, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f.arrived = bytes
	q.beginNext()
}

// beginNext begins the flight that waits, if the one before it has arrived.
func (q *Queue) beginNext() {
	i := slices.IndexFunc(q.flights, func(f *Flight) bool { return f.done == nil })
	if i > 0 && q.flights[i-1].arrived >= q.flights[i].after && q.list.Client.MayReserve() {
		q.begin(q.flights[i])
	}
}

// begin begins a flight.
func (q *Queue) begin(f *Flight) {
	f.Call.Into, f.Call.Turn = q.buffer(), q.list.Client.Reserve()
	f.Began, f.done = q.list.Clock.Now(), make(chan struct{})
	call, ctx, one := f.Call, q.ctx, q.window < 2
	call.Arrived = func(bytes int) { q.arrive(f, bytes) }
	begun := make(chan struct{})
	q.active.Go(func() {
		defer close(f.done)
		close(begun)
		f.Response, f.Err = q.list.Client.Exchange(ctx, call)
		if !one {
			f.Call.Ended = q.list.Clock.Now()
		}
		f.scan(q.list.Reader)
	})
	<-begun // otherwise the exchange waits for another thread to wake up, since this goroutine goes on with this one
}

// buffer returns a buffer that is not in use.
func (q *Queue) buffer() *spool.Buffer {
	n := len(q.spare)
	if n == 0 {
		return &spool.Buffer{}
	}
	b := q.spare[n-1]
	q.spare = q.spare[:n-1]
	return b
}

// A Flight is the first attempt of a request that was made ahead of its turn.
type Flight struct {
	Call     transport.Call
	Began    time.Time
	Response *transport.Response
	Err      error

	Scan *document.Scan // the response, if it was scanned; otherwise nil

	after   int           // bytes that the flight before this one has to have, before this one begins
	arrived int           // bytes of the body as it was sent, if it has arrived; otherwise 0
	done    chan struct{} // closed at its end; nil before its beginning
}

// isOf reports whether a flight is that of a call.
func (f *Flight) isOf(call transport.Call) bool {
	return f.Call.Method == call.Method && f.Call.URL == call.URL && string(f.Call.Body) == string(call.Body)
}

// ended reports whether a flight has ended.
func (f *Flight) ended() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// failed reports whether a flight has ended without a page.
func (f *Flight) failed() bool {
	return f.ended() && (f.Err != nil || !transport.IsPage(f.Response.Status))
}

// scan scans the response. It leaves out a response that may have to be requested again: one
// that is not a page, or that may have been cut off.
func (f *Flight) scan(reader *document.Reader) {
	if reader == nil || f.Err != nil || !transport.IsPage(f.Response.Status) || f.Response.Unframed {
		return
	}
	f.Response.KeepHead() // the scan changes the body
	f.Scan = reader.Scan(document.Response{Status: f.Response.Status, Body: f.Response.Body, Window: f.Response.Window})
}

// A Policy says which pages are requested ahead of their turn. The zero Policy requests none.
type Policy struct {
	// Window is the number of pages in flight, with the one that the loop waits for, for
	// jobs whose requests read no response; below 2: one.
	Window int
	Grows  bool // the window doubles when the loop waits for a page, up to maxWindow

	// Large is the size in bytes of a page during whose work the next page is requested;
	// 0: there is none.
	Large int
}

const (
	// Auto is the number of pages with which [Pages] lets a run choose its window.
	Auto = -1

	// LargePage is the size in bytes from which it is worth it to work on two pages at the same
	// time: the work on a smaller one takes hardly longer than the other goroutine.
	LargePage = 64 << 10

	maxWindow = 16 // of a window that grows; more is for users who know their API
)

// Pages returns the policy for a number of pages in flight. With 1, the next page is requested
// only during the work on a large one; with 0, pages are requested in their turn.
func Pages(n int) Policy {
	switch {
	case n == 0:
		return Policy{}
	case n < 0:
		return Policy{Window: 2, Grows: true, Large: LargePage}
	}
	return Policy{Window: n, Large: LargePage}
}
