package evidence

import (
	"fmt"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// A repeatSearch finds requests, items and whole pages that return.
type repeatSearch struct {
	comparison
	memory   *repeatMemory
	previous *PreviousPages
}

// A repeatMemory is what a [repeatSearch] remembers of earlier pages.
type repeatMemory struct {
	Lists      Recall `json:"lists"`               // key: Reading.IdentityDigest of a page; value: its number and its request
	Requests   Recall `json:"requests"`            // key: request; value: what rules read in its response
	Identities Recall `json:"identities"`          // key: identifier of an item; value: its page and content
	Keys       Recall `json:"keys,omitzero"`       // key: key of an item, or its identifier in a window; value: its page and content
	Ambiguous  bool   `json:"ambiguous,omitempty"` // whether a page has different items with one identifier
	LastItem   uint64 `json:"lastItem,omitempty"`  // identifier of the last item of the latest page, or 0
	FirstList  uint64 `json:"firstList,omitempty"` // listView.firstList of page 1, or 0 if it has no items
}

// compare compares a page with the one before it, and its exchange with all earlier ones. waited says whether its request was made
// after a wait. It returns the comparisons, with RepeatedItems as on the page before, and the number of an earlier page with the
// same request and response, or 0.
func (s repeatSearch) compare(waited bool) (now rules.Comparisons, repeatOf int) {
	c, last, page := s.context, s.previous, &s.reading
	follows, sameRequest := c.Prev != nil, s.request == last.Request
	now = rules.Comparisons{
		SamePage: follows && (page.Content == last.Content || page.Spelling.Same(last.Spelling)),
		Polled:   follows && sameRequest && waited, RepeatedItems: c.RepeatedItems,
	}
	switch {
	case c.Count == 0:
		if !s.subject.job.Analysis().EndsByRequest() {
			now.EmptyPages = c.EmptyPages + 1
		}
	case follows && (page.ItemsDigest == last.ItemsDigest || page.IdentityDigest == last.IdentityDigest && !sameRequest):
		// Changed items for the same request may tell of progress.
		now.SameItems = c.SameItems + 1
		if !now.SamePage && !now.Polled && !s.subject.job.Ruleset.Dialect.Switches().QuietSameItems {
			s.warn(fmt.Sprintf("same_items.%d", c.Page), fmt.Sprintf("page %d has the same items as the page before it", c.Page))
		}
	default:
		now.SameItems = 1
	}
	exchange := s.request.With(page.Content)
	earlier, known := last.Exchanges.Get(exchange)
	if now.RepeatedExchange = known; !known {
		last.Exchanges.Put(exchange, uint64(c.Page))
	}
	*last = PreviousPages{s.request, page.Content, page.ItemsDigest, page.IdentityDigest, page.Spelling, last.Exchanges}
	return now, int(earlier)
}

// noticeRepeat notices a page with the items of an earlier one, even if they have other content. It reports whether the page has
// items and all of them are known.
func (s repeatSearch) noticeRepeat() bool {
	c := s.context
	if c.Count == 0 {
		return false
	}
	now := newListSighting(c.Page, s.request)
	number, known := s.memory.Lists.Get(s.reading.IdentityDigest)
	earlier := listSighting(number)
	if !known && c.SamePage { // it differs in its spelling
		earlier, known = newListSighting(c.Page-1, s.before), true
	}
	if !known {
		s.memory.Lists.Put(s.reading.IdentityDigest, uint64(now))
		return false
	}
	if earlier.request() == now.request() {
		return true
	}
	f := s.facts
	s.repeats = true
	if f.Repeats++; f.Repeats == 1 {
		f.RepeatPage, f.RepeatOf, f.RepeatCount = c.Page, earlier.page(), c.Count
	}
	if earlier.page() == 1 && f.FirstAgain == 0 {
		f.FirstAgain, f.FirstParams = c.Page, difference(s.first.First, s.sent)
	}
	if earlier.page() == 1 && c.Page > 2 && !c.SamePage {
		s.warn("page_equals_first", fmt.Sprintf("page %d equals the first one; the API may start again after its last page", c.Page))
	}
	return true
}

// noticeItems looks up the items of a page among the items of earlier pages, by their identifiers. It
// reports whether all items with identifiers are known, and whether these items are also unchanged. Both are
// false if no item has an identifier.
func (s repeatSearch) noticeItems() (allKnown, allSame bool) {
	identified, known, unchanged := 0, 0, 0
	repeatsLast := s.beginsWithLastItems() // until an item is not on the previous page
	for _, item := range s.reading.Compared {
		id := document.Identity(item)
		if id == nil {
			if s.errorItem == nil && document.IsErrorObject(item) {
				s.errorItem = item
			}
			continue
		}
		identified++
		key := document.DigestOf(id, document.Digest{})
		s.memory.LastItem = key.Half()
		now := newItemSighting(s.context.Page, item)
		number, seen := s.memory.Identities.Get(key)
		earlier := itemSighting(number)
		s.memory.Identities.Put(key, uint64(now))
		if s.subject.stableKeys {
			s.memory.Keys.Put(key, uint64(newSighting(now.page(), document.StableDigest(item))))
		}
		if !seen {
			repeatsLast = false
			continue
		}
		if earlier.content() == now.content() {
			unchanged++
		}
		repeatsLast = repeatsLast && earlier.isOnPageBefore(now)
		switch {
		case repeatsLast:
			known++
		case earlier.page() == now.page():
			s.noticeTwice(id, earlier, now)
		default:
			known++
			s.noticeAgain(id, earlier, now)
		}
	}
	s.facts.Identified += identified
	return identified > 0 && known == identified, identified > 0 && unchanged == identified
}

// noticeTwice notices an identifier that a page has twice.
func (s repeatSearch) noticeTwice(id []byte, earlier, now itemSighting) {
	if earlier != now {
		s.memory.Ambiguous = true
		return
	}
	if f := s.facts; s.subject.severalLists() == nil && s.subject.job.Spec().Key == nil {
		if f.Twice++; f.Twice == 1 {
			f.TwicePage, f.TwiceID = s.context.Page, wording.Clip(string(id), 60)
		}
	}
}

// noticeAgain notices an item that an earlier page has: the list may have shifted between the pages.
func (s repeatSearch) noticeAgain(id []byte, earlier, now itemSighting) {
	f := s.facts
	if earlier.content() == now.content() {
		f.Duplicates++
	} else {
		f.Revised++
	}
	if f.ShiftPage == 0 {
		f.ShiftPage, f.Duplicate = s.context.Page, wording.Clip(string(id), 60)
	}
}

// beginsWithLastItems reports whether a page begins with the last items of the previous page because the requests
// read items: they may ask for these items again, which is not a sign of a changed list. If the very last
// item is not among them, the list is not sorted by the cursor, so it reports false.
func (s repeatSearch) beginsWithLastItems() bool {
	for _, item := range s.reading.Compared {
		id := document.Identity(item)
		if id == nil {
			continue
		}
		key := document.DigestOf(id, document.Digest{})
		number, seen := s.memory.Identities.Get(key)
		now := newItemSighting(s.context.Page, nil)
		switch {
		case !s.subject.readsItems || !seen || !itemSighting(number).isOnPageBefore(now):
			return false
		case s.memory.LastItem == 0 || s.memory.LastItem == key.Half() || s.subject.severalLists() != nil:
			return true
		}
	}
	return false
}

// countRepeated counts consecutive pages that have only items of earlier pages.
func (s repeatSearch) countRepeated(allSame bool) {
	c := s.context
	switch {
	case c.Count == 0:
	case allSame:
		c.RepeatedItems++
	default:
		c.RepeatedItems = 0
	}
}

// noticeCycle notices that a request is repeated and nothing that rules read has changed. A
// constant scroll token also repeats a request, so the list is in a loop only if another request
// came between, or all items of the page are known.
func (s repeatSearch) noticeCycle(known bool) {
	c := s.context
	earlier, repeated := s.memory.Requests.Get(s.request)
	c.RepeatedRequest = repeated && earlier == s.decisive().Half()
	if !c.RepeatedRequest || s.request == s.before && !known {
		return
	}
	f := s.facts
	if f.Cycles++; f.Cycles == 1 {
		f.CyclePage, f.CycleSent = c.Page, wording.Clip(s.sent.Method+" "+s.sent.URL, 300)
		s.warn("repeated_request", fmt.Sprintf("page %d repeats an earlier request (%s), and nothing that the rules read has changed; "+
			"the API may be in a loop", c.Page, f.CycleSent))
	}
}
