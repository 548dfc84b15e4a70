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

// An itemEditor filters and changes the items of a job's pages, according to filter and fields of the
// configuration. The rules see the page before that, unchanged.
type itemEditor struct {
	run     *listRun
	rules   *compile.ItemRules
	decoder *document.ItemDecoder // decodes the parts of an item that the rules read
	copied  []int                 // for each field that copies a value, the index of its path in the places of the rules; else -1
	editor  *document.Editor
	values  [][]byte // values of the fields, for one item
	texts   [][]byte // for each field, the buffer of the value that is computed
	line    []byte   // the item being written
	out     spool.Buffer

	unseen []compile.Watch // what the rules read and no item, or no response, had so far
	sample []byte          // the first item, for suggestions
}

// newItemEditor returns the editor of the items of a job, or nil if the job passes items on unchanged.
func newItemEditor(r *listRun) *itemEditor {
	rules := &r.job.ItemRules
	if rules.Empty() {
		return nil
	}
	e := &itemEditor{
		run: r, rules: rules, values: make([][]byte, len(rules.Fields)), texts: make([][]byte, len(rules.Fields)), unseen: rules.Watches(),
	}
	e.decoder = document.NewItemDecoder(rules.Reads, rules.Places, r.MaxValueBytes)
	e.copied = lists.Map(rules.Fields, func(f compile.ItemField) int {
		return slices.IndexFunc(rules.Places, func(path []string) bool { return f.Copy != nil && slices.Equal(path, f.Copy) })
	})
	if len(rules.Fields) > 0 {
		e.editor = document.NewEditor(lists.Map(rules.Fields, func(f compile.ItemField) []string { return f.Path }), rules.Places)
	}
	return e
}

// editItems filters and changes the items of a page that was judged. pageErr is the error of judging the
// page, or nil; editItems returns it unless it is nil or the job is being cancelled. Otherwise, it
// returns its own error.
func (r *listRun) editItems(ctx context.Context, page *Page, pageErr error) error {
	if r.itemEditor == nil {
		r.current.known = r.watcher.CountKnown(page.Items)
	}
	if r.itemEditor == nil || page.Items.Len() == 0 {
		return pageErr
	}
	err := r.itemEditor.page(ctx, page)
	if pageErr == nil || errors.Is(err, failure.ErrCancelled) {
		return err
	}
	return pageErr
}

// page edits the items of a page. If a rule fails on an item, the page is left without items,
// because a page is delivered completely or not at all.
func (e *itemEditor) page(ctx context.Context, page *Page) error {
	c := e.run.pageContext()
	defer func() { c.Item, c.Key = nil, nil }()
	items, lists, err := e.lists(ctx, page)
	if err != nil {
		page.Items, page.Lists, page.Written = document.Items{}, nil, new(int)
		return err
	}
	current := &e.run.current
	if items.Len() == 0 {
		e.warnOfAbsentKeys(page)
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
func (e *itemEditor) warnOfAbsentKeys(page *Page) {
	f := e.rules.Filter
	if f == nil || !f.ReadsAny(rules.ContextKey) ||
		slices.ContainsFunc(page.members, func(key any) bool { return key != nil }) {
		return
	}
	e.run.warn("filter.key", fmt.Sprintf("%s leaves out all items of page %d: it reads key, but these items are elements of a list, "+
		"which have no key; only members of an object have one", f.Rule.ID, e.run.pageContext().Page))
}

// lists returns the items that pass the filter, with their changes: all of them together, and
// separately for each list.
func (e *itemEditor) lists(ctx context.Context, page *Page) (items document.Items, lists []document.TypedItems, err error) {
	e.out.Reset(int64(len(page.Items.Bytes())))
	var ends []document.ListEnd
	read, written := 0, 0
	for _, list := range page.Lists {
		passed, err := e.list(ctx, page, list.Items, read)
		if err != nil {
			return items, nil, err
		}
		read += list.Items.Len()
		written += passed
		ends = append(ends, document.ListEnd{DataType: list.DataType, End: int(e.out.Len()), Count: written})
	}
	block, mapping, err := e.out.Body()
	if err != nil {
		return items, nil, err
	}
	items, lists = document.Lists(block, mapping, ends)
	return items, lists, nil
}

// list writes the items of a list that pass the filter, with their changes, and returns their
// number. read is the number of items in the lists of the page before this one.
func (e *itemEditor) list(ctx context.Context, page *Page, items document.Items, read int) (written int, err error) {
	for item := range page.values.Located(items) {
		if page.members != nil {
			e.run.pageContext().Key = page.members[read]
		}
		read++
		if read%1024 == 0 && ctx.Err() != nil {
			return 0, e.fault(read, &language.RuleError{Rule: e.rules.Rules()[0].Rule, Err: context.Cause(ctx)})
		}
		passes, err := e.item(item)
		if err != nil {
			return 0, e.fault(read, err)
		}
		if !passes {
			continue
		}
		written++
		if e.run.watcher.Knows(item.Raw) {
			e.run.current.known++
		}
		e.line = append(e.line, '\n')
		if _, err := e.out.Write(e.line); err != nil {
			return 0, err
		}
	}
	return written, nil
}

// item sets e.line to an item with its changes. It reports whether the item passes the filter.
func (e *itemEditor) item(item *document.LocatedItem) (passes bool, err error) {
	r := e.run
	c := r.pageContext()
	if c.Item, err = e.decoder.Decode(item); err != nil {
		return false, err
	}
	if len(e.unseen) > 0 {
		e.look(item.Raw)
	}
	if f := e.rules.Filter; f != nil {
		passes, err := f.EvalBool(&r.workspace.machine, c)
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
	if e.editor == nil {
		e.line = append(e.line[:0], item.Raw...)
		return true, nil
	}
	for i := range e.rules.Fields {
		if place := e.copied[i]; place >= 0 {
			if e.values[i] = item.Value(place); e.values[i] == nil {
				e.values[i] = null
			}
			continue
		}
		if e.values[i], err = e.value(i); err != nil {
			return false, err
		}
	}
	e.line, err = e.editor.Append(e.line[:0], item, e.values)
	return true, err
}

// value returns the value of a field as JSON, or nil to remove the member.
func (e *itemEditor) value(field int) ([]byte, error) {
	f := e.rules.Fields[field]
	if f.Rule.Role == rules.RoleRemove {
		return nil, nil
	}
	v, err := f.JSON(&e.run.workspace.machine, e.run.pageContext())
	if err != nil {
		return nil, err
	}
	text, err := value.AppendMarshal(e.texts[field][:0], v)
	if err != nil {
		return nil, &language.RuleError{Rule: f.Rule, Err: fmt.Errorf("its value cannot be written as JSON: %w", err)}
	}
	e.texts[field] = text
	return text, nil
}

var null = []byte("null")

// fault returns the error of a rule on an item. Items count from 1.
func (e *itemEditor) fault(item int, err error) error {
	place := fmt.Sprintf("item %d of the page", item)
	if failed, ok := errors.AsType[*language.RuleError](err); ok {
		return e.run.pageError(failure.Response, &language.RuleError{Rule: failed.Rule, Err: fmt.Errorf("%s: %w", place, failed.Err)})
	}
	return e.run.pageError(failure.Response, fmt.Errorf("%s: %w", place, err))
}

// maxSample is the size, in bytes, of the largest item that is kept for suggestions.
const maxSample = 64 << 10

// look notes what an item, or its response, has and no earlier one had.
func (e *itemEditor) look(raw json.RawMessage) {
	if e.sample == nil && len(raw) <= maxSample {
		e.sample = slices.Clone(raw)
	}
	watcher := &e.run.watcher
	e.unseen = slices.DeleteFunc(e.unseen, func(w compile.Watch) bool {
		key := keyOf(w)
		_, present := w.Lookup(e.run.pageContext())
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
func (e *itemEditor) missing(selects func(compile.Watch) bool) (missing []evidence.Absence) {
	if e == nil || e.run.pageContext().Total.Items == 0 {
		return nil
	}
	leftOut := e.run.state.Result.Filtered + e.run.current.filtered
	for _, w := range e.unseen {
		isHarmless := !w.InItem() && w.Rule.Role == rules.RoleFilter && leftOut == 0
		if !w.Optional && !isHarmless && selects(w) && !e.run.watcher.Had(keyOf(w)) {
			text := fmt.Sprintf("%s (%s)%s", w, w.Rule.ID, e.suggest(w))
			missing = append(missing, evidence.Absence{Key: keyOf(w), Text: text, Ordinary: true})
		}
	}
	return missing
}

// suggest returns a suggestion for a missing path, as the end of a sentence: the nearest path of
// the first item, or of the last response. It returns "" if no path is near.
func (e *itemEditor) suggest(w compile.Watch) string {
	switch {
	case w.InBody():
		return e.run.watcher.Suggest(w.Path)
	case !w.InItem():
		return ""
	}
	names := func(path []string) []string { return document.Names(e.sample, path) }
	if near := document.Nearest(names, w.Path); near != nil {
		return "; did you mean " + keypath.Format(rules.ContextItem, near) + "?"
	}
	return ""
}

// decides reports whether the audit judges the absence of a path: without it, items are left out, or all of them lack
// a value. Items differ in their members, so that a field which none of them has is only logged.
func decides(w compile.Watch) bool { return !w.InItem() || w.Rule.Role == rules.RoleFilter }

// warn logs the paths that no item had, at the end of a list.
func (e *itemEditor) warn() {
	for _, a := range e.missing(func(w compile.Watch) bool { return w.InItem() }) {
		e.run.warn("missing "+a.Text, "no item has "+a.Text)
	}
}
