package runtime

import (
	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// judge evaluates every stopping rule on the page, and records the verdicts. The first rule that is
// met is the reason to stop. The error names the rule whose evaluation failed.
func (r *listRun) judge(page *Page) error {
	var first *compile.Trigger
	page.Verdicts = make([]trace.Verdict, 0, len(r.job.Stops))
	for _, stop := range r.job.Stops {
		r.current.notes = nil
		met, err := stop.EvalBool(&r.workspace.machine, r.pageContext())
		if err != nil {
			return r.pageError(failure.Response, err)
		}
		verdict := trace.Verdict{Rule: stop.Rule.ID, Met: met, Notes: r.current.notes}
		if met || r.VerdictValues {
			verdict.Because, verdict.Missing = r.Redactor.Shown(stop.Because(r.pageContext())), stop.Missing(r.pageContext())
		}
		page.Verdicts = append(page.Verdicts, verdict)
		if !met {
			continue
		}
		if stop.Rule.Outcome == rules.Split && page.Dropped { // a guard has ended the list
			continue
		}
		if stop.Rule.Outcome == rules.Split && !r.list.MaySplit {
			r.watcher.NoticeUnsplit(r.list.Partition.Label())
			continue
		}
		if first == nil {
			first = stop
		}
		page.StoppedBy = append(page.StoppedBy, stop.Rule.ID)
		if stop.Rule.Stop.Drop {
			page.Dropped, page.Items, page.Lists = true, document.Items{}, nil
		}
	}
	if first != nil {
		r.stop(page, page.StoppedBy, first.Rule.Outcome, r.message(first, r.pageContext()))
	}
	return nil
}

// message returns the message of a trigger that was met on a page.
func (r *listRun) message(trigger *compile.Trigger, c *rules.Context) string {
	if text := trigger.Message.Text(&r.workspace.machine, c); text != "" {
		return text
	}
	return trigger.Rule.DefaultMessage(trigger.Because(c))
}
