package runtime

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A Page is one page of a job and the decision about it.
type Page struct {
	trace.Record // the request, the verdicts and the decision

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

	// PagingValues are the values of the response that rules read or that describe the list. Only a run that
	// compares them with a contract asks for them.
	PagingValues []evidence.PagingValue

	members    []any            // keys of the items in the object that holds them; see [document.Reading.Members]
	values     *document.Values // values of the items as the API sent them; nil without items
	checkpoint func() (json.RawMessage, error)
	mayGrow    bool // see MayGrow
	probed     *trace.Evaluation
}

// A Delivery is a page on its way from its list to a sink. It is valid until the receiver returns.
type Delivery struct {
	Page       *Page
	Sent       *document.Items                 // the items as the API sent them; nil if Page has them unchanged
	Checkpoint func() (json.RawMessage, error) // returns the position of the list after the page, or nil if the list fails on it
	Result     func() ListResult               // returns the result of the list after the page
}

// A Receiver receives the pages of a list in order. Its error ends the list. It reports whether the
// page was delivered, so that the list counts it. It may report true and also return an error: then
// the page was delivered, and the work after it has failed.
type Receiver func(context.Context, *Delivery) (delivered bool, err error)

// SentItems returns the items of the page as the API sent them.
func (d *Delivery) SentItems() document.Items {
	if d.Sent != nil {
		return *d.Sent
	}
	return d.Page.Items
}

// A Sink receives the pages of a job in order. Its error ends the run.
type Sink func(context.Context, *Page) error

// Pass passes a page to the sink. Until the sink returns, [Page.Checkpoint] calls checkpoint.
func (s Sink) Pass(ctx context.Context, page *Page, checkpoint func() (json.RawMessage, error)) error {
	page.checkpoint = checkpoint
	defer func() { page.checkpoint = nil }()
	return s(ctx, page)
}

// Receive passes the pages of a job without a parent, variables and children to the sink: it is a [Receiver].
// The checkpoint of a page is the position of its list.
func (s Sink) Receive(ctx context.Context, d *Delivery) (delivered bool, err error) {
	d.Page.Root, d.Page.Final = d.Page.Job, d.Page.Decision == trace.Stop
	err = s.Pass(ctx, d.Page, d.Checkpoint)
	return err == nil, err
}

// ProbedOn returns the value of the job's probe on a page, or nil if the job has no probe: see
// engine.Engine.Evaluate. It is not a method, because programs see the methods of Page as those of
// engine.Page.
func ProbedOn(p *Page) *trace.Evaluation { return p.probed }

// Checkpoint returns the position after this page as JSON. Another run, even in another process,
// continues from it with the next page (engine.WithResume). Save it together with the items of
// the page. It is versioned and contains no credentials. It is available only until the sink returns.
// It is nil after a page on which the run fails, since that page must be requested again.
func (p *Page) Checkpoint() (json.RawMessage, error) {
	if p.checkpoint == nil {
		return nil, &failure.Error{Class: failure.Internal, Job: p.Job, Page: p.Page, Op: "checkpoint",
			Message: "a page's checkpoint is available only until the sink returns"}
	}
	return p.checkpoint()
}

// MayGrow reports whether the list may have ended with this page, so that rows which are added to it later come to stand on the
// same page: the list continues from kept values, its requests name positions, and the page is not known to be full. A run that
// continues after the page would leave these rows out, and later runs begin after them. So save a checkpoint of it only
// when the next page has arrived.
func (p *Page) MayGrow() bool { return p.mayGrow }

// fail makes a page the last one because a rule failed on it.
func (p *Page) fail(err error) {
	p.Decision, p.Outcome, p.Reason = trace.Stop, rules.Failed, ReasonError
	if failed, ok := errors.AsType[*language.RuleError](err); ok {
		p.StoppedBy, p.Reason = []string{failed.Rule.ID}, failed.Rule.ID
	}
}
