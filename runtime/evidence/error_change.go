package evidence

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/lists"
)

// noticeChange notices a status of the last page that reports an error where page 1 has none, or another value:
// {"code": 50001} after {"code": 0}. Since page 1 shows how the API describes a good page, an API's own codes tell
// of an error here, and so do signs next to items that may mean something else on page 1.
func (s errorSearch) noticeChange() {
	if s.hasCertainError() || s.context.Page == 1 || len(s.first.FirstPaths) == 0 || !s.reading.HasContent() ||
		s.reading.Bytes > maxErrorBody || s.subject.listsErrors {
		return
	}
	members := s.errorMembers()
	member := func(found errorMember) rules.Member { return rules.Member{Name: found.name, Value: found.value} }
	page := &rules.Context{Body: rules.Object(lists.Map(members, member))}
	for _, found := range members {
		first, known := s.first.FirstStatuses[found.at]
		text := shortText(found.value)
		switch {
		case slices.Contains(s.first.FirstFailures, found.at), known && text == first,
			s.isKnown(found.at) && apinames.Key(found.name).IsErrorCaption(),
			text == "0" && first != "1", // the number of items that succeeded
			s.context.Count == 0 && s.isExcused(found.value, page):
			continue
		}
		if !apinames.Key(found.name).IsFailedStatus(found.value) && !apinames.Key(found.name).IsOwnCode(found.value) {
			continue
		}
		if !known {
			first = "none"
		}
		s.reportError(found.at+" is "+text+errorMessage(page, []string{found.name})+", and page 1 has "+first, rules.DoubtNone)
		return
	}
}
