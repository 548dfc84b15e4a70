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

// An endMember is a member of the last item of a page, from which the next request may continue.
type endMember struct {
	Text   uint64 `json:"text"`             // digest of its value as text
	Shared bool   `json:"shared,omitempty"` // whether the item before the last one has the same value
}

// noticeTie notices that a request continues from a value which the last two items of a full page share: items with that
// value may follow them, and the request leaves them out. It does not if it also has a value of the last item alone, or
// if its page begins with the last item. It must be called before the items of the page are remembered.
func (w *Watcher) noticeTie(sent trace.Sent) {
	c, h := w.context, w.history
	if !w.subject.readsItems || c.Polled {
		return
	}
	ends := h.Ends
	h.Ends = w.endMembers()
	limit, hasLimit := c.Limit.(int)
	if len(ends) == 0 || h.Facts.TiePage > 0 || c.Count == 0 && !(hasLimit && *w.largest >= limit) || w.beginsWithLastItems() {
		return
	}
	before := parametersOf(h.First)
	tie := ""
	for _, m := range parametersOf(sent) {
		text := shortText(m.Value)
		if earlier, ok := before.Get(m.Name); ok && shortText(earlier) == text {
			continue
		}
		i := slices.IndexFunc(ends, func(end endMember) bool { return end.Text == digestOfText(text) })
		if i >= 0 && !slices.ContainsFunc(ends, func(end endMember) bool { return end.Text == ends[i].Text && !end.Shared }) {
			tie = m.Name + "=" + text
		} else if i >= 0 {
			return
		}
	}
	if tie != "" {
		h.Facts.TiePage, h.Facts.Tie = c.Page-1, tie
	}
}

// endMembers returns the members of the last item of a full page, and those of the objects in it. They are nil if no value is
// shared with the item before it.
func (w *Watcher) endMembers() (ends []endMember) {
	c, n := w.context, len(w.page.Compared)
	limit, hasLimit := c.Limit.(int)
	if n < 2 || hasLimit && c.Count < limit || !hasLimit && c.Count < *w.largest || w.listsOf() != nil {
		return nil
	}
	last, _ := membersOf(w.page.Compared[n-1])
	earlier, _ := membersOf(w.page.Compared[n-2])
	isShared := false
	add := func(v, other any) {
		text, isText := value.Text(v)
		if _, isFlag := v.(bool); !isText || isFlag || text == "" || len(ends) == maxEnds {
			return
		}
		before, _ := value.Text(other)
		ends = append(ends, endMember{digestOfText(shortText(v)), before == text})
		isShared = isShared || before == text
	}
	for _, m := range last {
		other, _ := earlier.Get(m.Name)
		add(m.Value, other)
		inner, _ := value.Members(m.Value)
		before, _ := value.Members(other)
		for _, m2 := range inner {
			other, _ := before.Get(m2.Name)
			add(m2.Value, other)
		}
	}
	if !isShared {
		return nil
	}
	return ends
}

// maxEnds is the largest number of members that are remembered.
const maxEnds = 64

func digestOfText(text string) uint64 {
	return document.DigestOf([]byte(text), document.Digest{}).Half()
}
