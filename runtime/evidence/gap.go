package evidence

import (
	"net/http"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// A listGap is a page without a list between pages with items of the list.
type listGap struct {
	Items bool `json:"items,omitempty"` // whether an earlier page has items of the list
	Page  int  `json:"page,omitempty"`  // the first page after these that lacks the list, or has null in its place; 0: none
}

// begin records that a page lacks the list, unless a gap has begun before or no page has had items.
func (g *listGap) begin(page int) {
	if g.Items && g.Page == 0 {
		g.Page = page
	}
}

// noticeGap notices a page without a list of items between pages with items. A list often ends with
// such a page, so it counts only when another page with items follows. A page that has null or {} in the place of
// the list, or only one of several lists, may just have no items of it; so may a response without content, and a failure
// of the server that a rule has accepted as a page (404 usually means that there is nothing). Such pages are another fact.
func (w *Watcher) noticeGap() {
	c, h := w.context, w.history
	if (c.Status >= http.StatusInternalServerError || c.Status == http.StatusNoContent) && c.Count == 0 {
		for i := range h.Gaps {
			h.Gaps[i].begin(c.Page)
		}
	}
	if c.Status >= http.StatusBadRequest || w.page.Lookup == nil {
		return
	}
	switch {
	case c.Count > 0 && h.WithoutList > 0 && h.Facts.LostPage == 0:
		h.Facts.LostPage = h.WithoutList
	case !w.page.HasField && c.Count == 0 && h.HadItems && h.WithoutList == 0:
		h.WithoutList = c.Page
	}
	h.Facts.AbsentPage = 0
	if len(w.page.Found) != len(h.Gaps) {
		h.Gaps = make([]listGap, len(w.page.Found))
	}
	for i, found := range w.page.Found {
		gap := &h.Gaps[i]
		isNull := w.hasOneNull(i)
		if w.page.Lists[i].Items.Len() > 0 && !isNull {
			if gap.Page > 0 && h.Facts.GapPage == 0 {
				h.Facts.GapPage, h.Facts.GapList = gap.Page, w.nameOfList(i)
			}
			gap.Items, gap.Page = true, 0
			continue
		}
		isAbsent := found == "" && w.page.HasField // another list is present
		if gap.Items && isAbsent {
			h.Facts.AbsentPage, h.Facts.AbsentList = c.Page, w.nameOfList(i)
		}
		if isAbsent || isNull || found == scan.Null || found == scan.Object || w.isEmptyObject() {
			gap.begin(c.Page)
		}
	}
}

// hasOneNull reports whether a list of the page has nothing but a single null, given its index.
func (w *Watcher) hasOneNull(index int) bool {
	for item := range w.page.Lists[index].Items.All() {
		return item[0] == 'n' && w.page.Lists[index].Items.Len() == 1
	}
	return false
}

// isEmptyObject reports whether the page is {}.
func (w *Watcher) isEmptyObject() bool {
	if w.page.Bytes > maxErrorBody || len(w.page.Names(nil)) > 0 {
		return false
	}
	root, _ := w.lookup(nil)
	_, ok := value.Members(root)
	return ok
}

// nameOfList returns the path of a list, given its index.
func (w *Watcher) nameOfList(index int) string {
	if lists := w.subject.lists; lists != nil {
		return lists[index].text
	}
	return w.page.Place
}
