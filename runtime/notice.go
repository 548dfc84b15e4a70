package runtime

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// A noticed is what a job notices of its list from page to page, for the audit.
type noticed struct {
	Facts rules.ListFacts `json:"facts"`

	Lists      recall `json:"lists"`               // of the items of pages: page and request
	Requests   recall `json:"requests"`            // of requests: what rules read in the response
	Identities recall `json:"identities"`          // of items: page and content
	Ambiguous  bool   `json:"ambiguous,omitempty"` // a page has an identifier twice, with different items

	First      Sent        `json:"first"`                // the first request, without its secrets
	FirstTotal *firstTotal `json:"firstTotal,omitempty"` // of the first page, if it has one
	FirstPaths []string    `json:"firstPaths,omitempty"` // of the values in its root, and next to its items

	Responses int      `json:"responses,omitempty"` // with status of success and a body
	HadItems  bool     `json:"hadItems,omitempty"`  // a response had the place of the items
	Had       []string `json:"had,omitempty"`       // the watched paths that a response had
	Gap       int      `json:"gap,omitempty"`       // the first page without a list of items after one that has it; 0: none

	Lacked []absence `json:"lacked,omitempty"` // at the end of a partition: what it lacked, although it looks complete
}

// A firstTotal is the total of items in the first response.
type firstTotal struct {
	Total int    `json:"total"`
	Count int    `json:"count"` // the items of the page
	At    string `json:"at"`
}

// notice compares a page with what is known of its list.
func (r *run) notice(reading document.Reading, request document.Digest, sent Sent) {
	c, n := &r.Context.Value, &r.Noticed
	if c.Page == 1 {
		n.First = sent
	}
	c.RepeatedRequest = false
	if !c.Polled {
		repeats := r.noticeRepeat(reading, request, sent)
		known, same := false, repeats && hasIdentities(reading)
		if !repeats {
			known, same = r.noticeItems(reading)
		}
		r.countRepeated(same)
		r.noticeCycle(reading, request, sent, known)
	}
	r.noticeTotal()
	r.noticeMoved(reading)
	r.noticePaths(reading)
	r.noticeError(reading)
	r.Request = request
}

// noticeRepeat notices a page with the items of an earlier one. It reports whether
// the page has items and they are not new.
func (r *run) noticeRepeat(reading document.Reading, request document.Digest, sent Sent) bool {
	c, n := &r.Context.Value, &r.Noticed
	if c.Count == 0 {
		return false
	}
	half := request.Half() >> 32
	had, known := n.Lists.get(reading.List)
	if !known && c.SamePage { // it differs in its spelling
		had, known = uint64(c.Page-1)<<32|r.Request.Half()>>32, true
	}
	if !known {
		n.Lists.put(reading.List, uint64(c.Page)<<32|half)
		return false
	}
	page := int(had >> 32)
	if had&(1<<32-1) == half {
		return true
	}
	f := &n.Facts
	if f.Repeats++; f.Repeats == 1 {
		f.RepeatPage, f.RepeatOf, f.RepeatCount = c.Page, page, c.Count
	}
	if page == 1 && f.FirstAgain == 0 {
		f.FirstAgain, f.FirstParams = c.Page, difference(n.First, sent)
	}
	return true
}

// noticeWritten notices that the items of a page that repeats another are written.
func (r *run) noticeWritten(page *Page, repeatsBefore int) {
	if f := &r.Noticed.Facts; f.Repeats > repeatsBefore && !page.Dropped {
		f.RepeatWritten = true
	}
}

// difference names the parameters of a request that the first one did not have, or
// had with another value.
func difference(first, sent Sent) string {
	before, after := parametersOf(first), parametersOf(sent)
	var changed []string
	for _, m := range after {
		text := shortText(m.Value)
		if had, ok := before.Get(m.Name); !ok || shortText(had) != text {
			changed = append(changed, m.Name+"="+text)
		}
	}
	if changed == nil {
		return "the address " + value.Clip(sent.URL, 200)
	}
	return strings.Join(changed, ", ")
}

func parametersOf(sent Sent) rules.Object {
	params := rules.ParseQuery(sent.URL)
	if !strings.Contains(sent.URL, "?") {
		params = nil
	}
	body, _ := document.Decode(sent.Body)
	if form, ok := body.(string); ok {
		return append(params, rules.ParseQuery(form)...)
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

// noticeItems compares the items of a page with those of earlier pages. It reports
// whether items have identifiers and all of them are known, and whether these items are
// the same as before, too. If the next request
// reads items, it may ask for the last of them again: a page that begins with items
// of the page before is then no sign of a list that has changed.
func (r *run) noticeItems(reading document.Reading) (allKnown, allSame bool) {
	n, page := &r.Noticed, uint64(r.Context.Value.Page)&0xffff
	identified, known, same := 0, 0, 0
	overlap := r.readsItems // an inclusive cursor begins with the last items of the page before
	for _, item := range reading.Ends {
		id := document.Identity(item)
		if id == nil {
			continue
		}
		identified++
		key := document.DigestOf(id, document.Digest{})
		now := document.DigestOf(item, document.Digest{}).Half()<<16 | page
		had, again := n.Identities.get(key)
		n.Identities.put(key, now)
		if again && had>>16 == now>>16 {
			same++
		}
		overlap = overlap && again && (had+1)&0xffff == page
		switch {
		case !again:
			continue
		case overlap:
			known++
			continue
		case had&0xffff == page:
			n.Ambiguous = n.Ambiguous || had != now
			continue
		case had>>16 == now>>16:
			n.Facts.Duplicates++
		default:
			n.Facts.Revised++
		}
		if known++; n.Facts.ShiftPage == 0 {
			n.Facts.ShiftPage, n.Facts.Duplicate = r.Context.Value.Page, value.Clip(string(id), 60)
		}
	}
	n.Facts.Identified += identified
	return identified > 0 && known == identified, identified > 0 && same == identified
}

// countRepeated counts the pages in a row whose items are all the same as earlier ones.
func (r *run) countRepeated(same bool) {
	c := &r.Context.Value
	switch {
	case c.Count == 0:
	case same:
		c.RepeatedItems++
	default:
		c.RepeatedItems = 0
	}
}

// hasIdentities reports whether items of a page have identifiers.
func hasIdentities(reading document.Reading) bool {
	return slices.ContainsFunc(reading.Ends, func(item []byte) bool { return document.Identity(item) != nil })
}

// noticeCycle notices that a request is repeated, and nothing that rules read has
// changed. A constant scroll token repeats a request too: the list is in a loop only
// if another request came between, or all items of the page are known.
func (r *run) noticeCycle(reading document.Reading, request document.Digest, sent Sent, known bool) {
	c, n := &r.Context.Value, &r.Noticed
	read := r.decisive(reading).Half()
	had, again := n.Requests.get(request)
	n.Requests.put(request, read)
	c.RepeatedRequest = again && had == read
	if !c.RepeatedRequest || request == r.Request && !known {
		return
	}
	f := &n.Facts
	if f.Cycles++; f.Cycles == 1 {
		f.CyclePage, f.CycleSent = c.Page, value.Clip(sent.Method+" "+sent.URL, 300)
		r.warn("repeated_request", fmt.Sprintf("page %d repeats an earlier request (%s), and nothing that the rules read has changed; "+
			"the API may be in a loop", c.Page, f.CycleSent))
	}
}

// decisive returns the digest of what decides how the list goes on.
func (r *run) decisive(reading document.Reading) document.Digest {
	var d document.Digest
	for _, read := range r.decisives {
		switch {
		case read.Root == "items":
			d = d.With(reading.List)
		case read.Root == "body" && len(read.Path) == 0:
			d = d.With(reading.Content)
		default:
			v, _ := read.Lookup(&r.Context.Value)
			d = document.DigestOf(fmt.Appendf(nil, "%s=%v", read, v), d)
		}
	}
	return d
}

// noticePaths notices which of the watched paths the response has.
func (r *run) noticePaths(reading document.Reading) {
	c, n := &r.Context.Value, &r.Noticed
	if c.Status >= 400 || reading.Lookup == nil {
		return
	}
	n.Responses++
	n.HadItems = n.HadItems || reading.HasField
	r.noticeLists(reading)
	for _, watch := range r.watches {
		key := watch.String()
		if slices.Contains(n.Had, key) {
			continue
		}
		if _, present := watch.Lookup(c); present {
			n.Had = append(n.Had, key)
		}
	}
}

// noticeLists notices which of several lists of items the response has.
func (r *run) noticeLists(reading document.Reading) {
	n := &r.Noticed
	for _, list := range r.listsOf() {
		if key := watchedList(list); !slices.Contains(reading.Missing, list.Text) && !slices.Contains(n.Had, key) {
			n.Had = append(n.Had, key)
		}
	}
}

// listsOf returns the lists of items, if there are several.
func (r *run) listsOf() []rules.ItemList {
	if f := r.job.Set.Job.DataField; f != nil && len(f.Lists) > 1 {
		return f.Lists
	}
	return nil
}

// watchedList is the name of a list among the watched paths that a response had.
func watchedList(list rules.ItemList) string { return "dataField " + list.Text }

// suspectsAbsence reports whether a path that no response had should have been
// there.
func (r *run) suspectsAbsence(watch compile.Watch, hints *rules.Hints) bool {
	switch {
	case r.misspelt(watch.Path):
		return true
	case watch.Link && r.Noticed.Responses == 1:
		return r.promisesMore(hints)
	case watch.Link:
		return !r.hadLink()
	case watch.Rule.Expects:
		return slices.Contains(r.Result.StoppedBy, watch.Rule.ID)
	}
	return !watch.Optional
}

// hadLink reports whether a response had a path that leads to the next page.
func (r *run) hadLink() bool {
	return slices.ContainsFunc(r.watches, func(w compile.Watch) bool { return w.Link && slices.Contains(r.Noticed.Had, w.String()) })
}

// misspelt reports whether the last response has a value at a path like this one.
func (r *run) misspelt(path []string) bool {
	if r.names == nil {
		return false
	}
	near := document.Nearest(r.names, path)
	if near == nil {
		return false
	}
	body, err := r.lookup(document.NewPaths([][]string{near}))
	v, present := compile.Read{Root: "body", Path: near}.Lookup(&rules.Context{Body: body})
	return err == nil && present && !value.Empty(v)
}

// suggest proposes the path nearest to one that is missing, as the end of a
// sentence.
func (r *run) suggest(path []string) string {
	if r.names == nil {
		return ""
	}
	return document.Suggest(r.names, path)
}
