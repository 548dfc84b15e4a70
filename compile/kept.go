package compile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/times"
	"github.com/stopwhen/stopwhen/rules/value"
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

// warnOfReread warns of a unit of windows that each run requests again, unless the items have a key to merge them by: then
// the run says so that adds them.
func (c *compilation) warnOfReread(j *Job) {
	r := j.Analysis().Reread()
	if r == nil || len(j.Spec().Key) > 0 {
		return
	}
	kept := "kept." + r.From.KeptAsIs()
	later := kept + " + " + r.Unit.String()
	if r.Unit.Months > 0 || r.Unit.Days > 0 {
		later = fmt.Sprintf("date(%s).AddDate(0, %d, %d)", kept, r.Unit.Months, r.Unit.Days)
	} else if r.Unit.IsTime() {
		later = fmt.Sprintf("date(%s) + duration('%s')", kept, r.Unit)
	}
	c.warn(r.From.Rule, fmt.Sprintf("set key, and merge the rows by it; or, only if the last unit is over when the run begins, begin one "+
		"unit later: (%s) ?? …", later),
		"the windows begin at %s, which is %s of the run before; with granularity, that unit (%s) was in its last window: every run "+
			"obtains the items of that unit again", kept, r.To, r.Unit)
}

// warnOfNeededKept warns of conditions on items that no item meets in the first run, which has no kept value. The run fails,
// since the value moves on, and later runs would not read the items that were left out.
func (c *compilation) warnOfNeededKept(j *Job) {
	conditions := []*language.Expression{j.ItemRules.Filter}
	for _, v := range j.For {
		conditions = append(conditions, v.When)
	}
	for _, e := range conditions {
		if e == nil || e.NeedsKept() == "" {
			continue
		}
		kept := keypath.Format(rules.ContextKept, []string{e.NeedsKept()})
		c.warn(e.Rule, fmt.Sprintf("write %s == nil or …, or %s != nil and … to leave out all items of that run", kept, kept),
			"%s lets no item pass in the first run, in which %s is nil: that run fails", e.Rule.ID, kept)
	}
}

// warnOfLastPage warns of values for the next run that are the greatest or least of the items of the last page alone, although they
// look like those of all pages.
func (c *compilation) warnOfLastPage(j *Job) {
	if _, onePage := j.Analysis().OnlyPage(); onePage || !j.Paged() {
		return
	}
	for _, e := range j.Keeps {
		calls := e.Calls()
		i := slices.IndexFunc(calls, func(name string) bool { return slices.Contains(extremes, name) })
		if i < 0 || !AccumulatesItems(e) || e.ReadsAny(rules.ContextKept) {
			continue
		}
		kept := keypath.Format(rules.ContextKept, []string{e.Rule.Target})
		c.warn(e.Rule, fmt.Sprintf("give %s the value so far, as in greatest(items, 'id', %s), or take the items of first", calls[i], kept),
			"%s does not read %s, so it is that of the last page with items, and not of the list", e.Rule.ID, kept)
	}
}

// extremes are the functions that return the greatest or the least of values.
var extremes = []string{"greatest", "least", "latestOf", "max", "min"}

// checkKept checks the values for the next run.
func (c *compilation) checkKept(j *Job) {
	c.warnOfLastPage(j)
	c.warnOfUnreadKept(j)
	c.warnOfReread(j)
	c.warnOfNeededKept(j)
	if j.KeepFor == nil {
		return
	}
	if err := j.checkKeepFor(); err != nil {
		c.report(j.KeepFor.Rule, err)
	}
}

// checkKeepFor returns an error if keepFor does not tell partitions apart, or if it depends on the kept
// values that it chooses.
func (j *Job) checkKeepFor() error {
	const hint = "it reads variables that have a value before kept is read, such as order.id"
	independent := len(j.For) // number of variables before the first variable that depends on kept values
	for i, v := range slices.Backward(j.For) {
		if slices.ContainsFunc([]*language.Expression{v.When, v.Values, v.From, v.To, v.Step}, readsKept(nil)) {
			independent = i
		}
	}
	for _, r := range j.KeepFor.Reads {
		if r.Is(rules.ContextKept) {
			return &language.Fault{Message: "keepFor reads the kept values that it chooses", Hint: hint}
		}
		late := slices.ContainsFunc(j.For[independent:], func(v ForVariable) bool { return len(r.Path) > 0 && r.Path[0] == v.Name })
		if r.Is(rules.ContextPartition) && (late || len(r.Path) == 0) {
			return &language.Fault{Hint: hint, Message: fmt.Sprintf("keepFor reads %s, "+
				"whose values depend on the kept values that it chooses", r)}
		}
	}
	if !j.KeepFor.ReadsAny(rules.ContextPartition) {
		return &language.Fault{Message: "keepFor is the same for all partitions", Hint: hint}
	}
	return nil
}

// KeepKey returns the key of the kept values of a partition, and "" if all partitions share them. It is an
// error if keepFor is nil or empty.
func (j *Job) KeepKey(m *language.Machine, partition *rules.Context) (string, error) {
	if j.KeepFor == nil {
		return "", nil
	}
	v, err := j.KeepFor.Value(m, partition, language.MaxValueBytes)
	if err != nil {
		return "", err
	}
	v = language.JSONForm(v)
	key, isScalar := value.Text(v)
	if !isScalar && v != nil {
		text, err := value.Marshal(v)
		if err != nil {
			return "", &language.RuleError{Rule: j.KeepFor.Rule, Err: err}
		}
		key = string(text)
	}
	if key == "" {
		return "", &language.RuleError{Rule: j.KeepFor.Rule, Err: errors.New("its value is nil or empty")}
	}
	return key, nil
}

// SelectKept selects the values that the previous run kept for a key of [Job.KeepKey] from the kept values of
// the job. If the key is not empty, each value of the job is an object with a value for each key.
func SelectKept(kept map[string]any, key string) map[string]any {
	if key == "" {
		return kept
	}
	var keptOfKey map[string]any
	for name, v := range kept {
		if element, has := value.At(v, []string{key}); has {
			if keptOfKey == nil {
				keptOfKey = map[string]any{}
			}
			keptOfKey[name] = element
		}
	}
	return keptOfKey
}

// NestKept is the reverse of [SelectKept]: it returns the values of a key as values of the job.
func NestKept(keptOfKey map[string]any, key string) map[string]any {
	if key == "" || keptOfKey == nil {
		return keptOfKey
	}
	kept := map[string]any{}
	for name, v := range keptOfKey {
		kept[name] = map[string]any{key: v}
	}
	return kept
}

// warnOfUnreadKept warns of values for the next run that do not affect which items it obtains.
func (c *compilation) warnOfUnreadKept(j *Job) {
	if len(j.Keeps) == 0 {
		return
	}
	names := strings.Join(lists.Map(j.Keeps, func(e *language.Expression) string { return "kept." + e.Rule.Target }), " or ")
	switch j.Analysis().KeptUse() {
	case KeptUnused:
		c.warn(j.Keeps[0].Rule, fmt.Sprintf(`send it with the first request, as in "params": {"since": {"expr": "kept.%s"}} of the job, `+
			"or remove keep or incremental", j.Keeps[0].Rule.Target),
			"no request, stopping rule or filter of %s reads %s: every run obtains the same items", j.ID(), names)
	case KeptAfterFirst:
		c.warn(j.Keeps[0].Rule, `to send it with the first request, too, set "applyToFirst": true in nextRequest`,
			"the first request of %s does not read %s, as later ones do: every run obtains its items again", j.ID(), names)
	}
}

// KeptValues returns the values for the next run, after the last page of a list. soFar is the result of
// [Job.KeptSoFar] for the earlier pages. last is the number of the last page. If it is not the page of the
// context, as after an error response, the items of the context are those of an earlier page, which soFar has.
//
// If a value is nil, the value of the previous run stays, and absent has its expression. A value that was nil after the
// items of the previous run stays so: see [Analysis.Continues].
func (j *Job) KeptValues(m *language.Machine, c *rules.Context, soFar map[string]any, last int) (
	values map[string]any, absent []*language.Expression, err error,
) {
	if len(j.Keeps) == 0 {
		return nil, nil, nil
	}
	values = map[string]any{}
	for _, e := range j.Keeps {
		name := e.Rule.Target
		v := soFar[name]
		if c.Page == last || !AccumulatesItems(e) {
			if v, err = keptValue(e, m, c, soFar); err != nil {
				return nil, nil, err
			}
		}
		if v != nil {
			values[name] = v
			continue
		}
		absent = append(absent, e)
		if before, known := c.Kept[name]; known {
			values[name] = before
		}
	}
	return values, absent, nil
}

// KeptSoFar returns the accumulated values after a page that is not the last. soFar is the result of
// KeptSoFar for the earlier pages.
func (j *Job) KeptSoFar(m *language.Machine, c *rules.Context, soFar map[string]any) (map[string]any, error) {
	var values map[string]any
	for _, e := range j.Keeps {
		if !AccumulatesItems(e) {
			continue
		}
		v, err := keptValue(e, m, c, soFar)
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

// AccumulatesItems reports whether an expression under keep covers the items of all pages. It does if it
// reads items but no state: with state, the configuration itself carries values from page to page.
func AccumulatesItems(e *language.Expression) bool {
	reads := func(root string) bool {
		return e.ReadsAny(root)
	}
	return reads(rules.ContextItems) && !reads(rules.ContextState)
}

// keptValue evaluates an expression under keep on a page. If the expression accumulates, it sees its value so
// far as kept.NAME, as if the previous page were the previous run, and a page on which it is nil leaves the
// value unchanged. An empty text counts as nil: many APIs write so that there is no token.
func keptValue(e *language.Expression, m *language.Machine, c *rules.Context, soFar map[string]any) (any, error) {
	before, known := soFar[e.Rule.Target]
	if known {
		kept := c.Kept
		defer func() { c.Kept = kept }()
		c.Kept = maps.Clone(kept)
		if c.Kept == nil {
			c.Kept = map[string]any{}
		}
		c.Kept[e.Rule.Target] = before
	}
	v, err := e.Value(m, c, language.MaxValueBytes)
	if v = language.JSONForm(v); v == nil || v == "" {
		v = before
	}
	return v, err
}
