package runtime

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/spool"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// AutoPrefetch lets the loop choose the number of pages in flight.
const AutoPrefetch = -1

// maxAutoWindow bounds [AutoPrefetch]; more is for users who know their API.
const maxAutoWindow = 16

// A prefetcher requests pages before earlier responses arrive, for jobs whose
// requests do not read responses. Pages are taken in their order; those beyond the last are
// discarded and counted nowhere.
type prefetcher struct {
	client *transport.Client
	clock  transport.Clock
	job    *compile.Job

	scanner aheadScanner
	binding *compile.Binding
	encode  func(rules.Request) (transport.Call, []string, error)

	window int     // pages in flight, including the one that the loop waits for
	auto   bool    // the window grows while the loop waits
	length *length // of the list

	machine compile.Machine
	context rules.Context // as it will be after the last page that was requested
	next    rules.Request
	planned bool // next is to be requested
	flights []*inFlight
	free    spares
	failed  atomic.Bool // an exchange failed; stops requests until it is consumed

	ctx    context.Context
	cancel context.CancelFunc
	active sync.WaitGroup
}

// inFlight is one prefetched exchange.
type inFlight struct {
	call     transport.Call
	began    time.Time
	done     chan struct{} // nil: it was not begun
	response *transport.Response
	err      error
	scanned  *scanned // the response, if it was scanned; nil: it was not
	arrived  int      // bytes of the body as it was sent, if it has arrived; otherwise 0
}

// newPrefetcher returns a prefetcher that begins with a request, or nil for a job
// whose requests depend on responses.
func newPrefetcher(ctx context.Context, r *run, next rules.Request) *prefetcher {
	if r.Prefetch == 0 || r.Prefetch == OverlapPrefetch {
		return nil
	}
	if reason := r.job.Sequential(); reason != "" {
		if r.Prefetch > 1 && r.job.Paged() {
			r.Log.Info(fmt.Sprintf("Job '%s' fetches one page at a time: %s", r.name(), r.Redactor.String(reason)),
				"event", "sequential", "job", r.Result.Job)
		}
		return nil
	}
	p := &prefetcher{
		client: r.Client, clock: r.Clock, job: r.job, scanner: r.aheadScanner(), binding: r.binding, encode: r.encode, window: r.Prefetch,
		length: &r.length, context: r.Context.Value, next: next, planned: true,
	}
	r.learn()
	if p.auto = r.Prefetch == AutoPrefetch; p.auto {
		p.window = 2
	}
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.machine.Context = p.ctx
	return p
}

// fill requests pages until the window is full.
func (p *prefetcher) fill() {
	for p.planned && (len(p.flights) == 0 || p.mayRequest()) {
		call, _, err := p.encode(p.next)
		if err != nil {
			p.planned = false
			return
		}
		call.Page, call.Into, call.Turn, call.Waits = p.context.Page+1, p.free.take(), p.client.Reserve(), &[]transport.Event{}
		f := &inFlight{call: call, began: p.clock.Now(), done: make(chan struct{})}
		p.flights = append(p.flights, f)
		p.active.Go(func() {
			defer close(f.done)
			f.response, f.err = p.client.Exchange(p.ctx, call)
			f.call.Ended = p.clock.Now()
			if f.err != nil || !transport.IsPage(f.response.Status) {
				p.failed.Store(true)
			}
			p.scanner.scan(f)
		})
		p.plan()
	}
}

// mayRequest reports whether another page may be requested while others are in
// flight. Pages that may be beyond the end of the list wait for their turn.
func (p *prefetcher) mayRequest() bool {
	return p.length.mayFollow(p.context.Page) && len(p.flights) < p.window && !p.failed.Load() && p.client.MayReserve()
}

// A length is what is known of the length of a list.
type length struct {
	known    bool // as far as it will be: a page has arrived
	lastPage int  // 0: unknown
}

// limit sets the last page from a number of items and the size of a page.
func (l *length) limit(items int, size any) {
	perPage, _ := size.(int)
	if items <= 0 || perPage <= 0 {
		return
	}
	if last := (items + perPage - 1) / perPage; l.lastPage == 0 || last < l.lastPage {
		l.lastPage = last
	}
}

// mayFollow reports whether a page may be requested before an earlier one has been read.
func (l *length) mayFollow(page int) bool { return l.known && (l.lastPage == 0 || page < l.lastPage) }

// plan makes the request after the one that was just sent, as the loop will once
// that page has arrived.
func (p *prefetcher) plan() {
	p.next, p.planned = requestAfter(p.job, p.binding, &p.machine, &p.context)
}

// requestAfter makes the request for the page after the next one, before that has been read.
// It changes the context to what it will be then, and reports false if there is no request.
func requestAfter(job *compile.Job, binding *compile.Binding, m *compile.Machine, c *rules.Context) (rules.Request, bool) {
	c.Page++
	c.Total.Pages++
	variables, parts, more, err := job.Advance(m, c)
	if err != nil || !more {
		return rules.Request{}, false
	}
	c.State = variables
	next, err := binding.Apply(parts, "")
	return next, err == nil
}

// take waits for the exchange of the next call. It reports false if the call differs
// from the planned one; prefetching has to stop then.
func (p *prefetcher) take(call transport.Call) (*inFlight, bool) {
	p.fill()
	if len(p.flights) == 0 {
		return nil, false
	}
	f := p.flights[0]
	if !f.isOf(call) {
		return nil, false
	}
	select {
	case <-f.done:
	default:
		if p.auto {
			p.window = min(2*p.window, maxAutoWindow)
			p.fill()
		}
		<-f.done
	}
	p.flights = p.flights[1:]
	if f.bad() { // the loop handles it now
		p.failed.Store(slices.ContainsFunc(p.flights, (*inFlight).bad))
	}
	return f, true
}

// isOf reports whether an exchange is that of a call.
func (f *inFlight) isOf(call transport.Call) bool {
	return f.call.Method == call.Method && f.call.URL == call.URL && string(f.call.Body) == string(call.Body)
}

// bad reports whether an exchange has failed.
func (f *inFlight) bad() bool {
	select {
	case <-f.done:
		return f.err != nil || !transport.IsPage(f.response.Status)
	default:
		return false
	}
}

// close cancels the exchanges in flight and waits for them.
func (p *prefetcher) close() {
	p.cancel()
	p.active.Wait()
	for _, f := range p.flights {
		p.free = append(p.free, f.call.Into)
	}
	p.free.release()
	p.flights, p.planned = nil, false
}

// spares are buffers that are not in use.
type spares []*spool.Buffer

// release releases the buffers.
func (s *spares) release() {
	for _, b := range *s {
		b.Release()
	}
	*s = nil
}

// take returns a buffer, which is a new one if there is none.
func (s *spares) take() *spool.Buffer {
	n := len(*s)
	if n == 0 {
		return &spool.Buffer{}
	}
	b := (*s)[n-1]
	*s = (*s)[:n-1]
	return b
}
