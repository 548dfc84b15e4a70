package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/ahead"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/format"
	"github.com/stopwhen/stopwhen/runtime/saved"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A listRun extracts one list. Its fields are grouped by how long they last.
type listRun struct {
	tools tools // longer than the run; see [Toolbox]

	// These last for the whole run and do not change. Loop is embedded because it holds the settings,
	// which nearly every method reads.
	Loop
	list      List
	job       *compile.Job // the job of the list
	switches  rules.Switches
	receive   func(context.Context, *Delivery) error
	sender    sender
	converter *format.Converter // nil if the responses are JSON
	kept      map[string]any    // values of the previous run, including their secrets
	binding   *compile.Binding  // nil before the first request
	values    evidence.Values   // of the binding
	started   time.Time

	// The state lasts from page to page and is the checkpoint. The other fields here can be made
	// again after a resume: they are caches of the state, requests in flight, and past warnings.
	state    state
	watcher  evidence.Watcher // changes state.Noticed
	shaper   *shaper          // nil if items are passed on unchanged
	ahead    *ahead.Queue     // nil until a page is requested ahead of its turn
	lastPage int              // the number of the last page, if it is known; otherwise 0
	label    string           // the label of the partition; empty until it is first needed
	reported map[string]bool  // codes of the warnings that were logged

	current step // the work on the page that was requested last
}

func newListRun(ctx context.Context, l Loop, list List, receive func(context.Context, *Delivery) error) *listRun {
	l = l.WithDefaults()
	job := list.Partition.Job
	r := l.Tools.get(&l, job)
	*r = listRun{Loop: l, list: list, job: job, tools: r.tools, receive: receive, switches: rules.SwitchesOf(job.Ruleset.Dialect)}
	r.watcher = evidence.Watcher{
		Noticed: &r.state.Noticed, Subject: r.tools.subject, Context: r.context(), Largest: &r.state.LargestPage,
		Redactor: l.Redactor, Warn: r.warn,
	}
	r.shaper = newShaper(r)
	r.converter = format.NewConverter(format.Options{
		Response: job.Spec().Response, Lists: job.Spec().ItemPaths(), MaxBytes: l.MaxBody, MaxDepth: l.MaxDepth,
	})
	r.sender = sender{job: job, client: l.Client, redactor: l.Redactor, converter: r.converter}
	r.tools.machine.Observe, r.tools.machine.Context = l.Evaluated, ctx
	r.started, r.current.unread = l.Clock.Now(), true
	r.reset()
	r.state.Result.Job, r.state.Result.Kept = job.ID(), l.Kept[job.ID()]
	return r
}

// context returns the context of rules.
func (r *listRun) context() *rules.Context { return &r.state.Context.Value }

// reset discards the state of all pages: the next request is the first one, and the totals of the
// list start at zero. The running time and the number of restarts remain.
func (r *listRun) reset() {
	job, last := r.job.Spec(), r.state
	r.state = state{
		Result: last.Result, Restarts: last.Restarts, LargestPage: last.LargestPage, FirstContent: last.FirstContent,
		Computed: last.Computed,
	}
	r.state.Context.Value = rules.Context{
		Limit: r.job.Ruleset.Limit, Kept: r.kept, Input: r.Inputs, Partition: r.list.Partition.Binding,
		Header: func(string) any { return nil }, Link: func(string, ...string) any { return nil }, // before the first page
		Now: func() time.Time { return r.started },
		Job: rules.JobFacts{ID: job.ID, Endpoint: job.Endpoint, Params: r.sender.public(job.Constants())},
	}
	if r.binding != nil {
		r.bound()
	}
}

// bind computes the values of the job's own request. A value that the checkpoint holds stays as it
// is; the checkpoint holds every value that is not secret.
func (r *listRun) bind() error {
	values, err := r.job.Compute(&r.tools.machine, r.context())
	if err != nil {
		return err
	}
	computed := slices.Clone(values)
	for i, e := range r.job.Binds {
		switch {
		case e.Rule.Secret:
			computed[i] = nil
		case len(r.state.Computed.Value) == len(values):
			computed[i], values[i] = r.state.Computed.Value[i], r.state.Computed.Value[i]
		}
	}
	r.state.Computed.Value = computed
	r.values = evidence.ValuesOf(r.job, values)
	if r.binding, err = r.job.Bind(values); err != nil {
		return err
	}
	for _, secret := range r.binding.Secrets {
		r.Redactor.Hide(secret)
	}
	r.bound()
	return nil
}

// bound sets the part of the context that describes the job's own request.
func (r *listRun) bound() {
	c := r.context()
	c.Limit = r.binding.Limit
	c.Job.Endpoint, c.Job.Params = r.Redactor.String(r.binding.First.Endpoint), r.sender.public(r.binding.First.Params)
}

// close cancels the requests made ahead and returns the tools.
func (r *listRun) close() {
	r.ahead.Close()
	if r.shaper != nil {
		r.shaper.out.Release()
	}
	r.Tools.put(r)
}

// begin returns the first request of the run, or the next request of a resumed one. It reports
// false for a job that had already ended.
func (r *listRun) begin(ctx context.Context) (request requests.Request, more bool, err error) {
	if r.kept, err = r.RevealKept(ctx, r.job.ID()); err != nil {
		return request, false, err
	}
	r.context().Kept = r.kept
	if r.list.From != nil {
		return r.resume(ctx, r.list.From)
	}
	request, err = r.firstRequest()
	return request, err == nil, err
}

// firstRequest returns the first request of the list, and computes the values of the job's own
// request if they are not known yet.
func (r *listRun) firstRequest() (request requests.Request, err error) {
	c := r.context()
	if r.binding == nil {
		if err := r.bind(); err != nil {
			return request, r.fault(r.list.Partition.Blame(), err)
		}
	}
	variables, request, err := r.binding.Begin(&r.tools.machine, c)
	if err == nil {
		c.State, err = saved.Variables(variables)
	}
	if len(r.list.Partition.Binding) > 0 && err == nil { // an address with values of items, as {+order.link}
		if _, err = request.URL(); err != nil {
			return request, r.fault(r.list.Partition.Blame(), err)
		}
	}
	if err != nil {
		return request, r.fault(failure.Config, err)
	}
	return request, nil
}

// nextRequest changes the variables and makes the request for the next page. It reports false if
// the rules give no address.
func (r *listRun) nextRequest() (request requests.Request, more bool, err error) {
	c := r.context()
	variables, parts, more, err := r.job.Advance(&r.tools.machine, c)
	if err == nil && more {
		request, err = r.binding.Apply(parts, r.state.Base)
	}
	if err == nil && more {
		err = r.job.CheckAddress(request)
	}
	if err != nil {
		return request, false, r.fault(failure.Response, err)
	}
	c.State, r.state.Parts.Value = variables, parts
	r.state.Due = time.Time{}
	if request.After > 0 {
		r.state.Due = r.Clock.Now().Add(request.After)
	}
	return request, more, nil
}

// end completes the result. A listRun that ended with an error has failed.
func (r *listRun) end(ctx context.Context, err error) ListResult {
	r.state.Result = r.concluded(r.state.Result, err)
	if r.observes(EventEnd) {
		ended := r.state.Result
		r.observe(ctx, Event{Kind: EventEnd, Result: &ended, Err: err})
	}
	return r.withSeen(r.state.Result)
}

// concluded completes the result of a list that has ended. err is the error with which it ended; it may
// be nil.
func (r *listRun) concluded(result Result, err error) Result {
	result.Seconds = r.seconds()
	if err != nil && result.Outcome != rules.Failed {
		result.Outcome, result.Reason, result.StoppedBy = rules.Failed, ReasonError, []string{}
		result.Message = r.Redactor.String(err.Error())
	}
	if err != nil {
		result.Error = trace.FaultOf(err, r.Redactor)
		result.FailedPage = cmp.Or(r.current.omitted, r.failedPage(result.Error, err))
	}
	return result
}

// after returns the result of the list after the page that is being delivered. failed is the error
// of the run on that page, or nil.
func (r *listRun) after(failed error) ListResult {
	result := r.state.Result
	result.Items, result.Filtered = result.Items+r.current.items, result.Filtered+r.current.filtered
	return r.withSeen(r.concluded(result, r.placed(failed)))
}

// withSeen returns a result with the paths that the list had and lacked.
func (r *listRun) withSeen(result Result) ListResult {
	seen := evidence.Seen{Had: r.state.Noticed.Seen(), Values: r.values}
	if result.Outcome != rules.Failed {
		seen.Lacked = r.state.Noticed.Lacked
	}
	return ListResult{Result: result, Seen: seen}
}

// placed adds the partition to an error of this job.
func (r *listRun) placed(err error) error {
	known, ok := errors.AsType[*failure.Error](err)
	if ok && known.Job == r.job.ID() && known.Partition == "" {
		known.Partition = r.shownLabel()
	}
	return err
}

// shownLabel returns the label of the partition, without secrets; see [Partition.Label].
func (r *listRun) shownLabel() string {
	if r.label == "" {
		r.label = r.list.Partition.Label()
	}
	return r.Redactor.String(r.label)
}

// name returns the name of the job for the log, with its partition and without secrets.
func (r *listRun) name() string { return r.Redactor.String(r.list.Partition.Name()) }

// restart starts again from the first request, after an error response which says that the position
// was lost. The record of the next page lists the restart.
func (r *listRun) restart(request requests.Request, f fetched) (requests.Request, error) {
	r.current.restarts = append(r.current.restarts, trace.Restart{
		Rule: f.action.rule, Because: f.action.because, Page: r.context().Page + 1, Request: r.sender.shownCall(request, f.call),
		Status: f.Status, Attempts: f.Attempts, Waits: trace.WaitsOf(f.waits, r.Redactor),
	})
	if r.state.Restarts++; r.state.Restarts > compile.MaxRestarts {
		return requests.Request{}, &failure.Error{
			Class: failure.Policy, Job: r.job.ID(), Page: r.state.Result.Pages + 1, Op: "rule " + f.action.rule,
			Message: fmt.Sprintf("restarted %d times without reaching the end", compile.MaxRestarts),
		}
	}
	again := ""
	if r.state.Result.Items > 0 {
		again = fmt.Sprintf("; %s written so far will be written again", value.Counted(r.state.Result.Items, "item"))
	}
	r.Log.Warn(fmt.Sprintf("Job '%s' restarts from the first request: %s%s", r.name(), f.action.text, again),
		"event", "restart", "job", r.job.ID(), "rule", f.action.rule)
	r.reset()
	r.state.Noticed.Facts.Rewritten = r.obtained()
	r.ahead.Close()
	return r.firstRequest()
}

// obtained returns the number of items on the delivered pages, including the items that the filter
// left out.
func (r *listRun) obtained() int { return r.state.Result.Items + r.state.Result.Filtered }

// deliver delivers a page. failed is the error of the run on that page, or nil.
func (r *listRun) deliver(ctx context.Context, page *Page, failed error) error {
	if page.Decision == trace.Stop {
		page.Kept = r.state.Result.Kept
	}
	if r.list.Omits != nil && page.Outcome == rules.Failed && r.list.Omits(page) {
		r.current.omitted = new(page.Record)
		r.observePage(ctx, page)
		return nil
	}
	d := &r.current.delivery
	d.Page, d.Checkpoint, d.Result = page, r.checkpoint, func() ListResult { return r.after(failed) }
	r.current.items = page.Items.Len()
	err := r.receive(ctx, d)
	if err == nil || d.Accepted {
		r.state.Result.Items += r.current.items
		r.state.Result.Filtered += r.current.filtered
	}
	if err != nil {
		if errors.As(err, new(*failure.Error)) {
			return err
		}
		return fmt.Errorf("job %s, page %d: %w", r.job.ID(), page.Page, err)
	}
	r.observePage(ctx, page)
	return nil
}

// logPage logs a page and, if it is the last, why the job ended.
func (r *listRun) logPage(page *Page) {
	if r.logs(slog.LevelDebug) {
		r.Log.Debug(fmt.Sprintf("Job '%s' page %d: %s", r.name(), page.Page, value.Counted(page.Count, "item")),
			"event", "page_ok", "job", page.Job, "page", page.Page,
			"items", page.Count, "bytes", page.Bytes, "ms", page.Millis, "url", page.Request.URL)
	}
	if page.Decision == trace.Stop && page.Outcome != rules.Failed {
		r.logEnd()
	}
}

// logs reports whether records of a level are logged. Building messages that nobody reads would
// take a large part of the time of a short list.
func (r *listRun) logs(level slog.Level) bool { return r.Log.Enabled(context.Background(), level) }

// logEnd logs why the job ended.
func (r *listRun) logEnd() {
	if r.logs(stopLevel(r.job)) {
		LogStop(r.Log, r.job, r.name(), r.context().Page, r.state.Result)
	}
}

// stopLevel returns the level at which the end of a list is logged: a job with variables may have a
// million lists.
func stopLevel(job *compile.Job) slog.Level {
	if len(job.For) > 0 {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// LogStop logs why a job, or a partition of it, stopped on a page.
func LogStop(log *slog.Logger, job *compile.Job, name string, page int, result Result) {
	message := result.Message
	if !reasonOf(job, result).NamesJob {
		message = fmt.Sprintf("Job '%s' stopped: %s", name, message)
	}
	log.Log(context.Background(), stopLevel(job), message, "event", "stop", "job", result.Job, "page", page,
		"rule", strings.Join(result.StoppedBy, ","), "outcome", result.Outcome)
}

// carryOver computes the values for the next run when the list is complete.
func (r *listRun) carryOver(page *Page) error {
	if r.state.Result.Outcome != rules.Complete {
		return nil
	}
	values, lacking, err := r.job.Keep(&r.tools.machine, r.context(), r.state.Kept.Value, page.Page == r.context().Page)
	if err != nil {
		return r.fault(failure.Response, err)
	}
	r.warnOfNil(lacking)
	if values != nil {
		r.state.Result.Kept, _ = saved.NewConcealer(r.Secrets, r.Redactor, nil).Concealed(values).(map[string]any)
	}
	return nil
}

// keepSoFar returns the values for the next run that are about the items of all pages, up to this one.
func (r *listRun) keepSoFar() (map[string]any, error) {
	values, err := r.job.KeepSoFar(&r.tools.machine, r.context(), r.state.Kept.Value)
	if err == nil {
		values, err = saved.Variables(values)
	}
	if err != nil {
		return nil, r.fault(failure.Response, err)
	}
	return values, nil
}

// warnOfNil warns of values for the next run that are nil, unless they are about items and the list
// has none.
func (r *listRun) warnOfNil(lacking []*language.Expression) {
	for _, e := range lacking {
		if len(r.job.For) > 0 { // the other partitions may have it
			return
		}
		if compile.KeepsItems(e) && r.obtained() == 0 && r.context().Count == 0 {
			continue
		}
		then := "nothing is saved, and the next run begins where this one did"
		if r.kept[e.Rule.Target] != nil {
			then = "the value of the run before stays, and the next run begins where this one did"
		}
		r.warn("nil "+e.Rule.ID, fmt.Sprintf("%s is nil after the last page: %s", e.Rule.ID, then))
	}
}

// Concealer returns a concealer that can also reveal the secrets that the client fetches.
func (l *Loop) Concealer(ctx context.Context) *saved.Concealer {
	return saved.NewConcealer(l.Secrets, l.Redactor, func(name string) (string, bool, error) { return l.Client.Secret(ctx, name) })
}

// RevealKept returns the values that a job kept in the previous run, with the present secrets.
func (l *Loop) RevealKept(ctx context.Context, job string) (map[string]any, error) {
	kept := l.Kept[job]
	if kept == nil {
		return nil, nil
	}
	revealed, err := l.Concealer(ctx).Revealed(kept)
	if err != nil {
		return nil, &failure.Error{Class: failure.State, Job: job, Op: "kept", Err: err,
			Message: "the values of the previous run cannot be used: " + err.Error(), Hint: "start from the beginning, without them"}
	}
	values, _ := revealed.(map[string]any)
	return values, nil
}

// fail makes a page the last one because a rule failed on it.
func (p *Page) fail(err error) {
	p.Decision, p.Outcome, p.Reason = trace.Stop, rules.Failed, ReasonError
	if failed, ok := errors.AsType[*language.RuleError](err); ok {
		p.StoppedBy, p.Reason = []string{failed.Rule.ID}, failed.Rule.ID
	}
}

// stopFailure returns the error of a job that a rule ended as failed.
func (r *listRun) stopFailure(page *Page) error {
	if page.Decision != trace.Stop || page.Outcome != rules.Failed {
		return nil
	}
	result := &r.state.Result
	e := &failure.Error{Class: failure.Response, Job: r.job.ID(), Page: page.Page, Op: "rule " + result.Reason, Message: result.Message}
	if reason := reasonOf(r.job, *result); reason.Guard {
		e.Class, e.Hint = failure.Policy, reason.Hint
	}
	return e
}

// reasonOf returns the stopping rule that ended the job, or the zero Rule if no rule did.
func reasonOf(job *compile.Job, result Result) rules.Rule {
	for _, stop := range job.Stops {
		if stop.Rule.ID == result.Reason {
			return stop.Rule
		}
	}
	return rules.Rule{}
}

// fault adds job and page to an error of a rule or of a response.
func (r *listRun) fault(class failure.Class, err error) error {
	return r.Fault(r.tools.machine.Context, &failure.Error{Class: class, Job: r.job.ID(), Page: r.context().Page, Err: err})
}

// Fault completes an error whose cause, Err, is that of a rule or of a value: its message, and its
// class if the cause decides that. ctx is the context of the evaluation. If it is done because of
// the cause, the class is [failure.Cancelled].
func (l *Loop) Fault(ctx context.Context, e *failure.Error) *failure.Error {
	err := e.Err
	e.Message = l.Redactor.String(err.Error())
	if errors.As(err, new(*requests.LengthError)) {
		e.Class = failure.Policy
	}
	if size, ok := errors.AsType[*document.SizeError](err); ok {
		e.Class, e.Hint = failure.Policy, size.Hint
	}
	if failed, ok := errors.AsType[*language.RuleError](err); ok {
		e.Op = "rule " + failed.Rule.ID
		switch {
		case errors.Is(err, language.ErrBudget):
			e.Class = failure.Policy
		case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
			e.Class, e.Err = failure.Cancelled, errors.Join(ctx.Err(), context.Cause(ctx))
		}
		e.Message = l.Redactor.String(failed.Placed())
	}
	return e
}

// warn logs a warning, once per run for each code.
func (r *listRun) warn(code, message string) {
	if r.reported[code] {
		return
	}
	if r.reported == nil {
		r.reported = map[string]bool{}
	}
	r.reported[code] = true
	r.Log.Warn(fmt.Sprintf("Job '%s': %s", r.name(), message),
		"event", "warn", "code", code, "job", r.job.ID(), "page", r.context().Page)
}

// note records a remark on the values that an expression read for its verdict, and logs the first
// remark on each expression.
func (r *listRun) note(e *language.Expression, text string) {
	text = r.Redactor.String(text)
	r.current.notes = append(r.current.notes, text)
	r.warn("note "+e.Rule.ID, fmt.Sprintf("%s: %s", e.Rule.ID, text))
}

// seconds returns the running time in seconds, rounded to milliseconds.
func (r *listRun) seconds() float64 {
	return r.Clock.Now().Sub(r.started).Round(time.Millisecond).Seconds()
}

// elapsed returns the running time in seconds, as the dialect counts them.
func (r *listRun) elapsed() float64 {
	now := r.Clock.Now()
	if r.switches.WholeSeconds {
		return float64(now.Unix() - r.started.Unix())
	}
	return math.Max(0, now.Sub(r.started).Seconds())
}
