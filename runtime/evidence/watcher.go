package evidence

import (
	"fmt"
	"slices"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// A Watcher notices, page by page, signs that a list may be incomplete. At the end of the list,
// the audit rules say what follows from them.
type Watcher struct {
	*Noticed // of the state of the job

	Subject     *Subject
	Context     *rules.Context // of the last page
	Largest     *int           // items of the largest page
	Resumed     *rules.Hints   // of the last page before a resume; nil once a page was read
	HasSiblings bool           // other partitions of the job may show that a path is right
	Redactor    *redact.Redactor
	Warn        func(code, message string) // logs a warning, each code once

	page    document.Reading // the last one
	repeats bool             // its items are those of an earlier page
	hinted  []hinted         // its hints; nil: not looked for yet
	audited audited
	end     End
}

// An End says how a list ended.
type End struct {
	Outcome   rules.Outcome
	StoppedBy []string  // the rules that ended it
	Items     int       // that were delivered
	Unseen    []Absence // the paths that the filter of the job reads, and that no item had
}

// A Subject is a job as a [Watcher] needs it, for all of its lists.
type Subject struct {
	job        *compile.Job
	watches    []compile.Watch
	decisives  []language.Read
	readsItems bool // the next request
}

// NewSubject returns the subject of a job.
func NewSubject(job *compile.Job) *Subject {
	return &Subject{job: job, watches: job.Watches(), decisives: job.Decisive(), readsItems: job.NextReads("items")}
}

// WarnOfRules logs oddities of a page that concern the rules.
func (w *Watcher) WarnOfRules(m *language.Machine) {
	c := w.Context
	if c.Page == 1 && w.page.Names != nil {
		w.warnOfMissing()
	}
	for _, stop := range w.Subject.job.Stops {
		w.warnOfTextFlags(m, stop)
	}
	if limit, ok := c.Limit.(int); ok && limit > 0 && c.Count > limit {
		w.Warn("limit_ignored",
			fmt.Sprintf("page %d has %d items, more than the limit of %d; the API seems to ignore the limit", c.Page, c.Count, limit))
	}
}

// warnOfTextFlags names a flag that is the text "false": as a boolean it is true
// (specification 2.2), which is seldom what an API means.
func (w *Watcher) warnOfTextFlags(m *language.Machine, stop *compile.Condition) {
	for _, flag := range stop.Flags() {
		if flag.Has || !flag.OfBody() {
			continue
		}
		if v, _ := flag.Lookup(w.Context); v == "false" || v == "False" {
			means := v // the value of the flag on the last page
			if met, err := stop.EvalBool(m, w.Context); err == nil && met {
				means = trueAs[v]
			}
			rule := fmt.Sprintf("%s == %q", flag, means)
			w.Warn("flag_text_false."+stop.Rule.ID,
				fmt.Sprintf("%s reads %s, which is the text %q and therefore true; if it means false, write a rule: \"stopRules\": [%q]",
					stop.Rule.ID, flag, v, rule))
		}
	}
}

// trueAs has the text of true in the spelling of a text of false.
var trueAs = map[any]string{"false": "true", "False": "True"}

// warnOfMissing logs the paths that rules read and the first response does not have:
// they may be misspelt. A single page may lack a link to the next one.
func (w *Watcher) warnOfMissing() {
	for _, stop := range w.Subject.job.Stops {
		w.warnOfMisspelt(stop.Expression)
	}
	for _, e := range slices.Concat(w.Subject.job.Next, w.Subject.job.Parts) {
		w.warnOfMisspelt(e)
	}
	for _, watch := range w.Subject.watches {
		if slices.Contains(w.Had, watch.String()) {
			continue
		}
		if hint := w.suggest(watch.Path); w.misspelt(watch.Path) || !watch.Link && !watch.Optional {
			w.Warn("missing "+watch.String(), fmt.Sprintf("%s reads %s, which the response does not have%s", watch.Rule.ID, watch, hint))
		}
	}
}

// warnOfMisspelt logs the headers and the paths of items that an expression reads, and
// that the first page does not have. A rule that is about an absent value is silent.
func (w *Watcher) warnOfMisspelt(e *language.Expression) {
	if e.Rule.Outcome == rules.Failed {
		return
	}
	for _, missing := range e.Misspelt(w.Context) {
		text := fmt.Sprintf("%s reads %s, which is missing", e.Rule.ID, missing.Path)
		if missing.Hint != "" {
			text += "; " + missing.Hint
		}
		w.Warn("missing "+missing.Path, text)
	}
}
