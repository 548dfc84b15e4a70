package document

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// namesOf returns the names of the first lists, for a message.
func namesOf(lists []rootList) string {
	const most, width = 10, 60
	var names []string
	for _, l := range lists[:min(len(lists), most)] {
		names = append(names, wording.Clip(l.name, width))
	}
	if len(lists) > most {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// Suggest returns a suggestion for a missing path of the body, as the end of a sentence: "; did you mean
// body.meta.next?". It returns "" if no path is near. names returns the keys of the object at a
// path, as [Reading.Names] does.
func Suggest(names func(path []string) []string, path []string) string {
	if near := Nearest(names, path); near != nil {
		return "; did you mean " + keypath.Format(rules.ContextBody, near) + "?"
	}
	return ""
}

// SuggestField is [Suggest] for the path of a list, as dataField has it: "; did you mean data.users?".
func SuggestField(names func(path []string) []string, path []string) string {
	if near := Nearest(names, path); near != nil {
		return "; did you mean " + keypath.Join(near...) + "?"
	}
	return ""
}

// Nearest returns the existing path that is nearest to a missing one, or nil if no path is near.
func Nearest(names func(path []string) []string, path []string) []string {
	if names == nil {
		return nil
	}
	for i := range path {
		known := names(path[:i])
		if slices.Contains(known, path[i]) {
			continue
		}
		if name := diag.Nearest(path[i], known); name != "" {
			return append(append(slices.Clone(path[:i]), name), path[i+1:]...)
		}
		return nil
	}
	return nil
}

// names implements [Reading.Names].
func (r *Reader) names(path []string) (names []string) {
	if !hasIndex(path) {
		return r.doc.names(path)
	}
	r.doc.withCommas(func() { names = r.doc.names(path) })
	return names
}
