package engine

import (
	"context"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

// What a run delivers.
type (
	Page      = runtime.Page    // one page and the decision about it
	Record    = runtime.Record  // what a trace holds of a page
	Verdict   = runtime.Verdict // the result of one rule on one page
	Finding   = runtime.Finding // evidence that a list may be incomplete
	Items     = document.Items  // the items of a page, as raw JSON
	JobResult = runtime.Result  // how one job ended
)

// Result says how a run ended, job by job, in the order in which they ran.
type Result struct {
	Jobs []JobResult `json:"jobs"`
}

// A Sink receives pages in order, one at a time. Its error ends the run.
type Sink func(ctx context.Context, page *Page) error

// What goes wrong.
type (
	Error       = failure.Error    // why a run failed
	Diagnostics = diag.Diagnostics // what is wrong with a configuration, and where
)

// Errors to compare with by errors.Is: every [*Error] of the class is one.
var (
	ErrInternal  error = failure.ErrInternal  // a bug
	ErrConfig    error = failure.ErrConfig    // the configuration is invalid
	ErrAPI       error = failure.ErrAPI       // the API refused for good
	ErrTransient error = failure.ErrTransient // transient errors outlasted the retries
	ErrResponse  error = failure.ErrResponse  // an unacceptable response, or a rule that failed on one
	ErrPolicy    error = failure.ErrPolicy    // a safety limit or a guard
	ErrIO        error = failure.ErrIO        // output cannot be written
	ErrState     error = failure.ErrState     // a checkpoint is corrupt or of another configuration
	ErrCancelled error = failure.ErrCancelled // interrupted
)

// What observes a run.
type (
	Observer = runtime.Observer // receives the events of a run
	Event    = runtime.Event    // a request, retry, wait, page, verdict, finding or end
)

// The kinds of events.
const (
	EventRequest = runtime.EventRequest // one HTTP request with its response or error
	EventRetry   = runtime.EventRetry   // a wait before a request is repeated
	EventWait    = runtime.EventWait    // a wait for the API's rate limit
	EventPage    = runtime.EventPage    // a page was judged and delivered
	EventVerdict = runtime.EventVerdict // one rule's verdict on that page
	EventFinding = runtime.EventFinding // evidence that the list may be incomplete
	EventEnd     = runtime.EventEnd     // a job ended
)

// The decisions about a page.
const (
	Continue = runtime.Continue
	Stop     = runtime.Stop
)
