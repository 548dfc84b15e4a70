package evidence

import (
	"net/http"
	"slices"

	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A singleItem is the only item of a page.
type singleItem struct {
	Text  string   `json:"text"`
	Names []string `json:"names"`           // names of its members, apart from an identifier that is null or tells of a failure
	Error bool     `json:"error,omitempty"` // whether it looks like an error
	Kind  bool     `json:"kind,omitempty"`  // whether it may be wrapped in the name of its kind; see [kindOf]
}

// singleItemOf returns the only item of a page. It returns nil if the item is not an object.
func singleItemOf(item []byte) *singleItem {
	object, ok := membersOf(item)
	if !ok {
		return nil
	}
	single := &singleItem{Text: shortText(object), Error: slices.ContainsFunc(object, apinames.MayBeError), Kind: kindOf(object) != ""}
	for _, m := range object {
		text, _ := m.Value.(string)
		if !apinames.IsIdentifier(m.Name) || !value.Empty(m.Value) && !apinames.SaysFailure(text) {
			single.Names = append(single.Names, m.Name)
		}
	}
	return single
}

// sharesWith reports whether the item has one of some names.
func (l *singleItem) sharesWith(names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(l.Names, name) })
}

// rememberAlone remembers the only item of page 1, and whether its items are of several kinds, for the pages after it.
func (s errorSearch) rememberAlone() {
	if s.comparesNames() {
		s.memory.Kinds = haveKinds(s.reading.Compared, "")
	}
	if s.context.Count == 1 && s.context.Status < http.StatusBadRequest && s.comparesNames() {
		s.memory.Alone = singleItemOf(s.reading.Compared[0])
	}
}

// comparesNames reports whether the items of a page can be compared by the names of their members.
func (s errorSearch) comparesNames() bool {
	return s.reading.Columns == nil && s.subject.severalLists() == nil && !s.subject.listsErrors
}

// noticeDifferentItem notices a page whose only item has no member of the items of other pages: [{"type": "error", "text": …}].
// If it looks like an error, it is one; otherwise the list may have items of several kinds. The item of page 1 is compared
// with that of the next page that has items, and any other with the first item of page 1.
func (s errorSearch) noticeDifferentItem() {
	c := s.context
	if c.Page == 1 || c.Count == 0 || c.Count > 1 && s.memory.Alone == nil || !s.comparesNames() {
		return
	}
	item := singleItemOf(s.reading.Compared[0])
	if item == nil {
		return
	}
	if c.Count == 1 && len(s.first.FirstNames) > 0 && !item.sharesWith(s.first.FirstNames) {
		s.reportDifferentItem(item, c.Page, "page 1")
	}
	if s.memory.Alone != nil && !s.memory.Alone.sharesWith(item.Names) {
		s.reportDifferentItem(s.memory.Alone, 1, "later pages")
	}
	if c.Count > 1 {
		s.memory.Alone = nil
	}
}

// reportDifferentItem reports the only item of a page, given the pages without such an item.
func (s errorSearch) reportDifferentItem(item *singleItem, page int, others string) {
	if s.hasCertainError() || s.facts.Error != "" && !item.Error {
		return
	}
	s.reportErrorOf(page, "its only item is "+item.Text+", which has no member of the items of "+others,
		mayBeItemIf(!item.Error || item.Kind && s.memory.Kinds))
}
