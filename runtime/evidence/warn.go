package evidence

import (
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
)

// warnOfRules logs oddities of a page that affect the rules.
func (w *Watcher) warnOfRules() {
	c := w.list.context
	if c.Page == 1 && w.list.reading.HasContent() {
		w.absences().warnOfMissing()
	}
	for _, stop := range w.list.subject.job.Stops {
		w.list.warnOfTextFlags(w.machine, stop)
	}
	if limit, ok := c.Limit.(int); ok && limit > 0 && c.Count > limit {
		w.list.warn("limit_ignored",
			fmt.Sprintf("page %d has %d items, more than the limit of %d; the API seems to ignore the limit", c.Page, c.Count, limit))
	}
}

// warnOfTextFlags logs a flag that is the text "false": as a boolean it is true (specification
// 2.2), which is seldom the intention of the API.
func (p *listView) warnOfTextFlags(m *language.Machine, stop *compile.Trigger) {
	for _, flag := range stop.Flags() {
		if flag.Has || !flag.InBody() {
			continue
		}
		if v, _ := flag.Lookup(p.context); v == "false" || v == "False" {
			means := v // value of the flag on the last page
			if met, err := stop.EvalBool(m, p.context); err == nil && met {
				means = trueAs[v]
			}
			rule := fmt.Sprintf("%s == %q", flag, means)
			p.warn("flag_text_false."+stop.Rule.ID,
				fmt.Sprintf("%s reads %s, which is the text %q and therefore true; if it means false, write a rule: \"stopRules\": [%q]",
					stop.Rule.ID, flag, v, rule))
		}
	}
}

// trueAs maps spellings of false as text to the same spelling of true.
var trueAs = map[any]string{"false": "true", "False": "True"}

// warnOfMissing logs the paths that rules read and the first response does not have, since they may
// be misspelt. A single page may lack a link to the next one.
func (s absenceSearch) warnOfMissing() {
	for _, stop := range s.subject.job.Stops {
		s.warnOfMisspelt(stop.Expression)
	}
	for _, e := range s.subject.job.Next {
		s.warnOfMisspelt(e)
	}
	for _, e := range s.subject.job.Parts {
		s.warnOfMisspelt(e)
	}
	for _, watch := range s.subject.watches {
		if slices.Contains(s.memory.Had, watch.String()) {
			continue
		}
		if s.misspelt(watch.Path) || !watch.Link && !watch.Optional {
			s.warn("missing "+watch.String(), fmt.Sprintf("%s reads %s, which the response does not have%s",
				watch.Rule.ID, watch, document.Suggest(s.reading.Names, watch.Path)))
		}
	}
}

// warnOfMisspelt logs the headers and item paths that an expression reads and the first page does
// not have. It ignores rules about absent values.
func (s absenceSearch) warnOfMisspelt(e *language.Expression) {
	if e.Rule.Outcome == rules.Failed {
		return
	}
	for _, missing := range e.Misspelt(s.context) {
		text := fmt.Sprintf("%s reads %s, which is missing", e.Rule.ID, missing.Path)
		if missing.Hint != "" {
			text += "; " + missing.Hint
		}
		s.warn("missing "+missing.Path, text)
	}
}

// warnOfShortPage warns that new items follow the page after which the list was resumed, although that page was short: it may
// have been the last one, and have more items now. An API may also have a short page in the middle, so this is not a finding.
func (w *Watcher) warnOfShortPage() {
	if c := w.list.context; w.shortPage > 0 && c.Count > 0 && !w.list.repeats {
		w.list.warn("resumed_short", fmt.Sprintf("page %d, after which the run was interrupted, was short, and page %d has items: "+
			"items that were added to page %d since then are not read; start over if the list grows, or page by a cursor",
			w.shortPage, c.Page, w.shortPage))
	}
	w.shortPage = 0
}

// noticeGrowing remembers the only short page of an increment, until more than one page with items follows it.
func (w *Watcher) noticeGrowing() {
	if len(w.list.subject.job.Keeps) == 0 {
		return
	}
	c := w.list.context
	if short := w.list.onlyShortPage(); short > 0 {
		w.growing = short
	} else if c.Page > w.growing+1 && c.Count > 0 { // the API has short pages in the middle
		w.growing = 0
	}
}

// warnOfGrownPage warns that the page before the last one with items was the only short one: it may have been the last one when it was
// read, and rows that were added to the list may have filled it up, which the kept values pass. An API may also have a short page
// there, so this is not a finding.
func (w *Watcher) warnOfGrownPage() {
	c := w.list.context
	if w.growing == 0 || w.list.end.Outcome != rules.Complete || c.Page < w.growing+1 || c.Page == w.growing+1 && c.Count == 0 {
		return
	}
	w.list.warn("short_page", fmt.Sprintf("page %d was short, and page %d has items: if the list has grown between the two requests, items "+
		"that were added to page %[1]d are not read, also by later runs; page by a cursor, or let the next run begin earlier (lag)",
		w.growing, w.growing+1))
}
