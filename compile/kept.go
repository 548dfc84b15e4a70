package compile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A KeptUse says where a job reads the values that the run before kept.
type KeptUse int

// The uses of kept values, the one with the least effect first.
const (
	KeptUnread KeptUse = iota // nothing that decides which items a run obtains reads them
	KeptLater                 // only requests after the first one read them, so the items of the first come again
	KeptRead                  // the first request, a stopping rule or the filter reads them
)

// KeptUse returns where the job, or the nearest of its parents, reads the values that the run before
// kept. A child of a job that reads them is only requested for new items.
func (j *Job) KeptUse() KeptUse {
	use := KeptUnread
	for ; j != nil; j = j.Parent {
		use = max(use, j.ownKeptUse())
	}
	return use
}

func (j *Job) ownKeptUse() KeptUse {
	first := slices.Concat(j.Computed, j.FirstParts)
	for _, v := range j.For {
		first = append(first, v.When, v.Values, v.From, v.To)
	}
	later := []*language.Expression{j.Shape.Filter}
	for _, stop := range j.Stops {
		if stop.Rule.Outcome != rules.Failed {
			later = append(later, stop.Expression)
		}
	}
	reads := func(all []*language.Expression, later bool) bool {
		return slices.ContainsFunc(all, func(e *language.Expression) bool { return j.readsKept(e, later, nil) })
	}
	switch {
	case reads(first, false), reads(later, true):
		return KeptRead
	case reads(j.NextParts, true):
		return KeptLater
	}
	return KeptUnread
}

// readsKept reports whether an expression, which may be nil, depends on kept values, perhaps by
// variables. In the first request, variables have their initial values. seen has the variables that
// are known to depend on the expression.
func (j *Job) readsKept(e *language.Expression, later bool, seen []string) bool {
	if e == nil {
		return false
	}
	return slices.ContainsFunc(e.Reads, func(r language.Read) bool {
		switch {
		case r.Is("kept"):
			return true
		case !r.Is("state"):
			return false
		}
		values := j.Init
		if later {
			values = slices.Concat(j.Init, j.Next)
		}
		return slices.ContainsFunc(values, func(v *language.Expression) bool {
			name := v.Rule.Target
			of := len(r.Path) == 0 || r.Path[0] == name
			return of && !slices.Contains(seen, name) && j.readsKept(v, later, append(slices.Clip(seen), name))
		})
	})
}

// unreadKept finds values for the next run that do not change which items it obtains.
func (c *compilation) unreadKept(j *Job) {
	if len(j.Keeps) == 0 {
		return
	}
	names := strings.Join(value.Map(j.Keeps, func(e *language.Expression) string { return "kept." + e.Rule.Target }), " or ")
	switch j.KeptUse() {
	case KeptUnread:
		c.warn(j.Keeps[0].Rule, fmt.Sprintf(`send it with the first request, as in "params": {"since": {"expr": "kept.%s"}} of the job, `+
			"or remove keep", j.Keeps[0].Rule.Target),
			"no request, stopping rule or filter of %s reads %s: every run obtains the same items", j.ID(), names)
	case KeptLater:
		c.warn(j.Keeps[0].Rule, `to send it with the first request, too, set "applyToFirst": true in nextRequest`,
			"the first request of %s does not read %s, as later ones do: every run obtains its items again", j.ID(), names)
	}
}

// Keep returns the values for the next run, after the last page of a list. soFar has the result of
// [Job.KeepSoFar] for the pages before it. own reports whether the items of the context are those of the
// last page: after an error response they are those of the page before it. A nil value leaves the value
// of the previous run in place; lacking has the expressions of such values.
func (j *Job) Keep(m *language.Machine, page *rules.Context, soFar map[string]any, own bool) (
	values map[string]any, lacking []*language.Expression, err error,
) {
	if len(j.Keeps) == 0 {
		return nil, nil, nil
	}
	values = map[string]any{}
	for _, e := range j.Keeps {
		name := e.Rule.Target
		v := soFar[name]
		if own || !KeepsItems(e) {
			if v, err = keepValue(e, m, page, soFar); err != nil {
				return nil, nil, err
			}
		}
		if v == nil {
			v = page.Kept[name]
			lacking = append(lacking, e)
		}
		if v != nil {
			values[name] = v
		}
	}
	return values, lacking, nil
}

// KeepSoFar returns the values for the next run that are about the items of all pages, after a page
// that is not the last. soFar has its result for the pages before.
func (j *Job) KeepSoFar(m *language.Machine, page *rules.Context, soFar map[string]any) (map[string]any, error) {
	var values map[string]any
	for _, e := range j.Keeps {
		if !KeepsItems(e) {
			continue
		}
		v, err := keepValue(e, m, page, soFar)
		if err != nil {
			return nil, err
		}
		if v == nil {
			continue
		}
		if values == nil {
			values = map[string]any{}
		}
		values[e.Rule.Target] = v
	}
	return values, nil
}

// KeepsItems reports whether an expression under keep is about the items of all pages: it reads those
// of the present one, and no variable, by which the configuration remembers those of the others itself.
func KeepsItems(e *language.Expression) bool {
	reads := func(root string) bool {
		return slices.ContainsFunc(e.Reads, func(r language.Read) bool { return r.Is(root) })
	}
	return reads("items") && !reads("state")
}

// keepValue evaluates an expression under keep. If it is about the items of all pages, it sees its own
// value so far as that of the previous run, and a page on which it is nil changes nothing.
func keepValue(e *language.Expression, m *language.Machine, page *rules.Context, soFar map[string]any) (any, error) {
	before, known := soFar[e.Rule.Target]
	if known {
		kept := page.Kept
		defer func() { page.Kept = kept }()
		page.Kept = maps.Clone(kept)
		if page.Kept == nil {
			page.Kept = map[string]any{}
		}
		page.Kept[e.Rule.Target] = before
	}
	v, err := e.Value(m, page, language.MaxValueBytes)
	if v = language.Kept(v); v == nil {
		v = before
	}
	return v, err
}
