package compile

import (
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/times"
)

// Values under keep pass from run to run: a run evaluates and saves them, and the next run reads them
// as kept.NAME. Usually they say where the next run begins, as in
//
//	"keep": {"since": "items[-1].updated_at"}, "params": {"since": {"expr": "kept.since"}}
//
// An expression that reads items, as greatest(items, "id") does, covers the items of all pages, although it
// sees one page at a time: see [AccumulatesItems].

// A KeptUse says whether the values that the previous run kept change which items a job obtains.
type KeptUse int

// The uses of kept values, in the order of their effect.
const (
	KeptUnused     KeptUse = iota // no request, stopping rule or filter reads them: all items come again
	KeptAfterFirst                // only later requests read them: the items of the first page come again
	KeptFromFirst                 // the first request, a stopping rule or the filter reads them
)

// KeptUse returns the use of kept values in the job and its ancestors. If the requests of an ancestor depend on
// them, the job runs only for the new items of its parent.
func (a Analysis) KeptUse() KeptUse {
	use := a.job.ownKeptUse(a.job.ItemRules.Filter)
	for j := a.job.Parent; j != nil; j = j.Parent {
		use = max(use, j.ownKeptUse(nil))
	}
	return use
}

// ListDependsOnKept reports whether the requests of the job or its stopping rules depend on kept values. Otherwise, its
// children run for all items, also if its filter reads kept values: a filter leaves items out of the file alone.
func (a Analysis) ListDependsOnKept() bool { return a.job.ownKeptUse(nil) != KeptUnused }

// Keepers returns the jobs whose kept values decide which items the job obtains: itself and its ancestors, if their requests,
// stopping rules or the filter of the job depend on the values that they keep. A job that keeps values which nothing reads is
// among them if there is no other.
func (a Analysis) Keepers() (keepers []*Job) {
	filter := a.job.ItemRules.Filter
	for j := a.job; j != nil; j, filter = j.Parent, nil {
		if len(j.Keeps) > 0 && j.ownKeptUse(filter) != KeptUnused {
			keepers = append(keepers, j)
		}
	}
	if keepers == nil && len(a.job.Keeps) > 0 {
		keepers = []*Job{a.job}
	}
	return keepers
}

// ownKeptUse returns the use of kept values in the job itself, with a filter, which may be nil.
func (j *Job) ownKeptUse(filter *language.Expression) KeptUse {
	first, later := j.choosing(filter)
	atFirst, anyTime := j.variables()
	switch {
	case slices.ContainsFunc(first, readsKept(atFirst)), slices.ContainsFunc(later, readsKept(anyTime)):
		return KeptFromFirst
	case slices.ContainsFunc(j.NextParts, readsKept(anyTime)):
		return KeptAfterFirst
	}
	return KeptUnused
}

// choosing returns the expressions that decide which items a job obtains: those that are evaluated before its first page,
// and a filter and its stopping rules. Some may be nil.
func (j *Job) choosing(filter *language.Expression) (first, later []*language.Expression) {
	first = slices.Concat(j.Computed, j.FirstParts)
	for _, v := range j.For {
		first = append(first, v.When, v.Values, v.From, v.To)
	}
	later = []*language.Expression{filter}
	for _, stop := range j.Stops {
		if stop.Rule.Outcome != rules.Failed {
			later = append(later, stop.Expression)
		}
	}
	return first, later
}

// variables returns the variables of the state at the first request, which have the initial values, and at any time, when they
// may also have the values after a page.
func (j *Job) variables() (atFirst, anyTime language.Variables) {
	return variablesOf(j.Init), variablesOf(slices.Concat(j.Init, j.Next))
}

// variablesOf returns the variables of the state with the values that expressions give them.
func variablesOf(list []*language.Expression) language.Variables {
	vars := language.Variables{}
	for _, e := range list {
		if name := e.Rule.Target; !e.IsStateVariable(name) {
			vars[name] = append(vars[name], e.Reads...)
		}
	}
	return vars
}

// keptIn returns the reads of kept values in an expression, which may be nil, and in the variables that it depends on.
func keptIn(e *language.Expression, vars language.Variables) []language.Read {
	if e == nil {
		return nil
	}
	isOther := func(r language.Read) bool { return !r.Is(rules.ContextKept) }
	return slices.DeleteFunc(vars.Resolve(e.Reads), isOther)
}

// readsKept returns a function that reports whether an expression, which may be nil, depends on kept values, directly or by
// variables.
func readsKept(vars language.Variables) func(*language.Expression) bool {
	return func(e *language.Expression) bool { return len(keptIn(e, vars)) > 0 }
}

// A SentCursor is a kept value that the first request of a job sends, if it is the greatest value of the items: items from
// before it are those of earlier runs.
type SentCursor struct {
	rules.Cursor

	Target string // the name of the parameter that has it
	Index  int    // index of its expression in [Job.Computed]; -1: the first request sends it as it is
}

// SentCursors returns the kept values that the first request of the job sends to obtain only later items: those of
// incremental, and those of params, nextRequest and the beginning of windows that read a value which keep computes by
// greatest or latestOf.
func (a Analysis) SentCursors() (sent []SentCursor) {
	for i, e := range a.job.Computed {
		if c := a.job.cursorOf(e); c != nil {
			sent = append(sent, SentCursor{*c, e.Rule.Target, i})
		}
	}
	for _, e := range a.job.FirstParts {
		if c := a.job.cursorOf(e); c != nil && !c.Lags {
			sent = append(sent, SentCursor{*c, e.Rule.Target, -1})
		}
	}
	for _, v := range a.job.For {
		if v.From == nil {
			continue
		}
		if c := a.job.cursorOf(v.From); c != nil && !c.Lags {
			sent = append(sent, SentCursor{*c, v.Name + ".from", -1})
		}
	}
	return sent
}

// ComparedCursor returns the cursor of the items whose kept value the filter or a stopping rule reads, or nil.
func (a Analysis) ComparedCursor() *rules.Cursor {
	_, later := a.job.choosing(a.job.ItemRules.Filter)
	for _, e := range later {
		if e == nil {
			continue
		}
		if c := a.job.cursorOf(e); c != nil {
			return c
		}
	}
	return nil
}

// cursorOf returns the cursor of the items whose kept value an expression reads or sends, or nil.
func (j *Job) cursorOf(e *language.Expression) *rules.Cursor {
	if e.Rule.Sending.Since != nil || e.Rule.Sending.Secret {
		return e.Rule.Sending.Since
	}
	for _, keep := range j.Keeps {
		reads := func(r language.Read) bool {
			return r.Is(rules.ContextKept) && len(r.Path) == 1 && r.Path[0] == keep.Rule.Target
		}
		if keys, format, ok := keep.GreatestOf(); ok && AccumulatesItems(keep) && e.ReadsFunc(reads) {
			return &rules.Cursor{Keys: keys, Format: format, Kept: keep.Rule.Target, Lags: e.KeptAsIs() != keep.Rule.Target}
		}
	}
	return nil
}

// A Reread is a unit of windows that each run requests again, since the last window of the run before ends with it.
type Reread struct {
	From *language.Expression // the beginning of the windows
	To   string               // the end that is kept: window.to
	Unit times.Span
}

// Reread returns the unit of windows of the job that each run requests again, or nil: with granularity, the end of the last
// window belongs to it, and the windows of the next run begin there.
func (a Analysis) Reread() *Reread {
	for _, v := range a.job.For {
		if v.Window == nil || v.Window.Granularity == (times.Span{}) {
			continue
		}
		isEnd := func(keep *language.Expression) bool {
			return keep.Rule.Target == v.From.KeptAsIs() && keep.ReadsFunc(func(r language.Read) bool {
				return r.Is(rules.ContextPartition) && slices.Equal(r.Path, []string{v.Name, "to"})
			})
		}
		filters := readsKept(nil)(a.job.ItemRules.Filter)
		if slices.ContainsFunc(a.job.Keeps, isEnd) && !filters {
			return &Reread{v.From, v.Name + ".to", v.Window.Granularity}
		}
	}
	return nil
}
