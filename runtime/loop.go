package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Loop runs compiled jobs, one after another or concurrently.
type Loop struct {
	Client   *transport.Client
	Clock    transport.Clock  // nil is the system's
	Log      *slog.Logger     // nil logs nothing
	Redactor *redact.Redactor // nil hides nothing
	MaxDepth int              // of a response's nesting; 0 is 10,000
	MaxItems int              // of a response; 0 is any number
	MaxBody  int64            // bytes of a response of another format as JSON; 0 is no limit

	// MaxValueBytes is how much memory the values of a response may need that rules
	// read; 0 is [document.MaxValueBytes].
	MaxValueBytes int

	Explain bool // give all verdicts their values, not only those that were met

	// Prefetch is the number of pages in flight for jobs whose requests do not read
	// responses; [AutoPrefetch] lets the loop choose. [OverlapPrefetch] is one, which may be
	// requested before the last page has been delivered; 0 is one at a time.
	Prefetch     int
	OverlapBytes int // of a page for which [OverlapPrefetch] does so; 0 is [LargePage]

	// Resume holds the checkpoints to continue from, by job. A job whose checkpoint
	// is that of its last page is not run again.
	Resume map[string]json.RawMessage

	// Carryover holds the values that earlier runs kept, by job and name.
	Carryover map[string]map[string]any

	// Jobs holds the ids of the jobs that run; nil is all. A job that is not one of them, but
	// has jobs for its items that are, runs without being written.
	Jobs map[string]bool

	// Slots bounds the partitions that run at the same time, those of other trees included:
	// one that runs ahead of its turn holds a slot. Nil, or a capacity of 1: none does.
	Slots chan struct{}

	// Partitions bounds the partitions of the run; nil is any number. They then run one
	// after another, so that the limit leaves out the same ones in every run.
	Partitions *Quota

	// Inputs holds the values that this run sets, by name.
	Inputs map[string]any

	// Secrets holds the secrets by names that stay the same from run to run. A
	// checkpoint has the names instead of the secrets.
	Secrets map[string]string

	// Skipped receives the page on which a partition failed that was skipped, if the sink did
	// not receive it: see [Result.FailedPage]. The page has no items and no checkpoint. The
	// calls come between those of the sink, in the order of the pages. It may be nil.
	Skipped func(*Page)

	// Tools is where jobs leave what they read their pages with for those that follow; nil:
	// only the partitions of a job share it.
	Tools *Toolbox

	Observer  Observer                           // nil observes nothing
	Observed  []EventKind                        // that the observer receives; nil: all
	Evaluated func(e *compile.Expression, v any) // is called with the value of every expression; may be nil
}

// A Sink receives the pages of a job in order. Its error ends the run.
type Sink func(context.Context, *Page) error

// Run runs a job to its end. It passes every page to the sink after the page was read
// to its end and judged, also a page on which a rule failed. The error is a
// [*failure.Error] unless it is the sink's own. The result says how far the job came,
// even if the error is not nil.
func (l Loop) Run(ctx context.Context, job *compile.Job, sink Sink) (Result, error) {
	return l.withDefaults().runPartition(ctx, Partition{Job: job}, l.Resume[job.Set.Job.ID], sink)
}

// RunPartition is [Loop.Run] for one partition, from its beginning.
func (l Loop) RunPartition(ctx context.Context, p Partition, sink Sink) (Result, error) {
	return l.withDefaults().runPartition(ctx, p, nil, sink)
}

// runPartition is [Loop.Run] for a partition, from a checkpoint of it if that is not nil.
func (l Loop) runPartition(ctx context.Context, p Partition, token json.RawMessage, sink Sink) (Result, error) {
	return newRun(ctx, l, p, sink).run(ctx, token)
}

// runSplittable is runPartition for one whose window may be split.
func (l Loop) runSplittable(ctx context.Context, p Partition, sink Sink) (Result, error) {
	r := newRun(ctx, l, p, sink)
	r.splittable, r.hasSiblings = true, true
	return r.run(ctx, nil)
}

func (r *run) run(ctx context.Context, token json.RawMessage) (Result, error) {
	defer r.close()
	ctx = context.WithValue(ctx, partitionKey{}, r.partition)
	request, more, err := r.begin(ctx, token)
	if err == nil && !more { // it had ended before
		return r.withSeen(r.Result), nil
	}
	more = more && !r.endsEarly()
	if more && err == nil {
		r.prefetcher = newPrefetcher(ctx, r, request)
	}
	for more && err == nil {
		request, more, err = r.step(ctx, request)
	}
	r.stopAhead() // its events come before the end
	err = r.placed(err)
	return r.end(ctx, err), err
}

// step fetches one page, judges it, delivers it and makes the next request. It
// reports whether there is one.
func (r *run) step(ctx context.Context, request rules.Request) (next rules.Request, more bool, err error) {
	r.attempt = attempt{request: request, begun: true}
	fetched, err := r.fetch(ctx, request)
	r.attempt.fetched = fetched
	if err != nil {
		return next, false, err
	}
	switch fetched.action.Do {
	case rules.ErrorStop:
		return next, false, r.stopOnError(ctx, request, fetched)
	case rules.ErrorRestart:
		r.noteRestart(request, fetched)
		next, err = r.restart(fetched.action)
		return next, err == nil, err
	}
	r.requestAhead(ctx, fetched.Response)
	repeats := r.Noticed.Facts.Repeats
	page, err := r.read(request, fetched)
	if err != nil {
		return next, false, err
	}
	r.attempt = attempt{}
	if r.prefetcher != nil {
		r.learn()
	}
	failed := r.judge(page)
	r.noticeWritten(page, repeats)
	failed = r.shape(ctx, page, failed)
	if failed == nil && page.Decision == Continue {
		next, failed = r.advance(page)
	}
	if failed == nil && page.Decision == Stop {
		failed = r.carryOver()
	}
	if errors.Is(failed, failure.ErrCancelled) { // the page was not judged
		return next, false, failed
	}
	if failed != nil {
		page.fail(failed)
	}
	if page.Decision == Stop {
		r.shaper.warn()
		page.Findings = r.audit(ctx, r.obtained()+page.Items.Len()+page.filtered)
	}
	if failed == nil {
		failed = r.stopFailure(page)
	}
	page.Error = r.faultOf(failed)
	if failed == nil && page.Decision == Continue {
		r.requestNext(next)
	}
	if err := r.deliver(ctx, page, failed); err != nil {
		return next, false, err
	}
	r.logPage(page)
	return next, page.Decision == Continue && failed == nil && !r.endsEarly(), failed
}

// endsEarly ends the list if the rest of it need not be read.
func (r *run) endsEarly() bool {
	if r.enough == nil || !r.enough() || r.Result.Outcome != "" {
		return false
	}
	r.Result.Outcome, r.Result.Reason, r.Result.StoppedBy = rules.Limited, LimitPartitions, []string{}
	r.Result.Message = "the limit on the partitions of the run is reached"
	r.logEnd()
	return true
}

func (l Loop) withDefaults() Loop {
	if l.Clock == nil {
		l.Clock = transport.SystemClock
	}
	if l.Log == nil {
		l.Log = slog.New(slog.DiscardHandler)
	}
	if l.OverlapBytes == 0 {
		l.OverlapBytes = LargePage
	}
	if l.Redactor == nil {
		l.Redactor = redact.New(nil)
	}
	return l
}

// advance changes the variables and makes the next request. If there is none, the
// page is the last.
func (r *run) advance(page *Page) (rules.Request, error) {
	if !r.job.Paged() {
		r.stop(page, []string{reasonEnd}, rules.Complete, "one request made: no pagination is configured")
		return rules.Request{}, nil
	}
	next, more, err := r.nextRequest()
	if err != nil {
		return next, err
	}
	if !more {
		page.Verdicts = append(page.Verdicts, r.noAddress())
		r.stop(page, []string{reasonNextRequest}, rules.Complete, fmt.Sprintf("the rules give no next request after page %d", page.Page))
	}
	r.reportOverridden(next)
	return next, nil
}

// noAddress returns the verdict that the next request has no address, with the values
// of the parts that give one.
func (r *run) noAddress() Verdict {
	verdict := Verdict{Rule: reasonNextRequest, Met: true}
	var because []string
	for _, part := range r.job.Parts {
		if role := part.Rule.Role; part.Rule.Subsequent && (role == rules.URL || role == rules.Endpoint) {
			because = append(because, string(role)+" = "+part.Because(&r.Context.Value))
			verdict.Missing = append(verdict.Missing, part.Missing(&r.Context.Value)...)
		}
	}
	verdict.Because = r.Redactor.String(strings.Join(because, ", "))
	return verdict
}

// stop makes a page the last one.
func (r *run) stop(page *Page, by []string, outcome rules.Outcome, message string) {
	page.Decision, page.StoppedBy, page.Outcome, page.Reason = Stop, by, outcome, by[0]
	r.finish(by, outcome, message)
}

// finish sets why the job ended.
func (r *run) finish(by []string, outcome rules.Outcome, message string) {
	r.Result.Outcome, r.Result.StoppedBy, r.Result.Reason, r.Result.Message = outcome, by, by[0], r.Redactor.String(message)
}

// learn notes what is known of the length of the list once a page has been read.
func (r *run) learn() {
	if r.length.known || r.Context.Value.Page == 0 {
		return
	}
	r.length = length{known: true, lastPage: r.job.MaxPages()}
	if first := r.Noticed.FirstTotal; first != nil {
		r.length.limit(first.Total, r.Context.Value.Limit)
	}
}
