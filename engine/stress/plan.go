package stress

import (
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"

	"github.com/stopwhen/stopwhen/compile"
	"github.com/stopwhen/stopwhen/compile/language"
	"github.com/stopwhen/stopwhen/rules"
	"github.com/stopwhen/stopwhen/rules/apinames"
	"github.com/stopwhen/stopwhen/rules/keypath"
	"github.com/stopwhen/stopwhen/rules/lists"
	"github.com/stopwhen/stopwhen/rules/value"
)

// A plan describes how the model answers a job: the place of the items, the meaning of each place
// that the rules read, and how a request identifies its page.
type plan struct {
	itemPlan
	pagePlan

	literals  []any          // constants in the rules
	recording recording      // responses whose shape the model has
	unlimited bool           // whether the limits of the configuration are left out
	base      string         // address of the list
	known     map[string]int // numbers of rows by their items, of all runs with the plan
}

// An itemPlan says where a response has its items, and what they contain.
type itemPlan struct {
	list   []string         // path of the items
	stars  []rules.PathStep // steps after the keys
	others []rules.ItemList // empty lists of a response that has several lists
	single bool             // whether a response is a single item
	lines  bool             // whether the configuration says that an item is a line: NDJSON or CSV

	keyPaths   [][]string
	keys       keys
	references []reference // members of items that other jobs read
	unique     [][]string  // paths of the key that the configuration names, which differs from item to item
	parent     bool        // whether other jobs run for the items
}

// A pagePlan says how the list is paged, and how it ends.
type pagePlan struct {
	paged      bool
	pageSize   int
	limited    bool // whether the page size is known
	signals    []*signal
	locator    locator
	positional bool // whether links and tokens are positions in the list
	end        any  // value of a link or token to the next page on the last page
	beyond     int  // status of a request beyond the end; 0 for an empty page
}

// A signal is a place of the response with the meaning that the model gives it.
type signal struct {
	compile.ResponseValue
	meaning meaning
}

// newRows returns a list of n rows.
func (a *api) newRows(n int) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{number: i + 1, at: float64(i), key: i}
		if a.keys.descending {
			rows[i].key = n - 1 - i
		}
		if a.scalar() {
			rows[i].number = rows[i].key + 1
		}
		rows[i].number += a.offset
	}
	return rows
}

// signal returns the first signal of a kind, or nil.
func (p *plan) signal(kind string) *signal {
	for _, s := range p.signals {
		if s.meaning.kind == kind {
			return s
		}
	}
	return nil
}

// ordinaryLength is the number of rows of a list of several pages.
func (p *plan) ordinaryLength() int {
	switch {
	case p.single && !p.paged:
		return 1
	case p.single:
		return 3
	case !p.paged:
		return max(2, p.pageSize/2)
	}
	return 2*p.pageSize + shortPage(p.pageSize)
}

// api returns a model with a list of n rows.
func (p *plan) api(n int) *api {
	known := *p
	a := &api{plan: &known, size: p.pageSize, total: -1}
	a.rows = a.newRows(n)
	if !p.paged {
		a.size = max(n, 1)
	}
	a.truth = slices.Clone(a.rows)
	return a
}

// conceivable yields plans, the most likely first: every combination of an end of the list, a page size, a
// kind of key, and meanings of the values that rules read. Lists of one page come last: a job that waits for
// an export has no other list.
func conceivable(job *compile.Job, surface compile.Surface, rec recording) iter.Seq[*plan] {
	list, stars, single := itemsOf(job, surface)
	sizes := sizesOf(job, surface)
	if single {
		sizes = []int{1}
	}
	kinds := keyKinds[:1]
	if len(surface.Keys) > 0 {
		kinds = nil
		for _, k := range keyKinds {
			kinds = append(kinds, k, k.reversed())
		}
	}
	beyonds := []int{onePage}
	if job.Paged() && !polls(job) {
		beyonds = slices.Concat(beyondStatuses, beyonds)
	}
	common := plan{
		itemPlan: itemPlan{list: list, stars: stars, others: otherLists(job), single: single,
			keyPaths: surface.Keys, unique: uniqueOf(job)},
		literals: surface.Literals,
	}
	return func(yield func(*plan) bool) {
		for _, beyond := range beyonds {
			for _, end := range endMarks {
				for _, size := range sizes {
					for _, kind := range kinds {
						for signals := range combinations(surface, rec) {
							p := common
							p.keys, p.known = kind, map[string]int{}
							p.pagePlan = pagePlan{
								paged: beyond != onePage, pageSize: size, signals: signals,
								locator: memoryLocator, end: end, beyond: max(beyond, 0),
							}
							if !yield(&p) {
								return
							}
						}
					}
				}
			}
		}
	}
}

// uniqueOf returns the paths of the key that the configuration names for the items.
func uniqueOf(job *compile.Job) [][]string { return lists.Map(job.Spec().Key, keypath.Split) }

// endMarks are the values that a link or token to the next page may have on the last page.
var endMarks = []any{gone{}, nil, "", false}

// beyondStatuses are the statuses of a request beyond the end of the list; 0 is an empty page.
var beyondStatuses = []int{0, http.StatusNotFound, http.StatusNoContent, http.StatusBadRequest}

// onePage stands next to beyondStatuses for a list with one page.
const onePage = -1

// polls reports whether a job repeats a request after a wait.
func polls(job *compile.Job) bool {
	return slices.ContainsFunc(job.Parts, func(e *language.Expression) bool { return e.Rule.Role == rules.RoleAfter })
}

// itemsOf returns where the model puts the items, or that a response is one item.
func itemsOf(job *compile.Job, surface compile.Surface) (keys []string, stars []rules.PathStep, single bool) {
	d := job.Spec().DataField
	inBody := slices.ContainsFunc(surface.Values, func(p compile.ResponseValue) bool { return len(p.Path) > 0 })
	switch {
	case d != nil && d.Lists != nil:
		fixed := d.Lists[0].Fixed()
		return fixed, d.Lists[0].Steps[len(fixed):], false
	case d != nil && len(d.Keys) == 0 && (inBody || !job.Paged()):
		return nil, nil, true
	case d != nil:
		return d.Keys, nil, false
	case inBody:
		return []string{"items"}, nil, false
	}
	return nil, nil, false
}

// otherLists returns the paths of dataField after the first one, whose lists the model leaves empty.
func otherLists(job *compile.Job) []rules.ItemList {
	if d := job.Spec().DataField; d != nil && len(d.Lists) > 1 {
		return d.Lists[1:]
	}
	return nil
}

// maxPageSize bounds the size of the model's pages if no setting says it.
const maxPageSize = 5000

// sizesOf returns the page sizes that the API may have: the limit, or a number in the
// rules and the parameters.
func sizesOf(job *compile.Job, surface compile.Surface) []int {
	if n, ok := job.Ruleset.Limit.(int); ok {
		return []int{n}
	}
	var sizes []int
	add := func(v any) {
		n, ok := v.(int)
		if ok && n > 1 && n <= maxPageSize && !slices.Contains(sizes, n) {
			sizes = append(sizes, n)
		}
	}
	for _, m := range job.Spec().Constants() {
		add(m.Value)
		if text, isText := m.Value.(string); isText {
			if n := leadingNumber(text); fmt.Sprint(n) == text {
				add(n)
			}
		}
	}
	for _, v := range surface.Literals {
		add(v)
	}
	add(10)
	return sizes
}

// saysSize reports whether a parameter of a job or a rule about the number of items on a page names a page size.
func saysSize(job *compile.Job, size int) bool {
	for _, m := range job.Spec().Constants() {
		text, _ := value.Text(m.Value)
		if apinames.AlikeAny(m.Name, apinames.PageSizeNames()) && text == strconv.Itoa(size) {
			return true
		}
	}
	return slices.ContainsFunc(job.Stops, func(c *compile.Trigger) bool {
		return slices.Contains(c.ComparedWith("count"), any(size))
	})
}

// combinations yields the signals of a response: first the most likely meaning of
// each, then with one of them less likely, and so on.
func combinations(surface compile.Surface, rec recording) iter.Seq[[]*signal] {
	choices := make([][]meaning, len(surface.Values))
	count := 0
	for i, p := range surface.Values {
		if choices[i] = likely(p, surface, rec); len(choices[i]) == 0 {
			return func(func([]*signal) bool) {}
		}
		count += len(choices[i]) - 1
	}
	return func(yield func([]*signal) bool) {
		chosen := make([]*signal, len(choices))
		var choose func(i, cost int) bool
		choose = func(i, cost int) bool {
			if i == len(choices) {
				return cost > 0 || yield(slices.Clone(chosen))
			}
			for j, m := range choices[i] {
				if j > cost {
					break
				}
				chosen[i] = &signal{surface.Values[i], m}
				if !choose(i+1, cost-j) {
					return false
				}
			}
			return true
		}
		for cost := range count + 1 {
			if !choose(0, cost) {
				return
			}
		}
	}
}

// sentences describes the model.
func (p *plan) sentences() []string {
	var sentences []string
	for _, m := range p.signals {
		sentences = append(sentences, m.ResponseValue.String()+" is "+m.meaning.says+".")
	}
	if p.unlimited {
		sentences = append(sentences, "The limits of the configuration are left out.")
	}
	if p.positional {
		sentences = append(sentences, "Links and tokens are positions in the list, as the recording shows.")
	}
	if p.paged {
		sentences = append(sentences, p.locator.says)
	}
	return sentences
}
