package evidence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/rules/wording"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// A nestedSearch finds truncated lists within items.
type nestedSearch struct {
	*listView
	memory *nestedMemory
}

// A nestedMemory is what a [nestedSearch] remembers of earlier pages.
type nestedMemory struct {
	Nests bool `json:"nests,omitempty"` // whether items have lists that say whether they are complete
}

// maxSearched is the number of items of a page that are searched for lists within them until an item has such a
// list. The items of a list are usually alike.
const maxSearched = 16

// notice notices items that say that a list within them is truncated, if no child of the job
// reads such lists. Once an item has a list that says whether it is complete, all items are searched,
// except in the middle of a very large page. It also notices lists below a star that say so: rules of the job
// may page through them, so only the latest page with items, or with such a sign, counts.
func (s nestedSearch) notice() {
	items := s.reading.Compared
	if !s.memory.Nests {
		found := func(document.NestedList) { s.memory.Nests = true }
		for _, item := range items[:min(maxSearched, len(items))] {
			document.NestedLists(item, found)
		}
	}
	switch {
	case !s.memory.Nests:
	case s.reading.Bytes > maxErrorBody:
		for _, item := range items {
			s.countNested(item)
		}
	default:
		for item := range s.reading.Items.All() {
			s.countNested(item)
		}
	}
	if f, list := s.facts, s.reading.Truncated; f.NestedFor == "" && (s.context.Count > 0 || list.Count > 0) {
		f.Nested, f.NestedSign = list.Count, ""
		if list.Count > 0 {
			f.NestedSign = keypath.Format(rules.ContextBody, list.Path) + " = " + wording.Clip(list.Value, 60)
		}
	}
}

// countNested counts an item with a truncated list that no child of the job reads.
func (s nestedSearch) countNested(item []byte) {
	f, counted := s.facts, false
	document.NestedLists(item, func(list document.NestedList) {
		if list.Sign == nil || counted || s.subject.passesOver(list) {
			return
		}
		counted = true
		if f.Nested++; f.Nested > 1 {
			return
		}
		path := keypath.Format("parent", list.Sign)
		f.NestedSign = strings.TrimPrefix(keypath.Format(rules.ContextItem, list.Sign), "item.") + " = " + wording.Clip(list.Value, 60)
		f.NestedFor = fmt.Sprintf(`"for": {"parent": {"items": %q}}`, s.subject.job.ID())
		if flag := map[string]string{"true": path, "false": "not " + path}[list.Value]; flag != "" && list.Outer == nil {
			f.NestedFor = fmt.Sprintf(`"for": {"parent": {"items": %q, "when": %q}}`, s.subject.job.ID(), flag)
		}
	})
}

// passesOver reports whether a list within the items is read by a child of the job, or removed.
func (s *Subject) passesOver(list document.NestedList) bool {
	job, path, name := s.job, list.Path, strings.ToLower(list.Path[len(list.Path)-1])
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
	return slices.ContainsFunc(job.ItemRules.Fields, removes) || slices.ContainsFunc(job.Children, reads)
}
