package evidence

import (
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// A status is a value of a page, in its root or next to its items, whose name tells of an error or its message.
type status struct {
	at, name string
	value    any
}

// statuses returns the statuses of the last page. They are nil if it has none.
func (w *Watcher) statuses() (statuses []status) {
	paths := slices.DeleteFunc(w.placesOfItems(), func(path []string) bool {
		isItems := func(list itemList) bool { return slices.Equal(list.keys, path) }
		return !apinames.IsStatus(path[len(path)-1]) || slices.ContainsFunc(w.subject.lists, isItems)
	})
	if len(paths) == 0 {
		return nil
	}
	body, _ := w.page.Lookup(document.NewPaths(paths))
	for _, path := range paths {
		if v, present := (language.Read{Root: "body", Path: path}).Lookup(&rules.Context{Body: body}); present {
			statuses = append(statuses, status{rules.FormatPath("body", path), path[len(path)-1], v})
		}
	}
	return statuses
}

// rememberStatuses remembers the statuses of page 1.
func (w *Watcher) rememberStatuses() {
	w.history.FirstFailures, w.history.FirstStatuses = nil, nil
	for _, s := range w.statuses() {
		switch {
		case apinames.IsFailedStatus(s.name, s.value):
			w.history.FirstFailures = append(w.history.FirstFailures, s.at)
		case !apinames.IsErrorMessage(s.name):
			if w.history.FirstStatuses == nil {
				w.history.FirstStatuses = map[string]string{}
			}
			w.history.FirstStatuses[s.at] = shortText(s.value)
		}
	}
}

// noticeChange notices a status of the last page that reports an error where page 1 has none, or another value:
// {"code": 50001} after {"code": 0}. Since page 1 shows how the API describes a good page, an API's own codes tell
// of an error here, and so do signs next to items that may mean something else on page 1.
func (w *Watcher) noticeChange() {
	if w.hasError() || w.context.Page == 1 || len(w.history.FirstPaths) == 0 || w.page.Lookup == nil || w.page.Bytes > maxErrorBody ||
		w.subject.listsErrors {
		return
	}
	statuses := w.statuses()
	member := func(s status) rules.Member { return rules.Member{Name: s.name, Value: s.value} }
	page := &rules.Context{Body: rules.Object(value.Map(statuses, member))}
	for _, s := range statuses {
		first, isKnown := w.history.FirstStatuses[s.at]
		text := shortText(s.value)
		switch {
		case slices.Contains(w.history.FirstFailures, s.at), isKnown && text == first, w.isKnown(s.at) && apinames.IsCaption(s.name),
			text == "0" && first != "1", // the number of items that succeeded
			w.context.Count == 0 && w.isExcused(s.value, page):
			continue
		}
		if !apinames.IsFailedStatus(s.name, s.value) && !apinames.IsOwnCode(s.name, s.value) {
			continue
		}
		if !isKnown {
			first = "none"
		}
		w.reportError(s.at + " is " + text + errorMessage(page, []string{s.name}) + ", and page 1 has " + first)
		return
	}
}
