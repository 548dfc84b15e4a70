package runtime

import (
	"net/http"
	"slices"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// maxFirstPaths limits the paths that are remembered of the first page.
const maxFirstPaths = 256

// noticeMoved notices a page that lacks the list of items, although an earlier page has it,
// and whether it has a list of objects where the first page has nothing.
func (r *run) noticeMoved(reading document.Reading) {
	c, n := &r.Context.Value, &r.Noticed
	if c.Page == 1 && c.Status < http.StatusBadRequest && reading.HasField && r.job.Paged() {
		n.FirstPaths = r.outline(reading)
	}
	n.noticeGap(c, reading)
	if !r.lostItems(reading) || n.Facts.MovedPage > 0 {
		return
	}
	for _, path := range r.placesOfItems(reading) {
		if at := rules.FormatPath("body", path); !slices.Contains(n.FirstPaths, at) && listsObjects(reading, path) {
			n.Facts.MovedPage, n.Facts.MovedTo = c.Page, value.Clip(at, 200)
			return
		}
	}
}

// noticeGap notices a page without a list of items between others that have items. A list
// often ends with such a page, so it is only noticed when the next page with items comes.
func (n *noticed) noticeGap(c *rules.Context, reading document.Reading) {
	switch {
	case c.Status >= http.StatusBadRequest || reading.Lookup == nil:
	case c.Count > 0 && n.Gap > 0 && n.Facts.LostPage == 0:
		n.Facts.LostPage = n.Gap
	case !reading.HasField && c.Count == 0 && n.HadItems && n.Gap == 0:
		n.Gap = c.Page
	}
}

// lostItems reports whether a page lacks the list of items, even an empty one, although
// the first page has it.
func (r *run) lostItems(reading document.Reading) bool {
	c := &r.Context.Value
	return c.Page > 1 && c.Status < http.StatusBadRequest && reading.Lookup != nil && reading.Bytes <= maxErrorBody &&
		!reading.HasField && len(r.Noticed.FirstPaths) > 0
}

// outline returns the places of items that a page has, or nil if there are too many.
func (r *run) outline(reading document.Reading) (outline []string) {
	places := r.placesOfItems(reading)
	if len(places) > maxFirstPaths {
		return nil
	}
	for _, path := range places {
		outline = append(outline, rules.FormatPath("body", path))
	}
	return outline
}

// placesOfItems returns the paths of the values in the root of a page, and of those
// next to its items.
func (r *run) placesOfItems(reading document.Reading) (places [][]string) {
	if reading.Names == nil {
		return nil
	}
	for _, name := range reading.Names(nil) {
		places = append(places, []string{name})
	}
	if field := r.job.Set.Job.DataField; field != nil && len(field.Keys) > 1 {
		parent := field.Keys[:len(field.Keys)-1]
		for _, name := range reading.Names(parent) {
			places = append(places, append(slices.Clone(parent), name))
		}
	}
	return places
}

// listsObjects reports whether a page has a list of objects at a path. Errors are
// noticed elsewhere.
func listsObjects(reading document.Reading, path []string) bool {
	if slices.Equal(path, rules.ErrorsNextToData.Keys) {
		return false
	}
	body, err := reading.Lookup(document.NewPaths([][]string{path}))
	if err != nil {
		return false
	}
	found, _ := compile.Read{Root: "body", Path: path}.Lookup(&rules.Context{Body: body})
	list, _ := found.([]any)
	if len(list) == 0 {
		return false
	}
	_, ok := value.Members(list[0])
	return ok
}
