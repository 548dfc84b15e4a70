package runtime

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// SourceAfter is the [transport.Event.Source] of a wait that the rules demand.
const SourceAfter = "nextRequest.after"

// pause waits until a request may be made, as the rules demand (nextRequest.after). A run
// that resumes waits for the rest of the time.
func (r *run) pause(ctx context.Context, request requests.Request, call transport.Call) error {
	now := r.Clock.Now()
	wait := min(r.Due.Sub(now), request.After) // the clock of another machine may differ
	if wait <= 0 {
		return nil
	}
	r.Log.Debug(fmt.Sprintf("Job '%s' waits %s before its next request", r.Result.Job, wait.Round(time.Millisecond)),
		"event", "poll_wait", "job", r.Result.Job, "page", call.Page, "wait_ms", wait.Milliseconds())
	event := transport.Event{
		Kind: transport.EventWait, Job: call.Job, Page: call.Page, Time: now, Duration: wait,
		Method: call.Method, URL: r.Redactor.URL(call.URL), Attempt: 1, Source: SourceAfter,
	}
	*call.Waits = append(*call.Waits, event)
	r.observe(ctx, Event{Kind: EventWait, Page: call.Page, Exchange: &event})
	if err := r.Clock.Sleep(ctx, wait); err != nil {
		return &failure.Error{
			Class: failure.Cancelled, Job: call.Job, Page: call.Page, Op: SourceAfter,
			Message: transport.Interruption(ctx) + " while waiting for the next request", Err: errors.Join(err, context.Cause(ctx)),
		}
	}
	return nil
}
