package runtime

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/evidence"
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
		met, err := stop.EvalBool(&r.pooled.machine, r.context())
		if err != nil {
			return r.pageError(failure.Response, &language.RuleError{Rule: stop.Rule, Err: err})
		}
		verdict := trace.Verdict{Rule: stop.Rule.ID, Met: met, Notes: r.current.notes}
		if met || r.VerdictValues {
			verdict.Because, verdict.Missing = r.Redactor.Shown(stop.Because(r.context())), stop.Missing(r.context())
		}
		page.Verdicts = append(page.Verdicts, verdict)
		if !met {
			continue
		}
		if stop.Rule.Outcome == rules.Split && !r.list.Splits {
			r.noteUnsplit()
			continue
		}
		if first == nil {
			first = stop
		}
		page.StoppedBy = append(page.StoppedBy, stop.Rule.ID)
		if stop.Rule.Drop {
			page.Dropped, page.Items, page.Lists = true, document.Items{}, nil
		}
	}
	if first != nil {
		r.stop(page, page.StoppedBy, first.Rule.Outcome, r.message(first, r.context()))
	}
	return nil
}

// message returns the message of a trigger that was met on a page.
func (r *listRun) message(trigger *compile.Trigger, c *rules.Context) string {
	if text := trigger.Message.Text(&r.pooled.machine, c); text != "" {
		return text
	}
	return trigger.Rule.ID + " matched: " + trigger.Because(c)
}

// noteUnsplit notes, for the audit, that a rule asks to split the window, and that it cannot be split.
func (r *listRun) noteUnsplit() {
	r.watcher.NoticeUnsplit(r.list.Partition.Label(), r.list.Unsplit)
}

// audit evaluates the audit rules after the last page of a list. items is the number of delivered
// items.
func (r *listRun) audit(ctx context.Context, items int) []trace.Finding {
	defer func(before context.Context) { r.pooled.machine.Context = before }(r.pooled.machine.Context)
	r.pooled.machine.Context = context.WithoutCancel(ctx) // a complete list is audited even if the run is being interrupted
	r.noticeBeyond()
	findings := r.watcher.Audit(&r.pooled.machine, evidence.End{
		Outcome: cmp.Or(r.state.Result.Outcome, rules.Failed), // a run with a failed rule has no outcome
		Items:   items, StoppedBy: r.state.Result.StoppedBy,
		Unseen: r.shaper.missing(func(rule rules.Rule) bool { return rule.Role == rules.RoleFilter }),
		Kept:   compile.SelectKept(r.state.Result.Kept, r.keepKey), Siblings: r.list.Siblings,
	})
	for i := range findings {
		f := &findings[i]
		if r.logs(slog.LevelWarn) {
			r.Log.Warn(fmt.Sprintf("Job '%s': the list may be incomplete: %s", r.name(), f.Message),
				"event", "suspect", "job", r.job.ID(), "finding", f.ID)
		}
		r.observe(ctx, Event{Kind: EventFinding, Finding: f})
	}
	r.state.Result.Findings = findings
	return findings
}
