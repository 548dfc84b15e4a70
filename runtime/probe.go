package runtime

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// probe evaluates the probe of the job, if it has one, as the stopping rules are evaluated: before the
// variables change.
func (r *listRun) probe(page *Page) {
	p := r.job.Probe
	if p == nil {
		return
	}
	c, result := r.pageContext(), &trace.Evaluation{}
	page.probed = result
	defer func() { c.Item, c.Key = nil, nil }()
	switch {
	case p.Item > 0:
		result.Err = r.probeItem(page, p.Item)
	case p.ReadsAny(rules.ContextItem, rules.ContextKey):
		result.Err = trace.ErrNoItem
	}
	if result.Err != nil {
		return
	}
	r.current.notes = nil
	v, err := p.Eval(&r.workspace.machine, c)
	if err != nil {
		result.Err = errors.New(r.Redactor.Shown(errors.Unwrap(err).Error())) // the reader knows the expression
	}
	result.Value = r.redacted(language.JSONForm(v))
	result.Because, result.Missing, result.Notes = r.Redactor.Shown(p.Because(c)), p.Missing(c), r.current.notes
}

// redacted returns a value with its texts, numbers and names as they may be shown.
func (r *listRun) redacted(v any) any {
	hidden, _ := value.Replace(v, value.Replacement{
		Name: func(name string) (string, error) { return r.Redactor.Text(name), nil },
		Scalar: func(v any) (any, error) {
			if text, ok := value.Text(v); ok && r.Redactor.Contains(text) {
				return r.Redactor.Text(text), nil
			}
			return v, nil
		},
	})
	return hidden
}

// probeItem puts an item of the page into the context.
func (r *listRun) probeItem(page *Page, number int) error {
	n := 0
	for raw := range page.Items.All() {
		if n++; n < number {
			continue
		}
		c := r.pageContext()
		if page.members != nil {
			c.Key = page.members[n-1]
		}
		return value.Unmarshal(bytes.TrimSpace(raw), &c.Item)
	}
	return fmt.Errorf("page %d has %s", page.Page, wording.Counted(n, "item"))
}
