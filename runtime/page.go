package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
	"github.com/stopwhen/stopwhen/runtime/transport"
)

// A Page is one page of a job and the decision about it.
type Page struct {
	trace.Record
	// Items are the items as filter and fields leave them, in the order and spelling of the API.
	// They are empty if the page was dropped.
	Items document.Items
	// Lists are the items by type, in the order of dataField. There is one list for each path of
	// dataField.
	Lists []document.TypedItems
	Kept  map[string]any // values for the next run, on the last page of a job

	// Root is the id of the root of the tree of jobs, whose checkpoint Checkpoint returns. It is
	// Job for a job without a parent.
	Root  string
	Final bool // whether the page is the last of Root and of all jobs below it

	members    []any // keys of the items in the object that holds them; see [document.Reading.Members]
	checkpoint func() (json.RawMessage, error)
	probed     *trace.Evaluation
}

// A Delivery is a page on its way from its list to a sink. It is valid until the receiver returns.
type Delivery struct {
	Page       *Page
	Sent       *document.Items                 // the items as the API sent them; nil if they are those of Page
	Checkpoint func() (json.RawMessage, error) // returns the position of the list after the page, or nil if the list fails on it
	Result     func() ListResult               // returns the result of the list after the page

	// Accepted is set by a receiver that returns an error although the page has been delivered.
	Accepted bool
}

// SentItems returns the items of the page as the API sent them.
func (d *Delivery) SentItems() document.Items {
	if d.Sent != nil {
		return *d.Sent
	}
	return d.Page.Items
}

// PassTo passes the page to a sink. The checkpoint of the page is the position of its list.
func (d *Delivery) PassTo(ctx context.Context, sink Sink) error {
	d.Page.SetCheckpoint(d.Checkpoint)
	defer d.Page.SetCheckpoint(nil)
	return sink(ctx, d.Page)
}

// SetCheckpoint sets the function that Checkpoint calls, or removes it if f is nil. A run sets it
// while the sink has the page.
func (p *Page) SetCheckpoint(f func() (json.RawMessage, error)) { p.checkpoint = f }

// Probed returns the value of the probe of the job, or nil if the job has none: see [engine.Engine.Evaluate].
func (p *Page) Probed() *trace.Evaluation { return p.probed }

// Checkpoint returns the position after this page as JSON. Another run, even in another process,
// continues from it with the next page ([engine.WithResume]). Save it together with the items of
// the page. It has a version, holds no credentials, and is available only until the sink returns.
// It is nil after a page on which the run fails, since that page must be requested again.
func (p *Page) Checkpoint() (json.RawMessage, error) {
	if p.checkpoint == nil {
		return nil, &failure.Error{Class: failure.Internal, Job: p.Job, Page: p.Page, Op: "checkpoint",
			Message: "a page's checkpoint is available only until the sink returns"}
	}
	return p.checkpoint()
}

// Marks returns the ends of the page's lists within its items. [document.Lists] restores the lists
// from them.
func (p *Page) Marks() []document.Mark {
	marks := make([]document.Mark, len(p.Lists))
	end, count := 0, 0
	for i, list := range p.Lists {
		end, count = end+len(list.Items.Bytes()), count+list.Items.Len()
		marks[i] = document.Mark{DataType: list.DataType, End: end, Count: count}
	}
	return marks
}

// failedPage returns the record of the page that was being requested when the job failed, or nil if
// the request was not the cause.
func (r *listRun) failedPage(fault *trace.Fault, err error) *trace.Record {
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
	record.Page, record.Verdicts = r.context().Page+1, []trace.Verdict{}
	record.Decision, record.Outcome, record.StoppedBy, record.Reason = trace.Stop, rules.Failed, []string{ReasonError}, ReasonError
	record.Error = fault
	if known, ok := errors.AsType[*failure.Error](err); ok && record.Status == 0 {
		record.Status = known.Status
	}
	return &record
}
