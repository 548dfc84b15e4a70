package evidence

import (
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// noticeOtherItems notices items that are not objects in a list of objects: {"data": ["service unavailable"]}. A text
// counts if its words report a failure and an item of page 1 or of its own page is an object. Items of any kind count
// if a page has nothing else, and no earlier page has such an item; so does a first page of nulls. A single null does
// not, since databases write it for an empty list. Of several lists, only the items before the first object are
// compared.
func (s errorSearch) noticeOtherItems() {
	items := s.reading.Compared
	if s.subject.severalLists() == nil {
		s.compareKinds(items, 0)
		s.noticeListInItems(items)
	}
	for i := range s.subject.severalLists() {
		var before [][]byte
		for item := range s.reading.Lists[i].Items.All() {
			if before = append(before, item); item[0] == '{' {
				break
			}
		}
		s.compareKinds(before, i)
	}
	isOther := func(item []byte) bool { return !isObject(item) }
	hasOthers := slices.ContainsFunc(items, isOther)
	if s.memory.FirstNulls && !hasOthers {
		s.reportErrorOf(1, "all items are null, where the list has objects", rules.DoubtNone)
	}
	isNoNull := func(item []byte) bool { return item[0] != 'n' }
	s.memory.FirstNulls = hasOthers && s.context.Page == 1 && len(items) > 1 && !slices.ContainsFunc(items, isNoNull)
	s.memory.HadOthers = s.memory.HadOthers || hasOthers
}

// compareKinds notices items of a list that are not objects, given the index of the list.
func (s errorSearch) compareKinds(items [][]byte, list int) {
	only := s.context.Page > 1 && !s.memory.HadOthers && !slices.ContainsFunc(items, isObject) &&
		!(len(items) == 1 && items[0][0] == 'n')
	isStrange := func(item []byte) bool { // the names of page 1 are only looked up for a failure
		return item[0] == '"' && apinames.SaysFailure(string(item)) &&
			(len(s.firstNames(list)) > 0 || slices.ContainsFunc(items, isObject))
	}
	for _, item := range items {
		if (only || isStrange(item)) && s.firstNames(list) != nil {
			s.reportError("an item is "+wording.Clip(string(item), 60)+", where the list has objects", rules.DoubtNone)
			return
		}
	}
}

// noticeListInItems notices a response that is a list of an object and the list of items, if it was taken for the list
// of items itself: [{"pages": 2}, [{"id": 1}]].
func (s errorSearch) noticeListInItems(items [][]byte) {
	if s.reading.Place == rules.ContextBody && len(items) == 2 && isObject(items[0]) && items[1][0] == '[' {
		list := wording.Clip(string(items[1]), 60)
		s.reportError("it is a list of an object and "+list+", which may be the list of items (dataField 1)", rules.DoubtNone)
	}
}

func isObject(item []byte) bool { return item[0] == '{' }

// noticeMessage notices a message on a page without items, in its root or next to the place of the
// items, if the first page has no message of the kind: {"message": "Rate limit exceeded"}. Beside an empty list
// on the first page, a caption does not count, since no page before shows that the API has none.
func (s errorSearch) noticeMessage(state string, complains func(message string) bool, doubt rules.ErrorDoubt) {
	first, page := s.context.Page == 1 && s.reading.HasField, s.pageOfErrors(messagePaths())
	for _, path := range apinames.ErrorMessagesIn(page.Body) {
		if first && apinames.Key(path[len(path)-1]).IsErrorCaption() {
			continue
		}
		read := language.Read{Root: rules.ContextBody, Path: path}
		v, _ := read.Lookup(page)
		near := len(path) == 1 || !apinames.Key(path[len(path)-1]).IsErrorCaption()
		if text, ok := v.(string); ok && near && !s.isUsual(read.String(), text) && complains(text) {
			s.reportError(read.String()+" is "+shortText(v)+", and "+state, doubt)
			return
		}
	}
}
