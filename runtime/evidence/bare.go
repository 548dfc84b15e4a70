package evidence

import (
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// noticeBareEnd notices a bare page after pages with items, such as {} after {"data": […], "total": 7}. A
// bare page lacks every member of page 1: the list of items, even an empty one, and all others. It may be an
// error that ends the list.
//
// Some pages are not bare. A list that is null counts as an empty list unless page 1 has another member. A
// message explains the page. A link or a token is usually absent from the last page, so it does not count.
func (w *Watcher) noticeBareEnd() {
	c, h := w.context, w.history
	h.Facts.BarePage = 0
	if c.Count > 0 || c.Total.Items == 0 || c.Status >= http.StatusBadRequest || w.page.Lookup == nil {
		return
	}
	lost, null := w.lostItems(), w.listIsNull()
	neighbours := w.neighbours()
	if !lost && !(null && len(neighbours) > 0) {
		return
	}
	for _, path := range w.placesOfItems() {
		place := rules.FormatPath("body", path)
		isMessage := slices.ContainsFunc(apinames.ErrorMessages(), func(keys []string) bool { return slices.Equal(keys, path) })
		if isMessage || slices.Contains(neighbours, place) {
			return
		}
	}
	h.Facts.BarePage = c.Page
}

// listIsNull reports whether the page has null in the place of the list.
func (w *Watcher) listIsNull() bool {
	return len(w.page.Found) == 1 && w.page.Found[0] == scan.Null
}

// neighbours returns the paths that page 1 has beside the list of items, apart from links and tokens.
func (w *Watcher) neighbours() []string {
	list := ""
	if field := w.subject.job.Spec().DataField; field != nil {
		list = rules.FormatPath("body", field.Keys)
	}
	return slices.DeleteFunc(slices.Clone(w.history.FirstPaths), func(path string) bool {
		name := strings.Trim(path[strings.LastIndexAny(path, ".[")+1:], `"]`)
		leads := func(h apinames.Hint) bool { return h.Kind == apinames.HintNext }
		return path == list || slices.ContainsFunc(apinames.HintsOf(name), leads)
	})
}
