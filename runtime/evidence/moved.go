package evidence

import (
	"net/http"
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
)

// notice notices a page whose items may have moved: the list of items is missing, although the
// first page has it, and another list of objects is at a path that the first page does not have.
func (s gapSearch) notice() {
	c := s.context
	s.noticeGap()
	if s.facts.MovedPage > 0 {
		return
	}
	if c.Count > 0 && s.hasOtherList() {
		s.facts.MovedPage, s.facts.MovedTo, s.facts.MovedRead = c.Page, wording.Clip(s.reading.Place, 200), true
		return
	}
	if place := s.movedElement(); place != "" {
		s.facts.MovedPage, s.facts.MovedTo = c.Page, wording.Clip(place, 200)
		return
	}
	if !s.lostItems() {
		return
	}
	for _, path := range s.placesOfItems() {
		if place := keypath.Format(rules.ContextBody, path); !slices.Contains(s.first.FirstPaths, place) && s.listsObjects(path) {
			s.facts.MovedPage, s.facts.MovedTo = c.Page, wording.Clip(place, 200)
			return
		}
	}
}

// movedElement returns the path of the elements of XML that a later page has in place of the items, under a name that page 1
// does not have, or "". A single element is one of them only if it has the members of the items of page 1.
func (s gapSearch) movedElement() string {
	c := s.context
	if !s.reading.Elements || c.Page < 2 || c.Count > 0 || c.Status >= http.StatusBadRequest || s.reading.Bytes > maxErrorBody ||
		len(s.first.FirstPaths) == 0 || s.subject.severalLists() != nil {
		return ""
	}
	body, _ := s.lookup(nil)
	for _, list := range s.subject.lists {
		found := s.elsewhere(body, list.steps)
		keys := keypath.Split(found.Path)
		if place := keypath.Format(rules.ContextBody, keys); found.Path != "" && !slices.Contains(s.first.FirstPaths, place) {
			v, _ := s.lookup(keys)
			element, _ := value.Members(v)
			if found.Certain || element != nil && slices.Equal(namesOf(element), s.first.FirstNames) {
				return place
			}
		}
	}
	return ""
}
