package evidence

import (
	"net/http"
	"slices"

	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// maxFirstPaths limits the paths that are remembered of the first page.
const maxFirstPaths = 256

// noticeMoved notices a page that lacks the list of items, although an earlier page has it,
// and whether it has a list of objects where the first page has nothing.
func (w *Watcher) noticeMoved() {
	c, n := w.Context, w.Noticed
	if c.Page == 1 && c.Status < http.StatusBadRequest && w.page.HasField && w.Subject.job.Paged() {
		n.FirstPaths = w.outline()
	}
	w.noticeGap()
	if !w.lostItems() || n.Facts.MovedPage > 0 {
		return
	}
	for _, path := range w.placesOfItems() {
		if at := rules.FormatPath("body", path); !slices.Contains(n.FirstPaths, at) && w.listsObjects(path) {
			n.Facts.MovedPage, n.Facts.MovedTo = c.Page, value.Clip(at, 200)
			return
		}
	}
}

// noticeGap notices a page without a list of items between others that have items. A list
// often ends with such a page, so it is only noticed when the next page with items comes.
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

// lostItems reports whether a page lacks the list of items, even an empty one, although
// the first page has it.
func (w *Watcher) lostItems() bool {
	c := w.Context
	return c.Page > 1 && c.Status < http.StatusBadRequest && w.page.Lookup != nil && w.page.Bytes <= maxErrorBody &&
		!w.page.HasField && len(w.FirstPaths) > 0
}

// outline returns the places of items that a page has, or nil if there are too many.
func (w *Watcher) outline() (outline []string) {
	places := w.placesOfItems()
	if len(places) > maxFirstPaths {
		return nil
	}
	for _, path := range places {
		outline = append(outline, rules.FormatPath("body", path))
	}
	return outline
}

// placesOfItems returns the paths of the values in the root of a page, and of those
// next to its items.
func (w *Watcher) placesOfItems() (places [][]string) {
	if w.page.Names == nil {
		return nil
	}
	for _, name := range w.page.Names(nil) {
		places = append(places, []string{name})
	}
	if field := w.Subject.job.Set.Job.DataField; field != nil && len(field.Keys) > 1 {
		parent := field.Keys[:len(field.Keys)-1]
		for _, name := range w.page.Names(parent) {
			places = append(places, append(slices.Clone(parent), name))
		}
	}
	return places
}

// listsObjects reports whether a page has a list of objects at a path. Errors are
// noticed elsewhere.
func (w *Watcher) listsObjects(path []string) bool {
	if slices.Equal(path, apinames.ErrorsNextToData.Keys) {
		return false
	}
	body, err := w.page.Lookup(document.NewPaths([][]string{path}))
	if err != nil {
		return false
	}
	found, _ := language.Read{Root: "body", Path: path}.Lookup(&rules.Context{Body: body})
	list, _ := found.([]any)
	if len(list) == 0 {
		return false
	}
	_, ok := value.Members(list[0])
	return ok
}
