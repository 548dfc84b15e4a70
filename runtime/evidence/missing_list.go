package evidence

import (
	"net/http"

	"github.com/stopwhen/stopwhen/runtime/document/scan"
)

// A gapSearch finds pages that lack the list of items, although other pages have it.
type gapSearch struct {
	comparison
	memory   *gapMemory
	hadItems bool // whether a response had the place of the items
}

// A gapMemory is what a [gapSearch] remembers of earlier pages.
type gapMemory struct {
	WithoutList int       `json:"gap,omitempty"`  // first page without any list of items after a page with a list, or 0
	Gaps        []listGap `json:"gaps,omitempty"` // for each list, the page that lacks it, although others are present
}

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
func (s gapSearch) noticeGap() {
	c := s.context
	if (c.Status >= http.StatusInternalServerError || c.Status == http.StatusNoContent) && c.Count == 0 {
		for i := range s.memory.Gaps {
			s.memory.Gaps[i].begin(c.Page)
		}
	}
	if c.Status < http.StatusBadRequest && s.reading.HasContent() {
		s.noticeLostPage()
		s.noticeLists()
	}
}

// noticeLostPage notices a page without any list of items between others.
func (s gapSearch) noticeLostPage() {
	switch c := s.context; {
	case c.Count > 0 && s.memory.WithoutList > 0 && s.facts.LostPage == 0:
		s.facts.LostPage = s.memory.WithoutList
	case !s.hasList() && c.Count == 0 && s.hadItems && s.memory.WithoutList == 0:
		s.memory.WithoutList = c.Page
	}
}

// noticeLists notices the lists that the page lacks, and those that have items again.
func (s gapSearch) noticeLists() {
	s.facts.AbsentPage = 0
	if len(s.reading.Found) != len(s.memory.Gaps) {
		s.memory.Gaps = make([]listGap, len(s.reading.Found))
	}
	for i, found := range s.reading.Found {
		gap, isNull := &s.memory.Gaps[i], s.hasOneNull(i)
		if s.reading.Lists[i].Items.Len() > 0 && !isNull {
			s.endGap(gap, i)
			continue
		}
		isAbsent := found == "" && s.reading.HasField // another list is present
		if gap.Items && isAbsent {
			s.facts.AbsentPage, s.facts.AbsentList = s.context.Page, s.nameOfList(i)
		}
		if isAbsent || isNull || found == scan.Null || found == scan.Object || s.isEmptyObject() {
			gap.begin(s.context.Page)
		}
	}
}

// endGap notices a gap of a list that has items on this page.
func (s gapSearch) endGap(gap *listGap, list int) {
	if gap.Page > 0 && s.facts.GapPage == 0 {
		s.facts.GapPage, s.facts.GapList = gap.Page, s.nameOfList(list)
	}
	gap.Items, gap.Page = true, 0
}
