package evidence

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// maxInFuture is how much later than now a time that is kept for the next run may be: the clock of an API
// may be wrong, and its dates may be those of another time zone.
const maxInFuture = 24 * time.Hour

// Audit evaluates the audit rules after the last page of a list. Most of them apply to complete
// lists only. A finding says why the list may be incomplete.
func (w *Watcher) Audit(end End) []trace.Finding {
	m, c := w.machine, w.list.context
	if c.Page == 0 {
		return nil
	}
	defer func(total int) { c.Total.Items, c.Signs, c.List = total, nil, nil }(c.Total.Items)
	w.list.end = end
	c.Total.Items = end.Items - w.list.facts.Rewritten
	c.Signs = w.Signs()
	w.listSigns().noticeTotal(c.Signs)
	c.List = w.facts(c.Signs)
	w.list.settleSigns(c.Signs)
	w.warnOfGrownPage()
	facts := rules.FactsIn(c)
	var findings []trace.Finding
	for i := range w.list.subject.job.Ruleset.Rules {
		listed := &w.list.subject.job.Ruleset.Rules[i]
		if listed.Role != rules.RoleAudit || listed.Audit.Requires&^facts != 0 ||
			end.Outcome != rules.Complete && !slices.Contains(listed.Audit.Also, end.Outcome) {
			continue
		}
		rule := compile.AuditTrigger(listed)
		met, err := rule.EvalBool(m, c)
		if err != nil || !met {
			continue // an API may use the names of signs for anything
		}
		findings = append(findings, trace.Finding{
			ID: rule.Rule.ID, Weight: rule.Weight(m, c),
			Message: w.list.redactor.Shown(rule.Message.Text(m, c)), Because: w.list.redactor.Shown(rule.Because(c)),
		})
	}
	return findings
}

// AuditAgain returns the finding that items which are added to a file are not later than the kept value, given
// their number, or that a unit of windows was requested again, or nil.
func AuditAgain(job *compile.Job, known int) *trace.Finding {
	facts := rules.ListFacts{KeptFacts: rules.KeptFacts{Known: known}}
	if r := job.Analysis().Reread(); r != nil {
		facts.Reread = fmt.Sprintf("kept.%s, the %s of the run before", r.From.KeptAsIs(), r.To)
	}
	return AuditJob(job, trace.FindingAgain, facts)
}

// AuditRestart returns the finding about a child of a job with the given findings, or nil: if the list of
// the parent was restarted, partitions of its items ran twice.
func AuditRestart(job *compile.Job, parent []trace.Finding) *trace.Finding {
	restarted := slices.ContainsFunc(parent, func(f trace.Finding) bool { return f.ID == trace.FindingRestart })
	return AuditPartitions(job, rules.PartitionFacts{Restarted: restarted})
}

// AuditPartitions returns the finding of the first rule about partitions that is met, given the facts that
// the rule reads besides the parent, or nil.
func AuditPartitions(job *compile.Job, facts rules.PartitionFacts) *trace.Finding {
	if job.Parent != nil {
		facts.Parent = job.Parent.ID()
	}
	table := rules.PartitionAudits()
	for i := range table {
		if f := findingIf(job, &table[i], &rules.Context{Partitions: &facts, Job: rules.JobFacts{ID: job.ID()}}); f != nil {
			return f
		}
	}
	return nil
}

// AuditJob returns the finding of a rule of the audit about a job as a whole, given the facts that
// the rule reads, or nil if the rule is not met or the configuration ignores it.
func AuditJob(job *compile.Job, id string, facts rules.ListFacts) *trace.Finding {
	if index := indexOf(job, id); index >= 0 {
		return findingIf(job, &job.Ruleset.Rules[index], &rules.Context{List: &facts, Signs: &rules.Signs{}})
	}
	return nil
}

// indexOf returns the index of a rule in the ruleset of a job, or -1.
func indexOf(job *compile.Job, id string) int {
	return slices.IndexFunc(job.Ruleset.Rules, func(rule rules.Rule) bool { return rule.ID == id })
}

// findingIf returns the finding of a rule of the audit, or nil if the rule is not met or the configuration
// ignores its id.
func findingIf(job *compile.Job, listed *rules.Rule, c *rules.Context) *trace.Finding {
	if indexOf(job, listed.ID) < 0 {
		return nil
	}
	rule, m := compile.AuditTrigger(listed), &language.Machine{}
	if met, err := rule.EvalBool(m, c); err != nil || !met {
		return nil
	}
	return &trace.Finding{ID: listed.ID, Weight: rule.Weight(m, c), Message: rule.Message.Text(m, c), Because: rule.Because(c)}
}

// facts returns the facts about the list as a whole.
func (w *Watcher) facts(signs *rules.Signs) *rules.ListFacts {
	p, c, h, totals := &w.list, w.list.context, w.history, w.history.totalMemory
	if c.Count > 0 { // a page without items has been judged when it was read
		w.errors().noticeChange()
	}
	if found := h.errorMemory.Only.suspected(); found != nil && !p.end.Siblings {
		w.errors().reportErrorOf(found.Page, found.Error, found.Doubt)
	}
	facts := h.Facts
	facts.Missing, facts.Renamed = w.absences().missing(signs)
	if facts.ErrorDoubt == rules.DoubtEmpty && !p.end.Siblings {
		facts.ErrorDoubt = rules.DoubtNone
	}
	if p.subject.keptUnread && compile.HasKept(c.Kept) && h.sizeMemory.Sizes[0] > 0 {
		names := lists.Map(p.subject.job.Keeps, func(e *language.Expression) string { return "kept." + e.Rule.Target })
		facts.KeptUnread = strings.Join(names, " or ")
	}
	facts.KeptAhead, facts.KeptStays, facts.KeptUnsent = p.keptAhead(), p.end.StayingKept, p.keptUnsent(h.sizeMemory.Sizes[0])
	if pages, ok := signs.Pages.(int); ok && pages < totals.FirstPages {
		facts.PagesBefore = totals.FirstPages
	}
	if signs.More == nil && c.Page > 1 && c.Count > 0 && c.Count == signs.LargestPage {
		facts.MoreBefore = cmp.Or(totals.FirstMore, w.absences().lostFlag())
	}
	facts.NextGone, facts.Short = totals.FirstNext && signs.Next == nil, p.isShort()
	if !p.subject.job.Paged() {
		facts.Asked, facts.Single = p.askedSize(), !p.end.Siblings || signs.Size != nil && signs.Size == c.Count
	}
	facts.CountAlone = p.subject.countAlone
	facts.Again, facts.Chosen = p.howEnded()
	facts.Negative, facts.Bound = p.uncountable(), p.bound(signs)
	facts.Reached = c.Count == 0 && facts.ErrorPage == c.Page && totals.FirstTotal != nil &&
		totals.FirstTotal.Total == c.Total.Items && totals.FirstTotal.Total > totals.FirstTotal.Count
	if h.repeatMemory.Ambiguous { // identifiers that do not identify items
		facts.Revised = 0
	}
	w.audited = facts
	return &w.audited
}

// howEnded reports whether nothing but a guard that the configuration does not mention has ended the list, because a page
// came again, and whether a rule of the configuration has. A rule that reads the total counts the items of that page, although
// they are dropped.
func (p *listView) howEnded() (again, chosen bool) {
	for i, id := range p.end.StoppedBy {
		by := slices.IndexFunc(p.subject.job.Stops, func(stop *compile.Trigger) bool { return stop.Rule.ID == id })
		if by < 0 {
			continue
		}
		rule := &p.subject.job.Stops[by].Rule
		readsTotal := p.subject.job.Stops[by].ReadsFunc(func(r language.Read) bool { return r.Root == rules.ContextTotal })
		again = again || i == 0 && rule.Guard && rule.Origin.By.Kind == rules.AuthorDefault
		chosen = chosen || rule.Origin.IsConfig() && !(again && readsTotal)
	}
	return again && !chosen, chosen
}

// isShort reports whether all rules that ended the list read the number of items on a page.
func (p *listView) isShort() bool {
	return !slices.ContainsFunc(p.subject.job.Stops, func(stop *compile.Trigger) bool {
		return slices.Contains(p.end.StoppedBy, stop.Rule.ID) && !stop.ReadsAny(rules.ContextCount)
	})
}

// settleSigns changes signs that the end of the list explains: a flag that did not end it says that there is more, and a total
// that is a lower bound and has been reached says nothing.
func (p *listView) settleSigns(signs *rules.Signs) {
	if at := p.unmetFlag(); signs.More == nil && at != "" {
		signs.More, signs.MoreAt, signs.MoreRead = true, at, true
	}
	if total, ok := signs.Total.(int); ok && signs.TotalIsLeast && total <= p.context.Total.Items {
		signs.Total = nil
	}
}

// unmetFlag returns the path of the first flag of the last response by which a setting would have ended the list, but did not, so
// that the flag says that there is more; "" if there is none.
func (p *listView) unmetFlag() string {
	for _, stop := range p.subject.job.Stops {
		if stop.Rule.Stop.Signal != rules.SignalFlag || slices.Contains(p.end.StoppedBy, stop.Rule.ID) {
			continue
		}
		for _, read := range stop.Reads {
			if v, present := read.Lookup(p.context); present && !read.Has && read.InBody() && v != nil {
				return read.String()
			}
		}
	}
	return ""
}

// uncountable returns the first total or number of pages that is negative or a fraction, with its path, by which rules ended
// the list, or "" if one of these rules has read none.
func (p *listView) uncountable() string {
	return p.countThatEnded(func(v any) bool {
		text, isText := value.Text(v)
		n, err := strconv.ParseFloat(text, 64)
		return isText && err == nil && (n < 0 || n != math.Trunc(n))
	})
}

// bound returns the first total or number of pages, with its path, by which rules ended the list although the response
// says that there may be more, or "" if one of these rules has read no such number.
func (p *listView) bound(signs *rules.Signs) string {
	if !signs.TotalIsLeast || !signs.TotalRead && signs.Pages == nil {
		return ""
	}
	return p.countThatEnded(func(any) bool { return true })
}

// countThatEnded returns the first value with a property among the totals and numbers of pages by which rules ended the list,
// with its path, or "" if one of these rules has read no such value.
func (p *listView) countThatEnded(has func(v any) bool) (first string) {
	for n, stop := range p.subject.job.Stops {
		if !slices.Contains(p.end.StoppedBy, stop.Rule.ID) {
			continue
		}
		counts := p.subject.stated[n]
		i := slices.IndexFunc(counts, func(read language.Read) bool { v, _ := read.Lookup(p.context); return has(v) })
		if i < 0 {
			return ""
		}
		v, _ := counts[i].Lookup(p.context)
		first = cmp.Or(first, fmt.Sprintf("%s = %v", counts[i], v))
	}
	return first
}

// keptUnsent returns the kept values without which the list began, although the first request reads them, or "" if the items are
// probably no items of earlier runs. first is the number of items on page 1.
func (p *listView) keptUnsent(first int) string {
	u := p.unsent
	if u == nil || first == 0 || len(u.Cursors) > 0 && !p.end.MostlyKnown || len(u.Cursors) == 0 && !u.Nothing {
		return ""
	}
	return strings.Join(u.Names, " or ")
}

// keptAhead returns the first value for the next run that is a time of the items and too late, with its
// name, or "" if there is none.
func (p *listView) keptAhead() string {
	for _, e := range p.subject.job.Keeps {
		ofItems := e.ReadsAny(rules.ContextItems, rules.ContextFirst)
		v := p.end.Kept[e.Rule.Target]
		if t, isTime := e.KeptTime(v); ofItems && isTime && t.Sub(p.context.Now()) > maxInFuture {
			return fmt.Sprintf("kept.%s = %v", e.Rule.Target, v)
		}
	}
	return ""
}
