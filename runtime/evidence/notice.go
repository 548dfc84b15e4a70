package evidence

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/requests"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// Notice compares a page with the facts about its list. request and before are the digests of the
// requests for the page and for the previous page.
func (w *Watcher) Notice(reading document.Reading, header http.Header, request, before document.Digest, sent trace.Sent) {
	c := w.context
	w.request = request
	w.page, w.header, w.strange, w.hinted, w.resumed = reading, header, nil, nil, nil
	if c.Page == 1 {
		w.history.First = sent
	}
	w.history.Facts.DuplicateKey = cmp.Or(w.history.Facts.DuplicateKey, reading.DuplicateKey)
	c.RepeatedRequest, w.repeats = false, false
	w.history.Facts.Stuck = c.SamePage && request == before && c.Count > 0 && !c.Polled
	if !c.Polled {
		repeats := w.noticeRepeat(request, before, sent)
		hasIdentity := func(item []byte) bool { return document.Identity(item) != nil }
		w.noticeTie(sent)
		allKnown, allSame := false, repeats && (w.page.IdentityDigest != w.page.ItemsDigest || slices.ContainsFunc(w.page.Compared, hasIdentity))
		if !repeats {
			allKnown, allSame = w.noticeItems()
		}
		if c.Page == 1 && slices.ContainsFunc(w.page.Compared, hasIdentity) {
			w.history.FirstList = w.firstList().Half()
		}
		w.noticeCursor(request, before, sent, c.Count > 0 && !repeats && !allKnown)
		w.countRepeated(allSame)
		w.noticeCycle(request, before, sent, allKnown)
	}
	w.countLists()
	w.noticeOlder()
	w.noticeSize(sent)
	w.noticeNested()
	w.noticeMoved()
	w.noticePaths()
	w.noticeBareEnd()
	w.noticeError()
	*w.largest = max(*w.largest, c.Count)
}

// NoticeContinued records what only later pages are compared with. It must be called when the list goes on after a page,
// before the variables change.
func (w *Watcher) NoticeContinued() {
	if c := w.context; c.Page == 1 {
		w.noticeTotal(w.Hints())
		w.rememberFirst()
	}
	if !w.context.Polled && !w.context.RepeatedRequest {
		w.history.Requests.Put(w.request, w.decisive().Half())
	}
}

// countLists counts the items of each of several lists.
func (w *Watcher) countLists() {
	if w.listsOf() == nil || len(w.page.Lists) == 0 {
		return
	}
	if len(w.history.Counts) != len(w.page.Lists) {
		w.history.Counts = make([]int, len(w.page.Lists))
	}
	for i, list := range w.page.Lists {
		w.history.Counts[i] += list.Items.Len()
	}
}

// noticeRepeat notices a page with the items of an earlier one, even if they have other content. It reports whether the page has
// items and all of them are known.
func (w *Watcher) noticeRepeat(request, before document.Digest, sent trace.Sent) bool {
	c, h := w.context, w.history
	if c.Count == 0 {
		return false
	}
	now := newListSighting(c.Page, request)
	number, known := h.Lists.Get(w.page.IdentityDigest)
	earlier := listSighting(number)
	if !known && c.SamePage { // it differs in its spelling
		earlier, known = newListSighting(c.Page-1, before), true
	}
	if !known {
		h.Lists.Put(w.page.IdentityDigest, uint64(now))
		return false
	}
	if earlier.request() == now.request() {
		return true
	}
	f := &h.Facts
	w.repeats = true
	if f.Repeats++; f.Repeats == 1 {
		f.RepeatPage, f.RepeatOf, f.RepeatCount = c.Page, earlier.page(), c.Count
	}
	if earlier.page() == 1 && f.FirstAgain == 0 {
		f.FirstAgain, f.FirstParams = c.Page, difference(h.First, sent)
	}
	return true
}

// noticeSize notices that page 1 has as many items as one of its parameters says, that page 2 has
// another number, and that its request lacks the parameter. The last page may be smaller, so page 3
// decides.
func (w *Watcher) noticeSize(sent trace.Sent) {
	c, h := w.context, w.history
	if c.Page <= len(h.Sizes) {
		h.Sizes[c.Page-1] = c.Count
	}
	first, second := h.Sizes[0], h.Sizes[1]
	address := func(sent trace.Sent) string { path, _, _ := strings.Cut(sent.URL, "?"); return path }
	if c.Page == 2 && second != first && address(h.First) == address(sent) {
		h.Lost = lost(h.First, sent, strconv.Itoa(first))
	}
	if h.Lost != "" && (c.Page == 2 && second > first || c.Page == 3 && second < first && c.Count > 0) {
		h.Facts.LostParams, h.Facts.SizeBefore, h.Facts.SizeAfter = h.Lost, first, second
	}
}

// lost returns the names of the parameters of the first request that another request lacks. It returns
// "" unless one of them has the value v.
func lost(first, sent trace.Sent, v string) string {
	var names []string
	after, found := parametersOf(sent), false
	for _, m := range parametersOf(first) {
		if _, has := after.Get(m.Name); !has {
			names = append(names, m.Name)
			found = found || shortText(m.Value) == v
		}
	}
	if !found {
		return ""
	}
	return value.Clip(strings.Join(names, ", "), 200)
}

// NoticeWritten records that the items of the last page are written.
func (w *Watcher) NoticeWritten() {
	w.history.Facts.RepeatWritten = w.history.Facts.RepeatWritten || w.repeats
}

// difference returns the names of the parameters of a request that are new or have other values
// than in the first request.
func difference(first, sent trace.Sent) string {
	before, after := parametersOf(first), parametersOf(sent)
	var changed []string
	for _, m := range after {
		text := shortText(m.Value)
		if earlier, ok := before.Get(m.Name); !ok || shortText(earlier) != text {
			changed = append(changed, m.Name+"="+text)
		}
	}
	if changed == nil {
		return "the address " + value.Clip(sent.URL, 200)
	}
	return strings.Join(changed, ", ")
}

func parametersOf(sent trace.Sent) rules.Object {
	params := requests.ParseQuery(sent.URL)
	body, _ := document.Decode(sent.Body)
	if form, ok := body.(string); ok {
		return append(params, requests.ParseQuery(form)...)
	}
	object, _ := value.Members(body)
	return append(params, object...)
}

func shortText(v any) string {
	if text, ok := value.Text(v); ok {
		return value.Clip(text, 60)
	}
	text, _ := value.Marshal(v)
	return value.Clip(string(text), 60)
}

// noticeItems looks up the items of a page among the items of earlier pages, by their identifiers. It
// reports whether all items with identifiers are known, and whether these items are also unchanged. Both are
// false if no item has an identifier.
func (w *Watcher) noticeItems() (allKnown, allSame bool) {
	h := w.history
	identified, known, unchanged := 0, 0, 0
	repeatsLast := w.beginsWithLastItems() // until an item is not on the previous page
	for _, item := range w.page.Compared {
		id := document.Identity(item)
		if id == nil {
			if w.strange == nil && document.IsErrorObject(item) {
				w.strange = item
			}
			continue
		}
		identified++
		key := document.DigestOf(id, document.Digest{})
		h.LastItem = key.Half()
		now := newItemSighting(w.context.Page, item)
		number, seen := h.Identities.Get(key)
		earlier := itemSighting(number)
		h.Identities.Put(key, uint64(now))
		if w.subject.stableKeys {
			h.Keys.Put(key, uint64(newSighting(now.page(), document.StableDigest(item))))
		}
		if !seen {
			repeatsLast = false
			continue
		}
		if earlier.content() == now.content() {
			unchanged++
		}
		repeatsLast = repeatsLast && earlier.isOnPageBefore(now)
		switch {
		case repeatsLast:
			known++
		case earlier.page() == now.page():
			w.noticeTwice(id, earlier, now)
		default:
			known++
			w.noticeAgain(id, earlier, now)
		}
	}
	h.Facts.Identified += identified
	return identified > 0 && known == identified, identified > 0 && unchanged == identified
}

// noticeTwice notices an identifier that a page has twice.
func (w *Watcher) noticeTwice(id []byte, earlier, now itemSighting) {
	if earlier != now {
		w.history.Ambiguous = true
		return
	}
	if f := &w.history.Facts; w.listsOf() == nil && w.subject.job.Spec().Key == nil {
		if f.Twice++; f.Twice == 1 {
			f.TwicePage, f.TwiceID = w.context.Page, value.Clip(string(id), 60)
		}
	}
}

// noticeAgain notices an item that an earlier page has: the list may have shifted between the pages.
func (w *Watcher) noticeAgain(id []byte, earlier, now itemSighting) {
	f := &w.history.Facts
	if earlier.content() == now.content() {
		f.Duplicates++
	} else {
		f.Revised++
	}
	if f.ShiftPage == 0 {
		f.ShiftPage, f.Duplicate = w.context.Page, value.Clip(string(id), 60)
	}
}

// beginsWithLastItems reports whether a page begins with the last items of the previous page because the requests
// read items: they may ask for these items again, which is not a sign of a changed list. If the very last
// item is not among them, the list is not sorted by the cursor, so it reports false.
func (w *Watcher) beginsWithLastItems() bool {
	h := w.history
	for _, item := range w.page.Compared {
		id := document.Identity(item)
		if id == nil {
			continue
		}
		key := document.DigestOf(id, document.Digest{})
		number, seen := h.Identities.Get(key)
		now := newItemSighting(w.context.Page, nil)
		switch {
		case !w.subject.readsItems || !seen || !itemSighting(number).isOnPageBefore(now):
			return false
		case h.LastItem == 0 || h.LastItem == key.Half() || w.listsOf() != nil:
			return true
		}
	}
	return false
}

// countRepeated counts consecutive pages that have only items of earlier pages.
func (w *Watcher) countRepeated(allSame bool) {
	c := w.context
	switch {
	case c.Count == 0:
	case allSame:
		c.RepeatedItems++
	default:
		c.RepeatedItems = 0
	}
}

// noticeCycle notices that a request is repeated and nothing that rules read has changed. A
// constant scroll token also repeats a request, so the list is in a loop only if another request
// came between, or all items of the page are known.
func (w *Watcher) noticeCycle(request, before document.Digest, sent trace.Sent, known bool) {
	c, h := w.context, w.history
	earlier, repeated := h.Requests.Get(request)
	c.RepeatedRequest = repeated && earlier == w.decisive().Half()
	if !c.RepeatedRequest || request == before && !known {
		return
	}
	f := &h.Facts
	if f.Cycles++; f.Cycles == 1 {
		f.CyclePage, f.CycleSent = c.Page, value.Clip(sent.Method+" "+sent.URL, 300)
		w.warn("repeated_request", fmt.Sprintf("page %d repeats an earlier request (%s), and nothing that the rules read has changed; "+
			"the API may be in a loop", c.Page, f.CycleSent))
	}
}

// decisive returns the digest of the values that determine how the list continues.
func (w *Watcher) decisive() document.Digest {
	var d document.Digest
	for _, read := range w.subject.decisives {
		switch {
		case read.Root == "items":
			d = d.With(w.page.ItemsDigest)
		case read.Root == "body" && len(read.Path) == 0:
			d = d.With(w.page.Content)
		default:
			v, _ := read.Lookup(w.context)
			d = document.DigestOf(fmt.Appendf(nil, "%s=%v", read, v), d)
		}
	}
	return d
}

// noticePaths records the watched paths that the response has.
func (w *Watcher) noticePaths() {
	c, h := w.context, w.history
	if c.Status >= 400 || w.page.Lookup == nil {
		return
	}
	h.Responses++
	w.noticeElsewhere()
	h.HadItems = h.HadItems || w.page.HasField && (!w.page.Elements || c.Count > 0)
	for i, list := range w.listsOf() {
		if key := watchedList(list); w.had(i) && !slices.Contains(h.Had, key) {
			h.Had = append(h.Had, key)
		}
	}
	for _, watch := range w.subject.watches {
		key := watch.String()
		if slices.Contains(h.Had, key) {
			continue
		}
		limit, hasLimit := c.Limit.(int)
		isFull := hasLimit && c.Count > 0 && c.Count >= limit
		if v, present := watch.Lookup(c); present && (v != nil || !watch.Total && !(watch.Flag && isFull)) {
			h.Had = append(h.Had, key)
		}
	}
}

// listsOf returns the lists of items if there are several, and nil otherwise.
func (w *Watcher) listsOf() []rules.ItemList {
	if f := w.subject.job.Spec().DataField; f != nil && len(f.Lists) > 1 {
		return f.Lists
	}
	return nil
}

// watchedList returns the name of a list among the watched paths.
func watchedList(list rules.ItemList) string { return "dataField " + list.Text }

// suspectsAbsence reports whether a path that no response had should have been present.
func (w *Watcher) suspectsAbsence(watch compile.Watch, hints *rules.Hints) bool {
	switch {
	case w.misspelt(watch.Path):
		return true
	case watch.Link && w.history.Responses == 1:
		return w.promisesMore(hints)
	case watch.Link:
		return !slices.ContainsFunc(w.subject.watches, func(other compile.Watch) bool {
			return other.Link && slices.Contains(w.history.Had, other.String())
		})
	case watch.Rule.ExpectsRead:
		return slices.Contains(w.end.StoppedBy, watch.Rule.ID)
	}
	return !watch.Optional
}

// misspelt reports whether the last response has a value at a similar path.
func (w *Watcher) misspelt(path []string) bool {
	near := document.Nearest(w.page.Names, path)
	if near == nil {
		return false
	}
	v, present := w.lookup(near)
	return present && !value.Empty(v)
}

// lookup returns the value at a path of the last response, and whether there is one.
func (w *Watcher) lookup(path []string) (any, bool) {
	body, err := w.page.Lookup(document.NewPaths([][]string{path}))
	if err != nil {
		return nil, false
	}
	return language.Read{Root: "body", Path: path}.Lookup(&rules.Context{Body: body})
}
