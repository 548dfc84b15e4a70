package evidence

import (
	"net/http"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
)

// noticeBareEnd notices a bare page after pages with items, such as {} after {"data": […], "total": 7}. A
// bare page lacks every member of page 1: the list of items, even an empty one, and all others. It may be an
// error that ends the list. A page that lacks the list, but has another member of page 1, is noticed as well, and is a
// finding if it says that there is more.
//
// Some pages are not bare. A list that is null counts as an empty list unless page 1 has another member. A
// message explains the page. A link or a token is usually absent from the last page, so it does not count.
func (s gapSearch) noticeBareEnd() {
	c := s.context
	s.facts.BarePage, s.facts.BareBeside = 0, false
	if c.Count > 0 || c.Total.Items == 0 || c.Status >= http.StatusBadRequest || !s.reading.HasContent() {
		return
	}
	lost, null := s.lostItems(), s.listIsNull()
	neighbours := s.neighbours()
	if !lost && !(null && len(neighbours) > 0) {
		return
	}
	beside := false
	for _, path := range s.placesOfItems() {
		if apinames.Key(path[len(path)-1]).IsErrorMessage() {
			return
		}
		beside = beside || slices.Contains(neighbours, keypath.Format(rules.ContextBody, path))
	}
	s.facts.BarePage, s.facts.BareBeside = c.Page, beside
}

// neighbours returns the paths that page 1 has beside the list of items, apart from links and tokens.
func (s comparison) neighbours() []string {
	list := ""
	if field := s.subject.job.Spec().DataField; field != nil {
		list = keypath.Format(rules.ContextBody, field.Keys)
	}
	return slices.DeleteFunc(slices.Clone(s.first.FirstPaths), func(path string) bool {
		name := strings.Trim(path[strings.LastIndexAny(path, ".[")+1:], `"]`)
		leads := func(s apinames.Sign) bool { return s.Kind == apinames.SignNext }
		return path == list || slices.ContainsFunc(apinames.Key(name).Signs(), leads)
	})
}
