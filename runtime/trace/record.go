package trace

import (
	"encoding/json"
	"errors"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/remedy"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/redact"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Record describes one page of a run. It is one line of a trace, as a JSON object.
type Record struct {
	Job  string `json:"job"`  // id of the job
	Page int    `json:"page"` // page number, from 1

	// Partition holds the values of the variables of for that expressions read.
	Partition map[string]any `json:"partition,omitempty"`

	Request Request `json:"request"` // the request without its credentials
	Status  int     `json:"status"`  // HTTP status
	Count   int     `json:"count"`   // number of items that the API sent
	// Written is the number of items that were delivered, if the filter left some out. Nil means that
	// all items were delivered or, if Dropped is set, no item.
	Written   *int          `json:"written,omitempty"`
	Bytes     int           `json:"bytes"` // size as minified JSON
	Verdicts  []Verdict     `json:"verdicts"`
	Decision  Decision      `json:"decision"`
	StoppedBy []string      `json:"stoppedBy"`
	Outcome   rules.Outcome `json:"outcome,omitempty"`  // set if Decision is Stop
	Dropped   bool          `json:"dropped,omitempty"`  // the items were not delivered
	Skipped   bool          `json:"skipped,omitempty"`  // the partition failed on this page, and the run goes on
	Attempts  int           `json:"attempts,omitempty"` // number of requests made
	At        int64         `json:"at"`                 // time of the request, in milliseconds since the job began
	Millis    int64         `json:"ms"`                 // time from the request to the decoded page, in milliseconds
	Findings  []Finding     `json:"findings,omitempty"` // findings of the audit, on the last page of a job

	Known    int       `json:"known,omitempty"`    // on the last page of a job: items of the list that are not later than the kept value
	Version  int       `json:"version"`            // version of this format
	Reason   string    `json:"reason,omitempty"`   // the rule of StoppedBy that decided
	RepeatOf int       `json:"repeats,omitempty"`  // earlier page with the same request and response
	Waits    []Wait    `json:"waits,omitempty"`    // waits before and between the attempts
	Restarts []Restart `json:"restarts,omitempty"` // restarts since the previous page
	Error    *Fault    `json:"error,omitempty"`    // why the job failed on this page
}

// RecordVersion is the version of a [Record] as JSON. Keys may be added to a version.
const RecordVersion = 1

// A Wait is a pause before a request.
type Wait struct {
	For     transport.EventKind `json:"for"`               // [transport.EventRetry], or [transport.EventWait] for a rate limit or the rules
	Attempt int                 `json:"attempt,omitempty"` // attempt that failed before a retry, from 1
	Millis  int64               `json:"ms"`
	Source  string              `json:"source,omitempty"` // header or setting that asked for the wait, or [transport.SourceBackoff]
	Status  int                 `json:"status,omitempty"` // status of the failed attempt; 0 without a response
	Cause   string              `json:"cause,omitempty"`  // reason why the attempt failed
}

// A Restart is an error response after which a job started again from its first request.
type Restart struct {
	Rule     string  `json:"rule"` // the onError rule that decided
	Because  string  `json:"because,omitempty"`
	Page     int     `json:"page"` // the page that was requested
	Request  Request `json:"request"`
	Status   int     `json:"status"`
	Attempts int     `json:"attempts"`
	Waits    []Wait  `json:"waits,omitempty"`
}

// A Fault is an error that ended a job.
type Fault struct {
	Class   string `json:"class,omitempty"` // class, such as "api"; empty for an error of the sink
	Message string `json:"message"`         // one sentence, with the job and the page
	Hint    string `json:"hint,omitempty"`  // how to fix it

	// CauseBefore reports whether the cause is on pages before the last one, or in an item of the parent, so that a
	// checkpoint of the list is of no use.
	CauseBefore bool `json:"earlier,omitempty"`

	Remedy remedy.Remedy `json:"-"` // the hint, for a front end with its own wording
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
	var verdicts []Verdict
	for _, v := range r.Verdicts {
		if v.Met {
			verdicts = append(verdicts, v)
		}
	}
	return verdicts
}

// Request is a request without its credentials.
type Request struct {
	Method string          `json:"method"`
	URL    string          `json:"url"`
	Body   json.RawMessage `json:"body,omitempty"` // JSON; a form is a JSON string
}

// A Verdict is the result of one rule on one page.
type Verdict struct {
	Rule    string   `json:"rule"`              // id of the rule
	Met     bool     `json:"met"`               // whether its condition is true
	Because string   `json:"because,omitempty"` // the rule with the values that it read
	Missing []string `json:"missing,omitempty"` // paths and headers that it reads and the response does not have
	Notes   []string `json:"notes,omitempty"`   // doubts about the values, such as numbers compared as text
}

// A Finding says why a list may be incomplete although a rule ended it.
type Finding struct {
	ID      string       `json:"id"`                // id of the audit rule, such as "audit.token"
	Weight  rules.Weight `json:"weight"`            // whether the finding is evidence or a hint
	Message string       `json:"message"`           // one sentence
	Because string       `json:"because,omitempty"` // the audit rule with the values that it read

	Partition string `json:"partition,omitempty"` // the partition concerned, in a result
}

// FindingMissing is the id of the finding that responses lack paths that rules read.
const FindingMissing = "audit.missing"

// FindingErrorBody is the id of the finding that a successful response tells of an error.
const FindingErrorBody = "audit.errorBody"

// FindingToken is the id of the finding that the last page has a next link or a token that no request has sent.
const FindingToken = "audit.token"

// FindingCeiling is the id of the finding that a list has a number of items at which APIs cut lists off.
const FindingCeiling = "audit.ceiling"

// FindingTwice is the id of the finding that an item occurs twice on one page.
const FindingTwice = "audit.twice"

// FindingRepeated is the id of the finding that a page or a partition has the items of an earlier one.
const FindingRepeated = "audit.repeated"

// FindingDuplicate is the id of the finding that two items have the same key.
const FindingDuplicate = "audit.duplicate"

// FindingRestart is the id of the finding that a list was restarted, so that items were written twice.
const FindingRestart = "audit.restart"

// FindingContract is the id of the finding that the data differ from a contract. It is not about the
// completeness of a list.
const FindingContract = "audit.contract"

// FindingShrank is the id of the finding that a job replaces the rows of a file by less than half as many. It is known
// only when all rows are written.
const FindingShrank = "audit.shrank"

// FindingAmbiguous is the id of the finding that partitions have other items with one key. Merging loses such items.
const FindingAmbiguous = "audit.ambiguous"

// FindingSince is the id of the finding that an API has sent the items of earlier runs again. Adding the rows of a run
// repeats such items.
const FindingSince = "audit.since"

// FindingUnsent is the id of the finding that a list began as it does without kept values. Adding the rows repeats those of
// earlier runs.
const FindingUnsent = "audit.unsent"

// FindingStays is the id of the finding that a kept value stays as it was, although the list had items, so that the next run
// obtains them again. Adding the rows repeats them.
const FindingStays = "audit.stays"

// FindingAgain is the id of the finding that rows which are added to a file have items from up to the kept value. It is not
// about the completeness of a list.
const FindingAgain = "audit.again"

// Sentence returns the finding as a sentence about the list.
func (f *Finding) Sentence() string {
	switch {
	case f.ID == FindingContract, f.ID == FindingAgain:
		return f.Message
	case f.Weight == rules.WeightEvidence:
		return "the list is incomplete: " + f.Message
	}
	return "the list may be incomplete: " + f.Message
}

// FaultOf describes the error that ended a job, without its secrets. It returns nil for a nil
// error.
func FaultOf(err error, secrets *redact.Redactor) *Fault {
	if err == nil {
		return nil
	}
	known, ok := errors.AsType[*failure.Error](err)
	if !ok {
		return &Fault{Message: secrets.Text(err.Error())}
	}
	fault := &Fault{
		Class: string(known.Class), Message: secrets.Text(known.WithHint("").Error()), Hint: secrets.Text(known.Hint),
		CauseBefore: known.CauseBefore,
	}
	if fault.Hint == known.Hint {
		fault.Remedy = known.Remedy
	}
	return fault
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
			w.Cause = secrets.Shown(known.Message)
		}
		waits = append(waits, w)
	}
	return waits
}
