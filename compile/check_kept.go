package compile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
)

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
