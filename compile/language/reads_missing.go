package language

import (
	"slices"

	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/diag"
)

// Missing lists the paths and headers that the expression reads and the response
// does not have. A value below an element of an empty list is not missing.
func (e *Expression) Missing(c *rules.Context) []string {
	var missing []string
	for _, r := range e.ShownReads() {
		if r.missing(c) {
			missing = append(missing, r.String())
		}
	}
	for _, r := range e.Elements() {
		if text := r.String(); r.missing(c) && !slices.Contains(missing, text) {
			missing = append(missing, text)
		}
	}
	return missing
}

// missing reports whether the response lacks the path of the body or of an item, the header or the link
// that is read. Values that every page has, such as count, are never missing.
func (r Read) missing(c *rules.Context) bool {
	_, exists := r.page(c)
	known := r.call != "" && len(r.Args) > 0
	switch r.Root {
	case rules.ContextBody:
		known = len(r.Path) > 0
	case rules.ContextItems:
		known = len(r.Path) > 0 && r.countItems(c) > 0
	}
	if !exists || !known || r.Has || r.Open {
		return false
	}
	_, ok := r.Lookup(c)
	return !ok
}

// countItems returns the number of items of the page that the read is about. It decodes
// no item.
func (r Read) countItems(c *rules.Context) int {
	if r.Past == "" && c.Values != nil {
		return c.Values.Len()
	}
	list, _ := Read{Root: r.Root, Past: r.Past}.Lookup(c)
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
func (e *Expression) Misspelt(c *rules.Context) []MissingPath {
	var missing []MissingPath
	for _, r := range e.ShownReads() {
		if r.Past != "" || r.Root == rules.ContextBody || r.Root == rules.ContextLink || !r.missing(c) {
			continue // the reader of pages finds misspelt paths of the body: it knows all of them
		}
		if r.call != "" {
			missing = append(missing, MissingPath{Path: r.String()})
			continue
		}
		last := len(r.Path) - 1
		missing = append(missing, MissingPath{r.String(), nearestHint(Read{Root: r.Root, Path: r.Path[:last]}, r.Path[last], c)})
	}
	for _, r := range e.Elements() {
		if r.List.String() == rules.ContextItems && r.missing(c) {
			missing = append(missing, MissingPath{r.String(), nearestHint(Read{Root: rules.ContextItems, Path: []string{"0"}}, r.Path[0], c)})
		}
	}
	return missing
}

// nearestHint returns a hint with the name in an object that is most similar to key, or "".
func nearestHint(object Read, key string, c *rules.Context) string {
	v, _ := object.Lookup(c)
	if !isObject(v) {
		return ""
	}
	return diag.DidYouMean(key, sortedNames(v))
}

// missing reports whether no element of the list has the path.
func (r ElementRead) missing(c *rules.Context) bool {
	v, _ := r.List.Lookup(c)
	list, _ := v.([]any)
	return len(list) > 0 && !slices.ContainsFunc(list, func(e any) bool {
		return HasPath(e, r.Path)
	})
}
