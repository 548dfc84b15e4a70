package evidence

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// maxErrorBody is the size of the largest body that is searched for an error: a body with an error
// in place of items is small.
const maxErrorBody = 1 << 20

// noticeError notices a body that reports an error despite a status of success: a page without items, a
// page with an error next to its data, in place of one of its lists, or as its last line.
func (w *Watcher) noticeError() {
	c := w.context
	if w.hasError() || c.Status >= http.StatusBadRequest || w.page.Lookup == nil {
		return
	}
	w.noticeOpenEnd()
	if !w.subject.listsErrors {
		w.noticeStranger()
	}
	if !w.hasError() {
		w.noticeLastLine()
	}
	if w.hasError() || w.page.Bytes > maxErrorBody {
		return
	}
	w.noticeErrorOfLists()
	if c.Count > 0 {
		w.noticeErrorBesideItems()
	} else {
		w.noticeErrorWithoutItems()
		w.noticeChange()
	}
}

// noticeOpenEnd notices a page in NDJSON or CSV that may be cut off: it ends within a line, and only the connection ends it.
// That is certain if another page ends with a whole line.
func (w *Watcher) noticeOpenEnd() {
	if w.page.Open {
		text := "its last line has no end, and only the connection ends the response, so it may be cut off"
		if w.history.Ended {
			text += "; an earlier page ends with a whole line"
		}
		w.reportError(text)
		w.history.Facts.ErrorOfItem = !w.history.Ended
	}
	w.history.Ended = w.history.Ended || w.page.Ended
}

// hasError reports whether an error is known that is certainly one.
func (w *Watcher) hasError() bool {
	return w.history.Facts.Error != "" && !w.history.Facts.ErrorMild && !w.history.Facts.ErrorOfItem
}

// reportError records an error on the last page, unless one is known already. It replaces an error that may
// mean something else.
func (w *Watcher) reportError(text string) {
	if f := &w.history.Facts; !w.hasError() {
		f.Error, f.ErrorPage, f.ErrorMild, f.ErrorOfItem = text, w.context.Page, false, false
	}
}

// noticeErrorBesideItems notices an error on a page with items.
func (w *Watcher) noticeErrorBesideItems() {
	if w.page.Columns != nil {
		w.noticeStrangeHeader()
	}
	if w.history.Facts.AbsentPage == w.context.Page {
		w.noticeMessage("there is no list at "+w.history.Facts.AbsentList, apinames.IsFailure)
	}
	if empty := w.emptyList(); empty != "" {
		w.noticeMessage(empty+" is empty", apinames.IsFailure)
	}
	if w.subject.listsErrors {
		return
	}
	w.noticeOtherItems()
	w.noticeErrorItem(w.strange)
	w.noticeListOfErrors()
	if w.page.HasErrors {
		w.noticeSign(w.subject.beside, w.subject.besidePaths())
	}
}

// emptyList returns the path of the first of several lists that is empty, or "".
func (w *Watcher) emptyList() string {
	for i, list := range w.listsOf() {
		if w.page.Lists[i].Items.Len() == 0 {
			return list.Text
		}
	}
	return ""
}

// noticeErrorWithoutItems notices an error on a page without items.
func (w *Watcher) noticeErrorWithoutItems() {
	c := w.context
	w.noticeSign(apinames.ErrorSigns(), errorPaths())
	if w.noticeListForObject(); w.hasError() {
		return
	}
	switch {
	case w.page.Columns != nil:
		w.noticeStrangeHeader()
	case w.lostItems():
		complains := func(text string) bool { return apinames.IsComplaint(text) && !apinames.SaysPastEnd(text) }
		if root, _ := w.lookup(nil); saysSuccess(root) {
			complains = apinames.IsFailure
		}
		w.noticeMessage("there is no list of items", complains)
	case w.page.HasField && (c.Page == 1 || len(w.history.FirstPaths) > 0):
		w.noticeMessage("the list of items is empty", apinames.IsFailure)
	case c.Page == 1:
		w.noticeMessage("there is no list of items", apinames.IsFailure)
		if w.history.Facts.Error == "" && w.hasOnlyErrors() {
			w.noticeMessage("there is no list of items", apinames.IsComplaint)
			w.history.Facts.ErrorMild = w.history.Facts.Error != ""
		}
	}
	if !w.page.HasField && !w.hasError() {
		w.noticeErrorBelow()
	}
}

// saysSuccess reports whether a body says that the request has succeeded.
func saysSuccess(body any) bool {
	object, _ := value.Members(body)
	return slices.ContainsFunc(object, func(m rules.Member) bool { return apinames.IsSuccess(m.Name, m.Value) })
}

// noticeErrorBelow notices an error in the objects to which a page without the list leads, as documents of XML
// do: {"soap:Envelope": {"soap:Body": {"soap:Fault": …}}}. Only words of failure count as a message there.
func (w *Watcher) noticeErrorBelow() {
	for path := []string{}; len(path) < maxErrorDepth && !w.hasError(); {
		v, _ := w.lookup(path)
		object, ok := value.Members(v)
		if !ok || slices.ContainsFunc(namesOf(object), apinames.IsIdentifier) { // an item
			return
		}
		w.noticeErrorIn(object, path, "", scan.Null)
		for _, m := range object {
			inner, ok := value.Members(m.Value)
			if ok && apinames.HoldsErrors(m.Name) && !w.hasError() {
				w.noticeErrorIn(inner, append(slices.Clip(path), m.Name), "", scan.Null)
			}
		}
		object = slices.DeleteFunc(object, func(m rules.Member) bool { // attributes, and the header of SOAP
			return strings.HasPrefix(m.Name, "@") || localName(m.Name) == "Header"
		})
		if len(object) != 1 {
			return
		}
		path = append(path, object[0].Name)
	}
}

// maxErrorDepth is the largest number of objects within each other that are searched for an error.
const maxErrorDepth = 4

// localName returns the name of an element of XML without the prefix of its namespace: Fault for soap:Fault.
func localName(name string) string { return name[strings.LastIndexByte(name, ':')+1:] }

// noticeSign notices the first of some signs that the page has, given the paths of the signs and of messages. An
// object above the list that has an identifier may be an item, so that the error may be a part of it. A status is
// part of such an item, and beside items always may be.
func (w *Watcher) noticeSign(signs []apinames.ErrorSign, paths *document.Paths) {
	c, page := w.context, w.pageOfErrors(paths)
	for _, sign := range signs {
		read := language.Read{Root: "body", Path: sign.Keys}
		v, present := read.Lookup(page)
		if !present || !w.isError(sign, v, page, w.page.HasField) {
			continue
		}
		parent := sign.Keys[:len(sign.Keys)-1]
		mayBeOfItem := c.Count > 0 && (len(parent) > 0 || sign.IsCode() || w.readsRoot())
		isOfItem := mayBeOfItem && slices.ContainsFunc(w.page.Names(parent), apinames.IsIdentifier)
		isMild := isOfItem || c.Count > 0 && sign.IsCode()
		if isOfItem && sign.IsCode() || isMild && w.history.Facts.Error != "" {
			continue
		}
		w.reportError(read.String() + " is " + shortText(v) + errorMessage(page, sign.Keys))
		if text, isText := v.(string); isText && c.Page == 1 && c.Count == 0 && w.page.HasField {
			w.history.Facts.ErrorMild = !apinames.IsComplaint(text)
		}
		if w.history.Facts.ErrorOfItem = isMild; !isMild {
			return
		}
	}
}

// isError reports whether the value at the path of a sign is an error. A code is not an error if the page has the
// list and a message that there are no items, nor is a denial of success if the message says nothing else. After
// page 1, such a message excuses any sign of a page without items, and so does one within the error.
func (w *Watcher) isError(sign apinames.ErrorSign, v any, page *rules.Context, hasList bool) bool {
	if !sign.Matches(v) || sign.IsCode() && hasList && w.saysEmpty(v, page) ||
		sign.Kind == apinames.ErrorDenial && hasList && w.context.Count == 0 && hasMessage(page, apinames.SaysNoMore) {
		return false
	}
	return w.context.Page == 1 || w.context.Count > 0 || !w.isExcused(v, page)
}

// isExcused reports whether a page has a message that there are no items, beside an error or within it.
func (w *Watcher) isExcused(v any, page *rules.Context) bool {
	object, _ := value.Members(v)
	code, _ := object.Get("code")
	if text, _ := v.(string); apinames.SaysPastEnd(text) {
		return true
	}
	return w.saysEmpty(v, page) || w.saysEmpty(code, &rules.Context{Body: object})
}

// saysEmpty reports whether a page has a message that there are no items, beside a code. After page 1, where the API has
// shown what a page is, the message must say nothing else, save beside a code of 404.
func (w *Watcher) saysEmpty(code any, page *rules.Context) bool {
	says := func(message string) bool { return !apinames.IsComplaint(message) }
	if w.context.Page > 1 && code != http.StatusNotFound && code != "404" {
		says = func(message string) bool { return apinames.SaysNoMore(message) || apinames.SaysPastEnd(message) }
	}
	return hasMessage(page, says)
}

// hasMessage reports whether a page has a message with a meaning.
func hasMessage(page *rules.Context, says func(message string) bool) bool {
	return slices.ContainsFunc(apinames.ErrorMessages(), func(path []string) bool {
		message, _ := language.Read{Root: "body", Path: path}.Lookup(page)
		text, _ := message.(string)
		return text != "" && says(text)
	})
}

// readsRoot reports whether the response itself is the only item.
func (w *Watcher) readsRoot() bool {
	field := w.subject.job.Spec().DataField
	return field != nil && field.Lists == nil && len(field.Keys) == 0 && w.context.Count == 1
}

// hasOnlyErrors reports whether all members of the root of the page are usual for errors and their messages.
func (w *Watcher) hasOnlyErrors() bool {
	names := w.page.Names(nil)
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !apinames.NamesError(name) })
}

// listsErrors reports whether a job lists errors on purpose, given the signs of errors next to its items.
func listsErrors(job *rules.Job, beside []apinames.ErrorSign) bool {
	return job.DataField == nil && strings.Contains(strings.ToLower(job.Endpoint), "error") ||
		job.DataField != nil && slices.ContainsFunc(beside, func(sign apinames.ErrorSign) bool {
			n := len(sign.Keys)
			return n <= len(job.DataField.Keys) && slices.Equal(job.DataField.Keys[:n], sign.Keys)
		})
}

// pageOfErrors returns a context whose body has the values of the last response at the paths of errors and
// their messages.
func (w *Watcher) pageOfErrors(paths *document.Paths) *rules.Context {
	body, _ := w.page.Lookup(paths) // without an error, since the values at other paths were decoded
	return &rules.Context{Body: body}
}

// noticeErrorOfLists notices an error of a single list of the page: in its place, in an object that leads
// to it, or below a star of its path.
func (w *Watcher) noticeErrorOfLists() {
	if stray := w.page.Stray; stray != nil && (w.history.Facts.Error == "" || !stray.Named) {
		w.reportError(rules.FormatPath("body", stray.Path) + " is " + shortText(stray.Value))
		w.history.Facts.ErrorOfItem = stray.Named
	}
	for i, list := range w.subject.lists {
		if w.page.Found[i] == scan.Object && !list.star {
			w.noticeObjectForList(i, list.keys)
		}
		if w.page.Lists[i].Items.Len() == 0 {
			w.noticeErrorAbove(list.keys, w.page.Found[i])
		}
	}
}

// noticeErrorAbove notices an error in an object that leads to an empty list, or would lead to an absent one, or in
// place of such an object: {"users": {"error": "expired"}}, {"users": "Too many requests"}. found is the kind of
// the list, or "".
func (w *Watcher) noticeErrorAbove(keys []string, found scan.Kind) {
	for depth := 1; depth < len(keys); depth++ {
		v, _ := w.lookup(keys[:depth])
		if object, ok := value.Members(v); ok {
			if w.noticeErrorIn(object, keys[:depth], keys[depth], found); w.hasError() {
				return
			}
			continue
		}
		if list, ok := v.([]any); v == nil || v == "" || ok && len(list) == 0 { // an empty object, as PHP writes it
			return
		}
		if text, _ := value.Marshal(v); w.lostItems() || apinames.IsFailure(string(text)) {
			at := rules.FormatPath("body", keys[:depth])
			w.reportError(at + " is " + shortText(v) + ", where an object with the list of items should be")
		}
		return
	}
}

// noticeErrorIn notices an error among the members of an object above a list of the given kind, which the member
// with the given key leads to. A message counts only if page 1 has none.
func (w *Watcher) noticeErrorIn(object rules.Object, parent []string, key string, found scan.Kind) {
	page := &rules.Context{Body: object}
	complains := apinames.IsFailure
	if found == "" && w.context.Page > 1 {
		complains = apinames.IsComplaint
	}
	for _, m := range object {
		if m.Name == key {
			continue
		}
		at := rules.FormatPath("body", append(slices.Clip(parent), m.Name))
		name := strings.TrimPrefix(m.Name, "@") // an attribute of XML
		local := localName(name)
		text, _ := m.Value.(string)
		isMessage := apinames.IsErrorMessage(name) || name == "#text"
		isCaption := w.context.Page == 1 && found != "" && apinames.IsCaption(name)
		isSign := func(sign apinames.ErrorSign) bool { return w.isError(sign, m.Value, page, found != "") }
		if isMessage && !isCaption && !w.isUsual(at, text) && complains(text) || slices.ContainsFunc(apinames.ErrorSignsOf(local), isSign) {
			w.reportError(at + " is " + shortText(m.Value) + errorMessage(page, []string{m.Name}))
			w.history.Facts.ErrorOfItem = w.isKnown(at) && slices.ContainsFunc(namesOf(object), apinames.IsIdentifier)
			return
		}
	}
}

// errorMessage returns the text of a body that describes the error at a path, apart from the value
// there.
func errorMessage(page *rules.Context, sign []string) string {
	for _, path := range apinames.ErrorMessages() {
		read := language.Read{Root: "body", Path: path}
		if v, present := read.Lookup(page); present && !slices.Equal(path, sign) {
			if text, ok := v.(string); ok && text != "" {
				return " (" + read.String() + ": " + value.Clip(text, 120) + ")"
			}
		}
	}
	return ""
}

// errorPaths are the paths that are searched for errors on a page without items.
var errorPaths = sync.OnceValue(func() *document.Paths { return pathsOfErrors(apinames.ErrorSigns()) })

// pathsOfErrors returns the paths of signs of errors and of messages.
func pathsOfErrors(signs []apinames.ErrorSign) *document.Paths {
	paths := slices.Clone(apinames.ErrorMessages())
	for _, sign := range signs {
		paths = append(paths, sign.Keys)
	}
	return document.NewPaths(paths)
}
