package engine

import (
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/runtime"
	"github.com/stopwhen/stopwhen/runtime/ahead"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// These types are aliases of the types that the runtime fills in, so that no page is copied.
// The command go doc does not show the fields of an alias, so its documentation lists them,
// and a test compares the list with the definition.

// Page is one page of a job, with its [Record]: the request, the verdicts and the decision. Its items
// are valid until the sink returns or the iteration continues.
//
//	Record // the request, the verdicts and the decision
//	// Items are the items as filter and fields leave them, in the order and spelling of the API.
//	// They are empty if the page was dropped.
//	Items Items
//	// Lists are the items by type, in the order of dataField. There is one list for each path of
//	// dataField.
//	Lists []document.TypedItems
//	Kept  map[string]any // values for the next run, on the last page of a job
//	// Root is the id of the root of the tree of jobs, whose checkpoint Checkpoint returns. It is
//	// Job for a job without a parent.
//	Root  string
//	Final bool // whether the page is the last of Root and of all jobs below it
//	// PagingValues are the values of the response that rules read or that describe the list. Only a run that
//	// compares them with a contract asks for them.
//	PagingValues []evidence.PagingValue
//
//	func (*Page) Checkpoint() (json.RawMessage, error)
//	func (*Page) MayGrow() bool
type Page = runtime.Page

// Record is the record of a page in a trace: one JSON object per page.
//
//	Job  string // id of the job
//	Page int    // page number, from 1
//	// Partition holds the values of the variables of for that expressions read.
//	Partition map[string]any
//	Request   trace.Request // the request without its credentials
//	Status    int           // HTTP status
//	Count     int           // number of items that the API sent
//	// Written is the number of items that were delivered, if the filter left some out. Nil means that
//	// all items were delivered or, if Dropped is set, no item.
//	Written   *int
//	Bytes     int // size as minified JSON
//	Verdicts  []Verdict
//	Decision  Decision
//	StoppedBy []string
//	Outcome   Outcome         // set if Decision is Stop
//	Dropped   bool            // the items were not delivered
//	Skipped   bool            // the partition failed on this page, and the run goes on
//	Attempts  int             // number of requests made
//	At        int64           // time of the request, in milliseconds since the job began
//	Millis    int64           // time from the request to the decoded page, in milliseconds
//	Findings  []Finding       // findings of the audit, on the last page of a job
//	Known     int             // on the last page of a job: items of the list that are not later than the kept value
//	Version   int             // version of this format
//	Reason    string          // the rule of StoppedBy that decided
//	RepeatOf  int             // earlier page with the same request and response
//	Waits     []trace.Wait    // waits before and between the attempts
//	Restarts  []trace.Restart // restarts since the previous page
//	Error     *trace.Fault    // why the job failed on this page
//
//	func (*Record) Met() []Verdict
type Record = trace.Record

// Verdict is the result of one rule on one page.
//
//	Rule    string   // id of the rule
//	Met     bool     // whether its condition is true
//	Because string   // the rule with the values that it read
//	Missing []string // paths and headers that it reads and the response does not have
//	Notes   []string // doubts about the values, such as numbers compared as text
type Verdict = trace.Verdict

// Finding says why a list may be incomplete.
//
//	ID        string       // id of the audit rule, such as "audit.token"
//	Weight    rules.Weight // whether the finding is evidence or a hint
//	Message   string       // one sentence
//	Because   string       // the audit rule with the values that it read
//	Partition string       // the partition concerned, in a result
//
//	func (*Finding) Sentence() string
type Finding = trace.Finding

// Outcome says whether a list that has ended is complete, and why not.
//
//	func (Outcome) IsFinal() bool
//	func (Outcome) Worse(other Outcome) bool
type Outcome = rules.Outcome

// Decision says whether a job continues after a page.
type Decision = trace.Decision

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
//	Job       string // id of the job
//	Root      string // root of the tree of jobs, if the job has a parent or children
//	Outcome   Outcome
//	Reason    string   // id of the first rule that was met, or a reason such as "end" or "partitions"
//	StoppedBy []string // ids of all rules that were met
//	Message   string   // one sentence
//	Pages     int      // number of pages fetched
//	Items     int      // number of items passed to the sink
//	Filtered  int      // number of items that the filter left out
//	Known     int      // number of items that are not later than the kept value which the requests sent
//	Bytes     int      // size of the fetched pages as minified JSON
//	Seconds   float64  // running time
//	// Kept holds the values for the next run. After a complete list they are new; otherwise, or if
//	// StartsOver is set, they are the values of the previous run. A value that was nil although the
//	// list had items is there, and nil.
//	Kept map[string]any
//	// StartsOver reports whether the next run begins where this run began, because the job, its parent
//	// or one of its children is not complete or was not selected: then the kept values stay.
//	StartsOver bool
//	// Refused reports whether a rule ended the job, but the run does not accept how it ended. By
//	// default, a run refuses lists with evidence that they are incomplete.
//	Refused    bool
//	Findings   []Finding                // findings of the audit
//	Error      *trace.Fault             // why the job failed
//	Partitions *runtime.PartitionCounts // set for a job with variables; the other fields cover all partitions
//	// FailedPage is the record of the page on which a job failed, if the sink did not receive that
//	// page because its request failed or its response is not a page. Otherwise it is nil.
//	FailedPage *Record
//
//	func (*JobResult) Check() error
//	func (JobResult) Ended() bool
//	func (JobResult) Evidence() []Finding
type JobResult = runtime.Result

// Error says why a run failed. [errors.Is] compares its class with [ErrTransient] and the
// like.
//
//	Class     failure.Class
//	Job       string // id of the job
//	Partition string // values of the variables, such as "order.id=1001"; empty if the job has no partitions
//	Page      int    // number of the page being fetched, from 1; 0 outside a page
//	Op        string // the operation, such as "request", "read" or "rule offset.short"
//	Method    string // HTTP method
//	URL       string // URL without credentials
//	Status    int    // HTTP status; 0 if there was no response
//	Message   string // cause in words, without job and place
//	Hint      string // remedy, if one is known
//	Err       error  // the cause; may be nil
//	// CauseBefore reports whether the cause is on pages before this one, or in an item of the parent. A run that continues
//	// from a checkpoint of the list would fail again, or leave out items; one from its beginning need not.
//	CauseBefore bool
//	Remedy      remedy.Remedy // the hint, for a front end with its own wording: see [Error.WithRemedy]
//
//	func (*Error) Error() string
//	func (*Error) Is(target error) bool
//	func (*Error) Unwrap() error
//	func (*Error) With(change func(*Error)) *Error
//	func (*Error) WithHint(hint string) *Error
//	func (*Error) WithRemedy(format string, args ...any) *Error
type Error = failure.Error

// Diagnostics lists every mistake in a configuration, or every warning about it. Each has
// these fields and methods:
//
//	Path     string        // config path: parameters.api.pagination.limit; the name of an option outside of a configuration
//	File     string        // file name; empty for a configuration built in Go
//	Pos      diag.Position // zero for a configuration built in Go
//	Severity diag.Severity
//	Message  string        // lower case, without the location
//	Hint     string        // how to fix it, if known: did you mean "limit"?
//	Snippet  string        // the line and a caret, if the text is known
//	Err      error         // the cause, such as the error of reading the file; may be nil
//	Remedy   remedy.Remedy // what the hint proposes, if an editor can apply it, or a command has other words for it
//	Option   *remedy.Name  // the option that is wrong, which the path names in Go; nil for a place in a configuration
//
//	func (*diag.Diagnostic) Error() string
//	func (*diag.Diagnostic) Hide(hide func(string) string)
//	func (*diag.Diagnostic) Location() string
//	func (*diag.Diagnostic) Unwrap() error
//	func (*diag.Diagnostic) WithHint(hint string) *diag.Diagnostic
//	func (*diag.Diagnostic) WithNearest(written string, words []string) *diag.Diagnostic
//	func (*diag.Diagnostic) WithRemedy(format string, args ...any) *diag.Diagnostic
//	func (*diag.Diagnostic) WithReplacement(word, hint string) *diag.Diagnostic
//
//	func (Diagnostics) Err() error
//	func (Diagnostics) Error() string
//	func (Diagnostics) Errors() Diagnostics
//	func (Diagnostics) Sort()
//	func (Diagnostics) Unique() Diagnostics
//	func (Diagnostics) Unwrap() []error
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
//	Worker    string           // the machine, if the run is distributed over many; otherwise empty
//	Partition string           // values of the variables, such as "order.id=1001"; empty for a job without variables
//	Page      int              // page number, from 1; 0 at the end of a job that fetched no page
//	Time      time.Time        // time of the event; for a request, the time it was sent
//	Exchange  *transport.Event // set for a request, a retry or a wait
//	Record    *Record          // set for a page
//	Verdict   *Verdict         // set for a verdict; there is one per rule and page
//	Finding   *Finding         // set for a finding
//	Result    *JobResult       // set for the end of a job
//	Err       error            // error of the request or the job; nil if it succeeded
type Event = runtime.Event

// Result describes how a run ended, job by job, in the order in which they ran.
type Result struct {
	Version int         `json:"version"` // version of the JSON
	Jobs    []JobResult `json:"jobs"`
}

// Completed returns the results of the jobs that a rule ended and that the run accepts: their items
// are complete, or as complete as Outcome and Findings say, and Kept has their values for the next
// run. A parent is completed together with its children, which come first, or not at all, because
// the values that it keeps also describe their items.
func (r *Result) Completed() []JobResult {
	incomplete := func(job JobResult) bool { return !job.Ended() || job.Refused }
	var results []JobResult
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
			results = append(results, job)
		}
	}
	return results
}

// Err returns the errors of the jobs that the run refuses, of class suspect, or nil.
func (r *Result) Err() error {
	var errs []error
	for _, job := range r.Jobs {
		if job.Refused {
			errs = append(errs, &Error{Class: failure.Suspect, Job: job.Job, Op: "accept", Message: doubtOf(job)})
		}
	}
	return join(errs...)
}

// doubtOf says why a run refuses a job.
func doubtOf(job JobResult) string {
	named := func(f Finding) string { return fmt.Sprintf("%s (%s)", f.Sentence(), f.ID) }
	switch evidence := job.Evidence(); {
	case len(evidence) > 0:
		return named(evidence[0])
	case job.Outcome != rules.Complete:
		return fmt.Sprintf("the list is %s (%s)", job.Outcome, job.Reason)
	case len(job.Findings) > 0:
		return named(job.Findings[0])
	}
	return "the program does not accept the list"
}

// resultVersion is the version of a [Result] as JSON. Keys may be added to a version.
const resultVersion = 1

// NewResult returns the result of a run whose jobs ended with the given results.
func NewResult(jobs []JobResult) *Result {
	return &Result{Version: resultVersion, Jobs: append([]JobResult{}, jobs...)} // no null in the JSON
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
	ErrSuspect   error = failure.ErrSuspect   // the run does not accept a list: see WithAccept
	ErrCancelled error = failure.ErrCancelled // interrupted
)

// The outcomes of a list, the decisions about a page, the kinds of events, and a number of pages in flight.
const (
	Complete = rules.Complete // the API said or showed that there is no more
	Limited  = rules.Limited  // a limit of the user was reached; there may be more
	Guarded  = rules.Guarded  // a guard ended a job that made no progress; there may be more
	Partial  = rules.Partial  // partitions that failed were skipped; the pages of the others are valid
	Failed   = rules.Failed   // the run failed; the pages before are valid

	Continue Decision = trace.Continue
	Stop     Decision = trace.Stop

	EventRequest = runtime.EventRequest // one HTTP request with its response or error
	EventRetry   = runtime.EventRetry   // a wait before a request is repeated
	EventWait    = runtime.EventWait    // a wait for a rate limit, or for nextRequest.after
	EventPage    = runtime.EventPage    // a page was judged and delivered
	EventVerdict = runtime.EventVerdict // one rule's verdict on that page
	EventFinding = runtime.EventFinding // a sign that the list may be incomplete
	EventEnd     = runtime.EventEnd     // a job ended

	AutoPrefetch = ahead.Auto // WithPrefetch lets a run choose the number
)
