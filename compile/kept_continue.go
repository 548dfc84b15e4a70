package compile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// Continues reports whether a list of the job continues from the values that an earlier run kept for it: they have a value
// which decides what the list has, so that the run obtains what follows it. ofChild asks for the partitions of a child, for
// which the filter does not matter.
//
// lacks names a value that decides, too, and that was nil although the list had items: its key is there, with nil. The run
// may obtain the items again that the earlier run has obtained before that value; "" says that it does not.
func (a Analysis) Continues(kept map[string]any, ofChild bool) (continues bool, lacks string) {
	filter := a.job.ItemRules.Filter
	if ofChild {
		filter = nil
	}
	if a.job.KeepFor == nil {
		return a.continues(kept, filter)
	}
	for _, key := range keysOf(kept) {
		ofKey, lacksOfKey := a.continues(SelectKept(kept, key), filter)
		if lacksOfKey != "" {
			lacks = cmp.Or(lacks, fmt.Sprintf("%s (%s)", lacksOfKey, key))
		}
		continues = continues || ofKey
	}
	return continues, lacks
}

// Repeats names a value that the requests, stopping rules or the filter of the list read, and that stays as it was in the
// run before, since it is among those that are lacking: the next run obtains the items of this list again. values are those
// for the next run, and c is the context of the last page. It returns "" if there is none, or if the requests of the next run
// send a cursor that has moved on.
func (a Analysis) Repeats(c *rules.Context, values map[string]any, lacking []*language.Expression) string {
	stay, before := map[string]any{}, c.Kept
	for _, cursor := range a.SentCursors() {
		if len(lacking) > 0 && a.sends(cursor, c, values) {
			stay[cursor.Kept] = values[cursor.Kept]
		}
	}
	for _, e := range lacking {
		name := e.Rule.Target
		if delete(stay, name); before[name] != nil {
			stay[name] = nil
		}
	}
	_, lacks := a.continues(stay, a.job.ItemRules.Filter)
	return lacks
}

// continues is Continues for the values of one key.
func (a Analysis) continues(kept map[string]any, filter *language.Expression) (continues bool, lacks string) {
	has := func(name string) bool { return kept[name] != nil }
	first, later := a.job.choosing(filter)
	atFirst, anyTime := a.job.variables()
	reads := false
	note := func(vars language.Variables, e *language.Expression) {
		names := a.keptNames(keptIn(e, vars))
		some := slices.ContainsFunc(slices.Collect(maps.Keys(names)), has)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			v, known := kept[name]
			if replaced := some && names[name]; known && v == nil && !replaced {
				lacks = cmp.Or(lacks, keypath.Format(rules.ContextKept, []string{name}))
			}
		}
		reads, continues = reads || len(names) > 0, continues || some
	}
	for _, e := range first {
		note(atFirst, e)
	}
	for _, e := range later {
		note(anyTime, e)
	}
	if !reads { // the audit refuses what comes again: audit.kept
		return HasKept(kept), ""
	}
	for _, c := range a.SentCursors() {
		if has(c.Kept) { // the audit compares the items with it: audit.since
			lacks = ""
		}
	}
	return continues, lacks
}

// keptNames returns the names of the values that reads are about, and whether the expression has another value for one that
// is nil.
func (a Analysis) keptNames(reads []language.Read) map[string]bool {
	names := map[string]bool{}
	for _, r := range reads {
		if len(r.Path) > 0 {
			before, known := names[r.Path[0]]
			names[r.Path[0]] = r.Defaulted && (before || !known)
			continue
		}
		for _, e := range a.job.Keeps {
			names[e.Rule.Target] = false
		}
	}
	return names
}

// HasKept reports whether one of the values that an earlier run kept is not nil.
func HasKept(kept map[string]any) bool {
	return slices.ContainsFunc(slices.Collect(maps.Values(kept)), func(v any) bool { return v != nil })
}

// keysOf returns the keys of keepFor for which there are values.
func keysOf(kept map[string]any) []string {
	keys := map[string]bool{}
	for _, v := range kept {
		byKey, _ := v.(map[string]any)
		for key := range byKey {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}
