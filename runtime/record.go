package runtime

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Page is one page of a job and the decision about it.
type Page struct {
	trace.Record
	Items document.Items  // in the order and spelling of the API, as filter and fields leave them; empty when the page was dropped
	Lists []document.List // the items by their types, in the order of dataField: several if it has several paths
	Kept  map[string]any  // on the last page of a job: the values for the next run

	Root  string // the root of the tree of jobs, whose checkpoint Checkpoint returns; Job itself without a parent
	Final bool   // the last page of Root and of all jobs below it

	members  []any // that the items come from, see [document.Reading.Members]
	delivery Delivery
}

// A Delivery is what a list and its sink tell each other about a page, until the sink returns.
// It is for sinks that pass pages on to others.
type Delivery struct {
	Checkpoint func() (json.RawMessage, error) // see [Page.Checkpoint]
	Result     func() Result                   // returns the result of the list after the page

	// Items and Filtered are how many items of the page are delivered, and how many the filter
	// has left out. They count if the sink returns no error, or if Accepted is set: then the
	// page has been delivered, whatever the sink returns.
	Items, Filtered int
	Accepted        bool
}

// DeliveryOf returns the delivery of a page.
func DeliveryOf(p *Page) *Delivery { return &p.delivery }

// Checkpoint returns the position after this page, from which another run continues
// with the next page, in another process too ([engine.WithResume]). Save it together
// with the page's items. It is JSON with a version, holds no credentials, and is
// available until the sink returns. It is nil after a page on which the run fails,
// since that page has to be requested again.
func (p *Page) Checkpoint() (json.RawMessage, error) {
	if p.delivery.Checkpoint == nil {
		return nil, &failure.Error{Class: failure.Internal, Job: p.Job, Page: p.Page, Op: "checkpoint",
			Message: "a page's checkpoint is available only until the sink returns"}
	}
	return p.delivery.Checkpoint()
}

// A Result says how one job ended.
type Result struct {
	Job       string        `json:"job"`            // its id
	Root      string        `json:"root,omitempty"` // the root of its tree of jobs, if it has a parent or children
	Outcome   rules.Outcome `json:"outcome"`
	Reason    string        `json:"reason"`             // id of the first rule that was met, or "end", "nextRequest" or "error"
	StoppedBy []string      `json:"stoppedBy"`          // ids of all rules that were met
	Message   string        `json:"message"`            // one sentence
	Pages     int           `json:"pages"`              // pages fetched
	Items     int           `json:"items"`              // items passed to the sink
	Filtered  int           `json:"filtered,omitempty"` // items that the filter of the job left out
	Bytes     int           `json:"bytes"`              // minified JSON fetched
	Seconds   float64       `json:"seconds"`            // from its beginning to its end

	// Kept holds the values for the next run: those of keep in the configuration
	// after the last page of a complete list, otherwise those of the previous run.
	Kept map[string]any `json:"kept,omitempty"`

	// Repeats is true if the next run begins where this one did: the job, its parent or one
	// of its children is not complete, so none of them has moved its kept values on.
	Repeats bool `json:"-"`

	Findings []trace.Finding `json:"findings,omitempty"` // of the audit
	Error    *trace.Fault    `json:"error,omitempty"`    // why the job failed

	Partitions *Partitions `json:"partitions,omitempty"` // of a job with variables; the other values are about all of them

	// FailedPage is what a trace records about the page on which a job failed, if the sink
	// did not receive that page: its request failed, or its response is no page. It is nil for
	// any other end.
	FailedPage *trace.Record `json:"-"`

	seen evidence.Seen // what the list had and lacked
}

// Reasons of a [Result] that are not ids of rules.
const (
	reasonEnd         = compile.ReasonEnd
	reasonNextRequest = compile.ReasonNextRequest
)

// ReasonError is the reason of a [Result] of a job that failed with an error.
const ReasonError = "error"

// StoredPage returns a page that a step had, for a sink. Its checkpoint is what the function
// returns.
func StoredPage(record trace.Record, root string, items document.Items, lists []document.List, final bool,
	checkpoint func() (json.RawMessage, error),
) *Page {
	return &Page{Record: record, Root: root, Items: items, Lists: lists, Final: final, delivery: Delivery{Checkpoint: checkpoint}}
}

// Marks returns where the lists of a page end in its items: what [document.Lists] needs to
// restore them.
func (p *Page) Marks() []document.Mark {
	marks := make([]document.Mark, len(p.Lists))
	end, count := 0, 0
	for i, list := range p.Lists {
		end, count = end+len(list.Items.Bytes()), count+list.Items.Len()
		marks[i] = document.Mark{DataType: list.DataType, End: end, Count: count}
	}
	return marks
}

// Partitions counts how the partitions of a job ended.
type Partitions struct {
	Count    int                `json:"count"`              // that were run, failed ones included
	Complete int                `json:"complete"`           // that ended by rule
	Suspect  int                `json:"suspect,omitempty"`  // that have findings, whatever their ends are
	Failed   int                `json:"failed,omitempty"`   // that failed and ended the run
	Skipped  int                `json:"skipped,omitempty"`  // that failed, with onPartitionError skip
	Failures []PartitionFailure `json:"failures,omitempty"` // the first hundred of those that failed or were skipped
	Limited  int                `json:"limited,omitempty"`  // that a limit or a guard ended, or that limits.partitions left out
}

// A PartitionFailure says why a partition failed.
type PartitionFailure struct {
	Partition string       `json:"partition"`
	Error     *trace.Fault `json:"error,omitempty"`
}

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
