package evidence

import (
	"net/http"
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// maxFirstPaths is the largest number of paths remembered from the first page.
const maxFirstPaths = 256

// noticeMoved notices a page whose items may have moved: the list of items is missing, although the
// first page has it, and another list of objects is at a path that the first page does not have.
func (w *Watcher) noticeMoved() {
	c, h := w.context, w.history
	w.noticeGap()
	if h.Facts.MovedPage > 0 {
		return
	}
	if place := w.page.Place; c.Count > 0 && place != "" && len(h.FirstPaths) > 0 && !slices.Contains(h.FirstPaths, place) {
		h.Facts.MovedPage, h.Facts.MovedTo, h.Facts.MovedRead = c.Page, value.Clip(place, 200), true
		return
	}
	if !w.lostItems() {
		return
	}
	for _, path := range w.placesOfItems() {
		if place := rules.FormatPath("body", path); !slices.Contains(h.FirstPaths, place) && w.listsObjects(path) {
			h.Facts.MovedPage, h.Facts.MovedTo = c.Page, value.Clip(place, 200)
			return
		}
	}
}

// rememberFirst remembers the paths of the first page, and the names of the members of its items.
func (w *Watcher) rememberFirst() {
	h := w.history
	if w.context.Status >= http.StatusBadRequest || !w.page.HasField || !w.subject.job.Paged() {
		return
	}
	h.FirstPaths, h.FirstNames, h.NamesByList = w.outline(), nil, nil
	w.rememberStatuses()
	for i := range w.page.Lists {
		names := w.namesOfItem(i)
		if h.FirstNames == nil {
			h.FirstNames = names
		}
		if w.listsOf() != nil {
			h.NamesByList = append(h.NamesByList, names)
		}
	}
}

// lostItems reports whether a page lacks the list of items, even an empty one, although the first
// page has it.
func (w *Watcher) lostItems() bool {
	c := w.context
	return c.Page > 1 && c.Status < http.StatusBadRequest && w.page.Lookup != nil && w.page.Bytes <= maxErrorBody &&
		!w.page.HasField && len(w.history.FirstPaths) > 0
}

// namesOfItem returns the names of the members of the first item of a list of the page that is not null, given the
// index of the list. They are nil if the list has no such item, or it is not an object.
func (w *Watcher) namesOfItem(index int) []string {
	if w.page.Found[index] == scan.Object {
		return nil
	}
	for raw := range w.page.Lists[index].Items.All() {
		if raw[0] != 'n' {
			members, _ := membersOf(raw)
			return namesOf(members)
		}
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
	if field := w.subject.job.Spec().DataField; field != nil && len(field.Keys) > 1 {
		parent := field.Keys[:len(field.Keys)-1]
		for _, name := range w.page.Names(parent) {
			places = append(places, append(slices.Clone(parent), name))
		}
	}
	return places
}

// listsObjects reports whether a page has a list of objects at a path. A list of errors does not count.
func (w *Watcher) listsObjects(path []string) bool {
	if slices.ContainsFunc(w.subject.beside, func(sign apinames.ErrorSign) bool { return slices.Equal(path, sign.Keys) }) {
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
