package stress

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A Fix is a change of the configuration after which a behaviour is no longer SILENT. It
// was tried: the job obtains the ordinary list with it, too.
type Fix struct {
	Says    string   `json:"says"`
	Changes []Change `json:"changes,omitempty"` // empty: no setting helps, and Says is advice
	Verdict Verdict  `json:"verdict,omitempty"` // with the changes
	Costs   []string `json:"costs,omitempty"`   // behaviours that were complete, and are not with the changes
}

// A remedy is a change that may help against a behaviour. It is a row of a table; whether
// it helps is found by trying.
type remedy struct {
	against []string                  // behaviours
	says    string                    // with the names in braces that patient.says replaces
	changes func(c *patient) []Change // nil: the remedy does not apply
}

// A patient is a job that fares ill.
type patient struct {
	*plan
	job    *compile.Job
	size   int  // of the API's pages
	shared bool // another job has the same pagination, and its list elsewhere
}

// remedies is the table of remedies, in the order in which they are tried.
var remedies = []remedy{
	{against: []string{"cappedPages", "limitOffByOneLess"}, says: "Set the limit to {size}, which is what the API gives.",
		changes: func(c *patient) []Change { return []Change{c.pagination("limit", c.size)} }},
	{against: []string{"cappedPages", "limitOffByOneLess", "shortPageInTheMiddle", "largerPages", "limitOffByOneMore"},
		says: "Advance by the number of items received, and stop at an empty page only.",
		changes: func(c *patient) []Change {
			return c.expression(advancing("count"), atEmptyPage)
		}},
	{against: []string{"shortPageInTheMiddle", "cappedPages", "limitOffByOneLess"}, says: "Stop at an empty page only, not at a short one.",
		changes: func(c *patient) []Change { return c.expression(nil, atEmptyPage) }},
	{against: []string{"emptyPageInTheMiddle", "shortPageInTheMiddle", "noList"}, says: "Stop at the second empty page in a row.",
		changes: func(c *patient) []Change { return c.expression(nil, atTwoEmptyPages) }},
	{against: []string{"totalTooLow", "totalZero"}, says: "Stop at an empty page, not by what the response says of its length.",
		changes: func(c *patient) []Change { return c.expression(nil, atEmptyPage) }},
	{against: []string{"flagAbsent", "flagNull", "flagText", "flagLostInTheMiddle", "flagAbsentAtTheEnd"},
		says: "Fail unless {flag} is true or false.",
		changes: func(c *patient) []Change {
			return c.failWhen("flagIsUnclear", c.read(flag), func(at string) string { return "not (" + at + " in " + c.truths(flag) + ")" })
		}},
	{against: []string{"tokenLost", "tokenExpires", "cappedPages", "endNull"},
		says: "Fail if a full page has no {pointer}. A list whose last page is full fails, too.",
		changes: func(c *patient) []Change {
			return c.failWhen("lostToken", c.read(pointer), func(at string) string { return c.full() + " and empty(" + at + ")" })
		}},
	{against: []string{"emptyBody", "noList", "errorBody", "html", "endNoList", "tokenLost"},
		says:    "{unnamed}Fail if a response has no {list}.",
		changes: (*patient).failWithoutList},
	{against: []string{"cutOnce", "serverErrorOnce"}, says: "Do not repeat requests: the API goes on to the next page with each of them.",
		changes: func(c *patient) []Change { return []Change{{Path: []string{"api", "http", "maxRetries"}, Value: 0}} }},
	{against: []string{"deletedFromTheStart", "insertedAtTheStart", "movedToTheEnd"},
		says: "No setting finds this. Sort the list by a key that does not change, such as the time of creation, " +
			"or page by a cursor if the API has one; then compare the number of items with a total."},
	{against: []string{"cappedPages", "limitOffByOneLess"}, says: "Set a limit that the API gives, and check the size of its pages."},
	{against: []string{"totalTooLow", "totalZero", "totalAbsent"},
		says: "Fail if the total is reached on a full page. A list whose last page is full fails, too.",
		changes: func(c *patient) []Change {
			return c.failWhen("fullLastPage", c.read(amount), func(at string) string {
				return c.full() + " and total.items >= number(" + at + ")"
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

// atEmptyPage and atTwoEmptyPages end a list of method expression.
const (
	atEmptyPage     = "count == 0"
	atTwoEmptyPages = "count == 0 and prev != nil and prev.count == 0"
)

// pagination sets a key of the pagination.
func (c *patient) pagination(key string, v any) Change {
	return Change{Path: append(keysOf(c.job.Set.Path), key), Value: v}
}

// stopRule adds a stopping rule that fails the run.
func (c *patient) stopRule(name, when string) Change {
	rule := value.Object{{Name: "name", Value: name}, {Name: "when", Value: when}, {Name: "outcome", Value: string(rules.Failed)}}
	change := c.pagination("stopRules", rule)
	change.Append = true
	return change
}

// read returns the first place whose value is of a kind, as an expression; "": there is none.
func (c *patient) read(kind string) string {
	i := slices.IndexFunc(c.places, func(m *meant) bool { return m.meaning.kind == kind })
	if i < 0 {
		return ""
	}
	return c.places[i].Place.String()
}

// truths lists the values that a flag of the model has.
func (c *patient) truths(kind string) string {
	for _, m := range c.places {
		if m.meaning.kind == kind && len(m.Path) == 0 {
			return `["true", "false"]`
		}
	}
	return "[true, false]"
}

func (c *patient) failWhen(name, place string, when func(place string) string) []Change {
	if place == "" {
		return nil
	}
	return []Change{c.stopRule(name, when(place))}
}

// failWithoutList fails the run if a response has no list. A job without dataField takes the list whatever
// its name is, so it is named first; the name in the model is not that in the API.
func (c *patient) failWithoutList() (changes []Change) {
	at, when := ".", `type(body) != "array"`
	if len(c.list) > 0 {
		at = rules.PathOf(c.list...)
		when = "not has(" + strconv.Quote(at) + ")"
	}
	if c.job.Set.Job.DataField == nil {
		changes = append(changes, Change{Path: append(keysOf(c.job.Set.Job.Path()), "dataField"), Value: at})
	}
	if c.shared {
		when = "job.id == " + strconv.Quote(c.job.Set.Job.ID) + " and " + when
	}
	return append(changes, c.stopRule("noList", when))
}

// shares reports whether another job has its list elsewhere, and the same pagination.
func (c *clinic) shares() bool {
	list, _, _ := itemsOf(c.job, c.job.Surface())
	return slices.ContainsFunc(c.suite.Jobs, func(j *compile.Job) bool {
		other, _, _ := itemsOf(j, j.Surface())
		unnamed := j.Set.Job.DataField == nil || c.job.Set.Job.DataField == nil
		return j.Set.Job.ID != c.job.Set.Job.ID && j.Set.Path == c.job.Set.Path && (unnamed || !slices.Equal(other, list))
	})
}

// full is the condition that a page is full. Without a limit, the first page says how many
// items a full one has.
func (c *patient) full() string {
	if c.job.Set.Limit != nil {
		return "count >= limit"
	}
	return "page > 1 and count >= first.count"
}

// advancing changes how much the variables of the state advance.
func advancing(by string) func(source string) string {
	return func(source string) string { return strings.ReplaceAll(source, "+ limit", "+ "+by) }
}

// expression writes the rules of the job as method expression, with another stopping rule.
// It is nil if they cannot be written so.
func (c *patient) expression(next func(source string) string, stop string) []Change {
	if len(c.job.Parts) == 0 || c.job.Set.Scroller != "" {
		return nil
	}
	p := value.Object{{Name: "method", Value: "expression"}}
	if c.job.Set.Limit != nil {
		p = p.With("limit", c.job.Set.Limit)
	}
	var state, request value.Object
	for _, e := range c.job.Init {
		state = set(state, e.Rule.Source, e.Rule.Target, "init")
	}
	for _, e := range c.job.Next {
		source := e.Rule.Source
		if next != nil {
			source = next(source)
		}
		state = set(state, source, e.Rule.Target, "next")
	}
	for _, e := range c.job.Parts {
		r := e.Rule
		if r.First != c.job.Parts[0].Rule.First {
			return nil
		}
		path := []string{string(r.Role)}
		if r.Target != "" {
			path = append(path, r.Target)
		}
		request = set(request, r.Source, path...)
	}
	request = request.With("includeParams", c.job.Set.IncludeParams)
	if c.job.Parts[0].Rule.First {
		request = request.With("applyToFirst", true)
	}
	if len(state) > 0 {
		p = p.With("state", state)
	}
	rule := value.Object{{Name: "name", Value: "empty"}, {Name: "when", Value: stop}}
	p = p.With("nextRequest", request).With("stopRules", []any{rule})
	return []Change{{Path: keysOf(c.job.Set.Path), Value: p}}
}

func set(o value.Object, v any, path ...string) value.Object { return o.WithPath(path, v) }

// keysOf returns the keys of a config path. The indexes of lists are keys, too.
func keysOf(path string) []string {
	path = strings.TrimPrefix(path, "parameters.")
	return strings.Split(strings.NewReplacer("[", ".", "]", "").Replace(path), ".")
}

// says fills in what a remedy is about.
func (c *patient) says(text string) string {
	list := "list of items"
	if len(c.list) > 0 {
		list = "list at " + rules.PathOf(c.list...)
	}
	unnamed := ""
	if c.job.Set.Job.DataField == nil {
		unnamed = "Set dataField to the path of the list, which the model calls " + rules.PathOf(c.list...) + ". "
		if len(c.list) == 0 {
			unnamed = "Set dataField to the path of the list; in the model, it is the response itself. "
		}
	}
	return strings.NewReplacer("{unnamed}", unnamed, "{size}", strconv.Itoa(c.size), "{list}", list,
		"{flag}", c.read(flag), "{pointer}", c.read(pointer)).Replace(text)
}

// A clinic tries remedies. It keeps the changed configurations, since several behaviours
// may need the same one.
type clinic struct {
	suite   *Suite
	ctx     context.Context
	plan    *plan
	job     *compile.Job // as it is in the suite
	binding map[string]any
	seed    int
	changed map[string]*changed // by changes; nil: invalid, or the ordinary list is lost
	lengths []combination       // see obtainable; nil: not known yet
}

// changed is a changed configuration.
type changed struct {
	suite *Suite
	job   *compile.Job
	costs func() []string // names the lengths of lists that the job no longer obtains without complaint
}

// fix returns the first remedy that helps against a behaviour, or advice, or nil.
func (c *clinic) fix(all combination, size int) *Fix {
	p := &patient{plan: c.plan, job: c.job, size: size, shared: c.shares()}
	var advice *Fix
	for _, r := range remedies {
		if !slices.ContainsFunc(all, func(b *Behaviour) bool { return slices.Contains(r.against, b.Name) }) {
			continue
		}
		if r.changes == nil {
			if advice != nil {
				continue
			}
			advice = &Fix{Says: p.says(r.says)}
			continue
		}
		changes := r.changes(p)
		if changes == nil {
			continue
		}
		with := c.change(changes)
		if with == nil {
			continue
		}
		if v := c.verdict(*with, all); v == Complete || v == Reported {
			return &Fix{Says: p.says(r.says), Changes: changes, Verdict: v, Costs: with.costs()}
		}
	}
	return advice
}

// verdict puts a job under stress.
func (c *clinic) verdict(of changed, all combination) Verdict {
	return of.suite.row(of.suite.under(c.ctx, c.plan, of.job, c.binding, all, c.seed), all).Verdict
}

// change returns the configuration with changes, or nil if it is invalid or its job does not
// obtain the ordinary list.
func (c *clinic) change(changes []Change) *changed {
	key := fmt.Sprint(changes)
	if with, known := c.changed[key]; known {
		return with
	}
	c.changed[key] = nil
	suite, err := c.suite.Change(changes)
	if err != nil {
		return nil
	}
	i := slices.IndexFunc(suite.Jobs, func(j *compile.Job) bool { return j.Set.Job.ID == c.job.Set.Job.ID })
	if i < 0 {
		return nil
	}
	with := changed{suite: suite, job: listed(suite.Jobs[i], c.plan.unlimited)}
	with.costs = sync.OnceValue(func() []string { return c.costs(with) })
	if c.verdict(with, combination{&behaviours[0]}) == Complete {
		c.changed[key] = &with
	}
	return c.changed[key]
}

// costs names the lengths of lists that the changed job no longer obtains without complaint.
func (c *clinic) costs(with changed) (names []string) {
	for _, b := range c.obtainable() {
		if c.verdict(with, b) != Complete {
			names = append(names, b.name())
		}
	}
	return names
}

// obtainable returns the lengths of lists that the job obtains as it is.
func (c *clinic) obtainable() []combination {
	if c.lengths != nil {
		return c.lengths
	}
	c.lengths = []combination{}
	before := changed{suite: c.suite, job: listed(c.job, c.plan.unlimited)}
	for i := range behaviours {
		b := combination{&behaviours[i]}
		if b[0].Group == "length" && b.missing(c.plan, before.job.Set.Limit != nil) == "" && c.verdict(before, b) == Complete {
			c.lengths = append(c.lengths, b)
		}
	}
	return c.lengths
}
