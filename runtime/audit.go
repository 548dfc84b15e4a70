package runtime

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/spool"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// audit evaluates the audit rules after the last page of a list. items is the number of delivered
// items.
func (r *listRun) audit(ctx context.Context, items int) []trace.Finding {
	defer func(before context.Context) { r.workspace.machine.Context = before }(r.workspace.machine.Context)
	r.workspace.machine.Context = context.WithoutCancel(ctx) // a complete list is audited even if the run is being interrupted
	r.noticeBeyond()
	known, written := r.state.Result.Known, r.state.Result.Items
	if undelivered := items - r.obtained(); undelivered > 0 {
		known, written = known+r.current.known, written+undelivered-r.current.filtered
	}
	findings := r.watcher.Audit(evidence.End{
		Outcome: cmp.Or(r.state.Result.Outcome, rules.Failed), // a run with a failed rule has no outcome
		Items:   items, StoppedBy: r.state.Result.StoppedBy,
		Unseen: r.itemEditor.missing(decides),
		Kept:   compile.SelectKept(r.state.Result.Kept, r.keepKey), Siblings: r.list.Siblings,
		StayingKept: r.keptStays, MostlyKnown: known*2 > written,
	})
	for i := range findings {
		f := &findings[i]
		if r.logs(slog.LevelWarn) {
			LogFinding(r.Log, r.name(), r.job, *f)
		}
		r.observe(ctx, Event{Kind: EventFinding, Finding: f})
	}
	r.state.Result.Findings = findings
	return findings
}

// LogFinding logs a finding about a job, or about a partition of it.
func LogFinding(log *slog.Logger, name string, job *compile.Job, f trace.Finding) {
	log.Warn(fmt.Sprintf("Job '%s': the list may be incomplete: %s", name, f.Message), "event", "suspect", "job", job.ID(), "finding", f.ID)
}

// LogEarlierFindings logs the findings of an earlier run.
func LogEarlierFindings(log *slog.Logger, name string, job *compile.Job, found []trace.Finding) {
	for _, f := range found {
		f.Message += " (found by an earlier run)"
		LogFinding(log, name, job, f)
	}
}

// noticeBeyond shows the watcher the pages after the end of a complete list: they were requested ahead of their
// turn, and have arrived. A page that has not arrived is not waited for.
func (r *listRun) noticeBeyond() {
	if r.state.Result.Outcome != rules.Complete {
		return
	}
	for _, f := range r.queue.Unread() {
		r.readBeyond(f.Call.Page, f.Response)
	}
}

// readBeyond shows the watcher a page after the end of the list, unless it is malformed. The reader of the list still
// has the last page, so another one reads it.
func (r *listRun) readBeyond(number int, response *transport.Response) {
	options := r.readerOptions(r.job)
	options.Paths, options.Items, options.Places, options.Decode = nil, nil, nil, false
	options.Warn = func(string, string) {}
	page := documentOf(response)
	if converter := r.newConverter(r.job); converter != nil {
		buffer := &spool.Buffer{}
		defer buffer.Release()
		done, err := converter.Convert(bodyOf(response, response.Body), buffer)
		if done && err == nil {
			page.Body, page.Mapping, err = buffer.Body()
		}
		if err != nil {
			return
		}
	}
	reader := document.NewReader(options)
	defer reader.Close()
	if reading, err := reader.Read(page); err == nil {
		r.watcher.NoticeBeyond(number, reading)
	}
}
