package evidence

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A cursorSearch finds mistakes in how requests continue after the items of a page.
type cursorSearch struct {
	repeatSearch
	memory *cursorMemory
}

// A cursorMemory is what a [cursorSearch] remembers of earlier pages.
type cursorMemory struct {
	FirstItem string      `json:"firstItem,omitempty"` // identifier of the first item of page 1, if it has several
	Fresh     bool        `json:"fresh,omitempty"`     // whether the latest page has items that no earlier page has
	Ends      []endMember `json:"ends,omitempty"`      // members of the last item of the latest page, if it is full; see noticeTie
}

// noticeCursor notices a cursor that is probably the wrong item, in a list whose next request reads
// items. There are two signs. Page 2 is empty, and its request continues after the first item of page 1
// instead of the last. Or a request is repeated and returns the same page, although that page had only
// new items the first time. fresh says whether this page has new items.
func (s cursorSearch) noticeCursor(fresh bool) {
	c := s.context
	if !s.subject.readsItems || c.Polled {
		return
	}
	switch {
	case c.Page == 1:
		s.memory.FirstItem = s.firstOfMany()
	case c.Page == 2 && c.Count == 0 && s.memory.FirstItem != "" &&
		sends(s.sent, s.memory.FirstItem) && !sends(s.first.First, s.memory.FirstItem):
		s.facts.CursorFirst = s.memory.FirstItem
	case c.SamePage && s.request == s.before && s.memory.Fresh && c.Count >= *s.largest && s.facts.CursorPage == 0:
		s.facts.CursorPage = c.Page - 1
	}
	s.memory.Fresh = fresh
}

// firstOfMany returns the identifier of the first item of a page, or "" if the item has no identifier or
// is the only item.
func (p *listView) firstOfMany() string {
	items := p.reading.Compared
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
func sends(sent trace.Request, text string) bool {
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
func (s cursorSearch) noticeTie() {
	c := s.context
	if !s.subject.readsItems || c.Polled {
		return
	}
	ends := s.memory.Ends
	s.memory.Ends = s.endMembers()
	limit, hasLimit := c.Limit.(int)
	if len(ends) == 0 || s.facts.TiePage > 0 || c.Count == 0 && !(hasLimit && *s.largest >= limit) || s.beginsWithLastItems() {
		return
	}
	before := parametersOf(s.first.First)
	tie := ""
	for _, m := range parametersOf(s.sent) {
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
		s.facts.TiePage, s.facts.Tie = c.Page-1, tie
	}
}

// endMembers returns the members of the last item of a full page, and those of the objects in it. They are nil if no value is
// shared with the item before it.
func (p *listView) endMembers() (ends []endMember) {
	c, n := p.context, len(p.reading.Compared)
	limit, hasLimit := c.Limit.(int)
	if n < 2 || hasLimit && c.Count < limit || !hasLimit && c.Count < *p.largest || p.subject.severalLists() != nil {
		return nil
	}
	last, _ := membersOf(p.reading.Compared[n-1])
	earlier, _ := membersOf(p.reading.Compared[n-2])
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
