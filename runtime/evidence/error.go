package evidence

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode"

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
	c := w.Context
	if w.hasError() || c.Status >= http.StatusBadRequest || w.page.Lookup == nil || w.page.Bytes > maxErrorBody {
		return
	}
	w.noticeErrorOfLists()
	if c.Count > 0 {
		w.noticeErrorBesideItems()
	} else {
		w.noticeErrorWithoutItems()
	}
}

// hasError reports whether an error is known that is certainly one.
func (w *Watcher) hasError() bool {
	return w.Facts.Error != "" && !w.Facts.ErrorMild && !w.Facts.ErrorOfItem
}

// reportError records an error on the last page, unless one is known already. It replaces an error that may
// mean something else.
func (w *Watcher) reportError(text string) {
	if f := &w.Facts; !w.hasError() {
		f.Error, f.ErrorPage, f.ErrorMild, f.ErrorOfItem = text, w.Context.Page, false, false
	}
}

// noticeErrorBesideItems notices an error on a page with items.
func (w *Watcher) noticeErrorBesideItems() {
	if w.page.Columns != nil {
		w.noticeStrangeHeader()
	}
	if w.Facts.AbsentPage == w.Context.Page {
		w.noticeMessage("there is no list at "+w.Facts.AbsentList, apinames.IsFailure)
	}
	if empty := w.emptyList(); empty != "" {
		w.noticeMessage(empty+" is empty", apinames.IsFailure)
	}
	if w.listsErrors() {
		return
	}
	w.noticeErrorLine()
	w.noticeTextForObject()
	w.noticeErrorItem(w.strange)
	w.noticeListOfErrors()
	if w.page.HasErrors {
		w.noticeSign(w.Subject.beside, w.Subject.besidePaths)
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
	c := w.Context
	w.noticeSign(apinames.ErrorSigns(), errorPaths())
	if w.noticeListForObject(); w.hasError() {
		return
	}
	switch {
	case w.page.Columns != nil:
		w.noticeStrangeHeader()
	case w.lostItems():
		complains := apinames.IsComplaint
		if root, _ := w.lookup(nil); saysSuccess(root) {
			complains = apinames.IsFailure
		}
		w.noticeMessage("there is no list of items", complains)
	case w.page.HasField && (c.Page == 1 || len(w.FirstPaths) > 0):
		w.noticeMessage("the list of items is empty", apinames.IsFailure)
	case c.Page == 1:
		w.noticeMessage("there is no list of items", apinames.IsFailure)
		if w.Facts.Error == "" && w.hasOnlyErrors() {
			w.noticeMessage("there is no list of items", apinames.IsComplaint)
			w.Facts.ErrorMild = w.Facts.Error != ""
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

// noticeListForObject notices a list in the place of the object with the items: [{"errorCode": "LIMIT"}]. On page 1, a
// list of other objects may be the list of items: see [Watcher.missing].
func (w *Watcher) noticeListForObject() {
	field := w.Subject.job.Spec().DataField
	if field == nil || len(field.Keys) == 0 || w.page.HasField || w.page.Lines {
		return
	}
	root, _ := w.lookup(nil)
	list, _ := root.([]any)
	if len(list) == 0 {
		return
	}
	if object, ok := value.Members(list[0]); !ok || w.Context.Page > 1 || apinames.IsErrorObject(object) {
		w.reportError("the response is " + shortText(root) + ", where an object with " + field.Text + " (dataField) should be")
	}
}

// noticeSign notices the first of some signs that the page has, given the paths of the signs and of messages. An
// object above the list that has an identifier may be an item, so that the error may be a part of it. A status is
// part of such an item, and beside items always may be.
func (w *Watcher) noticeSign(signs []apinames.ErrorSign, paths *document.Paths) {
	c, page := w.Context, w.pageOfErrors(paths)
	for _, sign := range signs {
		read := language.Read{Root: "body", Path: sign.Keys}
		v, present := read.Lookup(page)
		if !present || !w.isError(sign, v, page, w.page.HasField) {
			continue
		}
		parent := sign.Keys[:len(sign.Keys)-1]
		isOfItem := c.Count > 0 && (len(parent) > 0 || sign.IsCode()) && slices.ContainsFunc(w.page.Names(parent), apinames.IsIdentifier)
		isMild := isOfItem || c.Count > 0 && sign.IsCode()
		if isOfItem && sign.IsCode() || isMild && w.Facts.Error != "" {
			continue
		}
		w.reportError(read.String() + " is " + shortText(v) + errorMessage(page, sign.Keys))
		if text, isText := v.(string); isText && c.Page == 1 && c.Count == 0 && w.page.HasField {
			w.Facts.ErrorMild = !apinames.IsComplaint(text)
		}
		if w.Facts.ErrorOfItem = isMild; !isMild {
			return
		}
	}
}

// isError reports whether the value at the path of a sign is an error. A code is not an error if the page has the
// list and a message that there are no items. After page 1, where the API has shown what a page is, the message
// must say nothing else, save beside a code of 404.
func (w *Watcher) isError(sign apinames.ErrorSign, v any, page *rules.Context, hasList bool) bool {
	if !sign.Matches(v) || !sign.IsCode() || !hasList {
		return sign.Matches(v)
	}
	says := func(message string) bool { return !apinames.IsComplaint(message) }
	if w.Context.Page > 1 && v != http.StatusNotFound && v != "404" {
		says = apinames.SaysNoMore
	}
	return !slices.ContainsFunc(apinames.ErrorMessages(), func(path []string) bool {
		message, _ := language.Read{Root: "body", Path: path}.Lookup(page)
		text, _ := message.(string)
		return text != "" && says(text)
	})
}

// hasOnlyErrors reports whether all members of the root of the page are usual for errors and their messages.
func (w *Watcher) hasOnlyErrors() bool {
	names := w.page.Names(nil)
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !apinames.NamesError(name) })
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
	if stray := w.page.Stray; stray != nil && (w.Facts.Error == "" || !stray.Named) {
		w.reportError(rules.FormatPath("body", stray.Path) + " is " + shortText(stray.Value))
		w.Facts.ErrorOfItem = stray.Named
	}
	for i, list := range w.Subject.lists {
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
	if found == "" && w.Context.Page > 1 {
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
		isCaption := w.Context.Page == 1 && found != "" && apinames.IsCaption(name)
		isSign := func(sign apinames.ErrorSign) bool {
			return len(sign.Keys) == 1 && sign.Keys[0] == local && w.isError(sign, m.Value, page, found != "")
		}
		if isMessage && !isCaption && !w.isUsual(at, text) && complains(text) || slices.ContainsFunc(apinames.ErrorSigns(), isSign) {
			w.reportError(at + " is " + shortText(m.Value) + errorMessage(page, []string{m.Name}))
			w.Facts.ErrorOfItem = w.isKnown(at) && slices.ContainsFunc(namesOf(object), apinames.IsIdentifier)
			return
		}
	}
}

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

// noticeErrorItem notices an item without an identifier that is an error: it has only members that errors
// usually have, and none of the members of the first item of the list. The only item of page 1 is an error if it
// says so under a name that has no other meaning.
func (w *Watcher) noticeErrorItem(item []byte) {
	if item == nil {
		return
	}
	object, _ := membersOf(item)
	names := w.FirstNames
	if w.Context.Page == 1 {
		first, _ := membersOf(w.page.Compared[0])
		names = namesOf(first)
	}
	switch isMember := func(m rules.Member) bool { return slices.Contains(names, m.Name) }; {
	case w.Context.Page == 1 && w.Context.Count == 1:
		if !apinames.HasError(object) {
			return
		}
	case len(names) == 0 || slices.ContainsFunc(object, isMember):
		return
	}
	w.reportError("an item is " + shortText(object))
}

// noticeErrorLine notices a page in NDJSON whose last line is an error: it has no member of the other
// lines. If it shares members but lacks their identifier, and they lack its error, it may still be an item. The only
// line of the first page is an error if [apinames.IsErrorObject] says so.
func (w *Watcher) noticeErrorLine() {
	lines := w.page.Compared
	if !w.page.Lines || len(lines) == 0 {
		return
	}
	last, ok := membersOf(lines[len(lines)-1])
	firstNames := w.FirstNames
	if len(lines) > 1 {
		first, _ := membersOf(lines[0])
		firstNames = namesOf(first)
	}
	first := w.Context.Page == 1 && len(lines) == 1
	isLikeItem := func(m rules.Member) bool {
		return first && !apinames.NamesError(m.Name) || !first && slices.Contains(firstNames, m.Name)
	}
	if !ok {
		return
	}
	if slices.ContainsFunc(last, isLikeItem) {
		isNewError := func(m rules.Member) bool { return apinames.HasError(rules.Object{m}) && w.isNew(m.Name) }
		identified := slices.ContainsFunc(firstNames, apinames.IsIdentifier) && !slices.ContainsFunc(namesOf(last), apinames.IsIdentifier)
		if !first && identified && slices.ContainsFunc(last, isNewError) {
			w.reportError("its last line is " + shortText(last) + ", which has no identifier")
			w.Facts.ErrorOfItem = true
		}
		return
	}
	for _, sign := range apinames.ErrorSigns() {
		if v, has := last.Get(sign.Keys[0]); has && len(sign.Keys) == 1 && sign.Matches(v) {
			w.reportError("its last line is " + shortText(last) + ", which has no member of the other lines")
			return
		}
	}
}

// isNew reports whether no line of the page has a member with the given name, apart from the last line.
func (w *Watcher) isNew(name string) bool {
	lines := w.page.Compared
	return !slices.ContainsFunc(lines[:len(lines)-1], func(line []byte) bool {
		object, _ := membersOf(line)
		_, has := object.Get(name)
		return has
	})
}

// noticeListOfErrors notices that the only list of the only page has the name of errors: {"Errors": [{"Message": "bad"}]}.
// Without dataField, it is taken for the list of items.
func (w *Watcher) noticeListOfErrors() {
	name := strings.TrimPrefix(w.page.Place, "body.")
	isOfErrors := apinames.NamesErrors(name) || apinames.NamesErrors(strings.ToLower(name))
	if w.Context.Page > 1 || !isOfErrors {
		return
	}
	for item := range w.page.Items.All() {
		w.reportError(w.page.Place + " has " + value.Clip(string(item), 60) + ", and there is no other list")
		return
	}
}

// noticeStrangeHeader notices a page in CSV whose first line has no column of the first page. It may be a row,
// because the API sends the header only once; then the row is lost. It may also be a sentence about a failure, or, as
// the only line, a sentence that does not say that there is nothing. A few words may also be the name of a column.
func (w *Watcher) noticeStrangeHeader() {
	columns := w.page.Columns
	line := strings.Join(columns, ",")
	known := slices.ContainsFunc(columns, func(name string) bool { return slices.Contains(w.FirstNames, name) })
	strange := w.Context.Page > 1 && len(w.FirstNames) > 0 && !known
	switch single := w.Context.Count == 0; {
	case known && w.Context.Page > 1:
	case strange && !single:
		w.reportError("its first line is " + shortText(line) + ", which is not the header of page 1")
	case strange, single && isSentence(columns) && (apinames.IsFailure(line) || endsSentence(line) && apinames.IsComplaint(line)):
		w.reportError("its only line is " + shortText(line) + ", which is not the header of the list")
	case len(columns) == 1 && apinames.IsFailure(line) && !strings.Contains(line, "_") &&
		(single || isSentence(columns) && strings.Contains(line, ": ")):
		w.reportError("its first line is " + shortText(line) + ", which may be no header")
		w.Facts.ErrorOfItem = true
	}
}

// isSentence reports whether the columns of a header are those of a sentence and not names: there is one, or a
// space after a comma, and a word after the first is not written like a name.
func isSentence(columns []string) bool {
	for i, column := range columns {
		if i > 0 && !strings.HasPrefix(column, " ") {
			return false
		}
	}
	words := strings.Fields(strings.Join(columns, ","))
	return len(words) > 1 && slices.ContainsFunc(words[1:], func(word string) bool { return unicode.IsLower([]rune(word)[0]) })
}

// endsSentence reports whether a text ends like a sentence of several words.
func endsSentence(text string) bool {
	text = strings.TrimSpace(text)
	return len(strings.Fields(text)) > minWords && (strings.HasSuffix(text, ".") || strings.HasSuffix(text, "!"))
}

// minWords is the largest number of words in the name of a column that may end with a full stop: Date of Inv.
const minWords = 3

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

// listsErrors reports whether the job lists errors on purpose.
func (w *Watcher) listsErrors() bool {
	job := w.Subject.job.Spec()
	return job.DataField == nil && strings.Contains(strings.ToLower(job.Endpoint), "error") ||
		job.DataField != nil && slices.ContainsFunc(w.Subject.beside, func(sign apinames.ErrorSign) bool {
			return slices.Equal(job.DataField.Keys, sign.Keys)
		})
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

// noticeObjectForList notices an object in the place of the list with the given index, if page 1 has a
// list there and the object has no member of its items: {"data": {"code": 500}}. An object that is like an
// item may be the only item of a page. Page 1 has no page before to differ from, so there only an error
// counts; see [apinames.IsErrorObject].
func (w *Watcher) noticeObjectForList(index int, keys []string) {
	found, _ := w.lookup(keys)
	object, _ := value.Members(found)
	text := rules.FormatPath("body", keys) + " is " + shortText(found)
	known := w.firstNames(index)
	isItem := func(m rules.Member) bool { return slices.Contains(known, m.Name) }
	switch {
	case w.Context.Page == 1 || known == nil:
		if apinames.IsErrorObject(object) {
			w.reportError(text + ", which is no list")
		}
	case !slices.ContainsFunc(object, isItem):
		w.reportError(text + ", where page 1 has a list, and has no member of its items")
	}
}

// firstNames returns the names of the members of the first item of a list on page 1, given the index of the
// list. They are nil if page 1 has no item of it.
func (w *Watcher) firstNames(index int) []string {
	if w.listsOf() == nil {
		return w.FirstNames
	}
	if index < len(w.NamesByList) {
		return w.NamesByList[index]
	}
	return nil
}
