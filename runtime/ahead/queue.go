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
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/spool"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// Dependencies are the parts of the loop with which a [Queue] makes the requests of its list.
type Dependencies struct {
	Job     *compile.Job
	Builder *compile.Builder
	Context *rules.Context // context after the last page that was read
	Client  *transport.Client
	Clock   transport.Clock
	Reader  *document.Reader // scans each response in the goroutine that receives it; may be nil

	// Encode turns a request into an HTTP call, and returns the names of the secrets that it leaves
	// out.
	Encode func(requests.Request) (call transport.Call, withheld []string, err error)

	// MayFollow reports whether the page after a page with the given number may be requested before
	// its turn.
	MayFollow func(page int) bool
}

// A Queue holds the exchanges of a list that have begun ahead of their turn. Its methods are for
// one goroutine, the owner. A nil Queue is empty.
type Queue struct {
	dependencies Dependencies
	window       int // see [Policy]; below 2, requests ahead are made only while a page is processed
	grows        bool
	large        int  // see [Policy]
	delivering   bool // see [Policy]
	independent  bool // whether the requests of the job read no response

	machine  language.Machine
	context  rules.Context // context after the page before the last requested one
	largest  int           // size in bytes of the largest body since the first large page; 0 before it
	received int           // most bytes received for one of these bodies, before decompression

	// mu guards flights and spare against the goroutines of flights: when a body has arrived, its goroutine
	// may begin the next flight (noteArrival). Only the owner adds and removes flights, and so it reads the
	// list of them without mu. It may also read whether a flight is over without mu if window is above 1,
	// because every flight then begins when it is added.
	mu      sync.Mutex
	flights []*Flight
	spare   []*spool.Buffer // unused buffers for the bodies of flights

	parent, ctx context.Context // ctx is nil until a flight begins
	cancel      context.CancelFunc
	active      sync.WaitGroup
}

// NewQueue returns an empty queue.
func NewQueue(ctx context.Context, dependencies Dependencies, policy Policy) *Queue {
	independent := dependencies.Job.Analysis().WhySequential() == ""
	q := &Queue{dependencies: dependencies, large: policy.Large, delivering: policy.Delivering, independent: independent, parent: ctx}
	q.machine.Context = ctx
	if independent {
		q.window, q.grows = policy.Window, policy.Grows
	}
	return q
}

// NoteResponse notes a page that has just arrived. If the page is large, and the next request reads no
// response, NoteResponse requests the next page, unless the page may be the last: it is much smaller than
// others, or [Dependencies.MayFollow] allows no further page.
func (q *Queue) NoteResponse(response *transport.Response) {
	bytes := response.Size
	if q == nil || q.window > 1 || q.large == 0 || q.largest == 0 && bytes < q.large || !requests.IsPage(response.Status) {
		return
	}
	q.largest, q.received = max(q.largest, bytes), max(q.received, response.Received)
	if len(q.flights) == 0 && bytes >= max(q.large, q.largest/2) && q.dependencies.Client.HasQuota() {
		q.context = *q.dependencies.Context
		q.requestPlanned(0)
	}
}

// Offer requests the next page, as decided by the loop, unless the page was already requested or the
// policy lets it wait. If the list has had a large page, the page after next is requested as soon as
// the next page has arrived, unless the next page is much smaller than others.
func (q *Queue) Offer(next requests.Request) {
	if q == nil || q.window > 1 || q.largest == 0 && !q.delivering {
		return
	}
	if len(q.flights) == 0 && next.After == 0 {
		q.context = *q.dependencies.Context
		if call, ok := q.encode(next, q.context.Page+1); ok {
			q.enqueue(call, 0)
		}
	}
	if len(q.flights) > 0 && q.largest > 0 {
		q.requestPlanned((q.received + 1) / 2)
	}
}

// Take waits for the flight of the next page, made for a call, and returns it. It returns nil if
// the page was not requested ahead. spare is an unused buffer for the queue.
func (q *Queue) Take(call transport.Call, spare *spool.Buffer) *Flight {
	if q == nil {
		return nil
	}
	if len(q.flights) == 0 && q.window > 1 {
		q.context = *q.dependencies.Context
		q.enqueue(call, 0)
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
	if q.grows && !f.isOver() {
		q.window = min(2*q.window, MaxGrowth)
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

// Unread returns the flights of pages that have arrived and were not taken, in the order of the list. They are
// valid until the queue is closed.
func (q *Queue) Unread() (arrived []*Flight) {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, f := range q.flights {
		if f.done != nil && f.isOver() && !f.failed() {
			arrived = append(arrived, f)
		}
	}
	return arrived
}

// Close cancels the flights and waits for them to end. After that, requests ahead are made only
// while a page is processed, as with a [Policy.Window] of 0.
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
	q.window, q.largest, q.received = 0, 0, 0
}

// fill requests pages until the window is full. While a failed flight is in the queue, it requests no
// page.
func (q *Queue) fill() {
	for len(q.flights) < q.window && !slices.ContainsFunc(q.flights, (*Flight).failed) && q.dependencies.Client.HasQuota() {
		if !q.requestPlanned(0) {
			return
		}
	}
}

// plan returns the call for the page after the last requested page, which has not been read yet. It
// reports false if there is no such page, or if the last requested page must be read first.
func (q *Queue) plan() (transport.Call, bool) {
	c := q.context
	if c.Page++; !q.independent || !q.dependencies.MayFollow(c.Page) {
		return transport.Call{}, false
	}
	c.Total.Pages++
	variables, parts, more, err := q.dependencies.Job.Advance(&q.machine, &c)
	if err != nil || !more {
		return transport.Call{}, false
	}
	c.State = variables
	next, err := q.dependencies.Builder.Apply(parts, "")
	if err != nil {
		return transport.Call{}, false
	}
	call, ok := q.encode(next, c.Page+1)
	if ok {
		q.context = c
	}
	return call, ok
}

// encode returns the call for a page. It reports false if the call cannot be made; the error
// follows in its turn. With a window below 2, only a GET may be made, since the page may not be
// needed.
func (q *Queue) encode(request requests.Request, page int) (call transport.Call, ok bool) {
	call, withheld, err := q.dependencies.Encode(request)
	call.Page = page
	return call, err == nil && (q.window > 1 || call.Method == http.MethodGet && len(withheld) == 0)
}

// requestPlanned requests the page after the last requested page. It reports false if there is no such
// page.
func (q *Queue) requestPlanned(after int) bool {
	call, ok := q.plan()
	if ok {
		q.enqueue(call, after)
	}
	return ok
}

// enqueue adds the flight of a call. It begins when the previous flight has received after bytes,
// or at once if after is 0.
func (q *Queue) enqueue(call transport.Call, after int) {
	if q.ctx == nil {
		q.ctx, q.cancel = context.WithCancel(q.parent)
	}
	f := &Flight{Call: call, after: after}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.flights = append(q.flights, f)
	if after == 0 {
		q.beginLocked(f)
	} else {
		q.beginNextLocked()
	}
}

// noteArrival records that the body of a flight has arrived.
func (q *Queue) noteArrival(f *Flight, bytes int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	f.received = bytes
	q.beginNextLocked()
}

// beginNextLocked begins the waiting flight if the previous one has arrived. The caller holds the lock.
func (q *Queue) beginNextLocked() {
	i := slices.IndexFunc(q.flights, func(f *Flight) bool { return f.done == nil })
	if i > 0 && q.flights[i-1].received >= q.flights[i].after && q.dependencies.Client.HasQuota() {
		q.beginLocked(q.flights[i])
	}
}

// beginLocked begins a flight. The caller holds the lock.
func (q *Queue) beginLocked(f *Flight) {
	f.Call.Into, f.Call.Ticket = q.bufferLocked(), q.dependencies.Client.CountRequest()
	f.Began, f.done = q.dependencies.Clock.Now(), make(chan struct{})
	if q.dependencies.Reader != nil {
		f.Call.Reader = q.dependencies.Reader.ScansArriving()
	}
	call, ctx, single := f.Call, q.ctx, q.window < 2
	call.Arrived = func(bytes int) { q.noteArrival(f, bytes) }
	call.OnWait = func(e transport.Event) { f.Waits = append(f.Waits, e) }
	begun := make(chan struct{})
	q.active.Go(func() {
		defer close(f.done)
		f.Err = failure.Exited()
		defer func() { f.Err = failure.Recovered("", recover(), f.Err) }()
		close(begun)
		f.Response, f.Err = q.dependencies.Client.Exchange(ctx, call)
		if !single {
			f.Ended = q.dependencies.Clock.Now()
		}
		f.scan(q.dependencies.Reader)
	})
	<-begun // without this, the exchange would wait for another thread, since this goroutine keeps the current one
}

// bufferLocked returns an unused buffer. The caller holds the lock.
func (q *Queue) bufferLocked() *spool.Buffer {
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
	Call  transport.Call
	Began time.Time
	transport.Attempt
	Waits []transport.Event // waits before the request

	after    int           // size of the previous flight's body at which this flight begins
	received int           // size of the body as it was sent; 0 before its arrival
	done     chan struct{} // closed at the end; nil before the beginning
}

// isOf reports whether a flight belongs to a call.
func (f *Flight) isOf(call transport.Call) bool {
	return f.Call.Method == call.Method && f.Call.URL == call.URL && string(f.Call.Body) == string(call.Body)
}

// isOver reports whether a flight has ended.
func (f *Flight) isOver() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

// failed reports whether a flight has ended without a page.
func (f *Flight) failed() bool {
	return f.isOver() && (f.Err != nil || !requests.IsPage(f.Response.Status))
}

// scan scans the response, unless onError rules have to read its body first, or it may have to be
// requested again, because it is not a page or may be truncated.
func (f *Flight) scan(reader *document.Reader) {
	if reader == nil || f.Call.JudgesPages || f.Err != nil || !requests.IsPage(f.Response.Status) || f.Response.Unframed {
		return
	}
	if f.Response.Mapping != nil || f.Response.Scan != nil {
		return // it was scanned while it arrived, or is scanned in its turn
	}
	f.Response.KeepHead() // the scan modifies the body
	f.Response.Scan = reader.Scan(document.Response{Status: f.Response.Status, Body: f.Response.Body})
}

// A Policy determines which pages are requested ahead of their turn. With the zero Policy, every page is
// requested in its turn.
type Policy struct {
	// Window is the number of pages in flight, including the page that the loop waits for, for jobs
	// whose requests read no response. Below 2, there is one.
	Window int
	Grows  bool // whether the window doubles, up to 16, when the loop waits for a page

	// Large is the size, in bytes, from which a page is large: while it is processed, the next page is
	// requested. 0 means that no page is large.
	Large int

	// Delivering says that the next page is requested as soon as the loop knows that there is one, while
	// a page of any size is delivered. It is for pages whose delivery takes a while.
	Delivering bool
}

const (
	// Auto is the number of pages for which [PolicyFor] returns a policy that adapts the window.
	Auto = -1

	// LargePage is the size in bytes from which parallel work on two pages pays off. Processing a
	// smaller page takes hardly longer than the handover to another goroutine.
	LargePage = 64 << 10

	// MaxGrowth is the largest window that grows by itself. Users who know their API may set more.
	MaxGrowth = 16
)

// PolicyFor returns the policy for n pages in flight. With 1, the next page is requested only while a
// large page is processed; with 0, every page is requested in its turn.
func PolicyFor(n int) Policy {
	switch {
	case n == 0:
		return Policy{}
	case n < 0:
		return Policy{Window: 2, Grows: true, Large: LargePage}
	}
	return Policy{Window: n, Large: LargePage}
}
