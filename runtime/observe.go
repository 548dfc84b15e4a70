package runtime

import (
	"context"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// An Observer receives the events of a run. The run waits for it, so it should return quickly. It
// must be safe for concurrent use: with prefetching or parallel jobs, several goroutines call it.
type Observer interface {
	Observe(ctx context.Context, event Event)
}

// An Event is something that happened during a run. Kind determines which of the fields below Time
// are set.
type Event struct {
	Kind EventKind
	Run  string // id of the run
	Job  string // id of the job

	Worker string // the machine, if the run is distributed over many; otherwise empty

	Partition string // values of the variables, such as "order.id=1001"; empty for a job without variables

	Page int       // page number, from 1; 0 at the end of a job that fetched no page
	Time time.Time // time of the event; for a request, the time it was sent

	Exchange *transport.Event // set for a request, a retry or a wait
	Record   *trace.Record    // set for a page
	Verdict  *trace.Verdict   // set for a verdict; there is one per rule and page
	Finding  *trace.Finding   // set for a finding
	Result   *Result          // set for the end of a job
	Err      error            // error of the request or the job; nil if it succeeded
}

// EventKind is the kind of an [Event].
type EventKind = transport.EventKind

// The kinds of events.
const (
	EventRequest           = transport.EventRequest // one HTTP request and its response or error
	EventRetry             = transport.EventRetry   // a wait before a request is repeated
	EventWait              = transport.EventWait    // a wait for a rate limit, or for nextRequest.after
	EventPage    EventKind = "page"                 // a page was judged and, unless List.Omits leaves it out, passed to the sink
	EventVerdict EventKind = "verdict"              // one rule's verdict on that page
	EventFinding EventKind = "finding"              // a finding of the audit
	EventEnd     EventKind = "end"                  // a job ended
)

// observe passes an event to the observer.
func (r *listRun) observe(ctx context.Context, e Event) {
	if !r.observes(e.Kind) {
		return
	}
	e.Job, e.Partition = r.job.ID(), r.shownLabel()
	if e.Page == 0 {
		e.Page = r.pageContext().Page
	}
	e.Time = r.Clock.Now()
	r.Observer.Observe(ctx, e)
}

// observes reports whether events of a kind are observed.
func (o *Observers) observes(kind EventKind) bool {
	return o.Observer != nil && (o.Observed == nil || slices.Contains(o.Observed, kind))
}

// observePage passes a page, its verdicts and its findings to the observer as events.
func (r *listRun) observePage(ctx context.Context, page *Page) {
	r.observe(ctx, Event{Kind: EventPage, Page: page.Page, Record: &page.Record})
	if !r.observes(EventVerdict) {
		return
	}
	for i := range page.Verdicts {
		r.observe(ctx, Event{Kind: EventVerdict, Page: page.Page, Verdict: &page.Verdicts[i]})
	}
}

// OfTransport returns a function that passes the events of a [transport.Client] to the observer, or
// nil if it receives none of them.
func (o Observers) OfTransport() func(context.Context, transport.Event) {
	if !o.observesRequests() {
		return nil
	}
	return func(ctx context.Context, e transport.Event) {
		if !o.observes(e.Kind) {
			return
		}
		o.Observer.Observe(ctx, Event{
			Kind: e.Kind, Job: e.Job, Partition: e.Partition, Page: e.Page, Time: e.Time, Exchange: &e, Err: e.Err,
		})
	}
}

// observesRequests reports whether the events of requests are observed.
func (o *Observers) observesRequests() bool {
	return o.Observer != nil && slices.ContainsFunc([]EventKind{EventRequest, EventRetry, EventWait}, o.observes)
}
