package evidence

import (
	"net/http"
	"slices"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A firstPage is what later pages are compared with.
type firstPage struct {
	First      trace.Request `json:"first"`                // first request, without its secrets
	FirstPaths []string      `json:"firstPaths,omitempty"` // paths of the first page: in its root, and next to its items
	FirstPlace string        `json:"firstPlace,omitempty"` // where its list was found without dataField; see [document.Reading]
	FirstNames []string      `json:"firstNames,omitempty"` // names of the members of the first item of the first page
	Header     []string      `json:"header,omitempty"`     // the header of the first page in CSV, if it has rows

	// FirstFailures are the paths of the errors and messages of the first page that tell of a failure, although it has the
	// list. FirstStatuses are its other values with such names, except messages, by their paths.
	FirstFailures []string          `json:"firstFailures,omitempty"`
	FirstStatuses map[string]string `json:"firstStatuses,omitempty"`

	NamesByList [][]string `json:"namesByList,omitempty"` // for each of several lists, the names in its first item
}

// A comparison compares the last page with the first one.
type comparison struct {
	*listView
	first *firstPage
}

// rememberFirst remembers the paths of the first page, and the names of the members of its items.
func (s comparison) rememberFirst() {
	if s.context.Status >= http.StatusBadRequest || !s.reading.HasField || !s.subject.job.Paged() {
		return
	}
	s.first.FirstPaths, s.first.FirstNames, s.first.NamesByList = s.outline(), nil, nil
	s.first.FirstPlace = s.reading.Place
	if s.first.Header = nil; s.context.Count > 0 {
		s.first.Header = s.reading.Columns
	}
	s.rememberStatuses()
	for i := range s.reading.Lists {
		names := s.namesOfItem(i)
		if s.first.FirstNames == nil {
			s.first.FirstNames = names
		}
		if s.subject.severalLists() != nil {
			s.first.NamesByList = append(s.first.NamesByList, names)
		}
	}
}

// lostItems reports whether a page lacks the list of items, even an empty one, although the first
// page has it.
func (s comparison) lostItems() bool {
	c := s.context
	return c.Page > 1 && c.Status < http.StatusBadRequest && s.reading.HasContent() && s.reading.Bytes <= maxErrorBody &&
		!s.hasList() && len(s.first.FirstPaths) > 0
}

// hasOtherList reports whether the list of a page was found without dataField, and at another place than that of page 1.
func (s comparison) hasOtherList() bool {
	return s.context.Page > 1 && s.reading.Place != "" && s.first.FirstPlace != "" && s.reading.Place != s.first.FirstPlace
}

// hasList reports whether a page has the list of items, even null or empty. An empty list at another place is not that list.
func (s comparison) hasList() bool {
	return s.reading.HasField && !(s.context.Count == 0 && s.hasOtherList())
}

// firstNames returns the names of the members of the first item of a list on page 1, given the index of the
// list. They are nil if page 1 has no item of it.
func (s comparison) firstNames(index int) []string {
	if s.context.Page == 1 {
		if index < len(s.reading.Lists) {
			return s.namesOfItem(index)
		}
		return nil
	}
	if s.subject.severalLists() == nil {
		return s.first.FirstNames
	}
	if index < len(s.first.NamesByList) {
		return s.first.NamesByList[index]
	}
	return nil
}

// rememberStatuses remembers the statuses of page 1.
func (s comparison) rememberStatuses() {
	s.first.FirstFailures, s.first.FirstStatuses = nil, nil
	for _, found := range s.errorMembers() {
		switch {
		case apinames.Key(found.name).IsFailedStatus(found.value):
			s.first.FirstFailures = append(s.first.FirstFailures, found.at)
		case !apinames.Key(found.name).IsErrorMessage():
			if s.first.FirstStatuses == nil {
				s.first.FirstStatuses = map[string]string{}
			}
			s.first.FirstStatuses[found.at] = shortText(found.value)
		}
	}
}

// isKnown reports whether a later page has a value at a path of the first page.
func (s comparison) isKnown(at string) bool {
	return s.context.Page > 1 && slices.Contains(s.first.FirstPaths, at)
}

// isUsual reports whether a message on a later page can be ignored, because page 1 has a message at the same path, unless
// only this one reports a failure.
func (s comparison) isUsual(at, text string) bool {
	return s.isKnown(at) && (slices.Contains(s.first.FirstFailures, at) || !apinames.SaysFailure(text))
}
