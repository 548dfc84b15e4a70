package runtime

import (
	"errors"
	"net/http"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// attempt is the request that is being made, for the record of a page that fails.
type attempt struct {
	request rules.Request
	fetched fetched
	begun   bool // there is such a request
}

// faultOf describes the error that ended a job; nil for none.
func (l Loop) faultOf(err error) *Fault {
	if err == nil {
		return nil
	}
	known, ok := errors.AsType[*failure.Error](err)
	if !ok {
		return &Fault{Message: l.Redactor.String(err.Error())}
	}
	plain := *known
	plain.Hint = ""
	return &Fault{Class: string(known.Class), Message: l.Redactor.String(plain.Error()), Hint: l.Redactor.String(known.Hint)}
}

// failedPage returns the record of the page that was being requested when the job
// failed, or nil if there was none.
func (r *run) failedPage(fault *Fault, err error) *Record {
	if !r.attempt.begun {
		return nil
	}
	f := r.attempt.fetched
	if f.Response == nil {
		f.Response = &transport.Response{Attempts: 1, Header: http.Header{}}
		for _, w := range f.waits {
			if w.Kind == transport.EventRetry {
				f.Attempts++
			}
		}
	}
	record := r.record(r.attempt.request, f)
	record.Page, record.Verdicts = r.Context.Value.Page+1, []Verdict{}
	record.Decision, record.Outcome, record.StoppedBy, record.Reason = Stop, rules.Failed, []string{reasonError}, reasonError
	record.Error = fault
	if known, ok := errors.AsType[*failure.Error](err); ok && record.Status == 0 {
		record.Status = known.Status
	}
	return &record
}

// waitsOf returns the waits of an exchange as a trace records them.
func (r *run) waitsOf(events []transport.Event) []Wait {
	var waits []Wait
	for _, e := range events {
		w := Wait{For: e.Kind, Millis: e.Duration.Milliseconds(), Source: e.Source}
		if e.Kind == transport.EventRetry {
			w.Attempt, w.Status = e.Attempt, e.Status
		}
		if known, ok := errors.AsType[*failure.Error](e.Err); ok {
			w.Cause = r.Redactor.String(known.Message)
		}
		waits = append(waits, w)
	}
	return waits
}

// noteRestart keeps a restart for the record of the next page.
func (r *run) noteRestart(request rules.Request, f fetched) {
	r.restarted = append(r.restarted, Restart{
		Rule: f.action.rule, Because: f.action.because, Page: r.Context.Value.Page + 1, Request: r.shownCall(request, f.call),
		Status: f.Status, Attempts: f.Attempts, Waits: r.waitsOf(f.waits),
	})
}
