package language

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// Missing lists the paths and headers that the expression reads and the response
// does not have. A value below an element of an empty list is not missing.
func (e *Expression) Missing(page *rules.Context) []string {
	var missing []string
	for _, r := range e.ShownReads() {
		if r.missing(page) {
			missing = append(missing, r.String())
		}
	}
	for _, r := range e.Elements() {
		if text := r.String(); r.missing(page) && !slices.Contains(missing, text) {
			missing = append(missing, text)
		}
	}
	return missing
}

// missing reports whether the response lacks the path of the body or of an item, the header or the link
// that is read. Values that every page has, such as count, are never missing.
func (r Read) missing(page *rules.Context) bool {
	_, exists := r.page(page)
	known := r.call != "" && len(r.Args) > 0
	switch r.Root {
	case rules.ContextBody:
		known = len(r.Path) > 0
	case rules.ContextItems:
		known = len(r.Path) > 0 && r.countItems(page) > 0
	}
	if !exists || !known || r.Has || r.Open {
		return false
	}
	_, ok := r.Lookup(page)
	return !ok
}

// countItems returns the number of items of the page that the read is about. It decodes
// no item.
func (r Read) countItems(page *rules.Context) int {
	if r.Past == "" && page.Values != nil {
		return page.Values.Len()
	}
	list, _ := Read{Root: r.Root, Past: r.Past}.Lookup(page)
	return memberCount(list)
}

// A MissingPath is a path or a header that an expression reads and a response does not
// have.
type MissingPath struct {
	Path string
	Hint string // such as: did you mean "next"? Empty if no name is similar
}

// Misspelt lists the headers that the expression reads and the response does not
// have, and the paths in the page's items that these do not have: they may be misspelt.
func (e *Expression) Misspelt(page *rules.Context) []MissingPath {
	var missing []MissingPath
	for _, r := range e.ShownReads() {
		if r.Past != "" || r.Root == rules.ContextBody || r.Root == rules.ContextLink || !r.missing(page) {
			continue // the reader of pages finds misspelt paths of the body: it knows all of them
		}
		if r.call != "" {
			missing = append(missing, MissingPath{Path: r.String()})
			continue
		}
		last := len(r.Path) - 1
		missing = append(missing, MissingPath{r.String(), nearestHint(Read{Root: r.Root, Path: r.Path[:last]}, r.Path[last], page)})
	}
	for _, r := range e.Elements() {
		if r.List.String() == rules.ContextItems && r.missing(page) {
			missing = append(missing, MissingPath{r.String(), nearestHint(Read{Root: rules.ContextItems, Path: []string{"0"}}, r.Path[0], page)})
		}
	}
	return missing
}

// nearestHint returns a hint with the name in an object that is most similar to key, or "".
func nearestHint(object Read, key string, page *rules.Context) string {
	v, _ := object.Lookup(page)
	if !isObject(v) {
		return ""
	}
	return diag.DidYouMean(key, sortedNames(v))
}

// missing reports whether no element of the list has the path.
func (r ElementRead) missing(page *rules.Context) bool {
	v, _ := r.List.Lookup(page)
	list, _ := v.([]any)
	return len(list) > 0 && !slices.ContainsFunc(list, func(e any) bool {
		return HasPath(e, r.Path)
	})
}
