package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/runtime/ahead"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/spool"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A fetchResult is the response to the request for a page, with the exchange that led to it.
type fetchResult struct {
	*transport.Response
	call   transport.Call
	sentAt time.Time         // the time of the request
	waits  []transport.Event // waits before and between the attempts
	action errorAction       // decision about an error response
}

// An errorAction is the decision of an onError rule about an error response.
type errorAction struct {
	do      rules.ErrorAction // "" if no rule is met
	rule    string            // id of the rule
	outcome rules.Outcome     // outcome of the rule, if it ends the list
	text    string            // message of the rule
	because string            // the rule with the values that it read
	err     error             // reason why a rule could not be evaluated; the run then fails
}

// transportActions maps the decision of an onError rule to the decision of the transport.
var transportActions = map[rules.ErrorAction]transport.Action{
	rules.ErrorRetry: transport.Retry, rules.ErrorFail: transport.Fail,
	rules.ErrorStop: transport.Accept, rules.ErrorRestart: transport.Accept, rules.ErrorContinue: transport.Accept,
}

// fetch makes the exchange for one page, with its retries, or takes the exchange that was made
// ahead. The onError rules decide about error responses.
func (r *listRun) fetch(ctx context.Context, request requests.Request) (fetchResult, error) {
	out := fetchResult{sentAt: r.Clock.Now()}
	call, err := r.callFor(request)
	if err != nil {
		return out, err
	}
	onWait := func(e transport.Event) { out.waits = append(out.waits, e) }
	call.OnWait = onWait
	if err := r.pause(ctx, request, call); err != nil {
		return out, err
	}
	out.sentAt = r.Clock.Now()
	flight := r.queue.Take(call, r.workspace.bodies[1])
	if flight != nil {
		call, out.sentAt, out.waits = flight.Call, flight.Began, append(out.waits, flight.Waits...)
		call.OnWait = onWait
	}
	decide := func(response *transport.Response) transport.ErrorDecision {
		out.action = r.onError(request, out.sentAt, response)
		return transport.ErrorDecision{Action: transportActions[out.action.do], Message: out.action.text}
	}
	out.call, out.Response, err = r.exchange(ctx, call, flight, decide)
	if err != nil {
		return out, r.exchangeError(out, err)
	}
	if requests.IsPage(out.Status) && !out.call.JudgesPages { // an earlier attempt failed
		out.action = errorAction{}
	}
	if out.action.do == rules.ErrorContinue && !requests.IsPage(out.Status) {
		r.Log.Warn(fmt.Sprintf("Job '%s': %s", r.name(), out.action.text),
			"event", "warn", "code", "error_page", "job", call.Job, "page", call.Page)
	}
	r.state.Base = out.URL
	return out, nil
}

// callFor returns the call of a request for the next page.
func (r *listRun) callFor(request requests.Request) (transport.Call, error) {
	call, withheld, err := r.sender.encode(request)
	call.Page = r.pageContext().Page + 1
	if refused, ok := errors.AsType[*failure.Error](err); ok {
		refused.Job, refused.Page = r.job.ID(), call.Page
		return call, err
	}
	if err != nil && r.pageContext().Page == 0 { // an address may have values of a parent's item, as {+order.link}
		return call, r.pageError(r.list.Partition.Blame(), err)
	}
	if err != nil {
		return call, r.pageError(failure.Config, err)
	}
	if len(withheld) > 0 {
		r.warn("withheld", "a request to another origin than that of baseUrl is made without "+strings.Join(withheld, ", ")+
			": secrets are only sent to that origin")
	}
	return call, nil
}

// exchange makes a call, or completes the exchange of a flight, which was made ahead of its turn. It returns the call
// with the buffer and the reader of its response.
func (r *listRun) exchange(
	ctx context.Context, call transport.Call, flight *ahead.Flight, decide func(*transport.Response) transport.ErrorDecision,
) (transport.Call, *transport.Response, error) {
	bodies := &r.workspace.bodies
	if flight != nil {
		bodies[0], bodies[1] = call.Into, bodies[0]
		response, err := r.Client.Complete(ctx, call, flight.Attempt, decide)
		return call, response, err
	}
	bodies[0], bodies[1] = bodies[1], bodies[0] // the body of the page before last is no longer needed
	call.Into = bodies[0]
	if r.converter == nil {
		call.Reader = r.workspace.reader.ScansArriving()
	}
	response, err := r.Client.Do(ctx, call, decide)
	return call, response, err
}

// onError evaluates the onError rules on a response. The first rule that is for this response and is met decides. If a
// rule before it cannot be evaluated, nothing is decided, and the run fails.
func (r *listRun) onError(request requests.Request, sentAt time.Time, response *transport.Response) errorAction {
	if len(r.job.OnErrors) == 0 {
		return errorAction{}
	}
	c := r.state.Context.Value
	r.nextPage(&c, response, sentAt)
	c.Items, c.Values, c.Count, c.Bytes = nil, nil, 0, 0
	c.Comparisons = rules.Comparisons{} // those of the page before: this response is not compared
	c.Sent = r.sender.sentFacts(request, r.sender.shown(request))
	c.Body, _ = document.DecodePaths(r.errorBody(response), r.job.Needs.Body, r.MaxDepth) // Body is nil if the body is not JSON
	for _, trigger := range r.job.OnErrors {
		if !trigger.Rule.OnError.Judges(response.Status) {
			continue
		}
		ok, err := trigger.EvalBool(&r.workspace.machine, &c)
		if err != nil {
			return errorAction{do: rules.ErrorFail, err: err}
		}
		if ok {
			return errorAction{
				do: trigger.Rule.OnError.Do, rule: trigger.Rule.ID, outcome: trigger.Rule.Outcome,
				text: r.message(trigger, &c), because: r.Redactor.Shown(trigger.Because(&c)),
			}
		}
	}
	return errorAction{}
}

// errorBody returns the body of an error response, converted to JSON if the job reads another
// format and the conversion succeeds.
func (r *listRun) errorBody(response *transport.Response) []byte {
	const most = 8 << 20 // rules do not see a larger body
	if r.converter == nil || len(response.Body) > most {
		return response.Body
	}
	buffer := &spool.Buffer{}
	defer buffer.Release()
	done, err := r.converter.Convert(bodyOf(response, response.Body), buffer)
	if err != nil || !done {
		return response.Body
	}
	body, _, err := buffer.Body()
	if err != nil {
		return response.Body
	}
	return bytes.Clone(body)
}

// stopOnError ends the job on an error response. The sink receives the response as a last page without
// items, so that the trace shows why the list ended.
func (r *listRun) stopOnError(ctx context.Context, request requests.Request, f fetchResult) error {
	page := &Page{Record: r.newRecord(request, f, r.sender.shownCall(request, f.call))}
	page.Page = r.pageContext().Page + 1
	r.stop(page, []string{f.action.rule}, f.action.outcome, f.action.text)
	page.Verdicts = []trace.Verdict{{Rule: f.action.rule, Met: true, Because: f.action.because}}
	pageErr := r.carryOver(page)
	r.watcher.NoticeEndStatus(f.Status)
	page.Findings = r.audit(ctx, r.obtained())
	if pageErr != nil {
		page.fail(pageErr)
	}
	page.Error, r.current = trace.FaultOf(pageErr, r.Redactor), pageWork{}
	if err := r.deliver(ctx, page, pageErr); err != nil {
		return err
	}
	r.logEnd()
	return pageErr
}

// prefetch starts to request pages ahead of their turn, if several requests may be in flight.
func (r *listRun) prefetch(ctx context.Context) {
	if r.Ahead.Window < 2 {
		return
	}
	if reason := r.job.Analysis().WhySequential(); reason == "" {
		r.queue = r.newQueue(ctx)
	} else if !r.Ahead.Grows && r.job.Paged() {
		r.Log.Info(fmt.Sprintf("Job '%s' fetches one page at a time: %s", r.name(), r.Redactor.Text(reason)),
			"event", "sequential", "job", r.job.ID())
	}
}

// noteResponse notes that a response has just arrived. Another page may be requested while this one is
// processed, if it is large, or while it is delivered.
func (r *listRun) noteResponse(ctx context.Context, response *transport.Response) {
	large := r.Ahead.Large > 0 && response.Size >= r.Ahead.Large
	if r.queue == nil && (large || r.Ahead.Delivering) {
		r.queue = r.newQueue(ctx)
	}
	r.queue.NoteResponse(response)
}

// newQueue returns a queue that requests the pages of the list ahead of their turn.
func (r *listRun) newQueue(ctx context.Context) *ahead.Queue {
	dependencies := ahead.Dependencies{
		Job: r.job, Builder: r.builder, Context: r.pageContext(), Client: r.Client, Clock: r.Clock, Reader: r.workspace.reader,
		Encode: r.sender.encode, MayFollow: r.mayFollow,
	}
	if r.converter != nil { // the responses must be converted first
		dependencies.Reader = nil
	}
	return ahead.NewQueue(ctx, dependencies, r.Ahead)
}

// mayFollow reports whether the page after a page with the given number may be requested before
// its turn. No page is requested before the first was read, since it may state the length of the
// list.
func (r *listRun) mayFollow(page int) bool {
	if r.lastPage == 0 && r.pageContext().Page > 0 {
		r.lastPage = r.knownEnd()
	}
	return page < r.lastPage
}

// knownEnd returns the number of the last page if the rules and the total of the first page
// determine it, and 0 otherwise.
func (r *listRun) knownEnd() int {
	end := r.job.Analysis().MaxPages()
	if end == 0 {
		end = math.MaxInt
	}
	total := r.watcher.FirstTotal()
	if perPage, _ := r.pageContext().Limit.(int); total > 0 && perPage > 0 {
		end = min(end, (total+perPage-1)/perPage)
	}
	return end
}

// SourceAfter is the [transport.Event.Source] of a wait that nextRequest.after asks for.
const SourceAfter = "nextRequest.after"

// pause waits until a request may be made, if the rules ask for a wait (nextRequest.after). A
// resumed run waits only for the remaining time.
func (r *listRun) pause(ctx context.Context, request requests.Request, call transport.Call) error {
	now := r.Clock.Now()
	wait := min(r.state.Due.Sub(now), request.After) // the clock of another machine may differ
	if wait <= 0 {
		return nil
	}
	r.Log.Debug(fmt.Sprintf("Job '%s' waits %s before its next request", r.job.ID(), wait.Round(time.Millisecond)),
		"event", "poll_wait", "job", r.job.ID(), "page", call.Page, "wait_ms", wait.Milliseconds())
	event := transport.Event{
		Kind: transport.EventWait, Job: call.Job, Partition: call.Partition, Page: call.Page, Time: now, Duration: wait,
		Method: call.Method, URL: r.Redactor.Shown(call.URL), Attempt: 1, Source: SourceAfter,
	}
	call.OnWait(event)
	r.observe(ctx, Event{Kind: EventWait, Page: call.Page, Exchange: &event})
	if err := r.Clock.Sleep(ctx, wait); err != nil {
		return &failure.Error{
			Class: failure.Cancelled, Job: call.Job, Page: call.Page, Op: SourceAfter,
			Message: transport.Interruption(ctx) + " while waiting for the next request", Err: errors.Join(err, context.Cause(ctx)),
		}
	}
	return nil
}
