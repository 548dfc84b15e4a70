package evidence

import (
	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// A Watcher compares each page with earlier ones, for the rules, and finds signs that a list may be incomplete. The audit rules
// judge them at the end of the list. Its searches, such as [errorSearch], share the last page, and each has its own part of
// the history.
//
// The order of the calls matters. A list that continues begins with [Watcher.Resume]. SetValues comes before the first
// request. For each page, Notice comes first. Once the page is judged, NoticeWritten has its items, if they are written, and
// NoticeContinued comes if the list goes on, before the variables change. Audit and then Seen come at the end of the list.
// The other methods may come between them. A Watcher must not be used by several goroutines at once.
type Watcher struct {
	machine   *language.Machine
	list      listView
	history   *history
	previous  *PreviousPages
	signs     signState
	since     since     // the kept value that the request sends
	nilValues NilCounts // which values of the job's own request are nil
	tooLate   bool      // see [WatcherOptions.SplitTooLate]
	audited   rules.ListFacts
	shortPage int // the last page before the list was resumed, if it is the only short one; 0 after the next page
	growing   int // a page of an increment that is the only short one, and that a single page with items has followed; usually 0
}

// WatcherOptions say which list a [Watcher] watches.
type WatcherOptions struct {
	Subject      *Subject
	Memory       *Memory           // changed by the watcher
	Context      *rules.Context    // context of the last page
	Machine      *language.Machine // evaluates the audit rules
	Redactor     *redact.Redactor
	SplitTooLate bool                       // whether the window cannot be split, because an earlier run has written pages of it
	Warn         func(code, message string) // logs a warning, once per code
}

// NewWatcher returns the watcher of a list.
func NewWatcher(o WatcherOptions) Watcher {
	h := &o.Memory.History.content
	return Watcher{machine: o.Machine, tooLate: o.SplitTooLate, history: h, previous: &o.Memory.PreviousPages, list: listView{
		subject: o.Subject, facts: &h.Facts, largest: &o.Memory.LargestPage, context: o.Context, redactor: o.Redactor, warn: o.Warn,
	}}
}

// The methods below return the searches of the watcher, which live until the next page.

func (w *Watcher) comparison() comparison { return comparison{&w.list, &w.history.firstPage} }

func (w *Watcher) repeats() repeatSearch {
	return repeatSearch{w.comparison(), &w.history.repeatMemory, w.previous}
}

func (w *Watcher) cursors() cursorSearch { return cursorSearch{w.repeats(), &w.history.cursorMemory} }

func (w *Watcher) sizes() sizeSearch { return sizeSearch{w.comparison(), &w.history.sizeMemory} }

func (w *Watcher) positions() positionSearch {
	return positionSearch{&w.list, &w.history.positionMemory}
}

func (w *Watcher) redirects() redirectSearch {
	return redirectSearch{&w.list, &w.history.redirectMemory}
}

func (w *Watcher) nested() nestedSearch { return nestedSearch{&w.list, &w.history.nestedMemory} }

func (w *Watcher) gaps() gapSearch {
	return gapSearch{w.comparison(), &w.history.gapMemory, w.history.pathMemory.HadItems}
}

func (w *Watcher) absences() absenceSearch {
	return absenceSearch{w.comparison(), &w.history.pathMemory, placeSearch{&w.list, &w.history.placeMemory}}
}

func (w *Watcher) errors() errorSearch { return errorSearch{w.comparison(), &w.history.errorMemory} }

func (w *Watcher) listSigns() signSearch {
	return signSearch{&w.list, &w.history.totalMemory, &w.signs}
}

func (w *Watcher) details() detailSearch { return detailSearch{w.listSigns(), &w.history.detailMemory} }

// Resume continues the list after the page of the context, with its signs, which may be nil.
func (w *Watcher) Resume(signs *rules.Signs) {
	w.signs.resumed = signs
	w.shortPage = w.list.onlyShortPage()
}

// onlyShortPage returns the number of the last page if it is shorter than all pages before it, which are full, and requests
// name positions in the list: rows that are added to the list fill the page up. It returns 0 otherwise.
func (p *listView) onlyShortPage() int {
	c, full := p.context, *p.largest
	if limit, ok := c.Limit.(int); ok {
		full = max(full, limit)
	}
	if c.Count == 0 || c.Count >= full || c.Total.Items != (c.Page-1)*full+c.Count || !p.subject.job.Analysis().RequestsByPosition() {
		return 0
	}
	return c.Page
}

// SetValues sets the values of the job's own request, those of [compile.Job.Computed], and how the list begins without kept
// values, which is nil if it does not.
func (w *Watcher) SetValues(values compile.ComputedValues, unsent *compile.UnsentKept) {
	w.nilValues = w.list.subject.NilCounts(values)
	w.since, w.list.unsent = w.list.sinceOf(values), unsent
	if unsent != nil && len(unsent.Cursors) > 0 {
		w.since = sinceKept(unsent.Cursors[0], w.list.context)
	}
}

// An End describes how a list ended.
type End struct {
	Outcome     rules.Outcome
	StoppedBy   []string       // ids of the rules that ended it
	Items       int            // number of items delivered
	Unseen      []Absence      // what filter and fields of the job read, and no item, or no response, had
	Kept        map[string]any // values for the next run
	StayingKept string         // the value that stays that of the run before, although the list had items: see [compile.Analysis.Repeats]
	MostlyKnown bool           // whether most of the items that are written are known: see [Watcher.Knows]
	Siblings    bool           // whether other partitions of the job may prove a path right
}
