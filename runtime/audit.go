package runtime

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// audit evaluates the audit rules after the last page of a list, of which items were delivered.
func (r *run) audit(ctx context.Context, items int) []trace.Finding {
	r.machine.Context = context.WithoutCancel(ctx) // a list that is complete is audited, even if the run is being interrupted
	r.watcher.HasSiblings = r.hasSiblings
	findings := r.watcher.Audit(&r.machine, evidence.End{
		Outcome: cmp.Or(r.Result.Outcome, rules.Failed), // none: a rule failed on the page
		Items:   items, StoppedBy: r.Result.StoppedBy,
		Unseen: r.shaper.missing(func(rule rules.Rule) bool { return rule.Role == rules.Filter }),
	})
	for i := range findings {
		f := &findings[i]
		if r.logs(slog.LevelWarn) {
			r.Log.Warn(fmt.Sprintf("Job '%s': the list may be incomplete: %s", r.name(), f.Message),
				"event", "suspect", "job", r.Result.Job, "finding", f.ID)
		}
		r.observe(ctx, Event{Kind: EventFinding, Finding: f})
	}
	r.Result.Findings = findings
	return findings
}
