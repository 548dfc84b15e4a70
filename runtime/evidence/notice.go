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

// A History holds the facts about a list that the audit needs from page to page.
type History struct {
	Facts rules.ListFacts `json:"facts"`

	Lists      Recall `json:"lists"`               // key: digest of a page's items; value: its number and its request
	Requests   Recall `json:"requests"`            // key: request; value: what rules read in its response
	Identities Recall `json:"identities"`          // key: identifier of an item; value: its page and content
	Keys       Recall `json:"keys,omitzero"`       // key: key of an item; value: its page and content
	Ambiguous  bool   `json:"ambiguous,omitempty"` // whether a page has different items with one identifier
	LastItem   uint64 `json:"lastItem,omitempty"`  // identifier of the last item of the latest page, or 0

	First      trace.Sent  `json:"first"`                // first request, without its secrets
	FirstTotal *firstTotal `json:"firstTotal,omitempty"` // total on the first page, if it has one
	FirstPaths []string    `json:"firstPaths,omitempty"` // paths of the first page: in its root, and next to its items
	FirstNames []string    `json:"firstNames,omitempty"` // names of the members of the first item of the first page

	// FirstFailures are the paths of the errors and messages of the first page that tell of a failure, although it has the
	// list. FirstStatuses are its other values with such names, save messages, by their paths.
	FirstFailures []string          `json:"firstFailures,omitempty"`
	FirstStatuses map[string]string `json:"firstStatuses,omitempty"`

	NamesByList [][]string `json:"namesByList,omitempty"` // for each of several lists, the names in its first item

	Responses int      `json:"responses,omitempty"` // number of successful responses with a body
	HadItems  bool     `json:"hadItems,omitempty"`  // whether a response had the place of the items
	Had       []string `json:"had,omitempty"`       // watched paths that a response had

	WithoutList int       `json:"gap,omitempty"`  // first page without any list of items after a page with a list, or 0
	Gaps        []listGap `json:"gaps,omitempty"` // for each list, the page that lacks it, although others are present

	FirstList uint64 `json:"firstList,omitempty"` // digest of the items of page 1, if they have identifiers, or 0
	FirstItem string `json:"firstItem,omitempty"` // identifier of the first item of page 1, if it has several
	Fresh     bool   `json:"fresh,omitempty"`     // whether the latest page has items that no earlier page has

	Sizes [2]int `json:"sizes,omitzero"`  // number of items on the first two pages
	Lost  string `json:"lost,omitempty"`  // parameters of the first request that the second lacks
	Nests bool   `json:"nests,omitempty"` // whether items have lists that say whether they are complete

	Counts []int `json:"counts,omitempty"` // for each of several lists, the number of its items

	FirstPages int    `json:"firstPages,omitempty"` // the number of pages that page 1 states
	FirstMore  string `json:"firstMore,omitempty"`  // where page 1 says that there is more

	HadOthers  bool `json:"hadOthers,omitempty"`  // whether a page has items that are not objects
	FirstNulls bool `json:"firstNulls,omitempty"` // whether page 1 is the latest page with items, and has several, all null

	Elsewhere []place `json:"elsewhere,omitempty"` // for each list, where a page that lacks it may have its items
	Blank     bool    `json:"blank,omitempty"`     // whether a page of XML has the element above the list, and no items anywhere

	Lacked []Absence `json:"lacked,omitempty"` // absences at the end of a partition that otherwise looks complete
}

// A firstTotal is the total of items in the first response.
type firstTotal struct {
	Total int    `json:"total"`
	Count int    `json:"count"` // number of items on the page
	At    string `json:"at"`
	Read  bool   `json:"read,omitempty"`  // whether a rule that decides reads it
	Rough bool   `json:"rough,omitempty"` // whether it may be an estimate
}

// Notice compares a page with the facts about its list. request and before are the digests of the
// requests for the page and for the previous page.
func (w *Watcher) Notice(reading document.Reading, header http.Header, request, before document.Digest, sent trace.Sent) {
	c := w.Context
	w.request = request
	w.page, w.header, w.strange, w.hinted, w.Resumed = reading, header, nil, nil, nil
	if c.Page == 1 {
		w.First = sent
	}
	w.Facts.DuplicateKey = cmp.Or(w.Facts.DuplicateKey, reading.DuplicateKey)
	c.RepeatedRequest, w.repeats = false, false
	w.Facts.Stuck = c.SamePage && request == before && c.Count > 0 && !c.Polled
	if !c.Polled {
		repeats := w.noticeRepeat(request, before, sent)
		hasIdentity := func(item []byte) bool { return document.Identity(item) != nil }
		allKnown, allSame := false, repeats && slices.ContainsFunc(w.page.Compared, hasIdentity)
		if !repeats {
			allKnown, allSame = w.noticeItems()
		}
		if c.Page == 1 && slices.ContainsFunc(w.page.Compared, hasIdentity) {
			w.FirstList = w.page.List.Half()
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
}

// NoticeContinued records what only later pages are compared with. It must be called when the list goes on after a page,
// before the variables change.
func (w *Watcher) NoticeContinued() {
	if c := w.Context; c.Page == 1 {
		w.noticeTotal(w.Hints())
		w.rememberFirst()
	}
	if !w.Context.Polled && !w.Context.RepeatedRequest {
		w.Requests.Put(w.request, w.decisive().Half())
	}
}

// countLists counts the items of each of several lists.
func (w *Watcher) countLists() {
	if w.listsOf() == nil || len(w.page.Lists) == 0 {
		return
	}
	if len(w.Counts) != len(w.page.Lists) {
		w.Counts = make([]int, len(w.page.Lists))
	}
	for i, list := range w.page.Lists {
		w.Counts[i] += list.Items.Len()
	}
}

// noticeRepeat notices a page with the items of an earlier one. It reports whether the page has
// items and all of them are known.
func (w *Watcher) noticeRepeat(request, before document.Digest, sent trace.Sent) bool {
	c, h := w.Context, w.History
	if c.Count == 0 {
		return false
	}
	now := newListSighting(c.Page, request)
	number, known := h.Lists.Get(w.page.List)
	earlier := listSighting(number)
	if !known && c.SamePage { // it differs in its spelling
		earlier, known = newListSighting(c.Page-1, before), true
	}
	if !known {
		h.Lists.Put(w.page.List, uint64(now))
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
	c, h := w.Context, w.History
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
func (w *Watcher) NoticeWritten() { w.Facts.RepeatWritten = w.Facts.RepeatWritten || w.repeats }

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
	h := w.History
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
		now := newItemSighting(w.Context.Page, item)
		number, seen := h.Identities.Get(key)
		earlier := itemSighting(number)
		h.Identities.Put(key, uint64(now))
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
		w.Ambiguous = true
		return
	}
	if f := &w.Facts; w.listsOf() == nil && w.Subject.job.Spec().Key == nil {
		if f.Twice++; f.Twice == 1 {
			f.TwicePage, f.TwiceID = w.Context.Page, value.Clip(string(id), 60)
		}
	}
}

// noticeAgain notices an item that an earlier page has: the list may have shifted between the pages.
func (w *Watcher) noticeAgain(id []byte, earlier, now itemSighting) {
	f := &w.Facts
	if earlier.content() == now.content() {
		f.Duplicates++
	} else {
		f.Revised++
	}
	if f.ShiftPage == 0 {
		f.ShiftPage, f.Duplicate = w.Context.Page, value.Clip(string(id), 60)
	}
}

// beginsWithLastItems reports whether a page begins with the last items of the previous page because the requests
// read items: they may ask for these items again, which is not a sign of a changed list. If the very last
// item is not among them, the list is not sorted by the cursor, so it reports false.
func (w *Watcher) beginsWithLastItems() bool {
	h := w.History
	for _, item := range w.page.Compared {
		id := document.Identity(item)
		if id == nil {
			continue
		}
		key := document.DigestOf(id, document.Digest{})
		number, seen := h.Identities.Get(key)
		now := newItemSighting(w.Context.Page, nil)
		switch {
		case !w.Subject.readsItems || !seen || !itemSighting(number).isOnPageBefore(now):
			return false
		case h.LastItem == 0 || h.LastItem == key.Half() || w.listsOf() != nil:
			return true
		}
	}
	return false
}

// countRepeated counts consecutive pages whose items are all unchanged repetitions.
func (w *Watcher) countRepeated(allSame bool) {
	c := w.Context
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
	c, h := w.Context, w.History
	earlier, repeated := h.Requests.Get(request)
	c.RepeatedRequest = repeated && earlier == w.decisive().Half()
	if !c.RepeatedRequest || request == before && !known {
		return
	}
	f := &h.Facts
	if f.Cycles++; f.Cycles == 1 {
		f.CyclePage, f.CycleSent = c.Page, value.Clip(sent.Method+" "+sent.URL, 300)
		w.Warn("repeated_request", fmt.Sprintf("page %d repeats an earlier request (%s), and nothing that the rules read has changed; "+
			"the API may be in a loop", c.Page, f.CycleSent))
	}
}

// decisive returns the digest of the values that determine how the list continues.
func (w *Watcher) decisive() document.Digest {
	var d document.Digest
	for _, read := range w.Subject.decisives {
		switch {
		case read.Root == "items":
			d = d.With(w.page.List)
		case read.Root == "body" && len(read.Path) == 0:
			d = d.With(w.page.Content)
		default:
			v, _ := read.Lookup(w.Context)
			d = document.DigestOf(fmt.Appendf(nil, "%s=%v", read, v), d)
		}
	}
	return d
}

// noticePaths records the watched paths that the response has.
func (w *Watcher) noticePaths() {
	c, h := w.Context, w.History
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
	for _, watch := range w.Subject.watches {
		key := watch.String()
		if slices.Contains(h.Had, key) {
			continue
		}
		if v, present := watch.Lookup(c); present && (v != nil || !watch.Total) {
			h.Had = append(h.Had, key)
		}
	}
}

// listsOf returns the lists of items if there are several, and nil otherwise.
func (w *Watcher) listsOf() []rules.ItemList {
	if f := w.Subject.job.Spec().DataField; f != nil && len(f.Lists) > 1 {
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
	case watch.Link && w.Responses == 1:
		return w.promisesMore(hints)
	case watch.Link:
		return !slices.ContainsFunc(w.Subject.watches, func(other compile.Watch) bool {
			return other.Link && slices.Contains(w.Had, other.String())
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
