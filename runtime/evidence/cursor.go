package evidence

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// noticeCursor notices a cursor that is probably the wrong item, in a list whose next request reads
// items. There are two signs. Page 2 is empty, and its request continues after the first item of page 1
// instead of the last. Or a request is repeated and returns the same page, although that page had only
// new items the first time. fresh says whether this page has new items.
func (w *Watcher) noticeCursor(request, before document.Digest, sent trace.Sent, fresh bool) {
	c, h := w.context, w.history
	if !w.subject.readsItems || c.Polled {
		return
	}
	switch {
	case c.Page == 1:
		h.FirstItem = w.firstOfMany()
	case c.Page == 2 && c.Count == 0 && h.FirstItem != "" && sends(sent, h.FirstItem) && !sends(h.First, h.FirstItem):
		h.Facts.CursorFirst = h.FirstItem
	case c.SamePage && request == before && h.Fresh && c.Count >= *w.largest && h.Facts.CursorPage == 0:
		h.Facts.CursorPage = c.Page - 1
	}
	h.Fresh = fresh
}

// firstOfMany returns the identifier of the first item of a page, or "" if the item has no identifier or
// is the only item.
func (w *Watcher) firstOfMany() string {
	items := w.page.Compared
	if len(items) < 2 {
		return ""
	}
	var id any
	if raw := document.Identity(items[0]); raw == nil || value.Unmarshal(raw, &id) != nil {
		return ""
	}
	text, _ := value.Text(id)
	return text
}

// sends reports whether a parameter of a request has a value.
func sends(sent trace.Sent, text string) bool {
	return slices.ContainsFunc(parametersOf(sent), func(m value.Member) bool { v, ok := value.Text(m.Value); return ok && v == text })
}
