package trace

import (
	"encoding/json"
	"errors"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Record is what a trace records about a page: one JSON object per page.
type Record struct {
	Job  string `json:"job"`  // its id
	Page int    `json:"page"` // from 1

	// Partition holds the values of the variables of for, as far as expressions read them.
	Partition map[string]any `json:"partition,omitempty"`

	Request   Sent          `json:"request"`           // without its credentials
	Status    int           `json:"status"`            // of the response
	Count     int           `json:"count"`             // items that the API sent
	Written   *int          `json:"written,omitempty"` // items that were delivered, if the filter left some out; nil: all, unless Dropped
	Bytes     int           `json:"bytes"`             // size as minified JSON
	Verdicts  []Verdict     `json:"verdicts"`
	Decision  Decision      `json:"decision"`
	StoppedBy []string      `json:"stoppedBy"`
	Outcome   rules.Outcome `json:"outcome,omitempty"`  // when the decision is Stop
	Dropped   bool          `json:"dropped,omitempty"`  // the items were not delivered
	Skipped   bool          `json:"skipped,omitempty"`  // the partition failed on this page, and the run goes on
	Attempts  int           `json:"attempts,omitempty"` // requests that it took
	At        int64         `json:"at"`                 // when the request was made, in milliseconds since the job began
	Millis    int64         `json:"ms"`                 // from the request to the decoded page
	Findings  []Finding     `json:"findings,omitempty"` // of the audit, on the last page of a job

	Version  int       `json:"version"`            // of this format
	Reason   string    `json:"reason,omitempty"`   // the rule of StoppedBy that decided
	Repeats  int       `json:"repeats,omitempty"`  // the earlier page whose request and response these are
	Waits    []Wait    `json:"waits,omitempty"`    // before and between the attempts
	Restarts []Restart `json:"restarts,omitempty"` // since the page before this one
	Error    *Fault    `json:"error,omitempty"`    // why the job failed on this page
}

// RecordVersion is the version of a [Record] as JSON. Keys may be added to a version.
const RecordVersion = 1

// A Wait is a pause before a request.
type Wait struct {
	For     string `json:"for"`               // "retry", or "wait" for a rate limit or the rules
	Attempt int    `json:"attempt,omitempty"` // that failed before a retry, from 1
	Millis  int64  `json:"ms"`
	Source  string `json:"source,omitempty"` // the header or the setting that asked for it, or "backoff"
	Status  int    `json:"status,omitempty"` // of the attempt that failed; 0 without a response
	Cause   string `json:"cause,omitempty"`  // why it failed
}

// A Restart is an error response after which a job started again from its first request.
type Restart struct {
	Rule     string `json:"rule"` // the onError rule that decided
	Because  string `json:"because,omitempty"`
	Page     int    `json:"page"` // the page that was requested
	Request  Sent   `json:"request"`
	Status   int    `json:"status"`
	Attempts int    `json:"attempts"`
	Waits    []Wait `json:"waits,omitempty"`
}

// A Fault is an error that ended a job.
type Fault struct {
	Class   string `json:"class,omitempty"` // of the exit status: "api"; empty for an error of the sink
	Message string `json:"message"`         // one sentence, with the place
	Hint    string `json:"hint,omitempty"`  // how to fix it
}

// A Decision says whether a job continues after a page.
type Decision string

// The decisions.
const (
	Continue Decision = "continue"
	Stop     Decision = "stop"
)

// Met returns the verdicts of the rules that were met.
func (r *Record) Met() []Verdict {
	var met []Verdict
	for _, v := range r.Verdicts {
		if v.Met {
			met = append(met, v)
		}
	}
	return met
}

// Sent is a request without its credentials.
type Sent struct {
	Method string          `json:"method"`
	URL    string          `json:"url"`
	Body   json.RawMessage `json:"body,omitempty"` // that of a form as a JSON string
}

// A Verdict is the result of one rule on one page.
type Verdict struct {
	Rule    string   `json:"rule"`              // its id
	Met     bool     `json:"met"`               // its condition is true
	Because string   `json:"because,omitempty"` // the rule with the values it read
	Missing []string `json:"missing,omitempty"` // paths and headers it reads that the response does not have
	Notes   []string `json:"notes,omitempty"`   // what may be wrong with the values, such as numbers that are compared as text
}

// A Finding is evidence that a list which ended by rule may be incomplete.
type Finding struct {
	ID      string `json:"id"`                // "audit.token"
	Message string `json:"message"`           // one sentence
	Because string `json:"because,omitempty"` // the audit rule with the values it read

	Partition string `json:"partition,omitempty"` // in a result: the partition that it is about
}

// FaultOf describes the error that ended a job, without its secrets; nil for no error.
func FaultOf(err error, secrets *redact.Redactor) *Fault {
	if err == nil {
		return nil
	}
	known, ok := errors.AsType[*failure.Error](err)
	if !ok {
		return &Fault{Message: secrets.String(err.Error())}
	}
	plain := *known
	plain.Hint = ""
	return &Fault{Class: string(known.Class), Message: secrets.String(plain.Error()), Hint: secrets.String(known.Hint)}
}

// WaitsOf returns the waits of an exchange, without secrets.
func WaitsOf(events []transport.Event, secrets *redact.Redactor) []Wait {
	var waits []Wait
	for _, e := range events {
		w := Wait{For: e.Kind, Millis: e.Duration.Milliseconds(), Source: e.Source}
		if e.Kind == transport.EventRetry {
			w.Attempt, w.Status = e.Attempt, e.Status
		}
		if known, ok := errors.AsType[*failure.Error](e.Err); ok {
			w.Cause = secrets.String(known.Message)
		}
		waits = append(waits, w)
	}
	return waits
}
