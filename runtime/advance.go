package runtime

import (
	"fmt"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// keepAndAdvance computes the kept values up to a page that is not the last, and makes the next request. It sets the kept
// values only if there is a next request.
func (r *listRun) keepAndAdvance(page *Page) (next requests.Request, err error) {
	kept, err := r.keepSoFar()
	if err == nil {
		next, err = r.advance(page)
	}
	if err == nil && page.Decision == trace.Continue {
		r.state.KeptSoFar.Value = kept
	}
	return next, err
}

// advance changes the variables and makes the next request. If there is no next request, the page
// is the last.
func (r *listRun) advance(page *Page) (requests.Request, error) {
	if !r.job.Paged() {
		r.stop(page, []string{ReasonEnd}, rules.Complete, "one request made: the job is not paged")
		return requests.Request{}, nil
	}
	r.watcher.NoticeContinued()
	next, more, err := r.nextRequest()
	if err != nil {
		return next, err
	}
	if !more {
		page.Verdicts = append(page.Verdicts, r.noAddress())
		r.stop(page, []string{ReasonNextRequest}, rules.Complete, fmt.Sprintf("the rules give no next request after page %d", page.Page))
	}
	r.reportOverridden(next)
	return next, nil
}

// noAddress returns the verdict that the next request has no address, with the values of the parts
// from which an address could have come.
func (r *listRun) noAddress() trace.Verdict {
	verdict := trace.Verdict{Rule: ReasonNextRequest, Met: true}
	var because []string
	for _, part := range r.job.Parts {
		if role := part.Rule.Role; part.Rule.Sending.Subsequent && role.Addresses() {
			because = append(because, string(role)+" = "+part.Because(r.pageContext()))
			verdict.Missing = append(verdict.Missing, part.Missing(r.pageContext())...)
		}
	}
	verdict.Because = r.Redactor.Shown(strings.Join(because, ", "))
	return verdict
}

// nextRequest changes the variables and makes the request for the next page. It reports false if
// the rules give no address.
func (r *listRun) nextRequest() (request requests.Request, more bool, err error) {
	c := r.pageContext()
	variables, parts, more, err := r.job.Advance(&r.workspace.machine, c)
	if err == nil && more {
		request, err = r.builder.Apply(parts, r.state.Base)
	}
	if err == nil && more {
		err = r.builder.CheckAddress(request)
	}
	if err != nil {
		return request, false, r.pageError(failure.Response, err)
	}
	r.hideDerived(variables, []any(parts))
	c.State, r.state.Parts.Value = variables, parts
	r.state.Due = time.Time{}
	if request.After > 0 {
		r.state.Due = r.Clock.Now().Add(request.After)
	}
	return request, more, nil
}

// reportOverridden warns if the job's own parameters override parameters of a link, and notes it for the audit.
func (r *listRun) reportOverridden(next requests.Request) {
	if !r.job.Ruleset.IncludeParams || !next.ParamsInQuery() || !strings.Contains(next.Endpoint, "?") {
		return
	}
	for _, m := range requests.ParseQuery(next.Endpoint) {
		param, sent := next.Params.Get(m.Name)
		if _, ofJob := r.job.Spec().Params.Get(m.Name); !sent || !ofJob {
			continue
		}
		if text, ok := value.Text(param); ok && text != m.Value {
			remark := fmt.Sprintf("the link to the next page has %s=%v, but the job's own %s=%s overrides it",
				m.Name, m.Value, m.Name, text)
			r.watcher.NoticeOverridden(r.Redactor.Shown(remark))
			r.warn("overridden "+m.Name, remark+" (includeParams)")
		}
	}
}
