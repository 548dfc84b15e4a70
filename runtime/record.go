package runtime

import (
	"encoding/json"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// A Page is one page of a job and the decision about it.
type Page struct {
	Record
	Items document.Items  // in the order and spelling of the API, as filter and fields leave them; empty when the page was dropped
	Lists []document.List // the items by their types, in the order of dataField: several if it has several paths
	Kept  map[string]any  // on the last page of a job: the values for the next run, see [Result]

	Root  string // the job whose checkpoint [Page.Checkpoint] returns: the one at the root of the tree of partitions, or Job itself
	Final bool   // the last page of Root and of all jobs below it

	checkpoint func() (json.RawMessage, error)
	after      func() Result // the result of the job after the page
	members    []any         // that the items come from, see [document.Reading.Members]; nil: none
	filtered   int           // items that the filter left out
	obtained   int           // items of the page that are delivered
	delivered  bool          // the sink has received it
	silent     bool          // the items are not written
	last       bool          // as far as the partitions know that have handled it: nothing follows
}

// Checkpoint returns the position after this page, from which another run continues
// with the next page, in another process too ([engine.WithResume]). Save it together
// with the page's items. It is JSON with a version, holds no credentials, and is
// available until the sink returns. It is nil after a page on which the run fails,
// since that page has to be requested again.
func (p *Page) Checkpoint() (json.RawMessage, error) {
	if p.checkpoint == nil {
		return nil, &failure.Error{Class: failure.Internal, Job: p.Job, Page: p.Page, Op: "checkpoint",
			Message: "a page's checkpoint is available only until the sink returns"}
	}
	return p.checkpoint()
}

// A Record is what a trace records about a page: one JSON object per page.
type Record struct {
	Job  string `json:"job"`
	Page int    `json:"page"` // from 1

	// Partition holds the values of the variables of for, as far as expressions read them.
	Partition map[string]any `json:"partition,omitempty"`

	Request   Sent          `json:"request"`
	Status    int           `json:"status"`
	Count     int           `json:"count"`             // items that the API sent
	Written   *int          `json:"written,omitempty"` // items that were delivered, if the filter left some out; nil: all, unless Dropped
	Bytes     int           `json:"bytes"`             // size as minified JSON
	Verdicts  []Verdict     `json:"verdicts"`
	Decision  Decision      `json:"decision"`
	StoppedBy []string      `json:"stoppedBy"`
	Outcome   rules.Outcome `json:"outcome,omitempty"` // when the decision is Stop
	Dropped   bool          `json:"dropped,omitempty"` // the items were not delivered
	Skipped   bool          `json:"skipped,omitempty"` // the partition failed on this page, and the run goes on
	Attempts  int           `json:"attempts,omitempty"`
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
	Rule    string   `json:"rule"`
	Met     bool     `json:"met"`
	Because string   `json:"because,omitempty"` // the rule with the values it read
	Missing []string `json:"missing,omitempty"` // paths and headers it reads that the response does not have
	Notes   []string `json:"notes,omitempty"`   // what may be wrong with the values, such as numbers that are compared as text
}

// A Finding is evidence that a list which ended by rule may be incomplete.
type Finding struct {
	ID      string `json:"id"`                // "audit.token"
	Message string `json:"message"`           // one sentence
	Because string `json:"because,omitempty"` // the audit rule with the values it read

	Partition string `json:"partition,omitempty"` // in a [Result]: the partition that it is about
}

// A Result says how one job ended.
type Result struct {
	Job       string        `json:"job"`
	Root      string        `json:"root,omitempty"` // of a tree of jobs: the one at its root
	Outcome   rules.Outcome `json:"outcome"`
	Reason    string        `json:"reason"`             // id of the first rule that was met, or "end", "nextRequest" or "error"
	StoppedBy []string      `json:"stoppedBy"`          // ids of all rules that were met
	Message   string        `json:"message"`            // one sentence
	Pages     int           `json:"pages"`              // pages fetched
	Items     int           `json:"items"`              // items passed to the sink
	Filtered  int           `json:"filtered,omitempty"` // items that the filter of the job left out
	Bytes     int           `json:"bytes"`              // minified JSON fetched
	Seconds   float64       `json:"seconds"`

	// Kept holds the values for the next run: those of keep in the configuration
	// after the last page of a complete list, otherwise those of the previous run.
	Kept map[string]any `json:"kept,omitempty"`

	// Repeats is true if the next run begins where this one did: this job or another one of
	// its tree is not complete, so none of them has moved its kept values on.
	Repeats bool `json:"-"`

	Findings []Finding `json:"findings,omitempty"` // of the audit
	Error    *Fault    `json:"error,omitempty"`    // why the job failed

	Partitions *Partitions `json:"partitions,omitempty"` // of a job with variables; the other values are about all of them

	failed  *Record
	first   string // how the first of the partitions ended that decide the outcome
	skipped bool   // the partition failed, and the run goes on
	leftOut bool   // a limit left the partition out
	seen    seen   // what the list of the partition had and lacked
}

// FailedPage returns what a trace records about the page on which a job failed, if the
// sink did not receive that page: its request failed, or its response is no page. It is
// nil for any other end.
func (r Result) FailedPage() *Record { return r.failed }

// Reasons of a [Result] that are not ids of rules.
const (
	reasonEnd         = compile.ReasonEnd
	reasonNextRequest = compile.ReasonNextRequest
	reasonError       = "error"
)

// StoredPage returns a page that a step had, for a sink. Its checkpoint is what the function
// returns.
func StoredPage(record Record, root string, items document.Items, lists []document.List, final bool,
	checkpoint func() (json.RawMessage, error),
) *Page {
	return &Page{Record: record, Root: root, Items: items, Lists: lists, Final: final, checkpoint: checkpoint}
}

// Marks returns where the lists of a page end in its items: what [document.Lists] needs to
// restore them.
func (p *Page) Marks() []document.Mark { return marksOf(p.Lists) }
