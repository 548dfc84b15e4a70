package evidence

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/value"
	"github.com/stopwhen/stopwhen/runtime/document"
	"github.com/stopwhen/stopwhen/runtime/redact"
)

// A Watcher finds signs, page by page, that a list may be incomplete. The audit rules judge them at
// the end of the list.
type Watcher struct {
	subject  *Subject
	history  *history
	largest  *int           // number of items on the largest page
	context  *rules.Context // context of the last page
	redactor *redact.Redactor
	warn     func(code, message string)

	resumed   *rules.Hints     // hints of the last page before a resume; nil once a page was read
	nilValues NilCounts        // which values of the job's own request are nil
	since     since            // the kept value that the request sends
	page      document.Reading // the last page
	header    http.Header      // the header of the last page
	request   document.Digest  // the request for the last page
	strange   []byte           // the first item of the last page that has no identifier, and only members of errors
	repeats   bool             // whether an earlier page has the same items
	hinted    []foundHint      // hints of the last page; nil until they are needed
	audited   auditInput
	end       End
}

// WatcherOptions say which list a [Watcher] watches.
type WatcherOptions struct {
	Subject     *Subject
	History     *History       // changed by the watcher
	LargestPage *int           // number of items on the largest page, changed by the watcher; a restart does not reset it
	Context     *rules.Context // context of the last page
	Redactor    *redact.Redactor
	Warn        func(code, message string) // logs a warning, once per code
}

// NewWatcher returns the watcher of a list.
func NewWatcher(o WatcherOptions) Watcher {
	return Watcher{
		subject: o.Subject, history: &o.History.content, largest: o.LargestPage, context: o.Context, redactor: o.Redactor, warn: o.Warn,
	}
}

// Resume continues the list after a page with the given hints, which may be nil.
func (w *Watcher) Resume(hints *rules.Hints) { w.resumed = hints }

// SetValues sets the values of the job's own request, those of [compile.Job.Computed].
func (w *Watcher) SetValues(values compile.PartValues) {
	w.nilValues = w.subject.NilCounts(values)
	w.since = w.sinceOf(values)
}

// An End describes how a list ended.
type End struct {
	Outcome   rules.Outcome
	StoppedBy []string       // ids of the rules that ended it
	Items     int            // number of items delivered
	Unseen    []Absence      // paths that the filter of the job reads and no item had
	Kept      map[string]any // values for the next run
	Siblings  bool           // whether other partitions of the job may prove a path right
}

// A Subject holds the facts about a job that a [Watcher] needs for each of its lists.
type Subject struct {
	job        *compile.Job
	watches    []compile.Watch
	decisives  []language.Read
	paging     []language.Read // the values that rules read of a response, except of its items
	readsItems bool            // whether the next request reads items
	keys       [][]string      // paths of the values that identify an item; nil if no values do
	keyPaths   string          // the same, for people
	stableKeys bool            // whether windows without keys are compared by identifiers, and by what [document.StableDigest] covers
	noNil      NilCounts       // the count of a partition in which no value is nil
	keptUnread bool            // whether the first page does not depend on the values that the job keeps
	lists      []itemList      // the lists of a page; nil without dataField

	beside      []apinames.ErrorSign   // signs of errors next to items
	besidePaths func() *document.Paths // their paths, and those of messages
	listsErrors bool                   // whether the job lists errors on purpose
}

// An itemList is a path of items of a job.
type itemList struct {
	keys  []string // up to the first star
	above []string // keys of the innermost object above it that may describe it: no star leads there, and it is in no item
	steps []rules.Step
	star  bool   // whether the path has a star
	text  string // the path in the configuration
}

// itemListsOf returns the paths of items of a job; nil without dataField.
func itemListsOf(field *rules.DataField) (lists []itemList) {
	switch {
	case field == nil:
		return nil
	case field.Lists == nil:
		steps := value.Map(field.Keys, func(key string) rules.Step { return rules.Step{Key: key} })
		return []itemList{{keys: field.Keys, above: field.Keys[:max(0, len(field.Keys)-1)], steps: steps, text: field.Text}}
	}
	for _, list := range field.Lists {
		keys := list.Fixed()
		above := keys[:max(0, len(keys)-1)]
		for _, other := range field.Lists {
			if n := len(other.Steps); n > 0 && n <= len(above) && leadsTo(other.Steps, above[:n]) {
				above = above[:n-1]
			}
		}
		lists = append(lists, itemList{keys, above, list.Steps, len(keys) < len(list.Steps), list.Text})
	}
	return lists
}

// leadsTo reports whether steps lead to a path of the same length.
func leadsTo(steps []rules.Step, path []string) bool {
	return slices.EqualFunc(steps, path, func(step rules.Step, key string) bool { return step.All || step.Key == key })
}

// NewSubject returns the subject of a job.
func NewSubject(job *compile.Job) *Subject {
	paths := job.Spec().Key
	beside := apinames.ErrorsNextToData(job.Spec().DataField.Places())
	watched := value.Map(job.Watches(), func(w compile.Watch) language.Read { return w.Read })
	return &Subject{
		paging: readsOfPaging(watched, job.Decisive()),
		job:    job, watches: job.Watches(), decisives: job.Decisive(), readsItems: job.NextReads("items"),
		keys: value.Map(paths, rules.SplitPath), keyPaths: strings.Join(paths, ", "),
		stableKeys: len(paths) == 0 && slices.ContainsFunc(job.For, isWindow),
		lists:      itemListsOf(job.Spec().DataField),
		noNil:      noNilOf(job),
		keptUnread: len(job.Keeps) > 0 && job.KeptUse() != compile.KeptFromFirst,
		beside:     beside, besidePaths: sync.OnceValue(func() *document.Paths { return pathsOfErrors(beside) }),
		listsErrors: listsErrors(job.Spec(), beside),
	}
}

// WarnOfRules logs oddities of a page that affect the rules.
func (w *Watcher) WarnOfRules(m *language.Machine) {
	c := w.context
	if c.Page == 1 && w.page.Names != nil {
		w.warnOfMissing()
	}
	for _, stop := range w.subject.job.Stops {
		w.warnOfTextFlags(m, stop)
	}
	if limit, ok := c.Limit.(int); ok && limit > 0 && c.Count > limit {
		w.warn("limit_ignored",
			fmt.Sprintf("page %d has %d items, more than the limit of %d; the API seems to ignore the limit", c.Page, c.Count, limit))
	}
}

// warnOfTextFlags logs a flag that is the text "false": as a boolean it is true (specification
// 2.2), which is seldom the intention of the API.
func (w *Watcher) warnOfTextFlags(m *language.Machine, stop *compile.Trigger) {
	for _, flag := range stop.Flags() {
		if flag.Has || !flag.InBody() {
			continue
		}
		if v, _ := flag.Lookup(w.context); v == "false" || v == "False" {
			means := v // value of the flag on the last page
			if met, err := stop.EvalBool(m, w.context); err == nil && met {
				means = trueAs[v]
			}
			rule := fmt.Sprintf("%s == %q", flag, means)
			w.warn("flag_text_false."+stop.Rule.ID,
				fmt.Sprintf("%s reads %s, which is the text %q and therefore true; if it means false, write a rule: \"stopRules\": [%q]",
					stop.Rule.ID, flag, v, rule))
		}
	}
}

// trueAs maps spellings of false as text to the same spelling of true.
var trueAs = map[any]string{"false": "true", "False": "True"}

// warnOfMissing logs the paths that rules read and the first response does not have, since they may
// be misspelt. A single page may lack a link to the next one.
func (w *Watcher) warnOfMissing() {
	for _, stop := range w.subject.job.Stops {
		w.warnOfMisspelt(stop.Expression)
	}
	for _, e := range w.subject.job.Next {
		w.warnOfMisspelt(e)
	}
	for _, e := range w.subject.job.Parts {
		w.warnOfMisspelt(e)
	}
	for _, watch := range w.subject.watches {
		if slices.Contains(w.history.Had, watch.String()) {
			continue
		}
		if w.misspelt(watch.Path) || !watch.Link && !watch.Optional {
			w.warn("missing "+watch.String(), fmt.Sprintf("%s reads %s, which the response does not have%s",
				watch.Rule.ID, watch, document.Suggest(w.page.Names, watch.Path)))
		}
	}
}

// warnOfMisspelt logs the headers and item paths that an expression reads and the first page does
// not have. It ignores rules about absent values.
func (w *Watcher) warnOfMisspelt(e *language.Expression) {
	if e.Rule.Outcome == rules.Failed {
		return
	}
	for _, missing := range e.Misspelt(w.context) {
		text := fmt.Sprintf("%s reads %s, which is missing", e.Rule.ID, missing.Path)
		if missing.Hint != "" {
			text += "; " + missing.Hint
		}
		w.warn("missing "+missing.Path, text)
	}
}
