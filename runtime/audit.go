package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// audit looks, after the last page of a list that is complete, for signs that it
// is not whole. Pages and items are those emitted, the last page's included.
func (s *scroll) audit(items int) []Finding {
	if s.result.Outcome != rules.Complete || s.page.Page == 0 {
		return nil
	}
	page := s.page
	page.Total.Items = items
	page.Hints = s.signs(&page)
	var findings []Finding
	for _, rule := range s.job.Audit {
		met, err := rule.EvalBool(&s.machine, &page)
		if err != nil || !met {
			continue // what an API says by these names may be anything
		}
		f := Finding{ID: rule.Rule.ID, Message: s.Redactor.String(rule.Message.Text(&s.machine, &page)), Because: s.Redactor.String(rule.Because(&page))}
		findings = append(findings, f)
		s.Log.Warn(fmt.Sprintf("Job '%s' may not be whole: %s", s.result.Job, f.Message), "event", "suspect", "job", s.result.Job, "finding", f.ID)
	}
	s.result.Findings = findings
	return findings
}

// signs are what the page says of its list. A token that a rule which ended the
// scroll has read is no sign: the configuration knows what it means.
func (s *scroll) signs(page *rules.Context) *rules.Hints {
	if s.look == nil && s.kept != nil { // the last page came in the run before
		s.kept.Most = s.most
		return s.kept
	}
	out := &rules.Hints{Most: s.most}
	if s.look != nil {
		page.Body, _ = s.look(signPaths())
	}
	for _, sign := range rules.HintPaths() {
		read := compile.Read{Root: "body", Path: sign.Keys}
		if v, present := read.Lookup(page); present && (sign.Kind != rules.HintNext || !s.considered(sign.Keys)) {
			take(out, page, sign.Kind, read.String(), v)
		}
	}
	for _, sign := range rules.HintHeaders() {
		if v := page.Header(sign.Name); v != nil {
			take(out, page, sign.Kind, sign.Name, v)
		}
	}
	if next := page.Link("next"); next != nil && !s.readsLinks() {
		take(out, page, rules.HintNext, "the Link header", next)
	}
	return out
}

func signPaths() [][]string {
	paths := make([][]string, len(rules.HintPaths()))
	for i, sign := range rules.HintPaths() {
		paths[i] = sign.Keys
	}
	return paths
}

// considered tells whether a rule that ended the scroll reads a path.
func (s *scroll) considered(keys []string) bool {
	return s.endedBy(func(r compile.Read) bool {
		return r.OfBody() && len(r.Path) > 0 && len(r.Path) <= len(keys) && slices.Equal(r.Path, keys[:len(r.Path)])
	})
}

func (s *scroll) readsLinks() bool {
	return s.endedBy(func(r compile.Read) bool { return r.Root == "link" })
}

func (s *scroll) endedBy(reads func(compile.Read) bool) bool {
	for _, stop := range s.job.Stops {
		if slices.Contains(s.result.StoppedBy, stop.Rule.ID) && slices.ContainsFunc(stop.Reads, reads) {
			return true
		}
	}
	return false
}

// take notes a sign, if it is one: the first of a kind counts.
func take(out *rules.Hints, page *rules.Context, of rules.HintKind, at string, v any) {
	switch of {
	case rules.HintTotal:
		n, ok := totalOf(v)
		if out.Total == nil && ok && !(strings.HasSuffix(at, "ount") && n == page.Count) { // count may be the page's
			out.Total, out.TotalAt = n, at
		}
	case rules.HintNext:
		if out.Next == nil && leads(v, page) {
			out.Next, out.NextAt = v, at
		}
	case rules.HintMore, rules.HintLast:
		if flag, ok := v.(bool); ok && out.More == nil {
			out.More, out.MoreAt = flag == (of == rules.HintMore), at
		}
	}
}

// totalOf is a whole number, or a string that holds one; also {"value": …}.
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
		parsed := 0
		_, err := fmt.Sscanf(n, "%d", &parsed)
		return parsed, err == nil && fmt.Sprint(parsed) == n && parsed >= 0
	}
	return 0, false
}

// leads tells whether a value leads to another page: a text or a number that is
// not the one that brought this page.
func leads(v any, page *rules.Context) bool {
	if object, ok := value.Members(v); ok { // {"next": {"href": …}}
		v, _ = object.Get("href")
	}
	text, ok := value.Text(v)
	if _, flag := v.(bool); !ok || flag || value.Empty(v) || text == "0" || text == "-1" {
		return false
	}
	return !mentions(page.Sent.Params, text) && !mentions(page.Sent.Body, text) && page.Sent.URL != text
}

// mentions tells whether a text is a value in what was sent.
func mentions(v any, text string) bool {
	if object, ok := value.Members(v); ok {
		return slices.ContainsFunc(object, func(m rules.Member) bool { return mentions(m.Value, text) })
	}
	t, ok := value.Text(v)
	return ok && t == text
}
