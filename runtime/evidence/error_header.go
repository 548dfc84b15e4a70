package evidence

import (
	"maps"
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
)

// noticeHeaders notices an error in a trailer, which the server sends after the body because it has failed since the headers,
// and in a header beside an empty list. Pages with items must not have the header: it is not a certain sign.
func (s errorSearch) noticeHeaders() {
	var trailers []string // most pages have none
	if len(s.trailers) > 0 {
		trailers = slices.Sorted(maps.Keys(s.trailers))
	}
	for _, name := range trailers {
		if text := s.trailers.Get(name); apinames.IsErrorTrailer(name, text) {
			s.reportError("its trailer "+name+" is "+shortText(text), rules.DoubtNone)
			return
		}
	}
	for _, name := range apinames.ErrorHeaders() {
		values := s.header[name]
		if len(values) == 0 || !apinames.IsErrorHeader(name, values[0]) || slices.Contains(s.memory.Headers, name) {
			continue
		}
		if s.context.Count > 0 {
			s.memory.Headers = append(s.memory.Headers, name)
		} else if s.facts.Error == "" {
			s.reportError("the header "+name+" is "+shortText(values[0])+", and there are no items", rules.DoubtItem)
		}
	}
}
