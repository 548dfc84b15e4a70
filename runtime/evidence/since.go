package evidence

import (
	"fmt"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// A since is the kept value that the first request has sent or, if it has sent none, with which the items are compared.
type since struct {
	compile.SentCursor

	sent  any // nil: none was sent
	bound any // items of earlier runs are from before it, or equal it; nil: no items are compared
	equal bool
}

// sinceOf returns the kept value with which items are compared, given the values of [compile.Job.Computed]. In the
// first run, which has no kept value, the list may begin where it likes.
func (p *listView) sinceOf(values compile.ComputedValues) (s since) {
	for _, c := range p.subject.sent {
		kept := p.context.Kept[c.Kept]
		if kept == nil {
			continue
		}
		sent := kept
		if c.Index >= 0 {
			sent, _ = value.At(values[c.Index], c.Within)
		}
		text, _ := sent.(string)
		if time, isText := kept.(string); isText && len(text) > len(time) && strings.Contains(text, time) {
			sent = kept // a condition, such as modified ge 2026-03-01T08:00:00Z
		}
		s = since{SentCursor: c, sent: sent, bound: kept, equal: true}
		if order, ok := language.CompareCursors(sent, kept, c.Format); c.Lags && !(ok && order == 0) {
			s.bound, s.equal = sent, false
		}
	}
	if c := p.subject.compared; s.bound == nil && c != nil {
		return sinceKept(*c, p.context)
	}
	return s
}

// sinceKept returns the kept value of a cursor: items up to it are those of earlier runs, whatever was sent.
func sinceKept(c rules.Cursor, in *rules.Context) since {
	return since{SentCursor: compile.SentCursor{Cursor: c}, bound: in.Kept[c.Kept], equal: true}
}

// notice counts the items from before the kept value that was sent. Such items show that the API ignores the
// parameter.
func (s since) notice(p *listView) {
	if s.sent == nil {
		return
	}
	for _, item := range p.reading.Compared {
		v := s.of(item)
		if v == nil {
			continue
		}
		p.facts.OlderOf++
		if !language.Before(v, s.sent, s.Format) {
			continue
		}
		if p.facts.Older++; p.facts.Older == 1 {
			p.facts.OlderText = fmt.Sprintf("%s = %s, although %s = %s was sent", keypath.Join(s.Keys...), value.Preview(v),
				s.Target, value.Preview(s.sent))
		}
	}
}

// of returns the value of an item that is compared, or nil.
func (s since) of(item []byte) any {
	var v any
	if raw := document.Find(item, s.Keys); raw == nil || value.Unmarshal(raw, &v) != nil || value.Empty(v) {
		return nil
	}
	return v
}

// Knows reports whether an earlier run has very probably obtained an item: it is not later than the kept value. If the
// request begins earlier on purpose, the item is from before the value that was sent.
func (w *Watcher) Knows(item []byte) bool {
	s := w.since
	if s.bound == nil {
		return false
	}
	order, ok := language.CompareCursors(s.of(item), s.bound, s.Format)
	return ok && (order < 0 || order == 0 && s.equal)
}

// CountKnown returns the number of items that [Watcher.Knows].
func (w *Watcher) CountKnown(items document.Items) (n int) {
	if w.since.bound == nil {
		return 0
	}
	for item := range items.All() {
		if w.Knows(item) {
			n++
		}
	}
	return n
}
