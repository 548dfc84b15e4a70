package runtime

import (
	"errors"
	"net/http"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// failedPage returns the record of the page that was being requested when the job
// failed, or nil if there was none.
func (r *run) failedPage(fault *trace.Fault, err error) *trace.Record {
	if !r.current.unread {
		return nil
	}
	f := r.current.fetched
	if f.Response == nil {
		f.Response = &transport.Response{Attempts: 1, Header: http.Header{}}
		for _, w := range f.waits {
			if w.Kind == transport.EventRetry {
				f.Attempts++
			}
		}
	}
	record := r.record(r.current.request, f)
	record.Page, record.Verdicts = r.Context.Value.Page+1, []trace.Verdict{}
	record.Decision, record.Outcome, record.StoppedBy, record.Reason = trace.Stop, rules.Failed, []string{ReasonError}, ReasonError
	record.Error = fault
	if known, ok := errors.AsType[*failure.Error](err); ok && record.Status == 0 {
		record.Status = known.Status
	}
	return &record
}

// noteRestart keeps a restart for the record of the next page.
func (r *run) noteRestart(request requests.Request, f fetched) {
	r.restarted = append(r.restarted, trace.Restart{
		Rule: f.action.rule, Because: f.action.because, Page: r.Context.Value.Page + 1, Request: r.sender.shownCall(request, f.call),
		Status: f.Status, Attempts: f.Attempts, Waits: trace.WaitsOf(f.waits, r.Redactor),
	})
}
