package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/runtime/ahead"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// Limits limits the responses that a [Loop] reads.
type Limits struct {
	MaxDepth int   // deepest nesting of a response; 0 means 10,000
	MaxItems int   // most items of a response; 0 means no limit
	MaxBody  int64 // size in bytes of a response after conversion to JSON; 0 means no limit

	// MaxValueBytes limits the memory, in bytes, for the values of a response that rules read; 0
	// means [document.MaxValueBytes].
	MaxValueBytes int
}

// Observers are told about the steps of a [Loop].
type Observers struct {
	Observer  Observer                            // nil means no observer
	Observed  []EventKind                         // kinds of events that the observer receives; nil means all
	Evaluated func(e *language.Expression, v any) // called with the value of every expression, if not nil
}

// EarlierRuns holds what earlier runs have left for a [Loop].
type EarlierRuns struct {
	// Resume holds the checkpoints to continue from, by job. A job whose checkpoint follows its
	// last page does not run again.
	Resume map[string]json.RawMessage

	// KeptBefore holds the values that earlier runs kept, by job and name. It is nil if nothing keeps those of this run.
	KeptBefore map[string]map[string]any
}

// A Loop runs the lists of compiled jobs. It does not change, so several goroutines may run lists at once.
type Loop struct {
	Client   *transport.Client // required
	Clock    transport.Clock   // nil means the system clock
	Log      *slog.Logger      // nil means no log
	Redactor *redact.Redactor  // nil means no secrets
	Limits

	VerdictValues bool // whether verdicts that are not met also have the values of their rules
	PagingValues  bool // whether pages have PagingValues

	Ahead ahead.Policy // which pages are requested ahead of their turn

	// Arriving is called when a response that is too large for memory begins to arrive. Another
	// goroutine reads it meanwhile. Arriving may be called concurrently. Nil means that it is not called.
	Arriving func()

	EarlierRuns

	// Inputs holds the values that this run sets, by name.
	Inputs map[string]any

	// Secrets holds the secrets by names that stay the same from run to run. A checkpoint holds the
	// names in place of the secrets.
	Secrets map[string]string

	// Pool keeps the readers and the buffers of finished lists for later lists. If it is nil, only the
	// partitions of one job share them.
	Pool *Pool

	Observers
}

// WithDefaults returns the loop with defaults for the fields that are not set.
func (l Loop) WithDefaults() Loop {
	if l.Clock == nil {
		l.Clock = transport.SystemClock
	}
	if l.Log == nil {
		l.Log = slog.New(slog.DiscardHandler)
	}
	l.Redactor = l.redactor()
	if l.Pool == nil {
		l.Pool = &Pool{}
	}
	return l
}

// redactor returns the redactor of the loop, also of a loop without defaults.
func (l *Loop) redactor() *redact.Redactor {
	if l.Redactor == nil {
		return redact.New(nil)
	}
	return l.Redactor
}

// Run is [Loop.RunList] for a job without variables, from its checkpoint in Resume.
func (l Loop) Run(ctx context.Context, job *compile.Job, sink Sink) (Result, error) {
	list := List{Partition: Partition{Job: job}, From: l.Resume[job.ID()]}
	result, err := l.RunList(ctx, list, sink.Receive)
	return result.Result, err
}

// RunList runs a list to its end. It delivers every page after the page was read completely and
// judged, including a page on which a rule failed unless [List.Omits] reports true for it. The
// error is a [*failure.Error] unless it is the error of the receiver. The result describes the list up to
// its end or failure, even if the error is not nil.
func (l Loop) RunList(ctx context.Context, list List, receiver Receiver) (ListResult, error) {
	r := newListRun(ctx, l, list, receiver)
	defer r.close()
	ctx = context.WithValue(ctx, partitionKey{}, r.list.Partition)
	request, more, err := r.begin(ctx)
	if err == nil && !more { // the job had already ended
		LogEarlierFindings(r.Log, r.name(), r.job, r.state.Result.Findings)
		return r.withSeen(r.state.Result), nil
	}
	more = more && !r.endIfEnough(ctx)
	if more && err == nil {
		r.prefetch(ctx)
	}
	for more && err == nil {
		request, more, err = r.step(ctx, request)
	}
	r.queue.Close() // events of the requests come before the end
	err = r.addPlace(err)
	return r.end(ctx, err), err
}

// A pageWork holds what the phases of [listRun.step] hand on to each other. Each request has its own.
type pageWork struct {
	request  requests.Request
	fetched  fetchResult
	unread   bool     // whether no page was read yet; the record of a failure then describes the request
	notes    []string // remarks on the values of the rule that is being judged
	delivery Delivery
	items    int             // number of items of the page to deliver
	filtered int             // number of items that the filter left out
	known    int             // number of items to deliver that an earlier run has probably delivered
	omitted  *trace.Record   // set if the page was not delivered; see [List.Omits]
	restarts []trace.Restart // restarts of the list since the last page
}

// step fetches a page, reads it, decides about it, offers the next request to be made ahead, and
// delivers the page. It returns the next request, and reports whether there is one.
func (r *listRun) step(ctx context.Context, request requests.Request) (next requests.Request, more bool, err error) {
	r.current = pageWork{request: request, unread: true, restarts: r.current.restarts}
	work := &r.current
	if work.fetched, err = r.fetch(ctx, request); err != nil {
		return next, false, err
	}
	switch work.fetched.action.do {
	case rules.ErrorStop:
		return next, false, r.stopOnError(ctx, request, work.fetched)
	case rules.ErrorRestart:
		next, err = r.restart(request, work.fetched)
		return next, err == nil, err
	}
	r.noteResponse(ctx, work.fetched.Response)
	page, err := r.read(request, work.fetched)
	if err != nil {
		return next, false, err
	}
	work.fetched, work.unread, work.restarts = fetchResult{}, false, nil
	next, pageErr := r.decide(ctx, page)
	if errors.Is(pageErr, failure.ErrCancelled) { // the page was not judged
		return next, false, pageErr
	}
	more = pageErr == nil && page.Decision == trace.Continue
	if more {
		r.queue.Offer(next)
	}
	if err := r.deliver(ctx, page, pageErr); err != nil {
		return next, false, err
	}
	r.logPage(page)
	return next, more && !r.endIfEnough(ctx), pageErr
}

// decide judges a page, edits its items and, if the list continues, makes the next request.
// Otherwise it audits the list. If the error is not nil, the run fails with it after the page was
// delivered.
func (r *listRun) decide(ctx context.Context, page *Page) (next requests.Request, err error) {
	r.probe(page)
	err = r.editItems(ctx, page, r.judge(page))
	if !page.Dropped {
		r.watcher.NoticeWritten(page.Lists)
	}
	if r.PagingValues {
		page.PagingValues = r.watcher.PagingValues()
	}
	if err == nil {
		next, err = r.advanceOrKeep(page)
	}
	if errors.Is(err, failure.ErrCancelled) {
		return next, err
	}
	if err != nil {
		page.fail(err)
	}
	if page.Decision == trace.Stop {
		r.itemEditor.warn()
		page.Findings = r.audit(ctx, r.obtained()+page.Items.Len()+r.current.filtered)
	}
	if err == nil {
		err = r.stopFailure(page)
	}
	page.Error = trace.FaultOf(err, r.Redactor)
	return next, err
}

// advanceOrKeep makes the next request, or computes the kept values of a list that ends. A list also ends if keepAndAdvance
// finds no next request.
func (r *listRun) advanceOrKeep(page *Page) (next requests.Request, err error) {
	if page.Decision == trace.Continue {
		if next, err = r.keepAndAdvance(page); err != nil {
			return next, err
		}
	}
	if page.Decision == trace.Stop {
		err = r.carryOver(page)
	}
	return next, err
}

// stop makes a page the last one. ids are those of the rules that end the list; the first is the reason.
func (r *listRun) stop(page *Page, ids []string, outcome rules.Outcome, message string) {
	page.Decision, page.StoppedBy, page.Outcome, page.Reason = trace.Stop, ids, outcome, ids[0]
	result := &r.state.Result
	result.Outcome, result.StoppedBy, result.Reason, result.Message = outcome, ids, ids[0], r.Redactor.Shown(message)
}
