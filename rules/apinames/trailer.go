package apinames

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules/value"
)

// kindNames are the names of a text that says which kind of line it is in: {"type": "summary", "total": 250}.
var kindNames = []string{"type", "kind", "event", "eventType", "recordType", "rowType", "messageType", "tag"}

// Trailer returns the members of the last line of NDJSON if it may describe the list instead of being an item: no
// other line has one of its members, save the name of another kind. Otherwise it returns nil.
func Trailer[T any](lines []T, members func(T) value.Object) value.Object {
	if len(lines) < 2 {
		return nil
	}
	last := members(lines[len(lines)-1])
	isMember := func(m value.Member) bool {
		v, has := last.Get(m.Name)
		one, isText := m.Value.(string)
		other, areTexts := v.(string)
		return has && !(isText && areTexts && one != other && AlikeAny(m.Name, kindNames))
	}
	if slices.ContainsFunc(lines[:len(lines)-1], func(line T) bool { return slices.ContainsFunc(members(line), isMember) }) {
		return nil
	}
	return last
}
