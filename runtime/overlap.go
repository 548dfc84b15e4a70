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

// overlapBytes is the size of the pages that are worth it: what is done with a smaller one
// takes hardly longer than the other goroutine.
const overlapBytes = 64 << 10

// An overlap is the exchange of the next page while the loop works on the one before it.
type overlap struct {
	independent bool          // the requests of the job do not read responses
	sent        *inFlight     // nil: none
	spare       *spool.Buffer // for the body of the next exchange
	largest     int           // bytes of the largest page
	machine     compile.Machine

	ctx    context.Context
	cancel context.CancelFunc
	active sync.WaitGroup
}

// beginOverlap prepares the overlap if a page is worth it. There is none if the jobs for the
// items of a page run when it is delivered, since their requests come first.
func (r *run) beginOverlap(ctx context.Context, bytes int) {
	switch {
	case r.overlap != nil:
		r.overlap.largest = max(r.overlap.largest, bytes)
	case bytes >= r.OverlapBytes && r.Prefetch != 0 && r.prefetcher == nil && !r.isParent && r.Partitions == nil:
		o := &overlap{independent: r.job.Sequential() == "", spare: &spool.Buffer{}, largest: bytes}
		o.ctx, o.cancel = context.WithCancel(ctx)
		o.machine.Context = o.ctx
		r.overlap = o
	}
}

// requestAhead requests the page after the one that has just arrived, if the request reads no
// response. A page that may be the last is read first: the first page, which may say how long
// the list is, the last page that it says there is, and a page much smaller than others.
func (r *run) requestAhead(ctx context.Context, response *transport.Response) {
	if !transport.IsPage(response.Status) {
		return
	}
	bytes := len(response.Body)
	r.beginOverlap(ctx, bytes)
	o, arrived := r.overlap, r.Context.Value.Page+1
	if o == nil || !o.independent || bytes < max(r.OverlapBytes, o.largest/2) || !r.Client.MayReserve() {
		return
	}
	if r.learn(); !r.length.mayFollow(arrived) {
		return
	}
	c := r.Context.Value
	c.Page++
	c.Total.Pages++
	_, parts, more, err := r.job.Advance(&o.machine, &c)
	if err != nil || !more {
		return
	}
	if next, err := r.binding.Apply(parts, ""); err == nil {
		r.send(next, arrived+1)
	}
}

// requestNext requests the next page while the last one is delivered.
func (r *run) requestNext(next rules.Request) {
	if o := r.overlap; o != nil && o.sent == nil && next.After == 0 {
		r.send(next, r.Context.Value.Page+1)
	}
}

// send begins the exchange of a page. Whatever keeps its request from being made is
// reported in its turn. Only the method GET is safe to be used for a page that may not be
// needed.
func (r *run) send(request rules.Request, page int) {
	call, withheld, err := r.encode(request)
	if err != nil || len(withheld) > 0 || call.Method != http.MethodGet || call.Uninterrupted {
		return
	}
	o := r.overlap
	call.Page, call.Into, call.Waits = page, o.spare, &[]transport.Event{}
	f := &inFlight{call: call, began: r.Clock.Now(), done: make(chan struct{})}
	o.sent = f
	begun := make(chan struct{})
	o.active.Go(func() {
		defer close(f.done)
		close(begun)
		f.response, f.err = r.Client.Exchange(o.ctx, call)
	})
	<-begun // otherwise the exchange waits for another thread to wake up, since the loop goes on with this one
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
	r.overlap.sent, r.overlap.spare = nil, r.buffers[1]
	r.buffers[0], r.buffers[1] = f.call.Into, r.buffers[0]
	return f
}

// stopOverlap cancels an exchange that is not needed any more, and waits for it.
func (r *run) stopOverlap() {
	if o := r.overlap; o != nil {
		o.cancel()
		o.active.Wait()
		o.spare.Release()
		r.overlap = nil
	}
}
