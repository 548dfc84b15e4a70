package runtime

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
)

// AutoPrefetch lets the loop pick how many pages are under way at a time.
const AutoPrefetch = -1

// most of AutoPrefetch: more is for people who know their API.
const autoWindow = 16

// ahead makes the requests of pages before the pages in front of them have come,
// where no request reads a response. Pages are taken in their order; what was
// asked for beyond the last is thrown away, and counted nowhere.
type ahead struct {
	client *Client
	clock  Clock
	job    *compile.Job
	call   func(rules.Request) (Call, error)
	window int // pages under way at a time, the one that is waited for included
	auto   bool
	most   int // the last page that there can be; 0: not known

	machine compile.Machine
	page    rules.Context // the plan: as the context will be after the last page that was asked for
	next    rules.Request
	planned bool // next is to be asked for
	flights []*flight
	begun   bool // the first page has come: what it says of the list bounds what is asked for
	free    []*Buffer
	trouble atomic.Bool // an exchange went wrong: nothing more until it is its turn

	cancel context.CancelFunc
	ctx    context.Context
	active sync.WaitGroup
}

// flight is one exchange under way.
type flight struct {
	call     Call
	began    time.Time
	done     chan struct{}
	response *Response
	err      error
}

// newAhead plans from the first request on; nil where requests wait for responses.
func newAhead(ctx context.Context, s *scroll, first rules.Request) *ahead {
	if s.Prefetch == 0 || s.Prefetch == 1 || s.job.Waits() != "" {
		return nil
	}
	a := &ahead{client: s.Client, clock: s.Clock, job: s.job, call: s.call, window: s.Prefetch, most: s.job.MostPages(), page: s.page, next: first, planned: true, begun: s.page.Page > 0}
	if a.auto = s.Prefetch < 0; a.auto {
		a.window = 2
	}
	a.ctx, a.cancel = context.WithCancel(ctx)
	return a
}

// fill asks for pages until the window is full.
func (a *ahead) fill() {
	for a.planned && (len(a.flights) == 0 || a.mayAsk()) {
		call, err := a.call(a.next)
		if err != nil {
			a.planned = false
			return
		}
		call.Into, call.counted = a.buffer(), true
		a.client.quota.ask()
		f := &flight{call: call, began: a.clock.Now(), done: make(chan struct{})}
		a.flights = append(a.flights, f)
		a.active.Go(func() {
			defer close(f.done)
			f.response, f.err = a.client.exchange(a.ctx, call)
			if f.err != nil || f.response.Status >= 400 {
				a.trouble.Store(true)
			}
		})
		a.plan()
	}
}

// mayAsk tells whether another page may be asked for while others are under way.
// Beyond what bounds the list a page is asked for in its turn alone.
func (a *ahead) mayAsk() bool {
	return a.begun && len(a.flights) < a.window && !a.trouble.Load() && a.client.quota.some() && (a.most == 0 || a.page.Page < a.most)
}

// learn bounds the list by what the first page says of it.
func (a *ahead) learn(total any, limit any) {
	a.begun = true
	items, known := total.(int)
	size, _ := limit.(int)
	if !known || items <= 0 || size <= 0 {
		return
	}
	if last := (items + size - 1) / size; a.most == 0 || last < a.most {
		a.most = last
	}
}

// plan makes the request after the one that was just asked for, as the loop will
// when its page has come.
func (a *ahead) plan() {
	a.page.Page++
	a.page.Total.Pages++
	state, parts, more, err := a.job.Advance(&a.machine, &a.page)
	if err != nil || !more {
		a.planned = false
		return
	}
	a.page.State = state
	a.next, err = a.job.Apply(parts, "")
	a.planned = err == nil
}

// take waits for the exchange of a request, whose turn it is. It reports false if
// the request is another than was planned: then nothing is ahead any more.
func (a *ahead) take(call Call) (*flight, bool) {
	a.fill()
	if len(a.flights) == 0 {
		return nil, false
	}
	f := a.flights[0]
	if f.call.Method != call.Method || f.call.URL != call.URL || string(f.call.Body) != string(call.Body) {
		return nil, false
	}
	select {
	case <-f.done:
	default:
		if a.auto {
			a.window = min(2*a.window, autoWindow)
			a.fill()
		}
		<-f.done
	}
	a.flights = a.flights[1:]
	if f.bad() { // it is dealt with now
		a.trouble.Store(slices.ContainsFunc(a.flights, (*flight).bad))
	}
	return f, true
}

// bad tells whether an exchange has gone wrong.
func (f *flight) bad() bool {
	select {
	case <-f.done:
		return f.err != nil || f.response.Status >= 400
	default:
		return false
	}
}

// end cancels what is under way and waits until nothing is.
func (a *ahead) end() {
	a.cancel()
	a.active.Wait()
	for _, f := range a.flights {
		f.call.Into.Release()
	}
	a.flights, a.planned = nil, false
}

func (a *ahead) buffer() *Buffer {
	if n := len(a.free); n > 0 {
		b := a.free[n-1]
		a.free = a.free[:n-1]
		return b
	}
	return &Buffer{}
}
