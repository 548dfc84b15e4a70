package runtime

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// audit evaluates the audit rules after the last page of a list, of which items were
// delivered. Most of them are for complete lists only. A finding is evidence that the list may be incomplete.
func (r *run) audit(ctx context.Context, items int) []Finding {
	if r.Context.Value.Page == 0 {
		return nil
	}
	c := &r.Context.Value
	defer func(total int) { c.Total.Items, c.Hints, c.List = total, nil, nil }(c.Total.Items)
	c.Total.Items = items - r.Noticed.Facts.Rewritten
	c.Hints = r.hints(c)
	c.List = r.facts(c.Hints)
	outcome := cmp.Or(r.Result.Outcome, rules.Failed) // none: a rule failed on the page
	r.machine.Context = context.WithoutCancel(ctx)    // a list that is complete is audited, even if the run is being interrupted
	evidence := rules.EvidenceIn(c)
	var findings []Finding
	for i := range r.job.Set.Rules {
		listed := &r.job.Set.Rules[i]
		if listed.Role != rules.Audit || listed.Evidence&^evidence != 0 ||
			outcome != rules.Complete && !slices.Contains(listed.Also, outcome) {
			continue
		}
		rule := r.job.AuditRule(listed)
		met, err := rule.EvalBool(&r.machine, c)
		if err != nil || !met {
			continue // an API may use the names that hints look for in any way
		}
		f := Finding{
			ID:      rule.Rule.ID,
			Message: r.Redactor.String(rule.Message.Text(&r.machine, c)),
			Because: r.Redactor.String(rule.Because(c)),
		}
		findings = append(findings, f)
		if r.logs(slog.LevelWarn) {
			r.Log.Warn(fmt.Sprintf("Job '%s': the list may be incomplete: %s", r.name(), f.Message),
				"event", "suspect", "job", r.Result.Job, "finding", f.ID)
		}
		r.observe(ctx, Event{Kind: EventFinding, Page: c.Page, Finding: &f})
	}
	r.Result.Findings = findings
	return findings
}

// facts returns what the job noticed of the list as a whole.
func (r *run) facts(hints *rules.Hints) *rules.ListFacts {
	facts := r.Noticed.Facts
	facts.Missing = r.missing(hints)
	if r.Noticed.Ambiguous { // identifiers do not identify items
		facts.Revised = 0
	}
	r.audited.facts = facts
	return &r.audited.facts
}

// An audited is what the audit sees of a list.
type audited struct {
	facts rules.ListFacts
	hints rules.Hints
}

// hints collects the values of the last response that many APIs use to describe a
// list. A token that was read by a rule which ended the job is not a hint: the
// configuration knows its meaning. They are valid until the next call.
func (r *run) hints(c *rules.Context) *rules.Hints {
	if r.lookup == nil && r.Hints.Value != nil { // the last page came before the resume
		r.audited.hints = *r.Hints.Value
		r.audited.hints.LargestPage = r.LargestPage
		return &r.audited.hints
	}
	if r.hinted == nil {
		r.hinted = r.hintsOf(c)
	}
	r.audited.hints = rules.Hints{LargestPage: r.LargestPage}
	hints, hasTotal := &r.audited.hints, false
	for _, hint := range r.hinted {
		if hint.kind != rules.HintNext || hint.by == nil || !r.endedBy(hint.by) {
			note(hints, c, hint)
			hasTotal = hasTotal || hint.kind == rules.HintTotal && hint.inBody
		}
	}
	r.compareTotals(hints, c, hasTotal)
	return hints
}

// A hinted is a value of a response that may describe its list.
type hinted struct {
	kind   rules.HintKind
	at     string // its place, for messages
	value  any
	inBody bool
	by     func(compile.Read) bool // whether a rule that reads this knows the value; nil: none does
}

// hintsOf returns the hints of the last response, those of the body first. The list is not nil.
func (r *run) hintsOf(c *rules.Context) []hinted {
	found := []hinted{}
	for _, hint := range r.hintsInBody() {
		path := rules.HintAt(hint.place)
		at := compile.Read{Root: "body", Path: path.Keys}.String()
		found = append(found, hinted{path.Kind, at, hint.value, true, readsTo(path.Keys)})
	}
	for _, hint := range rules.HintHeaders() {
		if v := c.Header(hint.Name); v != nil {
			found = append(found, hinted{kind: hint.Kind, at: hint.Name, value: v})
		}
	}
	if next := c.Link("next"); next != nil {
		found = append(found, hinted{kind: rules.HintNext, at: "the Link header", value: next, by: readsLink})
	}
	return found
}

// A placedHint is a value at a place of [rules.HintPaths].
type placedHint struct {
	place int
	value any
}

// hintsInBody returns the hints in the body of the last response, in the order of their
// places.
func (r *run) hintsInBody() []placedHint {
	if r.visit == nil {
		return nil
	}
	var found []placedHint
	add := func(path []string, v any) {
		for _, place := range rules.HintPlaces(path) {
			found = append(found, placedHint{place, v})
		}
	}
	err := r.visit(hintPaths(), func(path []string, v any) {
		add(path, v)
		if members, isObject := v.(map[string]any); isObject && len(path) == 1 { // a hint and a container
			for name, inner := range members {
				add([]string{path[0], name}, inner)
			}
		}
	})
	if err != nil {
		return nil
	}
	slices.SortFunc(found, func(a, b placedHint) int { return a.place - b.place })
	return found
}

// compareTotals corrects the total of the last page by that of the first one. A
// total that is the number of items of both pages counts the items of a page, not of
// the list. A last page without a total may be one on which the API failed, so that of the
// first page is used, unless the list has outgrown it.
func (r *run) compareTotals(hints *rules.Hints, c *rules.Context, hasTotal bool) {
	first := r.Noticed.FirstTotal
	if last, ok := hints.Total.(int); ok && first != nil && first.Total != first.Count && hints.TotalAt == first.At && r.byPosition() {
		r.Noticed.Facts.Shrunk = max(0, first.Total-last)
	}
	switch {
	case first == nil || c.Page == 1:
	case hints.Total == nil && !hasTotal && first.Total >= c.Total.Items:
		hints.Total, hints.TotalAt = first.Total, first.At+" of page 1"
	case hints.TotalAt == first.At && hints.Total == c.Count && first.Total == first.Count:
		hints.Total, hints.TotalAt = nil, ""
	}
}

// byPosition reports whether the requests name positions in the list: they read nothing of
// the responses, and differ.
func (r *run) byPosition() bool {
	return len(r.job.Next) > 0 && !slices.ContainsFunc([]string{"body", "items", "header", "link"}, r.job.NextReads)
}

// noticeTotal notices the total of the first page.
func (r *run) noticeTotal() {
	c := &r.Context.Value
	if c.Page != 1 || r.lookup == nil {
		return
	}
	if hints := r.hints(c); hints.Total != nil {
		total, _ := totalOf(hints.Total)
		r.Noticed.FirstTotal = &firstTotal{Total: total, Count: c.Count, At: hints.TotalAt}
	}
}

var hintPaths = sync.OnceValue(func() *document.Paths {
	return document.NewNestedPaths(rules.HintContainers(), rules.HintKeys())
})

// readsTo returns whether a rule reads the value at a path of the body, or one that holds it.
func readsTo(keys []string) func(compile.Read) bool {
	return func(read compile.Read) bool {
		return read.OfBody() && len(read.Path) > 0 && len(read.Path) <= len(keys) && slices.Equal(read.Path, keys[:len(read.Path)])
	}
}

// readsLink reports whether a rule reads the Link header.
func readsLink(read compile.Read) bool { return read.Root == "link" }

// endedBy reports whether a rule that ended the job has such a read.
func (r *run) endedBy(reads func(compile.Read) bool) bool {
	for _, stop := range r.job.Stops {
		if slices.Contains(r.Result.StoppedBy, stop.Rule.ID) && slices.ContainsFunc(stop.Reads, reads) {
			return true
		}
	}
	return false
}

// note records a value if it is a hint and the first of its kind.
func note(hints *rules.Hints, c *rules.Context, hint hinted) {
	at, v := hint.at, hint.value
	switch hint.kind {
	case rules.HintTotal:
		n, ok := totalOf(v)
		if hints.Total == nil && ok && !(strings.HasSuffix(at, "ount") && n == c.Count) { // a count may be the page's
			hints.Total, hints.TotalAt = n, at
		}
	case rules.HintPages:
		if n, ok := totalOf(v); hints.Pages == nil && ok {
			hints.Pages, hints.PagesAt = n, at
		}
	case rules.HintNext:
		if hints.Next == nil && isNext(v, c) {
			hints.Next, hints.NextAt = v, at
		}
	case rules.HintMore, rules.HintLast:
		if flag, ok := v.(bool); ok && hints.More == nil {
			hints.More, hints.MoreAt = flag == (hint.kind == rules.HintMore), at
		}
	}
}

// totalOf returns a number of items or pages: an integer, text that is one, or the value
// of an object, as in {"value": 25}.
func totalOf(v any) (int, bool) {
	if object, ok := value.Members(v); ok {
		v, _ = object.Get("value")
	}
	switch n := v.(type) {
	case int:
		return n, n >= 0
	case int64:
		return int(n), n >= 0
	case string:
		parsed, err := strconv.Atoi(n)
		return parsed, err == nil && strconv.Itoa(parsed) == n && parsed >= 0
	}
	return 0, false
}

// isNext reports whether a value points to another page: text or a number that
// was not part of the request for this page.
func isNext(v any, c *rules.Context) bool {
	if object, ok := value.Members(v); ok { // {"next": {"href": …}}
		v, _ = object.Get("href")
	}
	text, ok := value.Text(v)
	if _, flag := v.(bool); !ok || flag || value.Empty(v) || text == "0" || text == "-1" {
		return false
	}
	if address, err := rules.Resolve(c.Sent.URL, text); err == nil && address == c.Sent.URL {
		return false
	}
	return !contains(c.Sent.Params, text) && !contains(c.Sent.Body, text)
}

// contains reports whether text is a value in what was sent.
func contains(sent any, text string) bool {
	if object, ok := value.Members(sent); ok {
		return slices.ContainsFunc(object, func(m rules.Member) bool { return contains(m.Value, text) })
	}
	t, ok := value.Text(sent)
	return ok && t == text
}
