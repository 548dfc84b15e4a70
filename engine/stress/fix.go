package stress

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
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
	Costs    []string `json:"costs,omitempty"`    // behaviours that have a worse verdict with the changes; none is SILENT
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
	size    int          // page size of the API
	stopped []string     // IDs of the rules that ended the run
	stands  value.Object // pagination of the configuration
	methods []rules.Method
	shared  bool // whether another job has the same pagination and its list elsewhere
}

// remedies is the table of remedies, in the order in which they are tried.
var remedies = []remedy{
	{against: []string{"cappedPages", "limitOffByOneLess"}, says: "Set the limit to {size}, which is what the API gives.",
		changes: func(l *loss) []Change { return []Change{l.pagination("limit", l.size)} }},
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
	{against: []string{"totalTooLow", "totalZero"}, says: "Stop at an empty page, not by what the response says of its length.",
		changes: func(l *loss) []Change { return l.expression(asBefore, atEmptyPage) }},
	{against: []string{"flagAbsent", "flagNull", "flagText", "flagLostInTheMiddle", "flagAbsentAtTheEnd"},
		says: "Fail unless {flag} is true or false.",
		changes: func(l *loss) []Change {
			return l.failWhen("flagIsUnclear", l.field(flag), func(at string) string { return "not (" + at + " in " + l.truths() + ")" })
		}},
	{against: []string{"tokenLost", "tokenExpires", "cappedPages", "endNull", "staleReplica", "emptyAnswer"},
		says: "Fail if a full page has no {pointer}. A list whose last page is full fails, too.",
		changes: func(l *loss) []Change {
			return l.failWhen("lostToken", l.field(pointer), func(at string) string { return l.full() + " and empty(" + at + ")" })
		}},
	{against: []string{"emptyBody", "noList", "errorBody", "html", "endNoList", "tokenLost", "acceptedOnce", "nullList"},
		says:    "{unnamed}Fail if a response has no {list}.",
		changes: (*loss).failWithoutList},
	{against: []string{"cutOnce", "serverErrorOnce"}, says: "Do not repeat requests: the API goes on to the next page with each of them.",
		changes: func(l *loss) []Change { return []Change{{Path: []string{"api", "http", "maxRetries"}, Value: 0}} }},
	{against: []string{"cachedPage"}, says: "Fail if a page is the one before it again. A list that ends so fails, too.",
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
	{against: []string{"cappedPages", "limitOffByOneLess"}, says: "Set a limit that the API gives, and check the size of its pages."},
	{against: []string{"totalTooLow", "totalZero", "totalAbsent"},
		says: "Fail if the total is reached on a full page. A list whose last page is full fails, too.",
		changes: func(l *loss) []Change {
			return l.failWhen("fullLastPage", l.field(amount), func(at string) string {
				return l.full() + " and total.items >= number(" + at + ")"
			})
		}},
	{against: []string{"totalTooLow", "totalZero", "totalAbsent"},
		says: "No setting finds this. Compare the number of items with another source."},
	{against: []string{"errorBody", "emptyBody"},
		says: "No setting finds this: every response is an item. Check the items, or set dataField to a member that only a valid response has."},
	{against: []string{"emptyPageInTheMiddle", "shortPageInTheMiddle"},
		says: "No setting finds this: the rules need the items of a page for the next request, or end the list by their number. " +
			"If a response says how long the list is, or whether there is more, stop by that."},
	{against: []string{"equalKeys", "equalKeysOnAPage"},
		says: "No setting finds this. Sort by a key that is unique, or by two keys of which the second one is."},
}

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
	rule := value.Object{{Name: "name", Value: name}, {Name: "when", Value: when}, {Name: "outcome", Value: string(rules.Failed)}}
	change := l.pagination("stopRules", rule)
	change.Append = true
	return change
}

// field returns the first place whose value is of a kind, as an expression, or "".
func (l *loss) field(kind string) string {
	if m := l.signal(kind); m != nil {
		return m.Place.String()
	}
	return ""
}

// truths lists the values of a flag of the model.
func (l *loss) truths() string {
	if slices.ContainsFunc(l.signals, func(s *signal) bool { return s.meaning.kind == flag && len(s.Path) == 0 }) {
		return `["true", "false"]`
	}
	return "[true, false]"
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
	at, when := ".", `type(body) != "array"`
	if len(l.list) > 0 {
		at = rules.PathOf(l.list...)
		when = "not has(" + strconv.Quote(at) + ")"
	}
	if l.job.Spec().DataField == nil {
		if len(l.list) > 0 { // with dataField, null would be an empty list
			when = "type(at(" + strconv.Quote(at) + `)) != "array"`
		}
		changes = append(changes, Change{Path: append(keysOf(l.job.Spec().Path()), "dataField"), Value: at})
	}
	if l.shared {
		when = "job.id == " + strconv.Quote(l.job.ID()) + " and " + when
	}
	return append(changes, l.stopRule("noList", when))
}

// full returns the condition that a page is full. Without a limit, the size of the first page
// counts as full.
func (l *loss) full() string {
	if l.job.Ruleset.Limit != nil {
		return "count >= limit"
	}
	return "page > 1 and count >= first.count"
}

// An advance says how the variables of the state advance in method expression.
type advance int

const (
	asBefore advance = iota
	byItems          // by the number of items instead of the limit
)

// expression returns the changes that replace the rules that ended the run by another stopping rule,
// or nil if that is impossible. If one of them belongs to the method, the method is replaced by
// method expression, with the rules that the job was compiled to. All other settings stay.
func (l *loss) expression(advance advance, stop string) []Change {
	if len(l.job.Parts) == 0 || l.job.Ruleset.Scroller != "" {
		return nil
	}
	p, ofMethod := l.withoutStops()
	if ofMethod || advance == byItems {
		if p = l.asExpression(p, advance); p == nil {
			return nil
		}
	}
	had, _ := p.Get("stopRules")
	rules, _ := had.([]any)
	rule := value.ObjectOf("name", "empty", "when", stop)
	p = p.With("stopRules", append(slices.Clone(rules), rule))
	return differences(keysOf(l.job.Ruleset.Path), l.stands, p)
}

// differences returns the changes that make one value another one. Members and elements that both
// have stay as they are.
func differences(path []string, from, to any) (changes []Change) {
	at := func(key string) []string { return append(slices.Clone(path), key) }
	had, isObject := value.Members(from)
	want, alsoObject := value.Members(to)
	old, isList := from.([]any)
	list, alsoList := to.([]any)
	switch {
	case isObject && alsoObject:
		for _, m := range had {
			if _, stays := want.Get(m.Name); !stays {
				changes = append(changes, Change{Path: at(m.Name), Remove: true})
			}
		}
		for _, m := range want {
			if before, stays := had.Get(m.Name); stays {
				changes = append(changes, differences(at(m.Name), before, m.Value)...)
			} else {
				changes = append(changes, Change{Path: at(m.Name), Value: m.Value})
			}
		}
	case isList && alsoList:
		for i, e := range old {
			if len(list) > 0 && reflect.DeepEqual(e, list[0]) {
				list = list[1:]
			} else {
				changes = slices.Insert(changes, 0, Change{Path: at(strconv.Itoa(i)), Remove: true})
			}
		}
		for _, e := range list {
			changes = append(changes, Change{Path: path, Value: e, Append: true})
		}
	case !reflect.DeepEqual(from, to):
		changes = []Change{{Path: path, Value: to}}
	}
	return changes
}

// withoutStops returns the pagination without the rules that ended the run, and whether the
// method has one of them, too.
func (l *loss) withoutStops() (p value.Object, ofMethod bool) {
	p = l.stands
	had, _ := p.Get("stopRules")
	kept, _ := had.([]any)
	kept = slices.Clone(kept)
	for _, e := range slices.Backward(l.job.Stops) {
		if !slices.Contains(l.stopped, e.Rule.ID) {
			continue
		}
		path := keysOf(strings.TrimPrefix(e.Rule.Origin.Path, l.job.Ruleset.Path))
		switch i := slices.Index(path, "stopRules"); {
		case len(path) < 2 || path[1] == "method" || at(p, path[1:2]) == nil:
			ofMethod = true
		case i < 0:
			p = p.Without(path[1])
		default:
			if n, err := strconv.Atoi(path[i+1]); err == nil && n < len(kept) {
				kept = slices.Delete(kept, n, n+1)
			}
		}
	}
	if len(kept) > 0 {
		return p.With("stopRules", kept), ofMethod
	}
	return p.Without("stopRules"), ofMethod
}

// asExpression returns a pagination of method expression that is equivalent to the method of the job.
// It returns nil if there is no such pagination, or if no variable advances by the limit, although it
// should advance by the number of items instead.
func (l *loss) asExpression(p value.Object, advance advance) value.Object {
	var state, request value.Object
	advanced := advance == asBefore
	for _, e := range l.job.Init {
		state = state.WithPath([]string{e.Rule.Target, "init"}, e.Rule.Source)
	}
	for _, e := range l.job.Next {
		source := e.Rule.Source
		if advance == byItems && slices.ContainsFunc(e.Reads, func(r language.Read) bool { return r.Root == "limit" }) {
			source, advanced = rules.FormatPath("state", []string{e.Rule.Target})+" + count", true
		}
		state = state.WithPath([]string{e.Rule.Target, "next"}, source)
	}
	for _, e := range l.job.Parts {
		r := e.Rule
		if r.First != l.job.Parts[0].Rule.First {
			return nil
		}
		path := []string{string(r.Role)}
		if r.Target != "" {
			path = append(path, r.Target)
		}
		request = request.WithPath(path, r.Source)
	}
	if !advanced {
		return nil
	}
	request = request.With("includeParams", l.job.Ruleset.IncludeParams)
	if l.job.Parts[0].Rule.First {
		request = request.With("applyToFirst", true)
	}
	out := value.ObjectOf("method", "expression")
	if l.job.Ruleset.Limit != nil {
		out = out.With("limit", l.job.Ruleset.Limit)
	}
	if len(state) > 0 {
		out = out.With("state", state)
	}
	out = out.With("nextRequest", request)
	replaced := []string{"limitParam"} // it is a parameter of nextRequest
	for _, m := range l.methods {
		if m.Name == l.job.Ruleset.Method {
			for _, f := range m.Fields {
				replaced = append(replaced, f.Name)
			}
		}
	}
	for _, m := range p {
		if at(out, []string{m.Name}) == nil && !slices.Contains(replaced, m.Name) {
			out = out.With(m.Name, m.Value)
		}
	}
	return out
}

// keysOf returns the keys of a config path, including the indexes of lists.
func keysOf(path string) []string {
	path = strings.TrimPrefix(path, "parameters.")
	return strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(path), ".")
}

// says replaces the placeholders in the sentence of a remedy.
func (l *loss) says(text string) string {
	list := "list of items"
	if len(l.list) > 0 {
		list = "list at " + rules.PathOf(l.list...)
	}
	unnamed := ""
	if l.job.Spec().DataField == nil {
		unnamed = "Set dataField to the path of the list, which the model calls " + rules.PathOf(l.list...) + ". "
		if len(l.list) == 0 {
			unnamed = "Set dataField to the path of the list; in the model, it is the response itself. "
		}
	}
	return strings.NewReplacer("{unnamed}", unnamed, "{size}", strconv.Itoa(l.size), "{list}", list,
		"{flag}", l.field(flag), "{pointer}", l.field(pointer)).Replace(text)
}

// shares reports whether another job has its list elsewhere, and the same pagination.
func (f *fixer) shares() bool {
	job := f.original
	list, _, _ := itemsOf(job, job.Surface())
	return slices.ContainsFunc(f.suite.Jobs, func(j *compile.Job) bool {
		other, _, _ := itemsOf(j, j.Surface())
		unnamed := j.Spec().DataField == nil || job.Spec().DataField == nil
		return j.ID() != job.ID() && j.Ruleset.Path == job.Ruleset.Path && (unnamed || !slices.Equal(other, list))
	})
}

// A fixer tries remedies for one job. It retains the changed configurations, because several
// behaviours may need the same one.
type fixer struct {
	*stressed
	ctx      context.Context
	original *compile.Job           // the job of the configuration, from which that of the model was made
	before   map[string]Verdict     // verdicts of the configuration as it stands, by behaviour
	known    map[string]*changedJob // changed jobs by changes; nil if the changes are invalid or lose the ordinary list
}

// A changedJob is a job after changes of the configuration, with which it obtains the ordinary list.
type changedJob struct {
	*stressed
	verdicts func() map[string]Verdict // verdicts of all behaviours
}

// fix returns the first remedy that helps against the behaviours of a run, or advice, or nil.
func (f *fixer) fix(all combination, r *run) *Fix {
	stands, _ := value.Members(at(f.suite.Config, keysOf(f.original.Ruleset.Path)))
	l := &loss{
		plan: f.plan, job: f.original, size: r.apis[0].size, stopped: r.end.StoppedBy, stands: stands, methods: f.suite.Methods, shared: f.shares(),
	}
	var advice *Fix
	for _, r := range remedies {
		if !slices.ContainsFunc(all, func(b *Behaviour) bool { return slices.Contains(r.against, b.Name) }) {
			continue
		}
		if r.changes == nil {
			if advice == nil {
				advice = &Fix{Says: l.says(r.says)}
			}
			continue
		}
		changes := r.changes(l)
		changed := f.try(changes)
		if changed == nil {
			continue
		}
		v := f.verdict(changed, all)
		if v != Complete && v != Reported {
			continue
		}
		if improves, costs, silenced := f.compare(changed, all); silenced == nil {
			return &Fix{Says: l.says(r.says), Changes: changes, Verdict: v, Improves: improves, Costs: costs}
		}
	}
	if advice == nil {
		advice = &Fix{Says: "No setting finds this. Compare the number of items with another source."}
	}
	return advice
}

// compare names the behaviours that have a better and a worse verdict with changes, besides the ones
// that the changes are for. Behaviours that become SILENT are named apart: they make the changes unsafe.
func (f *fixer) compare(changed *changedJob, but combination) (improves, costs, silenced []string) {
	after := changed.verdicts()
	for _, b := range behaviours {
		name := b.Name
		v, tried := after[name]
		if !tried || slices.ContainsFunc(but, func(b *Behaviour) bool { return b.Name == name }) {
			continue
		}
		switch change := slices.Index(verdicts, v) - slices.Index(verdicts, f.before[name]); {
		case change > 0:
			improves = append(improves, name)
		case change < 0 && v == Silent:
			silenced = append(silenced, name)
		case change < 0:
			costs = append(costs, name)
		}
	}
	return improves, costs, silenced
}

// verdict puts a changed job under stress.
func (f *fixer) verdict(changed *changedJob, all combination) Verdict {
	row, _ := changed.row(f.ctx, all)
	return row.Verdict
}

// try returns the configuration with changes, or nil if there are none, if it is invalid, or if
// its job does not obtain the ordinary list.
func (f *fixer) try(changes []Change) *changedJob {
	key := fmt.Sprint(changes)
	if changed, known := f.known[key]; known || changes == nil {
		return changed
	}
	f.known[key] = nil
	suite, err := f.suite.changed(changes)
	if err != nil {
		return nil
	}
	job := f.in(suite)
	if job == nil {
		return nil
	}
	changed := &changedJob{stressed: job}
	changed.verdicts = sync.OnceValue(func() map[string]Verdict {
		all := map[string]Verdict{}
		for name := range f.before {
			if b, err := find(name); err == nil {
				all[name] = f.verdict(changed, combination{b})
			}
		}
		return all
	})
	if f.verdict(changed, combination{ordinary}) == Complete {
		f.known[key] = changed
	}
	return f.known[key]
}
