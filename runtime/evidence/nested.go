package evidence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// maxSearched is the number of items of a page that are searched for lists within them until an item has such a
// list. The items of a list are usually alike.
const maxSearched = 16

// noticeNested notices items that say that a list within them is truncated, if no child of the job
// reads such lists. Once an item has a list that says whether it is complete, all items are searched,
// except in the middle of a very large page. It also notices lists below a star that say so: rules of the job
// may page through them, so only the latest page with items, or with such a sign, counts.
func (w *Watcher) noticeNested() {
	h, items := w.history, w.page.Compared
	if !h.Nests {
		for _, item := range items[:min(maxSearched, len(items))] {
			document.NestedLists(item, func(document.NestedList) { h.Nests = true })
		}
	}
	switch {
	case !h.Nests:
	case w.page.Bytes > maxErrorBody:
		for _, item := range items {
			w.countNested(item)
		}
	default:
		for item := range w.page.Items.All() {
			w.countNested(item)
		}
	}
	if f, list := &w.history.Facts, w.page.Truncated; f.NestedFor == "" && (w.context.Count > 0 || list.Count > 0) {
		f.Nested, f.NestedSign = list.Count, ""
		if list.Count > 0 {
			f.NestedSign = rules.FormatPath("body", list.Path) + " = " + value.Clip(list.Value, 60)
		}
	}
}

// countNested counts an item with a truncated list that no child of the job reads.
func (w *Watcher) countNested(item []byte) {
	f, counted := &w.history.Facts, false
	document.NestedLists(item, func(list document.NestedList) {
		if list.Sign == nil || counted || w.passesOver(list) {
			return
		}
		counted = true
		if f.Nested++; f.Nested > 1 {
			return
		}
		path := rules.FormatPath("parent", list.Sign)
		f.NestedSign = strings.TrimPrefix(rules.FormatPath("item", list.Sign), "item.") + " = " + value.Clip(list.Value, 60)
		f.NestedFor = fmt.Sprintf(`"for": {"parent": {"items": %q}}`, w.subject.job.ID())
		if flag := map[string]string{"true": path, "false": "not " + path}[list.Value]; flag != "" && list.Outer == nil {
			f.NestedFor = fmt.Sprintf(`"for": {"parent": {"items": %q, "when": %q}}`, w.subject.job.ID(), flag)
		}
	})
}

// passesOver reports whether a list within the items is read by a child of the job, or removed.
func (w *Watcher) passesOver(list document.NestedList) bool {
	job, path, name := w.subject.job, list.Path, strings.ToLower(list.Path[len(list.Path)-1])
	removes := func(f compile.ItemField) bool {
		return f.Rule.Role == rules.RoleRemove && len(f.Path) <= len(path) && slices.Equal(f.Path, path[:len(f.Path)])
	}
	reads := func(child *compile.Job) bool {
		spec := child.Spec()
		text, _ := value.Marshal(spec.Params)
		texts := []string{spec.ID, spec.Endpoint, spec.DataType, string(text)}
		if spec.DataField != nil {
			texts = append(texts, spec.DataField.Text)
		}
		return slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(strings.ToLower(s), name) }) ||
			slices.ContainsFunc(child.ItemPaths, func(read []string) bool {
				n := min(len(read), len(path))
				return slices.Equal(read[:n], path[:n]) && (n == len(path) || n >= len(list.Outer) && n > 0 && list.Outer != nil)
			})
	}
	return slices.ContainsFunc(job.Shape.Fields, removes) || slices.ContainsFunc(job.Children, reads)
}
