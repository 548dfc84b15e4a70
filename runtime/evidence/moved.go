package evidence

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// notice notices a page whose items may have moved: the list of items is missing, although the
// first page has it, and another list of objects is at a path that the first page does not have.
func (s gapSearch) notice() {
	c := s.context
	s.noticeGap()
	if s.facts.MovedPage > 0 {
		return
	}
	if place := s.reading.Place; c.Count > 0 && place != "" && len(s.first.FirstPaths) > 0 && !slices.Contains(s.first.FirstPaths, place) {
		s.facts.MovedPage, s.facts.MovedTo, s.facts.MovedRead = c.Page, value.Clip(place, 200), true
		return
	}
	if !s.lostItems() {
		return
	}
	for _, path := range s.placesOfItems() {
		if place := rules.FormatPath("body", path); !slices.Contains(s.first.FirstPaths, place) && s.listsObjects(path) {
			s.facts.MovedPage, s.facts.MovedTo = c.Page, value.Clip(place, 200)
			return
		}
	}
}
