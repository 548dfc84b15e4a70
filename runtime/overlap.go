package runtime

import (
	"context"
	"net/http"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/spool"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// OverlapPrefetch is one page in flight, which is requested while the page before it is
// scanned and delivered, if that takes longer than the request costs.
const OverlapPrefetch = 1

// LargePage is the size in bytes from which it is worth it to work on two pages at the same
// time: what is done with a smaller one takes hardly longer than the other goroutine.
const LargePage = 64 << 10

// An overlap is the exchange of the next page while the loop works on the one before it. When
// the page has arrived, it is decompressed and scanned by the goroutine that has received it;
// meanwhile, the page after it is requested if the loop has decided that the list goes on
// after the page before it. So at most one page past the end of the list is requested.
type overlap struct {
	client      *transport.Client
	clock       transport.Clock
	scanner     aheadScanner
	independent bool // the requests of the job do not read responses
	largest     int  // bytes of the largest page
	arriving    int  // the same, before it was decompressed
	machine     compile.Machine

	mu    sync.Mutex
	sent  *inFlight // the exchange of the next page; nil: none
	then  *inFlight // that of the page after it, which is begun when sent has arrived; nil: none
	least int       // bytes of a page, before it is decompressed, that is not much smaller than others; at least 1
	spare spares    // for the bodies of the next exchanges

	ctx    context.Context
	cancel context.CancelFunc
	active sync.WaitGroup
}

// beginOverlap prepares the overlap if a page is worth it. There is none if the jobs for the
// items of a page run when it is delivered, since their requests come first.
func (r *run) beginOverlap(ctx context.Context, response *transport.Response) {
	bytes := len(response.Body)
	if r.overlap == nil && bytes >= r.OverlapBytes && r.Prefetch != 0 && r.prefetcher == nil && !r.isParent && r.Partitions == nil {
		r.overlap = &overlap{client: r.Client, clock: r.Clock, scanner: r.aheadScanner(), independent: r.job.Sequential() == ""}
		r.overlap.ctx, r.overlap.cancel = context.WithCancel(ctx)
		r.overlap.machine.Context = r.overlap.ctx
	}
	if o := r.overlap; o != nil {
		o.largest, o.arriving = max(o.largest, bytes), max(o.arriving, response.Arrived)
	}
}

// requestAhead requests the page after the one that has just arrived, if the request reads no
// response. A page that may be the last is read first: the first page, which may say how long
// the list is, the last page that it says there is, and a page much smaller than others.
func (r *run) requestAhead(ctx context.Context, response *transport.Response) {
	if !transport.IsPage(response.Status) {
		return
	}
	r.beginOverlap(ctx, response)
	o := r.overlap
	if o == nil || o.sent != nil || len(response.Body) < max(r.OverlapBytes, o.largest/2) || !r.Client.MayReserve() {
		return
	}
	if f := r.plan(r.Context.Value.Page + 1); f != nil {
		o.send(f)
	}
}

// plan returns the exchange of the page after an arrived one, which follows the last page
// that was read. It is nil if there is none, or if it has to wait until that page was read.
func (r *run) plan(arrived int) *inFlight {
	if r.learn(); !r.overlap.independent || !r.length.mayFollow(arrived) {
		return nil
	}
	c := r.Context.Value
	next, more := requestAfter(r.job, r.binding, &r.overlap.machine, &c)
	if !more {
		return nil
	}
	return r.flight(next, arrived+1)
}

// flight returns an exchange that may be begun ahead, or nil. Whatever keeps its request from
// being made is reported in its turn. Only the method GET is safe to be used for a page that
// may not be needed.
func (r *run) flight(request rules.Request, page int) *inFlight {
	call, withheld, err := r.encode(request)
	if err != nil || len(withheld) > 0 || call.Method != http.MethodGet || call.Uninterrupted {
		return nil
	}
	call.Page, call.Waits = page, &[]transport.Event{}
	return &inFlight{call: call}
}

// requestNext requests the next page while the last one is delivered, if it was not requested
// yet, and the one after it as soon as it has arrived.
func (r *run) requestNext(next rules.Request) {
	o := r.overlap
	if o == nil {
		return
	}
	if o.sent == nil && next.After == 0 {
		if f := r.flight(next, r.Context.Value.Page+1); f != nil {
			o.send(f)
		}
	}
	if o.sent != nil {
		o.sendThen(r.plan(o.sent.call.Page), (o.arriving+1)/2)
	}
}

// send begins the exchange of the next page.
func (o *overlap) send(f *inFlight) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sent = f
	o.begin(f)
}

// sendThen begins the exchange of the page after the next one when that has arrived, unless it
// has less than some bytes. Nil is none.
func (o *overlap) sendThen(f *inFlight, least int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.then, o.least = f, least
	o.beginThen()
}

// arrived notes that the body of a page has arrived.
func (o *overlap) arrived(f *inFlight, bytes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if f.arrived = bytes; f == o.sent {
		o.beginThen()
	}
}

// beginThen begins the exchange of the page after the next one, if that has arrived.
func (o *overlap) beginThen() {
	if o.then != nil && o.sent.arrived >= o.least && o.client.MayReserve() {
		o.begin(o.then)
	}
}

// begin begins an exchange.
func (o *overlap) begin(f *inFlight) {
	f.call.Into, f.began, f.done = o.spare.take(), o.clock.Now(), make(chan struct{})
	call := f.call
	call.Arrived = func(bytes int) { o.arrived(f, bytes) }
	begun := make(chan struct{})
	o.active.Go(func() {
		defer close(f.done)
		close(begun)
		f.response, f.err = o.client.Exchange(o.ctx, call)
		o.scanner.scan(f)
	})
	<-begun // otherwise the exchange waits for another thread to wake up, since this goroutine goes on with this one
}

// takeOverlapped waits for the exchange of a call that was begun, and returns it, or nil if
// there is none.
func (r *run) takeOverlapped(call transport.Call) *inFlight {
	if r.overlap == nil || r.overlap.sent == nil {
		return nil
	}
	f := r.overlap.sent
	if !f.isOf(call) {
		r.stopOverlap()
		return nil
	}
	<-f.done
	r.overlap.taken(r.buffers[1])
	r.buffers[0], r.buffers[1] = f.call.Into, r.buffers[0]
	return f
}

// taken makes the page after the next one the next, with a buffer that is not needed any more.
func (o *overlap) taken(spare *spool.Buffer) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.spare = append(o.spare, spare)
	o.sent = nil
	if o.then != nil && o.then.done != nil {
		o.sent = o.then
	}
	o.then = nil
}

// stopOverlap cancels the exchanges that are not needed any more, and waits for them.
func (r *run) stopOverlap() {
	o := r.overlap
	if o == nil {
		return
	}
	o.cancel()
	o.active.Wait()
	for _, f := range []*inFlight{o.sent, o.then} {
		if f != nil && f.done != nil {
			o.spare = append(o.spare, f.call.Into)
		}
	}
	o.spare.release()
	r.overlap = nil
}
