package evidence

import (
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
)

// noticeBareEnd notices a page after pages with items that has nothing of what page 1 has: no list of items,
// not even an empty one, and no other member, as {} after {"data": […], "total": 7}. It may end the list.
// A list that is null is empty, so then page 1 must have had something else. A message explains the page, and
// a link or a token is usually absent from the last page.
func (w *Watcher) noticeBareEnd() {
	c, n := w.Context, w.Noticed
	n.Facts.BarePage = 0
	if c.Count > 0 || c.Total.Items == 0 || c.Status >= http.StatusBadRequest || w.page.Lookup == nil {
		return
	}
	lost, null := w.lostItems(), w.listIsNull()
	others := w.neighbours()
	if !lost && !(null && len(others) > 0) {
		return
	}
	for _, path := range w.placesOfItems() {
		at := rules.FormatPath("body", path)
		isMessage := slices.ContainsFunc(apinames.ErrorMessages(), func(keys []string) bool { return slices.Equal(keys, path) })
		if isMessage || slices.Contains(others, at) {
			return
		}
	}
	n.Facts.BarePage = c.Page
}

// listIsNull reports whether the page has null in the place of the list.
func (w *Watcher) listIsNull() bool {
	field := w.Subject.job.Spec().DataField
	if field == nil || len(field.Lists) > 1 || !w.page.HasField || w.page.Bytes > maxErrorBody {
		return false
	}
	v, present := w.lookup(field.Keys)
	return present && v == nil
}

// neighbours returns the paths that page 1 has beside the list of items, apart from links and tokens.
func (w *Watcher) neighbours() []string {
	list := ""
	if field := w.Subject.job.Spec().DataField; field != nil {
		list = rules.FormatPath("body", field.Keys)
	}
	return slices.DeleteFunc(slices.Clone(w.FirstPaths), func(path string) bool {
		name := strings.Trim(path[strings.LastIndexAny(path, ".[")+1:], `"]`)
		leads := func(h apinames.Hint) bool { return h.Kind == apinames.HintNext }
		return path == list || slices.ContainsFunc(apinames.HintsOf(name), leads)
	})
}
