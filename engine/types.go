package engine

import (
	"context"
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// These types are aliases of the types that the runtime fills in, so that no page is copied.
// The command go doc does not show the fields of an alias, so its documentation lists them,
// and a test compares the list with the definition.

// Page is one page of a job and the decision about it. Its items are valid until the sink
// returns or the iteration continues.
//
//	Job  string // its id
//	Page int    // from 1
//	// Partition holds the values of the variables of for, as far as expressions read them.
//	Partition map[string]any
//	Request   trace.Sent // without its credentials
//	Status    int        // of the response
//	Count     int        // items that the API sent
//	Written   *int       // items that were delivered, if the filter left some out; nil: all, unless Dropped
//	Bytes     int        // size as minified JSON
//	Verdicts  []Verdict
//	Decision  trace.Decision
//	StoppedBy []string
//	Outcome   rules.Outcome   // when the decision is Stop
//	Dropped   bool            // the items were not delivered
//	Skipped   bool            // the partition failed on this page, and the run goes on
//	Attempts  int             // requests that it took
//	At        int64           // when the request was made, in milliseconds since the job began
//	Millis    int64           // from the request to the decoded page
//	Findings  []Finding       // of the audit, on the last page of a job
//	Version   int             // of this format
//	Reason    string          // the rule of StoppedBy that decided
//	Repeats   int             // the earlier page whose request and response these are
//	Waits     []trace.Wait    // before and between the attempts
//	Restarts  []trace.Restart // since the page before this one
//	Error     *trace.Fault    // why the job failed on this page
//	Items     Items           // in the order and spelling of the API, as filter and fields leave them; empty when the page was dropped
//	Lists     []document.List // the items by their types, in the order of dataField: several if it has several paths
//	Kept      map[string]any  // on the last page of a job: the values for the next run
//	Root      string          // the root of the tree of jobs, whose checkpoint Checkpoint returns; Job itself without a parent
//	Final     bool            // the last page of Root and of all jobs below it
//
//	func (*Page) Checkpoint() (json.RawMessage, error)
//	func (*Page) Marks() []document.Mark
type Page = runtime.Page

// Record is what a trace records about a page: one JSON object per page.
//
//	Job  string // its id
//	Page int    // from 1
//	// Partition holds the values of the variables of for, as far as expressions read them.
//	Partition map[string]any
//	Request   trace.Sent // without its credentials
//	Status    int        // of the response
//	Count     int        // items that the API sent
//	Written   *int       // items that were delivered, if the filter left some out; nil: all, unless Dropped
//	Bytes     int        // size as minified JSON
//	Verdicts  []Verdict
//	Decision  trace.Decision
//	StoppedBy []string
//	Outcome   rules.Outcome   // when the decision is Stop
//	Dropped   bool            // the items were not delivered
//	Skipped   bool            // the partition failed on this page, and the run goes on
//	Attempts  int             // requests that it took
//	At        int64           // when the request was made, in milliseconds since the job began
//	Millis    int64           // from the request to the decoded page
//	Findings  []Finding       // of the audit, on the last page of a job
//	Version   int             // of this format
//	Reason    string          // the rule of StoppedBy that decided
//	Repeats   int             // the earlier page whose request and response these are
//	Waits     []trace.Wait    // before and between the attempts
//	Restarts  []trace.Restart // since the page before this one
//	Error     *trace.Fault    // why the job failed on this page
//
//	func (*Record) Met() []Verdict
type Record = trace.Record

// Verdict is the result of one rule on one page.
//
//	Rule    string   // its id
//	Met     bool     // its condition is true
//	Because string   // the rule with the values it read
//	Missing []string // paths and headers it reads that the response does not have
//	Notes   []string // what may be wrong with the values, such as numbers that are compared as text
type Verdict = trace.Verdict

// Finding is evidence that a list may be incomplete.
//
//	ID        string // "audit.token"
//	Message   string // one sentence
//	Because   string // the audit rule with the values it read
//	Partition string // in a result: the partition that it is about
type Finding = trace.Finding

// Items are the items of a page as NDJSON: each without insignificant whitespace, otherwise
// byte for byte as the API sent it, followed by a newline. The zero Items are empty.
//
//	func (Items) All() iter.Seq[json.RawMessage]
//	func (Items) Bytes() []byte
//	func (Items) Clone() Items
//	func (Items) Len() int
//	func (Items) WriteTo(w io.Writer) (int64, error)
type Items = document.Items

// JobResult says how one job ended.
//
//	Job       string // its id
//	Root      string // the root of its tree of jobs, if it has a parent or children
//	Outcome   rules.Outcome
//	Reason    string   // id of the first rule that was met, or "end", "nextRequest" or "error"
//	StoppedBy []string // ids of all rules that were met
//	Message   string   // one sentence
//	Pages     int      // pages fetched
//	Items     int      // items passed to the sink
//	Filtered  int      // items that the filter of the job left out
//	Bytes     int      // minified JSON fetched
//	Seconds   float64  // from its beginning to its end
//	// Kept holds the values for the next run: those of keep in the configuration
//	// after the last page of a complete list, otherwise those of the previous run.
//	Kept map[string]any
//	// Repeats is true if the next run begins where this one did: the job, its parent or one
//	// of its children is not complete, so none of them has moved its kept values on.
//	Repeats    bool
//	Findings   []Finding           // of the audit
//	Error      *trace.Fault        // why the job failed
//	Partitions *runtime.Partitions // of a job with variables; the other values are about all of them
//	// FailedPage is what a trace records about the page on which a job failed, if the sink
//	// did not receive that page: its request failed, or its response is no page. It is nil for
//	// any other end.
//	FailedPage *Record
type JobResult = runtime.Result

// Error says why a run failed. [errors.Is] compares its class with [ErrTransient] and the
// like.
//
//	Class     failure.Class
//	Job       string // id of the job
//	Partition string // the values of its variables: "order.id=1001"; empty: the job has no partitions
//	Page      int    // the page that was being fetched, from 1; 0 if there was none
//	Op        string // the operation: "request", "read", "rule offset.short"
//	Method    string // of the request
//	URL       string // of the request, without credentials
//	Status    int    // HTTP status; 0 if there was no response
//	Message   string // what went wrong, without job and place
//	Hint      string // how to fix it, if that is known
//	Err       error  // the cause; may be nil
//
//	func (*Error) Error() string
//	func (*Error) Is(target error) bool
//	func (*Error) Unwrap() error
type Error = failure.Error

// Diagnostics lists every mistake in a configuration, or every warning about it. Each has
// these fields and methods:
//
//	Path     string        // config path: parameters.api.pagination.limit
//	File     string        // file name; empty for a configuration built in Go
//	Pos      diag.Position // zero for a configuration built in Go
//	Severity diag.Severity
//	Message  string // lower case, without the location
//	Hint     string // how to fix it, if known: did you mean "limit"?
//	Snippet  string // the line and a caret, if the text is known
//
//	func (*diag.Diagnostic) Error() string
//	func (*diag.Diagnostic) Location() string
//	func (*diag.Diagnostic) WithHint(hint string) *diag.Diagnostic
//
//	func (Diagnostics) Err() error
//	func (Diagnostics) Error() string
//	func (Diagnostics) Errors() Diagnostics
//	func (Diagnostics) Sort()
//	func (Diagnostics) Unique() Diagnostics
//	func (Diagnostics) Warnings() Diagnostics
type Diagnostics = diag.Diagnostics

// Observer receives the events of a run. The run waits until Observe returns. With
// prefetching or parallel jobs, several goroutines call it at once.
//
//	Observe(ctx context.Context, event Event)
type Observer = runtime.Observer

// EventKind is the kind of an [Event].
type EventKind = runtime.EventKind

// Event is something that happened during a run. Kind says which of the fields below Time
// are set.
//
//	Kind      EventKind
//	Run       string           // id of the run
//	Job       string           // id of the job
//	Worker    string           // the machine, of a run on many machines; otherwise empty
//	Partition string           // the values of its variables: "order.id=1001"; empty: the job has no partitions
//	Page      int              // from 1; 0 for the end of a job that fetched none
//	Time      time.Time        // when it happened; of a request, when it was sent
//	Exchange  *transport.Event // of a request, retry or wait
//	Record    *Record          // of a page
//	Verdict   *Verdict         // one per rule and page
//	Finding   *Finding
//	Result    *JobResult // of the end of a job
//	Err       error      // why the request or the job failed; nil if it did not
type Event = runtime.Event

// A SinkFunc receives the pages of a run: see [Engine.Run].
type SinkFunc func(ctx context.Context, page *Page) error

// Result says how a run ended, job by job, in the order in which they ran.
type Result struct {
	Version int         `json:"version"` // of the JSON
	Jobs    []JobResult `json:"jobs"`
}

// Completed returns the results of the jobs that a rule ended: their items are complete, or
// as complete as Outcome and Findings say, and Kept has their values for the next run. A parent
// is completed together with its children, which come first, or not at all: the values that it
// keeps are about their items too. If reject is not nil, it reports which other results do
// not count as complete.
func (r *Result) Completed(reject func(JobResult) bool) []JobResult {
	incomplete := func(job JobResult) bool {
		return job.Outcome == rules.Failed || job.Outcome == "" || reject != nil && reject(job)
	}
	var all []JobResult
	for rest := r.Jobs; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Root != "" && rest[n].Root == rest[0].Root {
			n++
		}
		tree := rest[:n]
		rest = rest[n:]
		if slices.ContainsFunc(tree, incomplete) {
			continue
		}
		for _, job := range slices.Backward(tree) {
			all = append(all, job)
		}
	}
	return all
}

// resultVersion is the version of a [Result] as JSON. Keys may be added to a version.
const resultVersion = 1

// NewResult returns the result of a run whose jobs ended like this.
func NewResult(jobs []JobResult) *Result {
	return &Result{Version: resultVersion, Jobs: append([]JobResult{}, jobs...)} // no null in JSON
}

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
	Continue = trace.Continue
	Stop     = trace.Stop
)
