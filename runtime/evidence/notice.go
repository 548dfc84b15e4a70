package evidence

import (
	"cmp"
	"net/http"
	"slices"

	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/trace"
)

// A Page is a page of a list as it has arrived.
type Page struct {
	Reading document.Reading
	Header  http.Header
	Trailer http.Header     // headers that follow the body; nil if there are none
	Sent    trace.Request   // the request for the page, without its secrets
	Request document.Digest // of the request for the page
	Waited  bool            // whether the request was made after a wait (nextRequest.after)
	Landed  string          // the address after redirects, without its secrets; empty if there was none

	// Moves reports whether the next request will differ from this one, or will repeat it after a wait, as a poll. It is called
	// only for an empty page that equals the last one.
	Moves func() bool
}

// Notice compares a page with the facts about its list, sets the [rules.Comparisons] of the context, and logs oddities that
// affect the rules. It returns the number of an earlier page with the same request and response, or 0.
func (w *Watcher) Notice(page Page) (repeatOf int) {
	p, c := &w.list, w.list.context
	p.latestPage = latestPage{
		reading: page.Reading, header: page.Header, trailers: page.Trailer, request: page.Request, before: w.previous.Request, sent: page.Sent,
	}
	c.Comparisons, repeatOf = w.repeats().compare(page.Waited)
	c.EmptyWindow = c.SamePage && c.Count == 0 && p.request != p.before && p.subject.job.Analysis().CanEnd() && page.Moves()
	w.signs.resumed, w.signs.found = nil, nil
	if c.Page == 1 {
		w.history.firstPage.First = page.Sent
	}
	p.facts.DuplicateKey = cmp.Or(p.facts.DuplicateKey, p.reading.DuplicateKey)
	p.facts.Stuck = c.SamePage && p.request == p.before && c.Count > 0 && !c.Polled
	if !c.Polled {
		w.noticeRepeats()
	}
	w.listSigns().countLists()
	w.since.notice(p)
	w.sizes().notice()
	w.positions().notice()
	w.redirects().notice(page.Landed)
	w.nested().notice()
	w.gaps().notice()
	w.absences().noticePaths()
	w.gaps().noticeBareEnd()
	w.errors().notice()
	w.details().notice()
	w.warnOfShortPage()
	*p.largest = max(*p.largest, c.Count)
	w.warnOfRules()
	return repeatOf
}

// noticeRepeats compares the items and the request of a page with those of all earlier pages. It sets the RepeatedItems and the
// RepeatedRequest of the context.
func (w *Watcher) noticeRepeats() {
	p, repeats, cursors := &w.list, w.repeats(), w.cursors()
	isRepeat := repeats.noticeRepeat()
	hasIdentity := func(item []byte) bool { return document.Identity(item) != nil }
	cursors.noticeTie()
	allKnown := false
	allSame := isRepeat && (p.reading.IdentityDigest != p.reading.ItemsDigest || slices.ContainsFunc(p.reading.Compared, hasIdentity))
	if !isRepeat {
		allKnown, allSame = repeats.noticeItems()
	}
	if p.context.Page == 1 && p.context.Count > 0 {
		w.history.repeatMemory.FirstList = p.firstList().Half()
	}
	cursors.noticeCursor(p.context.Count > 0 && !isRepeat && !allKnown)
	repeats.countRepeated(allSame)
	repeats.noticeCycle(allKnown)
}

// NoticeContinued records what only later pages are compared with. It must be called when the list goes on after a page,
// before the variables change.
func (w *Watcher) NoticeContinued() {
	c := w.list.context
	w.noticeGrowing()
	if c.Page == 1 {
		w.listSigns().noticeTotal(w.Signs())
		w.comparison().rememberFirst()
		w.positions().rememberFirst()
		w.errors().rememberAlone()
	}
	if !c.Polled && !c.RepeatedRequest {
		w.history.repeatMemory.Requests.Put(w.list.request, w.list.decisive().Half())
	}
}

// NoticeWritten records that the items of the last page are written, as filter and fields leave them. It notices items whose
// key an earlier item of the same type has, and items without a key. The keys of the latest items are remembered; see [Recall].
func (w *Watcher) NoticeWritten(lists []document.TypedItems) {
	w.list.facts.RepeatWritten = w.list.facts.RepeatWritten || w.list.repeats
	w.repeats().noticeKeys(lists)
}
