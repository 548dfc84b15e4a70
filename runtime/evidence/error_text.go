package evidence

import (
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
)

// noticeTextForObject notices a text among the items of a list whose first item is an object:
// {"data": ["service unavailable"]}. A text counts if its words report a failure, or if a later page has only texts and
// no earlier page had one. Of several lists, only the first items are compared.
func (w *Watcher) noticeTextForObject() {
	isText := func(item []byte) bool { return item[0] == '"' }
	unusual := w.Context.Page > 1 && !w.HadTexts
	notice := func(item []byte, known []string, unusual bool) bool {
		if known == nil || !isText(item) || !unusual && !apinames.IsFailure(string(item)) {
			return false
		}
		w.reportError("an item is " + value.Clip(string(item), 60) + ", where the list has objects")
		return true
	}
	items := w.page.Compared
	hasTexts := slices.ContainsFunc(items, isText)
	if w.listsOf() != nil {
		for i, list := range w.page.Lists {
			for item := range list.Items.All() {
				notice(item, w.firstNames(i), unusual)
				break
			}
		}
	} else if hasTexts {
		unusual = unusual && !slices.ContainsFunc(items, func(item []byte) bool { return !isText(item) })
		for _, item := range items {
			if notice(item, w.FirstNames, unusual) {
				break
			}
		}
	}
	w.HadTexts = w.HadTexts || hasTexts
}

// noticeMessage notices a message on a page without items, in its root or next to the place of the
// items, if the first page has no message of the kind: {"message": "Rate limit exceeded"}. Beside an empty list
// on the first page, a caption does not count, since no page before shows that the API has none.
func (w *Watcher) noticeMessage(state string, complains func(message string) bool) {
	first, page := w.Context.Page == 1 && w.page.HasField, w.pageOfErrors(errorPaths())
	for _, path := range apinames.ErrorMessages() {
		if first && apinames.IsCaption(path[len(path)-1]) {
			continue
		}
		read := language.Read{Root: "body", Path: path}
		v, _ := read.Lookup(page)
		near := len(path) == 1 || !apinames.IsCaption(path[len(path)-1])
		if text, ok := v.(string); ok && near && !w.isUsual(read.String(), text) && complains(text) {
			w.reportError(read.String() + " is " + shortText(v) + ", and " + state)
			return
		}
	}
}

// isUsual reports whether a message on a later page can be ignored, because page 1 has a message at the same path, unless
// only this one reports a failure.
func (w *Watcher) isUsual(at, text string) bool {
	return w.isKnown(at) && (slices.Contains(w.FirstFailures, at) || !apinames.IsFailure(text))
}

// isKnown reports whether a later page has a value at a path of the first page.
func (w *Watcher) isKnown(at string) bool {
	return w.Context.Page > 1 && slices.Contains(w.FirstPaths, at)
}
