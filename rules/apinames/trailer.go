package apinames

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules/value"
)

// Trailer returns the members of the last line of NDJSON if it may describe the list instead of being an item: no
// other line has one of its members. Otherwise it returns nil.
func Trailer[T any](lines []T, members func(T) value.Object) value.Object {
	if len(lines) < 2 {
		return nil
	}
	last := members(lines[len(lines)-1])
	isMember := func(m value.Member) bool { _, has := last.Get(m.Name); return has }
	if slices.ContainsFunc(lines[:len(lines)-1], func(line T) bool { return slices.ContainsFunc(members(line), isMember) }) {
		return nil
	}
	return last
}
