package evidence

import (
	"fmt"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// A since is the kept value that incremental has sent.
type since struct {
	cursor *rules.Cursor // nil: none was sent
	sent   any
	param  string
}

// sinceOf returns the kept value with which items are compared, given the values of [compile.Job.Computed]. In the
// first run, which has no kept value, the list may begin where it likes.
func (p *lastPage) sinceOf(values compile.PartValues) (s since) {
	for i, e := range p.subject.job.Computed {
		if c := e.Rule.Since; c != nil && !e.Rule.Secret && p.context.Kept[c.Kept] != nil {
			s = since{c, values[i], e.Rule.Target}
		}
	}
	return s
}

// notice counts the items from before the kept value that was sent. Such items show that the API ignores the
// parameter.
func (s since) notice(p *lastPage) {
	if s.cursor == nil {
		return
	}
	for _, item := range p.reading.Compared {
		raw := document.Find(item, s.cursor.Keys)
		var v any
		if raw == nil || value.Unmarshal(raw, &v) != nil || value.Empty(v) {
			continue
		}
		p.facts.OlderOf++
		if !language.Before(v, s.sent, s.cursor.Format) {
			continue
		}
		if p.facts.Older++; p.facts.Older == 1 {
			p.facts.OlderText = fmt.Sprintf("%s = %s, although %s = %s was sent", rules.JoinPath(s.cursor.Keys...), value.Preview(v),
				s.param, value.Preview(s.sent))
		}
	}
}
