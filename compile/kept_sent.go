package compile

import (
	"maps"
	"reflect"
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// An UnsentKept says that a first request is the same as without kept values, although its expressions read some.
type UnsentKept struct {
	Names   []string       // the values that they read: kept.newest
	Nothing bool           // all these expressions are nil, so that nothing takes the place of the values
	Cursors []rules.Cursor // those of the values that are the greatest of the items
}

// UnsentKept returns how a list with kept values begins without them, or nil if the first request, a stopping rule, the filter
// or the values of for depend on them, or if those that it reads are nil, so that it does not continue. A value that was nil
// after the items of an earlier run matters for a child whose parent has kept values: no check before the run refuses it, since
// most parents do not come again. c is the context before the first response.
func (a Analysis) UnsentKept(c *rules.Context) *UnsentKept {
	j := a.job
	continues, lacks := a.continues(c.Kept, j.ItemRules.Filter)
	if lacks != "" && a.FollowsParent() {
		return &UnsentKept{Names: []string{lacks}, Nothing: true}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Values(c.Kept)), isPosition) || a.KeptUse() != KeptFromFirst || a.bounds(c) {
		return nil
	}
	if !continues {
		return nil
	}
	unsent := &UnsentKept{Nothing: true}
	sent, without := j.firstValues(c, c.Kept), j.firstValues(c, nil)
	if sent == nil || without == nil {
		return nil
	}
	for e, v := range sent {
		isKept := slices.ContainsFunc(slices.Collect(maps.Values(c.Kept)), func(kept any) bool {
			return v != nil && reflect.DeepEqual(v, language.JSONForm(language.Sendable(kept)))
		})
		if e.Rule.Sending.Since != nil || isKept || !reflect.DeepEqual(v, without[e]) {
			return nil
		}
		unsent.Nothing = unsent.Nothing && v == nil
	}
	for _, keep := range j.Keeps {
		if keys, format, ok := keep.GreatestOf(); ok && AccumulatesItems(keep) && c.Kept[keep.Rule.Target] != nil {
			unsent.Cursors = append(unsent.Cursors, rules.Cursor{Keys: keys, Format: format, Kept: keep.Rule.Target})
		}
		unsent.Names = append(unsent.Names, rules.ContextKept+"."+keep.Rule.Target)
	}
	return unsent
}

// isPosition reports whether a kept value says how far a list has been read: a value of 0 is that of a list without items.
func isPosition(kept any) bool {
	text, isScalar := value.Text(kept)
	return kept != nil && !(isScalar && text == "0")
}

// bounds reports whether the list has other bounds than those of its first request: a stopping rule, the filter, or the values
// of for read a kept value that is there, or the job runs for the new items of its parent.
func (a Analysis) bounds(c *rules.Context) bool {
	if a.FollowsParent() {
		return true
	}
	return a.boundsBy(func(r language.Read) bool {
		v, present := r.Lookup(c)
		return present && v != nil
	})
}

// BoundedByKept reports whether a stopping rule, the filter or the values of for read the only value that the job keeps, so that
// the first request need not depend on it.
func (a Analysis) BoundedByKept() bool {
	return len(a.job.Keeps) == 1 && !a.FollowsParent() && a.boundsBy(func(language.Read) bool { return true })
}

// boundsBy reports whether a stopping rule, the filter or the values of for have a read of a kept value that a function selects. A
// test whether a value is there is no such read.
func (a Analysis) boundsBy(selects func(language.Read) bool) bool {
	_, later := a.job.choosing(a.job.ItemRules.Filter)
	for _, v := range a.job.For {
		later = append(later, v.When, v.Values, v.From, v.To)
	}
	_, anyTime := a.job.variables()
	return slices.ContainsFunc(later, func(e *language.Expression) bool {
		return slices.ContainsFunc(keptIn(e, anyTime), func(r language.Read) bool { return !r.Tested && selects(r) })
	})
}

// FollowsParent reports whether the job runs for the items that its parent, or a parent of that, has obtained since the
// values that it kept.
func (a Analysis) FollowsParent() bool {
	for p := a.job.Parent; p != nil; p = p.Parent {
		if p.ownKeptUse(nil) != KeptUnused {
			return true
		}
	}
	return false
}

// firstValues returns the values that a first request would have with some kept values, by the expressions that read such
// values, or nil if one of them fails.
func (j *Job) firstValues(c *rules.Context, kept map[string]any) map[*language.Expression]any {
	m, begin := &language.Machine{}, &rules.Context{
		Limit: c.Limit, Kept: kept, Input: c.Input, Partition: c.Partition, Job: c.Job, Now: c.Now,
		Header: func(string) any { return nil }, Link: func(string, ...string) any { return nil },
	}
	values := map[*language.Expression]any{}
	state, err := evaluate(j.Init, m, begin)
	if err != nil {
		return nil
	}
	atFirst, _ := j.variables()
	for _, e := range slices.Concat(j.Computed, j.FirstParts) {
		if !readsKept(atFirst)(e) {
			continue
		}
		if begin.State = nil; slices.Contains(j.FirstParts, e) {
			begin.State = state
		}
		v, err := e.Value(m, begin, maxPartBytes)
		if err != nil {
			return nil
		}
		values[e] = language.JSONForm(language.Sendable(v))
	}
	return values
}

// sends reports whether what a first request sends of a cursor changes with new values. c is a context of this run.
func (a Analysis) sends(cursor SentCursor, c *rules.Context, values map[string]any) bool {
	if reflect.DeepEqual(values[cursor.Kept], c.Kept[cursor.Kept]) {
		return true // it has not moved on
	}
	before, after := a.job.firstValues(c, c.Kept), a.job.firstValues(c, values)
	reads := func(e *language.Expression) bool {
		found := a.job.cursorOf(e)
		return found != nil && found.Kept == cursor.Kept
	}
	known, changed := false, before == nil || after == nil
	for e, v := range after {
		if reads(e) {
			known, changed = true, changed || !reflect.DeepEqual(v, before[e])
		}
	}
	return changed || !known // the beginning of a window is no part of a request
}
