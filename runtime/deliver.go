package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// deliver delivers a page. pageErr is the error of the run on that page, or nil.
func (r *listRun) deliver(ctx context.Context, page *Page, pageErr error) error {
	if page.Decision == trace.Stop {
		page.Kept, page.Known = r.state.Result.Kept, r.state.Result.Known+r.current.known
	}
	if r.list.Omits != nil && page.Outcome == rules.Failed && r.list.Omits(page) {
		r.current.omitted = new(page.Record)
		r.observePage(ctx, page)
		return nil
	}
	page.mayGrow = r.mayGrow(page)
	d := &r.current.delivery
	d.Page, d.Checkpoint, d.Result = page, r.checkpoint, func() ListResult { return r.after(pageErr) }
	r.current.items = page.Items.Len()
	delivered, err := r.receiver(ctx, d)
	if delivered {
		r.state.Result = r.resultWithPage()
	}
	if err != nil {
		if errors.As(err, new(*failure.Error)) {
			return err
		}
		return fmt.Errorf("job %s, page %d: %w", r.job.ID(), page.Page, err)
	}
	r.observePage(ctx, page)
	return nil
}

// mayGrow returns [Page.MayGrow].
func (r *listRun) mayGrow(page *Page) bool {
	if len(r.job.Keeps) == 0 || len(r.job.Children) > 0 || page.Decision == trace.Stop || !r.job.Analysis().RequestsByPosition() {
		return false
	}
	c := r.pageContext()
	if limit, known := c.Limit.(int); known {
		return c.Count < limit
	}
	return c.Page == 1 || c.Count < r.state.LargestPage
}

// resultWithPage returns the result of the list, including the items of the page that is being
// delivered.
func (r *listRun) resultWithPage() Result {
	result := r.state.Result
	result.Items, result.Filtered = result.Items+r.current.items, result.Filtered+r.current.filtered
	result.Known += r.current.known
	return result
}

// after returns the result of the list after the page that is being delivered. pageErr is the error
// of the run on that page, or nil.
func (r *listRun) after(pageErr error) ListResult {
	return r.withSeen(r.conclude(r.resultWithPage(), r.addPlace(pageErr)))
}

// endIfEnough ends the list, and audits it, if [List.Enough] says that the rest can be skipped. It reports
// whether it did.
func (r *listRun) endIfEnough(ctx context.Context) bool {
	result := &r.state.Result
	if r.list.Enough == nil || !r.list.Enough() || result.Outcome != "" {
		return false
	}
	result.endAtPartitionLimit()
	r.audit(ctx, r.obtained())
	r.logEnd()
	return true
}
