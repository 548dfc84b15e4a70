package runtime

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/ahead"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/format"
	"github.com/stopwhen/stopwhen/runtime/saved"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A listRun extracts one list. Its fields are grouped by how long they last.
type listRun struct {
	workspace workspace // longer than the run; see [Pool]

	// These last for the whole run and do not change. Loop is embedded because it holds the settings,
	// which nearly every method reads.
	Loop
	list       List
	job        *compile.Job // the job of the list
	switches   rules.Switches
	receiver   Receiver
	sender     sender
	converter  *format.Converter // nil if the responses are JSON
	keepKey    string            // chooses the kept values of the partition; "" if all partitions share them
	keptStays  string            // a kept value that stays, so that the next run obtains the items again; usually ""
	keptBefore map[string]any    // values that the previous run kept, including their secrets
	builder    *compile.Builder  // nil before the first request
	started    time.Time

	// The state lasts from page to page and is the checkpoint. The other fields here can be made
	// again after a resume: they are caches of the state, requests in flight, and past warnings.
	state      state
	watcher    evidence.Watcher // changes state.Memory
	itemEditor *itemEditor      // nil if items are passed on unchanged
	queue      *ahead.Queue     // nil until a page is requested ahead of its turn
	lastPage   int              // the number of the last page, if it is known; otherwise 0
	label      string           // the label of the partition; empty until it is first needed
	reported   map[string]bool  // codes of the warnings that were logged

	current pageWork // the work on the page that was requested last
}

func newListRun(ctx context.Context, l Loop, list List, receiver Receiver) *listRun {
	l = l.WithDefaults()
	job := list.Partition.Job
	r := l.Pool.get(&l, job)
	r.Loop, r.list, r.job, r.receiver, r.switches = l, list, job, receiver, job.Ruleset.Dialect.Switches()
	r.watcher = evidence.NewWatcher(evidence.WatcherOptions{
		Subject: r.workspace.subject, Memory: &r.state.Memory, Context: r.pageContext(), Machine: &r.workspace.machine,
		Redactor: l.Redactor, SplitTooLate: list.SplitTooLate, Warn: r.warn,
	})
	r.itemEditor = newItemEditor(r)
	r.converter = l.newConverter(job)
	r.sender = sender{job: job, client: l.Client, redactor: l.Redactor, converter: r.converter}
	if l.observesRequests() {
		r.sender.partition = r.shownLabel()
	}
	r.workspace.machine.Observe, r.workspace.machine.Context = l.Evaluated, ctx
	r.started, r.current.unread = l.Clock.Now(), true
	r.setContext()
	r.state.Result.Job = job.ID()
	return r
}

// newConverter returns a converter for the responses of a job, or nil if they are JSON.
func (l *Loop) newConverter(job *compile.Job) *format.Converter {
	if job.Spec().Response.Format == rules.FormatJSON {
		return nil
	}
	return format.NewConverter(format.Options{
		Response: job.Spec().Response, Lists: job.Spec().ItemPaths(), MaxBytes: l.MaxBody, MaxDepth: l.MaxDepth,
	})
}

// pageContext returns the page context, which is part of the state.
func (r *listRun) pageContext() *rules.Context { return &r.state.Context.Value }

// reset discards the state of all pages: the next request is the first one, and the totals of the
// list start at zero. The running time and the number of restarts remain. The state is replaced in place, since the watcher has
// pointers to it.
func (r *listRun) reset() {
	last := r.state
	r.state = state{
		Result: last.Result, Restarts: last.Restarts, Memory: last.Memory.Restarted(), Computed: last.Computed,
	}
	r.setContext()
}

// setContext sets the context before the first page.
func (r *listRun) setContext() {
	job := r.job.Spec()
	r.state.Context.Value = rules.Context{
		Limit: r.job.Ruleset.Limit, Kept: r.keptBefore, Input: r.Inputs, Partition: r.list.Partition.Binding,
		Header: func(string) any { return nil }, Link: func(string, ...string) any { return nil }, // before the first page
		Now: func() time.Time { return r.started },
		Job: rules.JobFacts{ID: job.ID, Endpoint: job.Endpoint, Params: r.sender.redacted(job.Constants())},
	}
	if r.builder != nil {
		r.describeJob()
	}
}

// bind computes the values of the job's own request. A value that the checkpoint holds stays as it
// is; the checkpoint holds every value that is not secret.
func (r *listRun) bind() error {
	values, err := r.job.Compute(&r.workspace.machine, r.pageContext())
	if err != nil {
		return err
	}
	computed := slices.Clone(values)
	for i, e := range r.job.Computed {
		switch {
		case e.Rule.Sending.Secret:
			computed[i] = nil
		case len(r.state.Computed.Value) == len(values):
			computed[i], values[i] = r.state.Computed.Value[i], r.state.Computed.Value[i]
		}
	}
	r.state.Computed.Value = computed
	r.watcher.SetValues(values, r.job.Analysis().UnsentKept(r.pageContext()))
	if r.builder, err = r.job.Builder(values); err != nil {
		return err
	}
	r.sender.origins = r.builder.Origins
	for _, secret := range r.builder.Secrets {
		r.Redactor.Hide(secret)
	}
	r.Redactor.HideFragments(r.builder.Derived...)
	r.describeJob()
	return nil
}

// describeJob sets the part of the context that describes the job's own request.
func (r *listRun) describeJob() {
	c := r.pageContext()
	c.Limit = r.builder.Limit
	c.Job.Endpoint, c.Job.Params = r.Redactor.Text(r.builder.First.Endpoint), r.sender.redacted(r.builder.First.Params)
}

// close cancels the requests made ahead and returns the reader and the buffers to the pool.
func (r *listRun) close() {
	r.queue.Close()
	if r.itemEditor != nil {
		r.itemEditor.out.Release()
	}
	r.Pool.put(r)
}

// begin returns the first request of the run, or the next request of a resumed one. It reports
// false for a job that had already ended.
func (r *listRun) begin(ctx context.Context) (request requests.Request, more bool, err error) {
	if r.keepKey, err = r.KeepKey(&r.workspace.machine, r.job, r.pageContext()); err != nil {
		return request, false, r.pageError(r.list.Partition.Blame(), err)
	}
	r.state.Result.Kept = compile.NestKept(r.selectKept(r.job, r.keepKey), r.concealedKey(r.keepKey))
	if r.keptBefore, err = r.RevealKept(ctx, r.job, r.keepKey); err != nil {
		return request, false, err
	}
	r.pageContext().Kept = r.keptBefore
	if r.list.From != nil {
		return r.resume(ctx, r.list.From)
	}
	request, err = r.firstRequest()
	return request, err == nil, err
}

// firstRequest returns the first request of the list, and computes the values of the job's own
// request if they are not known yet.
func (r *listRun) firstRequest() (request requests.Request, err error) {
	c := r.pageContext()
	if r.builder == nil {
		if err := r.bind(); err != nil {
			return request, r.pageError(r.list.Partition.Blame(), err)
		}
	}
	variables, request, err := r.builder.Begin(&r.workspace.machine, c)
	if err == nil {
		r.hideDerived(variables, request.Params, request.Headers, request.Body)
		c.State, err = saved.RoundTripAll(rules.ContextState, variables)
	}
	if err != nil {
		return request, r.pageError(failure.Config, err)
	}
	return request, nil
}

// hideDerived hides the parts of secrets within values, if paging computes values from an input.
func (r *listRun) hideDerived(values ...any) {
	if r.job.Analysis().DerivesPaging() {
		r.Redactor.HideFragments(values...)
	}
}

// shownLabel returns the label of the partition, without secrets; see [Partition.Label].
func (r *listRun) shownLabel() string {
	if r.label == "" {
		r.label = r.list.Partition.Label()
	}
	return r.Redactor.Shown(r.label)
}

// name returns the name of the job for the log, with its partition and without secrets.
func (r *listRun) name() string { return r.Redactor.Shown(r.list.Partition.Name()) }

// restart starts again from the first request, after an error response which says that the position
// was lost. The record of the next page lists the restart.
func (r *listRun) restart(request requests.Request, f fetchResult) (requests.Request, error) {
	r.current.restarts = append(r.current.restarts, trace.Restart{
		Rule: f.action.rule, Because: f.action.because, Page: r.pageContext().Page + 1,
		Request: r.sender.recorded(request, r.sender.shownCall(request, f.call)),
		Status:  f.Status, Attempts: f.Attempts, Waits: trace.WaitsOf(f.waits, r.Redactor),
	})
	if r.state.Restarts++; r.state.Restarts > compile.MaxRestarts {
		return requests.Request{}, &failure.Error{
			Class: failure.Policy, Job: r.job.ID(), Page: r.pageContext().Page + 1, Op: failure.OpRule(f.action.rule), CauseBefore: true,
			Message: fmt.Sprintf("restarted %d times without reaching the end", compile.MaxRestarts),
		}
	}
	rewritten := ""
	if r.state.Result.Items > 0 {
		rewritten = fmt.Sprintf("; %s written so far will be written again", wording.Counted(r.state.Result.Items, "item"))
	}
	r.Log.Warn(fmt.Sprintf("Job '%s' restarts from the first request: %s%s", r.name(), f.action.text, rewritten),
		"event", "restart", "job", r.job.ID(), "rule", f.action.rule)
	r.reset()
	r.watcher.NoticeRewritten(r.obtained())
	r.queue.Close()
	return r.firstRequest()
}

// obtained returns the number of items on the delivered pages, including the items that the filter
// left out.
func (r *listRun) obtained() int { return r.state.Result.Items + r.state.Result.Filtered }

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
