package runtime

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// end completes the result. A listRun that ended with an error has failed.
func (r *listRun) end(ctx context.Context, err error) ListResult {
	r.state.Result = r.conclude(r.state.Result, err)
	if r.observes(EventEnd) {
		ended := r.state.Result
		r.observe(ctx, Event{Kind: EventEnd, Result: &ended, Err: failure.Redact(err, r.Redactor.Text)})
	}
	return r.withSeen(r.state.Result)
}

// conclude completes the result of a list. err is the error with which the list ended, or nil.
func (r *listRun) conclude(result Result, err error) Result {
	result.Seconds = r.seconds()
	if err != nil && result.Outcome != rules.Failed {
		result.Outcome = rules.Failed
		result.Reason = ReasonError
		result.StoppedBy = []string{}
		result.Message = r.Redactor.Shown(err.Error())
	}
	if err != nil {
		result.Error = trace.FaultOf(err, r.Redactor)
		result.FailedPage = cmp.Or(r.current.omitted, r.failedPage(result.Error, err))
	}
	return result
}

// failedPage returns the record of the page that was being requested when the job failed, or nil if
// the request was not the cause.
func (r *listRun) failedPage(fault *trace.Fault, err error) *trace.Record {
	if !r.current.unread {
		return nil
	}
	f := r.current.fetched
	switch {
	case f.sentAt.IsZero(): // the first request could not be computed
		f.sentAt, f.Response = r.Clock.Now(), &transport.Response{Header: http.Header{}}
	case f.Response == nil:
		f.Response = &transport.Response{Attempts: 1, Header: http.Header{}}
		for _, w := range f.waits {
			if w.Kind == transport.EventRetry {
				f.Attempts++
			}
		}
	}
	record := r.newRecord(r.current.request, f, r.sender.shownCall(r.current.request, f.call))
	record.Page, record.Verdicts = r.pageContext().Page+1, []trace.Verdict{}
	record.Decision, record.Outcome, record.StoppedBy, record.Reason = trace.Stop, rules.Failed, []string{ReasonError}, ReasonError
	record.Error = fault
	if known, ok := errors.AsType[*failure.Error](err); ok && record.Status == 0 {
		record.Status = known.Status
	}
	return &record
}

// withSeen returns a result with the paths that the list had and lacked.
func (r *listRun) withSeen(result Result) ListResult {
	return ListResult{Result: result, Seen: r.watcher.Seen(result.Outcome)}
}

// addPlace adds the partition to an error of this job.
func (r *listRun) addPlace(err error) error {
	known, ok := err.(*failure.Error) //nolint:errorlint // an error with this as its cause has a place of its own
	if ok && known.Job == r.job.ID() && known.Partition == "" {
		return known.With(func(e *failure.Error) { e.Partition = r.shownLabel() })
	}
	return err
}

// logPage logs a page and, if it is the last, why the job ended.
func (r *listRun) logPage(page *Page) {
	if r.logs(slog.LevelDebug) {
		r.Log.Debug(fmt.Sprintf("Job '%s' page %d: %s", r.name(), page.Page, wording.Counted(page.Count, "item")),
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
		LogStop(r.Log, r.job, r.name(), r.pageContext().Page, r.state.Result)
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

// stopFailure returns the error of a job that a rule ended as failed.
func (r *listRun) stopFailure(page *Page) error {
	if page.Decision != trace.Stop || page.Outcome != rules.Failed {
		return nil
	}
	result := &r.state.Result
	e := &failure.Error{Class: failure.Response, Job: r.job.ID(), Page: page.Page,
		Op: failure.OpRule(result.Reason), Message: result.Message}
	if reason := reasonOf(r.job, *result); reason.Guard {
		e.Class, e.Hint, e.CauseBefore = failure.Policy, reason.Hint, reason.Stop.CauseBefore
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
