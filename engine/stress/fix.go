package stress

import (
	"slices"
	"strconv"
	"strings"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A Fix is a change of the configuration after which a behaviour is no longer SILENT. It has been
// tried with all behaviours: the job still obtains the ordinary list, and no other behaviour becomes
// SILENT.
type Fix struct {
	Says     string   `json:"says"`
	Changes  []Change `json:"changes,omitempty"`  // empty if no setting helps and Says is advice
	Verdict  Verdict  `json:"verdict,omitempty"`  // verdict with the changes
	Improves []string `json:"improves,omitempty"` // other behaviours that have a better verdict with the changes
	Costs    []string `json:"costs,omitempty"`    // behaviours that have a worse verdict with the changes; no verdict is SILENT
}

// A remedy is a change that may help against a behaviour. It is a row of a table; whether it helps
// is determined by trying it.
type remedy struct {
	against []string               // names of behaviours
	says    string                 // text with names in braces, which loss.says replaces
	changes func(l *loss) []Change // nil if the remedy does not apply
}

// A loss is a run that lost items silently.
type loss struct {
	*plan
	job     *compile.Job
	size    int          // size of the pages of the model
	stopped []string     // IDs of the rules that ended the run
	current value.Object // pagination of the configuration
	methods []rules.Method
	shared  bool // whether another job has the same pagination and its list elsewhere
}

// remedies is the table of remedies, in the order in which they are tried.
var remedies = []remedy{
	{against: []string{"cappedPages", "limitOffByOneLess", "shortPageInTheMiddle", "largerPages", "limitOffByOneMore", "smallerPagesLater"},
		says: "Advance by the number of items received, and stop at an empty page only.",
		changes: func(l *loss) []Change {
			return l.expression(byItems, atEmptyPage)
		}},
	{against: []string{"shortPageInTheMiddle", "cappedPages", "limitOffByOneLess", "smallerPagesLater", "partialResults", "errorsBesideData"},
		says:    "Stop at an empty page only, not at a short one.",
		changes: func(l *loss) []Change { return l.expression(asBefore, atEmptyPage) }},
	{against: []string{"emptyPageInTheMiddle", "shortPageInTheMiddle", "noList", "emptyAnswer", "nullList"},
		says:    "Stop at the second empty page in a row.",
		changes: func(l *loss) []Change { return l.expression(asBefore, atTwoEmptyPages) }},
	{against: []string{"totalTooLow", "totalOneLess", "totalZero", "totalNull"},
		says:    "Stop at an empty page, not by {amount}, and fail if {amount} says then that there is more.",
		changes: func(l *loss) []Change { return l.expression(asBefore, atEmptyPage, l.unreached()) }},
	{against: []string{"flagAbsent", "flagNull", "flagText", "flagLostInTheMiddle", "flagAbsentAtTheEnd"},
		says: "Fail unless {flag} is {truths}.",
		changes: func(l *loss) []Change {
			return l.failWhen("flagIsUnclear", l.field(flag), func(at string) string {
				return "not (" + at + " in [" + strings.Join(l.truths(), ", ") + "])"
			})
		}},
	{against: []string{"tokenLost", "tokenExpires", "cappedPages", "endNull", "staleReplica", "emptyAnswer"},
		says: "Fail if a full page has no {pointer}. A list whose last page is full fails, too.{firstPage}",
		changes: func(l *loss) []Change {
			return l.failWhen("lostToken", l.field(pointer), func(at string) string { return l.full() + " and empty(" + at + ")" })
		}},
	{against: []string{"emptyBody", "noList", "errorBody", "html", "endNoList", "tokenLost", "acceptedOnce", "nullList"},
		says:    "{unnamed}Fail if a response has no {list}.",
		changes: (*loss).failWithoutList},
	{against: []string{"cutOnce", "serverErrorOnce"}, says: "Do not repeat requests: the API goes on to the next page with each of them.",
		changes: func(l *loss) []Change { return []Change{{Path: []string{"api", "http", "maxRetries"}, Value: 0}} }},
	{against: []string{"cachedPage"}, says: "Fail if a page repeats the one before it. A list that ends with a repeated page fails, too.",
		changes: func(l *loss) []Change { return []Change{l.guard("samePage", string(rules.PolicyFail))} }},
	{against: []string{"listCapped"},
		says: "No setting finds this. Narrow the requests with windows (for), and split a window that is full (splitWhen)."},
	{against: []string{"sortedByAnotherKey", "cursorDeleted"},
		says: "No setting finds this. Sort the list by the key that requests name; it must not change."},
	{against: []string{"partialResults", "errorsBesideData"},
		says: "Fail if the API says so: add a rule with outcome failed to stopRules that reads the flag or the errors of this API."},
	{against: []string{"deletedFromTheStart", "newOrder", "staleReplica", "insertedAtTheStart", "movedToTheEnd",
		"deletedBeforePosition", "insertedBeforePosition"},
		says: "No setting finds this. Sort the list by a key that does not change, such as the time of creation, " +
			"or page by a cursor if the API has one; then compare the number of items with a total."},
	{against: []string{"cappedPages", "limitOffByOneLess"},
		says: "Set the limit to the size of the pages that the API gives. No API was asked: {size} is the size in the model."},
	{against: []string{"totalTooLow", "totalOneLess", "totalZero", "totalNull", "totalAbsent"},
		says: "Fail if the total is reached on a full page. A list whose last page is full fails, too.{firstPage}",
		changes: func(l *loss) []Change {
			return l.failWhen("fullLastPage", l.field(amount), func(at string) string {
				return l.full() + " and total.items >= number(" + at + ")"
			})
		}},
	{against: []string{"totalTooLow", "totalOneLess", "totalZero", "totalNull", "totalAbsent"},
		says: noSetting},
	{against: []string{"errorBody", "emptyBody"},
		says: "No setting finds this: every response is an item. Check the items, or set dataField to a member that only a valid response has."},
	{against: []string{"emptyPageInTheMiddle", "shortPageInTheMiddle"},
		says: "No setting finds this: the rules need the items of a page for the next request, or end the list by their number. " +
			"If a response says how long the list is, or whether there is more, stop by that."},
	{against: []string{"equalKeys", "equalKeysOnAPage"},
		says: "No setting finds this. Sort by a key that is unique, or by two keys of which the second one is."},
}

// noSetting is the advice if no change of the configuration finds a loss.
const noSetting = "No setting finds this. Compare the number of items with another source."

// Conditions that end a list of method expression.
const (
	atEmptyPage     = "count == 0"
	atTwoEmptyPages = "count == 0 and prev != nil and prev.count == 0"
)

// pagination sets a key of the pagination.
func (l *loss) pagination(key string, v any) Change {
	return Change{Path: append(keysOf(l.job.Ruleset.Path), key), Value: v}
}

// guard sets the policy of a guard.
func (l *loss) guard(id, policy string) Change {
	change := l.pagination("guards", policy)
	change.Path = append(change.Path, id)
	return change
}

// stopRule adds a stopping rule that fails the run.
func (l *loss) stopRule(name, when string) Change {
	change := l.pagination("stopRules", failingRule(name, when))
	change.Append = true
	return change
}

// failingRule returns a stopping rule that fails the run.
func failingRule(name, when string) value.Object {
	return value.ObjectOf("name", name, "when", when, "outcome", string(rules.Failed))
}

// unreached returns the condition that the list is longer than what was read of it, as the response says, or "".
// A rule with it keeps what the removed rules knew: the audit reads a length only under names that many APIs use.
func (l *loss) unreached() string {
	m := l.signal(amount)
	if m == nil {
		return ""
	}
	return m.meaning.unreachedBy(m.ResponseValue)
}

// field returns the first place whose value is of a kind, as an expression, or "".
func (l *loss) field(kind string) string {
	if m := l.signal(kind); m != nil {
		return m.ResponseValue.String()
	}
	return ""
}

// truths returns the values of the flag of the model, in JSON.
func (l *loss) truths() []string {
	s := l.signal(flag)
	if s == nil {
		return nil
	}
	values := []any{s.meaning.value(nil, nil, 0), s.meaning.value(nil, nil, -1)}
	if values[1] == true {
		slices.Reverse(values)
	}
	if len(s.Path) == 0 {
		values = lists.Map(values, spelled)
	}
	return lists.Map(values, func(v any) string { return layout(v, "", 0, 0) })
}

// failWhen adds a stopping rule that fails the run under a condition about a place. It returns nil
// if there is no such place.
func (l *loss) failWhen(name, place string, when func(place string) string) []Change {
	if place == "" {
		return nil
	}
	return []Change{l.stopRule(name, when(place))}
}

// failWithoutList fails the run if a response has no list. A job without dataField accepts a list
// of any name, so its list is named first. The name in the model differs from the name in the API.
func (l *loss) failWithoutList() (changes []Change) {
	field, when := ".", `type(body) != "array"`
	if len(l.list) > 0 {
		field = keypath.Join(l.list...)
		when = "not has(" + strconv.Quote(field) + ")"
	}
	if l.job.Spec().DataField == nil {
		if len(l.list) > 0 { // with dataField, null would be an empty list
			when = "type(at(" + strconv.Quote(field) + `)) != "array"`
		}
		changes = append(changes, Change{Path: append(keysOf(l.job.Spec().Path()), "dataField"), Value: field})
	}
	if l.shared {
		when = "job.id == " + strconv.Quote(l.job.ID()) + " and " + when
	}
	return append(changes, l.stopRule("noList", when))
}

// full returns the condition that a page is full. If the configuration says no page size, the size of the first
// page counts as full.
func (l *loss) full() string {
	switch {
	case l.job.Ruleset.Limit != nil:
		return "count >= limit"
	case l.limited:
		return "count >= " + strconv.Itoa(l.pageSize)
	}
	return "page > 1 and count >= first.count"
}

// firstPage says what a condition of a full page does not find.
func (l *loss) firstPage() string {
	if l.limited {
		return ""
	}
	return " If that happens on the first page, it is not found, because the configuration says no page size: set limit."
}

// says replaces the placeholders in the sentence of a remedy.
func (l *loss) says(text string) string {
	list := "list of items"
	if len(l.list) > 0 {
		list = "list at " + keypath.Join(l.list...)
	}
	unnamed := ""
	if l.job.Spec().DataField == nil {
		unnamed = "Set dataField to the path of the list, which the model calls " + keypath.Join(l.list...) + ". "
		if len(l.list) == 0 {
			unnamed = "Set dataField to the path of the list; in the model, it is the response itself. "
		}
	}
	return strings.NewReplacer("{unnamed}", unnamed, "{size}", strconv.Itoa(l.size), "{list}", list,
		"{amount}", l.field(amount), "{flag}", l.field(flag), "{firstPage}", l.firstPage(),
		"{truths}", strings.Join(l.truths(), " or "), "{pointer}", l.field(pointer)).Replace(text)
}
