package evidence

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
)

// noticeListForObject notices a list in the place of the object with the items: [{"errorCode": "LIMIT"}]. On page 1, a
// list of other objects may be the list of items: see [Watcher.missing].
func (w *Watcher) noticeListForObject() {
	field := w.subject.job.Spec().DataField
	if field == nil || len(field.Keys) == 0 || w.page.HasField || w.page.Lines {
		return
	}
	root, _ := w.lookup(nil)
	list, _ := root.([]any)
	if len(list) == 0 {
		return
	}
	if object, ok := value.Members(list[0]); !ok || w.context.Page > 1 || apinames.IsErrorObject(object) {
		w.reportError("the response is " + shortText(root) + ", where an object with " + field.Text + " (dataField) should be")
	}
}

// noticeErrorItem notices an item without an identifier that is an error: it has only members that errors
// usually have, and none of the members of the first item of the list. The only item of page 1 is certainly
// an error if it says so under a name that has no other meaning.
func (w *Watcher) noticeErrorItem(item []byte) {
	if item == nil {
		return
	}
	object, _ := membersOf(item)
	names := w.history.FirstNames
	if w.context.Page == 1 {
		first, _ := membersOf(w.page.Compared[0])
		names = namesOf(first)
	}
	isMild := false
	switch isMember := func(m rules.Member) bool { return slices.Contains(names, m.Name) }; {
	case w.context.Page == 1 && w.context.Count == 1:
		isMild = !apinames.HasError(object)
	case len(names) == 0 || slices.ContainsFunc(object, isMember):
		return
	}
	if !w.hasError() {
		w.reportError("an item is " + shortText(object))
		w.history.Facts.ErrorOfItem = isMild
	}
}

// noticeListOfErrors notices that the only list of the only page has the name of errors: {"Errors": [{"Message": "bad"}]}.
// Without dataField, it is taken for the list of items.
func (w *Watcher) noticeListOfErrors() {
	name := strings.TrimPrefix(w.page.Place, "body.")
	isOfErrors := apinames.NamesErrors(name) || apinames.NamesErrors(strings.ToLower(name))
	if w.context.Page > 1 || !isOfErrors {
		return
	}
	for item := range w.page.Items.All() {
		w.reportError(w.page.Place + " has " + value.Clip(string(item), 60) + ", and there is no other list")
		return
	}
}

// noticeObjectForList notices an object in the place of the list with the given index, if page 1 has a
// list there and the object has no member of its items: {"data": {"code": 500}}. An object that is like an
// item may be the only item of a page. Page 1 has no page before to differ from, so there only an error
// counts, and an object that PHP has made of a list; see [apinames.IsErrorObject] and [isNumbered]. An empty object is an
// empty list.
func (w *Watcher) noticeObjectForList(index int, keys []string) {
	found, _ := w.lookup(keys)
	object, _ := value.Members(found)
	text := rules.FormatPath("body", keys) + " is " + shortText(found)
	known := w.firstNames(index)
	isItem := func(m rules.Member) bool { return slices.Contains(known, m.Name) }
	switch {
	case len(object) == 0 && len(keys) > 0:
	case w.context.Page == 1 || known == nil:
		if apinames.IsErrorObject(object) {
			w.reportError(text + ", which is not a list")
		} else if isNumbered(object) {
			w.reportError(text + ", which seems to be a list of its members (dataField " + w.nameOfList(index) + ".*)")
		}
	case !slices.ContainsFunc(object, isItem):
		w.reportError(text + ", where page 1 has a list, and has no member of its items")
	}
}

// isNumbered reports whether the members of an object are objects whose names are numbers, from 0, as PHP writes a list after
// a filter: {"0": {"id": 1}, "2": {"id": 3}}.
func isNumbered(object rules.Object) bool {
	_, hasFirst := object.Get("0")
	return hasFirst && !slices.ContainsFunc(object, func(m rules.Member) bool {
		_, err := strconv.ParseUint(m.Name, 10, 32)
		_, isObject := value.Members(m.Value)
		return err != nil || !isObject
	})
}

// firstNames returns the names of the members of the first item of a list on page 1, given the index of the
// list. They are nil if page 1 has no item of it.
func (w *Watcher) firstNames(index int) []string {
	if w.context.Page == 1 {
		w.rememberFirst()
	}
	if w.listsOf() == nil {
		return w.history.FirstNames
	}
	if index < len(w.history.NamesByList) {
		return w.history.NamesByList[index]
	}
	return nil
}
