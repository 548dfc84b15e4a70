package evidence

import (
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// noticeListForObject notices a list in the place of the object with the items: [{"errorCode": "LIMIT"}]. On page 1, a
// list of other objects may be the list of items: see [Watcher.missing]. A list of which dataField reads an element is in its
// place, unless it is an error.
func (s errorSearch) noticeListForObject() {
	field := s.subject.job.Spec().DataField
	if field == nil || len(field.Keys) == 0 || s.reading.HasField || s.reading.Lines {
		return
	}
	root, _ := s.lookup(nil)
	list, _ := root.([]any)
	if len(list) == 0 {
		return
	}
	container := "an object"
	object, ok := value.Members(list[0])
	isError := !ok || s.context.Page > 1 || apinames.IsErrorObject(object)
	if scan.Index(field.Keys[0]) >= 0 {
		container, isError = "a list", s.isErrorList(list)
	}
	if isError {
		s.reportError("the response is "+shortText(root)+", where "+container+" with "+field.Text+" (dataField) should be", rules.DoubtNone)
	}
}

// isErrorList reports whether a list that lacks the element with the items is an error: its first element is a text that
// complains, or an object that only has the members of errors, as in [{"message": [{"key": "Invalid value"}]}]. On a page
// after the first, any such text or object is an error.
func (s errorSearch) isErrorList(list []any) bool {
	complains := func(text string) bool { return s.context.Page > 1 || apinames.SaysFailure(text) }
	if text, ok := list[0].(string); ok {
		return complains(text)
	}
	object, _ := value.Members(list[0])
	isOther := func(m rules.Member) bool { return !apinames.Key(m.Name).NamesErrors() }
	if len(object) == 0 || slices.ContainsFunc(object, isOther) {
		return false
	}
	text, _ := value.Marshal(object)
	return complains(string(text)) || apinames.IsErrorObject(object)
}

// noticeErrorItem notices an item without an identifier that is an error: it has only members that errors
// usually have, and none of the members of a usual item of the list. The only item of page 1 is certainly
// an error if it says so under a name that has no other meaning.
func (s errorSearch) noticeErrorItem(item []byte) {
	if item == nil {
		return
	}
	object, _ := membersOf(item)
	names := s.first.FirstNames
	if s.context.Page == 1 {
		names = usualNames(slices.Values(s.reading.Compared))
	}
	isMild := s.mayBeKind(object, s.reading.Compared)
	switch isMember := func(m rules.Member) bool { return slices.Contains(names, m.Name) }; {
	case s.context.Page == 1 && s.context.Count == 1:
		isMild = !apinames.HasError(object)
	case len(names) == 0 || slices.ContainsFunc(object, isMember):
		return
	}
	if !s.hasCertainError() {
		s.reportError("an item is "+shortText(object), mayBeItemIf(isMild))
	}
}

// mayBeKind reports whether an item with an error may be of one of several kinds, each wrapped in its name, given the items of
// the page: {"click": {…}}, {"view": {…}}, {"error": {…}}. Items of two other kinds must be among them, or on page 1.
func (s errorSearch) mayBeKind(item rules.Object, items [][]byte) bool {
	return kindOf(item) != "" && (s.memory.Kinds || haveKinds(items, kindOf(item)))
}

// haveKinds reports whether each of some items is wrapped in the name of its kind, and there are two kinds other than the
// given one.
func haveKinds(items [][]byte, except string) bool {
	var kinds []string
	for _, raw := range items {
		object, _ := membersOf(raw)
		kind := kindOf(object)
		if kind == "" {
			return false
		}
		if kind != except {
			kinds = lists.AppendNew(kinds, kind)
		}
	}
	return len(kinds) > 1
}

// kindOf returns the name of the only member of an object if its value is an object, and otherwise "".
func kindOf(item rules.Object) string {
	if len(item) != 1 {
		return ""
	}
	if _, wraps := value.Members(item[0].Value); !wraps {
		return ""
	}
	return item[0].Name
}

// noticeListOfErrors notices that the only list of the only page has the name of errors: {"Errors": [{"Message": "bad"}]}.
// Without dataField, it is taken for the list of items.
func (s errorSearch) noticeListOfErrors() {
	name := strings.TrimPrefix(s.reading.Place, "body.")
	isOfErrors := apinames.Key(name).NamesOnlyErrors() || apinames.Key(strings.ToLower(name)).NamesOnlyErrors()
	if s.context.Page > 1 || !isOfErrors {
		return
	}
	for item := range s.reading.Items.All() {
		s.reportError(s.reading.Place+" has "+wording.Clip(string(item), 60)+", and there is no other list", rules.DoubtNone)
		return
	}
}

// noticeObjectForList notices an object in the place of the list with the given index, if page 1 has a
// list there and the object has no member of its items: {"data": {"code": 500}}. An object that is like an
// item may be the only item of a page. Page 1 has no page before to differ from, so there only an error
// counts, and an object that PHP has made of a list; see [apinames.IsErrorObject] and [document.IsNumbered]. An empty object is an
// empty list.
func (s errorSearch) noticeObjectForList(index int, keys []string) {
	found, _ := s.lookup(keys)
	object, _ := value.Members(found)
	text := keypath.Format(rules.ContextBody, keys) + " is " + shortText(found)
	known := s.firstNames(index)
	isItem := func(m rules.Member) bool { return slices.Contains(known, m.Name) }
	switch {
	case len(object) == 0 && len(keys) > 0:
	case s.context.Page == 1 || known == nil:
		if apinames.IsErrorObject(object) {
			s.reportError(text+", which is not a list", rules.DoubtNone)
		} else if document.IsNumbered(object) {
			s.reportError(text+", which seems to be a list of its members (dataField "+s.nameOfList(index)+".*)", rules.DoubtNone)
		}
	case !slices.ContainsFunc(object, isItem):
		s.reportError(text+", where page 1 has a list, and has no member of its items", rules.DoubtNone)
	}
}
