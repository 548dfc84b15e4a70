package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/evidence"
	"github.com/stopwhen/stopwhen/runtime/failure"
	"github.com/stopwhen/stopwhen/runtime/spool"
)

// A shaper filters and changes the items of a job's pages, according to filter and fields of the
// configuration. The rules see the page before that, unchanged.
type shaper struct {
	run     *listRun
	shape   *compile.Shape
	decoder *document.ItemDecoder // decodes the parts of an item that the rules read
	copied  []int                 // for each field that copies a value, the index of its path in the places of the shape; else -1
	editor  *document.Editor
	values  [][]byte // values of the fields, for one item
	texts   [][]byte // for each field, the buffer of the value that is computed
	line    []byte   // the item being written
	out     spool.Buffer

	unseen []compile.Watch // what the rules read and no item, or no response, had so far
	sample []byte          // the first item, for suggestions
}

// newShaper returns the shaper of a job, or nil if the job passes items on unchanged.
func newShaper(r *listRun) *shaper {
	shape := &r.job.Shape
	if shape.Empty() {
		return nil
	}
	s := &shaper{
		run: r, shape: shape, values: make([][]byte, len(shape.Fields)), texts: make([][]byte, len(shape.Fields)), unseen: shape.Watches(),
	}
	s.decoder = document.NewItemDecoder(shape.Reads, shape.Places, r.MaxValueBytes)
	s.copied = lists.Map(shape.Fields, func(f compile.ItemField) int {
		return slices.IndexFunc(shape.Places, func(path []string) bool { return f.Copy != nil && slices.Equal(path, f.Copy) })
	})
	if len(shape.Fields) > 0 {
		s.editor = document.NewEditor(lists.Map(shape.Fields, func(f compile.ItemField) []string { return f.Path }), shape.Places)
	}
	return s
}

// shape filters and changes the items of a page that was judged. failed is the error of judging the
// page, or nil; shape returns it unless it is nil or the job is being cancelled. Otherwise, shape
// returns its own error.
func (r *listRun) shape(ctx context.Context, page *Page, failed error) error {
	if r.shaper == nil {
		r.current.known = r.watcher.CountKnown(page.Items)
	}
	if r.shaper == nil || page.Items.Len() == 0 {
		return failed
	}
	err := r.shaper.page(ctx, page)
	if failed == nil || errors.Is(err, failure.ErrCancelled) {
		return err
	}
	return failed
}

// page shapes the items of a page. If a rule fails on an item, the page is left without items,
// because a page is delivered completely or not at all.
func (s *shaper) page(ctx context.Context, page *Page) error {
	c := s.run.context()
	defer func() { c.Item, c.Key = nil, nil }()
	items, lists, err := s.lists(ctx, page)
	if err != nil {
		page.Items, page.Lists, page.Written = document.Items{}, nil, new(int)
		return err
	}
	current := &s.run.current
	if items.Len() == 0 {
		s.warnOfAbsentKeys(page)
	}
	if current.filtered = page.Items.Len() - items.Len(); current.filtered > 0 {
		written := items.Len()
		page.Written = &written
	}
	sent := page.Items
	current.delivery.Sent, page.Items, page.Lists = &sent, items, lists
	return nil
}

// warnOfAbsentKeys warns that the filter, which has left out all items of a page, reads the key of items that have none.
func (s *shaper) warnOfAbsentKeys(page *Page) {
	f := s.shape.Filter
	if f == nil || !slices.ContainsFunc(f.Reads, func(r language.Read) bool { return r.Is(rules.ContextKey) }) ||
		slices.ContainsFunc(page.members, func(key any) bool { return key != nil }) {
		return
	}
	s.run.warn("filter.key", fmt.Sprintf("%s leaves out all items of page %d: it reads key, but these items are elements of a list, "+
		"which have no key; only members of an object have one", f.Rule.ID, s.run.context().Page))
}

// lists returns the items that pass the filter, with their changes: all of them together, and
// separately for each list.
func (s *shaper) lists(ctx context.Context, page *Page) (items document.Items, lists []document.TypedItems, err error) {
	s.out.Reset(int64(len(page.Items.Bytes())))
	var ends []document.ListEnd
	read, written := 0, 0
	for _, list := range page.Lists {
		passed, err := s.list(ctx, page, list.Items, read)
		if err != nil {
			return items, nil, err
		}
		read += list.Items.Len()
		written += passed
		ends = append(ends, document.ListEnd{DataType: list.DataType, End: int(s.out.Len()), Count: written})
	}
	block, mapping, err := s.out.Body()
	if err != nil {
		return items, nil, err
	}
	items, lists = document.Lists(block, mapping, ends)
	return items, lists, nil
}

// list writes the items of a list that pass the filter, with their changes, and returns their
// number. read is the number of items in the lists of the page before this one.
func (s *shaper) list(ctx context.Context, page *Page, items document.Items, read int) (written int, err error) {
	for item := range page.values.Located(items) {
		if page.members != nil {
			s.run.context().Key = page.members[read]
		}
		read++
		if read%1024 == 0 && ctx.Err() != nil {
			return 0, s.fault(read, &language.RuleError{Rule: s.shape.Rules()[0].Rule, Err: context.Cause(ctx)})
		}
		passes, err := s.item(item)
		if err != nil {
			return 0, s.fault(read, err)
		}
		if !passes {
			continue
		}
		written++
		if s.run.watcher.Knows(item.Raw) {
			s.run.current.known++
		}
		s.line = append(s.line, '\n')
		if _, err := s.out.Write(s.line); err != nil {
			return 0, err
		}
	}
	return written, nil
}

// item sets s.line to an item with its changes. It reports whether the item passes the filter.
func (s *shaper) item(item *document.LocatedItem) (passes bool, err error) {
	r := s.run
	c := r.context()
	if c.Item, err = s.decoder.Decode(item); err != nil {
		return false, err
	}
	if len(s.unseen) > 0 {
		s.look(item.Raw)
	}
	if f := s.shape.Filter; f != nil {
		passes, err := f.Passes(&r.workspace.machine, c)
		if other, ok := errors.AsType[*language.CompareError](err); ok { // an item without such a value does not pass, either
			if !r.reported["filter.types"] {
				r.warn("filter.types", fmt.Sprintf("%s: %v; items like this are left out", f.Rule.ID, other))
			}
			return false, nil
		}
		if err != nil || !passes {
			return false, err
		}
	}
	if s.editor == nil {
		s.line = append(s.line[:0], item.Raw...)
		return true, nil
	}
	for i := range s.shape.Fields {
		if place := s.copied[i]; place >= 0 {
			if s.values[i] = item.Value(place); s.values[i] == nil {
				s.values[i] = null
			}
			continue
		}
		if s.values[i], err = s.value(i); err != nil {
			return false, err
		}
	}
	s.line, err = s.editor.Append(s.line[:0], item, s.values)
	return true, err
}

// value returns the value of a field as JSON, or nil to remove the member.
func (s *shaper) value(field int) ([]byte, error) {
	f := s.shape.Fields[field]
	if f.Rule.Role == rules.RoleRemove {
		return nil, nil
	}
	v, err := f.JSON(&s.run.workspace.machine, s.run.context())
	if err != nil {
		return nil, err
	}
	text, err := value.AppendMarshal(s.texts[field][:0], v)
	if err != nil {
		return nil, &language.RuleError{Rule: f.Rule, Err: fmt.Errorf("its value cannot be written as JSON: %w", err)}
	}
	s.texts[field] = text
	return text, nil
}

var null = []byte("null")

// fault returns the error of a rule on an item. Items count from 1.
func (s *shaper) fault(item int, err error) error {
	place := fmt.Sprintf("item %d of the page", item)
	if failed, ok := errors.AsType[*language.RuleError](err); ok {
		return s.run.pageError(failure.Response, &language.RuleError{Rule: failed.Rule, Err: fmt.Errorf("%s: %w", place, failed.Err)})
	}
	return s.run.pageError(failure.Response, fmt.Errorf("%s: %w", place, err))
}

// maxSample is the size, in bytes, of the largest item that is kept for suggestions.
const maxSample = 64 << 10

// look notes what an item, or its response, has and no earlier one had.
func (s *shaper) look(raw json.RawMessage) {
	if s.sample == nil && len(raw) <= maxSample {
		s.sample = slices.Clone(raw)
	}
	watcher := &s.run.watcher
	s.unseen = slices.DeleteFunc(s.unseen, func(w compile.Watch) bool {
		key := keyOf(w)
		_, present := w.Lookup(s.run.context())
		if !watcher.Had(key) && (present || w.InItem() && document.Find(raw, w.Path) != nil) {
			watcher.NoticeHad(key)
		}
		return watcher.Had(key)
	})
}

// keyOf returns the key of a path. A stopping rule that reads the same path of the body may ask for more than its presence.
func keyOf(w compile.Watch) string {
	if w.InItem() {
		return w.String()
	}
	return "with items: " + w.String()
}

// missing describes the paths that no item had, and what no response with items had. Only what a selected watch is about is
// included, and what the filter reads of responses only if it has left out items.
func (s *shaper) missing(selects func(compile.Watch) bool) (missing []evidence.Absence) {
	if s == nil || s.run.context().Total.Items == 0 {
		return nil
	}
	leftOut := s.run.state.Result.Filtered + s.run.current.filtered
	for _, w := range s.unseen {
		isHarmless := !w.InItem() && w.Rule.Role == rules.RoleFilter && leftOut == 0
		if !w.Optional && !isHarmless && selects(w) && !s.run.watcher.Had(keyOf(w)) {
			text := fmt.Sprintf("%s (%s)%s", w, w.Rule.ID, s.suggest(w))
			missing = append(missing, evidence.Absence{Key: keyOf(w), Text: text, Ordinary: true})
		}
	}
	return missing
}

// suggest returns a suggestion for a missing path, as the end of a sentence: the nearest path of
// the first item, or of the last response. It returns "" if no path is near.
func (s *shaper) suggest(w compile.Watch) string {
	switch {
	case w.InBody():
		return s.run.watcher.Suggest(w.Path)
	case !w.InItem():
		return ""
	}
	names := func(path []string) []string { return document.Names(s.sample, path) }
	if near := document.Nearest(names, w.Path); near != nil {
		return "; did you mean " + keypath.Format(rules.ContextItem, near) + "?"
	}
	return ""
}

// decides reports whether the audit judges the absence of a path: without it, items are left out, or all of them lack
// a value. Items differ in their members, so that a field which none of them has is only logged.
func decides(w compile.Watch) bool { return !w.InItem() || w.Rule.Role == rules.RoleFilter }

// warn logs the paths that no item had, at the end of a list.
func (s *shaper) warn() {
	for _, a := range s.missing(func(w compile.Watch) bool { return w.InItem() }) {
		s.run.warn("missing "+a.Text, "no item has "+a.Text)
	}
}
