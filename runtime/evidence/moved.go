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
)

// maxFirstPaths is the largest number of paths remembered from the first page.
const maxFirstPaths = 256

// noticeMoved notices a page whose items may have moved: the list of items is missing, although the
// first page has it, and another list of objects is at a path that the first page does not have.
func (w *Watcher) noticeMoved() {
	c, n := w.Context, w.Noticed
	if c.Page == 1 && c.Status < http.StatusBadRequest && w.page.HasField && w.Subject.job.Paged() {
		n.FirstPaths, n.FirstNames = w.outline(), w.namesOfItem()
	}
	w.noticeGap()
	if n.Facts.MovedPage > 0 {
		return
	}
	if place := w.page.Place; c.Count > 0 && place != "" && len(n.FirstPaths) > 0 && !slices.Contains(n.FirstPaths, place) {
		n.Facts.MovedPage, n.Facts.MovedTo, n.Facts.MovedRead = c.Page, value.Clip(place, 200), true
		return
	}
	if !w.lostItems() {
		return
	}
	for _, path := range w.placesOfItems() {
		if at := rules.FormatPath("body", path); !slices.Contains(n.FirstPaths, at) && w.listsObjects(path) {
			n.Facts.MovedPage, n.Facts.MovedTo = c.Page, value.Clip(at, 200)
			return
		}
	}
}

// noticeGap notices a page without a list of items between pages with items. A list often ends with
// such a page, so it counts only when another page with items follows.
func (w *Watcher) noticeGap() {
	c, n := w.Context, w.Noticed
	switch {
	case c.Status >= http.StatusBadRequest || w.page.Lookup == nil:
	case c.Count > 0 && n.Gap > 0 && n.Facts.LostPage == 0:
		n.Facts.LostPage = n.Gap
	case !w.page.HasField && c.Count == 0 && n.HadItems && n.Gap == 0:
		n.Gap = c.Page
	}
}

// lostItems reports whether a page lacks the list of items, even an empty one, although the first
// page has it.
func (w *Watcher) lostItems() bool {
	c := w.Context
	return c.Page > 1 && c.Status < http.StatusBadRequest && w.page.Lookup != nil && w.page.Bytes <= maxErrorBody &&
		!w.page.HasField && len(w.FirstPaths) > 0
}

// namesOfItem returns the names of the members of the first item of a page, or nil if it is not an
// object.
func (w *Watcher) namesOfItem() []string {
	if w.page.Single {
		return nil
	}
	for raw := range w.page.Items.All() {
		members, _ := membersOf(raw)
		return namesOf(members)
	}
	return nil
}

// membersOf returns the members of an item, and whether it is an object that is not very large.
func membersOf(raw []byte) (members rules.Object, ok bool) {
	var item any
	if len(raw) > maxErrorBody || value.Unmarshal(raw, &item) != nil {
		return nil, false
	}
	return value.Members(item)
}

func namesOf(object rules.Object) []string {
	return value.Map(object, func(m rules.Member) string { return m.Name })
}

// noticeObjectForList notices an object in the place where the first page has a list, if it has no
// member of an item: {"data": {"code": 500}}. An object that is like an item may be the only item of
// a page. The first page has no earlier page to differ from, so there only an error counts; see
// [isErrorObject].
func (w *Watcher) noticeObjectForList() {
	c, f := w.Context, &w.Facts
	field := w.Subject.job.Spec().DataField
	if !w.page.Single || field == nil || w.page.Bytes > maxErrorBody {
		return
	}
	if c.Page == 1 {
		found, _ := w.lookup(field.Keys)
		if members, _ := value.Members(found); isErrorObject(members) {
			f.Error, f.ErrorPage = rules.FormatPath("body", field.Keys)+" is "+shortText(found)+", which is no list", c.Page
		}
		return
	}
	known := func(name string) bool { return slices.Contains(w.FirstNames, name) }
	if len(w.FirstNames) == 0 || slices.ContainsFunc(w.page.Names(field.Keys), known) {
		return
	}
	found, _ := w.lookup(field.Keys)
	f.Error = rules.FormatPath("body", field.Keys) + " is " + shortText(found) + ", where page 1 has a list, and has no member of its items"
	f.ErrorPage = c.Page
}

// isErrorObject reports whether an object has only members that errors usually have, and one of them
// says that there is an error.
func isErrorObject(object rules.Object) bool {
	reports := false
	for _, m := range object {
		if !apinames.NamesError(m.Name) {
			return false
		}
		text, _ := m.Value.(string)
		reports = reports || apinames.Fails(text) || slices.ContainsFunc(apinames.ErrorSigns(), func(sign apinames.ErrorSign) bool {
			return len(sign.Keys) == 1 && sign.Keys[0] == m.Name && sign.Reports(m.Value)
		})
	}
	return reports
}

// outline returns the paths of a page at which items may be, or nil if there are too many.
func (w *Watcher) outline() (outline []string) {
	places := w.placesOfItems()
	switch {
	case len(places) > maxFirstPaths:
		return nil
	case w.page.Place == "body":
		return []string{w.page.Place}
	}
	for _, path := range places {
		outline = append(outline, rules.FormatPath("body", path))
	}
	return outline
}

// placesOfItems returns the paths of the values in the root of a page, and next to its items.
func (w *Watcher) placesOfItems() (places [][]string) {
	if w.page.Names == nil {
		return nil
	}
	for _, name := range w.page.Names(nil) {
		places = append(places, []string{name})
	}
	if field := w.Subject.job.Spec().DataField; field != nil && len(field.Keys) > 1 {
		parent := field.Keys[:len(field.Keys)-1]
		for _, name := range w.page.Names(parent) {
			places = append(places, append(slices.Clone(parent), name))
		}
	}
	return places
}

// listsObjects reports whether a page has a list of objects at a path. A list of errors does not count.
func (w *Watcher) listsObjects(path []string) bool {
	if slices.ContainsFunc(apinames.ErrorsNextToData(), func(sign apinames.ErrorSign) bool { return slices.Equal(path, sign.Keys) }) {
		return false
	}
	found, _ := w.lookup(path)
	list, _ := found.([]any)
	if len(list) == 0 {
		return false
	}
	_, ok := value.Members(list[0])
	return ok
}

// maxErrorBody is the size of the largest body that is searched for an error: a body with an error
// in place of items is small.
const maxErrorBody = 1 << 20

// noticeError notices a body that reports an error despite a status of success: a page without
// items, a page with an error next to its data, or one whose last line is an error.
func (w *Watcher) noticeError() {
	c, f := w.Context, &w.Facts
	if f.Error != "" || c.Status >= http.StatusBadRequest || w.page.Lookup == nil || w.page.Bytes > maxErrorBody {
		return
	}
	signs := apinames.ErrorSigns()
	if c.Count > 0 {
		w.noticeObjectForList()
		if f.Error == "" && !w.listsErrors() {
			w.noticeErrorLine()
		}
		if f.Error != "" || !w.page.HasErrors || w.listsErrors() {
			return
		}
		signs = apinames.ErrorsNextToData()
	}
	body, err := w.page.Lookup(errorPaths())
	if err != nil {
		return
	}
	page := rules.Context{Body: body}
	for _, sign := range signs {
		read := language.Read{Root: "body", Path: sign.Keys}
		v, present := read.Lookup(&page)
		if present && sign.Reports(v) {
			f.Error, f.ErrorPage = read.String()+" is "+shortText(v)+errorMessage(&page, sign.Keys), c.Page
			text, isText := v.(string)
			f.ErrorMild = c.Page == 1 && c.Count == 0 && w.page.HasField && isText && !apinames.Complains(text)
			return
		}
	}
	switch w.noticeErrorBeside(); {
	case f.Error != "":
	case w.page.Columns != nil:
		w.noticeStrangeHeader()
	case w.lostItems():
		w.noticeMessage(&page, "there is no list of items", apinames.Complains)
	case c.Page > 1 && len(w.FirstPaths) > 0 && w.page.HasField:
		w.noticeMessage(&page, "the list of items is empty", apinames.Fails)
	case c.Page == 1 && !w.page.HasField:
		w.noticeMessage(&page, "there is no list of items", apinames.Fails)
	}
}

// noticeErrorBeside notices an error next to the place of the items, on a page without items, if that
// place is within another object: {"users": {"error": "expired"}}.
func (w *Watcher) noticeErrorBeside() {
	field := w.Subject.job.Spec().DataField
	if field == nil || len(field.Keys) < 2 {
		return
	}
	parent := field.Keys[:len(field.Keys)-1]
	names := w.page.Names(parent)
	for _, sign := range apinames.ErrorsNextToData() {
		if name := sign.Keys[0]; len(sign.Keys) == 1 && slices.Contains(names, name) {
			path := append(slices.Clip(parent), name)
			if v, _ := w.lookup(path); sign.Reports(v) {
				w.Facts.Error, w.Facts.ErrorPage = rules.FormatPath("body", path)+" is "+shortText(v), w.Context.Page
				return
			}
		}
	}
}

// noticeErrorLine notices a page in NDJSON whose last line is an error: it has no member of the other
// lines. The only line of the first page is an error if [isErrorObject] says so.
func (w *Watcher) noticeErrorLine() {
	ends, f := w.page.Ends, &w.Facts
	if !w.page.Lines || len(ends) == 0 {
		return
	}
	last, ok := membersOf(ends[len(ends)-1])
	others := w.FirstNames
	if len(ends) > 1 {
		first, _ := membersOf(ends[0])
		others = namesOf(first)
	}
	if first := w.Context.Page == 1 && len(ends) == 1; !ok || slices.ContainsFunc(last, func(m rules.Member) bool {
		return first && !apinames.NamesError(m.Name) || !first && slices.Contains(others, m.Name)
	}) {
		return
	}
	for _, sign := range apinames.ErrorSigns() {
		if v, has := last.Get(sign.Keys[0]); has && len(sign.Keys) == 1 && sign.Reports(v) {
			f.Error, f.ErrorPage = "its last line is "+shortText(last)+", which has no member of the other lines", w.Context.Page
			return
		}
	}
}

// noticeStrangeHeader notices a page in CSV that is a single line, and is not the header of the list: the
// line has no column of the first page, or is a sentence about a failure.
func (w *Watcher) noticeStrangeHeader() {
	columns, f := w.page.Columns, &w.Facts
	line := strings.Join(columns, ",")
	strange := len(w.FirstNames) > 0 && !slices.ContainsFunc(columns, func(name string) bool { return slices.Contains(w.FirstNames, name) })
	if w.Context.Page > 1 && strange || strings.Contains(columns[0], " ") && apinames.Fails(line) {
		f.Error, f.ErrorPage = "its only line is "+shortText(line)+", which is not the header of the list", w.Context.Page
	}
}

// noticeMessage notices a message on a page without items, in its root or next to the place of the
// items, if the first page has no such message: {"message": "Rate limit exceeded"}.
func (w *Watcher) noticeMessage(page *rules.Context, state string, complains func(message string) bool) {
	var parent []string
	if field := w.Subject.job.Spec().DataField; field != nil && len(field.Keys) > 0 {
		parent = field.Keys[:len(field.Keys)-1]
	}
	for _, path := range apinames.ErrorMessages() {
		read := language.Read{Root: "body", Path: path}
		v, _ := read.Lookup(page)
		near := len(path) == 1 || slices.Equal(path[:len(path)-1], parent)
		if text, ok := v.(string); ok && near && !slices.Contains(w.FirstPaths, read.String()) && complains(text) {
			f := &w.Facts
			f.Error, f.ErrorPage = read.String()+" is "+shortText(v)+", and "+state, w.Context.Page
			return
		}
	}
}

// listsErrors reports whether the job lists errors on purpose.
func (w *Watcher) listsErrors() bool {
	job := w.Subject.job.Spec()
	return job.DataField == nil && strings.Contains(strings.ToLower(job.Endpoint), "error") ||
		job.DataField != nil && slices.ContainsFunc(apinames.ErrorsNextToData(), func(sign apinames.ErrorSign) bool {
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

// errorPaths are the paths that are searched for errors.
var errorPaths = sync.OnceValue(func() *document.Paths {
	paths := slices.Clone(apinames.ErrorMessages())
	for _, sign := range apinames.ErrorSigns() {
		paths = append(paths, sign.Keys)
	}
	return document.NewPaths(paths)
})
