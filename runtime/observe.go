package runtime

import (
	"context"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// An Observer receives the events of a run. It should return quickly, since the run
// waits for it, and be safe for concurrent use: with prefetching or parallel jobs it
// is called from several goroutines.
type Observer interface {
	Observe(ctx context.Context, event Event)
}

// An Event is something that happened during a run. Kind says which of the
// fields below Time are set.
type Event struct {
	Kind EventKind
	Run  string // id of the run
	Job  string // id of the job

	Worker string // the machine, of a run on many machines; otherwise empty

	Partition string // the values of its variables: "order.id=1001"; empty: the job has no partitions

	Page int       // from 1; 0 for the end of a job that fetched none
	Time time.Time // when it happened; of a request, when it was sent

	Exchange *transport.Event // of a request, retry or wait
	Record   *trace.Record    // of a page
	Verdict  *trace.Verdict   // one per rule and page
	Finding  *trace.Finding
	Result   *Result // of the end of a job
	Err      error   // why the request or the job failed; nil if it did not
}

// EventKind is the kind of an [Event].
type EventKind string

// The kinds of events.
const (
	EventRequest EventKind = transport.EventRequest // one HTTP request and its response or error
	EventRetry   EventKind = transport.EventRetry   // a wait before a request is repeated
	EventWait    EventKind = transport.EventWait    // a wait for a rate limit, or for nextRequest.after
	EventPage    EventKind = "page"                 // a page was judged and passed to the sink
	EventVerdict EventKind = "verdict"              // one rule's verdict on that page
	EventFinding EventKind = "finding"              // evidence that the list may be incomplete
	EventEnd     EventKind = "end"                  // a job ended
)

func (r *run) observe(ctx context.Context, e Event) {
	if !r.observes(e.Kind) {
		return
	}
	e.Job, e.Partition = r.Result.Job, r.label()
	if e.Page == 0 {
		e.Page = r.Context.Value.Page
	}
	e.Time = r.Clock.Now()
	r.Observer.Observe(ctx, e)
}

// observes reports whether events of a kind are observed.
func (l *Loop) observes(kind EventKind) bool {
	return l.Observer != nil && (l.Observed == nil || slices.Contains(l.Observed, kind))
}

func (r *run) observePage(ctx context.Context, page *Page) {
	r.observe(ctx, Event{Kind: EventPage, Page: page.Page, Record: &page.Record})
	if !r.observes(EventVerdict) {
		return
	}
	for i := range page.Verdicts {
		r.observe(ctx, Event{Kind: EventVerdict, Page: page.Page, Verdict: &page.Verdicts[i]})
	}
}

// ObserveTransport passes the events of a [transport.Client] on to an observer: those of some
// kinds, or all if kinds is nil. It returns nil if there are none.
func ObserveTransport(o Observer, kinds []EventKind) func(context.Context, transport.Event) {
	l := Loop{Observer: o, Observed: kinds}
	if !slices.ContainsFunc([]EventKind{EventRequest, EventRetry, EventWait}, l.observes) {
		return nil
	}
	return func(ctx context.Context, e transport.Event) {
		if !l.observes(EventKind(e.Kind)) {
			return
		}
		o.Observe(ctx, Event{Kind: EventKind(e.Kind), Job: e.Job, Page: e.Page, Time: e.Time, Exchange: &e, Err: e.Err})
	}
}
