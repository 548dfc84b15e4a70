package evidence

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// An errorSearch finds errors in the bodies of successful responses.
type errorSearch struct {
	comparison
	memory *errorMemory
}

// An errorMemory is what an [errorSearch] remembers of earlier pages.
type errorMemory struct {
	Alone      *singleItem `json:"alone,omitempty"`      // the only item of page 1, until a page with several items follows
	Lines      lineEnds    `json:"lines,omitzero"`       // how pages in NDJSON or CSV end
	HadOthers  bool        `json:"hadOthers,omitempty"`  // whether a page has items that are not objects
	Kinds      bool        `json:"kinds,omitempty"`      // whether the items of page 1 are of several kinds; see [haveKinds]
	Replaced   []string    `json:"replaced,omitempty"`   // the first header with rows, if response.columns replaces it
	Headers    []string    `json:"headers,omitempty"`    // headers of pages with items that would tell of an error
	Partial    string      `json:"part,omitempty"`       // the error, if it is a warning that the latest page is a part of the results
	FirstNulls bool        `json:"firstNulls,omitempty"` // whether page 1 is the latest page with items, and has several, all null
	Only       OnlyItems   `json:"only,omitzero"`
}

// maxErrorBody is the size of the largest body that is searched for an error in place of items or of a list: such a body is
// small. An error beside items counts in a body of any size.
const maxErrorBody = 1 << 20

// notice notices a body that reports an error despite a status of success: a page without items, a
// page with an error next to its data, in place of one of its lists, or as its last line.
func (s errorSearch) notice() {
	c := s.context
	if c.Count > 0 && s.memory.Partial != "" {
		if s.facts.Error == s.memory.Partial { // the rest follows
			s.facts.Error, s.facts.ErrorPage, s.facts.ErrorDoubt = "", 0, rules.DoubtNone
		}
		s.memory.Partial = ""
	}
	if s.hasCertainError() || c.Status >= http.StatusBadRequest || !s.reading.HasContent() {
		return
	}
	s.rememberColumns()
	s.noticeHeaders()
	s.noticeOpenEnd()
	s.noticeHeaderAgain()
	s.noticeDifferentItem()
	if !s.hasCertainError() {
		s.noticeLastLine()
	}
	if s.hasCertainError() {
		return
	}
	isSmall := s.reading.Bytes <= maxErrorBody
	if isSmall {
		s.noticeErrorOfLists()
	}
	switch {
	case c.Count > 0:
		s.noticeErrorBesideItems()
	case isSmall:
		s.noticeErrorWithoutItems()
		s.noticeChange()
	}
}

// hasCertainError reports whether an error is known that is certainly one.
func (s errorSearch) hasCertainError() bool {
	return s.facts.Error != "" && s.facts.ErrorDoubt == rules.DoubtNone
}

// reportError records an error on the last page, unless a certain one is known already.
func (s errorSearch) reportError(text string, doubt rules.ErrorDoubt) {
	s.reportErrorOf(s.context.Page, text, doubt)
}

// reportErrorOf records an error on a page, unless a certain one is known already.
func (s errorSearch) reportErrorOf(page int, text string, doubt rules.ErrorDoubt) {
	if f := s.facts; !s.hasCertainError() {
		f.Error, f.ErrorPage, f.ErrorDoubt = text, page, doubt
	}
}

// mayBeItemIf returns [rules.DoubtItem] if a condition holds, and otherwise no doubt.
func mayBeItemIf(condition bool) rules.ErrorDoubt {
	if condition {
		return rules.DoubtItem
	}
	return rules.DoubtNone
}

// noticeErrorBesideItems notices an error on a page with items.
func (s errorSearch) noticeErrorBesideItems() {
	if s.reading.Columns != nil {
		s.noticeUnknownHeader()
	}
	if s.facts.AbsentPage == s.context.Page {
		s.noticeMessage("there is no list at "+s.facts.AbsentList, apinames.SaysFailure, rules.DoubtNone)
	}
	if empty := s.emptyList(); empty != "" {
		s.noticeMessage(empty+" is empty", apinames.SaysFailure, rules.DoubtNone)
	}
	if s.subject.listsErrors {
		return
	}
	s.noticeOtherItems()
	s.noticeListOfErrors()
	if s.reading.HasErrors && !s.readsRoot() {
		page := s.pageOfErrors(s.subject.besidePaths())
		s.noticeErrorSign(s.subject.beside, page)
		s.noticePartial(page)
	}
	s.noticeErrorInItems()
}

// noticePartial notices a warning beside items that they are a part of the results. It counts on the last page with items
// alone.
func (s errorSearch) noticePartial(page *rules.Context) {
	for _, sign := range s.subject.beside {
		read := language.Read{Root: rules.ContextBody, Path: sign.Keys}
		if v, present := read.Lookup(page); present && sign.Kind == apinames.ErrorCut && s.facts.Error == "" && apinames.SaysPartial(v) {
			s.reportError(read.String()+" is "+shortText(v)+", and nothing else says that the list is complete", rules.DoubtItem)
			s.memory.Partial = s.facts.Error
		}
	}
}

// emptyList returns the path of the first of several lists that is empty, or "".
func (p *listView) emptyList() string {
	for i, list := range p.subject.severalLists() {
		if p.reading.Lists[i].Items.Len() == 0 {
			return list.Text
		}
	}
	return ""
}

// noticeErrorWithoutItems notices an error on a page without items.
func (s errorSearch) noticeErrorWithoutItems() {
	c := s.context
	page := s.pageOfErrors(nil)
	s.noticeErrorSign(apinames.ErrorSignsIn(page.Body), page)
	if s.noticeListForObject(); s.hasCertainError() {
		return
	}
	switch {
	case s.reading.Columns != nil:
		s.noticeUnknownHeader()
	case s.lostItems():
		complains := func(text string) bool { return apinames.SaysTrouble(text) && !apinames.SaysPastEnd(text) }
		if saysSuccess(page.Body) {
			complains = apinames.SaysFailure
		}
		s.noticeMessage("there is no list of items", complains, rules.DoubtNone)
	case s.reading.HasField && (c.Page == 1 || len(s.first.FirstPaths) > 0):
		s.noticeMessage("the list of items is empty", apinames.SaysFailure, rules.DoubtNone)
	case c.Page == 1:
		s.noticeMessage("there is no list of items", apinames.SaysFailure, rules.DoubtNone)
		if s.facts.Error == "" && s.hasOnlyErrors() {
			s.noticeMessage("there is no list of items", apinames.SaysTrouble, rules.DoubtEmpty)
		}
	}
	if !s.reading.HasField && !s.hasCertainError() {
		s.noticeErrorBelow()
	}
	s.noticeDoubt(page)
}

// noticeDoubt notices a member beside an empty list that may say why it is empty, given the page. A value that the request
// sent, or page 1 has, says nothing, and a rule that decides knows what it means.
func (s errorSearch) noticeDoubt(page *rules.Context) {
	for _, path := range apinames.DoubtsIn(page.Body) {
		read := language.Read{Root: rules.ContextBody, Path: path}
		v, _ := read.Lookup(page)
		if slices.ContainsFunc(s.subject.decisives, s.readsTo(path)) {
			continue
		}
		if s.facts.Error == "" && !s.isKnown(read.String()) && !s.saysEmpty(v, page) && !s.wasSent(v) {
			s.reportError(read.String()+" is "+shortText(v)+errorMessage(page, path)+", and there are no items", rules.DoubtItem)
		}
	}
}

// saysSuccess reports whether a body says that the request has succeeded.
func saysSuccess(body any) bool {
	object, _ := value.Members(body)
	return slices.ContainsFunc(object, func(m rules.Member) bool { return apinames.Key(m.Name).IsSuccess(m.Value) })
}

// noticeErrorBelow notices an error in the objects to which a page without the list leads, as documents of XML
// do: {"soap:Envelope": {"soap:Body": {"soap:Fault": …}}}. Only words of failure count as a message there.
func (s errorSearch) noticeErrorBelow() {
	for path := []string{}; len(path) < maxErrorDepth && !s.hasCertainError(); {
		v, _ := s.lookup(path)
		object, ok := value.Members(v)
		if !ok || slices.ContainsFunc(namesOf(object), apinames.IsIdentifier) { // an item
			return
		}
		s.noticeErrorIn(object, path, "", scan.Null)
		for _, m := range object {
			inner, ok := value.Members(m.Value)
			if ok && apinames.Key(m.Name).HoldsErrors() && !s.hasCertainError() {
				s.noticeErrorIn(inner, append(slices.Clip(path), m.Name), "", scan.Null)
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

// noticeErrorSign notices the first of some signs that the page has, given the page with the values at their paths, and its messages. An
// object above the list that has an identifier may be an item, so that the error may be a part of it. A status is
// part of such an item, and beside items always may be.
func (s errorSearch) noticeErrorSign(signs []apinames.ErrorSign, page *rules.Context) {
	c := s.context
	for _, sign := range signs {
		read := language.Read{Root: rules.ContextBody, Path: sign.Keys}
		v, present := read.Lookup(page)
		if !present || !s.isError(sign, v, page, s.reading.HasField) || sign.Kind == apinames.ErrorState && s.wasSent(v) {
			continue
		}
		parent := sign.Keys[:len(sign.Keys)-1]
		mayBeOfItem := c.Count > 0 && (len(parent) > 0 || sign.IsCode() || s.readsRoot())
		isOfItem := mayBeOfItem && slices.ContainsFunc(s.reading.Names(parent), apinames.IsIdentifier)
		isMild := isOfItem || c.Count > 0 && sign.IsCode()
		if isOfItem && sign.IsCode() || isMild && s.facts.Error != "" {
			continue
		}
		doubt := rules.DoubtNone
		if text, isText := v.(string); isMild {
			doubt = rules.DoubtItem
		} else if isText && c.Page == 1 && c.Count == 0 && s.reading.HasField && !apinames.SaysTrouble(text) {
			doubt = rules.DoubtEmpty
		}
		s.reportError(read.String()+" is "+shortText(v)+errorMessage(page, sign.Keys), doubt)
		if !isMild {
			return
		}
	}
}

// wasSent reports whether the request has a text as a parameter, so that the response may only repeat it.
func (p *listView) wasSent(v any) bool {
	text, ok := v.(string)
	return ok && contains(p.context.Sent.Params, text)
}

// isError reports whether the value at the path of a sign is an error. A code is not an error if the page has the
// list and a message that there are no items, nor is a denial of success if the message says nothing else. After
// page 1, such a message excuses any sign of a page without items, and so does one within the error.
func (s errorSearch) isError(sign apinames.ErrorSign, v any, page *rules.Context, hasList bool) bool {
	if !sign.Matches(v) || sign.IsCode() && hasList && s.saysEmpty(v, page) ||
		sign.Kind == apinames.ErrorDenial && hasList && s.context.Count == 0 && hasMessage(page, apinames.SaysNoMore) {
		return false
	}
	return s.context.Page == 1 || s.context.Count > 0 || !s.isExcused(v, page)
}

// isExcused reports whether a page has a message that there are no items, beside an error or within it.
func (s errorSearch) isExcused(v any, page *rules.Context) bool {
	object, _ := value.Members(v)
	code, _ := object.Get("code")
	if text, _ := v.(string); apinames.SaysPastEnd(text) {
		return true
	}
	return s.saysEmpty(v, page) || s.saysEmpty(code, &rules.Context{Body: object})
}

// saysEmpty reports whether a page has a message that there are no items, beside a code. After page 1, where the API has
// shown what a page is, the message must say nothing else, except beside a code of 404.
func (s errorSearch) saysEmpty(code any, page *rules.Context) bool {
	says := func(message string) bool { return !apinames.SaysTrouble(message) }
	if s.context.Page > 1 && code != http.StatusNotFound && code != "404" {
		says = func(message string) bool { return apinames.SaysNoMore(message) || apinames.SaysPastEnd(message) }
	}
	return hasMessage(page, says)
}

// hasMessage reports whether a page has a message with a meaning.
func hasMessage(page *rules.Context, says func(message string) bool) bool {
	isMessage := func(path []string) bool {
		message, _ := language.Read{Root: rules.ContextBody, Path: path}.Lookup(page)
		text, _ := message.(string)
		return text != "" && says(text)
	}
	return slices.ContainsFunc(apinames.ErrorMessagesIn(page.Body), isMessage) || isMessage([]string{"error"}) ||
		isMessage([]string{"error", "message"})
}

// readsRoot reports whether the response itself is the only item.
func (p *listView) readsRoot() bool {
	field := p.subject.job.Spec().DataField
	return field != nil && field.Lists == nil && len(field.Keys) == 0 && p.context.Count == 1
}

// hasOnlyErrors reports whether all members of the root of the page are usual for errors and their messages.
func (p *listView) hasOnlyErrors() bool {
	names := p.reading.Names(nil)
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !apinames.Key(name).NamesErrors() })
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
// their messages, or all values if the page has no items.
func (p *listView) pageOfErrors(paths *document.Paths) *rules.Context {
	if p.context.Count == 0 {
		root, _ := p.lookup(nil)
		return &rules.Context{Body: root}
	}
	body, _ := p.reading.Lookup(paths) // without an error, since the values at other paths were decoded
	return &rules.Context{Body: body}
}

// noticeErrorOfLists notices an error of a single list of the page: in its place, in an object that leads
// to it, or below a star of its path.
func (s errorSearch) noticeErrorOfLists() {
	if stray := s.reading.Stray; stray != nil && (s.facts.Error == "" || !stray.Named) {
		text := keypath.Format(rules.ContextBody, stray.Path) + " is " + shortText(stray.Value)
		if stray.Numbered != "" {
			text += ", which seems to be a list of its members (dataField " + stray.Numbered + ")"
		}
		s.reportError(text, mayBeItemIf(stray.Named))
	}
	for i, list := range s.subject.lists {
		if s.reading.Found[i] == scan.Object && !list.star {
			s.noticeObjectForList(i, list.keys)
		}
		if s.reading.Lists[i].Items.Len() == 0 {
			s.noticeErrorAbove(list.keys, s.reading.Found[i])
		}
	}
}

// noticeErrorAbove notices an error in an object that leads to an empty list, or would lead to an absent one, or in
// place of such an object: {"users": {"error": "expired"}}, {"users": "Too many requests"}. found is the kind of
// the list, or "".
func (s errorSearch) noticeErrorAbove(keys []string, found scan.Kind) {
	for depth := 1; depth < len(keys); depth++ {
		v, _ := s.lookup(keys[:depth])
		if object, ok := value.Members(v); ok {
			if s.noticeErrorIn(object, keys[:depth], keys[depth], found); s.hasCertainError() {
				return
			}
			continue
		}
		list, ok := v.([]any)
		if v == nil || v == "" || ok && len(list) == 0 { // an empty object, as PHP writes it
			return
		}
		container := "an object"
		text, _ := value.Marshal(v)
		isError := s.lostItems() || apinames.SaysFailure(string(text))
		if scan.Index(keys[depth]) >= 0 {
			container = "a list"
			isError = isError && (!ok || s.isErrorList(list))
		}
		if isError {
			at := keypath.Format(rules.ContextBody, keys[:depth])
			s.reportError(at+" is "+shortText(v)+", where "+container+" with the list of items should be", rules.DoubtNone)
		}
		return
	}
}

// noticeErrorIn notices an error among the members of an object above a list of the given kind, which the member
// with the given key leads to. A message counts only if page 1 has none.
func (s errorSearch) noticeErrorIn(object rules.Object, parent []string, key string, found scan.Kind) {
	page := &rules.Context{Body: object}
	complains := apinames.SaysFailure
	if found == "" && s.context.Page > 1 {
		complains = apinames.SaysTrouble
	}
	for _, m := range object {
		if m.Name == key {
			continue
		}
		at := keypath.Format(rules.ContextBody, append(slices.Clip(parent), m.Name))
		name := strings.TrimPrefix(m.Name, "@") // an attribute of XML
		local := localName(name)
		text, _ := m.Value.(string)
		isMessage := apinames.Key(name).IsErrorMessage() || name == "#text"
		isCaption := s.context.Page == 1 && found != "" && apinames.Key(name).IsErrorCaption()
		isSign := func(sign apinames.ErrorSign) bool { return s.isError(sign, m.Value, page, found != "") }
		if isMessage && !isCaption && !s.isUsual(at, text) && complains(text) ||
			slices.ContainsFunc(apinames.Key(local).ErrorSigns(), isSign) {
			isOfItem := s.isKnown(at) && slices.ContainsFunc(namesOf(object), apinames.IsIdentifier)
			s.reportError(at+" is "+shortText(m.Value)+errorMessage(page, []string{m.Name}), mayBeItemIf(isOfItem))
			return
		}
	}
}

// errorMessage returns the text of a body that describes the error at a path, apart from the value
// there.
func errorMessage(page *rules.Context, sign []string) string {
	for _, path := range apinames.ErrorMessagesIn(page.Body) {
		read := language.Read{Root: rules.ContextBody, Path: path}
		if v, present := read.Lookup(page); present && !slices.Equal(path, sign) {
			if text, ok := v.(string); ok && text != "" {
				return " (" + read.String() + ": " + wording.Clip(text, 120) + ")"
			}
		}
	}
	return ""
}

// messagePaths are the paths of messages.
var messagePaths = sync.OnceValue(func() *document.Paths { return pathsOfErrors(nil) })

// pathsOfErrors returns the paths of signs of errors and of messages.
func pathsOfErrors(signs []apinames.ErrorSign) *document.Paths {
	paths := slices.Clone(apinames.ErrorMessagePaths())
	for _, sign := range signs {
		paths = append(paths, sign.Keys)
	}
	return document.NewPaths(paths)
}
