package engine

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
)

type (
	// Page is one page of a job and the decision about it.
	Page = runtime.Page

	// Record is what a trace records about a page.
	Record = runtime.Record

	// Verdict is the result of one rule on one page.
	Verdict = runtime.Verdict

	// Finding is evidence that a list may be incomplete.
	Finding = runtime.Finding

	// Items are the items of a page, as raw JSON.
	Items = document.Items

	// JobResult says how one job ended.
	JobResult = runtime.Result

	// Error says why a run failed.
	Error = failure.Error

	// Diagnostics say what is wrong with a configuration, and where.
	Diagnostics = diag.Diagnostics

	// Observer receives the events of a run.
	Observer = runtime.Observer

	// EventKind is the kind of an [Event].
	EventKind = runtime.EventKind

	// Event is a request, retry, wait, page, verdict, finding or end of a run.
	Event = runtime.Event
)

// Result says how a run ended, job by job, in the order in which they ran.
type Result struct {
	Version int         `json:"version"` // of the JSON
	Jobs    []JobResult `json:"jobs"`
}

// Trees returns the results by tree: those of a job and of the jobs for its items, the
// latter first. Most jobs are a tree of their own, which is a part of r.Jobs and no copy.
func (r *Result) Trees() [][]JobResult {
	var trees [][]JobResult
	for i, job := range r.Jobs {
		if n := len(trees); n > 0 && job.Root != "" && job.Root == r.Jobs[i-1].Root {
			trees[n-1] = slices.Insert(trees[n-1], 0, job)
		} else {
			trees = append(trees, r.Jobs[i:i+1:i+1])
		}
	}
	return trees
}

// resultVersion is the version of a [Result] as JSON. Keys may be added to a version.
const resultVersion = 1

// NewResult returns the result of a run whose jobs ended like this.
func NewResult(jobs []JobResult) *Result {
	r := newResult()
	r.Jobs = append(r.Jobs, jobs...)
	return r
}

func newResult() *Result { return &Result{Version: resultVersion, Jobs: []JobResult{}} }

// Errors for use with errors.Is: each matches every [*Error] of its class.
var (
	ErrInternal  error = failure.ErrInternal  // a bug
	ErrConfig    error = failure.ErrConfig    // the configuration is invalid
	ErrAPI       error = failure.ErrAPI       // the API refused the request permanently
	ErrTransient error = failure.ErrTransient // transient errors outlasted the retries
	ErrResponse  error = failure.ErrResponse  // an unacceptable response, or a rule that failed on one
	ErrPolicy    error = failure.ErrPolicy    // a safety limit or a guard
	ErrIO        error = failure.ErrIO        // output cannot be written
	ErrState     error = failure.ErrState     // a checkpoint is corrupt or belongs to another configuration
	ErrCancelled error = failure.ErrCancelled // interrupted
)

// The kinds of events.
const (
	EventRequest = runtime.EventRequest // one HTTP request with its response or error
	EventRetry   = runtime.EventRetry   // a wait before a request is repeated
	EventWait    = runtime.EventWait    // a wait for a rate limit, or for nextRequest.after
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
